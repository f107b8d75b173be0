//! Messages on standard error.

use std::io::Write;

use clap::builder::styling::{AnsiColor, Style};

const BAD: Style = AnsiColor::Red.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();
const WARN: Style = AnsiColor::Yellow.on_default().bold();

/// Prints the reason why the command fails.
pub(crate) fn error(message: &str) {
    say(BAD, "error:", message);
}

/// Prints a warning.
pub(crate) fn warn(message: &str) {
    say(WARN, "warning:", message);
}

/// Prints a note about something that the command has done.
pub(crate) fn note(message: &str) {
    say(NOTE, "note:", message);
}

fn say(style: Style, kind: &str, message: &str) {
    let (style, reset) = (style.render(), style.render_reset());
    // If standard error cannot be written, there is no other place for the message.
    let _ = writeln!(anstream::stderr(), "{style}{kind}{reset} {message}");
}
