//! Programs that must not compile. They use buffers while a transfer is under way or after the
//! buffers are gone, or take programs and threads to where they do not belong.

#[test]
#[cfg_attr(
    not(debug_assertions),
    ignore = "what does not compile in debug does not in release"
)]
fn misuse_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/misuse/*.rs");
}
