//! Programs that must not compile: they share a value that one process owns, or use a value that
//! they gave away.

#[test]
fn misuse_of_channels_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/misuse/*.rs");
}
