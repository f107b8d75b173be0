//! The part of the world that holds the MFCs: one for each SPE, and the caches of their atomic
//! units.

// Rejected: real addresses in typed transfers. The bank would depend on the allocator, and the
// result with it.

use std::cell::{Cell, RefCell};

use cellworks_machine::SpeId;

use super::state::{LINE, MfcState};
use crate::atomic::AtomicCaches;

/// The MFCs of a machine.
pub(crate) struct Mfcs {
    states: Vec<RefCell<MfcState>>,
    /// By SPE: a command has ended, and the conditions of the SPE's threads have not been checked
    /// since.
    finished: Vec<Cell<bool>>,
    /// The caches of the atomic units.
    pub caches: RefCell<AtomicCaches>,
    /// The place in main memory that the next typed transfer is counted for.
    typed_address: Cell<u64>,
}

impl Mfcs {
    /// Idle MFCs, by SPE.
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

    /// A command of an MFC has ended, so the conditions of its SPE's threads have to be checked.
    #[inline]
    pub fn set_finished(&self, spe: SpeId) {
        self.finished[spe.index()].set(true);
    }

    /// Whether a command has ended since the last call.
    #[inline]
    pub fn take_finished(&self, spe: SpeId) -> bool {
        self.finished[spe.index()].replace(false)
    }

    /// The place in main memory that a typed transfer is counted for. The real addresses of
    /// ordinary memory differ from run to run, so each transfer gets the next addresses, and the
    /// banks are used in turn.
    pub fn next_typed_address(&self, bytes: u64) -> u64 {
        let address = self.typed_address.get();
        self.typed_address
            .set(address + bytes.next_multiple_of(LINE));
        address
    }
}
