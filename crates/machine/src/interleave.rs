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
//! first inputs are worked on with 1, 2, 4 ... threads until more of them gain nothing, and now and then the choice is
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
            taken: Cell::new(0),
            left: Cell::new(0),
            mark: Cell::new(0),
            marked: Cell::new([None; 2]),
            is_exhausted: Cell::new(false),
            failed: Cell::new(None),
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| match in_flight {
            InFlight::Fixed(threads) => flow.work(threads.max(1), usize::MAX),
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
    /// How many inputs were taken.
    taken: Cell<usize>,
    /// How many may still be taken in this batch.
    left: Cell<usize>,
    /// The time is taken when so many are left, or none.
    mark: Cell<usize>,
    /// When it was, and when none was left.
    marked: Cell<[Option<Time>; 2]>,
    is_exhausted: Cell<bool>,
    /// The input at which the body panicked first.
    failed: Cell<Option<usize>>,
}

/// The numbers of threads that are tried.
const WIDTHS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

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
    /// Works on up to `inputs` inputs with so many threads, and returns how many they were.
    fn work(&self, threads: usize, inputs: usize) -> Result<usize, InterleaveError> {
        self.left.set(inputs);
        if threads == 1 {
            self.take_turns();
        } else {
            self.spe.threads(threads, |_| self.take_turns())?;
        }
        Ok(threads)
    }

    /// Works on all inputs, with as many threads as turn out to be the fastest.
    fn work_at_the_best(&self) -> Result<usize, InterleaveError> {
        let mut best = 0;
        let mut best_fs = u128::MAX;
        let mut widest = 0;
        for (width, &threads) in WIDTHS.iter().enumerate() {
            // Twice without a gain is enough.
            if width > best + 2 {
                break;
            }
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
            ];
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
        // From when the first thread comes back for another input: until then nobody has waited for anybody.
        let timed = inputs - threads;
        let mut least_fs = None;
        for _ in 0..TRIALS {
            self.mark.set(timed);
            self.marked.set([None; 2]);
            let worked = self.work(threads, inputs);
            self.mark.set(0);
            worked?;
            let [Some(begin), Some(end)] = self.marked.get() else {
                return Ok(None);
            };
            let time_fs = end.since(begin).as_femtoseconds() / timed as u128;
            least_fs = Some(least_fs.map_or(time_fs, |least: u128| least.min(time_fs)));
        }
        Ok(least_fs)
    }

    /// Works on inputs until there are no more, or no more in this batch.
    fn take_turns(&self) {
        loop {
            let mut failing = Failing {
                failed: &self.failed,
                index: self.taken.get(),
            };
            let Some((index, input)) = self.take() else {
                std::mem::forget(failing);
                return;
            };
            failing.index = index;
            let result = (self.body)(input);
            self.deliver(index, result);
            std::mem::forget(failing);
        }
    }

    #[inline]
    fn take(&self) -> Option<(usize, I::Item)> {
        let left = self.left.get();
        if left == 0 || self.is_done() {
            return None;
        }
        let Ok(mut inputs) = self.inputs.try_borrow_mut() else {
            return self.take_later();
        };
        let Some(input) = inputs.next() else {
            self.is_exhausted.set(true);
            return None;
        };
        drop(inputs);
        self.left.set(left - 1);
        let mark = self.mark.get();
        if mark != 0 && (left == mark || left == 1) {
            self.take_the_time(left);
        }
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

    #[cold]
    #[inline(never)]
    fn take_the_time(&self, left: usize) {
        let [begin, _] = self.marked.get();
        let now = Some(self.spe.now());
        self.marked.set(match left {
            1 => [begin, now],
            _ => [now, None],
        });
    }

    #[inline]
    fn deliver(&self, index: usize, result: R) {
        match self.sink.try_borrow_mut() {
            Ok(mut sink) => {
                sink(index, result);
                if !self.late.borrow().is_empty() {
                    self.deliver_late(&mut sink);
                }
            }
            Err(_) => self.late.borrow_mut().push_back((index, result)),
        }
    }

    #[cold]
    #[inline(never)]
    fn deliver_late(&self, sink: &mut K) {
        loop {
            let next = self.late.borrow_mut().pop_front();
            let Some((index, result)) = next else { return };
            sink(index, result);
        }
    }
}

fn is_gain(time_fs: u128, over_fs: u128) -> bool {
    time_fs.saturating_add(time_fs / LEAST_GAIN) < over_fs
}

/// Work is being done on an input; if this is dropped, it has panicked.
struct Failing<'a> {
    failed: &'a Cell<Option<usize>>,
    index: usize,
}

impl Drop for Failing<'_> {
    fn drop(&mut self) {
        self.failed.set(self.failed.get().or(Some(self.index)));
    }
}
