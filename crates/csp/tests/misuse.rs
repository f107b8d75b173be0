//! What must not compile: sharing what one process owns, and using what was given away.

#[test]
fn misuse_of_channels_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/misuse/*.rs");
}
