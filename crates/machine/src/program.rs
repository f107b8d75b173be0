//! Programs on their way to an SPE, and how they ended: for machines to run.

use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::error::Payload;

/// A program on its way to an SPE: for machines to run.
pub struct Program<S> {
    body: Body<'static, S>,
    outcome: Arc<Outcome>,
    name: &'static str,
    spawned_at: &'static Location<'static>,
}

/// What a program is once its result has a place to go.
pub(crate) type Body<'scope, S> = Box<dyn FnOnce(&S) -> Result<(), Payload> + Send + 'scope>;

/// How a program ended, as far as its machine can see.
#[derive(Debug, Default)]
pub struct Outcome {
    ended: OnceLock<()>,
    panic: Mutex<Option<Payload>>,
}

impl<S> Program<S> {
    /// A program that was spawned at a place, and how it will have ended.
    pub(crate) fn new(
        body: Body<'static, S>,
        name: &'static str,
        spawned_at: &'static Location<'static>,
    ) -> (Self, Arc<Outcome>) {
        let outcome = Arc::new(Outcome::default());
        let program = Self {
            body,
            outcome: Arc::clone(&outcome),
            name,
            spawned_at,
        };
        (program, outcome)
    }

    /// The type of the program's closure, which names the function that it stands in.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Where it was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.spawned_at
    }

    /// How it ended, to be kept while it runs.
    pub fn outcome(&self) -> Arc<Outcome> {
        Arc::clone(&self.outcome)
    }

    /// Runs the program; never unwinds. The machine then hands the result to [`Outcome::end`], and
    /// notifies the PPE.
    ///
    /// # Errors
    ///
    /// What the program's panic carried.
    pub fn run(self, spe: &S) -> Result<(), Payload> {
        (self.body)(spe)
    }
}

impl<S> fmt::Debug for Program<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} spawned at {}", self.name, self.spawned_at)
    }
}

impl Outcome {
    /// Says that the program has ended, with the payload of its panic if it panicked.
    pub fn end(&self, panic: Option<Payload>) {
        *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = panic;
        let _ = self.ended.set(());
    }

    /// Whether the program has ended.
    pub fn has_ended(&self) -> bool {
        self.ended.get().is_some()
    }

    /// Takes the payload of the program's panic, unless it was taken before.
    pub fn take_panic(&self) -> Option<Payload> {
        self.panic
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}
