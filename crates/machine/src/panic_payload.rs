//! The payload of a panic in an error.

use std::any::Any;
use std::fmt;

/// The payload of a panic, as `catch_unwind` returns it.
pub type Payload = Box<dyn Any + Send>;

/// The payload of a panic in an error. Threads may share it, so threads may share the error.
///
/// It reads as the text of the panic, or as a placeholder if the payload is no text.
///
/// ```
/// use cellworks_machine::PanicPayload;
///
/// let payload = std::panic::catch_unwind(|| panic!("no fuel")).unwrap_err();
/// let payload = PanicPayload::from(payload);
/// assert_eq!(payload.to_string(), "no fuel");
/// assert_eq!(payload.downcast_ref(), Some(&"no fuel"));
/// assert!(payload.into_inner().is::<&str>());
/// ```
pub struct PanicPayload(Payload);

// SAFETY: a shared reference gives only references to values of types that are `Sync`.
unsafe impl Sync for PanicPayload {}

impl PanicPayload {
    /// Returns the payload, or `None` if its type is not `T`.
    pub fn downcast_ref<T: Any + Sync>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }

    /// Returns the payload, with which [`resume_unwind`](std::panic::resume_unwind) goes on.
    pub fn into_inner(self) -> Payload {
        self.0
    }
}

impl From<Payload> for PanicPayload {
    fn from(payload: Payload) -> Self {
        Self(payload)
    }
}

impl fmt::Display for PanicPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let owned = self.downcast_ref::<String>().map(String::as_str);
        let text = owned.or_else(|| self.downcast_ref::<&str>().copied());
        f.write_str(text.unwrap_or("(a payload that is not text)"))
    }
}

impl fmt::Debug for PanicPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
