//! Programs that a machine runs on an SPE, and their outcomes.

use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::panic_payload::Payload;

/// A program that a machine runs on an SPE.
pub struct Program<S> {
    body: Body<'static, S>,
    outcome: Arc<Outcome>,
    name: &'static str,
    spawned_at: &'static Location<'static>,
}

/// A program's closure, which stores its result where the program's handle can read it.
pub(crate) type Body<'scope, S> = Box<dyn FnOnce(&S) -> Result<(), Payload> + Send + 'scope>;

/// The state of a program: whether it has ended, and the payload of any panic.
#[derive(Debug, Default)]
pub struct Outcome {
    ended: OnceLock<()>,
    panic: Mutex<Option<Payload>>,
}

impl<S> Program<S> {
    /// Returns a program that was spawned at `spawned_at`, and its outcome.
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

    /// Returns the name of the program. Without a name of its own, that is the type name of its
    /// closure, which contains the function that spawned it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the call that spawned the program.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.spawned_at
    }

    /// Returns the program's outcome, which the machine keeps while the program runs.
    pub fn outcome(&self) -> Arc<Outcome> {
        Arc::clone(&self.outcome)
    }

    /// Runs the program. The machine then calls [`Outcome::end`] and notifies the PPE.
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
    /// Records the end of the program, with the payload of any panic.
    pub fn end(&self, panic: Option<Payload>) {
        *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = panic;
        let _ = self.ended.set(());
    }

    /// Returns whether the program has ended.
    pub fn has_ended(&self) -> bool {
        self.ended.get().is_some()
    }

    /// Returns the payload of the program's panic on the first call, and `None` later.
    pub fn take_panic(&self) -> Option<Payload> {
        self.panic
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}
