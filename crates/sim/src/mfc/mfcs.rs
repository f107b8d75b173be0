//! The MFC of each SPE and the caches of the atomic units: a part of
//! [`World`](crate::world::World).

// Rejected: typed transfers with the addresses of this computer's memory. Their banks, and
// therefore the result of a run, would depend on the allocator.

use std::cell::{Cell, RefCell};

use cellworks_machine::SpeId;

use super::state::{LINE, MfcState};
use crate::atomic::AtomicCaches;

pub(crate) struct Mfcs {
    states: Vec<RefCell<MfcState>>,
    /// For each SPE, whether a command has ended since the conditions of its threads were last
    /// checked.
    finished: Vec<Cell<bool>>,
    pub caches: RefCell<AtomicCaches>,
    /// The address in main memory for the next typed transfer.
    typed_address: Cell<u64>,
}

impl Mfcs {
    /// Makes the MFCs from their initial states, which are in the order of the SPEs.
    pub fn new(states: Vec<RefCell<MfcState>>, caches: AtomicCaches) -> Self {
        Self {
            finished: vec![Cell::new(false); states.len()],
            states,
            caches: RefCell::new(caches),
            typed_address: Cell::new(0),
        }
    }

    #[inline]
    pub fn of(&self, spe: SpeId) -> &RefCell<MfcState> {
        &self.states[spe.index()]
    }

    pub fn all(&self) -> &[RefCell<MfcState>] {
        &self.states
    }

    /// Records that a command of an MFC has ended, because threads of the SPE may wait for its end.
    #[inline]
    pub fn set_finished(&self, spe: SpeId) {
        self.finished[spe.index()].set(true);
    }

    /// Whether a command of an MFC has ended since the last call of this method.
    #[inline]
    pub fn take_finished(&self, spe: SpeId) -> bool {
        self.finished[spe.index()].replace(false)
    }

    /// Returns the address in main memory for a typed transfer. The real addresses of ordinary
    /// memory differ from run to run. Therefore each transfer gets the next free addresses, and
    /// uses the banks in turn.
    pub fn next_typed_address(&self, bytes: u64) -> u64 {
        let address = self.typed_address.get();
        self.typed_address
            .set(address + bytes.next_multiple_of(LINE));
        address
    }
}
