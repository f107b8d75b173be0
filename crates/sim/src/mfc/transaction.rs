//! The transaction on the bus of a part of a command.

use cellworks_machine::SpeId;
use cellworks_machine::memory::LINE_BYTES;
use cellworks_machine::mfc::{Direction, EffectiveAddress};

use super::state::MfcState;
use crate::bus::Owner;
use crate::fabric::{Access, Endpoint, Place, Transaction};
use crate::world::World;

impl World {
    /// Returns the memory module of a line. The line must be in a region of main memory.
    pub(super) fn module_of(&self, mfc: &MfcState, ea: EffectiveAddress) -> Endpoint {
        let home = mfc
            .translation
            .with(ea, LINE_BYTES, |block, _, _| block.home());
        Endpoint::Module(home.map_or(0, |home| home.index() as u16))
    }
}

/// Makes a bus request of an MFC. The caller sets the token.
pub(super) fn request(
    of: SpeId,
    target: Endpoint,
    place: Place,
    access: Access,
    bytes: u32,
) -> Transaction {
    Transaction {
        requester: Endpoint::Spe(of.index() as u16),
        target,
        place,
        access,
        bytes,
        token: Owner::Thread(0).token(),
    }
}

pub(super) fn access_of(direction: Direction) -> Access {
    match direction {
        Direction::Get => Access::Read,
        Direction::Put => Access::Write,
    }
}
