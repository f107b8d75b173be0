//! The pages in `docs`: the commands of the guides print the output that the guides show, and the
//! page on JSON has all programs.
//!
//! The test runs each block of a guide that begins with `console`. A line `...` matches any lines.
//! `TRYCMD=overwrite cargo test -p cellworks-cli guides` writes the current output into the guides.

use cellworks_runner::{kind, names};

#[test]
fn guides_show_what_their_commands_print() {
    trycmd::TestCases::new()
        .case("../../docs/mapping.md")
        .case("../../docs/measure.md")
        .case("../../docs/simulate.md");
}

#[test]
fn the_page_on_json_has_every_program_with_its_quantities() {
    const PAGE: &str = include_str!("../../../../docs/json.md");
    for program in names() {
        let begin = format!("| `{program}` | ");
        let row = PAGE.lines().find(|line| line.starts_with(&begin));
        let row = row.unwrap_or_else(|| panic!("docs/json.md has no row for {program}"));
        for metric in kind(program).unwrap().metrics {
            let name = format!("`{}`", metric.name);
            assert!(row.contains(&name), "docs/json.md: {name} of {program}");
        }
    }
}
