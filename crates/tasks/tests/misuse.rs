//! What must not compile: tasks that reach each other's data, and what outlives them.

#[test]
fn misuse_of_tasks_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/misuse/*.rs");
}
