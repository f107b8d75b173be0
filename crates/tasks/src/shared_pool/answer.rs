//! The answer of a worker to a thread outside, which waits for it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use cellworks_machine::{Cancelled, Spe};

use crate::discard::{discard, forgiving};
use crate::worker::Worker;

/// What a thread outside waits for. In an `Arc`, because the worker still uses it when the thread
/// has got the answer.
pub(super) struct Answer<R> {
    outcome: Mutex<AnswerState<R>>,
    given: Condvar,
}

enum AnswerState<R> {
    Ahead,
    Ended(thread::Result<R>),
    /// The closure was dropped, or was unwound, because the run was cancelled.
    DidNotEnd,
}

/// The closure of a thread outside, and where the answer goes. The answer is given when the closure
/// no longer exists, also if it is dropped without being run.
pub(super) struct Question<F, R> {
    work: Option<F>,
    answer: Arc<Answer<R>>,
}

impl<R> Answer<R> {
    pub(super) fn new() -> Self {
        Self {
            outcome: Mutex::new(AnswerState::Ahead),
            given: Condvar::new(),
        }
    }

    /// Waits for the answer, and returns the result of the closure or resumes its panic. Returns
    /// `None` if the closure has no result, because the run was cancelled.
    pub(super) fn wait(&self) -> Option<R> {
        let outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        let is_ahead = |outcome: &mut AnswerState<R>| matches!(outcome, AnswerState::Ahead);
        let given = self.given.wait_while(outcome, is_ahead);
        let mut given = given.unwrap_or_else(PoisonError::into_inner);
        let outcome = std::mem::replace(&mut *given, AnswerState::DidNotEnd);
        drop(given);
        match outcome {
            AnswerState::Ended(result) => Some(result.unwrap_or_else(|panic| resume_unwind(panic))),
            AnswerState::Ahead | AnswerState::DidNotEnd => None,
        }
    }

    fn give(&self, outcome: AnswerState<R>) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = outcome;
        self.given.notify_one();
    }
}

impl<F, R> Question<F, R> {
    pub(super) fn new(work: F, answer: Arc<Answer<R>>) -> Self {
        Self {
            work: Some(work),
            answer,
        }
    }

    /// Calls the closure, and gives the answer. Panics if the run was cancelled meanwhile.
    pub(super) fn run<S: Spe>(mut self, worker: &Worker<'_, S>)
    where
        F: FnOnce(&Worker<'_, S>) -> R,
    {
        let Some(work) = self.work.take() else {
            return;
        };
        let result = catch_unwind(AssertUnwindSafe(|| work(worker)));
        if result.is_err() && worker.is_cancelled() {
            discard(result);
            self.answer.give(AnswerState::DidNotEnd);
            resume_unwind(Box::new(Cancelled));
        }
        self.answer.give(AnswerState::Ended(result));
    }
}

impl<F, R> Drop for Question<F, R> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            forgiving(|| drop(work));
            self.answer.give(AnswerState::DidNotEnd);
        }
    }
}
