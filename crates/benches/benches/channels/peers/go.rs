//! Programs in Go, which are built with the `go` of this computer.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A program in Go.
pub struct Program(PathBuf);

impl Program {
    /// A program that alternates over `channels` channels. Its argument is the number of messages.
    /// `None` if this computer has no Go.
    pub fn alternation(channels: usize) -> Option<Self> {
        let cases: Vec<String> = (0..channels)
            .map(|channel| format!("case <-ends[{channel}]:"))
            .collect();
        let text = include_str!("alternation.go")
            .replace("= 0 // CHANNELS", &format!("= {channels}"))
            .replace("// CASES", &cases.join("\n\t\t"));
        Self::build(&format!("alternation-{channels}"), &text)
    }

    /// Programs with goroutines on two CPUs. The arguments are the name of one of these programs,
    /// and its numbers. `None` if this computer has no Go.
    pub fn crossing() -> Option<Self> {
        Self::build("crossing", include_str!("crossing.go"))
    }

    fn build(name: &str, text: &str) -> Option<Self> {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let source = program.with_extension("go");
        std::fs::write(&source, text).expect("Cargo has made its directory for temporary files");
        let mut go = Command::new("go");
        // Go must not fetch another version of itself.
        go.env("GOTOOLCHAIN", "local");
        go.args(["build", "-o"]).arg(&program).arg(&source);
        match go.output() {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            result => {
                standard_output(&go, result);
                Some(Self(program))
            }
        }
    }

    /// Runs the program, on the CPUs of the calling thread. Returns nanoseconds for each message.
    pub fn run(&self, arguments: &[&str]) -> f64 {
        let mut program = Command::new(&self.0);
        program.args(arguments);
        let result = program.output();
        let printed = standard_output(&program, result);
        let ns = printed.trim().parse();
        ns.unwrap_or_else(|_| panic!("{program:?} printed {printed:?}, and a number was expected"))
    }
}

/// The standard output of a program. Panics if the program has not succeeded.
fn standard_output(program: &Command, result: std::io::Result<Output>) -> String {
    let output = result.unwrap_or_else(|error| panic!("cannot run {program:?}: {error}"));
    assert!(
        output.status.success(),
        "{program:?} ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}
