//! Failures of the command, with their exit codes and messages.

use std::fmt::Display;

use cellworks_report::{ReasonKind, Trust};

use crate::message;

/// A failure or an early end of the command.
#[derive(Debug)]
pub enum Failure {
    /// The arguments, or the files that they name, are wrong: exit code 2.
    Usage(String),
    /// The run failed: exit code 1.
    Run(String),
    /// The printed result is not reliable. The exit code is 1 if a result is impossible or a
    /// simulation failed. The exit code is 3 for other reasons, because another run may be better.
    Untrusted(Trust),
    /// The second side of a comparison is slower than the user allows: exit code 4.
    Slower(String),
    /// The user pressed Ctrl-C: exit code 130, as in shells (128 + SIGINT).
    Interrupted,
    /// The reader of the output has closed the pipe. This is not an error.
    ClosedPipe,
}

impl Failure {
    /// Makes the failure of arguments or files that are wrong.
    pub(crate) fn usage(why: impl Display) -> Self {
        Self::Usage(why.to_string())
    }

    /// Makes the failure of a run.
    pub(crate) fn run(why: impl Display) -> Self {
        Self::Run(why.to_string())
    }
}

/// Returns the exit code of the command, and prints the message of a failure.
pub fn exit_code(end: Result<(), Failure>) -> u8 {
    let (code, message) = match end {
        Ok(()) | Err(Failure::ClosedPipe) => return 0,
        Err(Failure::Interrupted) => return 130,
        Err(Failure::Run(message)) => (1, message),
        Err(Failure::Usage(message)) => (2, message),
        Err(Failure::Untrusted(trust)) => verdict(&trust),
        Err(Failure::Slower(message)) => (4, message),
    };
    message::error(&message);
    code
}

/// Returns the exit code of a result that is not reliable, and a message with all reasons.
fn verdict(trust: &Trust) -> (u8, String) {
    let has = |wanted| trust.reasons().any(|(_, kind)| kind == Some(wanted));
    let (code, what) = if has(ReasonKind::Impossible) {
        (1, "measured what cannot be true")
    } else if has(ReasonKind::Failed) {
        (1, "not everything was simulated")
    } else {
        (3, "measured, but not trustworthy")
    };
    (code, format!("{what}:\n  {}", trust.reasons.join("\n  ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_disturbed_or_is_uncertain_or_foreign_ends_with_3() {
        use ReasonKind::{Disturbed, Failed, Foreign, Impossible, Uncertain};

        let distrust = "measured, but not trustworthy";
        for (kinds, expected) in [
            (&[Disturbed][..], (3, distrust)),
            (&[Uncertain], (3, distrust)),
            (&[Foreign], (3, distrust)),
            (&[Disturbed, Uncertain], (3, distrust)),
            (&[Impossible], (1, "measured what cannot be true")),
            (
                &[Disturbed, Impossible, Uncertain],
                (1, "measured what cannot be true"),
            ),
            (&[Failed], (1, "not everything was simulated")),
        ] {
            let trust = Trust {
                trustworthy: false,
                reasons: (0..kinds.len())
                    .map(|at| format!("reason {at}; end it"))
                    .collect(),
                kinds: kinds.iter().copied().map(Some).collect(),
            };
            let (code, message) = verdict(&trust);
            let mut lines = message.lines();
            let first = lines.next().and_then(|line| line.strip_suffix(':'));
            assert_eq!((code, first), (expected.0, Some(expected.1)), "{kinds:?}");
            let reasons: Vec<String> = trust
                .reasons
                .iter()
                .map(|text| format!("  {text}"))
                .collect();
            assert_eq!(lines.collect::<Vec<_>>(), reasons);
        }
    }
}
