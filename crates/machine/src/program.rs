//! Programs that a machine runs on an SPE, and the outcomes of these programs.

use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::error::Payload;

/// A program that a machine runs on an SPE.
pub struct Program<S> {
    body: Body<'static, S>,
    outcome: Arc<Outcome>,
    name: &'static str,
    spawned_at: &'static Location<'static>,
}

/// The closure of a program, which stores its result in a place that the handle shares.
pub(crate) type Body<'scope, S> = Box<dyn FnOnce(&S) -> Result<(), Payload> + Send + 'scope>;

/// Whether a program has ended, and the payload of its panic if it panicked.
#[derive(Debug, Default)]
pub struct Outcome {
    ended: OnceLock<()>,
    panic: Mutex<Option<Payload>>,
}

impl<S> Program<S> {
    /// Returns a program that was spawned at `spawned_at`, and the place for its outcome.
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

    /// The name of the type of the program's closure, which contains the name of the function that
    /// created the closure.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The call that spawned the program.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.spawned_at
    }

    /// The program's outcome. The machine keeps the outcome while the program runs.
    pub fn outcome(&self) -> Arc<Outcome> {
        Arc::clone(&self.outcome)
    }

    /// Runs the program and never unwinds. The machine then passes the result to [`Outcome::end`]
    /// and notifies the PPE.
    ///
    /// # Errors
    ///
    /// Returns the payload of the program's panic.
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
    /// Records that the program has ended, with the payload of its panic if it panicked.
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
