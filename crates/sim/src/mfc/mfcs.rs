//! All MFCs and the caches of the atomic units, a part of [`World`](crate::world::World).

// Rejected: typed transfers with addresses of this computer's memory. The memory banks that a
// transfer uses, and so the simulated times, would depend on the allocator.

use std::cell::{Cell, RefCell};

use cellworks_machine::SpeId;

use super::state::{LINE, MfcState};
use crate::atomic::AtomicCaches;

pub(crate) struct Mfcs {
    states: Vec<RefCell<MfcState>>,
    /// For each SPE, whether an MFC command has ended since the last call of `take_finished`.
    finished: Vec<Cell<bool>>,
    pub caches: RefCell<AtomicCaches>,
    /// The address in main memory of the next typed transfer.
    typed_address: Cell<u64>,
}

impl Mfcs {
    /// Makes the MFCs from their initial states, in the order of the SPEs.
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

    /// Records that an MFC command has ended. Threads of the SPE may wait for its end.
    #[inline]
    pub fn set_finished(&self, spe: SpeId) {
        self.finished[spe.index()].set(true);
    }

    /// Returns whether an MFC command has ended since the last call for this SPE.
    #[inline]
    pub fn take_finished(&self, spe: SpeId) -> bool {
        self.finished[spe.index()].replace(false)
    }

    /// Returns an address for a typed transfer. It does not depend on the real address of the
    /// memory, which differs from run to run.
    pub fn next_typed_address(&self, bytes: u64) -> u64 {
        let address = self.typed_address.get();
        self.typed_address
            .set(address + bytes.next_multiple_of(LINE));
        address
    }
}
