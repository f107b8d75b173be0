//! A progress bar on standard error. It is only shown on a terminal.

use std::io::{IsTerminal, Write, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rustix::termios::tcgetwinsize;

const BAR_COLUMNS_MAX: usize = 24;

/// Returns the template of a line: a bar, two numbers of up to six digits, a text about the step,
/// and a time. The text fills the columns that the bar, the numbers and the time leave free.
fn template(columns: Option<usize>) -> String {
    let columns = columns.filter(|columns| *columns > 0);
    let bar = columns.map_or(BAR_COLUMNS_MAX, |columns| {
        (columns / 3).min(BAR_COLUMNS_MAX)
    });
    format!("{{bar:{bar}}} {{pos}}/{{len}}  {{wide_msg}} {{elapsed}}")
}

/// A progress bar on standard error. It is only shown on a terminal.
pub struct Progress(ProgressBar);

impl Progress {
    /// Makes a bar. It is invisible if `quiet` is set or standard error is not a terminal.
    pub fn new(steps: usize, quiet: bool) -> Self {
        let visible = !quiet && stderr().is_terminal();
        let target = if visible {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let columns = visible.then(|| tcgetwinsize(stderr()).ok()).flatten();
        let columns = columns.map(|size| usize::from(size.ws_col));
        // A test checks that the template is right for every number of columns.
        let style = ProgressStyle::with_template(&template(columns))
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(Some(steps as u64), target).with_style(style);
        if visible {
            // A long step without ticks would look like a hang. Ticks do not disturb measurements.
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        Self(bar)
    }

    /// Shows a text about the present step.
    pub fn about(&self, what: String) {
        self.0.set_message(what);
    }

    /// Shows that `done` of `all` steps are done.
    pub fn at(&self, done: usize, all: usize) {
        self.0.set_length(all as u64);
        self.0.set_position(done as u64);
    }

    /// Prints a line above the bar. Prints nothing if the bar is invisible.
    pub fn line(&self, text: &str) {
        if !self.0.is_hidden() {
            // If writing to standard error fails, there is no other place for the line.
            self.0.suspend(|| {
                let _ = writeln!(stderr(), "{text}");
            });
        }
    }

    /// Removes the bar.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of columns of all parts of a line, except the text about the step.
    fn columns_of(template: &str) -> usize {
        let bar = template
            .strip_prefix("{bar:")
            .unwrap()
            .split_once('}')
            .unwrap();
        let columns: usize = bar.0.parse().unwrap();
        assert_eq!(bar.1, " {pos}/{len}  {wide_msg} {elapsed}");
        columns + " 165600/165600   59m".len()
    }

    #[test]
    fn a_line_fits_a_narrow_terminal() {
        for columns in [40, 60, 80, 120] {
            let taken = columns_of(&template(Some(columns)));
            assert!(taken < columns, "{taken} of {columns}");
        }
        let longest = "{bar:24} {pos}/{len}  {wide_msg} {elapsed}";
        for columns in [None, Some(0), Some(80), Some(300)] {
            assert_eq!(template(columns), longest);
        }
        // The narrowest template has to be valid, too.
        ProgressStyle::with_template(&template(Some(1))).unwrap();
    }
}
