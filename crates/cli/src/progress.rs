//! A progress bar on a terminal, nothing elsewhere.

use std::io::{IsTerminal, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The progress of a run, on standard error.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar of `steps` steps; invisible if `quiet` or if nobody could see it.
    pub fn new(steps: usize, quiet: bool) -> Self {
        let visible = !quiet && stderr().is_terminal();
        let target = if visible {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let style = ProgressStyle::with_template("{bar:24} {pos}/{len}  {wide_msg} {elapsed}")
            .expect("the template is a constant");
        let bar = ProgressBar::with_draw_target(Some(steps as u64), target).with_style(style);
        if visible {
            // A measurement of a second would look like a hang otherwise; a tick every half second
            // costs the measured cores nothing that shows.
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        Self(bar)
    }

    /// Says what is being done.
    pub fn about(&self, what: String) {
        self.0.set_message(what);
    }

    /// So many of all steps are done.
    pub fn at(&self, done: usize, all: usize) {
        self.0.set_length(all as u64);
        self.0.set_position(done as u64);
    }

    /// Removes the bar.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}
