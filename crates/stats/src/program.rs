//! Joins the programs of SPEs, and checks the replies of SPEs.

use cellworks_machine::{CellMachine, Handle, SpeId};

use crate::error::{MeasureError, SpeError, Untrusted};

/// The word that an SPE writes to its outbound mailbox if its program has failed.
pub(crate) const FAILED: u32 = u32::MAX;

/// The error if the program of an SPE has failed. `Crew::dismiss` returns the SPE and the reason.
#[derive(Debug)]
pub(crate) struct Stopped;

/// Waits for the end of a program, and returns its result.
///
/// # Panics
///
/// Panics if the program panicked, with the same payload.
pub(crate) fn join<T, M: CellMachine>(
    handle: Handle<'_, Result<T, SpeError>, M>,
) -> Result<T, MeasureError> {
    let spe = handle.spe();
    match handle.join() {
        Ok(result) => result.map_err(|source| MeasureError::OnSpe { spe, source }),
        Err(panic) => std::panic::resume_unwind(panic.into_inner()),
    }
}

pub(crate) fn check(partner: SpeId, expected: u32, reply: u32) -> Result<(), Untrusted> {
    if reply == expected {
        return Ok(());
    }
    Err(Untrusted::new(format!(
        "{partner} was to reply {expected:#010x} and replied {reply:#010x}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_reply_names_both_words() {
        assert_eq!(check(SpeId::new(3), 7, 7), Ok(()));
        assert_eq!(
            check(SpeId::new(3), 7, 6).unwrap_err().to_string(),
            "the measurement cannot be trusted: SPE 3 was to reply 0x00000007 and replied \
             0x00000006; the machine is at fault, please report it"
        );
    }
}
