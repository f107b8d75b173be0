use cellworks_stats::{Function, Interval, Primitive};
use serde_json::json;

use super::views::CSV_HEADER;
use super::*;
use crate::csv::assert_described;
use crate::envelope::{ReasonKind, SCHEMA_VERSION};
use crate::made_up;
use crate::program::ProgramReport;
use crate::report::Report;

/// Returns reports of two days of one machine. On the second day the mailbox is slower, a get takes
/// the same time, and a put is faster. One measurement has no interval.
fn days() -> [Report; 2] {
    let mut a = made_up::report();
    a.measurements
        .push(made_up::within(Function::DmaPut, 500.0, 5.0));
    let mut b = a.clone();
    let p50 = |report: &mut Report, at: usize, p50: f64, to_either_side: f64| {
        let measurement = &mut report.measurements[at];
        measurement.latency_ns.p50 = p50;
        measurement.median_interval_ns = Some(Interval {
            low: p50 - to_either_side,
            high: p50 + to_either_side,
        });
    };
    p50(&mut b, 0, 200.0, 2.0);
    p50(&mut b, 1, 804.0, 8.0);
    p50(&mut b, 3, 250.0, 5.0);
    b.results[1].value = 191.0;
    b.matrices = vec![made_up::pair(Primitive::Atomic, 55.0)];
    [a, b]
}

fn compared([a, b]: &[Report; 2]) -> Comparison {
    try_compared(a, b, ["mon.json", "tue.json"]).unwrap()
}

fn try_compared(a: &Report, b: &Report, names: [&str; 2]) -> Result<Comparison, CompareError> {
    let [a, b] = [a, b].map(|report| Measured::Stats(report.clone()));
    Comparison::of(&a, &b, names)
}

/// Returns two runs of one program. In the second run the bandwidths are half as large as in the
/// first run, and the crossover is the same.
fn programs() -> [ProgramReport; 2] {
    let a = made_up::program();
    let mut b = a.clone();
    for result in &mut b.results {
        if result.name == "bandwidth" {
            result.value /= 2.0;
        }
    }
    [a, b]
}

fn compared_programs([a, b]: &[ProgramReport; 2]) -> Result<Comparison, CompareError> {
    let [a, b] = [a, b].map(|report| Measured::Program(report.clone()));
    Comparison::of(&a, &b, ["mon.json", "tue.json"])
}

#[test]
fn a_report_equals_itself() {
    let report = made_up::report();
    let comparison = compared(&[report.clone(), report]);
    assert!(comparison.results.iter().all(|ratio| ratio.value == 1.0));
    assert_eq!(comparison.results.len(), 3 + 2 + 2);
    assert_eq!(
        comparison.summary,
        Summary {
            compared: 5,
            geometric_mean_ratio: Some(1.0),
            median_deviation: Some(0.0),
            largest_deviation: Some(0.0),
            faster: 0,
            slower: 0,
            undecided: 5,
        }
    );
    assert_eq!(comparison.notes, [""; 0]);
    assert_eq!(
        (
            comparison.envelope.trust.trustworthy,
            comparison.envelope.complete
        ),
        (true, true)
    );
    let nothing: [&[String]; 3] = [
        &comparison.only_in_a,
        &comparison.only_in_b,
        &comparison.without_ratio,
    ];
    assert_eq!(nothing, [&[] as &[String]; 3]);
}

#[test]
fn ratios_are_those_of_medians_and_intervals_of_their_ends() {
    let comparison = compared(&days());
    let [mailbox, get, list, put, cache, latency, atomic] = &comparison.results[..] else {
        panic!("{:?}", comparison.results);
    };
    assert_eq!((mailbox.a, mailbox.b, mailbox.value), (160.0, 200.0, 1.25));
    assert_eq!(
        (mailbox.kind, mailbox.name.as_str()),
        (RatioKind::Measurement, "mailbox")
    );
    assert_eq!(
        json!(mailbox.parameters),
        json!({"spes": 2, "cell": 0, "between": "spe-spe"})
    );
    let interval = mailbox.interval.unwrap();
    assert_eq!(
        (interval.low, interval.high),
        (198.0 / 162.0, 202.0 / 158.0)
    );
    let verdicts = [mailbox, get, list, put, cache, latency, atomic].map(|ratio| ratio.verdict);
    use Verdict::{Faster, Slower, Undecided};
    assert_eq!(
        verdicts,
        [
            Slower, Undecided, Undecided, Faster, Undecided, Undecided, Undecided
        ]
    );
    assert!(get.interval.is_some());
    assert_eq!((list.value, list.interval), (1.0, None));
    assert_eq!((latency.kind, latency.value), (RatioKind::Finding, 2.0));
    assert_eq!(
        (atomic.kind, atomic.value),
        (RatioKind::Matrix, 55.0 / 50.0)
    );
    assert_eq!(
        json!(atomic.parameters),
        json!({"class": "same Cell", "polling": "compare-and-swap", "module": 0})
    );
}

#[test]
fn several_runs_of_a_side_are_their_median_and_their_spread() {
    let runs = |medians: [f64; 3]| {
        medians.map(|p50| {
            let mut report = days()[0].clone();
            report.measurements[0].latency_ns.p50 = p50;
            report.measurements[0].median_interval_ns = Some(Interval {
                low: p50 - 0.1,
                high: p50 + 0.1,
            });
            report.results.clear();
            Measured::Stats(report)
        })
    };
    let (mut a, b) = (runs([100.0, 130.0, 104.0]), runs([150.0, 131.0, 260.0]));
    let Measured::Stats(last) = &mut a[2] else {
        panic!("they are reports");
    };
    last.measurements.remove(1);
    last.envelope.trust.trustworthy = false;
    last.envelope.trust.reasons = vec!["others used 80 % of the CPUs".to_owned()];
    last.envelope.trust.kinds = vec![Some(ReasonKind::Disturbed)];
    let [a, b] = [(&a, ["a1", "a2", "a3"]), (&b, ["b1", "b2", "b3"])]
        .map(|(runs, names)| [0, 1, 2].map(|at| (names[at], &runs[at])));
    let comparison = Comparison::of_runs(&a, &b).unwrap();
    let [mailbox, get, ..] = &comparison.results[..] else {
        panic!("{:?}", comparison.results);
    };
    assert_eq!((mailbox.a, mailbox.b), (104.0, 150.0));
    let spread = |runs, low, high| Some(Spread { runs, low, high });
    assert_eq!(mailbox.spread_of_a, spread(3, 100.0, 130.0));
    assert_eq!(mailbox.spread_of_b, spread(3, 131.0, 260.0));
    assert_eq!(mailbox.verdict, Verdict::Slower);
    let interval = mailbox.interval.unwrap();
    assert_eq!((interval.low, interval.high), (130.9 / 130.1, 260.1 / 99.9));
    assert_eq!(get.spread_of_a.unwrap().runs, 2);
    assert_eq!(
        comparison.notes,
        [
            "a3 is not trustworthy: others used 80 % of the CPUs.",
            "Some runs of a1 and 2 more lack 1 value that others have.",
        ]
    );
    assert_eq!(
        comparison.envelope.trust.reasons,
        ["a3: others used 80 % of the CPUs"]
    );
    assert!(!comparison.envelope.trust.trustworthy);
    let plain = table(&comparison, cellworks_report::WIDTH)
        .replace("\u{1b}[1m", "")
        .replace("\u{1b}[0m", "");
    for expected in [
        "b1 and 2 more compared with a1 and 2 more\nA: a1, a2, a3, a workstation\nB: b1, b2, b3, a workstation\n",
        "The interval of several runs holds their values and their intervals.\n",
        "     A        range of A       B        range of B    B/A        interval    B is\n\
         104 ns  100 ns to 130 ns  150 ns  131 ns to 260 ns  1.442  1.006 to 2.604  slower\n",
    ] {
        assert!(plain.contains(expected), "{plain}");
    }
    let line = csv(&comparison).lines().nth(1).unwrap().to_owned();
    // B would have been slower beyond both intervals from (130.1 / 104) * (150 / 130.9) on.
    assert!(line.contains(",slower,100,130,131,260,1.4334"), "{line}");
    let error = Comparison::of_runs(&a, &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "one side has no run; name a file for each"
    );
}

#[test]
fn runs_of_a_program_show_which_side_has_the_higher_rate() {
    let [a, b] = programs();
    let [a, b] = [a, b].map(Measured::Program);
    let comparison = Comparison::of_runs(&[("a1", &a), ("a2", &a)], &[("b1", &b), ("b2", &b)]);
    let comparison = comparison.unwrap();
    let verdicts = comparison.results.iter();
    let verdicts: Vec<_> = verdicts
        .map(|ratio| (ratio.name.as_str(), ratio.verdict))
        .collect();
    assert_eq!(
        verdicts,
        [
            ("bandwidth", Verdict::Slower),
            ("bandwidth", Verdict::Slower),
            ("taken", Verdict::Undecided),
            ("crossover", Verdict::Undecided),
        ]
    );
    assert!(
        table(&comparison, cellworks_report::WIDTH)
            .contains("B is slower beyond both intervals in 2, faster")
    );
    let back = Comparison::of_runs(&[("b1", &b), ("b2", &b)], &[("a1", &a)]).unwrap();
    assert_eq!(
        back.summary.faster, 0,
        "one run of a program has no interval"
    );
}

#[test]
fn the_other_way_round_ratios_are_reciprocal() {
    let [a, b] = days();
    let (there, back) = (compared(&[a.clone(), b.clone()]), compared(&[b, a]));
    assert_eq!(there.results.len(), back.results.len());
    for (there, back) in there.results.iter().zip(&back.results) {
        assert!((there.value * back.value - 1.0).abs() < 1e-12);
        if let (Some(there), Some(back)) = (there.interval, back.interval) {
            assert!((there.low * back.high - 1.0).abs() < 1e-12);
        }
        let opposite = match there.verdict {
            Verdict::Faster => Verdict::Slower,
            Verdict::Slower => Verdict::Faster,
            Verdict::Undecided => Verdict::Undecided,
        };
        assert_eq!(back.verdict, opposite);
    }
    assert_eq!(
        (there.only_in_a, there.only_in_b),
        (back.only_in_b, back.only_in_a)
    );
}

#[test]
fn the_summary_has_the_distance_of_measurements() {
    // The ratios are 1.25, 1.005, 1, 0.5, and 1.1 of a matrix.
    let summary = compared(&days()).summary;
    let mean = (1.25_f64 * 1.005 * 0.5 * 1.1).powf(0.2);
    assert!((summary.geometric_mean_ratio.unwrap() - mean).abs() < 1e-12);
    assert!((summary.median_deviation.unwrap() - 0.1).abs() < 1e-12);
    assert_eq!(summary.largest_deviation, Some(0.5));
    assert_eq!(
        (
            summary.compared,
            summary.faster,
            summary.slower,
            summary.undecided
        ),
        (5, 1, 1, 3)
    );
}

#[test]
fn what_is_in_one_of_them_only_is_listed() {
    let [a, mut b] = days();
    b.measurements.remove(0);
    b.results
        .push(made_up::finding("wake_up_ns", 5_000.0, "ns", json!({})));
    let comparison = compared(&[a, b]);
    assert_eq!(
        comparison.only_in_a,
        [
            "mailbox (between=spe-spe, cell=0, spes=2)",
            "matrix of copy (block_bytes=1048576, class=same Cell)",
        ]
    );
    assert_eq!(comparison.only_in_b, ["wake_up_ns"]);
}

#[test]
fn values_that_are_not_above_0_have_no_ratio() {
    let [mut a, b] = days();
    a.results[1].value = 0.0;
    let comparison = compared(&[a, b]);
    assert_eq!(
        comparison.without_ratio,
        ["memory_latency_ns (loading_spes=0)"]
    );
    assert!(
        comparison
            .results
            .iter()
            .all(|ratio| ratio.name != "memory_latency_ns")
    );
}

#[test]
fn findings_alone_can_be_compared_without_a_summary() {
    let [mut a, b] = days();
    a.measurements.clear();
    a.matrices.clear();
    let summary = compared(&[a, b]).summary;
    assert_eq!((summary.compared, summary.geometric_mean_ratio), (0, None));
    assert_eq!(
        (summary.median_deviation, summary.largest_deviation),
        (None, None)
    );
}

#[test]
fn reports_with_nothing_in_common_are_an_error() {
    let mut a = made_up::bare();
    let mut b = made_up::report();
    b.measurements.remove(0);
    let error = |a: &Report, b: &Report| {
        let error = try_compared(a, b, ["a.json", "b.json"]).unwrap_err();
        error.to_string()
    };
    assert_eq!(
        error(&a, &b),
        "`a.json` and `b.json` have nothing in common: `a.json` has mailbox with 2 SPEs, `b.json` has dmaget, \
         dmalistget, cache_bytes and 3 more with 1 or 2 SPEs; run both with the same flags, and with as many SPEs"
    );
    a.measurements.clear();
    assert_eq!(
        error(&a, &a),
        "`a.json` and `b.json` have nothing in common: `a.json` has nothing, `b.json` has nothing; run both with \
         the same flags, and with as many SPEs"
    );
}

#[test]
fn a_run_of_a_program_is_compared_result_by_result() {
    let comparison = compared_programs(&programs()).unwrap();
    let ratios = comparison.results.iter();
    let ratios: Vec<_> = ratios
        .map(|ratio| (ratio.kind, ratio.name.as_str(), ratio.value, ratio.verdict))
        .collect();
    // The ratios are grouped by name, although the results of a program are grouped by run.
    assert_eq!(
        ratios,
        [
            (RatioKind::Result, "bandwidth", 0.5, Verdict::Undecided),
            (RatioKind::Result, "bandwidth", 0.5, Verdict::Undecided),
            (RatioKind::Result, "taken", 1.0, Verdict::Undecided),
            (RatioKind::Result, "crossover", 1.0, Verdict::Undecided),
        ]
    );
    assert_eq!(
        comparison.summary,
        Summary {
            compared: 4,
            geometric_mean_ratio: None,
            median_deviation: Some(0.25),
            largest_deviation: Some(0.5),
            faster: 0,
            slower: 0,
            undecided: 4,
        }
    );
    let plain = table(&comparison, cellworks_report::WIDTH)
        .replace("\u{1b}[1m", "")
        .replace("\u{1b}[0m", "");
    assert_eq!(
        plain,
        "\
tue.json compared with mon.json
A: mon.json, a blade
B: tue.json, a blade
4 results in both.
Half of the ratios are within 25.0 % of 1, all within 50.0 %.
mon.json is not trustworthy: others used 80 % of the CPUs; end them.
tue.json is not trustworthy: others used 80 % of the CPUs; end them.

bandwidth (bytes 1048576, SPEs 1)
buffering  cycles per byte         A         B    B/A
   double             11.7  875 MB/s  438 MB/s  0.500
   single              5.0  500 MB/s  250 MB/s  0.500

taken (buffering double, bytes 1048576, cycles per byte 11.7, SPEs 1)
               A                 B    B/A
11.9 cycles/byte  11.9 cycles/byte  1.000

crossover (buffering double, bytes 1048576, SPEs 1)
               A                 B    B/A
2.50 cycles/byte  2.50 cycles/byte  1.000
"
    );
    let page = html(&comparison);
    assert!(page.contains("4 results in both."), "{page}");
    let line = "result,crossover,buffering=double;bytes=1048576;spes=1,cycles/byte,2.5,2.5,1,,,undecided,,,,,\n";
    assert!(csv(&comparison).ends_with(line), "{}", csv(&comparison));
}

#[test]
fn different_commands_or_programs_are_an_error() {
    let [a, mut b] = programs();
    b.program = "aes".to_owned();
    assert_eq!(
        compared_programs(&[a.clone(), b]).unwrap_err().to_string(),
        "`mon.json` is what `cellworks run overlap` printed, `tue.json` what `cellworks run aes` printed: they \
         measure different things; run the same command for both"
    );
    let [stats, program] = [Measured::Stats(made_up::report()), Measured::Program(a)];
    let error = Comparison::of(&stats, &program, ["a.json", "b.json"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`a.json` is what `cellworks stats` printed, `b.json` what `cellworks run overlap` printed: they measure \
         different things; run the same command for both"
    );
}

#[test]
fn runs_of_a_program_with_other_parameters_have_nothing_in_common() {
    let [a, mut b] = programs();
    for result in &mut b.results {
        result.parameters.insert("spes".to_owned(), json!(2));
    }
    assert_eq!(
        compared_programs(&[a, b]).unwrap_err().to_string(),
        "`mon.json` and `tue.json` have nothing in common: `mon.json` has bandwidth, taken, crossover with 1 SPE, \
         `tue.json` has bandwidth, taken, crossover with 2 SPEs; run both with the same flags, and with as many SPEs"
    );
}

#[test]
fn notes_say_what_may_explain_the_difference() {
    let [a, mut b] = days();
    b.envelope.machine = made_up::machine("a laptop", 4, 4);
    b.envelope
        .machine
        .cells
        .push(b.envelope.machine.cells[0].clone());
    b.envelope.machine.memory_modules = 2;
    b.envelope.environment.kernel = None;
    b.envelope.environment.build = "debug".to_owned();
    b.envelope.environment.cellworks_version = "0.2.0".to_owned();
    b.envelope.environment.host.as_mut().unwrap().governors = vec!["powersave".to_owned()];
    b.envelope.environment.host.as_mut().unwrap().quota_cpus = None;
    b.envelope.trust.trustworthy = false;
    b.envelope.trust.reasons = vec!["others used 80 % of the CPUs; end them.".to_owned()];
    b.envelope.trust.kinds = vec![Some(ReasonKind::Disturbed)];
    b.envelope.complete = false;
    let comparison = compared(&[a, b]);
    assert_eq!(
        comparison.notes,
        [
            "Machines differ: a workstation (host) in mon.json, a laptop (host) in tue.json.",
            "Numbers of SPEs differ: 2 in mon.json, 4 in tue.json.",
            "Numbers of Cells differ: 1 in mon.json, 2 in tue.json.",
            "Numbers of memory modules differ: 1 in mon.json, 2 in tue.json.",
            "Operating systems differ: linux 6.1.0 on x86_64 in mon.json, linux of unknown release on x86_64 in \
             tue.json.",
            "Frequency governors differ: performance in mon.json, powersave in tue.json.",
            "CPU quotas differ: 1.5 CPUs in mon.json, none in tue.json.",
            "Versions of cellworks differ: 0.1.0 in mon.json, 0.2.0 in tue.json.",
            "tue.json was measured by a debug build, whose times mean little.",
            "tue.json is not trustworthy: others used 80 % of the CPUs; end them.",
            "tue.json is not complete: its run ended early.",
        ]
    );
    assert_eq!(
        (
            comparison.envelope.trust.trustworthy,
            comparison.envelope.trust.reasons,
            comparison.envelope.trust.kinds
        ),
        (
            false,
            vec!["tue.json: others used 80 % of the CPUs; end them.".to_owned()],
            vec![Some(ReasonKind::Disturbed)]
        )
    );
    assert!(!comparison.envelope.complete);
}

#[test]
fn the_envelope_is_that_of_the_first_report() {
    let [a, mut b] = days();
    b.envelope.machine = made_up::machine("a laptop", 2, 2);
    let comparison = compared(&[a.clone(), b.clone()]);
    assert_eq!(comparison.envelope.schema_version, SCHEMA_VERSION);
    assert_eq!(comparison.envelope.command, "compare");
    assert_eq!(
        (
            &comparison.envelope.machine,
            &comparison.envelope.environment
        ),
        (&a.envelope.machine, &a.envelope.environment)
    );
    assert_eq!(comparison.other.machine, b.envelope.machine);
    assert_eq!(
        (
            comparison.compared.a.as_str(),
            comparison.compared.b.as_str()
        ),
        ("mon.json", "tue.json")
    );
    let json = serde_json::to_value(&comparison).unwrap();
    let first = &json["results"][0];
    assert_eq!(
        (&first["name"], &first["value"], &first["unit"]),
        (&json!("mailbox"), &json!(1.25), &json!("ratio"))
    );
    assert_eq!(
        serde_json::from_value::<Comparison>(json).unwrap(),
        comparison
    );
}

#[test]
fn the_table_is_for_people() {
    let [a, mut b] = days();
    b.envelope.complete = false;
    b.measurements.remove(2);
    let mut far = b.measurements[1].clone();
    far.parameters.settings.block_bytes = Some(16 << 10);
    let (mut a, mut far_a) = (a, far.clone());
    far_a.latency_ns.p50 = 1_000.0;
    far_a.median_interval_ns = None;
    a.measurements.insert(2, far_a);
    b.measurements.insert(2, far);
    let table = table(&compared(&[a, b]), cellworks_report::WIDTH);
    let plain = table.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
    assert_ne!(plain, table, "titles are bold");
    let expected = "\
tue.json compared with mon.json
A: mon.json, a workstation
B: tue.json, a workstation
5 measurements in both: B takes 0.89 times as long, in the geometric mean.
Half of the ratios are within 19.6 % of 1, all within 50.0 %.
B is slower beyond both intervals in 1, faster beyond both in 1; in 3 they overlap, or one is not
  known.
1 run and 1 run cannot tell a change from what varies from run to run. Measure at least three times
  on each side.
tue.json is not complete: its run ended early.

Slowed down most, of those beyond both intervals
   1.250 times  mailbox

Sped up most, of those beyond both intervals
   0.500 times  dmaput

mailbox (between CPU-CPU, L3 group 0, CPUs 2)
     A       B    B/A        interval    B is
160 ns  200 ns  1.250  1.222 to 1.278  slower

dmaget (between memory-CPU, buffers shared, L3 group 0, node 0, CPUs 1)
block        A       B    B/A        interval
 1 KB   800 ns  804 ns  1.005  0.985 to 1.025
16 KB  1.00 us  804 ns  0.804

dmaput (between memory-CPU, block 1 KB, buffers shared, L3 group 0, node 0, CPUs 1)
     A       B    B/A        interval    B is
500 ns  250 ns  0.500  0.485 to 0.515  faster

cache_bytes (level 2)
   A     B    B/A
2 MB  2 MB  1.000

memory_latency_ns (loading CPUs 0)
      A       B    B/A
95.5 ns  191 ns  2.000

matrix of atomic (class same L3 group, node 0, polling compare-and-swap)
      A        B    B/A
50.0 ns  55.0 ns  1.100

Only in mon.json:
  dmalistget (between=memory-CPU, block_bytes=1024, buffers=private, cell=0, chains=4,
    list_elements=16, loading_spes=1, node=0, spes=2, stride_bytes=2048)
  matrix of copy (block_bytes=1048576, class=same L3 group)
";
    assert_eq!(plain, expected);
}

#[test]
fn csv_has_a_fixed_header_and_quotes_what_it_must() {
    assert_described(CSV_HEADER);
    let [mut a, mut b] = days();
    for report in [&mut a, &mut b] {
        report.measurements.truncate(1);
        report.matrices.truncate(1);
        report.results = vec![made_up::finding(
            "odd",
            3.0,
            "ns",
            json!({"note": "a, \"b\""}),
        )];
    }
    assert_eq!(
        csv(&compared(&[a, b])),
        "kind,name,parameters,value_unit,a,b,ratio,ratio_low,ratio_high,verdict,a_low,a_high,b_low,b_high,noticeable_slowdown\n\
         measurement,mailbox,between=spe-spe;cell=0;spes=2,ns,160,200,1.25,1.2222222222222223,1.2784810126582278,slower,,,,,1.0227272727272727\n\
         finding,odd,\"note=a, \"\"b\"\"\",ns,3,3,1,,,undecided,,,,,\n\
         matrix,atomic,class=same Cell;module=0;polling=compare-and-swap,ns,50,55,1.1,,,undecided,,,,,\n"
    );
}

#[test]
fn the_page_shows_text_as_it_is_and_loads_nothing() {
    let [a, b] = days();
    let page = html(&try_compared(&a, &b, ["<b>.json", "a&b.json"]).unwrap());
    assert!(
        page.contains("<h1>a&amp;b.json compared with &lt;b&gt;.json</h1>"),
        "{page}"
    );
    assert!(!page.contains("<b>.json"), "{page}");
    for outside in ["http", "src=", "@import", "url(", "<link"] {
        assert!(!page.contains(outside), "{outside} in {page}");
    }
    // The ratio of the latency is 2, so the axis goes from 1/2 to 2. The ratio of the put is 1/2,
    // so its point is at the left end.
    let put = page.split("<svg class=\"ratio faster\"").nth(1).unwrap();
    let put = put.split("</svg>").next().unwrap();
    assert!(put.contains("<circle cx=\"8.0\""), "{put}");
    assert!(
        put.contains("data-hover=\"0.500 times\n0.485 to 0.515\""),
        "{put}"
    );
    assert!(page.contains("<span>0.50</span><span>1</span><span>2.00</span>"));
}

#[test]
fn a_page_begins_with_the_warning_that_numbers_cannot_be_relied_upon() {
    let [a, mut b] = days();
    let sound = html(&compared(&[a.clone(), b.clone()]));
    assert!(!sound.contains("<aside"), "{sound}");
    b.envelope.environment.kernel = Some("6.2.0".to_owned());
    let other = html(&compared(&[a.clone(), b.clone()]));
    assert!(
        other.contains("<aside class=\"warning\"><h2>What may explain differences</h2>"),
        "{other}"
    );
    b.envelope.trust.trustworthy = false;
    b.envelope.trust.reasons = vec!["others used 80 % of the CPUs; end them".to_owned()];
    let doubtful = html(&compared(&[a, b]));
    let notice = doubtful
        .find("<aside class=\"doubt\" role=\"alert\"><h2>Not to be relied upon</h2>")
        .unwrap();
    assert!(notice < doubtful.find("<section").unwrap());
    assert_eq!(doubtful.matches("others used 80 %").count(), 1);
}

/// Returns reports of two days with measurements of 40 block sizes. On the second day, the transfer
/// of the largest block takes 50 times as long as on the first day. The other times are equal.
fn one_far_off() -> [Report; 2] {
    days().map(|mut report| {
        let is_second = report.matrices[0].classes[0].p50_ns == Some(55.0);
        report.measurements = (1..=40)
            .map(|size| {
                let ns = if is_second && size == 40 {
                    5_000.0
                } else {
                    100.0
                };
                let mut measurement = made_up::within(Function::DmaGet, ns, 1.0);
                measurement.parameters.settings.block_bytes = Some(size << 10);
                measurement
            })
            .collect();
        report.results.clear();
        report
    })
}

#[test]
fn what_is_far_off_the_axis_is_an_arrow_and_does_not_stretch_it() {
    let page = html(&compared(&one_far_off()));
    assert!(page.contains("<span>0.91</span><span>1</span><span>1.10</span>"));
    let arrow = "<polygon points=\"240.0,9 232.0,4 232.0,14\">";
    assert_eq!(page.matches(arrow).count(), 1, "{page}");
    // The axis for the largest differences includes this ratio.
    assert!(page.contains("<span>0.01</span><span>1</span><span>100</span>"));
}

#[test]
fn the_table_names_what_differs_most_and_keeps_to_100_columns() {
    let mut days = one_far_off();
    for report in &mut days {
        for (at, measurement) in report.measurements.iter_mut().enumerate() {
            let parameters = &mut measurement.parameters;
            parameters.spes = 2 + at % 2;
            parameters.cell = at % 3;
            parameters.module = Some(at % 5);
            parameters.settings.list_elements = Some(1_000 + at as u32);
            parameters.settings.chains = Some(at as u32);
            parameters.settings.loading_spes = Some(100 + at);
            parameters.settings.stride_bytes = Some(1_000_000 + at);
        }
    }
    let name = format!("{}tue.json", "a long name/".repeat(12));
    let comparison = try_compared(&days[0], &days[1], ["mon.json", &name]).unwrap();
    let table = table(&comparison, cellworks_report::WIDTH);
    let plain = table.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
    let wide = plain.lines().find(|line| line.chars().count() > 100);
    assert_eq!(wide, None, "{plain}");
    assert!(
        plain.contains(
            "Slowed down most, of those beyond both intervals\n    50.0 times  dmaget (block 40 KB, L3 group 0, chains 39, list 1039, \
             loading CPUs 139, node 4,\n"
        ),
        "{plain}"
    );
}

#[test]
fn both_figures_of_a_memory_matrix_are_compared_by_row_and_column() {
    let a = made_up::memory_matrix();
    let mut b = a.clone();
    let cell = &mut b.memory_matrix.as_mut().unwrap().cells[0][0];
    let cell = cell.as_mut().unwrap();
    cell.latency_ns *= 1.5;
    cell.latency_interval_ns = None;
    cell.bandwidth_bytes_per_s /= 2;
    let comparison = compared_thrice(&a, &b);
    let slowdowns: Vec<(&str, f64)> = comparison
        .slowdowns()
        .map(|(ratio, slowdown)| (ratio.name.as_str(), slowdown))
        .collect();
    assert_eq!(
        slowdowns,
        [("memory latency", 1.5), ("memory bandwidth", 2.0)]
    );
    assert_eq!(
        json!(comparison.results[0].parameters),
        json!({"block_bytes": 128 << 20, "cell": 0, "module": 0, "nearest_module": 0})
    );
}

/// Compares three runs of each side, which are all the same.
fn compared_thrice(a: &Report, b: &Report) -> Comparison {
    let [a, b] = [a, b].map(|report| Measured::Stats(report.clone()));
    let [a, b] = [(&a, ["a1", "a2", "a3"]), (&b, ["b1", "b2", "b3"])]
        .map(|(run, names)| names.map(|name| (name, run)));
    Comparison::of_runs(&a, &b).unwrap()
}

#[test]
fn one_run_of_a_computer_is_not_judged_and_three_are() {
    let [mut a, mut b] = days();
    a.results.clear();
    b.results.clear();
    let judgement = |mut comparison: Comparison| {
        comparison.judge(0.05);
        let first = table(&comparison, cellworks_report::WIDTH);
        let first = first.lines().nth(3).unwrap().to_owned();
        let Judgement {
            judged,
            slower,
            too_few_runs,
            ..
        } = comparison.judgement.unwrap();
        ((judged, slower, too_few_runs), first)
    };
    assert_eq!(
        judgement(compared(&[a.clone(), b.clone()])),
        (
            (0, 0, 5),
            "Not judged: no time and no rate has enough runs on both sides.".to_owned()
        )
    );
    // The mailbox and the matrix are slower.
    assert_eq!(
        judgement(compared_thrice(&a, &b)),
        (
            (5, 2, 0),
            "Slower: 2 of 5 times and rates are slower by more than 5 %.".to_owned()
        )
    );
    assert_eq!(
        judgement(compared_thrice(&b, &b)),
        (
            (5, 0, 0),
            "Not slower: none of 5 times and rates is slower by more than 5 %.".to_owned()
        )
    );
    // Each run of a simulated machine is the same.
    for report in [&mut a, &mut b] {
        report.envelope.machine.kind = "simulated".to_owned();
    }
    assert_eq!(judgement(compared(&[a, b])).0, (5, 2, 0));
}

#[test]
fn the_smallest_slowdown_that_would_have_been_noticed_is_said() {
    let mut report = days()[0].clone();
    report.matrices.clear();
    report.measurements.truncate(1);
    let run = |p50: f64| {
        let mut report = report.clone();
        report.measurements[0].latency_ns.p50 = p50;
        report.measurements[0].median_interval_ns = None;
        Measured::Stats(report)
    };
    let (a, b) = (
        [100.0, 104.0, 110.0].map(run),
        [100.0, 110.0, 120.0].map(run),
    );
    let [a, b] = [&a, &b].map(|runs| [0, 1, 2].map(|at| (["1", "2", "3"][at], &runs[at])));
    let mut comparison = Comparison::of_runs(&a, &b).unwrap();
    // A reaches up to 110 of 104, and B down to 100 of 110.
    let noticeable = comparison.results[0].noticeable_slowdown.unwrap();
    assert!((noticeable - 110.0 / 104.0 * 110.0 / 100.0).abs() < 1e-12);
    let says = |comparison: &Comparison, slowdown: &str| {
        let table = table(comparison, cellworks_report::WIDTH);
        assert!(
            table.contains(&format!(
                "A slowdown of {slowdown} % would have been noticed in half"
            )),
            "{table}"
        );
    };
    says(&comparison, "16.3");
    comparison.judge(0.5);
    says(&comparison, "50.0");

    comparison.judge(0.0);
    let one = comparison.results[0].clone();
    for slowdown in [1.4, 1.6] {
        let more = Some(slowdown);
        comparison.results.push(Ratio {
            noticeable_slowdown: more,
            ..one.clone()
        });
    }
    let said = table(&comparison, cellworks_report::WIDTH);
    let of_three = "A slowdown of 40.0 % would have been noticed in half of the rows, one of 60.0 % in nine of ten.";
    assert!(said.contains(of_three), "{said}");
}

/// `stats` and `compare` name a place of data by the same word.
#[test]
fn what_lies_in_a_cache_is_named_as_in_the_table_of_stats() {
    let [mut a, mut b] = days();
    for report in [&mut a, &mut b] {
        report.measurements[1].lies_in = Some(Storage::Cache);
    }
    let text = table(&compared(&[a.clone(), b.clone()]), cellworks_report::WIDTH);
    assert!(
        text.contains("between cache-CPU") && text.contains("between memory-CPU"),
        "{text}"
    );
    // In B it does not lie there.
    b.measurements[1].lies_in = Some(Storage::Memory);
    let text = table(&compared(&[a, b]), cellworks_report::WIDTH);
    assert!(!text.contains("cache-CPU"), "{text}");
}

#[test]
fn a_comment_has_the_verdict_first_and_unbroken_lines() {
    let [mut a, mut b] = days();
    for at in 0..130 {
        let name = format!("only_{at}");
        a.results
            .push(made_up::finding(&name, 3.0, "ns", json!({})));
    }
    let mut comparison = compared_thrice(&a, &b);
    comparison.judge(0.05);
    let text = markdown(&comparison);
    let start = "\
**Slower: 2 of 5 times and rates are slower by more than 5 %.**

| what | A | B | B/A | interval |
| :-- | --: | --: | --: | :-- |
| mailbox | 160 ns | 200 ns | 1.250 | 1.222 to 1.278 |
| matrix of atomic | 50.0 ns | 55.0 ns | 1.100 | 1.100 to 1.100 |

- A: a1, a2, a3
- B: b1, b2, b3
- 5 measurements in both: B takes 0.93 times as long, in the geometric mean.
";
    assert!(text.starts_with(start), "{text}");
    assert!(
        text.contains("they overlap, or one is not known.\n"),
        "{text}"
    );
    for folded in [
        "<details><summary>Faster beyond both intervals: 1</summary>\n\n| what |",
        "<details><summary>All ratios: 7</summary>\n\n| what |",
        "<details><summary>Only in a1 and 2 more: 131</summary>\n\n- only_0\n",
        "\n- and 81 more\n",
    ] {
        assert!(text.contains(folded), "{text}");
    }
    // A comment on GitHub has at most 65,536 characters.
    for at in 0..1_000 {
        let name = format!("{}{at}", "a_long_name_".repeat(8));
        for report in [&mut a, &mut b] {
            let finding = made_up::finding(&name, 3.0, "ns", json!({}));
            report.results.push(finding);
        }
    }
    let text = markdown(&compared_thrice(&a, &b));
    assert!(text.len() < 60_000, "{}", text.len());
    assert!(text.contains(" more rows are left out.\n"));
}
