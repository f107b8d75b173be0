//! Interleaved work: while some of many independent pieces of work wait for their data, another
//! piece computes.
//!
//! ```text
//!   inputs ──► thread 0: stage, wait ─────┐ follow, wait ──┐ result
//!          ──► thread 1:   stage, wait ───┼─┐              │        ──► in input order,
//!          ──► thread 2:     stage, wait ─┼─┼─┐            │            or as they are completed
//!                                         ▼ ▼ ▼            ▼
//!                         each goes on when its turn comes round: its data is there by then
//! ```
//!
//! A piece of work is ordinary sequential code that stages slices and waits for their data. The
//! number of pieces *in flight* (begun and not ended) decides how much of the latency is hidden.
//! With too few pieces the core still waits. With too many pieces, the pieces evict each other's
//! data from the cache. If the data is near, one piece at a time is best.
//!
//! [`InFlight::Automatic`] measures which number is best. The first inputs are worked on with 1 and
//! with 8 threads, which shows whether there is latency to hide. If so, numbers up to 128 threads
//! are measured too. The fastest number is kept, but from time to time measured again, because
//! caches fill and inputs change.
//!
//! One piece in flight has a loop of its own. On a machine that reads staged data in place, this
//! loop is as fast as a loop without this module: `stage` returns the slice, and the checks for
//! other threads are made once for many inputs. If the iterator's `size_hint` says that few inputs
//! are left, the loop does not even count inputs.
//!
//! The code uses these words. A thread *looks outside* when it calls `SpeCore::look_outside`. A
//! *portion* is the inputs between two looks outside. A *batch* is the inputs that are worked on
//! with one number of threads. A *trial* measures a batch. A *flow* is the shared state of the
//! threads. A thread *holds* the flow while it uses the inputs and the *sink*, the closure that
//! takes the results.

// Rejected: `interleave` as an iterator of results. If such an iterator is leaked, its threads go
// on and borrow values which no longer exist. Instead, results go to a closure, which outlives the
// call.
// Rejected: a body that uses the SPE around it. Such a body cannot know whether it is the only
// work, so each `stage` checked for other work, and no value stayed in a register across `stage`
// (2.39 ns a look-up, where a plain loop takes 0.58). A trait with a generic method would avoid
// these costs, but is no ordinary code.
// Rejected: taking several inputs in advance when one piece is in flight, because an input may
// depend on the last result.
// Rejected: interleaved work that prefetches into the second-level cache. On a Zen 5 such
// prefetches gain nothing in a table of 64 MiB: AMAC (asynchronous memory access chaining) with 128
// look-ups in flight takes 2.45 ns a miss with prefetches, and 2.42 without. In 4 GiB the
// prefetches make AMAC 1.2 to 1.6 times as slow. A trial that chooses the cache costs more than it
// gains. With a loop for each cache, the body has a third caller and is no longer inlined (2.0
// becomes 3.4 ns a turn). With a check in each turn, look-ups are 5 to 10 % slower. On a Zen 4, by
// a report, group prefetching into the second-level cache is twice as fast as AMAC with 32 in
// flight. No Zen 4 was at hand.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};

use crate::error::{self, Payload};
use crate::local_store::StageError;
use crate::plain_data::PlainData;
use crate::spe::core::SpeCore;
use crate::staging::Staged;
use crate::threads::{self, StackError, THREAD_STACK_BYTES};
use crate::time::{Span, Time};
use crate::wake::Sleeper;

mod trial;

use trial::{Trial, inputs_in};

/// The number of pieces of work that are in flight at once: see
/// [`Spe::interleave`](crate::Spe::interleave).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFlight {
    /// The fastest number from 1 to [`AUTOMATIC_MAX`](Self::AUTOMATIC_MAX), measured with the first
    /// inputs. On machines that move data to a local store, the number is limited so that each
    /// piece of work has room for twice the data that a single piece has used so far.
    Automatic,
    /// This number of pieces. 0 means 1.
    Fixed(usize),
}

impl InFlight {
    /// The largest number of pieces of work that [`Automatic`](Self::Automatic) has in flight.
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
    /// The number of pieces of work that were in flight at the end.
    pub in_flight: usize,
}

/// The reason why interleaved work ended before all inputs were worked on.
#[derive(thiserror::Error)]
pub enum InterleaveError {
    /// The local store has no room for the stacks of `threads` threads.
    #[error(transparent)]
    Stack(#[from] StackError),
    /// The run was cancelled, and the caller is a destructor that runs during the unwinding.
    #[error(
        "the run was cancelled after {inputs} inputs had been taken; the others were not worked on"
    )]
    Cancelled {
        /// The number of inputs that were taken.
        inputs: usize,
    },
    /// The body panicked. The pieces of work in flight were finished, the sink got their results,
    /// and at most one more input was begun.
    #[error("the body panicked at input {index}: {}", error::message(.payload))]
    Panicked {
        /// The number of the input, counted from 0.
        index: usize,
        /// The payload of the panic.
        payload: Payload,
    },
}

impl fmt::Debug for InterleaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An SPE, as a piece of interleaved work sees it: see [`Spe::interleave`](crate::Spe::interleave).
///
/// All methods of [`Spe`](crate::Spe) can be called. Only [`stage`](Self::stage) differs, because
/// it knows whether other pieces of work are in flight. If no other piece is in flight, and data
/// need not be moved, `stage` compiles to nothing.
pub struct InterleavedSpe<'a, S: SpeCore> {
    spe: &'a S,
    /// Whether there is no other thread and no data to wait for. The value is a constant in each of
    /// the two loops that call the body, so the loop for one piece compiles to a plain loop.
    is_in_place: bool,
}

impl<S: SpeCore> Clone for InterleavedSpe<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: SpeCore> Copy for InterleavedSpe<'_, S> {}

impl<'a, S: SpeCore> InterleavedSpe<'a, S> {
    /// Gets a slice and waits until the slice has arrived. Meanwhile other pieces of work go on. If
    /// no other piece is in flight, this method need not switch threads. Other threads of the SPE
    /// may then wait for some tenths of a millisecond, and threads that the body starts may wait
    /// longer.
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
        match self.is_in_place {
            // SAFETY: `is_in_place` is true only where `uninterrupted_span` has returned a time.
            true => unsafe { Staged::get_in_place(self.spe, source, at) },
            false => Staged::get(self.spe, source, at),
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

/// Interleaved work that has not begun yet: see [`Spe::interleave`](crate::Spe::interleave).
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

    /// Works on all inputs. As soon as a result is complete, calls `sink` with the number of the
    /// input and the result.
    ///
    /// # Errors
    ///
    /// Returns [`InterleaveError`] if the body panicked, the local store has no room for the
    /// threads, or the run was cancelled.
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

    /// Works on all inputs, and calls `sink` with the results in the order of the inputs. A result
    /// that is complete too early is kept until its turn.
    ///
    /// # Errors
    ///
    /// Returns [`InterleaveError`] if the body panicked, the local store has no room for the
    /// threads, or the run was cancelled. All results after the first missing result are lost.
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

    /// Works on all inputs, and returns the results in the order of the inputs.
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
    /// The number of inputs that were taken, or [`HELD`] while a thread holds the flow.
    taken: Cell<usize>,
    /// The inputs and the sink, for the thread that holds the flow. `None` during [`work_plainly`],
    /// and after a panic in `work_plainly`.
    ends: UnsafeCell<Option<Ends<I, K>>>,
    /// The threads that wait until no thread holds the flow.
    waiting: RefCell<Vec<Sleeper>>,
    some_wait: Cell<bool>,
    /// When this number of inputs has been taken, a thread has to check the fields below.
    stop: Cell<usize>,
    /// When this number of inputs has been taken, the batch is complete.
    end: Cell<usize>,
    trial: Cell<Option<Trial>>,
    /// The number of inputs of a portion, and the time that a portion should take.
    portion: Cell<usize>,
    portion_span: Cell<Span>,
    /// The number of inputs taken before the last look outside, and the time of that look.
    looked_at: Cell<usize>,
    looked_when: Cell<Time>,
    is_exhausted: Cell<bool>,
    /// The largest number of bytes of local store that a piece of work used alone.
    most_staged: Cell<usize>,
    /// The input at which the body first panicked.
    failed: Cell<Option<usize>>,
    result: PhantomData<fn() -> R>,
}

struct Ends<I, K> {
    inputs: I,
    sink: K,
}

/// The value of `Flow::taken` while a thread hands over a result or takes an input.
const HELD: usize = usize::MAX;

/// The numbers of threads that trials measure, below [`FEW`] only if there is no room for more.
const THREADS: [usize; 7] = [2, 4, FEW, 16, 32, 64, 128];

/// The number of threads that shows whether there is latency to hide.
const FEW: usize = 8;

/// No larger number is measured if [`FEW`] threads take longer than one thread by this factor.
const HOPELESS_LOSS: u128 = 2;

/// A chosen number of threads is kept for at least this time, and for at least [`HOLD_SHARE`] times
/// the duration of the trials, so that trials take a small part of the time.
const HOLD: Span = Span::from_nanoseconds(50_000_000);

/// See [`HOLD`].
const HOLD_SHARE: u128 = 64;

/// The number of inputs of the first portion, when the time of an input is unknown.
const FIRST_PORTION: usize = 16;

/// The largest portion of inputs that are taken one by one. The limit exists because later inputs
/// may take longer than the measured inputs.
const PORTION_MAX: usize = 1 << 14;

/// The factor by which a portion may be larger than the last portion, if data is in place.
const PORTION_GROWTH: usize = 1 << 12;

/// The duration of a portion for several threads, or if data is not in place.
const TURN: Span = Span::from_nanoseconds(50_000);

/// A larger number of threads is chosen only if it saves more than `1 / LEAST_GAIN` of the time of
/// an input, because many threads suffer more if other programs use the memory.
const LEAST_GAIN: u128 = 32;

/// Several threads are chosen only if they save more than `1 / LEAST_GAIN_OVER_LOOP` of the time of
/// an input in the loop for one piece. Trials overestimate this time, because a trial counts inputs
/// and the loop for the last inputs does not. In addition, where memory is the limit, a CPU
/// overlaps more inputs of a shorter loop.
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

    /// Works on the inputs before `end`, or of the trial, one after the other.
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

    /// Works on inputs in one thread, with staged data in place.
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
            // SAFETY: as for the `ends` above.
            unsafe { *self.ends.get() = Some(worked.ends) };
            self.taken.set(worked.taken);
            if worked.is_exhausted {
                self.is_exhausted.set(true);
                self.stop.set(0);
            }
        }
    }

    /// Works on all inputs with the fastest number of threads.
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

    /// Measures with which number of threads an input takes the least time. Returns the number and
    /// the time, or `None` if there are too few inputs.
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
            if fastest.is_none_or(|(_, least)| time + time / LEAST_GAIN < least) {
                fastest = Some((threads, time));
            }
        }
        let gain = match self.spe.uninterrupted_span() {
            Some(_) => alone / LEAST_GAIN_OVER_LOOP,
            None => Span::default(),
        };
        let is_worth_it = |(_, time): &(usize, Span)| *time + gain < alone;
        Ok(fastest.filter(is_worth_it).or(Some((1, alone))))
    }

    /// Whether the local store has room for the stacks of `threads` threads and, because pieces of
    /// work differ, for twice the data that one piece has used.
    fn has_room_for(&self, threads: usize) -> bool {
        let bytes = THREAD_STACK_BYTES + 2 * self.most_staged.get();
        let local_store = self.spe.confined_to();
        local_store.is_none_or(|local_store| threads * bytes <= local_store.free_bytes())
    }

    /// Returns the number of taken inputs at which a thread looks outside or the batch is complete.
    fn next_look(&self, taken: usize) -> usize {
        taken.saturating_add(self.portion.get()).min(self.end.get())
    }

    /// Sets the duration of a portion. A shorter duration starts with small portions again, because
    /// the old size of portions may be too large by a million inputs.
    fn look_after(&self, span: Span) {
        if span < self.portion_span.replace(span) {
            self.portion.set(FIRST_PORTION);
        }
    }

    /// Sets the size of the next portion, at most `most` inputs, so that the portion takes
    /// `portion_span`. The last `inputs` inputs have taken the time since `begin`.
    fn fit_portion(&self, inputs: usize, begin: Time, most: usize) {
        let fit = inputs_in(self.portion_span.get(), inputs, self.spe.now().since(begin));
        self.portion.set(fit.min(most).max(1));
    }

    fn is_done(&self) -> bool {
        self.is_exhausted.get() || self.failed.get().is_some()
    }

    /// Returns the time that an input takes with `threads` threads, or `None` if there are too few
    /// inputs, or no room for the threads.
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

    /// Works on inputs until the batch is complete or no input is left, at the same time as other
    /// threads.
    ///
    /// `body` is called in this function and in [`work_plainly`]. The compiler inlines a short body
    /// in both places and a long body in neither. The CPU predicts the return of a long body
    /// correctly, because all threads call the body from the same place.
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

    /// Hands over the result of the input at `index`, and takes the next input.
    ///
    /// The fast path loads `taken`, which all threads share, once and stores `taken` twice.
    #[inline(always)]
    fn exchange(&self, index: usize, result: R) -> Option<(usize, I::Item)> {
        let taken = self.taken.get();
        if taken >= self.stop.get() {
            // The pair is taken apart and put together again, so that the input lies in memory only
            // on this slow path.
            let (index, input) = self.exchange_slowly(Some((index, result)))?;
            return Some((index, input));
        }
        let mut held = self.hold(taken);
        held.hand_over(index, result);
        held.take()
    }

    /// Hands over a result, if any, and takes the next input, with all checks.
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
            // Other threads may run during `look_outside`, and take inputs.
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

    /// Waits until no other thread holds the flow, and then holds the flow.
    fn hold_slowly(&self) -> Held<'_, '_, S, I, R, F, K> {
        while self.taken.get() == HELD {
            self.wait_for_the_holder();
        }
        self.hold(self.taken.get())
    }

    /// Whether to look outside now. During a trial, [`may_go_on`](Self::may_go_on) looks.
    fn is_to_look(&self, taken: usize) -> bool {
        let is_at_stop = taken >= self.stop.get() && taken < self.end.get();
        is_at_stop && self.trial.get().is_none() && !self.is_done()
    }

    /// Takes the right to use the inputs and the sink, which no thread has now.
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

    /// Returns whether another input may be taken, and reads the clock for a trial.
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
                // The clock was read for the last time, so the batch ends after the next input.
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

/// Works on `next.left` inputs, or on fewer if no more are left: the loop of a program that knows
/// that staged data is in place.
///
/// The optimiser should compile this loop to the same code as in such a program. Therefore the
/// changing state must not lie in memory to which other pointers may exist: the function is not
/// inlined, and gets and returns the inputs and the sink by value. A sum to which the sink adds can
/// then stay in a register. The optimiser unrolls only loops with one exit, so there are two loops
/// below.
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
            // If the iterator has more inputs than its `size_hint` said, `left` passes zero.
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

/// The right to use the inputs and the sink, which only one thread has at a time.
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
        // SAFETY: there is one `Held` at a time, and none while `work_plainly` has the ends. The
        // sink and the inputs have no access to `flow.ends`, so this is the only reference.
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

/// A guard around the work on an input. If the work returns, the guard is forgotten. If the body,
/// the sink or the inputs panic, the guard's destructor records the input.
struct Failing<'a> {
    failed: &'a Cell<Option<usize>>,
    stop: &'a Cell<usize>,
    /// The number of the input is `end - left`, so that the loop only changes `left`.
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
