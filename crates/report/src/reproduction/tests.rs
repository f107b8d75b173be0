use super::views::CSV_HEADER;
use super::*;
use crate::csv::assert_described;
use crate::made_up;

fn plain(styled: &str) -> String {
    let mut parts = styled.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').unwrap().1)
}

#[test]
fn the_table_has_a_block_for_each_kind_of_number() {
    let text = plain(&table(&made_up::reproduction(), cellworks_report::WIDTH));
    let wide = text.lines().find(|line| line.chars().count() > 100);
    assert_eq!(wide, None, "passes 100 columns");
    insta::assert_snapshot!(text);
}

#[test]
fn csv_has_a_line_for_each_number_and_quotes_what_must_be() {
    assert_described(CSV_HEADER);
    let text = csv(&made_up::reproduction());
    insta::assert_snapshot!(text);
    let commas = CSV_HEADER.matches(',').count();
    let unquoted = text.lines().filter(|line| !line.contains('"'));
    assert!(unquoted.clone().count() > 0);
    for line in unquoted {
        assert_eq!(line.matches(',').count(), commas, "{line}");
    }
}

#[test]
fn the_page_has_the_numbers_and_the_curves_and_loads_nothing() {
    let page = html(&made_up::reproduction());
    for text in [
        "What Primitives Cost, simulated",
        "Fitted: 1",
        "Derived: 1",
        "Independent: 2",
        "Predictions: 1",
        "-7.0 %",
        "data-hover=\"longest divided by shortest\"",
        "Not everything was simulated",
        "Figure 4",
        "<figcaption>XDRAM0, latency</figcaption>",
        "<figcaption>XDRAM0, bandwidth</figcaption>",
        "data-hover=\"8 SPEs, 128 B\n900 ns",
        "a console",
    ] {
        assert!(page.contains(text), "{text}");
    }
    for loads in [
        "http:", "https:", "src=", "@import", "url(", "<link", "<img",
    ] {
        assert!(!page.contains(loads), "{loads}");
    }
}

#[test]
fn speed_ups_are_drawn_beside_the_ideal_ones_and_in_place_of_times() {
    let page = html(&made_up::speed_ups());
    for text in [
        "<figcaption>XDRAM0, speed-up</figcaption>",
        "data-hover=\"2 threads, 16 SPEs\n125 us\n12.0 times as fast",
        "data-hover=\"ideal, 16 SPEs",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("XDRAM0, latency"));

    let mut by_operations = made_up::speed_ups();
    by_operations.figures[0].against = "operations".to_owned();
    let page = html(&by_operations);
    assert!(page.contains("2 threads, 16 operations\n"));
    assert!(
        !page.contains("ideal"),
        "it has nothing to do with operations"
    );
}

#[test]
fn figures_are_left_out_where_there_are_none() {
    let mut without = made_up::reproduction();
    without.figures.clear();
    assert!(!html(&without).contains("id=\"figures\""));
}

#[test]
fn errors_are_summarized_apart_by_relation() {
    let whole = made_up::reproduction();
    let error = |percent: f64, relation: Relation| Reproduced {
        name: format!("of {percent}"),
        error_percent: Some(percent),
        relation: Some(relation),
        ..whole.results[0].clone()
    };
    let results = [
        error(-30.0, Relation::Independent),
        error(5.0, Relation::Independent),
        error(-6.0, Relation::Independent),
        error(20.0, Relation::Independent),
        error(2.0, Relation::Derived),
        error(1.0, Relation::Fitted),
    ];
    let summary = ReproductionSummary::of(&results);
    let independent = summary.independent;
    assert_eq!(independent.median_percent, Some(13.0));
    assert_eq!(independent.worst_percent, Some(30.0));
    assert_eq!(independent.worst.as_deref(), Some("of -30"));
    let within = [
        independent.within_5_percent,
        independent.within_10_percent,
        independent.within_25_percent,
    ];
    assert_eq!(within, [1, 2, 3]);
    assert_eq!(summary.derived.median_percent, Some(2.0));
    assert_eq!(summary.calibration.median_percent, Some(1.0));
    assert_eq!(summary.validation.numbers, 5);
    assert_eq!(
        ReproductionSummary::of(&[]).calibration.median_percent,
        None
    );
}
