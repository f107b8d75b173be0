//! The proxy queue of an MFC, by which the PPE issues commands to the MFC.

use std::panic::resume_unwind;

use cellworks_machine::mfc::{Command, CommandFault, PushError, RawCommand, TagMask};
use cellworks_machine::{SpeId, TryIssueError};
use cellworks_threads as threads;

use crate::index::PPE;
use crate::issuer::Issuer;
use crate::world::World;

impl World {
    pub fn check_proxy(&self, spe: SpeId, command: RawCommand) -> Result<Command, CommandFault> {
        let mfc = self.mfcs.of(spe).borrow();
        let checked = command.check_proxy(mfc.local_store.bytes() as u32);
        checked.map_err(|fault| mfc.refused(command, fault))
    }

    /// Adds a checked command to the proxy queue of an MFC, in no simulated time.
    pub fn issue_proxy(&self, spe: SpeId, command: &Command) -> Result<(), TryIssueError> {
        let mut mfc = self.mfcs.of(spe).borrow_mut();
        let checked = mfc.check_addresses(command, self.spe_count());
        checked.map_err(|fault| mfc.refused(command.into(), fault))?;
        let entry = match mfc.proxy.queue.push(*command) {
            Ok(entry) => entry,
            Err(PushError::Full { .. }) => return Err(TryIssueError::Full),
            Err(PushError::Fault(fault)) => return Err(mfc.refused(command.into(), fault).into()),
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

    /// Panics in the PPE if a proxy command has failed and no call has returned its error. The
    /// panic has this error as its payload.
    pub fn panic_if_proxy_faulty(&self) {
        if !threads::is_unwinding()
            && let Some(error) = self.take_late_error(self.processor(PPE))
        {
            // `panic!` would also print the location of this line, which the user does not need.
            resume_unwind(error);
        }
    }
}
