//! `cellworks stats --machine`: simulated machines as a process.
//!
//! The numbers of iterations are small, because tests are built without optimization. These tests
//! do not assert the time of an operation on a Cell.

use std::fs;
use std::path::Path;

use crate::common::{Run, cellworks, list, stats, stats_command};
use cellworks_sim::trace::{Slice, read_slices};
use serde_json::Value;

/// Runs `cellworks stats --machine qs20` with the given arguments.
fn qs20(arguments: &str) -> Run {
    stats(&format!("--machine qs20 {arguments}"))
}

/// The output of a run that measured without a message.
#[track_caller]
fn measured(run: &Run) -> &str {
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{}", run.out);
    &run.out
}

/// The JSON of a run that measured without a message.
#[track_caller]
fn json(arguments: &str) -> Value {
    let run = qs20(&format!("{arguments} --format json"));
    measured(&run);
    run.report()
}

#[track_caller]
fn only_measurement(report: &Value) -> &Value {
    let [measurement] = list(report, "measurements") else {
        panic!("{report}");
    };
    measurement
}

/// One of the paper's example command lines (section 3.1), with a number of iterations in `-i`.
#[track_caller]
fn example(line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let value = |flag: &str| {
        let at = words.iter().position(|word| *word == flag)?;
        Some(words[at + 1].parse::<u64>().unwrap())
    };
    // In some examples several SPEs put to one buffer, which is a hazard.
    let report = json(&format!("{line} --hazards off"));
    let measurement = only_measurement(&report);
    assert_eq!(
        measurement["function"],
        words[1].replace("dmaout", "dmaput")
    );
    assert_eq!(measurement["iterations"].as_u64(), value("-i"), "{line}");
    assert_eq!(measurement["rounds"], 1);
    let parameters = &measurement["parameters"];
    assert_eq!(parameters["spes"].as_u64(), value("-n").or(value("-N")));
    assert_eq!(parameters["cell"].as_u64(), Some(value("-c").unwrap_or(0)));
    if !words.contains(&"-s") {
        assert_eq!(parameters["module"].as_u64(), value("-m"), "{line}");
    }
    assert!(measurement["latency_ns"]["mean"].as_f64().unwrap() > 0.0);
}

#[test]
fn the_papers_examples_of_threads_mailboxes_and_signals() {
    example("-f mkthread -n 1 -i 5");
    for function in ["mailbox", "signal"] {
        example(&format!("-f {function} -n 1 -i 20 -c 0"));
        example(&format!("-f {function} -n 1 -i 20 -c 1"));
        example(&format!("-f {function} -n 2 -i 20 -c 0 -s"));
        example(&format!("-f {function} -n 2 -i 20 -c 1 -s"));
    }
}

#[test]
fn the_papers_examples_of_dma_and_atomic_operations() {
    example("-f dmaget -n 3 -i 20 -b 1k -c 0 -m 0");
    example("-f dmaout -n 6 -i 20 -b 1k -c 0 -m 1");
    example("-f dmaget -N 3 -b 1k -i 20 -t 2k -c 1 -m 0");
    example("-f dmaout -N 6 -b 1k -i 20 -t 2k -c 1 -m 1");
    example("-f dmaget -N 6 -b 32 -t 128 -i 20 -c 1 -m 1 -s");
    example("-f dmalistget -n 6 -l 16 -b 64 -i 20 -c 1 -m 1");
    example("-f fetchadd -n 3 -i 20 -c 0 -m 0");
    example("-f fetchsub -n 6 -i 20 -c 0 -m 1");
    example("-f fetchinc -N 3 -t 2k -i 20 -c 1 -m 0 -b 128");
    example("-f fetchset -N 6 -t 2k -i 20 -c 1 -m 1 -b 128");
}

#[test]
fn every_function_becomes_steady() {
    for function in [
        "mkthread",
        "mailbox",
        "signal",
        "dmaget",
        "dmaput",
        "dmalistget",
        "dmalistput",
        "fetchadd",
        "fetchsub",
        "fetchinc",
        "fetchdec",
        "fetchset",
        "wakeup",
        "copy",
    ] {
        let report = json(&format!("-f {function} --hazards off"));
        let measurement = only_measurement(&report);
        let rounds = measurement["rounds"].as_u64().unwrap();
        assert!((2..=8).contains(&rounds), "{function}: {rounds} rounds");
        assert!(measurement["iterations"].as_u64().unwrap() <= 8 * 128);
        let interval = &measurement["median_interval_ns"];
        assert!(interval["low"].as_f64() <= interval["high"].as_f64());
    }
    let report = json("-f chase -b 16k -k 2 --hazards off");
    assert_eq!(only_measurement(&report)["parameters"]["chains"], 2);
}

#[test]
fn results_name_nothing_that_the_machine_does_not_have() {
    let results = |arguments: &str| {
        let report = json(arguments);
        let results = list(&report, "results").iter();
        let names = results.map(|result| result["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    // SPEs never sleep, so none is woken. There are no caches, so every table is in memory.
    assert_eq!(results("-f wakeup"), ["word_one_way_ns"]);
    assert_eq!(
        results("-f chase -b 16k --hazards off"),
        ["memory_latency_ns"]
    );
    let run = qs20("-f wakeup");
    let table = measured(&run);
    let title = "\nwakeup: a word to an SPE that has waited, one way\n";
    assert!(table.contains(title), "{table}");
    assert!(!table.contains("sleeps"), "{table}");
}

#[test]
fn a_report_has_the_simulated_machine() {
    let report = json("-f mailbox");
    let machine = &report["machine"];
    assert_eq!(machine["kind"], "simulated");
    let name = machine["name"].as_str().unwrap();
    assert!(name.starts_with("IBM BladeCenter QS20"), "{name}");
    assert_eq!(
        machine["simulation"],
        serde_json::json!({"description": "qs20", "seed": 0, "system_calls": false})
    );
    assert_eq!(
        (&machine["spes"], &machine["memory_modules"]),
        (&16.into(), &2.into())
    );
    assert_eq!(report["environment"]["host"], Value::Null);
    assert_eq!(list(&report["environment"], "warnings"), [Value::Null; 0]);
    assert_eq!(report["trust"]["trustworthy"], true);
    assert_eq!(report["complete"], true);
    assert_eq!(report["counters"], Value::Null);

    let table = qs20("-f mailbox --seed 3 --system-calls");
    let line = "simulated by the description qs20, seed 3, the PPE reaches SPEs by system calls\n";
    assert!(measured(&table).contains(line), "{}", table.out);
    let csv = qs20("-f mailbox -i 3 --format csv");
    assert!(measured(&csv).lines().count() == 2, "{}", csv.out);
}

/// The results are equal except for the time at which the run ended.
#[test]
fn two_runs_have_the_same_results() {
    for arguments in [
        "-f fetchadd -n 5 --samples --counters",
        "-f dmaput -N 3 -b 4k --seed 7",
        "--matrix signal",
    ] {
        let [first, second] = [(); 2].map(|()| {
            let mut report = json(arguments);
            report["environment"]["finished_unix_s"] = 0.into();
            report.to_string()
        });
        assert!(first == second, "{arguments}: {first}\n{second}");
    }
}

#[test]
fn a_matrix_has_every_pair() {
    let report = json("--matrix mailbox");
    let matrix = &list(&report, "matrices")[0];
    assert_eq!(
        (&matrix["pairs"], &matrix["pairs_measured"]),
        (&120.into(), &120.into())
    );
}

#[test]
fn a_matrix_says_what_a_choice_of_two_spes_decides() {
    let report = json("--matrix signal");
    let matrix = &list(&report, "matrices")[0];
    let rows = list(matrix, "one_way_ns").iter();
    let times: Vec<f64> = rows
        .flat_map(|row| row.as_array().unwrap())
        .filter_map(Value::as_f64)
        .collect();
    assert_eq!(times.len(), 16 * 15);
    let choice = &matrix["choice"];
    let ns = |pair: &Value| {
        let [from, to] = ["from_spe", "to_spe"].map(|end| pair[end].as_u64().unwrap() as usize);
        assert_eq!(matrix["one_way_ns"][from][to], pair["one_way_ns"]);
        pair["one_way_ns"].as_f64().unwrap()
    };
    let (nearest, farthest) = (ns(&choice["nearest"]), ns(&choice["farthest"]));
    assert!(times.iter().all(|time| (nearest..=farthest).contains(time)));
    let by_chance = choice["by_chance_ns"].as_f64().unwrap();
    assert!((by_chance - times.iter().sum::<f64>() / 240.0).abs() < 1e-6);
    // The table says the same.
    let table = qs20("--matrix signal").out;
    let text = table.split_whitespace().collect::<Vec<_>>().join(" ");
    for (name, ns) in [
        ("Nearest: ", nearest),
        ("Farthest: ", farthest),
        ("By chance: ", by_chance),
    ] {
        let (_, rest) = text.split_once(name).unwrap();
        let (said, _) = rest.split_once(" ns").unwrap();
        let time = cellworks_report::time(ns);
        assert!(format!("{said} ns").ends_with(&time), "{time}: {text}");
    }
}

#[test]
fn the_rest_of_a_blade_is_the_other_cell() {
    let run = qs20("--matrix signal");
    let table = measured(&run);
    assert!(table.contains("\nother Cell "), "{table}");
    assert!(!table.contains("across memory modules"), "{table}");
    let text = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(" to an SPE in the other Cell, "), "{table}");
}

#[test]
fn counters_are_in_the_table_in_json_and_on_the_page() {
    let report = json("-f dmaget -n 2 -b 4k -i 20 -w 0 --counters");
    let counters = &report["counters"];
    let spes = list(counters, "spes");
    assert_eq!(spes.len(), 16);
    let moved = |spe: &Value| spe["bytes"].as_u64().unwrap();
    assert!(moved(&spes[0]) >= 20 * 4_096, "{}", spes[0]);
    assert_eq!(moved(&spes[2]), 0);
    assert!(counters["events"].as_u64() > Some(0));
    assert!(!list(counters, "resources").is_empty());

    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let mut command = stats_command("--machine qs20 -f dmaget -i 5 --counters --html");
    let run = Run::of(command.arg(&page));
    for text in ["Counters: ", "SPE", "idle", "packets"] {
        assert!(measured(&run).contains(text), "{text}: {}", run.out);
    }
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("Counters") && page.contains("simulated"));
}

#[test]
fn counters_after_the_start_are_of_the_last_timed_loop() {
    let of = |flags: &str| json(&format!("-f dmaget -n 4 -b 4k -i 20 {flags}"))["counters"].take();
    let (all, window) = (of("--counters"), of("--counters --after-start"));
    let ns = |counters: &Value, name: &str| counters[name].as_f64().unwrap();
    assert_eq!(ns(&all, "began_ns"), 0.0);
    // Each of the four programs takes more than a millisecond to start.
    assert!(ns(&window, "began_ns") > 4e6, "{window}");
    assert!(ns(&window, "elapsed_ns") < ns(&all, "elapsed_ns") / 50.0);
    for spe in &list(&window, "spes")[..4] {
        assert_eq!(spe["commands"], 20, "{spe}");
        let times = spe.as_object().unwrap().iter();
        let times = times.filter(|(name, _)| name.ends_with("_ns"));
        let sum: f64 = times.map(|(_, ns)| ns.as_f64().unwrap()).sum();
        assert!((sum - ns(&window, "elapsed_ns")).abs() < 1.0, "{spe}");
    }
}

#[test]
fn the_time_in_which_the_ppe_starts_programs_has_its_name() {
    let name = "the PPE starting programs";
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let flags = "--machine ps3 -f dmaget -N 6 -b 16k -i 5 --counters";
    let mut command = stats_command(&format!("{flags} --html"));
    let run = Run::of(command.arg(&page));
    let busiest = format!("busiest: {name}, ");
    assert!(measured(&run).contains(&busiest), "{}", run.out);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains(&format!("Busiest: {name}, ")));

    let counters = |more: &str| {
        let mut command = stats_command(&format!("{flags} --format json {more}"));
        Run::of(&mut command).json()["counters"].take()
    };
    let share = |counters: &Value, name: &str| {
        let mut parts = list(counters, "busiest").iter();
        let part = parts.find(|part| part["name"] == name).unwrap();
        part["busy_ns"].as_f64().unwrap() / counters["elapsed_ns"].as_f64().unwrap()
    };
    let all = counters("");
    assert!(share(&all, name) > 0.9, "{all}");
    assert!(share(&all, "the PPE") < 0.1, "{all}");
    assert_eq!(share(&counters("--after-start"), name), 0.0);

    let run = Run::of(&mut stats_command(
        "--machine ps3 -f dmaget -N 6 --limit 2ms",
    ));
    let starts = "  the PPE runs the main program (it starts a program on SPE 1), begun at ";
    assert!(run.err.contains(starts), "{}", run.err);
}

#[test]
fn a_trace_has_words_of_the_program_and_the_window() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace");
    let traced = |arguments: &str| {
        let mut command = cellworks();
        command.args(arguments.split(' ')).arg("--trace");
        measured(&Run::of(command.arg(&file)));
        read_slices(&fs::read(&file).unwrap()).unwrap()
    };
    let slices = traced("stats --machine ps3 -f dmaget -b 16k -i 5 -w 2 --after-start");
    let of = |name: &'static str| slices.iter().filter(move |slice| slice.name == name);
    assert_eq!(of("get 16 KB").count(), 2 + 5);
    let gets = of("get 16 KB").filter(|get| get.track.starts_with("SPE 0/MFC/entry "));
    assert_eq!(gets.count(), 2 + 5);
    let window = of("window").next().unwrap();
    let in_window = of("get 16 KB").filter(|get| get.overlaps(window));
    assert_eq!(in_window.count(), 5);
    assert!(
        slices.iter().all(|slice| !slice.name.contains("::")),
        "{slices:?}"
    );

    let slices = traced("run commstime --machine qs20 --spes 2 --rounds 5");
    let has = |slices: &[Slice], name: &str| slices.iter().any(|slice| slice.name == name);
    for name in [
        "process 0 of the ring",
        "process 1 of the ring",
        "processes of the network",
    ] {
        assert!(has(&slices, name), "{name}: {slices:?}");
    }
    let slices = traced("run lu --machine ps3 --size 64 --workers 2");
    for name in ["update", "a worker of the pool"] {
        assert!(has(&slices, name), "{name}: {slices:?}");
    }
}

#[test]
fn the_part_that_limits_is_named_with_the_time_without_it() {
    const MANY: &str = "-f dmaget -N 6 -b 16k -i 20 -w 5 --bottleneck";
    let found = |machine: &str, flags: &str| {
        let run = stats(&format!("--machine {machine} {flags} --format json"));
        measured(&run);
        let mut report = run.report();
        let value = report["measurements"][0]["latency_ns"]["p50"].clone();
        let bottleneck = report["counters"]["bottleneck"].take();
        assert_eq!(bottleneck["value"], value, "the run is the same");
        bottleneck
    };
    let of_kind = |bottleneck: &Value, kind: &str, name: &str| {
        let mut parts = list(bottleneck, "parts").iter();
        let part = parts.find(|part| part["kind"] == kind).unwrap();
        part[name].as_f64().unwrap()
    };

    // The memory has the data rate of its port, but it loses time to refreshes.
    let ps3 = found("ps3", MANY);
    assert_eq!(ps3["part"], "the memory pins");
    assert_eq!(ps3["parts"][0]["next"], "Cell 0, the port out of MIC");
    assert!(of_kind(&ps3, "the memory pins", "busy") > 0.9, "{ps3}");

    // Memory of twice the rate gains little, because the port of the controller limits.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fast.toml");
    let ps3_text = String::from_utf8(
        cellworks()
            .args(["machines", "ps3"])
            .output()
            .unwrap()
            .stdout,
    );
    let fast = ps3_text
        .unwrap()
        .replace("{ value = 25_600_000_000", "{ value = 51_200_000_000");
    fs::write(&file, fast).unwrap();
    let fast = found(file.to_str().unwrap(), MANY);
    assert_eq!(fast["part"], "the ports");
    assert_eq!(fast["parts"][0]["busiest"], "Cell 0, the port out of MIC");
    assert!(of_kind(&fast, "the ports", "busy") > 0.95, "{fast}");
    assert!(of_kind(&fast, "the ports", "saved") > 0.1, "{fast}");

    // One SPE of two Cells waits for the answers of the other Cell, with 16 requests under way.
    let qs20 = found("qs20", "-f dmaget -b 16k -i 20 -w 5 --bottleneck");
    assert_eq!(qs20["part"], "the MFCs' requests under way");
    for kind in ["the MFCs' requests under way", "the link between Cells"] {
        assert!(of_kind(&qs20, kind, "saved") > 0.5, "{qs20}");
    }
}

/// The sentences of a bottleneck, without the one with the times.
#[track_caller]
fn verdict(command: &str) -> [String; 2] {
    let mut words = cellworks();
    words.args(command.split(' ')).arg("--bottleneck");
    let run = Run::of(words.args(["--format", "json"]));
    measured(&run);
    let bottleneck = run.report()["counters"]["bottleneck"].take();
    let parts = list(&bottleneck, "parts").iter();
    let limit = parts.clone().find(|one| one["kind"] == bottleneck["part"]);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let limit = limit.unwrap_or_else(|| panic!("{bottleneck}"));
    let last = parts.last().unwrap();
    assert!(last["saved"].as_f64() <= limit["saved"].as_f64());
    [text(&bottleneck["verdict"]), text(&limit["advice"])]
}

/// With one buffer nothing is hidden; with two, transfers go on while the SPE computes.
#[test]
fn the_computation_limits_only_as_far_as_the_spe_does_not_wait() {
    const AES: &str = "run aes --machine ps3 --bytes 64k --cycles-per-byte";
    let [verdict_of_one, advice] = verdict(&format!("{AES} 0.2 --buffering single"));
    let begin = "The bottleneck is the SPUs: SPE 0 computes for ";
    assert!(verdict_of_one.starts_with(begin), "{verdict_of_one}");
    assert!(
        verdict_of_one.contains(" and waits for DMA for "),
        "{verdict_of_one}"
    );
    assert_eq!(
        advice,
        "Use two buffers or more, so that transfers go on while the SPE computes, or compute less."
    );
    let [verdict_of_two, advice] = verdict(&format!("{AES} 11.7 --buffering double"));
    let begin = "The bottleneck is the SPUs: SPE 0 is busy for ";
    assert!(verdict_of_two.starts_with(begin), "{verdict_of_two}");
    assert!(
        advice.starts_with("Compute less or on more SPEs: the SPE waits for "),
        "{advice}"
    );
}

/// In a ring each process waits for its neighbours, and the one beside the PPE for the PPE.
#[test]
fn a_verdict_names_the_processor_that_is_waited_for_most() {
    const RING: &str = "run ratio --machine ps3 --spes 4 --operations 10000";
    let [in_json, _] = verdict(RING);
    let (_, partner) = in_json.split_once(", most of all for ").unwrap();
    assert!(
        partner.starts_with("the PPE (") || partner.starts_with("SPE "),
        "{in_json}"
    );
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let mut command = cellworks();
    command
        .args(RING.split(' '))
        .args(["--bottleneck", "--html"]);
    let run = Run::of(command.arg(&page));
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(measured(&run)).contains(&in_json), "{}", run.out);
    assert!(words(&fs::read_to_string(page).unwrap()).contains(&in_json));
}

/// More buffers change nothing for one SPE, because its MFC has all its requests under way.
#[test]
fn the_full_requests_of_an_mfc_limit_and_no_latency_in_them() {
    let [verdict, advice] = verdict("stats --machine ps3 -f dmaget -N 1 -b 16k -i 20 -w 5");
    let begin = "The bottleneck is the MFCs' requests under way: the MFC of SPE 0 is busy for 9";
    assert!(verdict.starts_with(begin), "{verdict}");
    // Without the controllers more time would be saved, so they are the first row of the table.
    let why = " The first row of the table, the memory controllers, is why each request takes so long; more requests \
               at once would hide it.";
    assert!(verdict.ends_with(why), "{verdict}");
    assert_eq!(
        advice,
        "Use more SPEs: one MFC has only 16 lines under way (mfc.outstanding_requests), so the latency of a line \
         limits its rate, and more buffers change nothing."
    );
}

#[test]
fn a_part_that_is_hardly_busy_limits_by_its_latency() {
    let [ppe, _] = verdict("stats --machine ps3 -f mailbox -i 5");
    assert_eq!(
        ppe.replace(|one: char| one.is_ascii_digit(), "0"),
        "The bottleneck is the PPE: not its computation, which takes 0.0 %, but the latency of its loads, stores \
         and calls."
    );
    let [bus, advice] = verdict("stats --machine ps3 -f mailbox -n 2 -s -i 5");
    let begin = "The bottleneck is the latency of the command bus, not the rate: Cell 0, the command bus is busy ";
    assert!(bus.starts_with(begin), "{bus}");
    assert!(
        advice.ends_with("each waits for its own command, whatever its size."),
        "{advice}"
    );
    let [commands, advice] = verdict("stats --machine ps3 -f fetchadd -n 6 -i 20");
    let begin = "The bottleneck is the latency of the MFCs' commands, not the rate: ";
    assert!(commands.starts_with(begin), "{commands}");
    assert!(
        advice.starts_with("Use fewer commands, atomic ones too: "),
        "{advice}"
    );
}

/// A PlayStation 3 has one Cell and one memory, so no other memory can help.
#[test]
fn advice_is_of_the_machine_and_the_run() {
    let [_, of_one] = verdict("stats --machine ps3 -f dmaget -N 6 -b 16k -i 10");
    assert_eq!(
        of_one,
        "Move fewer bytes: keep data in local stores, get it from another SPE."
    );
    let of_two = json("-f dmaget -N 8 -b 16k -i 10 --bottleneck");
    let mut parts = list(&of_two["counters"]["bottleneck"], "parts").iter();
    let pins = parts
        .find(|part| part["kind"] == "the memory pins")
        .unwrap();
    assert_eq!(
        pins["advice"],
        "Move fewer bytes: keep data in local stores, get it from another SPE, or use the other memory modules as well."
    );

    // Banks that are ten times as slow are all busy, so other addresses change nothing.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("slow.toml");
    let ps3 = Run::of(cellworks().args(["machines", "ps3"])).out;
    let line = ps3
        .lines()
        .find(|line| line.starts_with("bank_read_ps"))
        .unwrap();
    fs::write(&file, ps3.replace(line, "bank_read_ps = 600_000")).unwrap();
    let file = file.display();
    let [_, banks] = verdict(&format!(
        "stats --machine {file} -f dmaget -N 6 -b 16k -i 10"
    ));
    assert!(
        banks.ends_with("needs more banks, or faster ones."),
        "{banks}"
    );
}

/// A PlayStation 3 uses the SPEs 1, 3, 5, 6, 4 and 2 of its Cell, as 0 to 5.
#[test]
fn a_table_has_only_the_programs_numbers_of_spes() {
    let run = stats("--machine ps3 -f dmaget -N 6 -b 16k -i 5 --bottleneck --format json");
    let report = run.report();
    let bottleneck = &report["counters"]["bottleneck"];
    let names: Vec<_> = list(bottleneck, "parts")
        .iter()
        .filter_map(|part| part["busiest"].as_str())
        .collect();
    let physical = |name: &&&str| (0..8).any(|spe| name.contains(&format!("SPE{spe}")));
    let physical: Vec<_> = names.iter().filter(physical).collect();
    assert!(
        physical.iter().all(|name| name.contains("the unused SPE")),
        "{physical:?}"
    );
    assert!(
        names
            .iter()
            .any(|name| name.contains("the segment from SPE ")),
        "{names:?}"
    );
}

#[test]
fn the_bottleneck_is_in_the_table_and_on_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let mut command = stats_command("--machine ps3 -f dmaget -N 6 -b 16k -i 5 --bottleneck --html");
    let run = Run::of(command.arg(&page));
    let page = fs::read_to_string(page).unwrap();
    for text in [
        "The bottleneck is the memory pins: memory module 0 is busy for ",
        "Without this limit the latency would be ",
        "Move fewer bytes",
        "the start and end of programs",
    ] {
        assert!(measured(&run).contains(text), "{text}: {}", run.out);
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn the_ppe_takes_longer_by_system_calls() {
    let median = |flags: &str| {
        let report = json(&format!("-f signal -i 10 {flags}"));
        only_measurement(&report)["latency_ns"]["p50"]
            .as_f64()
            .unwrap()
    };
    assert!(median("--system-calls") > median(""));
}

#[test]
fn puts_to_a_shared_buffer_are_a_hazard() {
    let puts = "-f dmaput -n 2 -i 10 --format json";
    let hazard = "dmaput 1 KB, 2 SPEs: hazard at ";
    let run = qs20(puts);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(
        run.err.starts_with(&format!("warning: {hazard}")),
        "{}",
        run.err
    );
    let all = " hazards were seen in all; --hazards error ends the run at the first, and --hazards off does not \
               look for them\n";
    assert!(run.err.ends_with(all), "{}", run.err);
    let report = run.report();
    let first = list(&report["environment"], "warnings")[0]
        .as_str()
        .unwrap();
    assert!(first.starts_with(hazard), "{first}");
    assert_eq!(report["trust"]["trustworthy"], true);

    let run = qs20(&format!("{puts} --hazards error"));
    assert_eq!(run.code, Some(1), "{}", run.err);
    assert!(run.err.contains("hazard at "), "{}", run.err);
    measured(&qs20(&format!("{puts} --hazards off")));
    measured(&qs20(&puts.replace("-n 2", "-N 2")));
}

/// The machine has local stores of 16 KB.
#[test]
fn sizes_that_do_not_fit_in_a_local_store_are_refused() {
    stats("--machine scc -f dmaget -b 16k").refused(
        "error: -b: a block of 16 KB: here a block has at most 16128 bytes; use 16128\n  \
         example: cellworks stats --machine scc -f dmaget -b 1k\n",
    );
    measured(&stats("--machine scc -f copy -i 5 -b 64k --hazards off"));
}

#[test]
fn an_existing_file_stays_if_nothing_can_be_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace");
    fs::write(&path, "from before").unwrap();
    let mut command = stats_command("--machine qs20 -f dmaget -n 17 --trace");
    assert_eq!(Run::of(command.arg(&path)).code, Some(2));
    assert_eq!(fs::read_to_string(&path).unwrap(), "from before");
}

#[test]
fn a_limit_ends_a_run_and_names_the_running_programs() {
    let run = qs20("-f dmaget -n 2 -i 1m --limit 20ms");
    assert_eq!(run.code, Some(1), "{}", run.err);
    let begin = "error: dmaget 1 KB, ";
    assert!(run.err.starts_with(begin), "{}", run.err);
    let limit = "the run was ended after 20.00 ms of simulated time, which was its limit";
    assert!(run.err.contains(limit), "{}", run.err);
    for who in ["SPE 0", "SPE 1", "the PPE"] {
        let is_there = run.err.contains(&format!("\n  {who} waits for "));
        assert!(is_there, "{who}: {}", run.err);
    }
    // An atomic operation is no wait.
    let run = qs20("-f fetchadd -n 2 -i 1m --limit 20ms");
    for spe in [0, 1] {
        let who =
            format!("\n  SPE {spe} runs fetchadd, begun at crates/stats/src/measure/atomic.rs:");
        assert!(run.err.contains(&who), "{who}: {}", run.err);
    }
    measured(&qs20("-f dmaget -i 10 --limit 10s"));
}

#[test]
fn more_spes_than_there_are() {
    for flag in ["-n", "-N"] {
        qs20(&format!("-f dmaget {flag} 17")).refused(&format!(
            "error: {flag}: 17 SPEs: qs20 has 16; use 1 to 16\n  \
             example: cellworks stats --machine qs20 -f dmaget {flag} 1\n"
        ));
    }
    qs20("-f mailbox -c 2").refused(
        "error: -c: Cell 2: qs20 has Cells 0 to 1; use 0 to 1\n  \
         example: cellworks stats --machine qs20 -f mailbox -c 0\n",
    );
}

#[test]
fn an_unknown_machine_gets_the_nearest_name() {
    let run = stats("--machine qs21 -f mailbox");
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
    assert!(run.err.starts_with("error: --machine: "), "{}", run.err);
    assert!(
        run.err.contains("qs21") && run.err.contains("qs20"),
        "{}",
        run.err
    );
}

#[test]
fn flags_of_simulated_machines_are_refused_on_this_computer() {
    for (flag, value, shown) in [
        ("--trace", " trace", " --trace trace"),
        ("--limit", " 1s", ""),
        ("--seed", " 1", ""),
        ("--hazards", " off", ""),
        ("--counters", "", " --counters"),
        ("--after-start", "", " --counters --after-start"),
        ("--bottleneck", "", " --bottleneck"),
        ("--system-calls", "", ""),
    ] {
        stats(&format!("-f dmaget {flag}{value}")).refused(&format!(
            "error: {flag} with --machine host: only a simulated machine has it; choose one, such as qs20, \
             or leave {flag} out\n  example: cellworks stats --machine qs20 -f dmaget{shown}\n"
        ));
    }
}

#[test]
fn flags_that_make_no_sense_on_a_simulated_machine() {
    qs20("--budget 5s").refused(
        "error: --budget with --machine qs20: a simulated machine takes the same time whenever it is \
         measured, so there is nothing to share out; leave it out, or end long runs with --limit\n  \
         example: cellworks stats --machine qs20 --limit 1s\n",
    );
    qs20("-f dmaget --after-start").refused(
        "error: --after-start shows nothing by itself; add --counters, --bottleneck or --trace FILE\n",
    );
    for flag in ["--trace t", "--counters", "--bottleneck"] {
        let name = flag.split(' ').next().unwrap();
        qs20(flag).refused(&format!(
            "error: {name} without -f: it is of one run, and everything has many; name a function\n  \
             example: cellworks stats --machine qs20 -f dmaget {flag}\n"
        ));
        qs20(&format!("--matrix copy {flag}")).refused(&format!(
            "error: {name} without -f: it is of one run, and a matrix is of many; name a function\n  \
             example: cellworks stats --machine qs20 -f dmaget {flag}\n"
        ));
    }
}

#[test]
fn values_of_flags_that_are_none() {
    let more = "\n\nFor more information, try '--help'.\n";
    let rule = "a limit is a simulated time with its unit, such as 10ms or 2s";
    for (value, why) in [
        ("0ms", "nothing happens in no time"),
        ("10", "time unit needed, for example 10sec or 10ms"),
    ] {
        qs20(&format!("-f mailbox --limit {value}")).refused(&format!(
            "error: invalid value '{value}' for '--limit <SIMULATED_TIME>': {why}; {rule}{more}"
        ));
    }
    qs20("-f mailbox --seed -1").refused(&format!(
        "error: invalid value '-1' for '--seed <NUMBER>': a seed is a whole number from 0 to \
         18446744073709551615; use 1{more}"
    ));
    qs20("-f mailbox --hazards maybe").refused(&format!(
        "error: invalid value 'maybe' for '--hazards <HOW>'\n  [possible values: off, warn, error]{more}"
    ));
}

#[test]
fn a_simulated_machine_compares_with_this_computer() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, machine: &str| {
        let run = stats(&format!(
            "--machine {machine} -f mailbox -n 1 -i 20 --quiet --format json"
        ));
        run.json();
        let path = folder.path().join(name);
        fs::write(&path, run.out).unwrap();
        path
    };
    let (host, simulated) = (file("host.json", "host"), file("qs20.json", "qs20"));
    let run = Run::of(
        cellworks()
            .args(["compare", "--untrusted"])
            .args([host, simulated]),
    );
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.out.contains("(simulated)"), "{}", run.out);
    assert!(run.out.contains("mailbox"), "{}", run.out);
    assert!(!run.out.contains("Frequency governors"), "{}", run.out);
}

#[test]
fn descriptions_of_machines_that_cannot_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let ps3 = Run::of(cellworks().args(["machines", "ps3"])).out;
    for (from, to, why) in [
        (
            "[1, 3, 5, 6, 4, 2]",
            "[]",
            "cell[0].spes is []; allowed: the numbers of one SPE or more, such as [0, 1, 2]",
        ),
        (
            "\"SPE5\", ",
            "",
            "interconnect.elements misses \"SPE5\"; allowed: with it, because cell[0].spes lists the SPE 5",
        ),
        (
            "\"SPE0\", \"MIC\"",
            "\"SPE0\"",
            "interconnect.elements misses \"MIC\"; allowed: with it, because memory[0] is attached there",
        ),
        (
            "access_ps           = { value =         48_000",
            "access_ps = { value = -1",
            "memory[0].access_ps.value is -1; allowed: 0 to 1_000_000_000_000",
        ),
        (
            "bytes_per_s         = { value = 25_600_000_000",
            "bytes_per_s = { value = 0",
            "memory[0].bytes_per_s.value is 0; allowed: 1_000_000 to 10_000_000_000_000",
        ),
        (
            "cell                = 0",
            "cell = 3",
            "memory[0].cell is 3; allowed: 0, because there is one [[cell]]",
        ),
    ] {
        assert!(ps3.contains(from), "{from}: {ps3}");
        fs::write(&path, ps3.replacen(from, to, 1)).unwrap();
        let line = 1 + ps3.lines().take_while(|line| !line.contains(from)).count();
        let mut command = stats_command("-f mailbox --machine");
        Run::of(command.arg(&path)).refused(&format!(
            "error: --machine: {}:{line}: {why}\n",
            path.display()
        ));
    }
}

#[test]
fn a_machine_whose_description_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["mine.toml", "mine.csv"] {
        let path = folder.path().join(name);
        let mut command = stats_command("-f mailbox --machine");
        Run::of(command.arg(&path)).refused(&format!(
            "error: --machine: {} could not be read: No such file or directory (os error 2); name a file with a \
             machine's description\n",
            path.display()
        ));
    }
}

/// A program of a measurement has its name, and its commands have their arguments.
#[test]
fn a_trace_names_the_measurement_and_the_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("get.pftrace");
    let trace = path.display();
    measured(&qs20(&format!(
        "-f dmaget -n 2 -b 4k -i 10 --trace {trace}"
    )));
    let slices = read_slices(&fs::read(&path).unwrap()).unwrap();
    for spe in ["SPE 0", "SPE 1"] {
        let names = |slice: &&Slice| slice.track == spe && slice.name == "dmaget";
        assert_eq!(slices.iter().filter(names).count(), 1, "{spe}");
    }
    let mut gets = slices.iter().filter(|slice| slice.name == "get 4 KB");
    let all = |get: &Slice| {
        get.arguments
            .keys()
            .map(String::as_str)
            .eq(["bytes", "ea", "lsa", "tag"])
    };
    assert!(gets.all(|get| all(get) && get.arguments["bytes"] == 4_096));
}

/// If a limit prevents hundreds of measurements, the reason is printed only once.
#[test]
fn a_limit_on_everything_is_reported_in_few_lines() {
    let run = qs20("--limit 1us");
    assert_eq!(run.code, Some(1), "{}", run.err);
    assert!(
        run.err.starts_with("error: mkthread, 1 SPE: "),
        "{}",
        run.err
    );
    let (_, missing) = run.out.split_once("\nNot measured\n").unwrap();
    assert_eq!(missing.lines().count(), 10, "{missing}");
    let last = missing.lines().last().unwrap();
    assert!(last.ends_with(" more: the run ended before"), "{last}");
}

/// Files of one-way times between cores, which a program measured by compare-and-swap.
const MEASURED: [&str; 2] = ["apple-m1-pro.csv", "made-up"];

/// A matrix of 6 cores with times of 15 to 600 ns.
fn made_up() -> String {
    let rows = (0..6).map(|row| {
        let times = (0..6).map(|column| {
            if column < row {
                let ns = 15.3 + f64::from(row * row * column * 7 % 11) * 58.9 + f64::from(row);
                ns.to_string()
            } else {
                String::new()
            }
        });
        times.collect::<Vec<_>>().join(",") + "\n"
    });
    rows.collect()
}

#[test]
fn a_measured_matrix_comes_back_by_compare_and_swap() {
    let folder = tempfile::tempdir().unwrap();
    for name in MEASURED {
        let path = match name {
            "made-up" => {
                let path = folder.path().join("made-up.csv");
                std::fs::write(&path, made_up()).unwrap();
                path
            }
            name => Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../mapping/tests/data")
                .join(name),
        };
        let text = std::fs::read_to_string(&path).unwrap();
        let measured: Vec<Vec<Option<f64>>> = text
            .lines()
            .map(|line| line.split(',').map(|field| field.parse().ok()).collect())
            .collect();
        let machine = path.display();
        let run = stats(&format!(
            "--machine {machine} --matrix atomic --polling compare-and-swap --full --format json"
        ));
        let report = run.json();
        let one_way = &list(&report, "matrices")[0]["one_way_ns"];
        let mut pairs = 0;
        for (row, times) in measured.iter().enumerate() {
            for (column, ns) in times.iter().enumerate().take(row) {
                let ns = ns.expect("a time below the diagonal");
                for found in [&one_way[row][column], &one_way[column][row]] {
                    let ratio = found.as_f64().unwrap() / ns;
                    assert!(
                        (0.98..=1.02).contains(&ratio),
                        "{name}: {found} where {ns} was measured, from {row} to {column}"
                    );
                    pairs += 1;
                }
            }
        }
        assert_eq!(pairs, measured.len() * (measured.len() - 1));
    }
}

#[test]
fn a_memory_matrix_is_from_each_cell_to_each_memory() {
    let run = qs20("--matrix memory");
    let table = measured(&run);
    assert!(!table.contains("hazard"), "{table}");
    assert!(table.contains("\nCell 1 (SPE 8) "), "{table}");
    let report = json("--matrix memory");
    let matrix = &report["memory_matrix"];
    let latency = |cell: usize, module: usize| {
        let cell = &matrix["cells"][cell][module];
        assert_eq!(cell["verified"], true);
        cell["latency_ns"].as_f64().unwrap()
    };
    let bandwidth = |cell: usize, module: usize| {
        let cell = &matrix["cells"][cell][module];
        cell["bandwidth_bytes_per_s"].as_u64().unwrap()
    };
    for (here, there) in [(0, 1), (1, 0)] {
        assert!(latency(here, here) < latency(here, there), "{matrix}");
        assert!(bandwidth(here, here) > bandwidth(here, there), "{matrix}");
    }
}

#[test]
fn a_simulated_machine_has_no_pages() {
    qs20("-f dmaget -b 4m --pages 4k").refused(
        "error: --pages: qs20 is simulated without pages; leave it out\n  example: cellworks stats --machine qs20 -f \
         dmaget\n",
    );
}
