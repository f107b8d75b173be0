//! Presses of Ctrl-C.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The time after Ctrl-C in which the present step may still end.
pub(crate) const GRACE: Duration = Duration::from_secs(1);

/// A second SIGINT within this time is part of the same Ctrl-C. The terminal sends SIGINT to all
/// foreground processes, and a launcher among them may forward its SIGINT to this process, too.
const SAME_PRESS: Duration = Duration::from_millis(300);

/// Whether the user has pressed Ctrl-C.
#[derive(Default)]
pub struct Interrupt(OnceLock<Instant>);

/// What a SIGINT means.
pub(crate) enum Press {
    First,
    /// The SIGINT is part of the first press.
    Same,
    Again,
}

impl Interrupt {
    /// Returns true if the user has pressed Ctrl-C.
    pub fn is_pressed(&self) -> bool {
        self.0.get().is_some()
    }

    /// Records a SIGINT.
    pub(crate) fn record(&self) -> Press {
        match self.0.get() {
            Some(first) if first.elapsed() > SAME_PRESS => Press::Again,
            Some(_) => Press::Same,
            None => {
                let _ = self.0.set(Instant::now());
                Press::First
            }
        }
    }
}
