//! Places in foreign source, which reports show instead of lines of Rust.

use std::cell::RefCell;
use std::fmt;

use crate::activity::Activity;
use crate::spe::core::SpeCore;

/// A place in foreign source, where a thread of an SPE is until this value is dropped: see
/// [`Spe::at`](crate::Spe::at).
#[must_use = "the thread leaves the place when this is dropped"]
pub struct At<'a, S: SpeCore> {
    spe: &'a S,
    before: Option<&'static str>,
    _activity: Activity<'a, S>,
}

impl<'a, S: SpeCore> At<'a, S> {
    pub(crate) fn begin(spe: &'a S, place: &'static str) -> Self {
        Self {
            spe,
            before: spe.set_place(Some(place)),
            _activity: Activity::begin(spe, place),
        }
    }
}

impl<S: SpeCore> Drop for At<'_, S> {
    fn drop(&mut self) {
        self.spe.set_place(self.before);
    }
}

/// The places of the threads of a processor, for machines that implement
/// [`SpeCore::set_place`](crate::SpeCore::set_place). Threads without a place take no room.
#[derive(Default)]
pub struct Places(RefCell<Vec<(Thread, &'static str)>>);

/// A thread, as [`Sleeper::thread`](crate::Sleeper::thread) returns it.
type Thread = (usize, u64);

impl Places {
    /// Sets the place of a thread. Returns the old place.
    pub fn set(&self, thread: Thread, place: Option<&'static str>) -> Option<&'static str> {
        let mut places = self.0.borrow_mut();
        let held = places.iter().position(|(other, _)| *other == thread);
        let before = held.map(|at| places.swap_remove(at).1);
        places.extend(place.map(|place| (thread, place)));
        before
    }

    /// Returns the place of a thread.
    pub fn of(&self, thread: Thread) -> Option<&'static str> {
        let places = self.0.borrow();
        let held = places.iter().find(|(other, _)| *other == thread);
        held.map(|(_, place)| *place)
    }

    /// Returns the place, if exactly one thread has one.
    pub fn only(&self) -> Option<&'static str> {
        match self.0.borrow().as_slice() {
            [(_, place)] => Some(place),
            _ => None,
        }
    }

    /// Forgets all places.
    pub fn clear(&self) {
        self.0.borrow_mut().clear();
    }
}

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.0.borrow().iter().copied())
            .finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own_place() {
        let places = Places::default();
        let (one, two) = ((1, 0), (1, 1));
        assert_eq!(
            (places.set(one, Some("a")), places.only()),
            (None, Some("a"))
        );
        assert_eq!(places.set(two, Some("b")), None);
        assert_eq!(
            (places.of(one), places.of(two), places.only()),
            (Some("a"), Some("b"), None)
        );
        assert_eq!(places.set(one, Some("c")), Some("a"));
        assert_eq!(places.set(one, None), Some("c"));
        assert_eq!((places.of(one), places.only()), (None, Some("b")));
        places.clear();
        assert_eq!((places.of(two), places.only()), (None, None));
    }
}
