//! From the text of a description to its values: which keys there are, what each may be, and where in
//! the file a value stands that may not be.
//!
//! ```text
//!   text ─► toml's tree, with the place of every value ─► rules, one for each key ─► Description
//!                         │                                                             │
//!                         └────────────── place of a key ──► check: what must fit together
//! ```
//!
//! A rule reads the value of one key. Values that are right by themselves but not together are for
//! [`check`](super::check).

use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::nearest::nearest;
use super::*;

/// What is wrong with a description, and where.
///
/// ```
/// let error = cellworks_sim::Description::from_toml("name = 7", "my.toml").unwrap_err();
/// assert_eq!(error.to_string(), "my.toml:1: name is 7; allowed: lower-case letters, digits and dashes");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {problem}")]
pub struct DescriptionError {
    file: String,
    line: usize,
    problem: String,
}

impl DescriptionError {
    pub(super) fn new(file: &str, line: usize, problem: String) -> Self {
        let file = file.to_owned();
        Self {
            file,
            line,
            problem,
        }
    }
}

type Result<T> = std::result::Result<T, DescriptionError>;

impl Description {
    /// Reads a description from TOML, the text of a file that errors call `file`.
    ///
    /// A quantity is a table, `{ value = 8, source = "Krolak 2005", sure = "stated" }`, or only its
    /// number, `8`: then its source is "not given" and it is uncertain.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong: no TOML, a key that is unknown or missing, a value of a wrong
    /// type or out of its range, or values that no machine can have together. The message names the
    /// file, the line, the key, the value and what is allowed.
    pub fn from_toml(text: &str, file: &str) -> std::result::Result<Self, DescriptionError> {
        let file = File { name: file, text };
        let root = DeTable::parse(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            file.error(offset, format!("no TOML: {}", error.message()))
        })?;
        let root = Table {
            file,
            path: String::new(),
            offset: 0,
            entries: root.get_ref(),
            kind: None,
        };
        let description = Self::read(&root)?;
        check::check(&description, &root)?;
        Ok(description)
    }
}

/// The file that is read.
#[derive(Clone, Copy)]
struct File<'t> {
    name: &'t str,
    text: &'t str,
}

impl File<'_> {
    fn error(&self, offset: usize, problem: String) -> DescriptionError {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        DescriptionError::new(self.name, line, problem)
    }

    /// What is written there, or the beginning of it.
    fn excerpt(&self, span: Range<usize>) -> String {
        const LONGEST: usize = 60;
        let line = self.text.get(span).unwrap_or_default();
        let mut line = line.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        if let Some((end, _)) = line.char_indices().nth(LONGEST) {
            line.truncate(end);
            line.push_str("...");
        }
        line
    }
}

/// A table of the file.
pub(super) struct Table<'t> {
    file: File<'t>,
    /// What leads to it, such as `memory[1]`; nothing for the file as a whole.
    path: String,
    /// Where it begins.
    offset: usize,
    entries: &'t DeTable<'t>,
    /// The key that says which keys there are, where there is one.
    kind: Option<&'static str>,
}

impl<'t> Table<'t> {
    fn path_of(&self, key: &str) -> String {
        match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        }
    }

    /// Refuses keys that are not among these.
    fn has_only(&self, known: &[&'static str]) -> Result<()> {
        let unknown = self.entries.keys().filter(|key| {
            let key = key.get_ref().as_ref();
            !known.contains(&key) && self.kind != Some(key)
        });
        let Some(key) = unknown.min_by_key(|key| key.span().start) else {
            return Ok(());
        };
        let meant = match nearest(key.get_ref(), known.iter().copied()) {
            Some(near) => format!("did you mean {near}? "),
            None => String::new(),
        };
        let path = self.path_of(key.get_ref());
        let path = path.escape_debug();
        let known = known.join(", ");
        let problem = format!("{path} is no known key; {meant}allowed: {known}");
        Err(self.file.error(key.span().start, problem))
    }

    /// Reads the value of a key.
    fn get<R: Rule>(&self, key: &'static str, rule: R) -> Result<R::Value> {
        match self.entries.get(key) {
            Some(value) => rule.read(&self.entry(self.path_of(key), value)),
            None => rule.absent().ok_or_else(|| {
                let path = self.path_of(key);
                let problem = format!("{path} is missing; allowed: {}", rule.allowed());
                self.file.error(self.offset, problem)
            }),
        }
    }

    fn entry(&self, path: String, value: &'t Spanned<DeValue<'t>>) -> Entry<'t> {
        let file = self.file;
        Entry { file, path, value }
    }

    /// An error about what `path` leads to from this table, such as `memory[1].cell`; about the
    /// nearest part of the path that is written down, if all of it is not.
    pub(super) fn error(&self, path: &str, problem: impl Display) -> DescriptionError {
        let mut offset = self.offset;
        let mut here: Option<&DeValue<'_>> = None;
        for step in path.split(['.', '[']) {
            let next = match (step.strip_suffix(']'), here) {
                (Some(index), Some(DeValue::Array(array))) => {
                    index.parse().ok().and_then(|index: usize| array.get(index))
                }
                (None, None) => self.entries.get(step),
                (None, Some(DeValue::Table(table))) => table.get(step),
                _ => None,
            };
            let Some(value) = next else { break };
            offset = value.span().start;
            here = Some(value.get_ref());
        }
        self.file.error(offset, format!("{path} {problem}"))
    }
}

/// A value of the file.
struct Entry<'t> {
    file: File<'t>,
    path: String,
    value: &'t Spanned<DeValue<'t>>,
}

impl<'t> Entry<'t> {
    /// It is not what is allowed.
    fn refused(&self, allowed: impl Display) -> DescriptionError {
        let span = self.value.span();
        let value = self.file.excerpt(span.clone());
        let problem = format!("{} is {value}; allowed: {allowed}", self.path);
        self.file.error(span.start, problem)
    }

    fn table(&self, allowed: impl Display) -> Result<Table<'t>> {
        let DeValue::Table(entries) = self.value.get_ref() else {
            return Err(self.refused(allowed));
        };
        Ok(Table {
            file: self.file,
            path: self.path.clone(),
            offset: self.value.span().start,
            entries,
            kind: None,
        })
    }

    /// The elements of an array.
    fn elements(&self, allowed: impl Display) -> Result<Vec<Self>> {
        let DeValue::Array(array) = self.value.get_ref() else {
            return Err(self.refused(allowed));
        };
        let element = |(index, value)| Self {
            file: self.file,
            path: format!("{}[{index}]", self.path),
            value,
        };
        Ok(array.iter().enumerate().map(element).collect())
    }
}

/// What the value of a key may be.
trait Rule {
    type Value;

    fn read(&self, entry: &Entry<'_>) -> Result<Self::Value>;

    /// What stands for the key if it is not there; nothing if it must be there.
    fn absent(&self) -> Option<Self::Value> {
        None
    }

    fn allowed(&self) -> String;
}

/// A whole number.
#[derive(Clone, Copy)]
struct Whole {
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

impl Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (Digits(self.least), Digits(self.most));
        match self.multiple_of {
            1 => write!(f, "{least} to {most}"),
            step => write!(f, "multiples of {step} from {least} to {most}"),
        }
    }
}

/// A number as TOML has it, with the digits in groups of three.
struct Digits(u64);

impl Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1_000 {
            return write!(f, "{}", self.0);
        }
        write!(f, "{}_{:03}", Digits(self.0 / 1_000), self.0 % 1_000)
    }
}

impl Rule for Whole {
    type Value = u64;

    fn read(&self, entry: &Entry<'_>) -> Result<u64> {
        let number = match entry.value.get_ref() {
            DeValue::Integer(integer) => {
                u64::from_str_radix(integer.as_str(), integer.radix()).ok()
            }
            _ => return Err(entry.refused(format_args!("whole numbers, {self}"))),
        };
        let is_allowed = |number: &u64| {
            (self.least..=self.most).contains(number) && number.is_multiple_of(self.multiple_of)
        };
        let number = number.filter(is_allowed);
        number.ok_or_else(|| entry.refused(self))
    }

    fn allowed(&self) -> String {
        self.to_string()
    }
}

/// The number of an SPE, a Cell, a module, or a tile's column or row.
struct Index;

/// Numbers that can be read; whether there is such an element is for `check` to say.
const INDEX: Whole = whole(0, 65_535);

impl Rule for Index {
    type Value = u16;

    fn read(&self, entry: &Entry<'_>) -> Result<u16> {
        let number = INDEX.read(entry)?;
        Ok(u16::try_from(number).expect("the rule allows no more"))
    }

    fn allowed(&self) -> String {
        INDEX.to_string()
    }
}

/// A [`Quantity`] whose number is in a range.
struct In(Whole);

impl Rule for In {
    type Value = Quantity;

    fn read(&self, entry: &Entry<'_>) -> Result<Quantity> {
        if !entry.value.get_ref().is_table() {
            return self.0.read(entry).map(Quantity::plain);
        }
        let table = entry.table("a table")?;
        table.has_only(&["value", "source", "sure", "fitted_to"])?;
        let quantity = Quantity {
            value: table.get("value", self.0)?,
            source: table.get("source", Line)?,
            sure: table.get("sure", Sure)?,
            fitted_to: table.get("fitted_to", Maybe(Line))?,
        };
        if (quantity.sure == Certainty::Fitted) != quantity.fitted_to.is_some() {
            let problem = match quantity.fitted_to {
                None => "is missing; allowed: the published number that the value was fitted to",
                Some(_) => {
                    "is there, but the value is not fitted; allowed: only with sure = \"fitted\""
                }
            };
            let path = table.path_of("fitted_to");
            return Err(table.file.error(table.offset, format!("{path} {problem}")));
        }
        Ok(quantity)
    }

    fn allowed(&self) -> String {
        self.0.to_string()
    }
}

/// How sure a quantity is.
struct Sure;

impl Sure {
    const ALL: [(&str, Certainty); 4] = [
        ("stated", Certainty::Stated),
        ("derived", Certainty::Derived),
        ("uncertain", Certainty::Uncertain),
        ("fitted", Certainty::Fitted),
    ];
}

impl Rule for Sure {
    type Value = Certainty;

    fn read(&self, entry: &Entry<'_>) -> Result<Certainty> {
        let text = entry.value.get_ref().as_str();
        let mut all = Self::ALL.into_iter();
        let named = all.find_map(|(name, sure)| (Some(name) == text).then_some(sure));
        named.ok_or_else(|| entry.refused(self.allowed()))
    }

    fn allowed(&self) -> String {
        Self::ALL.map(|(name, _)| format!("{name:?}")).join(", ")
    }
}

/// A text that can be printed on one line.
struct Line;

impl Rule for Line {
    type Value = String;

    fn read(&self, entry: &Entry<'_>) -> Result<String> {
        let text = entry.value.get_ref().as_str();
        let text = text.filter(|text| !text.is_empty() && !text.chars().any(char::is_control));
        text.map(str::to_owned)
            .ok_or_else(|| entry.refused(self.allowed()))
    }

    fn allowed(&self) -> String {
        "text on one line".to_owned()
    }
}

/// What can be typed as a machine's name.
struct Name;

impl Rule for Name {
    type Value = String;

    fn read(&self, entry: &Entry<'_>) -> Result<String> {
        let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let text = entry.value.get_ref().as_str();
        let text = text.filter(|text| !text.is_empty() && text.chars().all(is_allowed));
        text.map(str::to_owned)
            .ok_or_else(|| entry.refused(self.allowed()))
    }

    fn allowed(&self) -> String {
        "lower-case letters, digits and dashes".to_owned()
    }
}

/// A column and a row.
struct Tile;

impl Rule for Tile {
    type Value = [u16; 2];

    fn read(&self, entry: &Entry<'_>) -> Result<[u16; 2]> {
        let elements = entry.elements(self.allowed())?;
        let [column, row] = elements.as_slice() else {
            return Err(entry.refused(self.allowed()));
        };
        Ok([Index.read(column)?, Index.read(row)?])
    }

    fn allowed(&self) -> String {
        "a column and a row, such as [0, 2]".to_owned()
    }
}

/// Something that need not be there.
struct Maybe<R>(R);

impl<R: Rule> Rule for Maybe<R> {
    type Value = Option<R::Value>;

    fn read(&self, entry: &Entry<'_>) -> Result<Self::Value> {
        self.0.read(entry).map(Some)
    }

    fn absent(&self) -> Option<Self::Value> {
        Some(None)
    }

    fn allowed(&self) -> String {
        self.0.allowed()
    }
}

/// A list of at least one; the text says what such a list is.
struct List<R>(R, &'static str);

impl<R: Rule> Rule for List<R> {
    type Value = Vec<R::Value>;

    fn read(&self, entry: &Entry<'_>) -> Result<Self::Value> {
        let elements = entry.elements(self.allowed())?;
        if elements.is_empty() {
            return Err(entry.refused(self.allowed()));
        }
        elements.iter().map(|entry| self.0.read(entry)).collect()
    }

    fn allowed(&self) -> String {
        self.1.to_owned()
    }
}

/// A table with keys of its own.
trait Section: Sized {
    fn read(table: &Table<'_>) -> Result<Self>;
}

/// The rule of a [`Section`].
struct Keys<S>(PhantomData<S>);

const fn keys<S>() -> Keys<S> {
    Keys(PhantomData)
}

impl<S: Section> Rule for Keys<S> {
    type Value = S;

    fn read(&self, entry: &Entry<'_>) -> Result<S> {
        S::read(&entry.table(self.allowed())?)
    }

    fn allowed(&self) -> String {
        "a table of keys".to_owned()
    }
}

/// Says of a section which keys it has and the rule of each.
macro_rules! section {
    ($name:ident { $($field:ident $(as $key:literal)?: $rule:expr,)* }) => {
        impl Section for $name {
            fn read(table: &Table<'_>) -> Result<Self> {
                table.has_only(&[$(section!(@key $field $($key)?)),*])?;
                Ok(Self { $($field: table.get(section!(@key $field $($key)?), $rule)?,)* })
            }
        }
    };
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
}

// The ranges hold every machine that anybody may want to describe, and keep 64 bits of femtoseconds
// from overflowing: the slowest cycle is 10^9 fs, the longest time 10^15 fs, and a line of 128 bytes
// takes at most 1.28 * 10^11 fs, where 1.8 * 10^19 fit.
const HZ: In = In(whole(1_000_000, 1_000_000_000_000));
const BYTES_PER_S: In = In(whole(1_000_000, 10_000_000_000_000));
const PS: In = In(whole(0, 1_000_000_000_000));
/// What a program can do again and again must take time, or a loop that waits would never end.
const SOME_PS: In = In(whole(1, 1_000_000_000_000));
const CYCLES: In = In(whole(1, 1_000_000));
const SMALL: In = In(whole(1, 1_024));

const fn lines_of_128(most: u64) -> In {
    In(Whole {
        least: 128,
        most,
        multiple_of: 128,
    })
}

section!(Description {
    name: Name,
    title: Line,
    clock: keys(),
    cells as "cell": List(keys(), "one [[cell]] or more"),
    modules as "memory": List(keys(), "one [[memory]] or more"),
    interconnect: keys(),
    command: keys(),
    link: Maybe(keys()),
    mfc: keys(),
    local_store: keys(),
    registers: keys(),
    atomic: keys(),
    spu: keys(),
    ppe: keys(),
});

section!(Clock {
    spu_hz: HZ,
    bus_hz: HZ,
    timebase_hz: HZ,
});

section!(Cell {
    spes: List(Index, "the numbers of one SPE or more, such as [0, 1, 2]"),
    nearest_module: Index,
});

section!(MemoryModule {
    cell: Index,
    tile: Maybe(Tile),
    bytes: lines_of_128(1 << 40),
    bytes_per_s: BYTES_PER_S,
    access_ps: PS,
    banks: SMALL,
    bank_read_ps: PS,
    bank_write_ps: PS,
    turnaround_ps: PS,
    write_batch_lines: SMALL,
    write_queue_lines: SMALL,
    whole_write_bytes: In(whole(1, 128)),
    refresh_interval_ps: In(whole(1_000, 1_000_000_000_000)),
    refresh_ps: PS,
});

impl Section for Interconnect {
    fn read(table: &Table<'_>) -> Result<Self> {
        let kind = table.get("kind", Kind)?;
        let table = &Table {
            kind: Some("kind"),
            path: table.path.clone(),
            ..*table
        };
        Ok(match kind {
            "rings" => Self::Rings(Rings::read(table)?),
            "mesh" => Self::Mesh(Mesh::read(table)?),
            "crossbar" => Self::Crossbar(Crossbar::read(table)?),
            "matrix" => Self::Matrix(Matrix::read(table)?),
            _ => unreachable!("the rule allows no other kind"),
        })
    }
}

/// The kind of an interconnect.
struct Kind;

impl Kind {
    const ALL: [&str; 4] = ["rings", "mesh", "crossbar", "matrix"];
}

impl Rule for Kind {
    type Value = &'static str;

    fn read(&self, entry: &Entry<'_>) -> Result<&'static str> {
        let text = entry.value.get_ref().as_str();
        let named = Self::ALL.into_iter().find(|kind| Some(*kind) == text);
        named.ok_or_else(|| entry.refused(self.allowed()))
    }

    fn allowed(&self) -> String {
        Self::ALL.map(|kind| format!("{kind:?}")).join(", ")
    }
}

section!(Rings {
    elements: List(
        Line,
        "the elements in ring order, such as [\"PPE\", \"SPE0\", \"MIC\"]"
    ),
    elements_source: Line,
    clockwise: In(whole(0, 16)),
    counterclockwise: In(whole(0, 16)),
    packet_bus_cycles: CYCLES,
    hop_bus_cycles: CYCLES,
    start_interval_bus_cycles: CYCLES,
    hops_max: In(whole(1, 64)),
});

section!(Mesh {
    columns: In(whole(1, 64)),
    rows: In(whole(1, 64)),
    ppe_tile: Tile,
    hop_ps: PS,
    link_bytes_per_s: BYTES_PER_S,
});

section!(Crossbar {
    latency_ps: PS,
    port_bytes_per_s: BYTES_PER_S,
});

section!(Matrix {
    one_way_ps: List(
        List(PS.0, "a row of times"),
        "rows of times, one for each SPE",
    ),
    one_way_source: Line,
    to_memory_ps: PS,
    port_bytes_per_s: BYTES_PER_S,
});

section!(CommandBus {
    phase_bus_cycles: CYCLES,
    interval_bus_cycles: CYCLES,
    coherent_interval_bus_cycles: CYCLES,
});

section!(Link {
    latency_ps: PS,
    bytes_per_s: BYTES_PER_S,
    packet_overhead_bytes: In(whole(0, 1_024)),
    command_bytes: In(whole(0, 1_024)),
});

section!(Mfc {
    outstanding_requests: In(whole(1, 128)),
    issue_cycles: CYCLES,
    start_cycles: CYCLES,
    request_interval_bus_cycles: CYCLES,
    list_element_cycles: CYCLES,
});

section!(LocalStore {
    bytes: lines_of_128(1 << 30),
    read_cycles: CYCLES,
    write_cycles: CYCLES,
});

section!(Registers {
    read_cycles: CYCLES,
    write_cycles: CYCLES,
});

section!(Atomic {
    cache_lines: SMALL,
    hit_cycles: CYCLES,
});

section!(Spu {
    channel_cycles: CYCLES,
    switch_cycles: CYCLES,
});

section!(Ppe {
    mmio_write_cycles: CYCLES,
    mmio_read_cycles: CYCLES,
    mailbox_call_ps: SOME_PS,
    signal_call_ps: SOME_PS,
    start_program_ps: SOME_PS,
    end_program_ps: SOME_PS,
    atomic_cycles: CYCLES,
});
