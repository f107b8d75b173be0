//! The part of the world that holds the MFC of each SPE, and the caches of the atomic units.

// Rejected: typed transfers with the addresses of this computer's memory. The banks, and so the
// result, would depend on the allocator.

use std::cell::{Cell, RefCell};

use cellworks_machine::SpeId;

use super::state::{LINE, MfcState};
use crate::atomic::AtomicCaches;

/// The MFCs of a machine.
pub(crate) struct Mfcs {
    states: Vec<RefCell<MfcState>>,
    /// For each SPE, whether a command has ended since the last check of its threads' conditions.
    finished: Vec<Cell<bool>>,
    /// The caches of the atomic units.
    pub caches: RefCell<AtomicCaches>,
    /// The address in main memory that the next typed transfer gets.
    typed_address: Cell<u64>,
}

impl Mfcs {
    /// Makes the MFCs from their initial states, by SPE.
    pub fn new(states: Vec<RefCell<MfcState>>, caches: AtomicCaches) -> Self {
        Self {
            finished: vec![Cell::new(false); states.len()],
            states,
            caches: RefCell::new(caches),
            typed_address: Cell::new(0),
        }
    }

    /// The MFC of an SPE.
    #[inline]
    pub fn of(&self, spe: SpeId) -> &RefCell<MfcState> {
        &self.states[spe.index()]
    }

    /// All MFCs, by SPE.
    pub fn all(&self) -> &[RefCell<MfcState>] {
        &self.states
    }

    /// Records that a command of an MFC has ended, which the threads of its SPE may wait for.
    #[inline]
    pub fn set_finished(&self, spe: SpeId) {
        self.finished[spe.index()].set(true);
    }

    /// Whether a command has ended since the last call of this method.
    #[inline]
    pub fn take_finished(&self, spe: SpeId) -> bool {
        self.finished[spe.index()].replace(false)
    }

    /// The address in main memory that a typed transfer gets. The real addresses of ordinary memory
    /// differ from run to run. Therefore each transfer gets the next free addresses, and uses the
    /// banks in turn.
    pub fn next_typed_address(&self, bytes: u64) -> u64 {
        let address = self.typed_address.get();
        self.typed_address
            .set(address + bytes.next_multiple_of(LINE));
        address
    }
}
