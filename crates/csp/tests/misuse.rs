//! Programs that must not compile: they share a value of one process, or use a value after giving
//! it away.

#[test]
fn misuse_of_channels_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/misuse/*.rs");
}
