use cellworks_machine::{Payload, Processor};

use crate::count::Count;
use crate::sync::Mutex;

/// The state of a scope, or of the scope of a phase.
pub(crate) struct ScopeState {
    pub(crate) count: Count,
    pub(crate) owner: Processor,
    pub(crate) pool: usize,
    /// The first panic of a closure of the scope.
    pub(crate) panic: Mutex<Option<Payload>>,
}
