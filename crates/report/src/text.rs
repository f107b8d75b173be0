//! How names, sizes and times are written, the same in every view.

use anstyle::Style;
pub use cellworks_stats::figures::{bandwidth, size, time};
use cellworks_stats::{Between, Buffers, Function, Parameters};

/// Titles in tables.
pub(crate) const TITLE: Style = Style::new().bold();

/// One measurement in a few words, for progress and errors.
pub fn title(function: Function, parameters: &Parameters) -> String {
    let Parameters {
        spes, block_bytes, ..
    } = parameters;
    let block = block_bytes
        .map(|bytes| format!(" {}", size(bytes)))
        .unwrap_or_default();
    let noun = if *spes == 1 { "SPE" } else { "SPEs" };
    format!("{function}{block}, {spes} {noun}")
}

/// The names of enum values, as JSON has them.
pub(crate) const fn between(between: Between) -> &'static str {
    match between {
        Between::PpeSpe => "ppe-spe",
        Between::SpeSpe => "spe-spe",
        Between::MemorySpe => "memory-spe",
    }
}

pub(crate) const fn buffers(buffers: Buffers) -> &'static str {
    match buffers {
        Buffers::Shared => "shared",
        Buffers::Private => "private",
    }
}
