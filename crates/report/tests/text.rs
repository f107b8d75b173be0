//! The text for people at a terminal, without colours.

mod made_up;

use cellworks_report::{Report, WIDTH, heat_map, table};
use cellworks_stats::{Between, Doubt, Function, Parameters, Settings};
use made_up::{alone, captured_64_cores, doubtful, empty, matrix, measurement, times, two_cores};

/// Removes the colours from a text.
fn plain(styled: &str) -> String {
    let mut text = String::new();
    let mut rest = styled;
    while let Some((before, styled)) = rest.split_once("\u{1b}[") {
        text += before;
        rest = styled.split_once('m').unwrap().1;
    }
    text + rest
}

fn heat_map_of(spes: usize, cell: usize) -> String {
    let machine = empty(spes, cell).envelope.machine;
    let matrix = matrix(&machine, times(spes, cell));
    let text = plain(&heat_map::render(&matrix, &machine, WIDTH));
    assert_fits(&text);
    text
}

fn assert_fits(text: &str) {
    let wide = text.lines().find(|line| line.chars().count() > 100);
    assert_eq!(wide, None, "passes 100 columns");
    let blanks = text.lines().find(|line| line.ends_with(' '));
    assert_eq!(blanks, None, "ends with blanks");
}

#[test]
fn a_complete_report() {
    let text = plain(&table::render(&two_cores(), WIDTH));
    assert_fits(&text);
    insta::assert_snapshot!(text);
}

#[test]
fn a_report_that_is_neither_complete_nor_trustworthy() {
    let mut report = doubtful();
    report.measurements.truncate(2);
    report.results.clear();
    let text = plain(&table::render(&report, WIDTH));
    assert_fits(&text);
    insta::assert_snapshot!(text);
}

#[test]
fn a_computer_with_several_numa_nodes_is_told_how_to_measure_them() {
    let mut report = two_cores();
    let says = |report: &Report| {
        let text = plain(&table::render(report, WIDTH));
        text.contains("`cellworks stats --matrix memory`")
    };
    assert!(!says(&report));
    report.envelope.machine.memory_modules = 2;
    assert!(says(&report));
    // A report of one function needs no advice on what to run next.
    report.matrices.clear();
    assert!(!says(&report));
}

#[test]
fn heat_maps_of_2_and_16_spes_have_a_number_for_each_pair() {
    insta::assert_snapshot!("2_spes", heat_map_of(2, 2));
    insta::assert_snapshot!("16_spes", heat_map_of(16, 4));
}

#[test]
fn heat_maps_of_64_and_576_spes_have_medians_of_blocks() {
    let report = captured_64_cores();
    let text = plain(&heat_map::render(
        &report.matrices[0],
        &report.envelope.machine,
        WIDTH,
    ));
    assert_fits(&text);
    insta::assert_snapshot!("64_spes", text);
    insta::assert_snapshot!("576_spes", heat_map_of(576, 96));
}

#[test]
fn pairs_that_were_not_measured_are_blank() {
    let machine = empty(3, 3).envelope.machine;
    let mut some = times(3, 3);
    some[0][2] = None;
    let text = plain(&heat_map::render(&matrix(&machine, some), &machine, WIDTH));
    assert!(text.contains("Measured: 5 of 6 pairs"), "{text}");
    assert!(text.contains("\nCPU 0           41.5\n"), "{text}");
    let none = vec![vec![None; 3]; 3];
    let text = plain(&heat_map::render(&matrix(&machine, none), &machine, WIDTH));
    assert!(text.contains("Measured: 0 of 6 pairs"), "{text}");
    assert!(!text.contains("Colours"), "{text}");
}

#[test]
fn cells_are_coloured_and_near_pairs_differ_from_far_ones() {
    let machine = empty(8, 4).envelope.machine;
    let text = heat_map::render(&matrix(&machine, times(8, 4)), &machine, WIDTH);
    // These colours are the two ends of Viridis.
    assert!(text.contains("48;2;68;1;84m"), "{text:?}");
    assert!(text.contains("48;2;253;231;37m"), "{text:?}");
}

#[test]
fn chains_and_load_have_columns_where_there_are_some() {
    let mut report = empty(2, 2);
    let parameters = Parameters {
        settings: Settings {
            chains: Some(4),
            loading_spes: Some(1),
            ..alone(Between::MemorySpe).settings
        },
        ..alone(Between::MemorySpe)
    };
    let measured = measurement(Function::DmaGet, 90.0, parameters);
    report.measurements.push(measured);
    let text = plain(&table::render(&report, WIDTH));
    let heading =
        "between     CPUs  L3  chains  loading     mean      min   median  ± %    99 %  outliers";
    assert!(text.contains(heading), "{text}");
    let text = plain(&table::render(&two_cores(), WIDTH));
    assert!(
        !text.contains("chains") && !text.contains("loading"),
        "{text}"
    );
}

#[test]
fn columns_and_doubts_are_explained_where_they_differ() {
    let mut report = empty(2, 2);
    for (chains, loading) in [(1, 0), (4, 1)] {
        let parameters = Parameters {
            settings: Settings {
                chains: Some(chains),
                loading_spes: Some(loading),
                ..alone(Between::MemorySpe).settings
            },
            ..alone(Between::MemorySpe)
        };
        let measured = measurement(Function::Chase, 90.0, parameters);
        report.measurements.push(measured);
    }
    report.measurements[1].doubts = vec![Doubt::Disturbed];
    let of_doubts = "The doubt is disturbed if other programs used the CPUs meanwhile, unsteady if the times are between \
                     CPUs and the computer was not in its main state, and uncertain if ± is more than 10 % or not known.";
    let explained = [
        of_doubts,
        "\nchains: the pointers that are followed at once.\nloading: the other CPUs that copy memory meanwhile.\n",
    ];
    let text = plain(&table::render(&report, 500));
    let is_there = |part: &&str| text.contains(*part);
    assert!(explained.iter().all(is_there), "{text}");
    report.measurements.truncate(1);
    let text = plain(&table::render(&report, 500));
    let is_there = |part: &&str| text.contains(*part);
    assert!(!explained.iter().any(is_there), "{text}");
}

#[test]
fn measurements_in_two_states_have_both() {
    let report = made_up::report();
    let sentence = "dmalistget 1 KB, 2 CPUs, private, 4 chains, 1 CPU loading took 1.00 us in 75 % of the samples and \
                    2.40 us in 25 %.";
    let table = plain(&table::render(&report, WIDTH)).replace("\n  ", " ");
    assert!(
        table.contains(&format!("Two states\n- {sentence}")),
        "{table}"
    );
    let page = cellworks_report::html::render(&report);
    assert!(page.contains("Two states") && page.contains(sentence));
    // Most reports have no such section.
    let steady = two_cores();
    assert!(!table::render(&steady, WIDTH).contains("Two states"));
    assert!(!cellworks_report::html::render(&steady).contains("Two states"));
}
