//! An alternation, as the channels that it lists see it.
//!
//! ```text
//!            ┌──────────── stop_waiting ───────────────┐
//!            ▼                                         │
//!         active ── wait ──► waiting ── exchange ──► taken ──► poked: a guard may be ready
//!            ▲                  │                       │
//!            │                  │ stop_waiting          └────► claimed: a guard has been carried out
//!            └──────────────────┴──────────────────────────────────┘
//! ```
//!
//! While it is active it alone decides, with the lock of the channel that it looks at. While it
//! waits, each process that comes to one of its channels may take it, by one exchange of its state,
//! to put an item into a guard or to take one out of it. The state has a number that changes with
//! each wait: so a guard that was looked at before the exchange has not changed when it succeeds.
//! No process waits for a lock, or for a party, while a party is taken.

use crate::parcel::Parcel;
use crate::sync::{Arc, AtomicBool, AtomicU64, Backoff, Ordering, UnsafeCell};
use crate::waker::Waker;

const TAG_BITS: u32 = 3;
const TAG_MASK: u64 = (1 << TAG_BITS) - 1;
const ACTIVE: u64 = 0;
const WAITING: u64 = 1;
const TAKEN: u64 = 2;
const POKED: u64 = 3;
const CLAIMED: u64 = 4;

const GUARD_BITS: u32 = 29;
const GUARD_MASK: u64 = (1 << GUARD_BITS) - 1;
const WAIT_SHIFT: u32 = TAG_BITS + GUARD_BITS;

/// The state of an alternation.
pub(crate) struct Party {
    /// Of all alternations that there were in this program. An address could be that of another one
    /// later.
    pub number: u64,
    /// The number of the wait, the guard that was claimed, and what the alternation is doing.
    state: AtomicU64,
    /// Belongs to the alternation while it is active, to who has taken it while it is taken.
    waker: UnsafeCell<Option<Waker>>,
    /// The channel of one of its guards has guards on its other side, too.
    is_opposed: AtomicBool,
}

// SAFETY: `waker` is accessed by one at a time, see there; each change of the state from or to
// `TAKEN` or `WAITING` is a release or an acquire.
unsafe impl Sync for Party {}
// SAFETY: a waker may be sent anywhere.
unsafe impl Send for Party {}

/// What became of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing yet.
    Waiting,
    /// A guard may be ready.
    Poked,
    /// This guard has been carried out by the other side.
    Claimed(usize),
}

/// A party that was taken out of its wait, and does not go on until this is ended.
#[must_use = "the alternation goes on only when this is ended"]
struct Taken<'a> {
    party: &'a Party,
    wait: u64,
}

impl Party {
    pub(crate) fn new() -> Self {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            state: AtomicU64::new(ACTIVE),
            waker: UnsafeCell::new(None),
            is_opposed: AtomicBool::new(false),
        }
    }

    /// Whether it may meet alternations at one of its channels.
    pub(crate) fn is_opposed(&self) -> bool {
        self.is_opposed.load(Ordering::SeqCst)
    }

    /// Begins to wait: from here on it may be taken.
    pub(crate) fn wait(&self, waker: Waker) {
        // SAFETY: it is active, and this is the alternation.
        self.waker.with_mut(|place| unsafe { *place = Some(waker) });
        let wait = (self.state.load(Ordering::Relaxed) >> WAIT_SHIFT).wrapping_add(1);
        // In one order with the bits that say which guards are ready: either this alternation sees
        // a bit when it looks after this, or who sets the bit sees it waiting.
        self.state
            .store(wait << WAIT_SHIFT | WAITING, Ordering::SeqCst);
    }

    /// What has become of the wait.
    #[inline]
    pub(crate) fn outcome(&self) -> Outcome {
        let state = self.state.load(Ordering::Acquire);
        match state & TAG_MASK {
            CLAIMED => Outcome::Claimed((state >> TAG_BITS & GUARD_MASK) as usize),
            POKED => Outcome::Poked,
            _ => Outcome::Waiting,
        }
    }

    /// Becomes active again, whatever has become of the wait: `Waiting` if nothing has.
    pub(crate) fn stop_waiting(&self) -> Outcome {
        let backoff = Backoff::new();
        loop {
            let state = self.state.load(Ordering::Acquire);
            let active = state >> WAIT_SHIFT << WAIT_SHIFT | ACTIVE;
            match state & TAG_MASK {
                TAKEN => backoff.snooze(),
                WAITING => {
                    let stopped = self.state.compare_exchange(
                        state,
                        active,
                        Ordering::AcqRel,
                        Ordering::Relaxed,
                    );
                    if stopped.is_ok() {
                        return Outcome::Waiting;
                    }
                }
                tag => {
                    // Others change the state of who waits only.
                    self.state.store(active, Ordering::Relaxed);
                    return match tag {
                        CLAIMED => Outcome::Claimed((state >> TAG_BITS & GUARD_MASK) as usize),
                        POKED => Outcome::Poked,
                        _ => Outcome::Waiting,
                    };
                }
            }
        }
    }

    /// The present wait, if it waits.
    #[inline(always)]
    fn present_wait(&self) -> Option<u64> {
        let state = self.state.load(Ordering::SeqCst);
        (state & TAG_MASK == WAITING).then_some(state >> WAIT_SHIFT)
    }

    /// Takes it out of a wait, if that has not ended.
    #[inline(always)]
    fn take(&self, wait: u64) -> Option<Taken<'_>> {
        let (waiting, taken) = (wait << WAIT_SHIFT | WAITING, wait << WAIT_SHIFT | TAKEN);
        self.state
            .compare_exchange(waiting, taken, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
            .then_some(Taken { party: self, wait })
    }
}

impl Taken<'_> {
    /// Lets the alternation go on. Returns whom to wake.
    #[inline(always)]
    fn end(self, guard: u64, tag: u64) -> Waker {
        // SAFETY: it is taken, by this.
        let waker = self.party.waker.with_mut(|place| unsafe { *place });
        self.party.state.store(
            self.wait << WAIT_SHIFT | guard << TAG_BITS | tag,
            Ordering::Release,
        );
        waker.expect("an alternation says whom to wake before it waits")
    }
}

/// A guard of an alternation, as its channel knows it.
pub(crate) struct Guard<T> {
    party: Arc<Party>,
    index: usize,
    /// Which guards of the alternation may be ready.
    ready: Arc<AtomicU64>,
    /// This one's among them.
    bit: u64,
    /// Its pre-condition: changes only while the alternation is active.
    enabled: AtomicBool,
    /// What is offered to a reader, or was given by a writer. Belongs to the alternation while it
    /// is active, to who has taken it while it is taken.
    parcel: UnsafeCell<Option<Parcel<T>>>,
    /// The guard of the same alternation in which the item lies that this one and others are
    /// offered; or null. Accessed as `parcel` is.
    holder: UnsafeCell<*const Guard<T>>,
}

// SAFETY: `holder` and `parcel` are accessed by one at a time, see there; everything else is shared
// by atomics.
unsafe impl<T: Send> Sync for Guard<T> {}
// SAFETY: it owns a parcel, which may be sent if its item may.
unsafe impl<T: Send> Send for Guard<T> {}

impl<T> Guard<T> {
    pub(crate) fn new(party: &Arc<Party>, index: usize, ready: &Arc<AtomicU64>) -> Self {
        let bit = 1 << (index % 64);
        ready.fetch_or(bit, Ordering::Relaxed);
        Self {
            party: Arc::clone(party),
            index,
            ready: Arc::clone(ready),
            bit,
            enabled: AtomicBool::new(true),
            parcel: UnsafeCell::new(None),
            holder: UnsafeCell::new(std::ptr::null()),
        }
    }

    /// The channel has guards on its other side, too.
    pub(crate) fn oppose(&self) {
        self.party.is_opposed.store(true, Ordering::SeqCst);
    }

    /// Sets the pre-condition.
    pub(crate) fn enable(&self, enabled: bool) {
        self.enabled.store(enabled, Ordering::Release);
    }

    /// Says that the guard may be ready, so that the alternation looks: takes it out of its wait,
    /// if it waits for this guard. Returns whom to wake then.
    #[inline(always)]
    pub(crate) fn mark_ready(&self) -> Option<Waker> {
        // The bit changes under the channel's lock.
        if self.ready.load(Ordering::SeqCst) & self.bit == 0 {
            self.ready.fetch_or(self.bit, Ordering::SeqCst);
        }
        let wait = self.open_wait()?;
        Some(self.party.take(wait)?.end(0, POKED))
    }

    /// Says, under the channel's lock, that nothing is there: the process that changes that has the
    /// lock, and marks the guard again.
    pub(crate) fn clear_ready(&self) {
        self.ready.fetch_and(!self.bit, Ordering::SeqCst);
    }

    /// The wait in which this guard can be claimed.
    #[inline(always)]
    fn open_wait(&self) -> Option<u64> {
        let wait = self.party.present_wait()?;
        self.enabled.load(Ordering::Acquire).then_some(wait)
    }

    /// Whether its alternation waits for it.
    pub(crate) fn is_waiting(&self) -> bool {
        self.open_wait().is_some()
    }

    /// Gives a parcel to an alternation that waits to read, if it does. Returns whom to wake then.
    #[inline(always)]
    pub(crate) fn give(&self, parcel: &mut Option<Parcel<T>>) -> Option<Waker> {
        let taken = self.party.take(self.open_wait()?)?;
        // SAFETY: it is taken.
        self.parcel
            .with_mut(|place| unsafe { *place = parcel.take() });
        Some(taken.end(self.index as u64, CLAIMED))
    }

    /// Takes the parcel of an alternation that waits to write, if it does. Returns whom to wake
    /// then.
    #[inline(always)]
    pub(crate) fn take(&self, parcel: &mut Option<Parcel<T>>) -> Option<Waker> {
        let taken = self.party.take(self.open_wait()?)?;
        // SAFETY: it is taken.
        self.parcel
            .with_mut(|place| unsafe { *parcel = (*place).take() });
        if parcel.is_none() {
            // SAFETY: as above.
            *parcel = unsafe { self.offered() }.take();
        }
        Some(taken.end(self.index as u64, CLAIMED))
    }

    /// Which of two alternations takes the other when both wait: one rule for both, or each could
    /// take the other.
    pub(crate) fn takes(&self, other: &Self) -> bool {
        self.party.number > other.party.number
    }

    /// Whether the two belong to one alternation, which cannot communicate with itself.
    pub(crate) fn is_of_same_party(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.party, &other.party)
    }

    /// The item that this guard is offered, in this guard or in the one that holds it for several.
    ///
    /// # Safety
    ///
    /// The caller is the alternation, and active, or has taken it.
    #[cold]
    #[inline(never)]
    #[expect(
        clippy::mut_from_ref,
        reason = "the caller sees to it that there is one at a time"
    )]
    pub(crate) unsafe fn offered(&self) -> &mut Option<Parcel<T>> {
        // SAFETY: as the caller says, for all guards of the alternation. The holder is listed by it
        // as long as this guard is, and neither is removed while the alternation waits.
        unsafe {
            let holder = self.holder.with_mut(|holder| *holder);
            holder.as_ref().unwrap_or(self).parcel()
        }
    }

    /// Says in which guard the item lies that this one is offered: `None` for this one.
    ///
    /// # Safety
    ///
    /// The caller is the alternation, which lists both guards, and active.
    pub(crate) unsafe fn set_holder(&self, holder: Option<&Guard<T>>) {
        let holder = holder.map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: as the caller says.
        self.holder.with_mut(|place| unsafe { *place = holder });
    }

    /// The parcel, for its alternation.
    ///
    /// # Safety
    ///
    /// The caller is the alternation, and active.
    #[expect(
        clippy::mut_from_ref,
        reason = "the caller sees to it that there is one at a time"
    )]
    pub(crate) unsafe fn parcel(&self) -> &mut Option<Parcel<T>> {
        // SAFETY: as the caller says.
        self.parcel.with_mut(|place| unsafe { &mut *place })
    }
}
