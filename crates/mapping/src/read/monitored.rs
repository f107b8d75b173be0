//! What Open MPI's monitoring component has counted.
//!
//! Each rank writes a file `NAME.RANK.prof`:
//!
//! ```text
//! # POINT TO POINT
//! E  0  1  6000 bytes  3 msgs sent  0,0,1,...   messages of the program, and their sizes
//! I  0  1  4096 bytes  1 msgs sent              messages inside of collectives
//! # OSC
//! S  0  1  700 bytes   1 msgs sent              puts from rank 0 to rank 1
//! R  0  1  900 bytes   1 msgs sent              gets of rank 0 from rank 1
//! # COLLECTIVES
//! C  0  1  4096 bytes  1 msgs sent              what collectives mean, whatever way it takes
//! D  MPI_COMM_WORLD  procs: 0,1                 a communicator, and three sums for it
//! O2A  0  0 bytes  0 msgs sent
//! A2O  0  0 bytes  0 msgs sent
//! A2A  0  0 bytes  0 msgs sent
//! ```
//!
//! With `pml_monitoring_enable 1` there are no `I` lines: those messages are in `E`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::error::{ReadError, at_line, text_of};
use super::tasks::Tasks;
use super::text::{TextError, shown};
use crate::volumes::Volumes;

/// The messages that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// The messages that went from rank to rank, those inside of collectives included.
    Crossed,
    /// What the program asked for: its own messages, and what its collectives mean.
    Meant,
}

const HEADINGS: [&str; 3] = ["# POINT TO POINT", "# OSC", "# COLLECTIVES"];

/// The lines after a communicator.
const SUMS: [&str; 3] = ["O2A", "A2O", "A2A"];

const WORLD: &str = "MPI_COMM_WORLD";

/// Returns true if a text is the file of a rank.
pub(super) fn is_monitored(text: &str) -> bool {
    text.starts_with(HEADINGS[0])
}

/// Returns true if there are files of ranks with a name.
pub(super) fn is_name(name: &Path) -> bool {
    match files(name) {
        Ok(files) => !files.is_empty(),
        Err(ReadError::Content { .. }) => true,
        Err(_) => false,
    }
}

/// Returns an error that names the run whose name is probably meant by `name`, the name of no file:
/// one whose files are in the same folder and have a name that begins with it.
pub(super) fn is_meant(name: &Path) -> Option<ReadError> {
    let begin = name.file_name()?.to_str().filter(|_| !name.exists())?;
    let folder = match name.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let files = fs::read_dir(folder).ok()?.flatten();
    let runs = files.filter_map(|file| {
        let file = file.path();
        let (_, run) = run_of(&file)?;
        run.starts_with(begin).then(|| run.to_owned())
    });
    let run = runs.min()?;
    Some(ReadError::Content {
        file: name.to_path_buf(),
        rule: format!(
            "there is no such file, and there are the files {run}.*.prof of Open MPI's monitoring: name them {}",
            name.with_file_name(&run).display()
        ),
    })
}

/// The volumes of the file of a rank.
#[derive(Default)]
struct Counts {
    /// The kind of the line, the sender, the receiver, and bytes.
    sent: Vec<(&'static str, usize, usize, f64)>,
    /// The number of ranks in MPI_COMM_WORLD.
    world: Option<usize>,
    /// A number above that of all named ranks.
    ranks: usize,
    has_collectives: bool,
}

/// Reads the files of all ranks. `name` is what was given to Open MPI as the file name, or the file
/// of a rank, or `NAME.*.prof`.
pub(super) fn read(name: &Path, counted: Counted) -> Result<Tasks, ReadError> {
    let files = files(name)?;
    if files.is_empty() {
        return Err(ReadError::Content {
            file: name.to_path_buf(),
            rule: "there is no file of a rank of Open MPI's monitoring, such as NAME.0.prof"
                .to_owned(),
        });
    }
    let wrong = |file: &Path, rule: String| {
        Err(ReadError::Content {
            file: file.to_path_buf(),
            rule,
        })
    };
    let mut all: Vec<(PathBuf, Counts)> = Vec::new();
    for (rank, file) in files {
        let text = text_of(&file)?;
        let counts = parse(&text, rank).map_err(|error| at_line(&file, error))?;
        all.push((file, counts));
    }
    let world = all[0].1.world;
    if let Some((file, counts)) = all.iter().find(|(_, counts)| counts.world != world) {
        let size = |world: Option<usize>| world.map_or("no".to_owned(), |size| size.to_string());
        return wrong(
            file,
            format!(
                "it has {} ranks in {WORLD}, and {} has {}: they are of different runs; remove the files of the old \
                 one",
                size(counts.world),
                all[0].0.display(),
                size(world)
            ),
        );
    }
    let ranks = all
        .iter()
        .map(|(_, counts)| counts.ranks)
        .max()
        .unwrap_or(0);
    // Files are in the order of their ranks, each of which has one file.
    if ranks != all.len() {
        let has = |rank: &usize| all.iter().any(|(file, _)| rank_of(file) == Some(*rank));
        let missing = (0..ranks).find(|rank| !has(rank)).unwrap_or(0);
        return wrong(
            name,
            format!(
                "the file of rank {missing} is missing: the {} files name ranks up to {}, and each rank writes one",
                all.len(),
                ranks - 1
            ),
        );
    }
    let lines = || all.iter().flat_map(|(_, counts)| &counts.sent);
    let has_collectives = all.iter().any(|(_, counts)| counts.has_collectives);
    let has_inside = lines().any(|(kind, ..)| *kind == "I");
    let mut notes = Vec::new();
    if has_collectives && !has_inside {
        if counted == Counted::Meant {
            return wrong(
                name,
                "no message is marked as one inside of a collective, as with `pml_monitoring_enable 1`, so what the \
                 program meant cannot be told from it: measure with `pml_monitoring_enable 2`"
                    .to_owned(),
            );
        }
        notes.push(
            "no message is marked as one inside of a collective, as with `pml_monitoring_enable 1`: all messages count \
             alike"
                .to_owned(),
        );
    }
    let kind = match counted {
        Counted::Crossed => "I",
        Counted::Meant => "C",
    };
    let counts = lines().filter(|line| line.0 == kind || ["E", "S", "R"].contains(&line.0));
    let edges = counts.map(|(_, from, to, bytes)| (*from, *to, *bytes));
    let volumes = Volumes::from_edges(ranks, edges);
    let volumes = volumes.map_err(|source| ReadError::Problem {
        file: name.to_path_buf(),
        source,
    })?;
    Ok(Tasks {
        volumes,
        first: 0,
        notes,
    })
}

/// Splits the name of a file such as `NAME.3.prof`.
fn split(file: &str) -> Option<(&str, &str)> {
    file.strip_suffix(".prof")?.rsplit_once('.')
}

fn rank_of(file: &Path) -> Option<usize> {
    let (_, rank) = split(file.file_name()?.to_str()?)?;
    let rank: u32 = rank.parse().ok()?;
    Some(rank as usize)
}

/// Returns the folder and the name of the run of which a file is, if it has the name of a rank.
pub(super) fn run_of(file: &Path) -> Option<(Option<&Path>, &str)> {
    rank_of(file)?;
    let (name, _) = split(file.file_name()?.to_str()?)?;
    Some((file.parent(), name))
}

/// Returns the files of all ranks, by rank. It is empty if there are none.
fn files(name: &Path) -> Result<BTreeMap<usize, PathBuf>, ReadError> {
    let wrong = |rule: String| ReadError::Content {
        file: name.to_path_buf(),
        rule,
    };
    let last = name.file_name().and_then(|last| last.to_str());
    let (folder, prefix) = match last {
        _ if name.is_dir() => (name, None),
        Some(last) => {
            let is_rank = |rank: &str| rank == "*" || rank.parse::<usize>().is_ok();
            let prefix = split(last).filter(|(_, rank)| is_rank(rank));
            let prefix = prefix.map_or(last, |(prefix, _)| prefix);
            (name.parent().unwrap_or(Path::new("")), Some(prefix))
        }
        None => (name, None),
    };
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let listed = fs::read_dir(folder).map_err(|source| ReadError::File {
        file: folder.to_path_buf(),
        source,
    })?;
    let mut files: BTreeMap<usize, PathBuf> = BTreeMap::new();
    let mut found: Option<String> = None;
    for entry in listed.flatten() {
        let file = entry.file_name();
        let Some((begin, rank)) = file.to_str().and_then(split) else {
            continue;
        };
        let Ok(rank) = rank.parse::<u32>().map(|rank| rank as usize) else {
            continue;
        };
        if prefix.is_some_and(|prefix| prefix != begin) {
            continue;
        }
        let first = found.get_or_insert_with(|| begin.to_owned());
        if first != begin {
            return Err(wrong(format!(
                "it has files of several runs, {first}.*.prof and {begin}.*.prof: name one of them, such as {}",
                folder.join(begin).display()
            )));
        }
        let path = if folder == Path::new(".") {
            PathBuf::from(&file)
        } else {
            folder.join(&file)
        };
        if let Some(other) = files.insert(rank, path.clone()) {
            return Err(wrong(format!(
                "rank {rank} has two files, {} and {}: remove the one of the old run",
                (&other).min(&path).display(),
                (&other).max(&path).display()
            )));
        }
    }
    Ok(files)
}

fn parse(text: &str, rank: usize) -> Result<Counts, TextError> {
    let end = text.lines().count().max(1);
    let cut = || {
        let rule = "the file is cut off here: a rank that ends before MPI_Finalize writes no whole file, and a full disk \
                    holds none; run the program again";
        TextError::at(end, rule)
    };
    if !text.ends_with('\n') {
        return Err(cut());
    }
    let mut counts = Counts {
        ranks: rank + 1,
        ..Counts::default()
    };
    let mut headings = 0;
    // The sums that have to follow a communicator.
    let mut expected: &[&str] = &[];
    for (line, text) in (1..).zip(text.lines()) {
        let wrong = |rule: String| Err(TextError::at(line, rule));
        if text.starts_with('#') {
            if HEADINGS.get(headings) != Some(&text) {
                return wrong(format!(
                    "{:?} is no heading of a file of Open MPI's monitoring, which has `{}`, `{}` and `{}`, in this order",
                    shown(text),
                    HEADINGS[0],
                    HEADINGS[1],
                    HEADINGS[2]
                ));
            }
            headings += 1;
            continue;
        }
        let fields: Vec<&str> = text.split('\t').collect();
        let unlike = || {
            let rule = format!(
                "{:?} is no line of Open MPI's monitoring, such as `E 0 1 4096 bytes 1 msgs sent` with tabs between",
                shown(text)
            );
            TextError::at(line, rule)
        };
        let number = |word: &str| word.parse::<usize>().map_err(|_| unlike());
        if expected.first().is_some_and(|next| fields[0] != *next) {
            return Err(unlike());
        }
        match fields[..] {
            [
                kind @ ("E" | "I" | "S" | "R" | "C"),
                own,
                other,
                bytes,
                messages,
                ..,
            ] => {
                let kinds: [&[&'static str]; 4] = [&[], &["E", "I"], &["S", "R"], &["C"]];
                let Some(kind) = kinds[headings].iter().find(|known| **known == kind) else {
                    return Err(unlike());
                };
                let (own, other) = (number(own)?, number(other)?);
                if own != rank {
                    return wrong(format!(
                        "it has what rank {own} sent, and by its name the file is that of rank {rank}"
                    ));
                }
                let bytes = number(bytes.strip_suffix(" bytes").unwrap_or(""))?;
                number(messages.strip_suffix(" msgs sent").unwrap_or(""))?;
                counts.ranks = counts.ranks.max(other.saturating_add(1));
                counts.has_collectives |= *kind == "C";
                let (from, to) = match *kind {
                    "R" => (other, own),
                    _ => (own, other),
                };
                counts.sent.push((kind, from, to, bytes as f64));
            }
            ["D", name, members] if headings == HEADINGS.len() => {
                let members = members.strip_prefix("procs: ").ok_or_else(unlike)?;
                let members: Vec<usize> =
                    members.split(',').map(number).collect::<Result<_, _>>()?;
                let most = members
                    .iter()
                    .max()
                    .map_or(0, |most| most.saturating_add(1));
                counts.ranks = counts.ranks.max(most);
                if name == WORLD {
                    counts.world = Some(members.len());
                }
                expected = &SUMS;
            }
            [kind, own, bytes, messages] if expected.first() == Some(&kind) => {
                number(own)?;
                number(bytes.strip_suffix(" bytes").unwrap_or(""))?;
                number(messages.strip_suffix(" msgs sent").unwrap_or(""))?;
                expected = &expected[1..];
            }
            _ => return Err(unlike()),
        }
    }
    if headings == HEADINGS.len() && expected.is_empty() {
        Ok(counts)
    } else {
        Err(cut())
    }
}
