//! Whether there is a standard output.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::fcntl_getfd;
use rustix::stdio::stdout;

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

// Rust opens /dev/null in place of a standard output that is closed, before `main` begins. What is
// printed would be lost without a word. So this asks before Rust does.
ctor::declarative::ctor! {
    // SAFETY: before `main` the standard library may not be ready. This makes a system call and stores
    // a word, for which it need not be.
    #[ctor(unsafe)]
    fn look() {
        WAS_CLOSED.store(fcntl_getfd(stdout()).is_err(), Ordering::Relaxed);
    }
}

/// Whether the command was started with a closed standard output.
pub(crate) fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}
