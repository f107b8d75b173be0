//! How messages begin.

use clap::builder::styling::{AnsiColor, Style};

/// Errors.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Warnings.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default().bold();
