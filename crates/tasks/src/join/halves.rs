//! Halves: the second closures of a job's `join` calls. The halves have not begun.
//!
//! A `join` adds its half, runs the first closure, and removes the half, without atomic
//! read-modify-write operations and without a lock. The oldest half, usually the largest, is
//! offered by the worker of the job (the owner) when another worker asks for work, or by another
//! worker that has asked in vain.
//!
//! ```text
//!            oldest                            newest
//!   halves   [ offered | offered | private | private ]
//!   offers   [ offer   | offer   ]
//!                                ▲ in_place_from
//! ```
//!
//! The owner removes the newest half while another worker offers the oldest one, which may be the
//! same half. Each of them first writes its own number and then reads the other's:
//!
//! ```text
//!   owner, in each join                    another worker, which has locked the offers
//!   len = place of the half                in_place_from = place of the half + 1
//!   light barrier                          heavy barrier
//!   is in_place_from above the place?      is len above the place?
//!     no: the half is removed                no: in_place_from is set back
//!     yes: it locks the offers and looks     yes: the half is offered
//! ```
//!
//! The barriers ensure that the owner finds the number of the other worker, or the other worker
//! that of the owner. Nearly always the newest half is removed first. But the cooperative threads
//! of a job share its [`Worker`](crate::Worker), and their `join` calls end in any order. While a
//! half may be at another place than that at which it was added, everything is done under the lock.

// Rejected: a list through the stacks of the `join` calls, in which the place of a half does not
// matter. A join took 1.3 times as long, because it stores more pointers.
// Rejected: halves that only the owner can offer. While the first closure of a `join` ran, without
// a call of the pool, the second one could not begin on an idle worker.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::sync::Arc;

use cellworks_machine::{Processor, Spe};

use crate::join::offer::{Offer, State};
use crate::phase::node::CurrentTask;
use crate::scope::closure::Half;
use crate::sync::{AtomicPtr, AtomicUsize, Mutex, Ordering, UnsafeCell, barrier, locked};

/// The number of halves for which a job has room at first.
const ROOM: usize = 64;

/// The state of the job that a thread runs. The cooperative threads that the job has started share
/// this state.
pub(crate) struct RunningJob<S: Spe> {
    pub(crate) halves: Halves<Half<S>, Arc<Offer<S>>>,
    pub(crate) current: Cell<CurrentTask<S>>,
}

impl<S: Spe> RunningJob<S> {
    pub(crate) fn new() -> Self {
        Self {
            halves: Halves::with_room(ROOM),
            current: Cell::new(CurrentTask::none()),
        }
    }

    /// Offers the oldest half that was not offered, if any. At its end, the thread of `owner` that
    /// waits for it is woken by its name, or else by a notification.
    ///
    /// # Safety
    ///
    /// `job` is alive during the call. `is_here` is true only if the owner runs on this OS thread.
    pub(crate) unsafe fn offer_oldest(
        job: *const Self,
        is_here: bool,
        owner: Processor,
        by_name: bool,
    ) -> Option<Arc<Offer<S>>> {
        let offer = |half| {
            Arc::new(Offer {
                waiter: by_name.then(Box::default),
                state: State::new(),
                half,
                owner,
                // SAFETY: the job is alive. The owner changes `current` only while the job has no
                // half. It has added this half after the last change, and removes the half only
                // after `Halves::offer_oldest` has unlocked the offers.
                current: unsafe { (*job).current.as_ptr().read() },
            })
        };
        // SAFETY: the job is alive, and the caller guarantees the rest.
        unsafe { Halves::offer_oldest(&raw const (*job).halves, is_here, offer) }
    }
}

/// The halves of one job, oldest first, of the type `H`. An offer has the type `T`.
///
/// Not `Sync`: other workers than the owner may only call
/// [`offer_oldest`](Self::offer_oldest) and [`has_private_of`](Self::has_private_of).
pub(crate) struct Halves<H, T> {
    /// A buffer of `slots` halves. Only the owner replaces the buffer, under the lock of the
    /// offers.
    buffer: AtomicPtr<Slot<H>>,
    slots: Cell<usize>,
    /// The number of halves for which there is room without the lock of the offers: `slots`, or 0
    /// while `in_place_from` is [`MOVED`] or `is_left_out` is true.
    room: Cell<usize>,
    /// Whether the list of the worker's jobs does not have this job: see
    /// [`leave_out`](Self::leave_out).
    is_left_out: Cell<bool>,
    /// The number of halves. Only the owner changes it. Too small or, while `in_place_from` is
    /// [`MOVED`], too large for a moment in [`remove_newest`](Self::remove_newest).
    len: AtomicUsize,
    /// From this place on, no half was offered, and each is at the place at which it was added.
    /// [`MOVED`] if a half may be at another place. Changed under the lock of the offers.
    in_place_from: AtomicUsize,
    offers: Mutex<Offers<T>>,
}

struct Offers<T> {
    /// An offer for each offered half. The offered halves are the oldest halves of the job.
    list: Vec<T>,
    /// The number of halves while `in_place_from` is [`MOVED`].
    halves: usize,
}

type Slot<H> = UnsafeCell<MaybeUninit<H>>;

const MOVED: usize = usize::MAX;

impl<H: Copy, T: Clone> Halves<H, T> {
    pub(crate) fn with_room(room: usize) -> Self {
        Self {
            buffer: AtomicPtr::new(new_buffer(room)),
            slots: Cell::new(room),
            room: Cell::new(room),
            is_left_out: Cell::new(false),
            len: AtomicUsize::new(0),
            in_place_from: AtomicUsize::new(0),
            offers: Mutex::new(Offers {
                list: Vec::new(),
                halves: 0,
            }),
        }
    }

    /// Adds a half and returns its place. The closure must not move until the half is removed.
    /// `list` puts the job back into the list of the worker's jobs, if it was left out.
    #[inline(always)]
    pub(crate) fn add(&self, half: H, list: impl FnOnce()) -> usize {
        let place = self.len.load(Ordering::Relaxed);
        if place >= self.room.get() {
            self.add_locked(half, list);
            return place;
        }
        // SAFETY: the slot exists, and other workers read only slots below `len`.
        unsafe { self.write(place, half) };
        self.len.store(place + 1, Ordering::Release);
        place
    }

    /// Removes a half that is the newest one and was not offered. `add` has returned `place`.
    /// Otherwise returns false, and the caller must call [`remove`](Self::remove).
    ///
    /// The place is a parameter, because a load of the number of halves would wait for the store of
    /// this number by an earlier `join`. Here only a check waits.
    #[inline(always)]
    pub(crate) fn remove_newest(&self, place: usize) -> bool {
        let len = self.len.load(Ordering::Relaxed);
        // If this half is not the newest one, `len` is wrong for a moment. It is not too large
        // while the halves are in place, and otherwise other workers do not read it.
        self.len.store(place, Ordering::Relaxed);
        barrier::light_if_asymmetric();
        // Both checks before the first branch: with two branches a `join` took 1.08 times as long.
        let is_newest = len.wrapping_sub(place) == 1;
        let is_private = self.in_place_from.load(Ordering::Relaxed) <= place;
        if !(is_newest & is_private) {
            self.put_back(len);
            return false;
        }
        true
    }

    /// Ends an attempt to remove a half that is not the newest one, or that another worker offers.
    // Not inlined, so that a `join` needs few registers.
    #[cold]
    #[inline(never)]
    fn put_back(&self, len: usize) {
        self.len.store(len, Ordering::Release);
    }

    /// Removes the newest half for which `is_it` returns true, wherever it is. Returns the offer
    /// if the half was offered.
    pub(crate) fn remove(&self, is_it: impl Fn(H) -> bool) -> Option<T> {
        let mut offers = locked(&self.offers);
        let len = self.len.load(Ordering::Relaxed);
        // SAFETY: these slots are below `len`, and other workers only read, under the lock.
        let place = (0..len).rfind(|&place| is_it(unsafe { self.read(place) }));
        let place = place.expect("each join removes its half once");
        for later in place + 1..len {
            // SAFETY: as above.
            unsafe { self.write(later - 1, self.read(later)) };
        }
        let left = len - 1;
        self.len.store(left, Ordering::Release);
        offers.halves = left;
        let offer = (place < offers.list.len()).then(|| offers.list.remove(place));
        let is_in_place = !self.are_moved() && place == left;
        let in_place_from = match left {
            0 => 0,
            _ if is_in_place => offers.list.len(),
            _ => MOVED,
        };
        self.in_place_from.store(in_place_from, Ordering::Relaxed);
        let is_locked = in_place_from == MOVED || self.is_left_out.get();
        self.room.set(if is_locked { 0 } else { self.slots.get() });
        offer
    }

    /// Returns true if no half is left that was not offered. Then the worker takes the job out of
    /// the list of its jobs, and the next [`add`](Self::add) puts the job back. The list is locked,
    /// so that no other worker offers a half meanwhile.
    pub(crate) fn leave_out(&self) -> bool {
        if self.has_private() {
            return false;
        }
        self.is_left_out.set(true);
        self.room.set(0);
        true
    }

    /// Returns whether a half may be at another place than that at which it was added. The result
    /// holds while the offers are locked.
    fn are_moved(&self) -> bool {
        self.in_place_from.load(Ordering::Relaxed) == MOVED
    }

    /// Returns whether there is a half that was not offered.
    pub(crate) fn has_private(&self) -> bool {
        match self.in_place_from.load(Ordering::Relaxed) {
            MOVED => {
                let offers = locked(&self.offers);
                self.are_moved() && offers.halves > offers.list.len()
            }
            from => self.len.load(Ordering::Relaxed) > from,
        }
    }

    /// Does the same as [`has_private`](Self::has_private), on another worker. The result may be
    /// out of date.
    ///
    /// # Safety
    ///
    /// `halves` is alive during the call.
    pub(crate) unsafe fn has_private_of(halves: *const Self) -> bool {
        // SAFETY: `halves` is alive, and `has_private` uses atomic fields and the lock alone.
        unsafe { (*halves).has_private() }
    }

    /// Offers the oldest half that was not offered, if any. `offer` makes the returned offer. If
    /// the owner is on this OS thread (`is_here`), it is in the middle of no other call, and no
    /// barrier is needed. Otherwise returns `None` without asymmetric barriers.
    ///
    /// # Safety
    ///
    /// `halves` is alive during the call. `is_here` is true only if the owner runs on this OS
    /// thread.
    pub(crate) unsafe fn offer_oldest(
        halves: *const Self,
        is_here: bool,
        offer: impl FnOnce(H) -> T,
    ) -> Option<T> {
        // SAFETY: `halves` is alive, and this function uses neither a cell nor a slot that the
        // owner may change.
        let halves = unsafe { &*halves };
        let mut offers = locked(&halves.offers);
        let place = offers.list.len();
        if !is_here && !barrier::is_asymmetric() {
            return None;
        }
        if halves.are_moved() {
            if offers.halves <= place {
                return None;
            }
        } else {
            let has_half = || halves.len.load(Ordering::Acquire) > place;
            if !has_half() {
                return None;
            }
            halves.in_place_from.store(place + 1, Ordering::Relaxed);
            if !is_here {
                barrier::heavy();
                if !has_half() {
                    halves.in_place_from.store(place, Ordering::Relaxed);
                    return None;
                }
            }
        }
        // SAFETY: the slot holds a half. If the halves are moved, the owner adds and removes them
        // only under the lock, and `offers.halves` is their number. Otherwise the slot is below
        // `len`, which is not too large, and the owner removes the half in this slot only after it
        // has found `in_place_from` above the place, under the lock.
        let offer = offer(unsafe { halves.read(place) });
        offers.list.push(offer.clone());
        Some(offer)
    }

    /// Adds a half for which there is no room without the lock. Doubles the buffer if it is full.
    #[cold]
    #[inline(never)]
    fn add_locked(&self, half: H, list: impl FnOnce()) {
        // Before the offers are locked: other workers lock the list first. The half need not be
        // there yet, because a worker that looks earlier has asked this one for work.
        if self.is_left_out.replace(false) {
            list();
        }
        let mut offers = locked(&self.offers);
        let place = self.len.load(Ordering::Relaxed);
        let slots = self.slots.get();
        if place == slots {
            let buffer = new_buffer(2 * slots);
            for place in 0..slots {
                // SAFETY: both buffers have these slots, and the old ones are all written.
                unsafe {
                    let half = self.read(place);
                    (*buffer.add(place)).with_mut(|slot| (*slot).write(half));
                }
            }
            let old = self.buffer.swap(buffer, Ordering::Relaxed);
            self.slots.set(2 * slots);
            // SAFETY: the old buffer came from `new_buffer`, and no worker uses it without the
            // lock.
            unsafe { drop_buffer(old, slots) };
        }
        // SAFETY: the slot exists, and other workers read only slots of halves.
        unsafe { self.write(place, half) };
        self.len.store(place + 1, Ordering::Release);
        if self.are_moved() {
            offers.halves = place + 1
        } else {
            self.room.set(self.slots.get())
        }
    }

    /// # Safety
    ///
    /// The slot exists, and no other worker uses it.
    #[inline(always)]
    unsafe fn write(&self, place: usize, half: H) {
        // SAFETY: by the contract of this function.
        unsafe {
            let slot = self.buffer.load(Ordering::Relaxed).add(place);
            (*slot).with_mut(|slot| (*slot).write(half));
        }
    }

    /// # Safety
    ///
    /// The slot is written, and no other worker changes it or the buffer.
    unsafe fn read(&self, place: usize) -> H {
        // SAFETY: by the contract of this function.
        unsafe {
            let slot = self.buffer.load(Ordering::Relaxed).add(place);
            (*slot).with(|slot| (*slot).assume_init())
        }
    }
}

fn new_buffer<H>(room: usize) -> *mut Slot<H> {
    let slots = (0..room).map(|_| UnsafeCell::new(MaybeUninit::uninit()));
    Box::into_raw(slots.collect::<Box<[Slot<H>]>>()).cast()
}

/// # Safety
///
/// `buffer` came from [`new_buffer`] for this room, and is not used again.
unsafe fn drop_buffer<H>(buffer: *mut Slot<H>, room: usize) {
    // SAFETY: by the contract of this function.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(buffer, room)) });
}

impl<H, T> Drop for Halves<H, T> {
    fn drop(&mut self) {
        let buffer = self.buffer.load(Ordering::Relaxed);
        // SAFETY: the buffer came from `new_buffer`, and `self` is not used again.
        unsafe { drop_buffer(buffer, self.slots.get()) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Adds, offers and removes halves in random orders, and compares with a plain list.
    #[test]
    fn halves_are_removed_in_any_order() {
        const CLOSURES: usize = 6;
        for seed in 0..2_000_u64 {
            let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut next = |below: usize| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                (random >> 33) as usize % below
            };
            // A half and its offer are the number of a closure. The room grows twice.
            let halves: Halves<usize, usize> = Halves::with_room(2);
            // The closure, its place, and whether it was offered.
            let mut expected: Vec<(usize, usize, bool)> = Vec::new();
            for _ in 0..60 {
                match next(4) {
                    0 => {
                        let is_free = |closure: &usize| !expected.iter().any(|it| it.0 == *closure);
                        let Some(closure) = (0..CLOSURES).find(is_free) else {
                            continue;
                        };
                        expected.push((closure, halves.add(closure, || ()), false));
                    }
                    by @ (1 | 2) => {
                        let oldest = expected.iter_mut().find(|it| !it.2);
                        let closure = oldest.map(|it| {
                            it.2 = true;
                            it.0
                        });
                        let is_here = by == 1;
                        // SAFETY: `halves` is alive, and this is the only OS thread.
                        let offered = unsafe {
                            Halves::offer_oldest(&raw const halves, is_here, |half| half)
                        };
                        assert_eq!(offered, closure, "seed {seed}");
                    }
                    _ if expected.is_empty() => {}
                    _ => {
                        let (closure, place, is_offered) = expected.remove(next(expected.len()));
                        let offer = if halves.remove_newest(place) {
                            None
                        } else {
                            halves.remove(|half| half == closure)
                        };
                        assert_eq!(offer, is_offered.then_some(closure), "seed {seed}");
                    }
                }
                let has_private = expected.iter().any(|it| !it.2);
                assert_eq!(halves.has_private(), has_private, "seed {seed}");
            }
        }
    }
}
