//! The numbers that a request can set for its function, and their descriptions. A new number needs
//! a field of [`Settings`], a description that [`Setting::ALL`] lists, its flag in the rows of the
//! functions that take it (`function.rs`), and the code that uses the number.

use cellworks_machine::mfc::MAX_LIST_ELEMENTS;
use cellworks_machine::sizes::in_words;
use serde::{Deserialize, Serialize};

use crate::function::Function;

/// The numbers that a request can set for its function. In a [`Request`](crate::Request), `None`
/// lets [`plan`](crate::Request::plan) choose the number. In [`Parameters`](crate::Parameters),
/// `None` means that the function has no such number. The help of each flag ([`Setting::help`])
/// describes which values a request may set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settings {
    /// The size of a block, of an element of a list, or of a variable.
    pub block_bytes: Option<usize>,
    /// The number of elements of the list.
    pub list_elements: Option<u32>,
    /// The distance from the start of one private buffer to the start of the next.
    pub stride_bytes: Option<usize>,
    /// The number of chains of pointers that are followed at the same time.
    pub chains: Option<u32>,
    /// The number of other SPEs that copy memory at the same time.
    pub loading_spes: Option<usize>,
    /// The requested size of the pages of memory.
    #[serde(default)]
    pub page_bytes: Option<usize>,
}

/// The description of one field of [`Settings`].
#[derive(Debug)]
pub struct Setting {
    /// The name of the field in JSON and CSV.
    pub name: &'static str,
    /// The flag that sets the field, such as `-k`.
    pub flag: &'static str,
    /// A value that functions accept, used as an example in messages.
    pub example: &'static str,
    /// The name of the value in the help of the flag.
    pub value_name: &'static str,
    /// The help of the flag.
    pub help: &'static str,
    /// Whether the value is a size in bytes, and not a count.
    pub is_size: bool,
    /// Returns the value of the field.
    pub get: fn(&Settings) -> Option<usize>,
    /// Sets or clears the field. A number that is too large becomes the largest of the field's
    /// type.
    pub set: fn(&mut Settings, Option<usize>),
    /// The headings and texts that views use for the field. `None` if each view has its own.
    pub shown: Option<SettingView>,
    /// The position of the field's column in the CSV of measurements, from 0. A new column comes
    /// last, so that the older columns keep their positions.
    pub csv_column: usize,
    /// The name of the field in the error of a function that does not use the field.
    pub(crate) noun: &'static str,
    /// The reason why most functions do not use the field, or `None` if most use it.
    pub(crate) most_lack: Option<&'static str>,
    /// Returns the reason why every function refuses this value, or `None` if the value is allowed.
    pub(crate) refusal: fn(usize) -> Option<String>,
    /// Flags that the user can give instead of a refused value.
    pub(crate) instead: &'static str,
}

/// The headings and texts that views use for one of the [`Settings`].
#[derive(Debug)]
pub struct SettingView {
    /// The heading of the setting's column in a table.
    pub heading: &'static str,
    /// The heading of the setting's column where there is more room.
    pub long_heading: &'static str,
    /// Returns the text for a value in the title of a measurement. `None` leaves out the value.
    pub in_title: fn(usize) -> Option<String>,
    /// Returns the text for a value in the name of a line of a chart.
    pub in_words: fn(usize) -> String,
    /// The name of the axis in a chart of this setting.
    pub axis: &'static str,
    /// Whether the axis is logarithmic, with one step for each doubling.
    pub doubles: bool,
    /// The position on the axis of a measurement without this setting.
    pub default: Option<usize>,
}

const PAGE_SIZES: [usize; 2] = [4 << 10, HUGE_PAGE_BYTES];

pub(crate) const HUGE_PAGE_BYTES: usize = 2 << 20;

/// The maximum number of chains of `chase`. No core has so many cache misses under way at once.
const CHAINS_MAX: usize = 64;

impl Setting {
    /// All settings, in the order of the fields in JSON and of the columns in CSV.
    pub const ALL: [Self; 6] = [
        Self::BLOCK_BYTES,
        Self::LIST_ELEMENTS,
        Self::STRIDE_BYTES,
        Self::CHAINS,
        Self::LOADING_SPES,
        Self::PAGE_BYTES,
    ];

    /// [`Settings::block_bytes`].
    pub const BLOCK_BYTES: Self = Self {
        name: "block_bytes",
        flag: "-b",
        example: "16k",
        value_name: "SIZE",
        help: "Bytes in a block, in an element of a list, in a variable, or in the table of `chase` \
               [default: 1k for dmaget, dmaput and copy, 64 for lists, 4 for variables, 64m for \
               chase, 16k for --matrix copy]",
        is_size: true,
        get: |settings| settings.block_bytes,
        set: |settings, bytes| settings.block_bytes = bytes,
        shown: None,
        csv_column: 6,
        noun: "block size",
        most_lack: None,
        refusal: |_| None,
        instead: "-b 1k",
    };

    /// [`Settings::list_elements`].
    pub const LIST_ELEMENTS: Self = Self {
        name: "list_elements",
        flag: "-l",
        example: "16",
        value_name: "ELEMENTS",
        help: "Elements of a list [default: 16]",
        is_size: false,
        get: |settings| settings.list_elements.map(|elements| elements as usize),
        set: |settings, elements| settings.list_elements = elements.map(clamped),
        shown: None,
        csv_column: 7,
        noun: "list",
        most_lack: Some("only dmalistget and dmalistput move lists"),
        refusal: |elements| {
            (!(1..=MAX_LIST_ELEMENTS as usize).contains(&elements)).then(|| {
                format!(
                    "a list of {elements} elements: a list command takes 1 to \
                     {MAX_LIST_ELEMENTS}; use 16"
                )
            })
        },
        instead: "-l 16 -b 1k",
    };

    /// [`Settings::stride_bytes`].
    pub const STRIDE_BYTES: Self = Self {
        name: "stride_bytes",
        flag: "-t",
        example: "16k",
        value_name: "STRIDE",
        help: "Bytes from the start of one private buffer to the start of the next [default: the next \
               multiple of 128 that holds a buffer]",
        is_size: true,
        get: |settings| settings.stride_bytes,
        set: |settings, bytes| settings.stride_bytes = bytes,
        shown: None,
        csv_column: 8,
        noun: "stride",
        most_lack: None,
        refusal: |_| None,
        instead: "",
    };

    /// [`Settings::chains`].
    pub const CHAINS: Self = Self {
        name: "chains",
        flag: "-k",
        example: "8",
        value_name: "CHAINS",
        help: "Chains of pointers that `chase` follows at once [default: 1]",
        is_size: false,
        get: |settings| settings.chains.map(|chains| chains as usize),
        set: |settings, chains| settings.chains = chains.map(clamped),
        shown: Some(SettingView {
            heading: "chains",
            long_heading: "chains",
            in_title: |chains| Some(in_chains(chains)),
            in_words: in_chains,
            axis: "chains followed at once",
            doubles: true,
            default: None,
        }),
        csv_column: 9,
        noun: "chains",
        most_lack: Some("only chase follows pointers"),
        refusal: |chains| {
            (!(1..=CHAINS_MAX).contains(&chains)).then(|| {
                format!("{chains} chains: an SPE follows 1 to {CHAINS_MAX} at once; use 1")
            })
        },
        instead: "-k 8",
    };

    /// [`Settings::loading_spes`].
    pub const LOADING_SPES: Self = Self {
        name: "loading_spes",
        flag: "--load",
        example: "1",
        value_name: "SPES",
        help: "SPEs that copy memory while `chase` runs [default: 0]",
        is_size: false,
        get: |settings| settings.loading_spes,
        set: |settings, spes| settings.loading_spes = spes,
        shown: Some(SettingView {
            heading: "loading",
            long_heading: "loading SPEs",
            in_title: |spes| match spes {
                0 => None,
                1 => Some("1 SPE loading".to_owned()),
                spes => Some(format!("{spes} SPEs loading")),
            },
            in_words: |spes| format!("{spes} loading"),
            axis: "other SPEs that copy meanwhile",
            doubles: false,
            default: Some(0),
        }),
        csv_column: 10,
        noun: "loading SPEs",
        most_lack: Some("only chase follows pointers"),
        refusal: |_| None,
        instead: "--load 0",
    };

    /// [`Settings::page_bytes`].
    pub const PAGE_BYTES: Self = Self {
        name: "page_bytes",
        flag: "--pages",
        example: "4k",
        value_name: "BYTES",
        help: "Pages of the buffers, of the table of `chase` or of the blocks of `--matrix memory`: 4k, or 2m for \
               transparent huge pages [default: what the system gives]",
        is_size: true,
        get: |settings| settings.page_bytes,
        set: |settings, bytes| settings.page_bytes = bytes,
        shown: None,
        csv_column: 23,
        noun: "page size",
        most_lack: Some(
            "only transfers, chase and a memory matrix work on large regions of memory",
        ),
        refusal: |bytes| {
            (!PAGE_SIZES.contains(&bytes)).then(|| {
                format!(
                    "pages of {}: there are pages of 4k and of 2m; use one of these",
                    in_words(bytes)
                )
            })
        },
        instead: "--pages 4k",
    };

    /// Returns whether a function that measures a matrix uses the setting.
    pub fn is_of_a_matrix(&self) -> bool {
        let uses = |matrix: &Function| matrix.why_unused(self.flag, self.most_lack).is_none();
        Function::MATRICES.iter().any(uses)
    }

    /// The settings that have a [`SettingView`].
    pub fn shown() -> impl Iterator<Item = (&'static Self, &'static SettingView)> {
        Self::ALL
            .iter()
            .filter_map(|setting| Some((setting, setting.shown.as_ref()?)))
    }
}

fn clamped(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn in_chains(chains: usize) -> String {
    format!("{chains} {}", if chains == 1 { "chain" } else { "chains" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_one_row_with_its_name_in_the_same_order() {
        for (at, setting) in Setting::ALL.iter().enumerate() {
            let mut settings = Settings::default();
            (setting.set)(&mut settings, Some(7));
            assert_eq!((setting.get)(&settings), Some(7), "{}", setting.name);
            let json = serde_json::to_string(&settings).unwrap();
            let fields: Vec<&str> = json.trim_matches(['{', '}']).split(',').collect();
            assert_eq!(fields.len(), Setting::ALL.len());
            assert_eq!(fields[at], format!("\"{}\":7", setting.name));
            (setting.set)(&mut settings, None);
            assert_eq!(settings, Settings::default());
        }
    }
}
