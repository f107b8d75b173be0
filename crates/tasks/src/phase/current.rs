use std::ptr;

/// The submitted task to which running code belongs, if any: the task itself, the closures of its
/// scopes, the halves of its joins, and their cooperative threads. The task waits for all of them.
pub struct Current<T>(*const T);

impl<T> Clone for Current<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Current<T> {}

// SAFETY: the value gives access only by `task`, whose caller ensures that the task exists.
unsafe impl<T: Sync> Send for Current<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Current<T> {}

impl<T> Current<T> {
    pub(crate) fn none() -> Self {
        Self(ptr::null())
    }

    pub(crate) fn of(task: &T) -> Self {
        Self(ptr::from_ref(task))
    }

    /// # Safety
    ///
    /// While the result is used, the reference that was given to [`of`](Self::of) is valid. It is
    /// valid until the task has ended.
    pub(crate) unsafe fn task<'a>(self) -> Option<&'a T> {
        // SAFETY: by the contract of this function.
        unsafe { self.0.as_ref() }
    }
}
