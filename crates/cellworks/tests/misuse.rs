//! What must not compile: using buffers while they are in flight, or after they are gone, and
//! taking programs and threads to where they do not belong.

#[test]
#[cfg_attr(
    not(debug_assertions),
    ignore = "what does not compile in debug does not in release"
)]
fn misuse_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/misuse/*.rs");
}
