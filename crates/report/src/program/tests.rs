use crate::made_up;

#[test]
fn rows_have_the_numbers_of_a_run_and_what_all_share_stands_above() {
    let plain = super::table(&made_up::program(), cellworks_report::WIDTH);
    assert!(plain.contains(": bytes 1 MB, spes 1\n"), "{plain}");
    let lines: Vec<Vec<&str>> = plain
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let row = ["double", "11.7", "875", "MB/s", "11.9"];
    assert!(lines.iter().any(|line| *line == row), "{plain}");
    assert!(
        lines.iter().any(|line| *line == ["double", "2.50"]),
        "{plain}"
    );
}

#[test]
fn csv_has_a_column_for_every_parameter() {
    assert_eq!(
        super::csv(&made_up::program()),
        "program,name,value,unit,buffering,bytes,cycles_per_byte,spes\n\
         overlap,bandwidth,875000000,bytes/s,double,1048576,11.7,1\n\
         overlap,taken,11.9,cycles/byte,double,1048576,11.7,1\n\
         overlap,bandwidth,500000000,bytes/s,single,1048576,5.0,1\n\
         overlap,crossover,2.5,cycles/byte,double,1048576,,1\n"
    );
}

#[test]
fn the_page_draws_the_curves() {
    let page = super::html(&made_up::program());
    assert!(page.contains("Moved by all SPEs together"), "{page}");
    // A computation of 0 cycles per byte has no position on a logarithmic axis.
    assert!(page.contains("double\n0.100 cycles/byte"), "{page}");
    assert!(!page.contains("double\n0 cycles/byte"), "{page}");
}
