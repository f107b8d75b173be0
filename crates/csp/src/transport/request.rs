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

#[derive(Default)]
pub(crate) struct Requests(Mutex<BTreeMap<u32, Request>>);

enum Request {
    Asked(StepPointer),
    Performed { waits: bool },
}

struct StepPointer(NonNull<Step>);

// SAFETY: a step uses the channel, items, and the frame of its process. The channel has a lock for
// all processors, because the steps of local channels are never requested from the PPE. Items are
// `Send`. Only `perform` calls the step, while the process is in `ask` and does not use its frame.
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
    /// Lets another processor [`perform`](Self::perform) `step` while `wait` runs. Returns whether
    /// the step was performed.
    pub fn ask(
        &self,
        process: u32,
        step: &mut (dyn FnMut() -> Stepped + '_),
        wait: impl FnOnce(),
    ) -> bool {
        let step = NonNull::from(step);
        // SAFETY: only the lifetime changes. `asking` removes the pointer before this call ends,
        // and `perform` calls the step under the same mutex, so the step is never called later.
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

    /// Performs the step that a process asks for, or returns `None` if the request was taken back.
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

    /// Returns whether the process has to wait, or `None` before its step was performed.
    pub fn outcome(&self, process: u32) -> Option<bool> {
        match locked(&self.0).get(&process) {
            Some(Request::Performed { waits }) => Some(*waits),
            _ => None,
        }
    }
}
