//! Halves: the second closures of the `join` calls of a thread, which have not begun.
//!
//! Each half lies on the stack of its `join`. The halves that were not offered to other workers
//! form a list, so that a `join` adds and removes its half without atomic operations. When another
//! worker asks for work, the oldest half, usually the largest, leaves the list for a ticket.
//!
//! ```text
//!   end ◄──► oldest ◄──► ... ◄──► newest         offered: not in the list, but in a queue
//! ```
//!
//! The cooperative threads of a task share its [`Worker`](crate::Worker), so their `join` calls end
//! in any order, and a half may be removed anywhere in the list.

// Rejected: a vector whose length the end of a `join` sets back. It is wrong if joins of several
// cooperative threads end in another order than they began in reverse.

use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;

use cellworks_machine::{Payload, Spe};

use crate::job::Ticket;
use crate::worker::Worker;

/// The state of the second closure of a `join` which [`Halves`] knows.
pub(crate) struct Half<S: Spe> {
    run: Option<RunHalf<S>>,
    place: Cell<Place>,
    /// The neighbours in the list. They are valid, because each `join` removes its half.
    older: Cell<*const Half<S>>,
    newer: Cell<*const Half<S>>,
    /// Initialised if `place` is `Offered`.
    ticket: UnsafeCell<MaybeUninit<Arc<Ticket<S>>>>,
}

type RunHalf<S> = unsafe fn(*const Half<S>, &Worker<'_, S>) -> Result<(), Payload>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In the list, behind the same half as at the beginning.
    Listed,
    /// In the list, behind another half than at the beginning.
    Moved,
    Offered,
}

impl<S: Spe> Half<S> {
    /// Makes the state of a closure that `run` runs. `run` is given the address of this state.
    #[inline(always)]
    pub(crate) fn new(run: RunHalf<S>) -> Self {
        Self::with(Some(run))
    }

    #[inline(always)]
    fn with(run: Option<RunHalf<S>>) -> Self {
        Self {
            run,
            place: Cell::new(Place::Listed),
            older: Cell::new(ptr::null()),
            newer: Cell::new(ptr::null()),
            ticket: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Runs the closure. If the run was cancelled, fails with the panic that the caller must
    /// resume.
    ///
    /// # Safety
    ///
    /// `half` points to a half whose offer the caller has taken, and which has not ended.
    pub(crate) unsafe fn run(half: *const Self, worker: &Worker<'_, S>) -> Result<(), Payload> {
        // SAFETY: by the contract of this function. Other threads only read `run`.
        let run = unsafe { (*half).run }.expect("only the end of the list has no closure");
        // SAFETY: as above.
        unsafe { run(half, worker) }
    }
}

/// The halves of the jobs of a thread that were not offered, oldest first.
pub(crate) struct Halves<S: Spe> {
    /// The end of the list before the oldest half. The list is not in this value itself, which may
    /// move.
    end: Box<Half<S>>,
    /// The newest half, or `end`.
    newest: Cell<*const Half<S>>,
}

impl<S: Spe> Halves<S> {
    pub(crate) fn new() -> Self {
        let end = Box::new(Half::with(None));
        let newest = Cell::new(&raw const *end);
        Self { end, newest }
    }

    /// Adds a half, and returns the half before it.
    ///
    /// # Safety
    ///
    /// The half does not move and lives until [`remove`](Self::remove) has returned.
    #[inline(always)]
    pub(crate) unsafe fn add(&self, half: *const Half<S>) -> *const Half<S> {
        let older = self.newest.get();
        // SAFETY: by the contract of this function `half` is valid, and so is each half of the
        // list. Only the threads of one core access the list, and none of them is suspended here.
        unsafe {
            (*half).older.set(older);
            (*older).newer.set(half);
        }
        self.newest.set(half);
        older
    }

    /// Removes a half, which lies behind `older` unless the list has changed. If the half was
    /// offered, returns its ticket.
    ///
    /// `older` is a parameter, because a load of this pointer would wait for its store by `add`.
    ///
    /// # Safety
    ///
    /// The half was added, `add` returned `older`, and the half was not removed yet.
    #[inline(always)]
    pub(crate) unsafe fn remove(
        &self,
        half: *const Half<S>,
        older: *const Half<S>,
    ) -> Option<Arc<Ticket<S>>> {
        // SAFETY: by the contract of this function.
        let is_listed = unsafe { (*half).place.get() } == Place::Listed;
        if is_listed && ptr::eq(self.newest.get(), half) {
            // SAFETY: the half before this one is still `older`, so `older` is in the list.
            unsafe { (*older).newer.set(ptr::null()) };
            self.newest.set(older);
            return None;
        }
        // SAFETY: by the contract of this function.
        unsafe { self.remove_anywhere(half) }
    }

    /// # Safety
    ///
    /// See [`remove`](Self::remove).
    #[cold]
    #[inline(never)]
    unsafe fn remove_anywhere(&self, half: *const Half<S>) -> Option<Arc<Ticket<S>>> {
        // SAFETY: by the contract of `remove`. `ticket` is read once, because the half is removed.
        unsafe {
            if (*half).place.get() == Place::Offered {
                return Some((*(*half).ticket.get()).assume_init_read());
            }
            self.unlink(&*half);
        }
        None
    }

    /// Takes a half out of the list.
    ///
    /// # Safety
    ///
    /// The half is in the list.
    unsafe fn unlink(&self, half: &Half<S>) {
        let (older, newer) = (half.older.get(), half.newer.get());
        // SAFETY: the neighbours of a half in the list are in the list, so they exist.
        unsafe {
            (*older).newer.set(newer);
            match newer.as_ref() {
                None => self.newest.set(older),
                Some(newer) => {
                    newer.older.set(older);
                    newer.place.set(Place::Moved);
                }
            }
        }
    }

    /// Returns whether there is a half that was not offered.
    pub(crate) fn is_empty(&self) -> bool {
        self.end.newer.get().is_null()
    }

    /// Takes the oldest half, if any, out of the list for an offer. `ticket` makes the ticket.
    pub(crate) fn offer_oldest(
        &self,
        ticket: impl FnOnce(*const Half<S>) -> Ticket<S>,
    ) -> Option<Arc<Ticket<S>>> {
        let half = self.end.newer.get();
        // SAFETY: each half in the list exists until its `join` removes it.
        let of_list = unsafe { half.as_ref() }?;
        let ticket = Arc::new(ticket(half));
        // SAFETY: `half` is in the list. Its `ticket` is used only here and after `Offered`.
        unsafe {
            self.unlink(of_list);
            (*of_list.ticket.get()).write(Arc::clone(&ticket));
        }
        of_list.place.set(Place::Offered);
        Some(ticket)
    }
}
