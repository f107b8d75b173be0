//! Processes, and their methods for the ends of channels.
//!
//! ```text
//!   ends, alternations ──► Process ──► Place: waits and wakes   an SPE, the PPE, a thread outside
//!                            │
//!                            ├──► Carrier: performs steps, if processors share no memory
//!                            ├──► Tally: counts what is read, if the network counts
//!                            └──► Identity: its name and number, for reports
//!
//!   an end is dropped in any destructor ──► pending: wakes without a Process
//! ```
//!
//! Read `place` first, then this file, `error` (why a process ends early) and `pending`.

// Rejected: several threads that wait in one process. Without shared memory, a message names only
// the process, so one thread took the message of another thread, which then waited for ever.

pub(crate) mod error;
pub(crate) mod pending;
pub(crate) mod place;

use std::cell::Cell;
use std::fmt;
use std::panic::Location;
use std::rc::Rc;
use std::thread::panicking;

use cellworks_machine::{SpeId, Time};

use self::place::Place;
use crate::channel::link::{Link, Waiting, Why};
use crate::channel::lock::Lock;
use crate::channel::node::{Parcel, WayToWake};
use crate::channel::partner::Partner;
use crate::channel::waker::{Waker, Woken};
use crate::counting::{OUTSIDE, Rank, Tally};
use crate::deadlock::held;
use crate::ends::item::Item;
use crate::network::shared::{NetworkState, outside_of};
use crate::outside::place::OutsidePlace;
use crate::sync;
use crate::transport::origin::Origin;
use crate::transport::{Asker, Carrier, Stepped};

/// A process of a network. Its program passes this value to each operation on a channel.
///
/// A process stays on its [`place`](Self::place), the processor on which it runs. Only the thread
/// that began the process can wait in it. Other threads can begin processes of their own.
pub struct Process<'a, P: Place> {
    place: &'a P,
    identity: Identity<'a>,
    /// The carrier of the processor, if processors share no memory: see [`crate::transport`].
    carrier: Option<&'a dyn Carrier>,
    manner: Manner,
    /// The origin of the items of this process if processors share memory.
    origin: Origin,
    /// The number of this process as a [`User`].
    user: u64,
    // Boxed, so that the compiler need not reload the other fields after a change of these cells.
    changing: Box<Changing>,
}

#[derive(Default)]
struct Changing {
    /// Whether the current step has asked for the waker, because the process has to wait.
    step_waits: Cell<bool>,
    /// The number of communications that possibly took place without a wait of the process.
    communications: Cell<usize>,
    /// The line that reports name instead of the calling one.
    calls_at: Cell<Option<&'static Location<'static>>>,
    /// What the process has read, if the network counts.
    /// Apart, so that a process which is sent to another thread is one error of the compiler here.
    tally: Option<Rc<Tally>>,
}

/// How the items of a process travel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Processors share memory.
    Plain,
    /// Processors share memory, and the network counts.
    Counted,
    /// Processors share no memory.
    Carried,
}

/// After this many communications without a wait, a process lets the other processes of its core
/// run once. A power of two. With 256, one of four writers to a fair alternation wrote 4 times as
/// many items as another.
pub(crate) const TURN: usize = 16;

pub(crate) struct Identity<'a> {
    name: &'a str,
    /// The number of the process, and the handle of the only thread that may wait in the process.
    waker: Waker,
    shared: &'a NetworkState,
}

/// A process and its OS thread, for [ring buffers](crate::way::ring).
#[derive(Clone, Copy, Debug)]
pub(crate) struct User {
    pub thread: usize,
    /// A number that no other process of any network has.
    pub process: u64,
}

impl<'a> Identity<'a> {
    /// Returns the identity of a task outside the machine, which is polled and has no [`Process`].
    #[cfg(feature = "async")]
    pub(crate) fn of_task(name: &'a str, waker: Waker, shared: &'a NetworkState) -> Self {
        Self {
            name,
            waker,
            shared,
        }
    }

    /// Records a wait for the report of a deadlock. `why` is `None` for a wait of the carrier.
    pub(crate) fn record(&self, why: Option<&Waiting<'_>>, at: &'static Location<'static>) {
        let (waker, thread) = (&self.waker, self.waker.sleeper.thread());
        self.shared
            .waits
            .record(waker.process, self.name, thread, why, at);
    }

    /// Returns an identifier that no other process of any network has: the network number in the
    /// upper 32 bits, and the process number in the lower 32 bits.
    #[inline(always)]
    pub(crate) fn user(&self) -> u64 {
        u64::from(self.waker.network) << 32 | u64::from(self.waker.process)
    }

    pub(crate) fn number_of(user: u64) -> u32 {
        user as u32
    }

    pub(crate) fn name(&self) -> &'a str {
        self.name
    }

    pub(crate) fn network(&self) -> u32 {
        self.waker.network
    }
}

impl<'a, P: Place> Process<'a, P> {
    pub(crate) fn new(
        place: &'a P,
        name: &'a str,
        shared: &'a NetworkState,
        carrier: Option<&'a dyn Carrier>,
    ) -> Self {
        Self::numbered(shared.next_number(), place, name, shared, carrier)
    }

    pub(crate) fn numbered(
        number: u32,
        place: &'a P,
        name: &'a str,
        shared: &'a NetworkState,
        carrier: Option<&'a dyn Carrier>,
    ) -> Self {
        if let Some(carrier) = carrier {
            carrier.begin(number);
        }
        let counting = shared.counting.as_ref();
        let tally = counting.map(|counting| Rc::new(Tally::of(number, counting)));
        let (manner, origin) = match (carrier, &tally) {
            (Some(_), _) => (Manner::Carried, Origin::default()),
            (None, Some(tally)) => (Manner::Counted, tally.origin()),
            (None, None) => (Manner::Plain, Origin::default()),
        };
        let identity = Identity {
            name,
            waker: Waker {
                sleeper: place.sleeper(),
                process: number,
                network: shared.network,
            },
            shared,
        };
        let user = match &tally {
            Some(tally) => tally.user,
            None => identity.user(),
        };
        let changing = Changing {
            tally,
            ..Changing::default()
        };
        Self {
            place,
            identity,
            carrier,
            manner,
            origin,
            user,
            changing: Box::new(changing),
        }
    }

    /// Returns the name of the process.
    pub fn name(&self) -> &str {
        self.identity.name
    }

    /// Returns the processor on which the process runs: an [`Spe`](cellworks_machine::Spe), the
    /// PPE, or an OS thread outside the machine.
    ///
    /// Under [`Transport::Coordinator`](crate::Transport::Coordinator) the PPE answers the requests
    /// of other processes while the main process waits in a method of this crate. If the main
    /// process waits in a method of its place in such a network, processes without shared memory
    /// wait, too.
    pub fn place(&self) -> &'a P {
        self.place
    }

    /// Returns the time since the start of the run.
    pub fn now(&self) -> Time {
        self.place.now()
    }

    /// Lets the other processes of this processor run once.
    #[track_caller]
    pub fn yield_now(&self) {
        self.place.let_others_run();
        if let Some(carrier) = self.carrier {
            self.by_carrier(Location::caller(), || carrier.serve());
        }
    }

    /// Counts a communication that possibly took place without a wait of the process. Calls
    /// [`end_turn`](Self::end_turn) after every [`TURN`] of these communications.
    #[inline(always)]
    pub(crate) fn count_communication(&self) {
        let communications = self.changing.communications.get().wrapping_add(1);
        self.changing.communications.set(communications);
        if communications.is_multiple_of(TURN) {
            self.end_turn();
        }
    }

    /// Lets the other processes of this processor run once, even those that wait for processes
    /// elsewhere. If processors share no memory, does nothing, because the others run while this
    /// process waits for DMA.
    #[cold]
    #[inline(never)]
    pub(crate) fn end_turn(&self) {
        if self.shares_memory() {
            self.place.let_others_run();
        }
    }

    #[track_caller]
    pub(crate) fn skip(&self) {
        if let Some(carrier) = self.carrier {
            self.by_carrier(Location::caller(), || carrier.skip(self.asker()));
        }
    }

    /// Lets the other processes of this processor run once, if one of them is ready. If none is
    /// ready, no context switch takes place. Call this method in loops that compute for long
    /// without communicating (section 2.2.7 of the paper).
    ///
    /// ```
    /// use cellworks_csp::{Input, Output, Place, Process, ProcessError};
    ///
    /// fn logistic_map(
    ///     process: &Process<impl Place>,
    ///     mut starts: impl Input<f64>,
    ///     mut results: impl Output<f64>,
    /// ) -> Result<(), ProcessError> {
    ///     loop {
    ///         let mut x = starts.read(process)?;
    ///         for _ in 0..1_000 {
    ///             (0..1_000).for_each(|_| x = 3.7 * x * (1.0 - x));
    ///             process.yield_ready();
    ///         }
    ///         results.write(process, x)?;
    ///     }
    /// }
    /// ```
    pub fn yield_ready(&self) {
        self.place.let_ready_others_run();
    }

    /// Waits until [`now`](Self::now) reaches `time`. Meanwhile, the other processes of this
    /// processor run. A network in which a process sleeps is not in a deadlock.
    #[track_caller]
    pub fn sleep_until(&self, time: Time) {
        let why = "its time to come";
        self.place.wait_until_deadline(&why, time, &mut || false);
    }

    pub(crate) fn shared(&self) -> &'a NetworkState {
        self.identity.shared
    }

    /// Sets the line that reports name instead of the calling one, until it is set to `None`.
    #[inline(always)]
    pub(crate) fn calls_at(&self, at: Option<&'static Location<'static>>) {
        self.changing.calls_at.set(at);
    }

    #[inline(always)]
    pub(crate) fn shares_memory(&self) -> bool {
        self.manner != Manner::Carried
    }

    pub(crate) fn number(&self) -> u32 {
        self.identity.waker.process
    }

    #[inline(always)]
    pub(crate) fn identity(&self) -> &Identity<'a> {
        &self.identity
    }

    /// Returns the handle by which other processes wake this process. Called only before a wait.
    #[inline(always)]
    pub(crate) fn waker(&self) -> &Waker {
        match self.carrier {
            None => self.assert_is_calling(),
            // The step may run on another processor, so `wait_until` checks the calling thread.
            Some(_) => self.changing.step_waits.set(true),
        }
        match self.place.outside() {
            None => &self.identity.waker,
            Some(outside) => outside.waker(),
        }
    }

    #[inline(always)]
    fn assert_is_calling(&self) {
        if !self.place.is_calling(self.identity.waker.sleeper) {
            self.refuse_other_thread();
        }
    }

    #[cold]
    #[inline(never)]
    fn refuse_other_thread(&self) {
        // In a cancelled run, `is_calling` may be false for the right thread while it unwinds.
        assert!(
            panicking() && self.place.is_cancelled(),
            "another thread was going to wait in the process `{}`, in which only the thread that began it can wait; do \
             the work of the other thread in a process of its own, on the same SPE",
            self.identity.name
        );
    }

    #[inline(always)]
    pub(crate) fn is_left_alone(&self) -> bool {
        self.place.outside().is_some_and(OutsidePlace::is_over)
    }

    /// Returns the identity of this process for [ring buffers](crate::way::ring), or `None` without
    /// shared memory.
    #[inline(always)]
    pub(crate) fn user(&self) -> Option<User> {
        self.shares_memory().then(|| User {
            thread: sync::os_thread(),
            process: self.user,
        })
    }

    /// Returns the [`user`](Self::user), and what it has read if the network counts.
    #[inline(always)]
    pub(crate) fn user_and_tally(&self) -> Option<(User, Option<&Tally>)> {
        Some((self.user()?, self.changing.tally.as_deref()))
    }

    fn asker(&self) -> Asker<'_> {
        Asker {
            name: self.identity.name,
            number: self.identity.waker.process,
            attempts: false,
        }
    }

    /// Calls the carrier by `act`. If the run is cancelled while the carrier waits, the report of a
    /// deadlock names this process, and the line `at` of its call.
    fn by_carrier<R>(&self, at: &'static Location<'static>, act: impl FnOnce() -> R) -> R {
        let call = CarrierCall {
            process: self,
            at: self.changing.calls_at.get().unwrap_or(at),
        };
        let result = act();
        std::mem::forget(call);
        result
    }

    /// Performs `step` at the channel of `what`, and wakes processes that can go on. The step asks
    /// for the [waker](Self::waker) of this process if and only if the process has to wait. `at` is
    /// the line that reports name.
    #[inline]
    pub(crate) fn perform<R>(
        &self,
        what: &Waiting<'_>,
        at: &'static Location<'static>,
        step: impl FnOnce(&mut Woken) -> R,
    ) -> R {
        let Some(carrier) = self.carrier else {
            return self.step(step);
        };
        self.changing.step_waits.set(false);
        once(step, |step| {
            self.by_carrier(at, || {
                carrier.perform(self.asker(), what, &mut || Stepped {
                    woken: step(),
                    waits: self.changing.step_waits.get(),
                    changes: true,
                });
            });
        })
    }

    /// Checks a guard of an alternation by `step`, as [`perform`](Self::perform) does. `step`
    /// returns whether it has changed the channel.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn attempt<'b>(
        &self,
        what: impl FnOnce() -> Waiting<'b>,
        step: impl FnOnce(&mut Woken) -> bool,
    ) {
        match self.carrier {
            None => drop(self.step(step)),
            Some(carrier) => self.attempt_by(carrier, &what(), step),
        }
    }

    #[track_caller]
    #[cold]
    #[inline(never)]
    fn attempt_by(
        &self,
        carrier: &dyn Carrier,
        what: &Waiting<'_>,
        step: impl FnOnce(&mut Woken) -> bool,
    ) {
        let asker = Asker {
            attempts: true,
            ..self.asker()
        };
        let (changes, at) = (Cell::new(false), Location::caller());
        once(
            |woken| changes.set(step(woken)),
            |step| {
                self.by_carrier(at, || {
                    carrier.perform(asker, what, &mut || Stepped {
                        woken: step(),
                        waits: false,
                        changes: changes.get(),
                    });
                });
            },
        );
    }

    #[track_caller]
    #[inline(always)]
    pub(crate) fn announce<R>(&self, step: impl FnOnce(&mut Woken) -> R) -> R {
        let at = Location::caller();
        match self.carrier {
            None => self.step(step),
            Some(carrier) => once(step, |step| {
                self.by_carrier(at, || carrier.announce(self.asker(), step));
            }),
        }
    }

    #[inline(always)]
    fn step<R>(&self, step: impl FnOnce(&mut Woken) -> R) -> R {
        let mut woken = Woken::None;
        let result = step(&mut woken);
        self.wake(&mut woken);
        result
    }

    /// If processors share no memory, asks the program of the SPE `at` to start a queued process.
    #[track_caller]
    pub(crate) fn request_start(&self, at: SpeId) {
        if let Some(carrier) = self.carrier {
            self.by_carrier(Location::caller(), || carrier.start(at));
        }
    }

    /// Called when the process has ended, so that the transport no longer waits for the process.
    pub(crate) fn end(&self) {
        if let Some(carrier) = self.carrier {
            carrier.end(self.identity.waker.process);
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_all(&self, wakers: &[Waker]) {
        for waker in wakers {
            self.wake_one(*waker);
        }
    }

    /// Wakes a process, and returns whether the process belongs to this core.
    #[inline(always)]
    fn wake_one(&self, waker: Waker) -> bool {
        if self.place.wake_here(waker.sleeper) {
            // All threads of a core belong to one network, so the network need not be checked.
            return true;
        }
        if waker.network != self.identity.shared.network {
            return self.wake_outside(waker.network, waker.process);
        }
        self.place.wake_elsewhere(waker.sleeper);
        false
    }

    /// Wakes a process, and returns whether the process belongs to this core.
    #[inline(always)]
    pub(crate) fn wake_by(&self, way: WayToWake) -> bool {
        match way {
            WayToWake::Wake(waker) => self.wake_one(waker),
            WayToWake::Notify(processor) => {
                self.place.notify(processor);
                false
            }
        }
    }

    /// Wakes an outside thread. A `Waker` as an argument would enlarge the frames of all callers.
    #[cold]
    #[inline(never)]
    fn wake_outside(&self, network: u32, thread: u32) -> bool {
        assert!(
            network == outside_of(self.identity.shared.network),
            "the process `{}` uses a channel at which a process of another network waits; all that use a channel have \
             to belong to one network, and be run together",
            self.identity.name
        );
        pending::wake_remote(Waker {
            process: thread,
            network,
            ..self.identity.waker
        });
        false
    }

    #[inline(always)]
    pub(crate) fn wait_briefly(&self) -> bool {
        self.place.wait_briefly()
    }

    #[track_caller]
    #[inline]
    pub(crate) fn pack<T: Item>(&self, item: T, link: &dyn Link) -> Parcel<T> {
        let origin = if self.shares_memory() {
            self.origin
        } else {
            self.pack_by(&item, link)
        };
        Parcel { item, origin }
    }

    #[track_caller]
    #[inline]
    pub(crate) fn take_back<T: Item>(&self, parcel: Parcel<T>, link: &dyn Link) -> T {
        if let Some(carrier) = self.carrier {
            self.bring_by(carrier, &parcel, link);
        }
        parcel.item
    }

    /// Transfers the item of a parcel to the processor of this process, and returns the item. This
    /// process must have read the parcel from the channel.
    #[track_caller]
    #[inline]
    pub(crate) fn fetch<T: Item>(&self, parcel: Parcel<T>, link: &dyn Link) -> T {
        match self.manner {
            Manner::Plain => {}
            Manner::Counted => {
                if let Some(tally) = &self.changing.tally {
                    tally.count(parcel.origin, &parcel.item);
                }
            }
            Manner::Carried => self.fetch_by(&parcel, link),
        }
        parcel.item
    }

    #[track_caller]
    #[cold]
    fn fetch_by<T: Item>(&self, parcel: &Parcel<T>, link: &dyn Link) {
        let Some(carrier) = self.carrier else { return };
        carrier.count_communication();
        if let Some(tally) = &self.changing.tally {
            // Before the item is fetched, because the transport then forgets it.
            let origin = match parcel.origin.sender() {
                Some(_) => parcel.origin,
                None => Origin::of_sender(self.sender_by(parcel.origin)),
            };
            tally.count(origin, &parcel.item);
        }
        self.bring_by(carrier, parcel, link);
    }

    /// Adds this process to what the network counts, if it counts.
    pub(crate) fn began(&self, rank: Option<Rank>, name: &str) {
        if let (Some(tally), Some(counting)) =
            (&self.changing.tally, &self.identity.shared.counting)
        {
            let number = self.number();
            let rank = rank.unwrap_or_else(|| Rank::of_started(number));
            counting.began(tally, number, rank, name, self.place.processor());
        }
    }

    /// Returns the messages and bytes that this process has read, if the network counts.
    pub(crate) fn received(&self) -> Option<(u64, u64)> {
        self.changing.tally.as_deref().map(Tally::sum)
    }

    #[cold]
    #[inline(never)]
    fn sender_by(&self, origin: Origin) -> u32 {
        let exchange = self.identity.shared.exchange.get();
        let number = exchange.and_then(|it| sync::locked(&it.items).sender_of(origin));
        let counting = self.identity.shared.counting.as_ref();
        let sender = counting.and_then(|counting| counting.sender_of(number?));
        sender.unwrap_or(OUTSIDE)
    }

    #[track_caller]
    #[cold]
    fn pack_by<T: Item>(&self, item: &T, link: &dyn Link) -> Origin {
        let Some(carrier) = self.carrier else {
            return self.origin;
        };
        let origin = self.by_carrier(Location::caller(), || {
            carrier.pack(self.asker(), link, item.bytes())
        });
        match &self.changing.tally {
            Some(tally) if !origin.has_bytes() => Origin::of_sender(tally.sender),
            _ => origin,
        }
    }

    #[track_caller]
    #[cold]
    fn bring_by<T: Item>(&self, carrier: &dyn Carrier, parcel: &Parcel<T>, link: &dyn Link) {
        self.by_carrier(Location::caller(), || {
            carrier.bring(self.asker(), link, parcel.origin, parcel.item.bytes());
        });
    }

    #[track_caller]
    #[inline(always)]
    pub(crate) fn wake(&self, woken: &mut Woken) {
        let at = Location::caller();
        match (self.carrier, woken) {
            (None, Woken::None) => {}
            (None, Woken::One(waker)) => _ = self.wake_one(*waker),
            (None, Woken::Several(wakers)) => self.wake_all(wakers),
            (Some(carrier), woken) => {
                self.by_carrier(at, || carrier.wake(std::mem::take(woken)));
            }
        }
    }

    /// Returns whether a wait at a channel with the lock `L` should poll: see
    /// [`Wake::would_poll`](cellworks_machine::Wake::would_poll).
    #[inline(always)]
    pub(crate) fn would_poll<L: Lock>(&self) -> bool {
        L::IS_SHARED && self.place.would_poll()
    }

    /// As [`would_poll`](Self::would_poll), for a wait whose partner is probably `partner`.
    #[inline(always)]
    pub(crate) fn would_poll_for<L: Lock>(&self, partner: Partner) -> bool {
        if L::IS_SHARED && partner.is_elsewhere() {
            return self.place.would_poll_elsewhere();
        }
        self.would_poll::<L>()
    }

    /// Not inlined, because inlining made the ring benchmark 0.9 ns slower for each message.
    #[track_caller]
    #[inline(never)]
    fn wait_and_poll(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        self.place.wait_until(why, ready)
    }

    /// Waits until `ready` returns true, and returns true. Returns false at `deadline`, in a
    /// destructor in a cancelled run, and for an outside thread after the run.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn wait_until(
        &self,
        why: impl Why,
        deadline: Option<Time>,
        polls: bool,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        let wait = ProcessWaits {
            identity: &self.identity,
            why,
            at: self.changing.calls_at.get().unwrap_or(Location::caller()),
        };
        if let Some(outside) = self.place.outside() {
            let is_ready = outside.seat.wait(&|| wait.record(), deadline, ready);
            std::mem::forget(wait);
            return is_ready;
        }
        let is_ready = match (self.carrier, deadline) {
            (None, None) if polls => self.wait_and_poll(&wait, ready),
            (None, None) => self.place.wait_until_woken(&wait, ready),
            (None, Some(deadline)) => self.place.wait_until_deadline(&wait, deadline, ready),
            (Some(carrier), _) => {
                self.assert_is_calling();
                carrier.wait(self.asker(), &wait.why.waiting(), &wait, deadline, ready)
            }
        };
        std::mem::forget(wait);
        is_ready
    }
}

/// Calls `perform` once, with a closure that runs `step`, and returns the result of `step`.
fn once<R>(
    step: impl FnOnce(&mut Woken) -> R,
    perform: impl FnOnce(&mut dyn FnMut() -> Woken),
) -> R {
    let mut step = Some(step);
    let mut result = None;
    perform(&mut || {
        let step = step.take().expect("a step is performed once");
        let mut woken = Woken::None;
        result = Some(step(&mut woken));
        woken
    });
    result.expect("carriers perform what they are asked to")
}

/// A call of the carrier, in which the process may wait for the carrier's own reasons. If the run
/// is cancelled in the call, the destructor records the process. Otherwise it does not run.
struct CarrierCall<'c, 'a, P: Place> {
    process: &'c Process<'a, P>,
    at: &'static Location<'static>,
}

impl<P: Place> Drop for CarrierCall<'_, '_, P> {
    #[cold]
    fn drop(&mut self) {
        if self.process.place.is_cancelled() {
            held::cancelled();
            self.process.identity.record(None, self.at);
        }
    }
}

/// The data of a wait, on the stack of the call that waits. If this call unwinds, the destructor
/// records the wait for the report of a deadlock. Otherwise the destructor does not run.
struct ProcessWaits<'a, W: Why> {
    identity: &'a Identity<'a>,
    why: W,
    at: &'static Location<'static>,
}

impl<W: Why> fmt::Display for ProcessWaits<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, as the process `{}`",
            self.why.waiting(),
            self.identity.name
        )
    }
}

impl<W: Why> ProcessWaits<'_, W> {
    fn record(&self) {
        self.identity.record(Some(&self.why.waiting()), self.at);
    }
}

impl<W: Why> Drop for ProcessWaits<'_, W> {
    #[cold]
    fn drop(&mut self) {
        held::cancelled();
        self.record();
    }
}
