//! The programs of `cellworks run` that use a pool of tasks, as a process.

use std::collections::BTreeMap;
use std::fs;

use crate::common::list;
use crate::common::program::{json, measured_here, printed, run};
use cellworks_sim::trace::read_slices;
use serde_json::Value;

/// The results with the given name: their values and parameters.
fn named<'v>(report: &'v Value, name: &str) -> Vec<(f64, &'v Value)> {
    let results = list(report, "results").iter();
    let named = results.filter(|result| result["name"] == name);
    named
        .map(|result| (result["value"].as_f64().unwrap(), &result["parameters"]))
        .collect()
}

#[test]
fn every_program_of_a_pool_runs_on_this_computer() {
    for arguments in [
        "lu --size 128 --buffering on,off",
        "barnes-hut --bodies 1k --steps 2",
        "mandelbrot --tasks 1,40 --iterations 20 --dicing on,off",
    ] {
        let table = measured_here(arguments);
        assert!(table.contains("run_time"), "{table}");
    }
}

#[test]
fn a_matrix_has_a_run_time_for_each_size_and_number_of_workers() {
    let report =
        json("lu --machine ps3 --size 64-128,1k --workers 1,6 --dicing off --buffering off");
    let times = named(&report, "run_time");
    let of: Vec<_> = times
        .iter()
        .map(|(_, of)| {
            (
                of["workers"].as_u64().unwrap(),
                of["size"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        of,
        [(1, 64), (6, 64), (1, 128), (6, 128), (1, 1_024), (6, 1_024)]
    );
    assert_eq!(list(&report, "results")[0]["unit"], "s");
    assert_eq!(times[0].1["dicing"], "off");
    // The largest matrix is not factored, so there is no result to compare with the matrix.
    assert_eq!(named(&report, "residual").len(), 4);
    assert_eq!(named(&report, "steps_simulated").len(), 2);
    let (speedup, of) = named(&report, "speedup")[5];
    assert_eq!(of["size"], 1_024);
    // As in the paper, the time stops falling, because the PPE makes the tasks.
    assert!((2.0..3.0).contains(&speedup), "{speedup}");
    let figures = list(&report, "figures");
    assert_eq!(figures[0]["x"]["label"], "number of workers");
    assert_eq!(figures[0]["y"]["unit"], "s");
}

#[test]
fn a_trace_has_the_tasks_of_each_spe() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lu.pftrace");
    // Without buffering a task takes longer than the PPE takes to make one, so two SPEs have tasks.
    let arguments = "lu --machine ps3 --size 64 --buffering off --workers 2 --trace";
    printed(&format!("{arguments} {}", path.display()));
    let slices = read_slices(&std::fs::read(path).unwrap()).unwrap();
    for (spe, has_tasks) in [("SPE 0/", true), ("SPE 1/", true), ("SPE 2/", false)] {
        let mut tasks = slices.iter().filter(|slice| slice.name == "update");
        let of_spe = tasks.any(|task| task.track.starts_with(spe));
        assert_eq!(of_spe, has_tasks, "{spe}");
    }
}

/// The bytes of the volumes and of the trace are those of the same run.
#[test]
fn a_trace_has_what_each_worker_stole_from_each_other_one() {
    let folder = tempfile::tempdir().unwrap();
    let [trace, graph] = ["trace.pftrace", "graph.txt"].map(|name| folder.path().join(name));
    printed(&format!(
        "lu --machine qs22 --size 96 --workers 4 --trace {} --volumes {}",
        trace.display(),
        graph.display()
    ));
    let mut shown = BTreeMap::new();
    for slice in read_slices(&fs::read(trace).unwrap()).unwrap() {
        let stolen = slice.name.strip_prefix("stole ");
        let Some((bytes, from)) = stolen.and_then(|rest| rest.split_once(" bytes from worker "))
        else {
            continue;
        };
        // Worker i is on SPE i.
        let by = slice.track.strip_prefix("SPE ").unwrap();
        let (by, _) = by.split_once('/').unwrap();
        let (times, sum) = shown.entry(format!("{from} {by} ")).or_insert((0, 0));
        *times += 1;
        *sum += bytes.parse::<u64>().unwrap();
    }
    let graph = fs::read_to_string(graph).unwrap();
    let counted = graph.lines().filter(|line| line.contains(" messages, "));
    assert_eq!(counted.clone().count(), shown.len(), "{shown:?}, {graph}");
    assert!(!shown.is_empty());
    for (edge, (times, bytes)) in shown {
        let line = counted
            .clone()
            .find(|line| line.starts_with(&edge))
            .unwrap();
        let expected = format!("# {times} messages, {bytes} bytes");
        assert!(line.ends_with(&expected), "{line}: {expected}");
    }
}

#[test]
fn the_same_seed_gives_the_same_times_of_a_pool() {
    for arguments in [
        "lu --machine ps3 --size 64 --workers 6",
        "barnes-hut --machine ps3 --bodies 2k --workers 6",
        "mandelbrot --machine ps3 --tasks 7 --iterations 20 --workers 6",
    ] {
        let once = printed(&format!("{arguments} --seed 5 --format csv"));
        let again = printed(&format!("{arguments} --seed 5 --format csv"));
        assert_eq!(once, again);
    }
}

#[test]
fn bad_input_of_a_pool_is_refused_with_what_to_do() {
    const LU: &str = "lu --size 256 --workers 1,2";
    const BARNES_HUT: &str = "barnes-hut --bodies 10k --workers 1,2";
    const MANDELBROT: &str = "mandelbrot --tasks 1,128 --workers 1,2";
    for (arguments, message, example) in [
        (
            "lu --workers 0",
            "--workers: 0 workers do nothing; use at least 1",
            LU,
        ),
        (
            "lu --workers 1-7",
            "--workers: each worker has an SPE, and ps3 has 6, not 7; use at most 6",
            LU,
        ),
        (
            "lu --size 5k",
            "--size: a matrix of 5120 rows takes too long, and too much memory; use at most 4096",
            LU,
        ),
        (
            "barnes-hut --bodies 2m",
            "--bodies: gravity of 2000000 bodies is not simulated; use 2 to 1000000",
            BARNES_HUT,
        ),
        (
            "mandelbrot --tasks 481",
            "--tasks: 481 tasks are more than the picture has rows; use at most 480",
            MANDELBROT,
        ),
        (
            "mandelbrot --scheduler mars --buffering off",
            "--dicing: mars does not split tasks; use --dicing off, or another scheduler",
            MANDELBROT,
        ),
    ] {
        let run = run(&format!("{arguments} --machine ps3"));
        let expected =
            format!("error: {message}\n  example: cellworks run {example} --machine ps3\n");
        assert_eq!((run.code, run.err), (Some(2), expected));
    }
    let wrong = run("lu --size large");
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.err.contains(
            "orders are whole numbers, with k for 1,024; a list has values and ranges with commas between, such as \
             512,1k-4k"
        ),
        "{}",
        wrong.err
    );
    let wrong = run("lu --dicing maybe");
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.err.contains("[possible values: on, off]"),
        "{}",
        wrong.err
    );
}

#[test]
fn programs_that_draw_write_a_file_for_each_picture() {
    let folder = tempfile::tempdir().unwrap();
    let frames = folder.path().join("new").join("frames");
    let files = |frames: &std::path::Path| {
        let mut files: Vec<_> = std::fs::read_dir(frames)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        files
    };
    let png = frames.to_str().unwrap();
    printed(&format!(
        "mandelbrot --machine ps3 --iterations 20 --frames 2 --quiet --png {png}"
    ));
    assert_eq!(files(&frames), ["0001.png", "0002.png"]);
    let drawn = std::fs::read(frames.join("0001.png")).unwrap();
    assert!(drawn.starts_with(b"\x89PNG"), "{drawn:?}");
    // The number of tasks does not change the picture. The file of the same name is replaced.
    printed(&format!(
        "mandelbrot --machine ps3 --iterations 20 --tasks 3 --workers 6 --quiet --png {png}"
    ));
    assert_eq!(std::fs::read(frames.join("0001.png")).unwrap(), drawn);
    printed(&format!(
        "barnes-hut --machine ps3 --bodies 1k --steps 3 --quiet --png {png}"
    ));
    assert_eq!(files(&frames), ["0001.png", "0002.png", "0003.png"]);
    assert_ne!(std::fs::read(frames.join("0001.png")).unwrap(), drawn);

    let run = run(&format!("mandelbrot --machine ps3 --tasks 1,2 --png {png}"));
    assert_eq!(
        (run.code, run.err.as_str()),
        (
            Some(2),
            format!(
                "error: --png with 2 runs: it is of one run; give each flag one value\n  example: \
                 cellworks run mandelbrot --tasks 1 --machine ps3 --png {png}\n"
            )
            .as_str()
        )
    );
    let run =
        crate::common::program::run(&format!("mandelbrot --machine ps3 --png {png}/0001.png"));
    let message = format!(
        "error: --png: the folder {png}/0001.png cannot be made: File exists (os error 17); name another one\n"
    );
    assert_eq!((run.code, run.err), (Some(2), message));
}
