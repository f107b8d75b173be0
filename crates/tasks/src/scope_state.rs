use cellworks_machine::{Payload, Processor};

use crate::count::Count;
use crate::current::Current;
use crate::sync::Mutex;

/// The state of a scope, or of the scope of a phase. `T` is the type of tasks.
pub(crate) struct ScopeState<T> {
    pub(crate) count: Count,
    pub(crate) owner: Processor,
    pub(crate) pool: usize,
    /// The task that has made the scope. It has not ended while the scope exists.
    pub(crate) parent: Current<T>,
    /// The first panic of a closure of the scope.
    pub(crate) panic: Mutex<Option<Payload>>,
}
