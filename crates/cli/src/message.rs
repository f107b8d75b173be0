//! Messages on standard error.

use std::io::Write;

use clap::builder::styling::{AnsiColor, Style};

const BAD: Style = AnsiColor::Red.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();
const WARN: Style = AnsiColor::Yellow.on_default().bold();

/// Says on standard error why the command fails.
pub(crate) fn error(message: &str) {
    say(BAD, "error:", message);
}

/// Says on standard error what else a user should know.
pub(crate) fn warn(message: &str) {
    say(WARN, "warning:", message);
}

/// Says on standard error what was done.
pub(crate) fn note(message: &str) {
    say(NOTE, "note:", message);
}

fn say(style: Style, kind: &str, message: &str) {
    let (style, reset) = (style.render(), style.render_reset());
    // Where standard error cannot be written, no one can be told that.
    let _ = writeln!(anstream::stderr(), "{style}{kind}{reset} {message}");
}
