//! Messages on standard error.

use std::io::{IsTerminal, Write, stderr};

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use cellworks_report::wrapped;
use clap::builder::styling::{AnsiColor, Style};
use rustix::termios::tcgetwinsize;

const BAD: Style = AnsiColor::Red.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();
const WARN: Style = AnsiColor::Yellow.on_default().bold();

/// Prints an error message to standard error.
pub fn error(message: &str) {
    say(BAD, "error:", message);
}

/// Prints a warning to standard error.
pub fn warn(message: &str) {
    say(WARN, "warning:", message);
}

/// Prints a note to standard error.
pub fn note(message: &str) {
    say(NOTE, "note:", message);
}

fn say(style: Style, kind: &str, message: &str) {
    let text = format!("{kind} {message}\n");
    let text = terminal_width().map_or(text.clone(), |width| wrapped_lines(&text, width));
    let message = text.strip_prefix(kind).unwrap_or(&text);
    let (style, reset) = (style.render(), style.render_reset());
    let styled = format!("{style}{kind}{reset}{message}");
    let text = match AutoStream::choice(&stderr()) {
        ColorChoice::Never => strip_str(&styled).to_string(),
        _ => styled,
    };
    // One write, because a launcher mixes what its processes write. If it fails, there is no other
    // place for the message.
    let _ = stderr().write_all(text.as_bytes());
}

fn terminal_width() -> Option<usize> {
    let size = stderr().is_terminal().then(|| tcgetwinsize(stderr()));
    let columns = usize::from(size?.ok()?.ws_col);
    (columns > 0).then_some(columns)
}

/// Breaks a text into lines of at most `width` columns. Commands stay whole for copying.
fn wrapped_lines(text: &str, width: usize) -> String {
    let wrapped_line = |line: &str| {
        let bare = line.trim_start();
        if bare.starts_with("example: ") {
            return format!("{line}\n");
        }
        let begin = &line[..line.len() - bare.len()];
        wrapped(line, &format!("{begin}  "), width)
    };
    text.lines().map(wrapped_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_wide_as_the_terminal_and_commands_stay_whole() {
        let text = "error: -b: a block of 1 GB: use a smaller-one\n  of all the blocks there are\n  \
                    example: cellworks stats -f dmaget -b 1k\n";
        assert_eq!(
            wrapped_lines(text, 20),
            "error: -b: a block\n  of 1 GB: use a\n  smaller-one\n  of all the blocks\n    there are\n  \
             example: cellworks stats -f dmaget -b 1k\n"
        );
    }
}
