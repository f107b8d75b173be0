use super::views::CSV_HEADER;
use crate::csv::assert_described;
use crate::made_up;

#[test]
fn the_table_has_what_makes_the_difference() {
    let plain = super::table(&made_up::explanation(), cellworks_report::WIDTH);
    for line in [
        "graph.txt on today.csv",
        ": 3 tasks, 3 places\n",
        "cost of A    3,000  0 1 2\n",
        "cost of B    4,500  best.json: 0 2 1\n",
        "difference  +1,500  B costs 1.50 times as much as A\n",
        ": 1 of 2 pairs differ\n",
        "0 to 1      20  CPU 0 to CPU 1  1,000  CPU 0 to CPU 2  2,500      +1,500\n",
        ": 2 of 3 links and ports differ\n",
        "into CPU 1           20           40         +20\n",
        "into CPU 2           40           20         -20\n",
    ] {
        assert!(plain.contains(line), "{line}: {plain}");
    }
    assert!(
        !plain.contains("out of CPU 0"),
        "it carries the same: {plain}"
    );
}

#[test]
fn numbers_stay_whole_where_the_columns_do_not_fit() {
    let mut report = made_up::explanation();
    let names = [0, 1, 2].map(|cpu| format!("node 0 CPU {cpu}"));
    report.envelope.machine.spe_places = names.to_vec();
    report.pairs[0].volume = 6_553_600.0;
    report.pairs[0].cost_a = 23_592_960_000.0;
    report.pairs[0].cost_b = 316_538_880_000.0;
    for width in [80, 40, 1] {
        let plain = super::table(&report, width);
        let words: Vec<&str> = plain.split_whitespace().collect();
        for whole in [
            "6,553,600",
            "23,592,960,000",
            "316,538,880,000",
            "+292,945,920,000",
            "node",
        ] {
            assert!(words.contains(&whole), "{whole} at {width}: {plain}");
        }
    }
}

#[test]
fn two_placements_that_cost_the_same_say_so() {
    let mut report = made_up::explanation();
    report.placements[1] = report.placements[0].clone();
    for pair in &mut report.pairs {
        pair.cost_b = pair.cost_a;
    }
    report.links.truncate(0);
    let plain = super::table(&report, cellworks_report::WIDTH);
    assert!(
        plain.contains(": all 2 pairs cost the same with both placements\n"),
        "{plain}"
    );
}

#[test]
fn csv_has_a_line_for_each_pair() {
    assert_described(CSV_HEADER);
    assert_eq!(
        super::csv(&made_up::explanation()),
        "from,to,volume,from_a,to_a,from_b,to_b,cost_a,cost_b,difference\n\
         0,1,20,CPU 0,CPU 1,CPU 0,CPU 2,1000,2500,1500\n\
         1,2,40,CPU 1,CPU 2,CPU 2,CPU 1,2000,2000,0\n"
    );
}

#[test]
fn the_page_draws_both_placements() {
    let page = super::html(&made_up::explanation());
    for part in [
        "aria-label=\"A: 0,1,2\"",
        "aria-label=\"B: best.json\"",
        "data-hover=\"CPU 0 and CPU 2: volume 20, cost 2,500\"",
        "data-hover=\"CPU 1: task 2\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn too_many_places_are_not_drawn() {
    let mut report = made_up::explanation();
    report.around = (0..129).collect();
    let page = super::html(&report);
    assert!(!page.contains("aria-label=\"A: "), "{page}");
    assert!(page.contains("129 places are not drawn"), "{page}");
}
