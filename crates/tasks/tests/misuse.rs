//! Tests of programs that must not compile.

#[test]
#[cfg_attr(
    not(debug_assertions),
    ignore = "what does not compile in debug does not in release"
)]
fn misuse_of_tasks_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/misuse/*.rs");
}
