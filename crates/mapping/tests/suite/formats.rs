//! Reading the files of other tools, and the kinds of files.

use std::fs;
use std::path::Path;
use std::process::Command;

use cellworks_mapping::read::{self, Counted, ReadError, Tasks, TextCosts};
use cellworks_mapping::{Costs, Place, Volumes, write};
use tempfile::TempDir;

/// Reads a file with the given name and text. Error messages are without the name of the folder.
fn of_file<T>(
    name: &str,
    text: &str,
    read: impl Fn(&Path) -> Result<T, ReadError>,
) -> Result<T, String> {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join(name);
    fs::write(&file, text).unwrap();
    let prefix = format!("{}/", folder.path().display());
    read(&file).map_err(|error| error.to_string().replace(&prefix, ""))
}

fn tasks(text: &str) -> Result<Tasks, String> {
    of_file("made-up", text, |file| read::volumes(file))
}

#[track_caller]
fn edges(text: &str) -> (usize, Vec<(usize, usize, f64)>) {
    pairs(&tasks(text).unwrap().volumes)
}

fn pairs(volumes: &Volumes) -> (usize, Vec<(usize, usize, f64)>) {
    let pairs = volumes.pairs();
    let pairs = pairs.map(|(from, to, volume)| (from.0, to.0, volume));
    (volumes.tasks(), pairs.collect())
}

fn costs(text: &str) -> Result<Costs, String> {
    match of_file("made-up", text, |file| read::costs(file))? {
        TextCosts::Target(costs) => Ok(costs),
        TextCosts::Latencies(costs, _) => panic!("{costs:?}"),
    }
}

/// Says what is left out, if a program is not installed.
fn is_installed(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output()
        .is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("left out: {program} is not installed");
    }
    found
}

/// Runs a program in a folder. Returns its output.
fn run(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .envs([
            ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {text}{error}");
    text
}

/// A path of three tasks, with 7 between the first two and 9 between the others.
fn path() -> (usize, Vec<(usize, usize, f64)>) {
    let pairs = vec![(0, 1, 7.0), (1, 0, 7.0), (1, 2, 9.0), (2, 1, 9.0)];
    (3, pairs)
}

#[test]
fn a_plain_matrix_has_the_volumes_of_each_task_in_a_row() {
    let matrix = [
        "0 7 0 0\n7 0 9 0\n0 9 0 0\n0 0 0 0\n",
        "0,7,0,0\n7,0,9,0\n0,9,0,0\n0,0,0,0\n",
        "0;7;0;0\r\n7;0;9;0\r\n0;9;0;0\r\n0;0;0;0\r\n",
        "\u{feff}0,7,0,0\r\n7,0,9,0\r\n0,9,0,0\r\n0,0,0,0\r\n",
        "0, 7, 0, 0,\n7, 0, 9, 0,\n0, 9, 0, 0,\n0, 0, 0, 0,\n",
        "# bytes\n4\n0 7 0 0\n7 0 9 0\n\n0 9 0 0\n0 0 0 0\n",
        ",0,1,2,3\n0,0,7,0,0\n1,7,0,9,0\n2,0,9,0,0\n3,0,0,0,0\n",
        "rank a b c d\na 0 7 0 0\nb 7e0 0 9 0\nc 0 9 0 0\nd 0 0 0 0\n",
    ];
    for text in matrix {
        assert_eq!(edges(text), (4, path().1), "{text}");
        assert_eq!(tasks(text).unwrap().notes, Vec::<String>::new());
    }
    let one_way = "0 1 2 3\n0 0 0 0\n0 0 0 5\n0 0 0 4\n";
    let pairs = vec![
        (0, 1, 1.0),
        (0, 2, 2.0),
        (0, 3, 3.0),
        (2, 3, 5.0),
        (3, 3, 4.0),
    ];
    assert_eq!(edges(one_way), (4, pairs));
}

#[test]
fn up_to_three_rows_are_a_matrix_if_the_diagonal_is_0() {
    let read = tasks("0 7 0\n7 0 9\n0 9 0\n").unwrap();
    assert_eq!(pairs(&read.volumes), path());
    assert_eq!(
        read.notes,
        ["it is read as a matrix of 3 tasks; if it is a list of edges, begin it with `tasks N`"]
    );
    let list = "tasks 10\n0 7 0\n7 0 9\n0 9 0\n";
    assert_eq!(edges(list), (10, vec![(7, 0, 9.0)]));
    assert_eq!(edges("0 1 7\n1 0 7\n1 2 9\n2 1 9\n"), path());
    let three = vec![(0, 1, 4.0), (1, 2, 4.0), (2, 3, 4.0)];
    assert_eq!(edges("0 1 4\n1 2 4\n2 3 4\n"), (4, three));
    assert_eq!(edges("0 5\n6 0\n"), (2, vec![(0, 1, 5.0), (1, 0, 6.0)]));
    assert_eq!(edges("0 1\n1 2\n").0, 3);
    // One number in the first line is a size and no edge. Two may be an edge.
    let sized = tasks("3\n0 1 1\n1 1 1\n1 1 1\n").unwrap();
    assert_eq!((sized.volumes.tasks(), sized.notes), (3, Vec::new()));
    let twice = tasks("3 3\n0 7 0\n7 0 9\n0 9 0\n").unwrap();
    assert_eq!((pairs(&twice.volumes), twice.notes.len()), (path(), 1));
    let four = tasks("4 4\n0 1 0 0\n1 0 0 0\n0 0 0 1\n0 0 1 0\n").unwrap();
    assert_eq!((four.volumes.tasks(), four.notes), (4, Vec::new()));
    assert_eq!(edges("3 3\n0 1 1\n1 1 1\n1 2 1\n").0, 4, "a list of edges");
}

#[test]
fn a_matrix_of_matrix_market_is_read_in_each_form() {
    let general = "%%MatrixMarket matrix coordinate real general\n% a comment\n3 3 4\n1 2 7\n2 1 7.0\n2 3 9\n3 2 9\n";
    let symmetric = "%%MatrixMarket MATRIX coordinate integer symmetric\n3 3 2\n2 1 7\n3 2 9\n";
    let array = "%%MatrixMarket matrix array real general\n3 3\n0\n7\n0\n7\n0\n9\n0\n9\n0\n";
    let half = "%%MatrixMarket matrix array integer symmetric\n3 3\n0\n7\n0\n0\n9\n0\n";
    for text in [general, symmetric, array, half] {
        assert_eq!(edges(text), path(), "{text}");
    }
    // Columns stand one after the other.
    let array = "%%MatrixMarket matrix array real general\n2 2\n0\n7\n1\n0\n";
    assert_eq!(edges(array), (2, vec![(0, 1, 1.0), (1, 0, 7.0)]));
    let pattern = "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n1 2\n";
    assert_eq!(edges(pattern), (3, vec![(0, 1, 2.0)]));
}

#[test]
fn a_wrong_matrix_is_named_with_line_and_rule() {
    let refused = |text: &str, message: &str| {
        assert_eq!(tasks(text).unwrap_err(), format!("made-up, line {message}"));
    };
    refused(
        "0 1 2 3\n1 0 2 3\n1 2 0 3\n",
        "1: the row has 4 numbers, and there are 3 rows: a matrix of volumes has as many columns as rows",
    );
    refused(
        "0,1,2,3\n1,0,2,3\n1,2,0,\n1,2,3,0\n",
        "3: column 4 is empty: write 0 if nothing is sent",
    );
    refused(
        "0 1 2 3\n1 0 2 3\n1 2 0 x\n1 2 3 0\n",
        "3: \"x\" stands where a number from 0 to 1e100 has to be",
    );
    refused(
        "0\n5 0\n1 2 0\n7 8 9 0\n",
        "1: this is half of a matrix: write both halves, so that row i has the volumes from task i to all tasks",
    );
    let long = "x".repeat(1000);
    refused(
        &format!("0 1 2 3\n1 0 2 3\n1 2 0 {long}\n1 2 3 0\n"),
        &format!(
            "3: \"{}...\" stands where a number from 0 to 1e100 has to be",
            &long[..40]
        ),
    );
    let market = |rest: &str| format!("%%MatrixMarket matrix {rest}");
    for (rest, message) in [
        (
            "coordinate real skew-symmetric\n2 2 1\n2 1 5\n",
            "1: it is \"skew-symmetric\", so that volumes would be below 0 or no numbers: volumes are `general` or \
             `symmetric`",
        ),
        (
            "coordinate complex general\n2 2 1\n2 1 5 0\n",
            "1: its elements are \"complex\", and volumes are `real` or `integer`, or `pattern` with coordinates for \
             volumes of 1",
        ),
        (
            "coordinate real general\n2 3 1\n2 1 5\n",
            "2: the matrix has 2 rows and 3 columns, and a matrix of volumes has as many columns as rows",
        ),
        (
            "coordinate real general\n2 2 2\n2 1 5\n",
            "3: the file ends before a row",
        ),
        (
            "coordinate real general\n2 2 1\n2 1 5\n1 2 5\n",
            "4: \"1\" stands after the last element of the matrix",
        ),
        (
            "coordinate real general\n2 2 1\n0 1 5\n",
            "3: 0 stands where a row has to be: the matrix has 2, numbered from 1",
        ),
        (
            "coordinate real general\n2 2 1\n2 1 -5\n",
            "3: \"-5\" stands where a number from 0 to 1e100 has to be",
        ),
        (
            "coordinate real symmetric\n2 2 1\n1 2 5\n",
            "3: the element is above the diagonal, and a symmetric matrix has those on and below it",
        ),
        (
            "vector real\n",
            "1: a file of Matrix Market begins as `%%MatrixMarket matrix coordinate real general` does, with `array` \
             for a matrix with all elements",
        ),
    ] {
        refused(&market(rest), message);
    }
}

/// Sizes that files claim take no memory.
#[test]
fn huge_claims_end_in_errors() {
    let huge = "18446744073709551614";
    for text in [
        format!("%%MatrixMarket matrix array real general\n{huge} {huge}\n1\n"),
        format!("%%MatrixMarket matrix array real symmetric\n{huge} {huge}\n1\n"),
        format!("%%MatrixMarket matrix coordinate real general\n{huge} {huge} {huge}\n1 2 3\n"),
        format!("0\n{huge} {huge}\n0 000\n1 1\n"),
        format!("0\n2 {huge}\n0 000\n{huge} 1\n"),
        format!("%\n{huge} {huge} 1\n2 1\n1 1\n"),
        format!("%\n{huge} {huge} 11 {huge}\n2 1\n1 1\n"),
        format!("{huge}\n0 1\n"),
    ] {
        let error = tasks(&text).unwrap_err();
        assert!(error.starts_with("made-up, line "), "{text}: {error}");
    }
    for text in [
        format!("cmplt {huge}"),
        format!("cmpltw {huge} 1 1"),
        format!("mesh2D {huge} {huge}"),
        format!("torus3D {huge} {huge} {huge}"),
        format!("meshXD {huge} 1 1"),
        format!("hcub {huge}"),
        "hcub 13".to_owned(),
        format!("deco 0 {huge} 1"),
        format!("tleaf 2 {huge} 1 {huge} 1"),
        format!("tleaf {huge} 1 1"),
    ] {
        let error = costs(&text).unwrap_err();
        assert!(error.starts_with("made-up"), "{text}: {error}");
    }
    let mapping = |file: &Path| read::scotch_mapping(file);
    let error = of_file("made-up", &format!("{huge}\n0 1\n"), mapping).unwrap_err();
    assert_eq!(
        error,
        "made-up, line 2: the file ends before the number of a task"
    );
    // A number of tasks without a limit is no claim on memory.
    let sparse =
        tasks("%%MatrixMarket matrix coordinate real general\n99999999999 99999999999 1\n1 2 3\n");
    assert_eq!(sparse.unwrap().volumes.tasks(), 99_999_999_999);
}

#[test]
fn a_graph_of_metis_is_read_in_each_form() {
    for text in [
        "3 2 1\n2 7\n1 7 3 9\n2 9\n",
        "% a comment\n3 2 001\n2 7\n% another\n1 7 3 9\n2 9\n",
    ] {
        let read = tasks(text).unwrap();
        assert_eq!((pairs(&read.volumes), read.first), (path(), 1), "{text}");
        assert_eq!(read.notes, Vec::<String>::new());
    }
    let weighted = tasks("3 2 111 2\n5 1 1 2 7\n5 1 1 1 7 3 9\n5 1 1 2 9\n").unwrap();
    assert_eq!(pairs(&weighted.volumes), path());
    let note = "the sizes and weights of its vertices are ignored, because a place takes any task";
    assert_eq!(weighted.notes, [note]);
    // A cycle, of which each line can be an edge.
    let cycle = tasks("4 4\n2 4\n1 3\n2 4\n1 3\n").unwrap();
    assert_eq!(cycle.volumes.pairs().len(), 8);
    assert_eq!(
        cycle.notes,
        ["it is read as a graph of METIS; if it is a list of edges, begin it with `tasks N`"]
    );
    assert_eq!(edges("tasks 5\n4 4\n2 4\n1 3\n2 4\n1 3\n").1.len(), 3);
    // The last vertex has no neighbour.
    assert_eq!(edges("4 3\n2 3\n1 3\n1 2\n\n").0, 4);
}

#[test]
fn a_wrong_graph_of_metis_is_named_with_line_and_rule() {
    let refused = |text: &str, message: &str| {
        let read = |file: &Path| read::volumes(file);
        let error = of_file("a.graph", text, read).unwrap_err();
        assert_eq!(error, format!("a.graph, line {message}"));
    };
    refused(
        "3 2 1\n2 7\n1 7 3 9\n2 8\n",
        "4: the edge from vertex 2 to vertex 3 is not in the line of the second one, or with another weight: an edge \
         stands in the lines of both of its vertices",
    );
    refused(
        "3 3\n2\n1 3\n2\n",
        "4: the lines list 4 neighbours, and line 1 says that there are 3 edges, each in the lines of both of its \
         vertices",
    );
    refused(
        "3 2\n2\n1 4\n2\n",
        "3: vertex 4 is unknown: line 1 says that there are 3, numbered from 1",
    );
    refused(
        "2 1\n2\n1\n1\n",
        "4: \"1\" stands after the line of the last vertex: line 1 says that there are 2",
    );
    refused("2 1 1\n2 7\n1\n", "3: neighbour 1 has no weight after it");
    refused(
        "2 1 10\n5 2\n\n",
        "2: the lines list 1 neighbours, and line 1 says that there are 1 edges, each in the lines of both of its \
         vertices",
    );
    refused(
        "two 1\n",
        "1: a graph of METIS begins with its numbers of vertices and of edges, and perhaps three digits that say what \
         has weights, as in `3 2 001`",
    );
}

#[test]
fn a_graph_of_scotch_is_read_in_each_form() {
    for (text, first) in [
        ("0\n3 4\n0 010\n1 7 1\n2 7 0 9 2\n1 9 1\n", 0),
        ("0\n3\t4\n1\t10\n1\t7 2\n2 7 1\n9 3 1 9 2\n", 1),
    ] {
        let read = tasks(text).unwrap();
        assert_eq!(
            (pairs(&read.volumes), read.first),
            (path(), first),
            "{text}"
        );
    }
    let weighted = tasks("0\n3 4\n0 011\n5 1 7 1\n5 2 7 0 9 2\n5 1 9 1\n").unwrap();
    assert_eq!(pairs(&weighted.volumes), path());
    assert_eq!(
        weighted.notes,
        ["the loads of its vertices are ignored, because a place takes any task"]
    );
}

#[test]
fn a_wrong_graph_of_scotch_is_named_with_line_and_rule() {
    let refused = |text: &str, message: &str| {
        assert_eq!(tasks(text).unwrap_err(), format!("made-up, line {message}"));
    };
    refused(
        "0\n2 2\n0 100\n7 1 8\n8 1 7\n",
        "3: its vertices have labels (the first of the three digits is 1): write it with numbers in the order of the \
         lines, and 0 as this digit",
    );
    refused(
        "0\n2 2\n0 000\n1 1\n1 2\n",
        "5: vertex 2 is unknown: the first lines say that there are 2, numbered from 0",
    );
    refused(
        "0\n2 2\n0 000\n1 1\n",
        "4: the file ends before the number of neighbours of a vertex",
    );
    refused(
        "0\n2 2\n0 000\n1 1\n1 0\n1\n",
        "6: \"1\" stands after the neighbours of the last vertex",
    );
    refused(
        "0\n2 2\n0 000\n1 1\n2 0 0\n",
        "5: the vertices up to this one have more neighbours than the 2 that line 2 says",
    );
    refused(
        "0\n2 4\n0 000\n1 1\n1 0\n",
        "5: the vertices have 2 neighbours, and line 2 says 4",
    );
    refused(
        "0\n2 2\n0 010\n1 5 1\n1 6 0\n",
        "5: the edge from vertex 0 to vertex 1 is not in the line of the second one, or with another weight: an edge \
         stands in the lines of both of its vertices",
    );
}

#[test]
fn a_file_of_another_kind_is_named() {
    let tasks_of = |text: &str, what: &str| {
        assert_eq!(
            tasks(text).unwrap_err(),
            format!("made-up, line 1: this is {what}")
        );
    };
    let costs_of = |text: &str, what: &str| {
        let error = of_file("made-up", text, |file| read::costs(file)).unwrap_err();
        assert_eq!(error, format!("made-up, line 1: {what}"));
    };
    let qaplib = "a problem of QAPLIB, which has volumes and costs: name it without --costs";
    let qaplib_text = "2\n0 1\n1 0\n\n0 5\n5 0\n";
    tasks_of(qaplib_text, qaplib);
    costs_of(qaplib_text, &format!("this is {qaplib}"));
    let target = "a target of Scotch, which has costs: name it with --costs";
    let as_qaplib = |text: &str| of_file("made-up", text, |file| read::qaplib(file)).unwrap_err();
    assert_eq!(
        as_qaplib("mesh2D 4 4\n"),
        format!("made-up, line 1: this is {target}")
    );
    assert_eq!(
        as_qaplib(&"0.5,".repeat(100)),
        "made-up, line 1: \"0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5,...\" stands where the size of the problem has to \
         be, 1 or more"
    );
    tasks_of("tleaf 2 2 10 2 1\n", target);
    tasks_of("mesh2D 4 4\n", target);
    let mapping = "a mapping of Scotch, which is a placement: name it in `map explain`";
    tasks_of("3\n0\t1\n1\t0\n2\t2\n", mapping);
    costs_of("3\n0\t1\n1\t0\n2\t2\n", &format!("this is {mapping}"));
    tasks_of(
        "{\"schema\": 1}",
        "JSON, which has no volumes: name what `stats --matrix` printed with --costs, and what `map solve` printed in \
         `map explain`",
    );
    tasks_of(
        "<topology/>",
        "XML: name that of hwloc with --costs, with a name that ends in .xml",
    );
    let graph = "which has volumes: name it as the file with the tasks";
    costs_of(
        "0\n3 4\n0 010\n1 7 1\n2 7 0 9 2\n1 9 1\n",
        &format!("this is a graph of Scotch, {graph}"),
    );
    costs_of(
        "3 2 1\n2 7\n1 7 3 9\n2 9\n",
        &format!("this is a graph of METIS, {graph}"),
    );
    costs_of(
        "%%MatrixMarket matrix\n",
        &format!("this is a matrix of Matrix Market, {graph}"),
    );
    costs_of(
        "{}",
        "this is JSON: give the file a name that ends in .json",
    );
    costs_of(
        &"0.25 ".repeat(20),
        "\"0.25 0.25 0.25 0.25 0.25 0.25 0.25 0.25 ...\" has blanks between its numbers, and costs are a table of \
         latencies with commas between them",
    );
    assert!(matches!(
        of_file("made-up", "0,1\n1,0\n", |file| read::costs(file)),
        Ok(TextCosts::Latencies(_, None))
    ));
}

#[test]
fn targets_of_scotch_are_costs() {
    let row = |text: &str| {
        let costs = costs(text).unwrap();
        let places = (0..costs.places()).map(Place);
        places
            .map(|to| costs.between(Place(0), to))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        row("tleaf 2 2 10\n3 1\n"),
        [0.0, 1.0, 1.0, 11.0, 11.0, 11.0]
    );
    assert_eq!(row("cmplt 3"), [0.0, 1.0, 1.0]);
    assert_eq!(row("cmpltw 3 2 2 2"), [0.0, 1.0, 1.0]);
    assert_eq!(row("mesh2D 3 2"), [0.0, 1.0, 2.0, 1.0, 2.0, 3.0]);
    assert_eq!(row("torus2d 3 2"), [0.0, 1.0, 1.0, 1.0, 2.0, 2.0]);
    assert_eq!(row("mesh3D 1 3 2"), [0.0, 1.0, 2.0, 1.0, 2.0, 3.0]);
    assert_eq!(row("torusXD 1 5"), [0.0, 1.0, 2.0, 2.0, 1.0]);
    assert_eq!(row("hcub 2"), [0.0, 1.0, 1.0, 2.0]);
    let deco = "deco\n0\n3 5\n0 1 4\n1 1 5\n2 1 3\n\n1\n2 4\n";
    assert_eq!(row(deco), [0.0, 1.0, 2.0]);
    assert_eq!(costs(deco).unwrap().between(Place(1), Place(2)), 4.0);
}

#[test]
fn a_target_that_costs_cannot_be_is_named() {
    let refused = |text: &str, message: &str| {
        let error = costs(text).unwrap_err();
        assert_eq!(error, format!("made-up, line 1: {message}"));
    };
    refused(
        "cmpltw 2 1 5",
        "its places have different loads, and a place takes any task: make them equal, or write `cmplt` and their \
         number",
    );
    let read = "`tleaf`, `cmplt`, `mesh2D`, `torus3D`, `hcub` and `deco 0` can be read";
    refused(
        "ltleaf 2 2 10 3 1 6 0 2 4 1 3 5",
        &format!(
            "costs between places cannot be those of a target `ltleaf` of Scotch: it numbers its places in an order \
             of its own; {read}"
        ),
    );
    refused(
        "vhcub",
        &format!(
            "costs between places cannot be those of a target `vhcub` of Scotch: its number of places is open; {read}"
        ),
    );
    refused(
        "deco 1 3",
        "of the targets `deco` of Scotch, only `deco 0` has the costs between its places, and this is \"1\": write one \
         by amk_grf or amk_m2",
    );
    refused("mesh2D 4", "the file ends before the size of a dimension");
    refused(
        "mesh2D 4 4 4",
        "\"4\" stands after the last size of the target",
    );
    refused(
        "mesh2D 4 0",
        "the target has no places: give it one at least",
    );
    refused(
        "mesh2D 64 65",
        "the target has more than 4096 places, and its costs take memory for each pair of them: use a smaller one, or \
         `tleaf`",
    );
}

#[test]
fn a_mapping_of_scotch_is_read_back() {
    let mapping = |text: &str| of_file("made-up", text, |file| read::scotch_mapping(file));
    for first in [0, 1] {
        let text = write::scotch_mapping(&[2, 0, 5], first);
        assert_eq!(mapping(&text), Ok(vec![2, 0, 5]));
    }
    assert_eq!(mapping("2\n1 7\n0 3\n"), Ok(vec![3, 7]), "in any order");
    let refused = |text: &str, message: &str| {
        assert_eq!(
            mapping(text).unwrap_err(),
            format!("made-up, line {message}")
        );
    };
    refused("2\n0 7\n1 -1\n", "3: task 1 has no place (-1)");
    refused("2\n0 7\n0 1\n", "2: task 0 is named twice");
    refused(
        "2\n0 7\n2 1\n",
        "3: task 1 is missing: each of 2 tasks has a line",
    );
    refused(
        "2\n5 7\n6 1\n",
        "2: the first task is 5: tasks are numbered from 0 or from 1",
    );
    refused(
        "2\n0 7\n1 1\n2 2\n",
        "4: \"2\" stands after the place of the last task",
    );
    refused("0\n", "1: it is a mapping of no tasks");
    refused(
        "x\n",
        "1: \"x\" stands where the number of tasks of a mapping of Scotch has to be",
    );
}

/// What Scotch writes is read, and Scotch reads what is written. Distances are those that its
/// program `atst` finds. (In Scotch 7.0.3 those of `gmtst` are others, also between places of a
/// mesh.)
#[test]
fn scotch_and_this_crate_read_each_others_files() {
    let programs = ["gmk_m2", "amk_m2", "atst", "scotch_gmap", "gmtst"];
    if !programs.into_iter().all(is_installed) {
        return;
    }
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    run(folder.path(), "gmk_m2", &["4", "3", "mesh.grf"]);
    run(folder.path(), "amk_m2", &["4", "3", "deco.tgt"]);
    let volumes = read::volumes(at("mesh.grf")).unwrap().volumes;
    assert_eq!((volumes.tasks(), volumes.pairs().len()), (12, 34));
    for (name, target) in [
        ("deco.tgt", None),
        ("mesh.tgt", Some("mesh2D 4 3")),
        ("torus.tgt", Some("torus3D 2 3 2")),
        ("cube.tgt", Some("hcub 4")),
        ("complete.tgt", Some("cmplt 12")),
        ("tree.tgt", Some("tleaf 3 2 10 3 5 2 1")),
    ] {
        if let Some(target) = target {
            fs::write(at(name), target).unwrap();
        }
        let costs = match read::costs(at(name)).unwrap() {
            TextCosts::Target(costs) => costs,
            TextCosts::Latencies(costs, _) => panic!("{costs:?}"),
        };
        let places = costs.places();
        let pairs = || (0..places).flat_map(|to| (0..to).map(move |from| (from, to)));
        let distances = pairs().map(|(from, to)| costs.between(Place(from), Place(to)));
        let average = distances.clone().sum::<f64>() / pairs().count() as f64;
        let most = distances.fold(0.0, f64::max);
        let says = run(folder.path(), "atst", &[name]);
        let said = |key: &str| -> f64 {
            let (_, rest) = says.split_once(key).unwrap();
            rest.split_whitespace().next().unwrap().parse().unwrap()
        };
        assert_eq!(said("max="), most, "{name}: {says}");
        assert!(
            (said("avg=") / average - 1.0).abs() < 1e-4,
            "{name}: {says}"
        );

        run(
            folder.path(),
            "scotch_gmap",
            &["mesh.grf", name, "scotch.map"],
        );
        let theirs = read::scotch_mapping(at("scotch.map")).unwrap();
        assert_eq!(theirs.len(), 12);
        assert!(theirs.iter().all(|place| *place < places), "{theirs:?}");
        let ours: Vec<usize> = (0..12).map(|task| task * 5 % 12).collect();
        fs::write(at("ours.map"), write::scotch_mapping(&ours, 0)).unwrap();
        let says = run(folder.path(), "gmtst", &["mesh.grf", name, "ours.map"]);
        assert!(says.contains(&format!("Processors 12/{places} ")), "{says}");
    }
}

#[test]
fn metis_accepts_the_graphs_that_are_read() {
    if !is_installed("graphchk") {
        return;
    }
    let folder = TempDir::new().unwrap();
    for text in [
        "3 2 001\n2 7\n1 7 3 9\n2 9\n",
        "3 2 111 2\n5 1 1 2 7\n5 1 1 1 7 3 9\n5 1 1 2 9\n",
    ] {
        assert_eq!(edges(text), path());
        fs::write(folder.path().join("a.graph"), text).unwrap();
        let says = run(folder.path(), "graphchk", &["a.graph"]);
        assert!(says.contains("is correct"), "{says}");
    }
}

/// The file of a rank, with the given lines under each heading.
fn of_rank(messages: &str, puts: &str, collectives: &str, ranks: &str) -> String {
    let sums = "O2A\t0\t0 bytes\t0 msgs sent\nA2O\t0\t0 bytes\t0 msgs sent\nA2A\t0\t0 bytes\t0 msgs sent\n";
    format!(
        "# POINT TO POINT\n{messages}# OSC\n{puts}# COLLECTIVES\n{collectives}D\tMPI_COMM_WORLD\tprocs: \
         {ranks}\n{sums}D\tMPI_COMM_SELF\tprocs: 0\n{sums}"
    )
}

/// Three ranks with messages, a broadcast, a put of rank 1 to rank 0, and a get of rank 0 from it.
fn three(inside: &str) -> [(String, String); 3] {
    let zeros = "0,0,1";
    let texts = [
        of_rank(
            &format!(
                "E\t0\t1\t6000 bytes\t3 msgs sent\t{zeros}\n{inside}\t0\t2\t40 bytes\t1 msgs sent\t{zeros}\n"
            ),
            "S\t0\t1\t0 bytes\t1 msgs sent\nR\t0\t1\t900 bytes\t1 msgs sent\n",
            "C\t0\t1\t40 bytes\t1 msgs sent\nC\t0\t2\t40 bytes\t1 msgs sent\n",
            "0,1,2",
        ),
        of_rank("", "S\t1\t0\t700 bytes\t1 msgs sent\n", "", "0,1,2"),
        of_rank(
            &format!("{inside}\t2\t1\t40 bytes\t1 msgs sent\t{zeros}\n"),
            "",
            "",
            "0,1,2",
        ),
    ];
    let mut rank = 0;
    texts.map(|text| {
        rank += 1;
        (format!("app.{}.prof", rank - 1), text)
    })
}

/// Reads the files of ranks in a folder, of which the name is left out of messages.
fn monitored(files: &[(String, String)], name: &str, counted: Counted) -> Result<Tasks, String> {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let prefix = format!("{}/", folder.path().display());
    let name = match name {
        "" => folder.path().to_path_buf(),
        name => folder.path().join(name),
    };
    let read = read::monitored(&name, counted);
    if counted == Counted::Crossed {
        let recognised = read::volumes(&name);
        match (&read, &recognised) {
            (Ok(read), Ok(recognised)) => assert_eq!(read, recognised),
            (Err(read), Err(recognised)) if files.len() > 1 => {
                assert_eq!(read.to_string(), recognised.to_string());
            }
            _ => assert!(recognised.is_err(), "{recognised:?}"),
        }
    }
    read.map_err(|error| error.to_string().replace(&prefix, ""))
}

#[test]
fn what_crossed_is_read_from_the_files_of_all_ranks() {
    let files = three("I");
    let crossed = vec![(0, 1, 6000.0), (0, 2, 40.0), (1, 0, 1600.0), (2, 1, 40.0)];
    for name in ["app", "app.*.prof", "app.0.prof", "app.2.prof", ""] {
        let read = monitored(&files, name, Counted::Crossed).unwrap();
        assert_eq!(pairs(&read.volumes), (3, crossed.clone()), "{name}");
        assert_eq!(read.notes, Vec::<String>::new());
    }
    // The program has the same name.
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("app"), b"\x7fELF\xff").unwrap();
    for (name, text) in &files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let read = read::volumes(folder.path().join("app")).unwrap();
    assert_eq!(pairs(&read.volumes), (3, crossed));
    let meant = vec![(0, 1, 6040.0), (0, 2, 40.0), (1, 0, 1600.0)];
    let read = monitored(&files, "app", Counted::Meant).unwrap();
    assert_eq!(pairs(&read.volumes), (3, meant));
}

#[test]
fn files_of_enable_1_are_said() {
    let files = three("E");
    let read = monitored(&files, "app", Counted::Crossed).unwrap();
    assert_eq!(pairs(&read.volumes).1.len(), 4);
    assert_eq!(
        read.notes,
        [
            "no message is marked as one inside of a collective, as with `pml_monitoring_enable 1`: all messages count \
          alike"
        ]
    );
    assert_eq!(
        monitored(&files, "app", Counted::Meant).unwrap_err(),
        "app: no message is marked as one inside of a collective, as with `pml_monitoring_enable 1`, so what the \
         program meant cannot be told from it: measure with `pml_monitoring_enable 2`"
    );
}

#[test]
fn files_that_are_no_whole_run_are_named() {
    let refused = |files: &[(String, String)], name: &str, message: &str| {
        let error = monitored(files, name, Counted::Crossed).unwrap_err();
        assert_eq!(error, message);
    };
    let all = three("I");
    refused(
        &all[..2],
        "app",
        "app: the file of rank 2 is missing: the 2 files name ranks up to 2, and each rank writes one",
    );
    refused(
        &all[1..],
        "app.1.prof",
        "app.1.prof: the file of rank 0 is missing: the 2 files name ranks up to 2, and each rank writes one",
    );
    let with = |name: &str, text: &str| {
        let mut files = all.to_vec();
        files.retain(|(kept, _)| kept != name);
        files.push((name.to_owned(), text.to_owned()));
        files
    };
    refused(
        &with("app.01.prof", &all[1].1),
        "app",
        "app: rank 1 has two files, app.01.prof and app.1.prof: remove the one of the old run",
    );
    let old = of_rank("", "", "", "0,1,2,3");
    refused(
        &with("app.3.prof", &old),
        "app",
        "app.3.prof: it has 4 ranks in MPI_COMM_WORLD, and app.0.prof has 3: they are of different runs; remove the \
         files of the old one",
    );
    let several = monitored(&with("other.0.prof", &old), "", Counted::Crossed).unwrap_err();
    assert!(
        several.contains("it has files of several runs, "),
        "{several}"
    );
    assert_eq!(
        pairs(
            &monitored(&with("other.0.prof", &old), "app", Counted::Crossed)
                .unwrap()
                .volumes
        )
        .0,
        3
    );
    refused(
        &with("app.1.prof", &all[2].1),
        "app",
        "app.1.prof, line 2: it has what rank 2 sent, and by its name the file is that of rank 1",
    );
    // Each place at which a file can be cut off.
    let whole = &all[0].1;
    for end in (1..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
        let files = with("app.0.prof", &whole[..end]);
        let error = monitored(&files, "app", Counted::Meant);
        let is_whole = whole[end..].starts_with("D\tMPI_COMM_SELF");
        assert_eq!(error.is_ok(), is_whole, "{:?}", &whole[..end]);
    }
    let end = whole.len() - 1;
    refused(
        &with("app.0.prof", &whole[..end]),
        "app",
        "app.0.prof, line 17: the file is cut off here: a rank that ends before MPI_Finalize writes no whole file, and \
         a full disk holds none; run the program again",
    );
    let odd = whole.replace("E\t0\t1\t6000 bytes", "E\t0\t1\t-6000 bytes");
    refused(
        &with("app.0.prof", &odd),
        "app",
        "app.0.prof, line 2: \"E\\t0\\t1\\t-6000 bytes\\t3 msgs sent\\t0,0,1\" is no line of Open MPI's monitoring, such \
         as `E 0 1 4096 bytes 1 msgs sent` with tabs between",
    );
    let none: &[(String, String)] = &[];
    refused(
        none,
        "app",
        "app: there is no file of a rank of Open MPI's monitoring, such as NAME.0.prof",
    );
    let far = whole.replace("E\t0\t1\t", "E\t0\t18446744073709551615\t");
    refused(
        &with("app.0.prof", &far),
        "app",
        "app: the file of rank 3 is missing: the 3 files name ranks up to 18446744073709551614, and each rank writes \
         one",
    );
}

const MPI_PROGRAM: &str = r#"
#include <mpi.h>
static char bytes[100000];
int main(int count, char **arguments) {
    int rank;
    MPI_Win window;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (count > 1) {
        MPI_Win_create(bytes, sizeof bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
        MPI_Win_fence(0, window);
        if (rank == 1) MPI_Put(bytes, 70000, MPI_CHAR, 0, 0, 70000, MPI_CHAR, window);
        if (rank == 0) MPI_Get(bytes, 90000, MPI_CHAR, 2, 0, 90000, MPI_CHAR, window);
        MPI_Win_fence(0, window);
        MPI_Win_free(&window);
    } else {
        for (int i = 1; i < 4; i++) {
            if (rank == 0) MPI_Send(bytes, 1000 * i, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
            if (rank == 1) MPI_Recv(bytes, 1000 * i, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Bcast(bytes, 4096, MPI_CHAR, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
"#;

/// The messages of a program of three ranks, as Open MPI counts them here.
#[test]
fn what_open_mpi_counts_is_read() {
    if !["mpirun", "mpicc"].into_iter().all(is_installed) {
        return;
    }
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("program.c"), MPI_PROGRAM).unwrap();
    run(folder.path(), "mpicc", &["program.c", "-o", "program"]);
    let measure = |enable: &str, name: &str, arguments: &[&str]| {
        let flags = [
            "-n",
            "3",
            "--oversubscribe",
            "--mca",
            "pml_monitoring_enable",
            enable,
            "--mca",
            "pml_monitoring_enable_output",
            "3",
            "--mca",
            "pml_monitoring_filename",
            name,
            "./program",
        ];
        run(folder.path(), "mpirun", &[&flags, arguments].concat());
        folder.path().join(name)
    };
    let sum = |volumes: &Volumes, to: usize| -> f64 {
        let pairs = volumes.pairs().filter(|pair| pair.1.0 == to);
        pairs.map(|pair| pair.2).sum()
    };
    let name = measure("2", "two", &[]);
    let crossed = read::volumes(&name).unwrap();
    if crossed.volumes.pairs().len() == 0 {
        eprintln!("left out: this Open MPI does not count messages");
        return;
    }
    // Ranks 1 and 2 get 4096 bytes by the broadcast, from whatever rank.
    assert_eq!(crossed.notes, Vec::<String>::new());
    assert_eq!(
        [1, 2].map(|to| sum(&crossed.volumes, to)),
        [6000.0 + 4096.0, 4096.0]
    );
    let meant = read::monitored(&name, Counted::Meant).unwrap();
    let expected = vec![(0, 1, 6000.0 + 4096.0), (0, 2, 4096.0)];
    assert_eq!(pairs(&meant.volumes), (3, expected));

    let name = measure("1", "one", &[]);
    let mixed = read::volumes(&name).unwrap();
    assert_eq!(mixed.volumes, crossed.volumes);
    assert!(
        mixed.notes[0].contains("pml_monitoring_enable 1"),
        "{mixed:?}"
    );
    assert!(read::monitored(&name, Counted::Meant).is_err());

    // Rank 1 puts, and rank 0 gets from rank 2. To set up the window takes messages, too.
    let volumes = read::volumes(measure("2", "puts", &["puts"]))
        .unwrap()
        .volumes;
    let (_, pairs) = pairs(&volumes);
    let between = |from: usize, to: usize| {
        let pair = pairs.iter().find(|pair| (pair.0, pair.1) == (from, to));
        pair.map_or(0.0, |pair| pair.2)
    };
    assert!((70_000.0..90_000.0).contains(&between(1, 0)), "{pairs:?}");
    assert!((90_000.0..110_000.0).contains(&between(2, 0)), "{pairs:?}");
    assert!(between(0, 2) < 20_000.0, "{pairs:?}");

    fs::remove_file(folder.path().join("two.1.prof")).unwrap();
    let missing = read::volumes(folder.path().join("two"))
        .unwrap_err()
        .to_string();
    assert!(
        missing.contains("the file of rank 1 is missing"),
        "{missing}"
    );
}

#[test]
fn a_matrix_of_two_tasks_may_have_its_size_and_commas_in_comments() {
    let read = |text: &str| {
        let folder = TempDir::new().unwrap();
        let file = folder.path().join("volumes.txt");
        fs::write(&file, text).unwrap();
        let tasks = read::volumes(&file).unwrap();
        tasks
            .volumes
            .pairs()
            .map(|(from, to, volume)| (from.0, to.0, volume))
            .collect::<Vec<_>>()
    };
    assert_eq!(read("2\n0 5\n6 0\n"), [(0, 1, 5.0), (1, 0, 6.0)]);
    let rows = "# volumes, in bytes\n0 1 0 0\n0 0 2 0\n0 0 0 3\n4 0 0 0\n";
    assert_eq!(
        read(rows),
        [(0, 1, 1.0), (1, 2, 2.0), (2, 3, 3.0), (3, 0, 4.0)]
    );
}
