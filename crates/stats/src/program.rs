//! Programs of SPEs as the PPE uses them in all measurements: whether they failed, how they are
//! joined, and whether a reply is right.

use cellworks_machine::{CellMachine, Handle, SpeId};

use crate::error::{MeasureError, SpeError, Untrusted};

/// In the outbound mailbox: the SPE's program has failed. Its result has the reason.
pub(crate) const FAILED: u32 = u32::MAX;

/// A program of an SPE has failed. Dismissing the crew returns the SPE and the reason.
#[derive(Debug)]
pub(crate) struct Stopped;

/// Waits for a program. If the program panicked, the panic goes on here.
pub(crate) fn join<T, M: CellMachine>(
    handle: Handle<'_, Result<T, SpeError>, M>,
) -> Result<T, MeasureError> {
    let spe = handle.spe();
    match handle.join() {
        Ok(result) => result.map_err(|source| MeasureError::OnSpe { spe, source }),
        Err(payload) => std::panic::resume_unwind(payload),
    }
}

/// Compares a partner's reply with what it should be.
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
