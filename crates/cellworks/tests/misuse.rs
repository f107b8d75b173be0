//! Programs that must not compile. They use buffers during a transfer or after their lifetime, send
//! programs, threads or processes to places where they must not be, use an item after it was
//! written to a channel, or change data that another task reads.
//!
//! The cases of all crates are here, because each suite builds its dependencies anew.

#[test]
#[cfg_attr(
    not(debug_assertions),
    ignore = "what does not compile in debug does not in release"
)]
fn misuse_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/misuse/*.rs");
}
