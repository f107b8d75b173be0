//! The proxy queue, through which the PPE gives commands to an MFC without a program on the SPE.

use std::panic::resume_unwind;

use cellworks_machine::mfc::{Command, MfcFault, PushError, RawCommand, TagMask};
use cellworks_machine::{SpeId, TryIssueError};
use cellworks_threads as threads;

use crate::index::PPE;
use crate::issuer::Issuer;
use crate::world::World;

impl World {
    /// Checks the form of a command for the proxy queue of an MFC.
    pub fn check_proxy(&self, spe: SpeId, command: RawCommand) -> Result<Command, MfcFault> {
        let mfc = self.mfcs.of(spe).borrow();
        command.check_proxy(mfc.local_store.bytes() as u32)
    }

    /// Puts a checked command into the proxy queue of an MFC. This takes no simulated time.
    pub fn issue_proxy(&self, spe: SpeId, command: &Command) -> Result<(), TryIssueError> {
        let mut mfc = self.mfcs.of(spe).borrow_mut();
        mfc.check_addresses(command, self.spe_count())?;
        let entry = match mfc.proxy.queue.push(*command) {
            Ok(entry) => entry,
            Err(PushError::Full { .. }) => return Err(TryIssueError::Full),
            Err(PushError::Fault(fault)) => return Err(fault.into()),
        };
        self.watch_command(&mut mfc, Issuer::Ppe, entry, command);
        self.start_commands(&mut mfc);
        self.pump(&mut mfc);
        drop(mfc);
        self.notify_if_finished(spe);
        Ok(())
    }

    pub fn has_free_proxy_entry(&self, spe: SpeId) -> bool {
        self.mfcs.of(spe).borrow().proxy.queue.free_entries() > 0
    }

    pub fn incomplete_proxy_tags(&self, spe: SpeId) -> TagMask {
        self.mfcs.of(spe).borrow().proxy.queue.incomplete_tags()
    }

    /// Panics in the PPE if an MFC has a late error of a proxy command: an error that was found
    /// after the return of the call that caused the error.
    pub fn panic_if_proxy_faulty(&self) {
        if !threads::is_unwinding()
            && let Some(error) = self.take_late_error(self.processor(PPE))
        {
            // `panic!` would print the location of this line, which is not that of the error.
            resume_unwind(error);
        }
    }
}
