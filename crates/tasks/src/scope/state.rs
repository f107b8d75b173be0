use cellworks_machine::{Payload, Processor, Sleeper};
use crossbeam_utils::CachePadded;

use crate::phase::current::Current;
use crate::scope::count::Count;
use crate::sync::Mutex;

/// The state of a scope, or of the scope of a phase. `T` is the type of tasks.
pub(crate) struct ScopeState<T> {
    /// In cache lines of its own: the owner writes it for each closure that it starts, and workers
    /// read the other fields for each closure that they run.
    pub(crate) count: CachePadded<Count>,
    pub(crate) owner: Processor,
    /// The thread that has made the scope, and waits for its end.
    pub(crate) waiter: Sleeper,
    pub(crate) pool: usize,
    /// The task that has made the scope. It has not ended while the scope exists.
    pub(crate) parent: Current<T>,
    /// The first panic of a closure of the scope.
    pub(crate) panic: Mutex<Option<Payload>>,
}
