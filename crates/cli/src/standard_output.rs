//! Checks whether the process has a standard output.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::fcntl_getfd;
use rustix::stdio::stdout;

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

// Before `main`, Rust replaces a closed standard output by /dev/null, and output is lost without an
// error. This function runs before the replacement.
ctor::declarative::ctor! {
    // SAFETY: before `main` the standard library may not be ready. This function only makes a
    // system call and stores a word, which do not need the library.
    #[ctor(unsafe)]
    fn check() {
        WAS_CLOSED.store(fcntl_getfd(stdout()).is_err(), Ordering::Relaxed);
    }
}

/// Returns true if standard output was closed when the command was started.
pub(crate) fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}
