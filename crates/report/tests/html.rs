//! The contents of the HTML, without a browser. The test `browser` opens pages in a browser.

mod made_up;

use cellworks_report::{Report, html};
use cellworks_stats::{Between, Buffers, Function, Parameters, Settings};
use made_up::{
    alone, captured_64_cores, doubtful, empty, matrix, measurement, on_memory, times, two_cores,
};

/// The titles of the charts.
fn charts(report: &Report) -> Vec<String> {
    let html = html::render(report);
    let titles = html.split("<figure class=\"chart\"><figcaption>").skip(1);
    titles
        .map(|rest| rest.split('<').next().unwrap().to_owned())
        .collect()
}

#[test]
fn nothing_is_loaded() {
    for report in [two_cores(), captured_64_cores(), doubtful(), empty(1, 1)] {
        let html = html::render(&report);
        for loads in [
            "http:", "https:", "src=", "@import", "url(", "<link", "<img", "<iframe", "fetch(",
        ] {
            assert!(!html.contains(loads), "{loads}");
        }
    }
}

#[test]
fn names_are_text_and_not_elements() {
    let mut report = captured_64_cores();
    report.envelope.machine.name = "</title><script>alert(1)</script>&amp;".to_owned();
    report.envelope.machine.spe_places[3] = "</script><b>".to_owned();
    report.envelope.environment.warnings = vec!["<b onclick='x'>".to_owned()];
    let html = html::render(&report);
    assert!(html.contains("&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;"));
    assert!(!html.contains("<script>alert"));
    assert!(!html.contains("<b onclick"));
    assert!(!html.contains("</script><b>"));
    assert!(html.contains("\\u003c/script>\\u003cb>"));
}

#[test]
fn a_cell_over_two_memory_modules_has_a_line_for_each() {
    let mut report = two_cores();
    let line = |module, spe| format!("<li>L3 group 0, NUMA node {module}: CPU {spe}</li>");
    report.envelope.machine.spe_memory_modules = vec![1, 0];
    let html = html::render(&report);
    assert!(html.contains(&(line(0, 1) + &line(1, 0))));
    // A report of an older command does not contain this list.
    report.envelope.machine.spe_memory_modules = vec![];
    let html = html::render(&report);
    assert!(html.contains("<li>L3 group 0, NUMA node 0: CPU 0, CPU 1</li>"));
}

#[test]
fn the_state_of_memory_is_among_the_circumstances() {
    let html = html::render(&two_cores());
    for fact in [
        "<dt>Huge pages</dt><dd>madvise</dd>",
        "<dt>Memory available</dt><dd>24.0 GiB</dd>",
    ] {
        assert!(html.contains(fact), "{fact}");
    }
}

#[test]
fn doubts_come_before_numbers_and_only_where_there_are_some() {
    let html = html::render(&doubtful());
    let at = |text: &str| {
        html.find(text)
            .unwrap_or_else(|| panic!("{text} is missing"))
    };
    assert!(at("Not trustworthy") < at("CPU 1 was busy for 97 % of the run"));
    assert!(at("Not complete") < at("<section"));
    assert!(at("the governor of CPU 0 is powersave") < at("<section"));
    assert!(html.contains("<b>fetchset, 2 CPUs</b>: the run was interrupted"));
    let html = html::render(&two_cores());
    for absent in [
        "Not trustworthy",
        "Not complete",
        "Warnings",
        "Not measured",
    ] {
        assert!(!html.contains(absent), "{absent}");
    }
}

#[test]
fn a_report_without_results_has_no_empty_parts() {
    let html = html::render(&empty(1, 1));
    for heading in ["Advice", "Results", "Curves", "Heat maps", "Measurements"] {
        assert!(!html.contains(heading), "{heading}");
    }
    assert!(html.contains("A made-up processor"));
    assert!(html.contains("2026-09-21 14:13 UTC"));
}

#[test]
fn curves_are_drawn_against_what_was_varied() {
    let against = |titles: &[&str]| {
        titles
            .iter()
            .map(|title| (*title).to_owned())
            .collect::<Vec<_>>()
    };
    let sweep = ["Time against block size", "Bandwidth against block size"];
    // With two SPEs, the contention of fetchadd has only two points.
    let spes = "Time against number of CPUs";
    let expected = [&sweep[..], &sweep, &sweep, &[spes]].concat();
    assert_eq!(charts(&two_cores()), against(&expected));

    let mut report = empty(8, 8);
    for (chains, ns) in [(1, 90.0), (2, 46.0), (4, 24.0)] {
        let parameters = Parameters {
            settings: Settings {
                chains: Some(chains),
                ..alone(Between::MemorySpe).settings
            },
            ..alone(Between::MemorySpe)
        };
        report
            .measurements
            .push(measurement(Function::DmaGet, ns, parameters));
    }
    assert_eq!(charts(&report), ["Time against chains followed at once"]);
    for (loading, ns) in [(None, 90.0), (Some(3), 120.0), (Some(7), 180.0)] {
        let parameters = Parameters {
            settings: Settings {
                loading_spes: loading,
                ..alone(Between::MemorySpe).settings
            },
            ..alone(Between::MemorySpe)
        };
        report
            .measurements
            .push(measurement(Function::DmaPut, ns, parameters));
    }
    assert_eq!(
        charts(&report)[1..],
        ["Time against other CPUs that copy meanwhile"]
    );
}

#[test]
fn one_spe_starts_the_curve_of_private_variables_too() {
    let html = html::render(&captured_64_cores());
    let chart = html.split("Time against number of CPUs").nth(1).unwrap();
    let lines: Vec<&str> = chart.split("<polyline points=\"").skip(1).take(2).collect();
    for line in lines {
        let points = line.split('"').next().unwrap();
        assert_eq!(points.split(' ').count(), 8, "{points}");
    }
}

#[test]
fn heat_maps_have_a_legend_from_end_to_end_of_their_colours() {
    let legend_of = |report: &Report| {
        let html = html::render(report);
        let legend = html.split("<figcaption class=\"scale\">").nth(1).unwrap();
        legend.split("</figcaption>").next().unwrap().to_owned()
    };
    let mut grouped = empty(16, 4);
    grouped.matrices = vec![matrix(&grouped.envelope.machine, times(16, 4))];
    for report in [grouped, captured_64_cores()] {
        let legend = legend_of(&report);
        assert!(legend.contains("(to right,#440154,"), "{legend}");
        assert!(legend.contains(",#fde725)"), "{legend}");
        assert!(legend.contains("not measured"), "{legend}");
    }
    // The legend shows that some times lie outside of the scale.
    assert!(html::render(&captured_64_cores()).contains("≤ 41.3 ns"));
    // Times that hardly differ have their own colours in it, and no others.
    let legend = legend_of(&two_cores());
    assert!(!legend.contains("to right"), "{legend}");
    for part in ["></span>61.3 ns<", "></span>62.1 ns<", "not measured"] {
        assert!(legend.contains(part), "{part}: {legend}");
    }
}

#[test]
fn matrices_of_576_spes_stay_small() {
    let mut report = empty(576, 96);
    report.matrices = vec![matrix(&report.envelope.machine, times(576, 96))];
    let bytes = html::render(&report).len();
    assert!((1 << 20..3 << 20).contains(&bytes), "{bytes}");
}

#[test]
fn lines_are_named_by_what_they_differ_in() {
    let names = |report: &Report, chart: &str| {
        let html = html::render(report);
        let legend = html.split(chart).nth(2).unwrap();
        let legend = legend.split("<ul class=\"legend\">").nth(1).unwrap();
        let legend = legend.split("</ul>").next().unwrap();
        let names = legend.split("</svg>").skip(1);
        let names = names.map(|rest| rest.split('<').next().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    let copies = [
        "memory-CPU, 1 CPU",
        "memory-CPU, 2 CPUs, shared",
        "memory-CPU, 2 CPUs, private",
        "CPU-CPU, a CPU and another, shared",
    ];
    // The title is the caption and the label of the drawing.
    assert_eq!(names(&two_cores(), "Time against block size"), copies);

    let mut report = empty(8, 8);
    for loading_spes in [None, Some(7)] {
        for bytes in [1 << 10, 1 << 20, 1 << 26] {
            let parameters = Parameters {
                settings: Settings {
                    loading_spes,
                    ..on_memory(bytes).settings
                },
                ..on_memory(bytes)
            };
            let measured = measurement(Function::DmaGet, 90.0, parameters);
            report.measurements.push(measured);
        }
    }
    let loaded = [
        "memory-CPU, 1 CPU, L3 group 0, node 0",
        "memory-CPU, 1 CPU, 7 loading, L3 group 0, node 0",
    ];
    assert_eq!(names(&report, "Time against block size"), loaded);
}

/// A report of a simulated blade. It has blocks with 1 to 16 SPEs, on shared and on private
/// buffers, in two memory modules, and in local stores of two Cells.
fn many_curves() -> Report {
    let mut report = empty(16, 8);
    let mut add = |parameters: &Parameters| {
        for bytes in [128, 1 << 10, 16 << 10] {
            let parameters = Parameters {
                settings: Settings {
                    block_bytes: Some(bytes),
                    ..parameters.settings
                },
                ..parameters.clone()
            };
            // All measurements have different times, so that a test can find each one by its time.
            let ns = 100.0 + report.measurements.len() as f64;
            report
                .measurements
                .push(measurement(Function::DmaGet, ns, parameters));
        }
    };
    for module in [0, 1] {
        for spes in [1, 2, 4, 8, 16] {
            for buffers in [Buffers::Shared, Buffers::Private] {
                if (spes, buffers) == (1, Buffers::Private) {
                    continue;
                }
                add(&Parameters {
                    spes,
                    module: Some(module),
                    buffers: Some(buffers),
                    ..alone(Between::MemorySpe)
                });
            }
        }
    }
    for cell in [0, 1] {
        for spes in [2, 4, 8, 16] {
            add(&Parameters {
                spes,
                cell,
                buffers: Some(Buffers::Shared),
                ..alone(Between::SpeSpe)
            });
        }
    }
    report
}

#[test]
fn more_curves_than_can_be_told_apart_are_several_charts() {
    let report = many_curves();
    let groups = [
        "memory-CPU, shared, L3 group 0, node 0",
        "memory-CPU, shared, L3 group 0, node 1",
        "memory-CPU, private, L3 group 0, node 0",
        "memory-CPU, private, L3 group 0, node 1",
        "CPU-CPU, shared",
    ];
    let titles = ["Time", "Bandwidth"]
        .map(|what| groups.map(|group| format!("{what} against block size: {group}")));
    assert_eq!(charts(&report), titles.concat());

    let html = html::render(&report);
    let legends: Vec<Vec<&str>> = html
        .split("<ul class=\"legend\">")
        .skip(1)
        .map(|rest| {
            let legend = rest.split("</ul>").next().unwrap();
            let names = legend.split("</svg>").skip(1);
            names.map(|rest| rest.split('<').next().unwrap()).collect()
        })
        .collect();
    // The buffer of a single SPE is both shared and private, so its point begins both lines.
    let by_number = ["1 CPU", "2 CPUs", "4 CPUs", "8 CPUs", "16 CPUs"];
    for names in &legends[..4] {
        assert_eq!(*names, by_number);
    }
    assert_eq!(legends[4][0], "a CPU and another, L3 group 0");
    assert_eq!(legends[4][7], "16 CPUs, L3 group 1");
    assert_eq!(legends[4].len(), 8);

    for measurement in &report.measurements {
        let median = format!("median {} ns", measurement.latency_ns.p50);
        assert!(html.contains(&median), "{median}");
    }
    // The text for the pointer over a point has the full name.
    assert!(html.contains("memory-CPU, private, L3 group 0, node 1, 16 CPUs"));
}

#[test]
fn charts_of_one_function_have_the_same_axes() {
    let html = html::render(&many_curves());
    let axes: Vec<&str> = html
        .split("<g class=\"axis\">")
        .skip(1)
        .map(|rest| rest.split("</g>").next().unwrap())
        .collect();
    let (times, bandwidths) = axes.split_at(5);
    for of_one_kind in [times, bandwidths] {
        assert!(of_one_kind.iter().all(|axes| *axes == of_one_kind[0]));
    }
    assert_ne!(times[0], bandwidths[0]);
}

#[test]
fn many_curves_that_only_their_numbers_of_spes_tell_apart_are_several_charts_too() {
    let mut report = empty(12, 12);
    for spes in 1..=12 {
        for bytes in [128, 1 << 10, 16 << 10] {
            let parameters = Parameters {
                spes,
                ..on_memory(bytes)
            };
            report
                .measurements
                .push(measurement(Function::DmaGet, 90.0, parameters));
        }
    }
    assert_eq!(
        charts(&report)[..2],
        [
            "Time against block size: 1 CPU to 6 CPUs",
            "Time against block size: 7 CPUs to 12 CPUs",
        ]
    );
}
