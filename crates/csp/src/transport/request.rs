//! Requests: steps that the PPE performs for processes on SPEs.
//!
//! A mailbox carries only the number of the process that asks. The step is a closure in the frame
//! of this process, which waits until the step was performed, or takes the request back.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::Mutex;

use super::carrier::Stepped;
use crate::sync::locked;

type Step = dyn FnMut() -> Stepped;

/// The requests, at most one for each process, by the numbers of the processes.
#[derive(Default)]
pub(crate) struct Requests(Mutex<BTreeMap<u32, Request>>);

enum Request {
    Asked(StepPointer),
    Performed { waits: bool },
}

struct StepPointer(NonNull<Step>);

// SAFETY: a step uses the channel, items, and the frame of its process. The channel has a lock for
// all processors, because the PPE is not asked for steps at channels of one SPE. Items are `Send`.
// Only `perform` calls the step, while the process is in `ask` and does not use its frame: see
// `perform`.
unsafe impl Send for StepPointer {}

/// Takes a request back when the call of [`Requests::ask`] returns or unwinds.
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
    /// Offers `step` while `wait` runs. Another processor performs the step by
    /// [`perform`](Self::perform). Returns whether the step was performed.
    pub fn ask(
        &self,
        process: u32,
        step: &mut (dyn FnMut() -> Stepped + '_),
        wait: impl FnOnce(),
    ) -> bool {
        let step = NonNull::from(step);
        // SAFETY: only the lifetime changes. `asking` removes the pointer before this call returns
        // or unwinds, under the mutex under which `perform` calls the step. Therefore the step is
        // never called after this call.
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

    /// Performs the step that a process has asked for, if the process has not taken the request
    /// back.
    pub fn perform(&self, process: u32) -> Option<Stepped> {
        let mut requests = locked(&self.0);
        let request = requests.get_mut(&process)?;
        let Request::Asked(StepPointer(mut step)) = *request else {
            return None;
        };
        // SAFETY: the process is in `ask`, which cannot return before the mutex is free. Therefore
        // the closure is alive, and no other code uses the closure.
        let stepped = (unsafe { step.as_mut() })();
        *request = Request::Performed {
            waits: stepped.waits,
        };
        Some(stepped)
    }

    /// Returns `None` before the step of a process, and afterwards whether the process has to wait.
    pub fn outcome(&self, process: u32) -> Option<bool> {
        match locked(&self.0).get(&process) {
            Some(Request::Performed { waits }) => Some(*waits),
            _ => None,
        }
    }
}
