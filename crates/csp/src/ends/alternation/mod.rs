//! Alternation: waiting until one of several channels can be read or written (external choice).
//!
//! ```text
//!   read(reader), write(writer) ──► lists a guard here and at its channel ──► a token of the guard
//!
//!   select ──► next guard that may be ready ──► performs it ──► Chosen, to compare with tokens
//!                 ▲            │ none
//!                 │            ▼
//!                 └── poked ── waits ── claimed: a partner has performed a guard ──► Chosen
//! ```
//!
//! Read `tokens` first (what a program has of a guard), then this file, and `listed` (what an
//! alternation and its channels have of it). The protocol of a wait is in
//! [`party`](crate::channel::party).

// Rejected: to prefetch the next guard and the node that waits at its channel. An alternation over
// 64 channels did not become faster, and one over 2 channels became slower.

mod listed;
pub(crate) mod tokens;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc as StdArc;

use cellworks_machine::Time;

use self::listed::{Listed, ListedGuard};
use self::tokens::sealed::AsGuard as _;
use self::tokens::{AsGuard, Chosen, GuardEnded, ReadGuard, WriteGuard};
use super::ended::Ended;
use super::item::Item;
use super::{Reach, Reader, Writer};
use crate::channel::RawChannel;
use crate::channel::link::{Side, Waiting};
use crate::channel::lock::Lock;
use crate::channel::party::{Guard, MoreReady, Party, WaitState, ready_bits};
use crate::channel::protocol::Met;
use crate::process::place::Place;
use crate::process::{Process, TURN};
use crate::sync::{Arc, AtomicU64, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    Priority,
    Fair,
    Arbitrary { state: u64 },
}

/// A set of guards. A guard is a channel that the process wants to read or write. A selection waits
/// until one of the guards is ready, and *performs* this guard: reads or writes its channel.
///
/// Guards are listed once, for any number of selections. The duration of a selection depends on the
/// number of ready guards, not on that of all guards. Both sides of a channel may use alternations.
///
/// ```
/// use cellworks_csp::{Alternation, Ended, Place, Process, Reader, Writer};
///
/// /// Holds up to eight numbers for a slow reader.
/// fn buffer(
///     process: &Process<impl Place>,
///     mut input: Reader<u64>,
///     mut output: Writer<u64>,
/// ) -> Result<(), Ended> {
///     let mut held = std::collections::VecDeque::new();
///     let mut alternation = Alternation::fair();
///     let read = alternation.read(&mut input);
///     let write = alternation.write(&mut output);
///     loop {
///         alternation.when(&read, held.len() < 8);
///         if !alternation.is_offered(&write) && let Some(number) = held.pop_front() {
///             alternation.offer(process, &write, number);
///         }
///         if alternation.select(process)? == read {
///             held.push_back(alternation.take(process, &read));
///         }
///     }
/// }
/// ```
pub struct Alternation<'a> {
    party: Arc<Party>,
    policy: Policy,
    guards: Vec<Box<dyn Listed + 'a>>,
    /// The states of the guards, one block for each 64 guards.
    blocks: Vec<Block>,
    /// The index of the guard at which the next search for a ready guard begins.
    next: usize,
    /// The number of guards that were chosen since the last wait or the last turn of the others.
    without_wait: usize,
    /// Indices of guards that share an item by `offer_to_any`. The first one chosen writes the
    /// item.
    any_of: Vec<Vec<usize>>,
}

/// The state of 64 guards. Each field has one bit for each guard.
struct Block {
    /// Which guards may be ready. Channels set these bits. The party has those of the first block.
    ready: MoreReady,
    /// Which guards have a true pre-condition.
    conditions: u64,
    /// Which writing guards have an item, and which reading guards have none.
    supplied: u64,
}

impl Block {
    #[inline(always)]
    fn enabled(&self) -> u64 {
        self.conditions & self.supplied
    }
}

fn put(bits: &mut u64, bit: u64, is_on: bool) {
    if is_on {
        *bits |= bit;
    } else {
        *bits &= !bit;
    }
}

#[derive(Clone, Copy)]
enum Patience {
    None,
    Until(Time),
    Unlimited,
}

impl<'a> Alternation<'a> {
    /// Makes an alternation that chooses the first ready guard in the order of the list.
    pub fn priority() -> Self {
        Self::new(Policy::Priority)
    }

    /// Makes an alternation that begins each search after the guard that was chosen last. While a
    /// guard stays ready, no other guard is chosen twice before this guard is chosen.
    pub fn fair() -> Self {
        Self::new(Policy::Fair)
    }

    /// Makes an alternation that chooses a ready guard pseudo-randomly, depending on `seed`.
    pub fn arbitrary(seed: u64) -> Self {
        // The state must not be 0, because xorshift would stay at 0.
        let state = seed.wrapping_mul(2).wrapping_add(1);
        Self::new(Policy::Arbitrary { state })
    }

    fn new(policy: Policy) -> Self {
        Self {
            party: Arc::new(Party::new()),
            policy,
            guards: Vec::new(),
            blocks: Vec::new(),
            next: 0,
            without_wait: 0,
            any_of: Vec::new(),
        }
    }

    /// Lists a channel to read from.
    pub fn read<T: Item + 'a, E, R: Reach>(
        &mut self,
        reader: &'a mut Reader<T, E, R>,
    ) -> ReadGuard<T> {
        ReadGuard {
            index: self.list(&reader.end.channel, Side::Reader),
            alternation: self.party.number,
            item: PhantomData,
        }
    }

    /// Lists a channel to write to. The guard is chosen only while it has an [item](Self::offer).
    pub fn write<T: Item + 'a, E, R: Reach>(
        &mut self,
        writer: &'a mut Writer<T, E, R>,
    ) -> WriteGuard<T> {
        WriteGuard {
            index: self.list(&writer.end.channel, Side::Writer),
            alternation: self.party.number,
            item: PhantomData,
        }
    }

    fn list<T: Item + 'a, L: Lock + 'a>(
        &mut self,
        channel: &StdArc<RawChannel<T, L>>,
        side: Side,
    ) -> usize {
        let index = self.guards.len();
        let (block, bit) = (index / 64, 1 << (index % 64));
        if block == self.blocks.len() {
            self.blocks.push(Block {
                ready: (block > 0).then(|| Arc::new(AtomicU64::new(0))),
                conditions: 0,
                supplied: 0,
            });
        }
        let block = &mut self.blocks[block];
        let guard = Arc::new(Guard::new(&self.party, index, &block.ready));
        block.conditions |= bit;
        match side {
            Side::Reader => block.supplied |= bit,
            Side::Writer => guard.enable(false),
        }
        channel.lock().add_guard(side, &guard);
        self.guards.push(Box::new(ListedGuard::new(
            StdArc::clone(channel),
            guard,
            side,
        )));
        index
    }

    fn is_enabled(&self, index: usize) -> bool {
        let (block, bit) = (index / 64, 1 << (index % 64));
        self.blocks[block].enabled() & bit != 0
    }

    #[inline]
    fn supply(&mut self, index: usize, is_supplied: bool) {
        let (block, bit) = (index / 64, 1 << (index % 64));
        let block = &mut self.blocks[block];
        put(&mut block.supplied, bit, is_supplied);
        if block.conditions & bit != 0 {
            self.guards[index].enable(is_supplied);
        }
    }

    /// Sets the pre-condition of a guard. The guard is chosen only while this condition is true.
    pub fn when(&mut self, guard: &impl AsGuard, condition: bool) {
        let index = guard.index_in(self.party.number);
        let (block, bit) = (index / 64, 1 << (index % 64));
        let block = &mut self.blocks[block];
        put(&mut block.conditions, bit, condition);
        if block.supplied & bit != 0 {
            self.guards[index].enable(condition);
        }
    }

    /// Gives a writing guard an item. The guard writes this item when it is chosen.
    ///
    /// # Panics
    ///
    /// Panics if the guard already has an item.
    #[track_caller]
    pub fn offer<T: Item + 'a, P: Place>(
        &mut self,
        process: &Process<'_, P>,
        guard: &WriteGuard<T>,
        item: T,
    ) {
        let index = guard.index_in(self.party.number);
        assert!(
            !self.is_offered(guard),
            "the guard {index} has an item already; withdraw it first"
        );
        let parcel = process.pack(item, self.guards[index].link());
        // SAFETY: the alternation calls this method and does not wait, so it has sole access.
        *unsafe { self.guard_of::<T>(index).parcel() } = Some(parcel);
        self.supply(index, true);
    }

    /// Gives several writing guards the same item. The first of these guards that is chosen writes
    /// the item. The others then have no item.
    ///
    /// ```
    /// use cellworks_csp::{Alternation, Ended, Place, Process, Reader, Writer};
    ///
    /// /// Hands each task to a worker that is free.
    /// fn farmer(
    ///     process: &Process<impl Place>,
    ///     mut tasks: Reader<u64>,
    ///     mut workers: [Writer<u64>; 3],
    /// ) -> Result<(), Ended> {
    ///     let mut free = Alternation::fair();
    ///     let guards = workers.each_mut().map(|worker| free.write(worker));
    ///     loop {
    ///         let task = tasks.read(process)?;
    ///         free.offer_to_any(process, &guards, task);
    ///         free.select(process)?;
    ///     }
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if a guard already has an item, or if `guards` is empty.
    pub fn offer_to_any<T: Item + 'a, P: Place>(
        &mut self,
        process: &Process<'_, P>,
        guards: &[WriteGuard<T>],
        item: T,
    ) {
        let [first, others @ ..] = guards else {
            panic!("an item was offered to no guard; list a channel to write to");
        };
        let indices: Vec<_> = guards
            .iter()
            .map(|guard| guard.index_in(self.party.number))
            .collect();
        for guard in others {
            assert!(
                !self.is_offered(guard),
                "the guard {} has an item already; withdraw it first",
                guard.index
            );
        }
        self.offer(process, first, item);
        let holder = self.guard_of::<T>(first.index);
        for guard in others {
            // SAFETY: `guard` and `first` are guards of this alternation, which is not waiting now.
            unsafe { self.guard_of::<T>(guard.index).set_holder(Some(holder)) };
        }
        for index in &indices {
            self.supply(*index, true);
        }
        self.any_of.push(indices);
    }

    /// Removes the written or withdrawn item of the guard `index` from all guards that shared it.
    #[cold]
    #[inline(never)]
    fn end_offer_to_any(&mut self, index: usize) {
        let Some(at) = self.any_of.iter().position(|any| any.contains(&index)) else {
            return;
        };
        for index in self.any_of.swap_remove(at) {
            self.guards[index].forget_holder();
            self.supply(index, false);
        }
    }

    /// Returns whether a writing guard has an item to write.
    pub fn is_offered<T>(&self, guard: &WriteGuard<T>) -> bool {
        let index = guard.index_in(self.party.number);
        self.blocks[index / 64].supplied & 1 << (index % 64) != 0
    }

    /// Takes back the item of a writing guard, if the guard has not written the item.
    #[track_caller]
    pub fn withdraw<T: Item + 'a, P: Place>(
        &mut self,
        process: &Process<'_, P>,
        guard: &WriteGuard<T>,
    ) -> Option<T> {
        let index = guard.index_in(self.party.number);
        // SAFETY: the caller is the alternation, which is not in a wait, so it has sole access.
        let parcel = unsafe { self.guard_of::<T>(index).offered() }.take();
        self.supply(index, false);
        self.end_offer_to_any(index);
        let parcel = parcel?;
        Some(process.take_back(parcel, self.guards[index].link()))
    }

    /// Returns the item that a guard has read when it was chosen.
    ///
    /// Until the item is taken, the guard is not chosen again.
    ///
    /// # Panics
    ///
    /// Panics if the guard was not chosen since its last item was taken.
    #[track_caller]
    pub fn take<T: Item + 'a, P: Place>(
        &mut self,
        process: &Process<'_, P>,
        guard: &ReadGuard<T>,
    ) -> T {
        let index = guard.index_in(self.party.number);
        // SAFETY: the alternation calls this method and does not wait, so it has sole access.
        let parcel = unsafe { self.guard_of::<T>(index).parcel() }.take();
        self.supply(index, true);
        let parcel = parcel.unwrap_or_else(|| {
            panic!("the guard {index} has no item; take one only after it was chosen")
        });
        process.fetch(parcel, self.guards[index].link())
    }

    fn guard_of<T: 'a>(&self, index: usize) -> &Guard<T> {
        let guard = self.guards[index].guard().cast::<Guard<T>>();
        // SAFETY: `index` and `T` come from a token (`ReadGuard` or `WriteGuard`). Only `read` and
        // `write` make tokens, each with the index and the item type of the channel that they list
        // at this index. Tokens are invariant, so `T` is exactly this type, lifetimes included.
        // `index_in` has checked that the token contains the number of this alternation. No two
        // alternations have the same number. The guard lives as long as it is listed.
        unsafe { guard.as_ref() }
    }

    /// Waits until a guard is ready, performs this guard, and returns it. While the process waits,
    /// the other processes of its processor run.
    ///
    /// # Errors
    ///
    /// Returns [`GuardEnded`] if the channel of an enabled guard has ended. The caller can disable
    /// the guard with [`when`](Self::when) and select again. In a cancelled run, a call in a
    /// destructor does not wait, and if no guard is ready, reports the first enabled guard as
    /// closed.
    ///
    /// # Panics
    ///
    /// Panics if no guard is enabled, because the process would wait for ever.
    #[track_caller]
    pub fn select<P: Place>(&mut self, process: &Process<'_, P>) -> Result<Chosen, GuardEnded> {
        let chosen = self.choose(process, Patience::Unlimited)?;
        Ok(chosen.expect("a selection without limits ends with a guard"))
    }

    /// Selects as [`select`](Self::select) does, but does not wait. If no guard is ready, returns
    /// `None` (the skip guard of CSP).
    ///
    /// A process that calls this method again and again must yield or wait in between: it keeps the
    /// other processes of its processor from running.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`select`](Self::select).
    #[track_caller]
    pub fn select_or_skip<P: Place>(
        &mut self,
        process: &Process<'_, P>,
    ) -> Result<Option<Chosen>, GuardEnded> {
        self.choose(process, Patience::None)
    }

    /// Selects as [`select`](Self::select) does, but waits only until `deadline`. If no guard was
    /// ready, returns `None` (the time-out guard of CSP).
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use cellworks_csp::{Alternation, Place, Process, ProcessError, Reader};
    ///
    /// /// Returns the first of two answers, or `None` if none comes within 10 milliseconds.
    /// fn first_answer(
    ///     process: &Process<impl Place>,
    ///     left: &mut Reader<u32>,
    ///     right: &mut Reader<u32>,
    /// ) -> Result<Option<u32>, ProcessError> {
    ///     let mut answers = Alternation::fair();
    ///     let guards = [answers.read(left), answers.read(right)];
    ///     let deadline = process.now() + Duration::from_millis(10);
    ///     let chosen = answers.select_until(process, deadline)?;
    ///     Ok(chosen.map(|chosen| answers.take(process, &guards[chosen.index()])))
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`select`](Self::select).
    #[track_caller]
    pub fn select_until<P: Place>(
        &mut self,
        process: &Process<'_, P>,
        deadline: Time,
    ) -> Result<Option<Chosen>, GuardEnded> {
        self.choose(process, Patience::Until(deadline))
    }

    #[track_caller]
    fn choose<P: Place>(
        &mut self,
        process: &Process<'_, P>,
        patience: Patience,
    ) -> Result<Option<Chosen>, GuardEnded> {
        if let Policy::Arbitrary { state } = &mut self.policy {
            *state ^= *state << 13;
            *state ^= *state >> 7;
            *state ^= *state << 17;
            self.next = (*state >> 32) as usize % self.guards.len().max(1);
        }
        // A partner on this processor, or on a CPU that this processor shares, becomes ready only
        // while this process lets others run. Therefore each ready guard is chosen about once
        // before the others run.
        if self.without_wait >= self.guards.len().clamp(2, TURN) {
            self.without_wait = 0;
            process.end_turn();
        }
        if !matches!(patience, Patience::Unlimited) && self.party.is_opposed() {
            // An alternation that waits at a guard's channel marks the guard as ready only while
            // `self` waits, which perhaps never happens. So `self` checks all guards.
            for block in &self.blocks {
                ready_bits(&block.ready, &self.party).store(!0, Ordering::Relaxed);
            }
        }
        loop {
            if let Some(result) = self.try_guards(process) {
                self.without_wait += 1;
                return result.map(Some);
            }
            self.without_wait = 0;
            if matches!(patience, Patience::None) {
                process.skip();
                return self.found_nothing(process);
            }
            match self.wait(process, patience) {
                Waited::Poked => {}
                Waited::Claimed(index) => return Ok(Some(self.id(index))),
                Waited::InVain => {
                    return match (self.try_guards(process), patience) {
                        (Some(result), _) => result.map(Some),
                        (None, Patience::Until(_)) => {
                            // A caller may repeat this in a loop, and other processes must run.
                            process.yield_ready();
                            self.found_nothing(process)
                        }
                        (None, _) => Err(self.cancelled()),
                    };
                }
            }
        }
    }

    /// Returns the result of a selection that has found no ready guard.
    #[inline(always)]
    fn found_nothing<P: Place>(
        &self,
        process: &Process<'_, P>,
    ) -> Result<Option<Chosen>, GuardEnded> {
        let is_enabled = |index| self.is_enabled(index);
        if process.is_left_alone() && (0..self.guards.len()).any(is_enabled) {
            Err(self.cancelled())
        } else {
            Ok(None)
        }
    }

    fn cancelled(&self) -> GuardEnded {
        let first = (0..self.guards.len()).find(|index| self.is_enabled(*index));
        GuardEnded {
            guard: self.id(first.expect("a selection that waits has an enabled guard")),
            ended: Ended::Closed,
        }
    }

    /// Returns the next guard to check: an enabled guard that may be ready.
    #[inline]
    fn candidate(&self) -> Option<usize> {
        let start = match self.policy {
            Policy::Priority => 0,
            _ => self.next,
        };
        let (first, from_start) = (start / 64, !0 << (start % 64));
        self.candidate_of(first, from_start)
            .or_else(|| self.candidate_elsewhere(first))
    }

    #[inline(always)]
    fn candidate_of(&self, index: usize, mask: u64) -> Option<usize> {
        let block = self.blocks.get(index)?;
        let open =
            ready_bits(&block.ready, &self.party).load(Ordering::SeqCst) & block.enabled() & mask;
        (open != 0).then(|| index * 64 + open.trailing_zeros() as usize)
    }

    fn candidate_elsewhere(&self, first: usize) -> Option<usize> {
        let mut blocks = (first + 1..self.blocks.len()).chain(0..=first);
        blocks.find_map(|block| self.candidate_of(block, !0))
    }

    #[track_caller]
    #[inline(always)]
    fn try_guards<P: Place>(
        &mut self,
        process: &Process<'_, P>,
    ) -> Option<Result<Chosen, GuardEnded>> {
        loop {
            let index = self.candidate()?;
            let guard = &self.guards[index];
            let mut met = Met::NoPartner;
            process.attempt(
                || guard.waiting(),
                |woken| {
                    // An attempt in vain is expensive if processors share no memory.
                    met = guard.attempt(process.identity(), process.shares_memory(), woken);
                    matches!(met, Met::Done)
                },
            );
            match met {
                Met::NoPartner => {}
                Met::Done => return Some(Ok(self.chosen(index))),
                Met::Ended(ended) => {
                    self.next = index + 1;
                    self.wrap();
                    return Some(Err(GuardEnded {
                        guard: self.id(index),
                        ended,
                    }));
                }
            }
        }
    }

    fn id(&self, index: usize) -> Chosen {
        Chosen {
            index,
            alternation: self.party.number,
        }
    }

    fn wrap(&mut self) {
        if self.next >= self.guards.len() {
            self.next = 0;
        }
    }

    fn chosen(&mut self, index: usize) -> Chosen {
        self.next = index + 1;
        self.wrap();
        // A writing guard needs a new item now, and the item of a reading guard must be taken.
        self.supply(index, false);
        if !self.any_of.is_empty() {
            self.end_offer_to_any(index);
        }
        self.id(index)
    }

    #[track_caller]
    fn wait<P: Place>(&mut self, process: &Process<'_, P>, patience: Patience) -> Waited {
        assert!(
            self.blocks.iter().any(|block| block.enabled() != 0)
                || matches!(patience, Patience::Until(_)),
            "the process `{}` selects from {} guards of which none is enabled, so it would wait for ever; enable one, or \
             take what was read",
            process.name(),
            self.guards.len()
        );
        let in_wait = InWait(self);
        let this = &*in_wait.0;
        let enabled = || (0..this.guards.len()).filter(|index| this.is_enabled(*index));
        let polls = process.place().would_poll();
        let mut goes_on = process.announce(|woken| {
            this.party.wait(process.waker().polling(polls));
            let mut goes_on = this.candidate().is_some();
            if !goes_on
                && this.party.is_opposed()
                && let Some(index) = enabled().find(|index| this.guards[*index].meets(woken))
            {
                ready_bits(&this.blocks[index / 64].ready, &this.party)
                    .fetch_or(1 << (index % 64), Ordering::Relaxed);
                goes_on = true;
            }
            goes_on
        });
        if !goes_on {
            let list = |each: &mut dyn FnMut(Waiting<'_>)| {
                for index in enabled() {
                    each(this.guards[index].waiting());
                }
            };
            let why = Waiting::Alternation(&list);
            let mut ready = || this.party.wait_state() != WaitState::Waiting;
            let deadline = match patience {
                Patience::Until(deadline) => Some(deadline),
                _ => None,
            };
            goes_on = process.wait_until(why, deadline, polls, &mut ready);
        }
        match in_wait.end() {
            WaitState::Claimed(index) => Waited::Claimed(index),
            WaitState::Waiting if !goes_on => Waited::InVain,
            _ => Waited::Poked,
        }
    }
}

enum Waited {
    /// A guard may be ready.
    Poked,
    /// A process on the other side of the channel has performed this guard.
    Claimed(usize),
    /// `Process::wait_until` has returned false, for example at the deadline.
    InVain,
}

/// A value that exists while an alternation waits. The destructor ends the wait. If another process
/// has performed a guard, the destructor records this guard as chosen.
struct InWait<'b, 'a>(&'b mut Alternation<'a>);

impl InWait<'_, '_> {
    fn end(self) -> WaitState {
        std::mem::ManuallyDrop::new(self).stop()
    }

    fn stop(&mut self) -> WaitState {
        let outcome = self.0.party.stop_waiting();
        if let WaitState::Claimed(index) = outcome {
            self.0.chosen(index);
        }
        outcome
    }
}

impl Drop for InWait<'_, '_> {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for Alternation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alternation")
            .field("policy", &self.policy)
            .field("guards", &self.guards.len())
            .finish_non_exhaustive()
    }
}
