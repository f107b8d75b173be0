//! The party of an alternation: the state that the alternation shares with its channels.
//!
//! ```text
//!            ┌──────────── stop_waiting ───────────────┐
//!            ▼                                         │
//!         active ── wait ──► waiting ── take ──────► taken ──► poked: a guard may be ready
//!            ▲                  │                       │
//!            │                  │ stop_waiting          └────► claimed: a guard has been performed
//!            └──────────────────┴──────────────────────────────────┘
//! ```
//!
//! A party that *listens* waits, too, but other processes only poke it: it performs its guard
//! itself. An end that [is polled](crate::outside::polled) listens to write.
//!
//! While the alternation is active, only the alternation itself performs its guards, under the
//! locks of their channels. While the alternation waits, another process at one of its channels may
//! *take* the party by a compare-and-exchange of the state, to move an item into or out of a guard
//! or to end the wait. The state contains the sequence number of the wait. If the
//! compare-and-exchange succeeds, the guard has not changed since this process read the state. A
//! process that has taken a party waits for no lock or party.

use super::node::Parcel;
use super::waker::Waker;
use crate::sync::{Arc, AtomicBool, AtomicU64, Backoff, Ordering, UnsafeCell};

const TAG_BITS: u32 = 3;
const TAG_MASK: u64 = (1 << TAG_BITS) - 1;
const ACTIVE: u64 = 0;
const WAITING: u64 = 1;
const TAKEN: u64 = 2;
const POKED: u64 = 3;
const CLAIMED: u64 = 4;
const LISTENING: u64 = 5;

/// The bit of the numbers of parties that listen. So [`Guard::takes`] is true for their guards, and
/// false for the guard of an alternation that meets them: only the one that listens can act.
#[cfg(any(feature = "async", all(test, any(loom, shuttle))))]
const LISTENERS: u64 = 1 << 63;

const GUARD_BITS: u32 = 29;
const GUARD_MASK: u64 = (1 << GUARD_BITS) - 1;
const WAIT_SHIFT: u32 = TAG_BITS + GUARD_BITS;

// What a process on the other side of a channel reads or writes is in one cache line.
#[repr(C, align(64))]
pub(crate) struct Party {
    /// The wait's sequence number, the claimed guard's index, and the tag (`ACTIVE` to
    /// `LISTENING`).
    state: AtomicU64,
    /// The ready bits of the first 64 guards. The bit of a guard that may be ready is 1.
    pub ready: AtomicU64,
    /// The waker of the process. Accessed by the alternation while it does not wait, or by a
    /// process that has taken the party.
    waker: UnsafeCell<Option<Waker>>,
    /// An identifier that no other alternation of the program ever has.
    pub number: u64,
    /// Whether a channel of this alternation may have guards of other alternations on its other
    /// side.
    is_opposed: AtomicBool,
}

// SAFETY: only one thread at a time accesses `waker`: see the field. Each access is after an
// acquire operation on `state` and before a release operation on `state`.
unsafe impl Sync for Party {}
// SAFETY: a waker may be sent to any thread.
unsafe impl Send for Party {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitState {
    Waiting,
    /// A guard may be ready.
    Poked,
    /// A process on the other side of the channel has performed the guard with this index.
    Claimed(usize),
}

/// A party that a process has taken. The alternation goes on when this process calls
/// [`end`](Self::end).
#[must_use = "the alternation goes on only when this is ended"]
struct Taken<'a> {
    party: &'a Party,
    wait: u64,
}

impl Party {
    pub(crate) fn new() -> Self {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        Self {
            state: AtomicU64::new(ACTIVE),
            ready: AtomicU64::new(0),
            waker: UnsafeCell::new(None),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            is_opposed: AtomicBool::new(false),
        }
    }

    /// Makes a party that only [listens](Self::listen).
    #[cfg(any(feature = "async", all(test, any(loom, shuttle))))]
    pub(crate) fn new_listener() -> Self {
        let mut party = Self::new();
        party.number |= LISTENERS;
        party
    }

    pub(crate) fn is_opposed(&self) -> bool {
        self.is_opposed.load(Ordering::SeqCst)
    }

    /// Begins a wait, in which other processes may take the party.
    pub(crate) fn wait(&self, waker: Waker) {
        self.begin(waker, WAITING);
    }

    /// Begins a wait, in which other processes may poke the party, but not perform its guard.
    #[cfg(any(feature = "async", all(test, any(loom, shuttle))))]
    pub(crate) fn listen(&self, waker: Waker) {
        self.begin(waker, LISTENING);
    }

    #[inline(always)]
    fn begin(&self, waker: Waker, tag: u64) {
        // SAFETY: the alternation calls this method and does not wait, so it has sole access.
        self.waker.with_mut(|place| unsafe { *place = Some(waker) });
        let wait = (self.state.load(Ordering::Relaxed) >> WAIT_SHIFT).wrapping_add(1);
        // Ready bits are also set and read with `SeqCst`. Therefore this alternation sees a new bit
        // in its next check, or the process that sets the bit sees that this alternation waits.
        self.state.store(wait << WAIT_SHIFT | tag, Ordering::SeqCst);
    }

    #[inline]
    pub(crate) fn wait_state(&self) -> WaitState {
        let state = self.state.load(Ordering::Acquire);
        match state & TAG_MASK {
            CLAIMED => WaitState::Claimed((state >> TAG_BITS & GUARD_MASK) as usize),
            POKED => WaitState::Poked,
            _ => WaitState::Waiting,
        }
    }

    /// Makes the alternation active again, and returns how its wait ended.
    pub(crate) fn stop_waiting(&self) -> WaitState {
        let backoff = Backoff::new();
        loop {
            let state = self.state.load(Ordering::Acquire);
            let active = state >> WAIT_SHIFT << WAIT_SHIFT | ACTIVE;
            match state & TAG_MASK {
                TAKEN => backoff.snooze(),
                WAITING | LISTENING => {
                    let stopped = self.state.compare_exchange(
                        state,
                        active,
                        Ordering::AcqRel,
                        Ordering::Relaxed,
                    );
                    if stopped.is_ok() {
                        return WaitState::Waiting;
                    }
                }
                tag => {
                    // Other processes change only the state `WAITING`, so a plain store is enough.
                    self.state.store(active, Ordering::Relaxed);
                    return match tag {
                        CLAIMED => WaitState::Claimed((state >> TAG_BITS & GUARD_MASK) as usize),
                        POKED => WaitState::Poked,
                        _ => WaitState::Waiting,
                    };
                }
            }
        }
    }

    #[inline(always)]
    fn present_wait(&self) -> Option<u64> {
        let state = self.state.load(Ordering::SeqCst);
        (state & TAG_MASK == WAITING).then_some(state >> WAIT_SHIFT)
    }

    #[inline(always)]
    fn take(&self, wait: u64) -> Option<Taken<'_>> {
        self.take_from(wait, WAITING)
    }

    #[inline(always)]
    fn take_from(&self, wait: u64, tag: u64) -> Option<Taken<'_>> {
        let (waiting, taken) = (wait << WAIT_SHIFT | tag, wait << WAIT_SHIFT | TAKEN);
        self.state
            .compare_exchange(waiting, taken, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
            .then_some(Taken { party: self, wait })
    }
}

impl Taken<'_> {
    /// Ends the wait, and returns the waker of the alternation's process.
    #[inline(always)]
    fn end(self, guard: u64, tag: u64) -> Waker {
        // SAFETY: a `Taken` exists only in the process that has taken the party.
        let waker = self.party.waker.with_mut(|place| unsafe { *place });
        self.party.state.store(
            self.wait << WAIT_SHIFT | guard << TAG_BITS | tag,
            Ordering::Release,
        );
        waker.expect("an alternation says whom to wake before it waits")
    }
}

/// The ready bits of 64 further guards, as [`Party::ready`].
pub(crate) type MoreReady = Option<Arc<AtomicU64>>;

/// Returns the ready bits in `more`, or else those of the first guards.
#[inline(always)]
pub(crate) fn ready_bits<'a>(more: &'a MoreReady, party: &'a Party) -> &'a AtomicU64 {
    match more {
        None => &party.ready,
        Some(bits) => bits,
    }
}

pub(crate) struct Guard<T> {
    party: Arc<Party>,
    index: usize,
    more_ready: MoreReady,
    bit: u64,
    changing: Changing<T>,
}

/// What changes in a guard, in cache lines of its own: the alternation changes it for each item,
/// and processes that only mark the guard as ready need not have these lines.
#[repr(align(64))]
struct Changing<T> {
    /// Whether another process may perform the guard. Does not change while the alternation waits.
    enabled: AtomicBool,
    /// The item that this guard offers or has read. Access: see [`Party::waker`].
    parcel: UnsafeCell<Option<Parcel<T>>>,
    /// The guard that contains the item, or null if this guard does. Access: see [`Party::waker`].
    holder: UnsafeCell<*const Guard<T>>,
}

// SAFETY: only one thread at a time accesses `holder` and `parcel`: see `Changing`. All other
// fields are atomic or do not change.
unsafe impl<T: Send> Sync for Guard<T> {}
// SAFETY: a guard owns a parcel, which may be sent if its item may be sent.
unsafe impl<T: Send> Send for Guard<T> {}

impl<T> Guard<T> {
    pub(crate) fn new(party: &Arc<Party>, index: usize, more_ready: &MoreReady) -> Self {
        let bit = 1 << (index % 64);
        ready_bits(more_ready, party).fetch_or(bit, Ordering::Relaxed);
        Self {
            party: Arc::clone(party),
            index,
            more_ready: more_ready.clone(),
            bit,
            changing: Changing {
                enabled: AtomicBool::new(true),
                parcel: UnsafeCell::new(None),
                holder: UnsafeCell::new(std::ptr::null()),
            },
        }
    }

    pub(crate) fn oppose(&self) {
        self.party.is_opposed.store(true, Ordering::SeqCst);
    }

    pub(crate) fn enable(&self, enabled: bool) {
        self.changing.enabled.store(enabled, Ordering::Release);
    }

    /// Marks the guard as ready. If its alternation waits, ends the wait and returns the waker.
    #[inline(always)]
    pub(crate) fn mark_ready(&self) -> Option<Waker> {
        // The bit is not cleared between these two operations, because the caller has the channel's
        // lock.
        let ready = ready_bits(&self.more_ready, &self.party);
        if ready.load(Ordering::SeqCst) & self.bit == 0 {
            ready.fetch_or(self.bit, Ordering::SeqCst);
        }
        let state = self.party.state.load(Ordering::SeqCst);
        match state & TAG_MASK {
            WAITING if self.changing.enabled.load(Ordering::Acquire) => {
                Some(self.party.take(state >> WAIT_SHIFT)?.end(0, POKED))
            }
            LISTENING => self.poke_listener(state >> WAIT_SHIFT),
            _ => None,
        }
    }

    #[cold]
    #[inline(never)]
    fn poke_listener(&self, wait: u64) -> Option<Waker> {
        Some(self.party.take_from(wait, LISTENING)?.end(0, POKED))
    }

    /// Marks the guard as not ready. The caller has the channel's lock.
    pub(crate) fn clear_ready(&self) {
        ready_bits(&self.more_ready, &self.party).fetch_and(!self.bit, Ordering::SeqCst);
    }

    /// Returns the sequence number of the wait if the alternation waits and the guard is enabled.
    #[inline(always)]
    fn open_wait(&self) -> Option<u64> {
        let wait = self.party.present_wait()?;
        self.changing
            .enabled
            .load(Ordering::Acquire)
            .then_some(wait)
    }

    /// Returns whether the alternation waits or listens, so that it may be poked.
    pub(crate) fn is_waiting(&self) -> bool {
        let state = self.party.state.load(Ordering::SeqCst);
        state & TAG_MASK == LISTENING || self.open_wait().is_some()
    }

    /// If the alternation waits to read with this guard, takes `parcel` and returns the waker.
    #[inline(always)]
    pub(crate) fn give(&self, parcel: &mut Option<Parcel<T>>) -> Option<Waker> {
        let taken = self.party.take(self.open_wait()?)?;
        // SAFETY: this process has taken the party.
        self.changing
            .parcel
            .with_mut(|place| unsafe { *place = parcel.take() });
        Some(taken.end(self.index as u64, CLAIMED))
    }

    /// If the alternation waits to write with this guard, moves its item to `parcel`. Returns the
    /// waker.
    #[inline(always)]
    pub(crate) fn take(&self, parcel: &mut Option<Parcel<T>>) -> Option<Waker> {
        let taken = self.party.take(self.open_wait()?)?;
        // SAFETY: this process has taken the party.
        self.changing
            .parcel
            .with_mut(|place| unsafe { *parcel = (*place).take() });
        if parcel.is_none() {
            // SAFETY: this process has taken the party, to which the holder belongs too.
            *parcel = unsafe { self.offered() }.take();
        }
        Some(taken.end(self.index as u64, CLAIMED))
    }

    /// Returns whether the alternation of `self`, not that of `other`, must stop waiting if both
    /// wait at one channel. Without this rule, each could wait until the other checks the channel.
    pub(crate) fn takes(&self, other: &Self) -> bool {
        self.party.number > other.party.number
    }

    /// Returns whether both guards belong to one alternation, which cannot communicate with itself.
    pub(crate) fn is_of_same_party(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.party, &other.party)
    }

    /// Returns the item that this guard offers, which is in this guard or in its holder.
    ///
    /// # Safety
    ///
    /// The caller is the alternation and does not wait, or it is a process that took the party.
    #[cold]
    #[inline(never)]
    #[expect(
        clippy::mut_from_ref,
        reason = "the caller sees to it that there is one at a time"
    )]
    pub(crate) unsafe fn offered(&self) -> &mut Option<Parcel<T>> {
        // SAFETY: the caller's promise holds for all guards of the alternation, and the alternation
        // lists the holder as long as it lists this guard.
        unsafe {
            let holder = self.changing.holder.with_mut(|holder| *holder);
            holder.as_ref().unwrap_or(self).parcel()
        }
    }

    /// Sets the guard that holds the item of this guard. `None` means this guard.
    ///
    /// # Safety
    ///
    /// The caller is the alternation, does not wait, and lists both guards.
    pub(crate) unsafe fn set_holder(&self, holder: Option<&Guard<T>>) {
        let holder = holder.map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the caller's promise.
        self.changing
            .holder
            .with_mut(|place| unsafe { *place = holder });
    }

    /// Returns the parcel in this guard.
    ///
    /// # Safety
    ///
    /// The caller is the alternation while it does not wait, or has taken the party.
    #[expect(
        clippy::mut_from_ref,
        reason = "the caller sees to it that there is one at a time"
    )]
    pub(crate) unsafe fn parcel(&self) -> &mut Option<Parcel<T>> {
        // SAFETY: the caller's promise.
        self.changing
            .parcel
            .with_mut(|place| unsafe { &mut *place })
    }
}
