//! The part of the world that is the MFCs: one for each SPE, and the caches of their atomic units.

use std::cell::{Cell, RefCell};

use cellworks_machine::SpeId;

use super::state::{LINE, MfcState};
use crate::atomic::AtomicCaches;

/// The MFCs of a machine.
pub(crate) struct Mfcs {
    states: Vec<RefCell<MfcState>>,
    /// By SPE: a command has ended and its threads have not looked since.
    finished: Vec<Cell<bool>>,
    /// The caches of the atomic units.
    pub caches: RefCell<AtomicCaches>,
    /// Where the next typed transfer is taken to be in main memory.
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

    /// A command of an MFC has ended, and the threads of its SPE have to look.
    #[inline]
    pub fn set_finished(&self, spe: SpeId) {
        self.finished[spe.index()].set(true);
    }

    /// Whether a command has ended since this was last asked.
    #[inline]
    pub fn take_finished(&self, spe: SpeId) -> bool {
        self.finished[spe.index()].replace(false)
    }

    /// Where a typed transfer is taken to be in main memory. Where ordinary memory lies differs
    /// from run to run, so it is dealt out to the banks in the order in which it is used.
    pub fn next_typed_address(&self, bytes: u64) -> u64 {
        let address = self.typed_address.get();
        self.typed_address
            .set(address + bytes.next_multiple_of(LINE));
        address
    }
}
