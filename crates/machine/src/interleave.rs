//! Interleaved work: while one of many independent pieces of work waits for data, another computes.
//!
//! ```text
//!   inputs ──► thread 0: stage, wait ─────┐ follow, wait ──┐ result
//!          ──► thread 1:   stage, wait ───┼─┐              │        ──► in input order,
//!          ──► thread 2:     stage, wait ─┼─┼─┐            │            or as they are completed
//!                                         ▼ ▼ ▼            ▼
//!                         each thread continues in turn: its data has arrived by then
//! ```
//!
//! A piece of work is sequential code that stages slices and waits for their data. With too few
//! pieces *in flight* (begun and not ended), the core waits for data. With too many, the pieces
//! evict each other's data from the cache. [`InFlight::Automatic`] measures the best number.
//!
//! Terms in this module: a thread *looks outside* when it calls `SpeCore::look_outside` to handle
//! messages from other OS threads. A *portion* is the inputs between two looks outside. A *batch*
//! is a sequence of inputs that are processed with the same number of threads. A *trial* measures a
//! batch. A *flow* is the shared state of the threads. A thread *holds* the flow while it takes an
//! input or calls the *sink*, the closure for results.

// Rejected: `interleave` as an iterator of results. If the program leaked the iterator, the threads
// would continue and use references to dropped values.
// Rejected: a body that captures an `Spe` and calls its `stage`. Each call would check whether
// other pieces are in flight, so a table look-up in a body would take 2.39 ns instead of 0.58 ns.
// Rejected: a trait with a generic method as the body, because programs could not pass closures.
// Rejected: with one piece in flight, taking several inputs from the iterator in advance. The
// iterator may use the result of an input to produce the next input.
// Rejected: prefetching into the second-level cache. On a Zen 5, these prefetches do not shorten a
// miss in 64 MiB of data, and lengthen a miss in 4 GiB of data 1.2 to 1.6 times.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};

use crate::local_store::StageError;
use crate::panic_payload::PanicPayload;
use crate::plain_data::PlainData;
use crate::spe::core::SpeCore;
use crate::staging::Staged;
use crate::threads::{self, StackError, THREAD_STACK_BYTES};
use crate::time::{Span, Time};
use crate::wake::Sleeper;

mod trial;

use trial::{Trial, inputs_in};

/// The number of pieces of work in flight at once: see [`Spe::interleave`](crate::Spe::interleave).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFlight {
    /// The number with the least time per input, at most [`AUTOMATIC_MAX`](Self::AUTOMATIC_MAX).
    /// Numbers for which the local store may have no room are not measured.
    Automatic,
    /// A fixed number of pieces. 0 means 1.
    Fixed(usize),
}

impl InFlight {
    /// The largest number of pieces that [`Automatic`](Self::Automatic) has in flight.
    pub const AUTOMATIC_MAX: usize = THREADS[THREADS.len() - 1];
}

impl From<usize> for InFlight {
    fn from(threads: usize) -> Self {
        Self::Fixed(threads)
    }
}

/// A summary of completed interleaved work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interleaved {
    /// The number of inputs.
    pub inputs: usize,
    /// The number of pieces in flight at the end.
    pub in_flight: usize,
}

/// The reason why interleaved work ended early.
#[derive(thiserror::Error)]
pub enum InterleaveError {
    /// The local store has no room for the stacks of `threads` threads.
    #[error(transparent)]
    Stack(#[from] StackError),
    /// The run was cancelled. Usually the calling thread is then unwound. Only a call from a
    /// destructor during this unwinding returns the error instead.
    #[error(
        "the run was cancelled after {inputs} inputs had been taken; the others were not worked on"
    )]
    Cancelled {
        /// The number of inputs that were taken.
        inputs: usize,
    },
    /// The body, the sink or the iterator of the inputs panicked. The other pieces in flight were
    /// completed. At most one piece began later.
    #[error("interleaved work panicked at input {index}: {payload}")]
    Panicked {
        /// The index of the input, from 0.
        index: usize,
        /// The payload of the panic.
        payload: PanicPayload,
    },
}

crate::debug_by_display!(InterleaveError);

/// The SPE in the body of interleaved work: see [`Spe::interleave`](crate::Spe::interleave).
///
/// All methods of [`Spe`](crate::Spe) can be called. If only one piece is in flight, and the
/// machine does not copy slices into a local store, [`stage`](Self::stage) compiles to nothing.
pub struct InterleavedSpe<'a, S: SpeCore> {
    spe: &'a S,
    /// Whether no other piece is in flight, and the machine does not copy slices into a local
    /// store. The value is a constant in each of the two functions that call the body, so
    /// [`work_plainly`] compiles to a plain loop.
    is_in_place: bool,
}

impl<S: SpeCore> Clone for InterleavedSpe<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: SpeCore> Copy for InterleavedSpe<'_, S> {}

impl<'a, S: SpeCore> InterleavedSpe<'a, S> {
    /// Returns a slice after it has arrived in the local store. Other pieces of work run meanwhile.
    /// If no other piece is in flight, the other threads of the SPE may have to wait for some
    /// tenths of a millisecond. Threads that the body has started may have to wait until the body
    /// waits by another method.
    ///
    /// # Errors
    ///
    /// Returns [`StageError`] if the local store has no room.
    #[track_caller]
    #[inline(always)]
    pub fn stage<'b, T: PlainData>(self, source: &'b [T]) -> Result<Staged<'b, T, S>, StageError>
    where
        'a: 'b,
    {
        let at = Location::caller();
        if self.is_in_place {
            // SAFETY: only `work_plainly` sets `is_in_place` to true. It runs only after
            // `uninterrupted_span` has returned a time, as `get_in_place` requires.
            unsafe { Staged::get_in_place(self.spe, source, at) }
        } else {
            Staged::get(self.spe, source, at)
        }
    }
}

impl<S: SpeCore> Deref for InterleavedSpe<'_, S> {
    type Target = S;

    #[inline(always)]
    fn deref(&self) -> &S {
        self.spe
    }
}

/// Interleaved work that has not begun: see [`Spe::interleave`](crate::Spe::interleave).
#[must_use = "nothing is done before it is said what happens to the results"]
pub struct Interleave<'a, S: SpeCore, I, F> {
    spe: &'a S,
    in_flight: InFlight,
    inputs: I,
    body: F,
}

impl<'a, S: SpeCore, I, R, F> Interleave<'a, S, I, F>
where
    I: Iterator,
    F: Fn(InterleavedSpe<'_, S>, I::Item) -> R,
{
    pub(crate) fn new(spe: &'a S, in_flight: InFlight, inputs: I, body: F) -> Self {
        Self {
            spe,
            in_flight,
            inputs,
            body,
        }
    }

    /// Processes all inputs. Calls `sink` with the index (from 0) and the result of each input.
    ///
    /// # Errors
    ///
    /// Returns [`InterleaveError`] if the body, the sink or the iterator of the inputs panicked, if
    /// the local store has no room for the threads, or if the run was cancelled.
    pub fn as_completed(self, sink: impl FnMut(usize, R)) -> Result<Interleaved, InterleaveError> {
        let Self {
            spe,
            in_flight,
            inputs,
            body,
        } = self;
        let flow = Flow {
            spe,
            body,
            in_flight: Cell::new(0),
            taken: Cell::new(0),
            ends: UnsafeCell::new(Some(Ends { inputs, sink })),
            waiting: RefCell::default(),
            some_wait: Cell::new(false),
            stop: Cell::new(0),
            end: Cell::new(0),
            trial: Cell::new(None),
            portion: Cell::new(FIRST_PORTION),
            portion_span: Cell::new(TURN),
            looked_at: Cell::new(0),
            looked_when: Cell::new(spe.now()),
            is_exhausted: Cell::new(false),
            most_staged: Cell::new(0),
            failed: Cell::new(None),
            result: PhantomData,
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| match in_flight {
            InFlight::Fixed(threads) => flow.work_on_batch(threads.max(1), usize::MAX, None),
            InFlight::Automatic => flow.work_at_the_best(),
        }));
        match (outcome, flow.failed.get()) {
            (Ok(worked), _) => worked?,
            (Err(payload), Some(index)) if !spe.is_cancelled() => {
                let payload = payload.into();
                return Err(InterleaveError::Panicked { index, payload });
            }
            (Err(payload), _) => resume_unwind(payload),
        }
        let inputs = flow.taken.get();
        if !flow.is_exhausted.get() {
            return Err(InterleaveError::Cancelled { inputs });
        }
        Ok(Interleaved {
            inputs,
            in_flight: flow.in_flight.get(),
        })
    }

    /// Processes all inputs, and calls `sink` with the results in the order of the inputs.
    ///
    /// # Errors
    ///
    /// Returns [`InterleaveError`] if the body, the sink or the iterator of the inputs panicked, if
    /// the local store has no room for the threads, or if the run was cancelled. All results
    /// after the first missing result are dropped.
    pub fn in_order(self, mut sink: impl FnMut(R)) -> Result<Interleaved, InterleaveError> {
        let mut early = VecDeque::new();
        let mut next = 0;
        self.as_completed(|index, result| {
            if index == next && early.is_empty() {
                next += 1;
                sink(result);
                return;
            }
            let place = index - next;
            if early.len() <= place {
                early.resize_with(place + 1, || None);
            }
            early[place] = Some(result);
            while let Some(result) = early.front_mut().and_then(Option::take) {
                early.pop_front();
                next += 1;
                sink(result);
            }
        })
    }

    /// Processes all inputs, and returns the results in the order of the inputs.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`in_order`](Self::in_order).
    pub fn collect(self) -> Result<Vec<R>, InterleaveError> {
        let mut results = Vec::with_capacity(self.inputs.size_hint().0);
        self.in_order(|result| results.push(result))?;
        Ok(results)
    }
}

/// The state that the threads of interleaved work share.
struct Flow<'a, S, I, R, F, K> {
    spe: &'a S,
    body: F,
    /// The number of threads of the present or last batch.
    in_flight: Cell<usize>,
    /// The number of inputs taken so far, or [`HELD`] while a thread holds the flow.
    taken: Cell<usize>,
    /// The inputs and the sink. `None` during [`work_plainly`] and after a panic in `work_plainly`.
    ends: UnsafeCell<Option<Ends<I, K>>>,
    /// The threads that wait to hold the flow.
    waiting: RefCell<Vec<Sleeper>>,
    some_wait: Cell<bool>,
    /// A thread checks the fields below only if at least this many inputs have been taken.
    stop: Cell<usize>,
    /// The number of taken inputs at which the batch is complete.
    end: Cell<usize>,
    trial: Cell<Option<Trial>>,
    /// The number of inputs in a portion, and the intended duration of a portion.
    portion: Cell<usize>,
    portion_span: Cell<Span>,
    /// The number of inputs taken before the last look outside, and the time of this look.
    looked_at: Cell<usize>,
    looked_when: Cell<Time>,
    is_exhausted: Cell<bool>,
    /// The largest number of bytes that a single piece has used in the local store.
    most_staged: Cell<usize>,
    /// The index of the first input at which a panic occurred.
    failed: Cell<Option<usize>>,
    result: PhantomData<fn() -> R>,
}

struct Ends<I, K> {
    inputs: I,
    sink: K,
}

/// The value of `Flow::taken` while a thread holds the flow.
const HELD: usize = usize::MAX;

/// The numbers of threads to try. Those below [`FEW`] are tried only if `FEW` threads have no room.
const THREADS: [usize; 7] = [2, 4, FEW, 16, 32, 64, 128];

/// The number of threads that is tried after one thread.
const FEW: usize = 8;

/// More than [`FEW`] threads are tried only if the time of an input with `FEW` threads is at most
/// this multiple of the time with one thread.
const HOPELESS_LOSS: u128 = 2;

/// The least time between trials: see also [`HOLD_SHARE`].
const HOLD: Span = Span::from_nanoseconds(50_000_000);

/// The least ratio of the time between trials to the duration of the trials.
const HOLD_SHARE: u128 = 64;

/// The number of inputs in the first portion, because the time of an input is not known yet.
const FIRST_PORTION: usize = 16;

/// The largest portion if slices are not used in place, because later inputs may take longer.
const PORTION_MAX: usize = 1 << 14;

/// The largest ratio of a portion to the previous portion if slices are used in place.
const PORTION_GROWTH: usize = 1 << 12;

/// The duration of a portion for several threads, or if slices are not used in place.
const TURN: Span = Span::from_nanoseconds(50_000);

/// To be chosen, a larger number of threads must save more than `1 / LEAST_GAIN` of the time of an
/// input. If other programs use the memory too, they slow down many threads more than few threads.
const LEAST_GAIN: u128 = 32;

/// To be chosen, several threads must save more than `1 / LEAST_GAIN_OVER_LOOP` of the time with
/// one thread. A trial counts inputs, so it is slower than the later plain loop of one thread.
const LEAST_GAIN_OVER_LOOP: u128 = 4;

impl<S, I, R, F, K> Flow<'_, S, I, R, F, K>
where
    S: SpeCore,
    I: Iterator,
    F: Fn(InterleavedSpe<'_, S>, I::Item) -> R,
    K: FnMut(usize, R),
{
    fn work_on_batch(
        &self,
        threads: usize,
        inputs: usize,
        trial: Option<Trial>,
    ) -> Result<(), InterleaveError> {
        self.trial.set(trial);
        if self.is_done() {
            return Ok(());
        }
        self.in_flight.set(threads);
        if threads > 1 && trial.is_none() {
            self.look_after(TURN);
        }
        let end = self.taken.get().saturating_add(inputs);
        self.end.set(end);
        self.stop.set(match trial {
            Some(trial) => trial.next,
            None => self.next_look(self.taken.get()),
        });
        self.looked_at.set(self.taken.get());
        self.looked_when.set(self.spe.now());
        match threads {
            1 => {
                let work = || self.work_alone(end);
                match self.spe.confined_to() {
                    None => work(),
                    Some(local_store) => {
                        let (staged, ()) = local_store.peak_of(work);
                        self.most_staged.set(self.most_staged.get().max(staged));
                    }
                }
            }
            _ => {
                self.spe.look_outside();
                threads::threads(self.spe, threads, &|_| self.work_on_inputs())?;
            }
        }
        Ok(())
    }

    /// Processes inputs one after the other, until `end` inputs are taken or the trial ends.
    fn work_alone(&self, end: usize) {
        let is_trial = self.trial.get().is_some();
        loop {
            let begun_at = self.taken.get();
            self.spe.look_outside();
            let uninterrupted = self.spe.uninterrupted_span();
            self.look_after(uninterrupted.unwrap_or(TURN));
            if !is_trial {
                let stop = begun_at.saturating_add(self.portion.get()).min(end);
                self.end.set(stop);
                self.stop.set(stop);
            }
            let begin = self.spe.now();
            match uninterrupted {
                Some(_) => self.work_in_place(),
                None => self.work_on_inputs(),
            }
            let worked = self.taken.get() - begun_at;
            let most = match uninterrupted {
                Some(_) => worked.saturating_mul(PORTION_GROWTH),
                None => PORTION_MAX,
            };
            self.fit_portion(worked, begin, most);
            if is_trial || self.is_done() || self.taken.get() >= end {
                return;
            }
        }
    }

    fn work_in_place(&self) {
        loop {
            let from = self.taken.get();
            if from >= self.stop.get() && !self.may_go_on(from) {
                return;
            }
            let to = self.stop.get();
            // SAFETY: this flow has no other thread, so no thread holds the flow.
            let ends = unsafe { (*self.ends.get()).take() };
            let Some(Ends { inputs, sink }) = ends else {
                unreachable!("after a panic nothing is gone on with")
            };
            let mut next = self.failing(to);
            next.left = to - from;
            let worked = work_plainly(self.spe, &self.body, inputs, sink, next);
            // SAFETY: as above, no thread holds the flow.
            unsafe { *self.ends.get() = Some(worked.ends) };
            self.taken.set(worked.taken);
            if worked.is_exhausted {
                self.is_exhausted.set(true);
                self.stop.set(0);
            }
        }
    }

    fn work_at_the_best(&self) -> Result<(), InterleaveError> {
        loop {
            let begin = self.spe.now();
            let Some((fastest, time)) = self.fastest()? else {
                return Ok(());
            };
            let hold = HOLD.max(self.spe.now().since(begin) * HOLD_SHARE);
            self.work_on_batch(fastest, inputs_in(hold, 1, time), None)?;
        }
    }

    /// Returns the fastest number of threads and its time per input, or `None` for too few inputs.
    fn fastest(&self) -> Result<Option<(usize, Span)>, InterleaveError> {
        let Some(alone) = self.least_time(1)? else {
            return Ok(None);
        };
        let has_room = |threads: &usize| self.has_room_for(*threads);
        let few = |threads: &usize| *threads <= FEW && has_room(threads);
        let few = THREADS.iter().rposition(few).unwrap_or_default();
        let mut fastest = None;
        for threads in THREADS[few..].iter().copied().filter(has_room) {
            let Some(time) = self.least_time(threads)? else {
                continue;
            };
            if fastest.is_none() && time > alone * HOPELESS_LOSS {
                break;
            }
            match fastest {
                Some((_, least)) if time + time / LEAST_GAIN >= least => {
                    // Several threads are slower than one thread, and more threads are not faster.
                    // To make the stacks of many threads would take about a millisecond.
                    if least >= alone {
                        break;
                    }
                }
                _ => fastest = Some((threads, time)),
            }
        }
        let gain = match self.spe.uninterrupted_span() {
            Some(_) => alone / LEAST_GAIN_OVER_LOOP,
            None => Span::default(),
        };
        let is_worth_it = |(_, time): &(usize, Span)| *time + gain < alone;
        Ok(fastest.filter(is_worth_it).or(Some((1, alone))))
    }

    /// Returns whether the local store has room for the stacks and data of `threads` pieces. A
    /// later piece may use more data than earlier pieces, so twice the most data of a piece is
    /// assumed.
    fn has_room_for(&self, threads: usize) -> bool {
        let bytes = THREAD_STACK_BYTES + 2 * self.most_staged.get();
        let local_store = self.spe.confined_to();
        local_store.is_none_or(|local_store| threads * bytes <= local_store.free_bytes())
    }

    /// Returns the number of taken inputs at which the portion or the batch ends.
    fn next_look(&self, taken: usize) -> usize {
        taken.saturating_add(self.portion.get()).min(self.end.get())
    }

    /// Sets the duration of a portion. If the duration becomes shorter, portions start small again,
    /// because the old number of inputs may be far too large.
    fn look_after(&self, span: Span) {
        if span < self.portion_span.replace(span) {
            self.portion.set(FIRST_PORTION);
        }
    }

    /// Sets the number of inputs in the next portion to as many as fit into `portion_span`, at most
    /// `most`. The time per input is known from `inputs` inputs, which were processed since
    /// `begin`.
    fn fit_portion(&self, inputs: usize, begin: Time, most: usize) {
        let fit = inputs_in(self.portion_span.get(), inputs, self.spe.now().since(begin));
        self.portion.set(fit.min(most).max(1));
    }

    fn is_done(&self) -> bool {
        self.is_exhausted.get() || self.failed.get().is_some()
    }

    /// Returns the time of an input, or `None` if inputs are too few or the threads have no room.
    fn least_time(&self, threads: usize) -> Result<Option<Span>, InterleaveError> {
        let trial = Trial::new(threads, self.taken.get());
        match self.work_on_batch(threads, usize::MAX, Some(trial)) {
            Err(InterleaveError::Stack(_)) => Ok(None),
            worked => {
                worked?;
                Ok(self.trial.get().and_then(|trial| trial.least_time()))
            }
        }
    }

    /// Processes inputs in one of several threads, until the batch is complete or no input is left.
    ///
    /// Only this function and [`work_plainly`] call `body`, so that a short body is inlined. A long
    /// body is called from the same place in all threads, so the CPU predicts its return.
    fn work_on_inputs(&self) {
        let Some((mut index, mut input)) = self.exchange_slowly(None) else {
            return;
        };
        let spe = InterleavedSpe {
            spe: self.spe,
            is_in_place: false,
        };
        loop {
            let working = self.failing(index);
            let result = (self.body)(spe, input);
            std::mem::forget(working);
            match self.exchange(index, result) {
                Some(next) => (index, input) = next,
                None => return,
            }
        }
    }

    /// Passes the result of the input at `index` to the sink, and takes the next input. The fast
    /// path loads the shared `taken` once and stores it twice.
    #[inline(always)]
    fn exchange(&self, index: usize, result: R) -> Option<(usize, I::Item)> {
        let taken = self.taken.get();
        if taken >= self.stop.get() {
            // Builds a new pair. Otherwise the input would also be in memory on the fast path.
            let (index, input) = self.exchange_slowly(Some((index, result)))?;
            return Some((index, input));
        }
        let mut held = self.hold(taken);
        held.hand_over(index, result);
        held.take()
    }

    /// Does the same as `exchange`, with all checks. A thread's first call has no result.
    #[cold]
    #[inline(never)]
    fn exchange_slowly(&self, result: Option<(usize, R)>) -> Option<(usize, I::Item)> {
        let mut held = self.hold_slowly();
        if let Some((index, result)) = result {
            held.hand_over(index, result);
        }
        if self.is_to_look(held.taken) {
            let inputs = held.taken - self.looked_at.get();
            self.fit_portion(inputs, self.looked_when.get(), PORTION_MAX);
            self.stop.set(self.next_look(held.taken));
            // Other threads may run and take inputs during `look_outside`.
            drop(held);
            self.spe.look_outside();
            held = self.hold_slowly();
            self.looked_at.set(held.taken);
            self.looked_when.set(self.spe.now());
        }
        if held.taken >= self.stop.get() && !self.may_go_on(held.taken) {
            return None;
        }
        held.take()
    }

    /// Waits until no other thread holds the flow, and then holds it.
    fn hold_slowly(&self) -> Held<'_, '_, S, I, R, F, K> {
        while self.taken.get() == HELD {
            self.wait_for_the_holder();
        }
        self.hold(self.taken.get())
    }

    /// Returns whether to look outside now. In trials, `may_go_on` looks outside instead.
    fn is_to_look(&self, taken: usize) -> bool {
        let is_at_stop = taken >= self.stop.get() && taken < self.end.get();
        is_at_stop && self.trial.get().is_none() && !self.is_done()
    }

    /// Holds the flow, which no other thread may hold now.
    #[inline(always)]
    fn hold(&self, taken: usize) -> Held<'_, '_, S, I, R, F, K> {
        self.taken.set(HELD);
        Held { flow: self, taken }
    }

    #[inline(always)]
    fn failing(&self, index: usize) -> Failing<'_> {
        Failing {
            failed: &self.failed,
            stop: &self.stop,
            end: index,
            left: 0,
        }
    }

    #[inline(always)]
    fn release(&self, taken: usize) {
        self.taken.set(taken);
        if self.some_wait.get() {
            self.wake_those_who_wait();
        }
    }

    #[cold]
    #[inline(never)]
    fn wait_for_the_holder(&self) {
        self.waiting.borrow_mut().push(self.spe.sleeper());
        self.some_wait.set(true);
        self.spe.wait_until(
            &"another thread to hand over a result and take an input",
            &mut || self.taken.get() != HELD,
        );
    }

    #[cold]
    #[inline(never)]
    fn wake_those_who_wait(&self) {
        self.some_wait.set(false);
        for sleeper in self.waiting.take() {
            self.spe.wake(sleeper);
        }
    }

    /// Returns whether another input may be taken. In a trial, also records times.
    #[cold]
    #[inline(never)]
    fn may_go_on(&self, taken: usize) -> bool {
        if self.is_done() || taken >= self.end.get() {
            return false;
        }
        if let Some(mut trial) = self.trial.get()
            && taken == trial.next
        {
            let took = trial.take_time(taken, self.spe.now());
            if trial.times == 0 {
                // The trial has all its measurements, so the batch ends after the next input.
                self.end.set(taken + 1);
                trial.next = taken + 1;
            }
            self.stop.set(trial.next);
            self.trial.set(Some(trial));
            if took > TURN {
                self.spe.look_outside();
            }
        }
        true
    }
}

/// Processes up to `next.left` inputs in a plain loop, with staged data in place.
///
/// The loop should be as fast as a loop in the program itself. Therefore the function is not
/// inlined, and takes and returns the inputs and the sink by value: a sum in the sink can then stay
/// in a register. The optimiser unrolls only loops with one exit. Therefore, if the iterator has at
/// most `next.left` inputs, a loop without a check of `next.left` is used.
#[inline(never)]
fn work_plainly<S, I, R, F, K>(
    spe: &S,
    body: &F,
    mut inputs: I,
    mut sink: K,
    mut next: Failing<'_>,
) -> Worked<I, K>
where
    S: SpeCore,
    I: Iterator,
    F: Fn(InterleavedSpe<'_, S>, I::Item) -> R,
    K: FnMut(usize, R),
{
    let spe = InterleavedSpe {
        spe,
        is_in_place: true,
    };
    let (_, most) = inputs.size_hint();
    let is_exhausted = if most.is_some_and(|most| most <= next.left) {
        for input in inputs.by_ref() {
            sink(next.index(), body(spe, input));
            // `left` wraps below 0 if the iterator has more inputs than its `size_hint`.
            next.left = next.left.wrapping_sub(1);
        }
        true
    } else {
        loop {
            if next.left == 0 {
                break false;
            }
            let Some(input) = inputs.next() else {
                break true;
            };
            sink(next.index(), body(spe, input));
            next.left -= 1;
        }
    };
    let taken = next.index();
    std::mem::forget(next);
    Worked {
        ends: Ends { inputs, sink },
        taken,
        is_exhausted,
    }
}

struct Worked<I, K> {
    ends: Ends<I, K>,
    taken: usize,
    is_exhausted: bool,
}

/// A guard that exists while a thread holds the flow, and gives access to the inputs and the sink.
struct Held<'a, 'b, S: SpeCore, I, R, F, K>
where
    I: Iterator,
    F: Fn(InterleavedSpe<'_, S>, I::Item) -> R,
    K: FnMut(usize, R),
{
    flow: &'a Flow<'b, S, I, R, F, K>,
    taken: usize,
}

impl<S: SpeCore, I, R, F, K> Held<'_, '_, S, I, R, F, K>
where
    I: Iterator,
    F: Fn(InterleavedSpe<'_, S>, I::Item) -> R,
    K: FnMut(usize, R),
{
    #[inline(always)]
    fn ends(&mut self) -> &mut Ends<I, K> {
        // SAFETY: there is one `Held` at a time, and none during `work_plainly`. The sink and the
        // inputs cannot access `flow.ends`, so this is the only reference.
        unsafe { (*self.flow.ends.get()).as_mut().unwrap_unchecked() }
    }

    #[inline(always)]
    fn hand_over(&mut self, index: usize, result: R) {
        let failing = self.flow.failing(index);
        (self.ends().sink)(index, result);
        std::mem::forget(failing);
    }

    #[inline(always)]
    fn take(mut self) -> Option<(usize, I::Item)> {
        let index = self.taken;
        let failing = self.flow.failing(index);
        let input = self.ends().inputs.next();
        std::mem::forget(failing);
        let Some(input) = input else {
            self.end();
            return None;
        };
        let flow = self.flow;
        std::mem::forget(self);
        flow.release(index + 1);
        Some((index, input))
    }

    #[cold]
    #[inline(never)]
    fn end(self) {
        self.flow.is_exhausted.set(true);
        self.flow.stop.set(0);
    }
}

impl<S: SpeCore, I, R, F, K> Drop for Held<'_, '_, S, I, R, F, K>
where
    I: Iterator,
    F: Fn(InterleavedSpe<'_, S>, I::Item) -> R,
    K: FnMut(usize, R),
{
    fn drop(&mut self) {
        self.flow.release(self.taken);
    }
}

/// A guard that records the index of an input on a panic. Without a panic, the guard is forgotten.
struct Failing<'a> {
    failed: &'a Cell<Option<usize>>,
    stop: &'a Cell<usize>,
    /// The index of the input plus `left`, so that the loop changes only `left`.
    end: usize,
    left: usize,
}

impl Failing<'_> {
    #[inline(always)]
    fn index(&self) -> usize {
        self.end.wrapping_sub(self.left)
    }
}

impl Drop for Failing<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.failed.set(self.failed.get().or(Some(self.index())));
        // After this store no thread takes another input.
        self.stop.set(0);
    }
}
