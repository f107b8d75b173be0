//! A guard in the list of an alternation, and in the list of its channel.

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
    /// Performs a ready guard. If the guard is not ready, clears its ready bit.
    fn attempt(&self, process: &Identity<'_>, woken: &mut Woken) -> Met;
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
    pub(super) channel: StdArc<RawChannel<T, L>>,
    pub(super) guard: Arc<Guard<T>>,
    pub(super) side: Side,
}

impl<T, L: Lock> Listed for ListedGuard<T, L> {
    fn attempt(&self, process: &Identity<'_>, woken: &mut Woken) -> Met {
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
                let met = state.read(&mut read, woken);
                let is_ready = match met {
                    Met::Done => state.may_be_read(),
                    Met::NoPartner => false,
                    Met::Ended(_) => true,
                };
                if !is_ready {
                    self.guard.clear_ready();
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
