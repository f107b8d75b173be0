//! Steps that the PPE performs for processes on SPEs.
//!
//! What a mailbox carries is who asks. The step itself is a closure in the frame of the process,
//! which waits until it has been performed, or takes it back.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::Mutex;

use super::carrier::Stepped;
use crate::sync::locked;

type Step = dyn FnMut() -> Stepped;

/// Requests by the processes that made them: each has one at most.
#[derive(Default)]
pub(crate) struct Requests(Mutex<BTreeMap<u32, Request>>);

enum Request {
    Asked(StepPointer),
    Performed { waits: bool },
}

struct StepPointer(NonNull<Step>);

// SAFETY: a step uses the channel, under its lock, which is for any processors (channels of one SPE
// are not asked the PPE about), items, which are `Send`, and the frame of its process, which does
// nothing else meanwhile. It is called only by `perform`, while the process is in `ask`: see there.
unsafe impl Send for StepPointer {}

/// Takes a request back when the call that made it returns or unwinds.
struct Asking<'a> {
    requests: &'a Requests,
    process: u32,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        locked(&self.requests.0).remove(&self.process);
    }
}

impl Requests {
    /// Has `step` be performed by the processor that calls [`perform`](Self::perform) for the
    /// process while `wait` runs. Says whether anybody did.
    pub fn ask(
        &self,
        process: u32,
        step: &mut (dyn FnMut() -> Stepped + '_),
        wait: impl FnOnce(),
    ) -> bool {
        let step = NonNull::from(step);
        // SAFETY: only the lifetime changes. `asking` removes the pointer before this call returns
        // or unwinds, under the mutex under which the step is performed, so it is never called
        // later than that.
        let step = unsafe {
            std::mem::transmute::<NonNull<dyn FnMut() -> Stepped + '_>, NonNull<Step>>(step)
        };
        let asking = Asking {
            requests: self,
            process,
        };
        locked(&self.0).insert(process, Request::Asked(StepPointer(step)));
        wait();
        let request = locked(&self.0).remove(&process);
        drop(asking);
        matches!(request, Some(Request::Performed { .. }))
    }

    /// Performs the step that a process has asked for, unless it was taken back.
    pub fn perform(&self, process: u32) -> Option<Stepped> {
        let mut requests = locked(&self.0);
        let request = requests.get_mut(&process)?;
        let Request::Asked(StepPointer(mut step)) = *request else {
            return None;
        };
        // SAFETY: the process is in `ask`, which cannot return before the mutex is free: so the
        // closure is alive, and no other code uses it.
        let stepped = (unsafe { step.as_mut() })();
        *request = Request::Performed {
            waits: stepped.waits,
        };
        Some(stepped)
    }

    /// Whether the step of a process has been performed; and then, whether the process has to wait
    /// for another one.
    pub fn outcome(&self, process: u32) -> Option<bool> {
        match locked(&self.0).get(&process) {
            Some(Request::Performed { waits }) => Some(*waits),
            _ => None,
        }
    }
}
