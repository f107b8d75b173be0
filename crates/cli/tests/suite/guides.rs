//! The commands of the guides in `docs` print the output that the guides show.
//!
//! The test runs each block of a guide that begins with `console`. A line `...` matches any lines.
//! `TRYCMD=overwrite cargo test -p cellworks-cli guides` writes the current output into the guides.

#[test]
fn guides_show_what_their_commands_print() {
    trycmd::TestCases::new()
        .case("../../docs/measure.md")
        .case("../../docs/simulate.md");
}
