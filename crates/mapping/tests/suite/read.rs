//! Reading files, and the error messages.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use cellworks_mapping::read::{self, HwlocLatencies, ReadError};
use cellworks_mapping::{Costs, Limit, Place, Problem, Search, Task, Volumes, write};
use tempfile::TempDir;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// Reads a file with the given text. Error messages are without the name of the folder.
fn of_text<T>(text: &str, read: impl Fn(&Path) -> Result<T, ReadError>) -> Result<T, String> {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("made-up");
    fs::write(&file, text).unwrap();
    let prefix = format!("{}/", folder.path().display());
    read(&file).map_err(|error| error.to_string().replace(&prefix, ""))
}

fn qaplib(text: &str) -> Result<Problem, String> {
    of_text(text, |file| read::qaplib(file))
}

fn edges(text: &str) -> Result<Volumes, String> {
    of_text(text, |file| read::edges(file))
}

fn latencies(text: &str) -> Result<Costs, String> {
    of_text(text, |file| read::latencies(file))
}

/// QAPLIB publishes this permutation as optimal for the problem, and its cost.
#[test]
fn a_published_permutation_has_its_published_cost() {
    let problem = read::qaplib(data("nug12.dat")).unwrap();
    let published = [12, 7, 9, 3, 4, 8, 11, 1, 5, 6, 10, 2];
    let placement = problem.placement(published.map(|place| place - 1)).unwrap();
    assert_eq!(problem.cost(&placement), 578.0);
}

#[test]
fn line_ends_of_a_qaplib_file_mean_nothing() {
    let problem = qaplib("2 0\n1 2 0 0\n\n10 20.5 0").unwrap();
    assert_eq!(
        problem.volumes(),
        &Volumes::from_edges(2, [(0, 1, 1.0), (1, 0, 2.0)]).unwrap()
    );
    assert_eq!(
        problem.costs(),
        &Costs::from_rows(&[vec![0.0, 10.0], vec![20.5, 0.0]]).unwrap()
    );
}

#[test]
fn a_wrong_qaplib_file_is_named_with_line_and_rule() {
    assert_eq!(
        qaplib("").unwrap_err(),
        "made-up, line 1: \"\" stands where the size of the problem has to be, 1 or more"
    );
    assert_eq!(
        qaplib("\n0").unwrap_err(),
        "made-up, line 2: \"0\" stands where the size of the problem has to be, 1 or more"
    );
    assert_eq!(
        qaplib("2\n0 1\nx 0\n0 1 1 0").unwrap_err(),
        "made-up, line 3: \"x\" stands where a number from 0 to 1e100 has to be"
    );
    assert_eq!(
        qaplib("2\n0 1 1 0\n0 -1 1 0").unwrap_err(),
        "made-up, line 3: \"-1\" stands where a number from 0 to 1e100 has to be"
    );
    assert_eq!(
        qaplib("2\n0 1 1 0\n0 1 1\n").unwrap_err(),
        "made-up, line 3: the file ends before row 2, column 2 of the second matrix: a problem of size 2 has two \
         matrices of 2 rows and 2 columns"
    );
    assert_eq!(
        qaplib("2\n0 1 1 0\n0 1 1 0\n7").unwrap_err(),
        "made-up, line 4: \"7\" follows the last element: a problem of size 2 has two matrices of 2 rows and 2 columns"
    );
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = read::qaplib("not/there.dat").unwrap_err();
    assert!(matches!(error, ReadError::File { .. }));
    assert!(
        error.to_string().starts_with("not/there.dat: No such file"),
        "{error}"
    );
}

#[test]
fn edges_add_up_and_need_no_volume() {
    let volumes = edges("# a graph\n0 2\n2,1, 4.5 # with a volume\n0 2 3\n\n").unwrap();
    let pairs: Vec<_> = volumes.pairs().collect();
    assert_eq!(volumes.tasks(), 3);
    assert_eq!(pairs, [(Task(0), Task(2), 4.0), (Task(2), Task(1), 4.5)]);
    assert_eq!(edges("tasks 5\n0 1").unwrap().tasks(), 5);
}

#[test]
fn a_wrong_graph_is_named_with_line_and_rule() {
    assert_eq!(
        edges("tasks 3\n0 1\n1 3 5").unwrap_err(),
        "made-up, line 3: task 3 is unknown: the first line says that there are 3, numbered from 0"
    );
    assert_eq!(
        edges("0 1 -5").unwrap_err(),
        "made-up, line 1: \"-5\" stands where a number from 0 to 1e100 has to be"
    );
    let rule = "is no edge: a line has a sending task, a receiving task and a volume, as in `0 1 4096`; only the \
                first may be `tasks N`";
    assert_eq!(
        edges("0 1\n0 one").unwrap_err(),
        format!("made-up, line 2: \"0 one\" {rule}")
    );
    assert_eq!(
        edges("0 1\ntasks 3").unwrap_err(),
        format!("made-up, line 2: \"tasks 3\" {rule}")
    );
    assert_eq!(
        edges("0 1 2 3").unwrap_err(),
        format!("made-up, line 1: \"0 1 2 3\" {rule}")
    );
    assert_eq!(
        edges("# nothing\n").unwrap_err(),
        "made-up: the problem has no tasks: give it one at least"
    );
}

#[test]
fn a_graph_of_metis_is_no_list_of_edges() {
    let refusal = |header: &str| {
        format!(
            "made-up, line {header} edges, whose lines list neighbours; write a line for each direction of an edge, as \
             in `0 1 4096` (if it is a list of edges, begin it with `tasks N`)"
        )
    };
    let format = "this is a graph in the format of METIS, with";
    assert_eq!(
        edges("4 4\n2 4\n1 3\n2 4\n1 3\n").unwrap_err(),
        refusal(&format!("1: {format} 4 vertices and 4"))
    );
    // A comment, weights of edges, and a vertex without an edge.
    assert_eq!(
        edges("% made up\n4 2 1\n2 7\n1 7 3 9\n2 9\n\n").unwrap_err(),
        refusal(&format!("2: {format} 4 vertices and 2"))
    );
    // Lists of edges that look like a header at first: the rows list no neighbours.
    assert_eq!(
        edges("tasks 5\n4 4\n2 4\n1 3\n2 4\n1 3\n").unwrap().tasks(),
        5
    );
    assert_eq!(edges("4 4\n0 1\n1 2\n2 3\n3 4\n").unwrap().tasks(), 5);
    assert_eq!(
        edges("4 3 1\n1 2 1\n2 3 1\n3 4 1\n1 4 1\n")
            .unwrap()
            .tasks(),
        5
    );
    assert_eq!(edges("1 2\n2 1\n").unwrap().tasks(), 3);
}

#[test]
fn the_cost_without_communication_is_0() {
    let costs = Costs::from_fn(3, |_, _| 1.0).unwrap();
    for text in ["tasks 3\n", "0 1 0\n1 2 -0\n0 2 0\n"] {
        let problem = Problem::builder(edges(text).unwrap(), costs.clone())
            .build()
            .unwrap();
        let placement = problem.placement([0, 1, 2]).unwrap();
        let solution =
            Search::new(Limit::Iterations(1)).run(&problem, |_| ControlFlow::Continue(()));
        for cost in [
            problem.cost(&placement),
            solution.cost,
            problem.average_cost(),
            problem.lower_bound(),
        ] {
            assert_eq!(cost.to_string(), "0", "{text:?}");
        }
    }
}

#[test]
fn task_numbers_that_no_computer_has_are_named() {
    for text in [
        "0 1\n0 18446744073709551615",
        "\n7 99999999999999999999999 1",
        "\ntasks 18446744073709551616",
    ] {
        assert_eq!(
            edges(text).unwrap_err(),
            "made-up, line 2: it makes 2^64 or more tasks, numbered from 0: use smaller numbers"
        );
    }
    assert_eq!(edges("0 18446744073709551614").unwrap().tasks(), usize::MAX);
}

#[test]
fn latencies_below_the_diagonal_count_for_both_directions() {
    let costs = read::latencies(data("apple-m1-pro.csv")).unwrap();
    assert_eq!(costs.places(), 8);
    assert_eq!(costs.between(Place(1), Place(0)), 52.66673416666668);
    assert_eq!(costs.between(Place(0), Place(1)), 52.66673416666668);
    assert_eq!(costs.between(Place(7), Place(7)), 0.0);
}

#[test]
fn a_full_matrix_of_latencies_has_two_directions() {
    let costs = latencies("5,1\n2,\n").unwrap();
    assert_eq!(
        costs,
        Costs::from_rows(&[vec![5.0, 1.0], vec![2.0, 0.0]]).unwrap()
    );
}

#[test]
fn wrong_latencies_are_named_with_line_and_rule() {
    assert_eq!(
        latencies("").unwrap_err(),
        "made-up, line 1: the file is empty; allowed: a line for each processor"
    );
    assert_eq!(
        latencies(",,\n1,,\n2,3\n").unwrap_err(),
        "made-up, line 3: the row has 2 columns; allowed: 3, because there are 3 rows (with nothing between commas \
         where a latency is missing)"
    );
    assert_eq!(
        latencies(",,\n1,,\n,3,\n").unwrap_err(),
        "made-up, line 1: column 3 is empty, and so is column 1 of line 3; allowed: a time in one of them"
    );
    assert_eq!(
        latencies(",\nfast,\n").unwrap_err(),
        "made-up, line 2: column 1 is \"fast\"; allowed: a finite time of 0 or more, in nanoseconds, or nothing"
    );
    // The half above the diagonal is the half below it, so the first line has the number, too.
    assert_eq!(
        latencies(",\n1.7e308,\n").unwrap_err(),
        "made-up, line 1: 1.7e308 stands where a number from 0 to 1e100 has to be"
    );
}

/// hwloc's XML of a computer with a pair of CPUs, and the given distances.
fn topology(distances: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n\
         <topology version=\"2.0\">\n<object type=\"Machine\" cpuset=\"0x00000003,0x0\">\n\
         <object type=\"Core\" os_index=\"0\" gp_index=\"11\" cpuset=\"0x00000002,,0x0\">\n\
         <object type=\"PU\" os_index=\"65\" gp_index=\"12\"/></object>\n\
         <object type=\"Core\" os_index=\"1\" gp_index=\"13\" cpuset=\"0x00000005\">\n\
         <object type=\"PU\" os_index=\"0\" gp_index=\"14\"/></object>\n</object>\n{distances}</topology>\n"
    )
}

fn hwloc(distances: &str) -> Result<HwlocLatencies, String> {
    of_text(&topology(distances), |file| read::hwloc(file))
}

#[test]
fn distances_of_hwloc_are_costs() {
    let costs = Costs::from_rows(&[vec![0.0, 36.0], vec![37.0, 0.0]]).unwrap();
    let values =
        "<u64values length=\"7\">0 36 37</u64values><u64values length=\"2\">0 </u64values>";
    let expected = |cpus: [usize; 2], cores: [usize; 2]| HwlocLatencies {
        costs: costs.clone(),
        cpus: cpus.to_vec(),
        cores: cores.map(Some).to_vec(),
        is_in_nanoseconds: false,
    };
    let bandwidths = "<distances2 type=\"PU\" nbobjs=\"2\" kind=\"10\" indexing=\"os\"/>";
    let by_number = format!(
        "{bandwidths}<distances2 type=\"PU\" nbobjs=\"2\" kind=\"6\" indexing=\"os\"><indexes length=\"5\">65 0 \
         </indexes>{values}</distances2>"
    );
    assert_eq!(hwloc(&by_number).unwrap(), expected([65, 0], [0, 1]));
    let of_cores = format!(
        "<distances2 type=\"Core\" nbobjs=\"2\" kind=\"5\" indexing=\"gp\"><indexes length=\"6\">13 11 \
         </indexes>{values}</distances2>"
    );
    assert_eq!(hwloc(&of_cores).unwrap(), expected([0, 65], [1, 0]));
}

#[test]
fn what_is_written_for_hwloc_is_read_back() {
    let costs = Costs::from_fn(3, |from, to| (10 * from.0 + to.0) as f64 / 8.0).unwrap();
    let text = write::hwloc(&costs, &[2, 40, 9]).unwrap();
    let read = of_text(&text, |file| read::hwloc(file)).unwrap();
    assert_eq!(read.cpus, [2, 9, 40]);
    assert_eq!(read.cores, [None; 3], "what is written has no cores");
    // The places are ordered by CPU. The file has picoseconds, and says so.
    assert!(read.is_in_nanoseconds);
    assert_eq!(read.costs.between(Place(1), Place(2)), 21.0 / 8.0);
    assert_eq!(read.costs.between(Place(2), Place(0)), 10.0 / 8.0);
}

#[test]
fn a_latency_that_hwloc_has_no_room_for_is_named() {
    let costs = |longest: f64| Costs::from_rows(&[vec![0.0, longest], vec![7.0, 0.0]]).unwrap();
    let error = write::hwloc(&costs(1e17), &[4, 9]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the latency from CPU 4 to CPU 9 is 1e17 ns, and a latency in hwloc's XML is below 2^64 ps, which is 1.8e16 \
         ns: lower it"
    );
    // 2^64 picoseconds are rounded to the same number of nanoseconds as 2^64 - 1.
    assert!(write::hwloc(&costs(2_f64.powi(64) / 1_000.0), &[4, 9]).is_err());
    let most = write::hwloc(&costs(1.8e16), &[4, 9]).unwrap();
    assert!(most.contains(" 18000000000000000000 "), "{most}");
}

#[test]
fn wrong_xml_is_named_with_line_and_rule() {
    let of = |text: &str| of_text(text, |file| read::hwloc(file)).unwrap_err();
    assert_eq!(
        of("<topology>\n<object>"),
        "made-up, line 2: it is no XML: the root node was opened but never closed"
    );
    assert_eq!(
        of("<!-- a -->\n<html/>"),
        "made-up, line 2: the XML of hwloc 2 has an element `topology` with version 2.0 outside, and this has \
         `html` with version \"\"; write it by `lstopo FILE.xml`"
    );
    assert_eq!(
        of("<topology version=\"1.0\"/>"),
        "made-up, line 1: the XML of hwloc 2 has an element `topology` with version 2.0 outside, and this has \
         `topology` with version \"1.0\"; write it by `lstopo FILE.xml`"
    );
    assert_eq!(
        hwloc("").unwrap_err(),
        "made-up, line 3: it has no `distances2` between PUs or Cores that are latencies (kind 4 and others)"
    );
    let distances = |indexes: &str, values: &str| {
        hwloc(&format!(
            "<distances2 type=\"PU\" kind=\"6\" indexing=\"os\">\n<indexes>{indexes}</indexes>\n\
             <u64values>{values}</u64values></distances2>"
        ))
        .unwrap_err()
    };
    let refused = "hwloc refuses such a file, so write it anew (`lstopo FILE.xml`)";
    assert_eq!(
        hwloc(
            "<distances2 type=\"PU\" nbobjs=\"3\" kind=\"6\" indexing=\"os\">\n<indexes>65 0</indexes>\n\
             <u64values>0 1 1 0</u64values></distances2>"
        )
        .unwrap_err(),
        format!("made-up, line 10: `nbobjs` is \"3\", and the indexes name 2 objects; {refused}")
    );
    assert_eq!(
        hwloc(
            "<distances2 type=\"PU\" nbobjs=\"2\" kind=\"6\" indexing=\"os\">\n<indexes>65 0</indexes>\n\
             <u64values length=\"8\">0 1 1 0</u64values></distances2>"
        )
        .unwrap_err(),
        format!("made-up, line 12: the `length` of `u64values` is \"8\", and its text has 7 bytes; {refused}")
    );
    assert_eq!(
        distances("65 1", "0 1 1 0"),
        "made-up, line 11: there is no object of type PU with os_index \"1\" and a CPU"
    );
    assert_eq!(
        distances("65 65", "0 1 1 0"),
        "made-up, line 11: PU 65 is named twice"
    );
    assert_eq!(
        distances("65 0", "0 1 1"),
        "made-up, line 10: the distances have 3 values, and 2 objects have 4: a row and a column for each"
    );
    assert_eq!(
        distances("65 0", "0 -1 1 0"),
        "made-up, line 12: \"-1\" stands where a number from 0 to 1e100 has to be"
    );
}
