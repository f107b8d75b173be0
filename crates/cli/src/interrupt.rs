//! Ctrl-C: what a run has found so far is printed once, by the run or in its place.
//!
//! ```text
//!   the run:   update, update ... ──────── take ──┐
//!                 │                               ├─► the first has what was found
//!   Ctrl-C:    the run is asked to stop ── take ──┘   (a second later)
//!              again: the process ends at once
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::exit;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::{Failure, exit_code};

/// How long Ctrl-C waits for the present step of a run to end.
const GRACE: Duration = Duration::from_secs(1);

/// A signal so soon after the first is no second wish: some programs pass SIGINT on to a process that
/// the terminal has sent it too.
const SAME_PRESS: Duration = Duration::from_millis(300);

/// What a run has found so far.
pub(crate) struct SoFar<F> {
    /// `None` once somebody has taken it.
    found: Mutex<Option<F>>,
    /// When Ctrl-C was pressed first.
    interrupted: OnceLock<Instant>,
}

impl<F> SoFar<F> {
    pub fn new(found: F) -> Self {
        Self {
            found: Mutex::new(Some(found)),
            interrupted: OnceLock::new(),
        }
    }

    /// Whether the run should end now. To be asked between steps.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.get().is_some()
    }

    /// Changes what was found, unless somebody has taken it.
    pub fn update(&self, change: impl FnOnce(&mut F)) {
        if let Some(found) = self.lock().as_mut() {
            change(found);
        }
    }

    /// What was found, for the first who takes it.
    pub fn take(&self) -> Option<F> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<F>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A run that Ctrl-C can end.
pub(crate) trait Interruptible: Send + Sync + 'static {
    type Found: Send;

    fn so_far(&self) -> &SoFar<Self::Found>;

    /// Prints what was found while the run still goes on.
    fn conclude(&self, found: Self::Found) -> Result<(), Failure>;

    /// Clears the terminal before the process ends.
    fn clear(&self);
}

/// From here on Ctrl-C ends the run.
pub(crate) fn on_ctrl_c<R: Interruptible>(run: &Arc<R>) {
    let run = Arc::clone(run);
    // Without a handler Ctrl-C still ends the process, only less tidily.
    let _ = ctrlc::set_handler(move || interrupt(&run));
}

/// What Ctrl-C does, on a thread of its own that must be free for the next one.
fn interrupt<R: Interruptible>(run: &Arc<R>) {
    let interrupted = &run.so_far().interrupted;
    if let Some(first) = interrupted.get() {
        if first.elapsed() > SAME_PRESS {
            run.clear();
            exit(exit_code(Err(Failure::Interrupted)).into());
        }
        return;
    }
    let _ = interrupted.set(Instant::now());
    let run = Arc::clone(run);
    thread::spawn(move || {
        thread::sleep(GRACE);
        // Nothing may be left waiting for a thread that has gone.
        let end = catch_unwind(AssertUnwindSafe(|| {
            let found = run.so_far().take()?;
            Some(exit_code(run.conclude(found)))
        }));
        match end {
            Ok(None) => {}
            Ok(Some(code)) => exit(code.into()),
            Err(_) => exit(exit_code(Err(Failure::Interrupted)).into()),
        }
    });
}
