//! How a program of WebAssembly asks the machine, and how the machine answers.
//!
//! A machine may switch to another SPE in each of its operations, which WebAssembly forbids while
//! one of its functions is on the stack. So an import does nothing itself:
//!
//! ```text
//!   import (inside of the program)            around the poll
//!   leaves a question in the Link, Pending ──► takes the question, carries it out on the machine
//!                                              leaves the answer in the Link
//!   returns the answer to the program     ◄── polls again
//! ```

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use wasmtime::{Caller, WasmBacktrace};

use super::engine::FUEL_OF_INSTRUCTION;
use super::slice::Slice;

/// The answer to a question.
pub(crate) enum Answer {
    /// The result of the import.
    Value(u64),
    /// The program was wrong: it ends with this message.
    Fault(String),
    /// The program was wrong at another place, which has this name.
    FaultAt(String, &'static str),
    /// The question stays. Where in the program was it asked? Or, where does it let others run?
    Where,
}

/// The error of a program that was wrong.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Fault(pub(crate) String);

/// The error of a program that was wrong at another place than that where it is now.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct FaultAt(pub(crate) String, pub(crate) &'static str);

/// What a program and the machine's code around it share, for questions of type `A`.
pub(crate) struct Link<A>(Arc<Mutex<Shared<A>>>);

struct Shared<A> {
    question: Option<A>,
    answer: Option<Answer>,
    /// The instructions that the program has executed, if they are counted.
    instructions: u64,
    /// Where the last question was asked, after [`Answer::Where`].
    place: Option<WasmBacktrace>,
}

impl<A> Clone for Link<A> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<A> Default for Link<A> {
    fn default() -> Self {
        let (question, answer, place) = (None, None, None);
        Self(Arc::new(Mutex::new(Shared {
            question,
            answer,
            place,
            instructions: 0,
        })))
    }
}

impl<A> Link<A> {
    fn lock(&self) -> MutexGuard<'_, Shared<A>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the question that the program has asked since the last call.
    pub(crate) fn take_question(&self) -> Option<A> {
        self.lock().question.take()
    }

    /// Leaves the answer for the program's next poll.
    pub(crate) fn answer(&self, answer: Answer) {
        self.lock().answer = Some(answer);
    }

    /// Returns the number of instructions at the last question.
    pub(crate) fn instructions(&self) -> u64 {
        self.lock().instructions
    }

    /// Takes what the program has answered to [`Answer::Where`].
    pub(crate) fn take_place(&self) -> Option<WasmBacktrace> {
        self.lock().place.take()
    }
}

/// Has the link of the instance, as the data of a store.
pub(crate) trait Linked {
    /// The type of the questions.
    type Question: Send + 'static;
    /// Returns the question of a loop that only waits until memory changes: may others run? The
    /// number is another one when such a loop begins.
    fn poll(begun: u32) -> Self::Question;
    /// Returns the link.
    fn link(&self) -> &Link<Self::Question>;
    /// Returns the slice of time in which the instance computes.
    fn slice(&mut self) -> &mut Slice;
}

/// The fuel of a new instance. What is missing from it has been executed.
pub(crate) const FUEL: u64 = u64::MAX;

/// Lets others run: suspends the program once, without a question.
pub(super) async fn pass<S: Linked>(caller: &mut Caller<'_, S>) {
    let link = caller.data().link().clone();
    let mut has_passed = false;
    poll_fn(|_| {
        let mut shared = link.lock();
        if let Some(Answer::Where) = shared.answer {
            shared.answer = None;
            shared.place = Some(WasmBacktrace::force_capture(&mut *caller));
            return Poll::Pending;
        }
        if std::mem::replace(&mut has_passed, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

/// Asks the machine a question and waits for the answer.
pub(crate) async fn ask<S: Linked>(
    caller: &mut Caller<'_, S>,
    question: S::Question,
) -> wasmtime::Result<u64> {
    let link = caller.data().link().clone();
    // The engine for this computer counts no instructions.
    let instructions = caller
        .get_fuel()
        .map_or(0, |left| (FUEL - left) / FUEL_OF_INSTRUCTION);
    {
        let mut shared = link.lock();
        shared.question = Some(question);
        shared.instructions = instructions;
    }
    poll_fn(|_| {
        let mut shared = link.lock();
        Poll::Ready(match shared.answer.take() {
            None => return Poll::Pending,
            Some(Answer::Where) => {
                shared.place = Some(WasmBacktrace::force_capture(&mut *caller));
                return Poll::Pending;
            }
            Some(Answer::Value(value)) => Ok(value),
            Some(Answer::Fault(why)) => Err(Fault(why).into()),
            Some(Answer::FaultAt(why, place)) => Err(FaultAt(why, place).into()),
        })
    })
    .await
}
