//! What must not compile: using buffers while they are in flight, or after they are gone.

#[test]
fn misuse_of_staged_buffers_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/misuse/*.rs");
}
