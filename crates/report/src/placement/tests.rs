use super::views::CSV_HEADER;
use crate::csv::assert_described;
use crate::{PictureDrawing, PictureLine, PlacementPicture, Quality, made_up};

#[test]
fn the_table_has_the_numbers_and_what_to_type() {
    let plain = super::table(&made_up::placement(), cellworks_report::WIDTH);
    for line in [
        "graph.txt on host, today.json",
        ": 3 tasks, 4 places, task 0 fixed to place 3, place 0 forbidden\n",
        "cost          1,234.5  volume times cost in ns of each pair, both directions added up\n",
        "bound         1,000    no placement costs less than this\n",
        "gap           19.0 %   as good as known methods get: most of the search found nothing better, and",
        "in order      1,851.8  what the tasks cost in the order of the places: 1.50 times as much\n",
        "chosen badly  4,938    the most that was found for a placement: 4.00 times as much\n",
        "found after   12.5 ms\n",
        "searched for  10.0 s   of at most 10 s, 54,321 iterations, seed 7\n",
        "the place of task 0, of task 1 and so on\n3 2 1\n",
        "Volumes",
        ": the 1 largest of 2 that tasks send to each other\n",
        "\ntasks   volume  places",
        "\n0 to 1   4,096  ",
        "CPUs of task 0, of task 1 and so on: 6 4 2\n",
        "taskset: taskset --cpu-list 2,4,6 COMMAND  # all threads on these CPUs\n",
    ] {
        assert!(plain.contains(line), "{line}: {plain}");
    }
}

#[test]
fn what_is_known_of_the_quality_is_said_beside_the_gap() {
    let said = |quality, gap: f64| {
        let mut report = made_up::placement();
        report.quality = quality;
        let mut results = report.results.iter_mut();
        results.find(|result| result.name == "gap").unwrap().value = gap;
        super::table(&report, 120)
    };
    let cases = [
        (
            Quality::Proven,
            0.0,
            "0 %      proven: nothing of the cost can be saved\n",
        ),
        (
            Quality::AsGoodAsKnown,
            0.005,
            "0.500 %  as good as known methods get: not more of the",
        ),
        (
            Quality::NotKnown,
            0.5,
            "50.0 %   not known how good it is: a longer search",
        ),
    ];
    for (quality, gap, line) in cases {
        let plain = said(quality, gap);
        assert!(plain.contains(line), "{line}: {plain}");
    }
}

#[test]
fn an_optimal_placement_is_marked_and_one_without_cpus_has_no_binding() {
    let mut report = made_up::placement();
    report.optimal = true;
    report.binding = None;
    report.commands.clear();
    let plain = super::table(&report, cellworks_report::WIDTH);
    assert!(
        plain.contains("no placement costs less: this one is optimal"),
        "{plain}"
    );
    assert!(!plain.contains("taskset"), "{plain}");
}

#[test]
fn what_was_assumed_about_cpus_stands_before_the_commands() {
    let mut report = made_up::placement();
    report.problem.assumed = Some("rows are CPU 0 to CPU 3".to_owned());
    let plain = super::table(&report, cellworks_report::WIDTH);
    assert!(plain.contains(": rows are CPU 0 to CPU 3\n\n"), "{plain}");
    assert!(super::html(&report).contains("<p>rows are CPU 0 to CPU 3</p>"));
}

#[test]
fn what_a_command_took_is_shown_for_each_way() {
    let plain = super::table(&made_up::placement(), cellworks_report::WIDTH);
    for part in [
        "Tried",
        "`./program 10` ran 3 times in each way, in turn; without a binding it takes 1.24 times as long",
        "no binding             13.0 ms  12.0 ms  14.0 ms",
        "6 4 2 (kept)  1,234.5  10.5 ms  10.0 ms  11.0 ms",
    ] {
        assert!(plain.contains(part), "{part}: {plain}");
    }
    assert!(super::html(&made_up::placement()).contains("6 4 2 (kept)"));
}

#[test]
fn csv_is_one_line() {
    assert_described(CSV_HEADER);
    assert_eq!(
        super::csv(&made_up::placement()),
        "file,costs,tasks,places,seed,cost,bound,gap,optimal,quality,average,worst,time_to_best_ns,time_ns,iterations,placement,cpus,nodes\n\
         graph.txt,\"host, today.json\",3,4,7,1234.5,1000,0.19,false,as_good_as_known,2469,4938,12500000,10000000000,54321,3 2 1,6 4 2,\n"
    );
}

#[test]
fn tasks_on_several_computers_are_listed_by_node() {
    let mut report = made_up::placement();
    report.nodes = ["n01", "n02", "n03"].map(str::to_owned).to_vec();
    report.binding = None;
    report.cpus[1].node = 2;
    let plain = super::table(&report, cellworks_report::WIDTH);
    let listed = "\nn01: tasks 0 2 on CPUs 6 2\nn03: tasks 1 on CPUs 4\n";
    assert!(plain.contains(listed), "{plain}");
    assert!(super::csv(&report).ends_with(",6 4 2,0 2 0\n"));
    let page = super::html(&report);
    assert!(
        page.contains("<td>1</td><td>2</td><td>n03</td><td>4</td>"),
        "{page}"
    );
}

#[test]
fn the_page_has_a_row_for_each_task() {
    let page = super::html(&made_up::placement());
    assert!(
        page.contains("<tr><td>0</td><td>3</td><td>6</td></tr>"),
        "{page}"
    );
    assert!(
        page.contains(
            "<code>taskset --cpu-list 2,4,6 COMMAND</code> <span class=\"words\">all threads"
        ),
        "{page}"
    );
}

#[test]
fn the_page_begins_with_the_places_in_their_groups() {
    let line = |places, volume, cost| PictureLine {
        places,
        volume,
        cost,
    };
    let drawing = |title: &str, cost, lines| PictureDrawing {
        title: title.to_owned(),
        cost: Some(cost),
        tasks: vec![vec![0, 4, 5, 6, 7], vec![1, 2], vec![], vec![3]],
        lines,
    };
    let mut report = made_up::placement();
    report.picture = Some(PlacementPicture {
        places: [0, 1, 2, 3].map(|cpu| format!("n01 CPU {cpu}")).to_vec(),
        rings: vec![vec![
            ("package 0".to_owned(), 3),
            ("package 1".to_owned(), 1),
        ]],
        drawings: vec![
            drawing("in order", 9_000.0, vec![line([0, 1], 2.0, 4.0)]),
            drawing("found", 5.5, vec![line([1, 3], 2.0, 6.0)]),
        ],
    });
    let page = super::html(&report);
    let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part}: {page}"));
    assert!(at("aria-label=\"in order: cost 9,000\"") < at("aria-label=\"found: cost 5.50\""));
    assert!(at("aria-label=\"found: cost 5.50\"") < at("id=\"results\""));
    for part in [
        "data-hover=\"n01 CPU 1 and n01 CPU 3: volume 2, cost 6\"",
        "data-hover=\"n01 CPU 1: task 1, 2\"",
        "data-hover=\"n01 CPU 2: no task\"",
        "data-hover=\"package 1\"",
        // The circle names the node, and up to four tasks stand beside it.
        ">n01:3</text>",
        " n01:0 is n01 CPU 0.",
        ">t1 t2</text>",
        ">t0 t4</text>",
        ">t5 +2</text>",
    ] {
        at(part);
    }
    let legend = |page: &str| {
        let (_, legend) = page.split_once("cost of a unit of volume there: ").unwrap();
        let (legend, _) = legend.split_once("</p>").unwrap();
        let colours = legend.split("stroke=\"").skip(1);
        colours.map(|rest| rest[..7].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(legend(&page).len(), 2);
    // A single cost has one colour, that of its lines.
    let picture = report.picture.as_mut().unwrap();
    picture.drawings.truncate(1);
    let page = super::html(&report);
    let [colour] = &legend(&page)[..] else {
        panic!("{page}");
    };
    let drawn = page.matches(&format!("stroke=\"{colour}\"")).count();
    assert_eq!(drawn, 2, "{page}");
}

#[test]
fn an_interrupted_search_shows_what_it_had() {
    let mut report = made_up::placement();
    report.envelope.complete = false;
    report.results.clear();
    report.placement.clear();
    report.cpus.clear();
    report.binding = None;
    let plain = super::table(&report, cellworks_report::WIDTH);
    assert!(plain.contains("The run ended early"), "{plain}");
    assert!(super::csv(&report).ends_with(",7,,,,false,as_good_as_known,,,,,,,,\n"));
}
