//! The panic of a joined program.

use std::any::Any;
use std::fmt;

use crate::error::Cancelled;
use crate::id::SpeId;
use crate::panic_payload::{PanicPayload, Payload};

/// The panic of a joined program, as [`Handle::join`](crate::Handle::join) returns it.
///
/// It reads as the name of the program, its SPE and the text of the panic, also as `{:?}`, so
/// `join().unwrap()` panics with the cause.
///
/// ```
/// use cellworks_machine::{Machine, SpeId};
///
/// fn burn(machine: &impl Machine) {
///     let run = machine.run(|ppe| {
///         let program = ppe.spawn(SpeId::new(1), |_| -> u32 { panic!("no fuel") });
///         let panic = program.join().unwrap_err();
///         assert!(panic.to_string().ends_with(" panicked on SPE 1: no fuel"));
///         assert_eq!(panic.downcast_ref(), Some(&"no fuel"));
///     });
///     run.unwrap();
/// }
/// ```
pub struct ProgramPanic {
    pub(crate) at: SpeId,
    pub(crate) program: &'static str,
    pub(crate) payload: PanicPayload,
}

impl ProgramPanic {
    /// Returns the payload, or `None` if its type is not `T`.
    pub fn downcast_ref<T: Any + Sync>(&self) -> Option<&T> {
        self.payload.downcast_ref()
    }

    /// Returns the payload, with which [`resume_unwind`](std::panic::resume_unwind) goes on.
    pub fn into_inner(self) -> Payload {
        self.payload.into_inner()
    }
}

impl fmt::Display for ProgramPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            at,
            program,
            payload,
        } = self;
        match self.downcast_ref::<Cancelled>() {
            Some(Cancelled) => write!(f, "{program} on {at} was cancelled with its run"),
            None => write!(f, "{program} panicked on {at}: {payload}"),
        }
    }
}

impl fmt::Debug for ProgramPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ProgramPanic {}
