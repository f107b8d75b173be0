//! A guard in the list of an alternation, and in the list of its channel.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc as StdArc;

use crate::channel::RawChannel;
use crate::channel::link::{Link, Side, Waiting};
use crate::channel::lock::Lock;
use crate::channel::party::Guard;
use crate::channel::protocol::Met;
use crate::channel::waker::Woken;
use crate::process::Identity;
use crate::sync::Arc;

pub(super) trait Listed {
    /// Performs a ready guard. If the guard is not ready, clears its ready bit. `leaves` says
    /// whether the bit may be left set: see [`CLEARS`].
    fn attempt(&self, process: &Identity<'_>, leaves: bool, woken: &mut Woken) -> Met;
    /// See [`State::meets`](crate::channel::protocol::State::meets).
    fn meets(&self, woken: &mut Woken) -> bool;
    fn enable(&self, enabled: bool);
    fn link(&self) -> &dyn Link;
    fn waiting(&self) -> Waiting<'_>;
    /// Returns a pointer to the [`Guard`], without the type of its items.
    fn guard(&self) -> NonNull<()>;
    fn forget_holder(&self);
}

pub(super) struct ListedGuard<T, L: Lock> {
    channel: StdArc<RawChannel<T, L>>,
    guard: Arc<Guard<T>>,
    side: Side,
    /// The address of the node of the last waiting writer, or that of the channel. The same process
    /// will probably wait with a node at the same address, so this address is prefetched.
    last_node: Cell<usize>,
    /// For how many items the ready bit is still cleared when the channel is empty: see [`CLEARS`].
    clears: Cell<u8>,
}

/// If a guard whose ready bit was left set is not ready, its bit is cleared after each of this many
/// items. Neither the alternation nor a writer changes a bit that is left set, which saves two
/// locked instructions, and a cache line if the writer is on another core. If the channel has no
/// writer yet when the guard is tried again, the attempt is in vain.
const CLEARS: u8 = 16;

impl<T, L: Lock> ListedGuard<T, L> {
    pub(super) fn new(channel: StdArc<RawChannel<T, L>>, guard: Arc<Guard<T>>, side: Side) -> Self {
        Self {
            last_node: Cell::new(channel.address()),
            channel,
            guard,
            side,
            clears: Cell::new(0),
        }
    }
}

impl<T, L: Lock> Listed for ListedGuard<T, L> {
    fn attempt(&self, process: &Identity<'_>, leaves: bool, woken: &mut Woken) -> Met {
        self.channel.prefetch_state();
        self.channel.prefetch_node(self.last_node.get());
        // SAFETY: the caller is the alternation, which is not in a wait, so it has sole access.
        let parcel = unsafe { self.guard.parcel() };
        let mut state = self.channel.lock();
        let is_new = self.channel.record_user_under_lock(self.side, process);
        match self.side {
            Side::Reader => {
                if is_new {
                    state.change_reader();
                }
                let mut read = None;
                if let Some(address) = state.writers.first_address() {
                    self.last_node.set(address);
                }
                let met = state.read(&mut read, woken);
                match met {
                    Met::Done if leaves && self.clears.get() == 0 => {}
                    Met::Done => {
                        self.clears.set(self.clears.get().saturating_sub(1));
                        if !state.may_be_read() {
                            self.guard.clear_ready();
                        }
                    }
                    Met::NoPartner => {
                        self.clears.set(CLEARS);
                        self.guard.clear_ready();
                    }
                    Met::Ended(_) => {}
                }
                // Releases the lock, because the assignment below may run an item's destructor.
                drop(state);
                if let Some(read) = read {
                    *parcel = Some(read);
                }
                met
            }
            Side::Writer => {
                let met = match parcel {
                    Some(_) => state.write(parcel, woken),
                    // SAFETY: as for `parcel`. The item is in another guard, or there is none.
                    None => match unsafe { self.guard.offered() } {
                        offered @ Some(_) => state.write(offered, woken),
                        None => Met::NoPartner,
                    },
                };
                if matches!(met, Met::NoPartner) {
                    self.guard.clear_ready();
                }
                met
            }
        }
    }

    fn meets(&self, woken: &mut Woken) -> bool {
        self.channel.lock().meets(self.side, &self.guard, woken)
    }

    fn enable(&self, enabled: bool) {
        self.guard.enable(enabled);
    }

    fn link(&self) -> &dyn Link {
        &*self.channel
    }

    fn waiting(&self) -> Waiting<'_> {
        self.channel.waiting(self.side)
    }

    fn guard(&self) -> NonNull<()> {
        NonNull::from(&*self.guard).cast()
    }

    fn forget_holder(&self) {
        // SAFETY: the alternation calls this method and does not wait, so it has sole access.
        unsafe { self.guard.set_holder(None) };
    }
}

impl<T, L: Lock> Drop for ListedGuard<T, L> {
    fn drop(&mut self) {
        self.channel.lock().remove_guard(self.side, &self.guard);
    }
}
