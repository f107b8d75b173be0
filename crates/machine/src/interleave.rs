//! Many independent pieces of work at once, so that one computes while the others wait for their data.
//!
//! ```text
//!   inputs ──► thread 0: stage, wait ─────┐ follow, wait ──┐ result
//!          ──► thread 1:   stage, wait ───┼─┐              │        ──► in input order,
//!          ──► thread 2:     stage, wait ─┼─┼─┐            │            or as they are completed
//!                                         ▼ ▼ ▼            ▼
//!                         each goes on when its turn comes round: its data is there by then
//! ```
//!
//! A piece of work is ordinary sequential code that stages what it reads and waits for it. How many pieces are in
//! flight decides how much of the latency is hidden: too few leave the core waiting, too many push each
//! other's data out of the cache, and none are needed where data is near. So the number can be found by measuring: the
//! first inputs are worked on with 1, 2, 4 ... 64 threads, the fastest of which go on, and now and then the choice is
//! looked at again, because caches fill and inputs change.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::{Spe, StackError, Time};

/// How many pieces of work are in flight at once: see [`Spe::interleave`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFlight {
    /// As many as turn out to be the fastest, by measuring with the first inputs: 1 to 64.
    Automatic,
    /// So many; 0 means 1.
    Fixed(usize),
}

impl From<usize> for InFlight {
    fn from(threads: usize) -> Self {
        Self::Fixed(threads)
    }
}

/// What an interleaved run has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interleaved {
    /// How many inputs there were.
    pub inputs: usize,
    /// How many pieces of work were in flight last.
    pub in_flight: usize,
}

/// An interleaved run did not work on all of its inputs.
#[derive(thiserror::Error)]
pub enum InterleaveError {
    /// The local store has no room for the stacks of so many threads.
    #[error(transparent)]
    Stack(#[from] StackError),
    /// The body panicked. Pieces of work that had begun were finished, and their results handed over; no other
    /// was begun.
    #[error("the body panicked at input {index}: {}", crate::error::message(.payload))]
    Panicked {
        /// The place of the input among all, from 0 on.
        index: usize,
        /// What the panic carried.
        payload: Box<dyn Any + Send>,
    },
}

impl fmt::Debug for InterleaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Work to be interleaved: see [`Spe::interleave`].
#[must_use = "nothing is done before it is said what happens to the results"]
pub struct Interleave<'a, S: Spe, I, F> {
    spe: &'a S,
    in_flight: InFlight,
    inputs: I,
    body: F,
}

impl<'a, S: Spe, I: Iterator, R, F: Fn(I::Item) -> R> Interleave<'a, S, I, F> {
    pub(crate) fn new(spe: &'a S, in_flight: InFlight, inputs: I, body: F) -> Self {
        Self {
            spe,
            in_flight,
            inputs,
            body,
        }
    }

    /// Works on all inputs, and hands each result to `sink` when it is there, with the place of its input.
    ///
    /// # Errors
    ///
    /// [`InterleaveError`] if the body panicked, or the threads found no room.
    pub fn as_completed(self, sink: impl FnMut(usize, R)) -> Result<Interleaved, InterleaveError> {
        let Self {
            spe,
            in_flight,
            inputs,
            body,
        } = self;
        let flow = Flow {
            spe,
            inputs: RefCell::new(inputs),
            body,
            sink: RefCell::new(sink),
            late: RefCell::default(),
            some_are_late: Cell::new(false),
            taken: Cell::new(0),
            stop: Cell::new(0),
            end: Cell::new(0),
            trial: Cell::new(None),
            is_exhausted: Cell::new(false),
            failed: Cell::new(None),
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| match in_flight {
            InFlight::Fixed(threads) => {
                let threads = threads.max(1);
                flow.work(threads, usize::MAX).map(|()| threads)
            }
            InFlight::Automatic => flow.work_at_the_best(),
        }));
        let in_flight = match (outcome, flow.failed.get()) {
            (Ok(in_flight), _) => in_flight?,
            (Err(payload), Some(index)) if !spe.is_cancelled() => {
                return Err(InterleaveError::Panicked { index, payload });
            }
            (Err(payload), _) => resume_unwind(payload),
        };
        Ok(Interleaved {
            inputs: flow.taken.get(),
            in_flight,
        })
    }

    /// Works on all inputs, and hands the results to `sink` in the order of the inputs. Results that are there before
    /// their turn are kept until then.
    ///
    /// # Errors
    ///
    /// [`InterleaveError`] if the body panicked, or the threads found no room. Results after the one that is
    /// missing are lost.
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
    /// As [`in_order`](Self::in_order).
    pub fn collect(self) -> Result<Vec<R>, InterleaveError> {
        let mut results = Vec::with_capacity(self.inputs.size_hint().0);
        self.in_order(|result| results.push(result))?;
        Ok(results)
    }
}

/// What the threads of an interleaved run share.
struct Flow<'a, S, I, R, F, K> {
    spe: &'a S,
    inputs: RefCell<I>,
    body: F,
    sink: RefCell<K>,
    /// Results that came while `sink` was busy: it may wait for something.
    late: RefCell<VecDeque<(usize, R)>>,
    some_are_late: Cell<bool>,
    /// How many inputs were taken.
    taken: Cell<usize>,
    /// No more are taken without a look at the fields below: one comparison for each input says whether there is
    /// anything to do but to take it.
    stop: Cell<usize>,
    /// How many will have been taken when this batch is complete.
    end: Cell<usize>,
    /// When the time is taken, if it is.
    trial: Cell<Option<Trial>>,
    is_exhausted: Cell<bool>,
    /// The input at which the body panicked first.
    failed: Cell<Option<usize>>,
}

/// When the time is taken, in numbers of inputs that have been taken, and what it was.
#[derive(Clone, Copy)]
struct Trial {
    from: usize,
    to: usize,
    begin: Option<Time>,
    end: Option<Time>,
}

/// The numbers of threads that are tried.
const WIDTHS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// The place of the number that is mostly the fastest where data is far: looked at again whatever was chosen.
const USUAL_WIDTH: usize = 5;

/// Inputs of a trial, at least; with many threads, so many for each.
const TRIAL_INPUTS: usize = 256;
const TRIAL_INPUTS_PER_THREAD: usize = 8;

/// How often each number is tried; the fastest trial counts, because disturbances only slow down.
const TRIALS: usize = 3;

/// Inputs until a choice is looked at again: twice as many whenever it was found to be right.
const HOLD_INPUTS: usize = 1 << 17;
const HOLD_INPUTS_MAX: usize = 1 << 22;

/// What a number of threads has to gain over a smaller one to be chosen: one part in so many.
const LEAST_GAIN: u128 = 32;

impl<S, I, R, F, K> Flow<'_, S, I, R, F, K>
where
    S: Spe,
    I: Iterator,
    F: Fn(I::Item) -> R,
    K: FnMut(usize, R),
{
    /// Works on up to `inputs` inputs with so many threads.
    fn work(&self, threads: usize, inputs: usize) -> Result<(), InterleaveError> {
        self.work_on_batch(threads, inputs, None)
    }

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
        let end = self.taken.get().saturating_add(inputs);
        self.end.set(end);
        self.stop.set(trial.map_or(end, |trial| trial.from));
        match threads {
            1 => self.take_turns(true),
            _ => self.spe.threads(threads, |_| self.take_turns(false))?,
        }
        Ok(())
    }

    /// Works on all inputs, with as many threads as turn out to be the fastest.
    fn work_at_the_best(&self) -> Result<usize, InterleaveError> {
        let mut best = 0;
        let mut best_fs = u128::MAX;
        let mut widest = 0;
        // All of them: a few threads may be slower than one, which the processor itself overlaps with what comes next, and
        // more of them faster than both.
        for (width, &threads) in WIDTHS.iter().enumerate() {
            match self.least_time_fs(threads) {
                Ok(Some(time_fs)) => {
                    widest = width;
                    if is_gain(time_fs, best_fs) {
                        (best, best_fs) = (width, time_fs);
                    }
                }
                Ok(None) => return Ok(threads),
                // There is no room for more threads.
                Err(InterleaveError::Stack(_)) if width > 0 => break,
                Err(error) => return Err(error),
            }
        }
        let mut hold = HOLD_INPUTS;
        while !self.is_done() {
            self.work(WIDTHS[best], hold)?;
            let before = best;
            let mut best_fs = u128::MAX;
            let mut near = vec![
                0,
                before.saturating_sub(1),
                before,
                (before + 1).min(widest),
                USUAL_WIDTH.min(widest),
            ];
            near.sort_unstable();
            near.dedup();
            for width in near {
                let Some(time_fs) = self.least_time_fs(WIDTHS[width])? else {
                    return Ok(WIDTHS[before]);
                };
                if is_gain(time_fs, best_fs) {
                    (best, best_fs) = (width, time_fs);
                }
            }
            hold = match best == before {
                true => (hold * 2).min(HOLD_INPUTS_MAX),
                false => HOLD_INPUTS,
            };
        }
        Ok(WIDTHS[best])
    }

    fn is_done(&self) -> bool {
        self.is_exhausted.get() || self.failed.get().is_some()
    }

    /// What an input takes with so many threads, or `None` if there were too few left to say.
    fn least_time_fs(&self, threads: usize) -> Result<Option<u128>, InterleaveError> {
        let inputs = TRIAL_INPUTS.max(threads * TRIAL_INPUTS_PER_THREAD);
        let mut least_fs = None;
        for _ in 0..TRIALS {
            let taken = self.taken.get();
            let trial = Trial {
                // When the first thread comes back for another input: until then nobody has waited for anybody.
                from: taken + threads,
                to: taken + inputs - 1,
                begin: None,
                end: None,
            };
            self.work_on_batch(threads, inputs, Some(trial))?;
            let Some(Trial {
                from,
                to,
                begin: Some(begin),
                end: Some(end),
            }) = self.trial.get()
            else {
                return Ok(None);
            };
            let time_fs = end.since(begin).as_femtoseconds() / (to - from) as u128;

            least_fs = Some(least_fs.map_or(time_fs, |least: u128| least.min(time_fs)));
        }
        Ok(least_fs)
    }

    /// Works on inputs until there are no more, or no more in this batch. Other threads do the same, unless it
    /// `is_alone`: then it has the iterator and the sink for itself, and knows without looking where it is.
    ///
    /// Both ways are one loop, because the compiler inlines `body`, whatever its size, if it is called in one place. A
    /// call would cost more than the loop itself, and its return, after a switch of threads, a misprediction.
    fn take_turns(&self, is_alone: bool) {
        let mut own = is_alone.then(|| (self.inputs.borrow_mut(), self.sink.borrow_mut()));
        let mut place = Place {
            flow: self,
            index: self.taken.get(),
        };
        let mut stop = 0;
        loop {
            let input = match &mut own {
                Some((inputs, _)) => {
                    if place.index >= stop {
                        self.taken.set(place.index);
                        if !self.may_go_on() {
                            break;
                        }
                        stop = self.stop.get();
                    }
                    let Some(input) = inputs.next() else {
                        self.is_exhausted.set(true);
                        break;
                    };
                    input
                }
                None => {
                    place.index = self.taken.get();
                    let Some((index, input)) = self.take() else {
                        break;
                    };
                    place.index = index;
                    input
                }
            };
            let result = (self.body)(input);
            match &mut own {
                Some((_, sink)) => {
                    sink(place.index, result);
                    place.index += 1;
                }
                None => self.deliver(place.index, result),
            }
        }
        if is_alone {
            self.taken.set(place.index);
        }
        std::mem::forget(place);
    }

    #[inline]
    fn take(&self) -> Option<(usize, I::Item)> {
        if self.taken.get() >= self.stop.get() && !self.may_go_on() {
            return None;
        }
        let Ok(mut inputs) = self.inputs.try_borrow_mut() else {
            return self.take_later();
        };
        let Some(input) = inputs.next() else {
            self.is_exhausted.set(true);
            self.stop.set(0);
            return None;
        };
        drop(inputs);
        Some((self.taken.replace(self.taken.get() + 1), input))
    }

    /// Another thread waits within the iterator.
    #[cold]
    #[inline(never)]
    fn take_later(&self) -> Option<(usize, I::Item)> {
        self.spe
            .wait_until(&"another thread to have taken an input", &mut || {
                self.inputs.try_borrow_mut().is_ok()
            });
        self.take()
    }

    /// Does what there is to be done at a stop, and says whether another input may be taken.
    #[cold]
    #[inline(never)]
    fn may_go_on(&self) -> bool {
        let taken = self.taken.get();
        if self.is_done() || taken >= self.end.get() {
            return false;
        }
        if let Some(mut trial) = self.trial.get() {
            if taken == trial.from {
                trial.begin = Some(self.spe.now());
                self.stop.set(trial.to);
            } else if taken == trial.to {
                trial.end = Some(self.spe.now());
                self.stop.set(self.end.get());
            }
            self.trial.set(Some(trial));
        }
        true
    }

    #[inline]
    fn deliver(&self, index: usize, result: R) {
        match self.sink.try_borrow_mut() {
            Ok(mut sink) => {
                sink(index, result);
                if self.some_are_late.get() {
                    self.deliver_late(&mut sink);
                }
            }
            Err(_) => self.keep(index, result),
        }
    }

    #[cold]
    #[inline(never)]
    fn keep(&self, index: usize, result: R) {
        self.late.borrow_mut().push_back((index, result));
        self.some_are_late.set(true);
    }

    #[cold]
    #[inline(never)]
    fn deliver_late(&self, sink: &mut K) {
        loop {
            let next = self.late.borrow_mut().pop_front();
            let Some((index, result)) = next else { break };
            sink(index, result);
        }
        self.some_are_late.set(false);
    }
}

fn is_gain(time_fs: u128, over_fs: u128) -> bool {
    time_fs.saturating_add(time_fs / LEAST_GAIN) < over_fs
}

/// Work is being done on an input; if this is dropped, it has panicked.
struct Place<'a, 'b, S, I, R, F, K> {
    flow: &'a Flow<'b, S, I, R, F, K>,
    index: usize,
}

impl<S, I, R, F, K> Drop for Place<'_, '_, S, I, R, F, K> {
    fn drop(&mut self) {
        let failed = &self.flow.failed;
        failed.set(failed.get().or(Some(self.index)));
        // Nobody is to take another one.
        self.flow.stop.set(0);
    }
}
