//! The kind of a file, by its content.

use super::tasks::Tasks;
use super::text::{TextError, shown};
use super::{edges, matrix, metis, monitored, scotch};

/// What the first lines of a file say that it is, if they say it.
enum FileKind {
    Market,
    Metis,
    ScotchGraph,
    ScotchMapping,
    ScotchTarget,
    Monitored,
    Qaplib,
    Matrix,
    Json,
    Xml,
}

type Test = fn(&str) -> bool;

impl FileKind {
    fn of(text: &str) -> Option<Self> {
        let begin = text.trim_start();
        let kinds: [(Test, Self); 8] = [
            (matrix::is_market, Self::Market),
            (monitored::is_monitored, Self::Monitored),
            (scotch::is_graph, Self::ScotchGraph),
            (
                |text| scotch::target_name(text).is_some(),
                Self::ScotchTarget,
            ),
            (scotch::is_mapping, Self::ScotchMapping),
            (is_qaplib, Self::Qaplib),
            (|text| metis::recognised(text).is_some(), Self::Metis),
            (matrix::is_plain, Self::Matrix),
        ];
        match begin.chars().next() {
            Some('{' | '[') => Some(Self::Json),
            Some('<') => Some(Self::Xml),
            _ => kinds
                .into_iter()
                .find_map(|(is, kind)| is(text).then_some(kind)),
        }
    }

    /// What a file is, and where it can be named.
    fn name(&self) -> &'static str {
        match self {
            Self::Market => {
                "a matrix of Matrix Market, which has volumes: name it as the file with the tasks"
            }
            Self::Metis => {
                "a graph of METIS, which has volumes: name it as the file with the tasks"
            }
            Self::ScotchGraph => {
                "a graph of Scotch, which has volumes: name it as the file with the tasks"
            }
            Self::ScotchMapping => {
                "a mapping of Scotch, which is a placement: name it in `map explain`"
            }
            Self::ScotchTarget => "a target of Scotch, which has costs: name it with --costs",
            Self::Monitored => {
                "a file of Open MPI's monitoring, which has volumes: name it as the file with the tasks"
            }
            Self::Qaplib => {
                "a problem of QAPLIB, which has volumes and costs: name it without --costs"
            }
            Self::Matrix => "a matrix",
            Self::Json => {
                "JSON, which has no volumes: name what `stats --matrix` printed with --costs, and what `map solve` \
                 printed in `map explain`"
            }
            Self::Xml => "XML: name that of hwloc with --costs, with a name that ends in .xml",
        }
    }
}

/// Returns true if a text has a number n in its first line, and then 2 n^2 words: two matrices.
fn is_qaplib(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let size = lines.next().and_then(|first| first.trim().parse().ok());
    let words = lines.flat_map(str::split_whitespace).count();
    let expected = |size: usize| size.checked_mul(size)?.checked_mul(2);
    size.is_some_and(|size: usize| size > 0 && expected(size) == Some(words))
}

/// Reads the tasks of a file other than those of Open MPI's monitoring.
pub(super) fn tasks(text: &str, ending: Option<&str>) -> Result<Tasks, TextError> {
    let ending = ending.unwrap_or_default();
    let is = |endings: &[&str]| endings.iter().any(|one| one.eq_ignore_ascii_case(ending));
    match FileKind::of(text) {
        Some(FileKind::Market) => matrix::market(text),
        Some(FileKind::Metis) => {
            let mut tasks = metis::parse(text)?;
            if metis::is_like_edges(text) {
                let note = "it is read as a graph of METIS; if it is a list of edges, begin it with `tasks N`";
                tasks.notes.push(note.to_owned());
            }
            Ok(tasks)
        }
        Some(FileKind::ScotchGraph) => scotch::graph(text),
        Some(FileKind::Matrix) => matrix::plain(text),
        Some(kind) => Err(TextError::at(1, format!("this is {}", kind.name()))),
        // No kind for certain. If an error is found, it has to be one of the kind that is meant.
        None if is(&["grf"]) => scotch::graph(text),
        None if is(&["graph", "metis"]) || text.starts_with('%') || metis::is_likely(text) => {
            metis::parse(text)
        }
        None if matrix::is_likely(text) => matrix::plain(text),
        None if matrix::is_half(text) => Err(TextError::at(
            1,
            "this is half of a matrix: write both halves, so that row i has the volumes from task i to all tasks",
        )),
        None => edges::parse(text).map(|volumes| Tasks {
            volumes,
            first: 0,
            notes: Vec::new(),
        }),
    }
}

/// Returns why a text is no table of latencies with commas, if it is of another kind.
pub(super) fn not_costs(text: &str) -> Option<TextError> {
    let refused = |what: &str| Some(TextError::at(1, format!("this is {what}")));
    match FileKind::of(text) {
        Some(FileKind::Json) => refused("JSON: give the file a name that ends in .json"),
        None | Some(FileKind::Matrix) => {
            let first = text.lines().next().unwrap_or_default().trim();
            let is_number = |word: &str| word.parse::<f64>().is_ok();
            let has_blanks =
                first.contains(char::is_whitespace) && first.split_whitespace().all(is_number);
            has_blanks.then(|| {
                let rule = format!(
                    "{:?} has blanks between its numbers, and costs are a table of latencies with commas between them",
                    shown(first)
                );
                TextError::at(1, rule)
            })
        }
        Some(kind) => refused(kind.name()),
    }
}

/// Returns why a text is no problem of QAPLIB, if it is for certain of another kind.
pub(super) fn not_qaplib(text: &str) -> Option<TextError> {
    match FileKind::of(text)? {
        FileKind::Qaplib | FileKind::Matrix => None,
        kind => Some(TextError::at(1, format!("this is {}", kind.name()))),
    }
}
