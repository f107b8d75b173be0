//! What the programs of both sides share.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cellworks_machine::{Processor, SpeId, Wake};

use super::address::Addresses;
use super::patience::Deeds;
use super::slice::Slices;
use super::wasi::Wasi;

/// What the programs of both sides share.
pub(crate) struct Shared {
    pub(super) wasi: Arc<Mutex<Wasi>>,
    pub(super) addresses: Arc<Addresses>,
    pub(super) deeds: Arc<Deeds>,
    pub(super) slices: Slices,
    pub(super) line_waits: Arc<LineWaits>,
}

/// The SPEs whose programs wait for the loss of a reservation. A store of the PPU ends it without a
/// call of the machine, and no store makes the machine look whether such a wait has ended.
#[derive(Default)]
pub(super) struct LineWaits {
    spes: Mutex<BTreeSet<SpeId>>,
    /// Whether there may be one.
    any: AtomicBool,
}

impl LineWaits {
    fn spes(&self) -> MutexGuard<'_, BTreeSet<SpeId>> {
        self.spes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that an SPE waits, before it looks at its line.
    pub(super) fn begin(&self, spe: SpeId) {
        let mut spes = self.spes();
        spes.insert(spe);
        self.any.store(true, Ordering::Relaxed);
        // The other one is in `tell`: it sees this wait, or the wait sees what was stored.
        fence(Ordering::SeqCst);
    }

    /// Notes that an SPE waits no more.
    pub(super) fn end(&self, spe: SpeId) {
        let mut spes = self.spes();
        spes.remove(&spe);
        self.any.store(!spes.is_empty(), Ordering::Relaxed);
    }

    /// Makes the SPEs look at their lines, to which the program of `by` may have stored.
    pub(super) fn tell(&self, by: &(impl Wake + ?Sized)) {
        fence(Ordering::SeqCst);
        if !self.any.load(Ordering::Relaxed) {
            return;
        }
        let spes = self.spes().clone();
        for spe in spes {
            by.notify(Processor::Spe(spe));
        }
    }
}
