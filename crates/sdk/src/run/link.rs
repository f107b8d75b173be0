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
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
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
    /// The question stays. From which place does the program say that it was asked?
    From,
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
pub(crate) struct Link<A>(Arc<Shared<A>>);

struct Shared<A> {
    said: Mutex<Said<A>>,
    /// The answer that most questions have. It takes no lock, because one side at a time uses this.
    quick: AtomicU8,
    /// The value of [`VALUE`], or the answer to [`FROM`].
    value: AtomicU64,
    /// The instructions that the program had executed at its last question, if they are counted.
    instructions: AtomicU64,
}

/// There is no quick answer.
const NONE: u8 = 0;
/// [`Answer::Value`].
const VALUE: u8 = 1;
/// [`Answer::From`].
const FROM: u8 = 2;

struct Said<A> {
    question: Option<A>,
    answer: Option<Answer>,
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
        Self(Arc::new(Shared {
            said: Mutex::new(Said {
                question,
                answer,
                place,
            }),
            quick: AtomicU8::new(NONE),
            value: AtomicU64::new(0),
            instructions: AtomicU64::new(0),
        }))
    }
}

impl<A> Link<A> {
    fn lock(&self) -> MutexGuard<'_, Said<A>> {
        self.0.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the question that the program has asked since the last call.
    pub(crate) fn take_question(&self) -> Option<A> {
        self.lock().question.take()
    }

    /// Leaves the answer for the program's next poll.
    pub(crate) fn answer(&self, answer: Answer) {
        let quick = match answer {
            Answer::Value(value) => {
                self.0.value.store(value, Ordering::Relaxed);
                VALUE
            }
            Answer::From => FROM,
            other => {
                self.lock().answer = Some(other);
                NONE
            }
        };
        self.0.quick.store(quick, Ordering::Relaxed);
    }

    /// Returns the number of instructions at the last question.
    pub(crate) fn instructions(&self) -> u64 {
        self.0.instructions.load(Ordering::Relaxed)
    }

    /// Takes what the program has answered to [`Answer::Where`], if it has.
    pub(crate) fn take_place(&self) -> Option<WasmBacktrace> {
        let mut said = self.lock();
        said.answer = None;
        said.place.take()
    }

    /// Takes what the program has answered to [`Answer::From`], if it has.
    pub(crate) fn take_from(&self) -> Option<u32> {
        let has_answered = self.0.quick.swap(NONE, Ordering::Relaxed) != FROM;
        let from = u32::try_from(self.0.value.load(Ordering::Relaxed)).ok()?;
        (has_answered && from != 0).then_some(from)
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

/// The global in which a program of a simulated machine notes from where it calls the machine
/// (`costs`).
pub(super) const CALLED_FROM: &str = "cellworks.called_from";

/// Returns what a program has noted, if it notes something.
fn called_from<S>(caller: &mut Caller<'_, S>) -> Option<u32> {
    let noted = caller.get_export(CALLED_FROM)?.into_global()?;
    Some(noted.get(&mut *caller).i32()?.cast_unsigned())
}

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
    // The engine for this computer counts no instructions.
    let instructions = caller
        .get_fuel()
        .map_or(0, |left| (FUEL - left) / FUEL_OF_INSTRUCTION);
    let mut question = Some(question);
    poll_fn(|_| {
        let link = caller.data().link();
        if let Some(question) = question.take() {
            link.0.instructions.store(instructions, Ordering::Relaxed);
            link.lock().question = Some(question);
            return Poll::Pending;
        }
        let shared = &link.0;
        match shared.quick.load(Ordering::Relaxed) {
            VALUE => {
                shared.quick.store(NONE, Ordering::Relaxed);
                return Poll::Ready(Ok(shared.value.load(Ordering::Relaxed)));
            }
            FROM => {
                let from = called_from(caller).unwrap_or(0).into();
                let shared = &caller.data().link().0;
                shared.value.store(from, Ordering::Relaxed);
                shared.quick.store(NONE, Ordering::Relaxed);
                return Poll::Pending;
            }
            _ => {}
        }
        let answer = link.lock().answer.take();
        Poll::Ready(match answer {
            Some(Answer::Where) => {
                let place = WasmBacktrace::force_capture(&mut *caller);
                caller.data().link().lock().place = Some(place);
                return Poll::Pending;
            }
            Some(Answer::Fault(why)) => Err(Fault(why).into()),
            Some(Answer::FaultAt(why, place)) => Err(FaultAt(why, place).into()),
            Some(Answer::Value(_) | Answer::From) | None => return Poll::Pending,
        })
    })
    .await
}
