//! The commands of the guides in `docs` print what stands there.
//!
//! A block of a guide that begins with `console` is run; a line `...` stands for any number of
//! lines. `TRYCMD=overwrite cargo test -p cellworks-cli guides` writes what is printed now into the
//! guides.

#[test]
fn guides_show_what_their_commands_print() {
    trycmd::TestCases::new()
        .case("../../docs/measure.md")
        .case("../../docs/simulate.md");
}
