//! A reader of traces, for tests that check whether transfers overlap and why threads wait.

use std::collections::BTreeMap;

use prost::Message;

use super::perfetto::{EventType, Trace, TrackDescriptor};

/// A span of time in a trace: a program, a wait, or an MFC command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The names of the track and its parents, as `SPE 0`, `SPE 0/thread 1` or `SPE 0/MFC/entry 2`.
    pub track: String,
    /// The name of the slice, such as `computing`, `waiting for DMA`, or `get 16 KB`.
    pub name: String,
    /// The start in nanoseconds of simulated time, rounded down.
    pub start_ns: u64,
    /// The end in nanoseconds of simulated time, rounded down.
    pub end_ns: u64,
    /// The arguments of an MFC command: `ea`, `lsa`, `bytes` and `tag`, as far as it has them.
    pub arguments: BTreeMap<String, u64>,
}

impl Slice {
    /// Returns whether two slices overlap in time.
    ///
    /// ```
    /// use cellworks_sim::trace::Slice;
    ///
    /// let get = |start_ns, end_ns| Slice {
    ///     track: "SPE 0/MFC/entry 0".to_owned(),
    ///     name: "get 16 KB".to_owned(),
    ///     start_ns,
    ///     end_ns,
    ///     arguments: Default::default(),
    /// };
    /// assert!(get(0, 10).overlaps(&get(9, 20)));
    /// assert!(!get(0, 10).overlaps(&get(10, 20)));
    /// ```
    pub fn overlaps(&self, other: &Self) -> bool {
        self.start_ns < other.end_ns && other.start_ns < self.end_ns
    }
}

/// The reason why a trace cannot be read.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReadTraceError(String);

cellworks_machine::debug_by_display!(ReadTraceError);

/// Reads the slices of a trace. The slices of a track are in the order of their ends.
///
/// # Errors
///
/// Returns a [`ReadTraceError`] if the bytes are not a complete trace of a simulated machine.
pub fn read_slices(trace: &[u8]) -> Result<Vec<Slice>, ReadTraceError> {
    let trace = Trace::decode(trace).map_err(|error| {
        let what = format!("this is no Perfetto trace, or its end is missing: {error}");
        ReadTraceError(what)
    })?;
    let mut tracks = BTreeMap::new();
    let mut names = BTreeMap::new();
    let mut slices = Vec::new();
    for (number, packet) in trace.packet.iter().enumerate() {
        if let Some(descriptor) = &packet.track_descriptor {
            let path = path_of(descriptor, &tracks);
            let open: Vec<Slice> = Vec::new();
            tracks.insert(descriptor.uuid(), (path, open));
        }
        let interned = packet
            .interned_data
            .iter()
            .flat_map(|data| &data.event_names);
        names.extend(interned.map(|name| (name.iid(), name.name())));
        let Some(event) = &packet.track_event else {
            continue;
        };
        let uuid = event.track_uuid();
        let Some((path, open)) = tracks.get_mut(&uuid) else {
            return Err(ReadTraceError(format!(
                "packet {number} is on track {uuid}, which no packet before it describes; \
                 only traces of simulated machines can be read"
            )));
        };
        match event.r#type() {
            EventType::SliceBegin => {
                let interned = || names.get(&event.name_iid()).copied();
                let name = event.name.as_deref().or_else(interned);
                let name = name.ok_or_else(|| {
                    ReadTraceError(format!(
                        "the slice that packet {number} begins on track `{path}` has no name"
                    ))
                })?;
                let arguments = event.debug_annotations.iter().map(|argument| {
                    let value = argument.uint_value.or(argument.pointer_value);
                    (argument.name().to_owned(), value.unwrap_or_default())
                });
                open.push(Slice {
                    track: path.clone(),
                    name: name.to_owned(),
                    start_ns: packet.timestamp(),
                    end_ns: packet.timestamp(),
                    arguments: arguments.collect(),
                });
            }
            EventType::SliceEnd => {
                let begun = open.pop().ok_or_else(|| {
                    ReadTraceError(format!(
                        "packet {number} ends a slice on track `{path}`, where none is open"
                    ))
                })?;
                slices.push(Slice {
                    end_ns: packet.timestamp(),
                    ..begun
                });
            }
            EventType::Unspecified | EventType::Instant | EventType::Counter => {}
        }
    }
    for (track, open) in tracks.into_values() {
        if let Some(slice) = open.first() {
            return Err(ReadTraceError(format!(
                "the trace ends within the slice `{}` on track `{track}`",
                slice.name
            )));
        }
    }
    Ok(slices)
}

/// Returns the names of a track and its parents below the machine, separated by slashes.
fn path_of<T>(descriptor: &TrackDescriptor, tracks: &BTreeMap<u64, (String, T)>) -> String {
    match tracks.get(&descriptor.parent_uuid()) {
        Some((parent, _)) if !parent.is_empty() => format!("{parent}/{}", descriptor.name()),
        _ => descriptor.name().to_owned(),
    }
}
