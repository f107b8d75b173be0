//! The allowed values of each key. For most numbers, the unit at the end of the key decides.

use std::fmt::{self, Display};

use super::interconnect::KINDS;

#[derive(Clone, Copy)]
pub(super) struct Whole {
    least: u64,
    most: u64,
    multiple_of: u64,
}

const fn whole(least: u64, most: u64) -> Whole {
    Whole {
        least,
        most,
        multiple_of: 1,
    }
}

const fn lines_of_128(most: u64) -> Whole {
    Whole {
        least: 128,
        most,
        multiple_of: 128,
    }
}

impl Whole {
    pub fn least(self) -> u64 {
        self.least
    }

    pub fn allows(self, number: u64) -> bool {
        (self.least..=self.most).contains(&number) && number.is_multiple_of(self.multiple_of)
    }
}

impl Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (Digits(self.least), Digits(self.most));
        match self.multiple_of {
            1 => write!(f, "{least} to {most}"),
            step => write!(f, "multiples of {step} from {least} to {most}"),
        }
    }
}

/// A number in TOML, with its digits in groups of three.
pub(super) struct Digits(pub u64);

impl Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1_000 {
            return write!(f, "{}", self.0);
        }
        write!(f, "{}_{:03}", Digits(self.0 / 1_000), self.0 % 1_000)
    }
}

/// Returns the table and the key of a path: `memory` and `banks` for `memory[1].banks`. An index or
/// `.value` at the end of a path is not part of the key.
fn table_and_key(path: &str) -> (&str, &str) {
    let path = path.strip_suffix(".value").unwrap_or(path);
    let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
    let named = |step: &'_ str| step.find('[').unwrap_or(step.len());
    (&table[..named(table)], &key[..named(key)])
}

pub(super) const HZ_LEAST: u64 = 1_000_000;

/// Returns the allowed values of the number at a path.
///
/// No time overflows 64 bits of femtoseconds (1.8 * 10^19). A key in picoseconds allows at most
/// 10^15 fs. A key in cycles allows at most 10^6 cycles of at most 10^9 fs. The transfer of a line
/// of 128 bytes takes at most 1.28 * 10^11 fs.
pub(super) fn number(path: &str) -> Whole {
    const LONGEST_PS: u64 = 1_000_000_000_000;
    match table_and_key(path) {
        ("memory", "bytes") => lines_of_128(1 << 40),
        ("local_store", "bytes") => lines_of_128(1 << 30),
        (_, "whole_write_bytes") => whole(1, 128),
        (_, "packet_overhead_bytes" | "command_bytes") => whole(0, 1_024),
        (_, "clockwise" | "counterclockwise") => whole(0, 16),
        (_, "hops_max") => whole(1, 1_024),
        (_, "columns" | "rows") => whole(1, 64),
        (_, "outstanding_requests") => whole(1, 128),
        (_, "banks") => whole(1, 1_024),
        (_, "refresh_interval_ps") => whole(1_000, LONGEST_PS),
        // A loop over a PPE call of 0 ps would never end. Other calls take 1 cycle or more.
        ("ppe", key) if key.ends_with("_ps") => whole(1, LONGEST_PS),
        (_, key) if key.ends_with("_ps") => whole(0, LONGEST_PS),
        (_, key) if key.ends_with("_cycles") => whole(1, 1_000_000),
        (_, key) if key.ends_with("_hz") => whole(HZ_LEAST, 1_000_000_000_000),
        (_, key) if key.ends_with("bytes_per_s") => whole(1_000_000, 10_000_000_000_000),
        (_, key) if key.ends_with("_lines") => whole(1, 1_024),
        // The number of an SPE, Cell, module, column or row. `check` checks that this part exists.
        _ => whole(0, 65_535),
    }
}

/// Returns the allowed texts at a path, and whether `text` is allowed.
pub(super) fn text(path: &str, text: &str) -> (&'static str, bool) {
    let is_in_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let (allowed, is_allowed) = match path {
        "name" => (NAME, text.chars().all(is_in_name)),
        _ => (LINE, !text.chars().any(char::is_control)),
    };
    (allowed, is_allowed && !text.is_empty())
}

const NAME: &str = "lower-case letters, digits and dashes";
const LINE: &str = "text on one line";

/// Returns the allowed content of the list at a path.
pub(super) fn list(path: &str) -> Option<&'static str> {
    let is_inner = path.ends_with(']');
    match table_and_key(path) {
        ("", "cell") if !is_inner => Some("one [[cell]] or more"),
        ("", "memory") if !is_inner => Some("one [[memory]] or more"),
        (_, "spes") => Some("the numbers of one SPE or more, such as [0, 1, 2]"),
        (_, "tile" | "ppe_tile") => Some("a column and a row, such as [0, 2]"),
        (_, "elements") => Some("the elements in ring order, such as [\"PPE\", \"SPE0\", \"MIC\"]"),
        (_, "one_way_ps") if is_inner => Some("a row of times"),
        (_, "one_way_ps") => Some("rows of times, one for each SPE"),
        _ => None,
    }
}

pub(super) fn one_of(words: &[&str]) -> String {
    let quoted = words.iter().map(|word| format!("{word:?}"));
    quoted.collect::<Vec<_>>().join(", ")
}

pub(super) const TABLE: &str = "a table of keys";

/// Returns the allowed content of a missing key.
pub(super) fn at(path: &str) -> String {
    if let Some(list) = list(path) {
        return list.to_owned();
    }
    match table_and_key(path) {
        ("", "name") => NAME.to_owned(),
        ("", "title") | (_, "source" | "elements_source" | "one_way_source") => LINE.to_owned(),
        ("", _) => TABLE.to_owned(),
        (_, "kind") => one_of(&KINDS),
        (_, "sure") => one_of(&["stated", "derived", "uncertain", "fitted"]),
        _ => number(path).to_string(),
    }
}
