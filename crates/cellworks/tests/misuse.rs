//! Programs that must not compile: they use buffers during a transfer or after their lifetime, or
//! send programs and threads to places where they must not be.

#[test]
#[cfg_attr(
    not(debug_assertions),
    ignore = "what does not compile in debug does not in release"
)]
fn misuse_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/misuse/*.rs");
}
