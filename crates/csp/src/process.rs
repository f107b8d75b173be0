//! A process, as its channels see it.

use std::cell::Cell;
use std::fmt;
use std::panic::Location;
use std::thread::panicking;

use cellworks_machine::{SpeId, Time};

use crate::held;
use crate::item::Item;
use crate::link::Link;
use crate::lock::Lock;
use crate::outside::OutsidePlace;
use crate::parcel::{Origin, Parcel};
use crate::pending;
use crate::place::Place;
use crate::shared::{NetworkState, outside_of};
use crate::side::User;
use crate::sync;
use crate::transport::{Asker, Carrier, Stepped};
use crate::waiting::{Waiting, Why};
use crate::waker::{Waker, Woken};

/// A process: what its program speaks to channels through.
///
/// It belongs to the processor that it runs on, its [`place`](Self::place), and can be neither sent
/// to nor shared with others. A program may start further threads there, but none of them can wait
/// in its process: what is to communicate on its own is a process of its own.
pub struct Process<'a, P: Place> {
    place: &'a P,
    who: Who<'a>,
    /// Where processors share no memory.
    carrier: Option<&'a dyn Carrier>,
    // In a place of its own: nothing in a process changes then, so that the compiler need not load
    // again what it has asked once.
    changing: Box<Changing>,
}

/// What changes in a process.
#[derive(Default)]
struct Changing {
    /// The present step has asked whom to wake later.
    step_waits: Cell<bool>,
    /// How often it has communicated where it may not have to wait.
    communications: Cell<usize>,
}

/// After this many communications for which it did not wait, a process lets the others of its core
/// run once. A power of two.
pub(crate) const TURN: usize = 256;

/// Which process of which network.
pub(crate) struct Who<'a> {
    name: &'a str,
    /// Of the thread that began it, which is the only one that may wait in it; and its number.
    waker: Waker,
    shared: &'a NetworkState,
}

impl<'a> Who<'a> {
    /// Which process it is, of all networks. The number of its network is above its own.
    #[inline(always)]
    pub(crate) fn user(&self) -> u64 {
        u64::from(self.waker.network) << 32 | u64::from(self.waker.process)
    }

    /// The number in its network of a process that [`user`](Self::user) says.
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

    /// As [`new`](Self::new), with a number that was chosen before.
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
        Self {
            place,
            who: Who {
                name,
                waker: Waker {
                    sleeper: place.sleeper(),
                    process: number,
                    network: shared.network,
                },
                shared,
            },
            carrier,
            changing: Box::default(),
        }
    }

    /// What it is called in its network.
    pub fn name(&self) -> &str {
        self.who.name
    }

    /// Where it runs: an [`Spe`](cellworks_machine::Spe), or the PPE.
    pub fn place(&self) -> &'a P {
        self.place
    }

    /// The time since the start of the run.
    pub fn now(&self) -> Time {
        self.place.now()
    }

    /// Lets the other processes of this processor run once.
    pub fn yield_now(&self) {
        self.place.yield_now();
        if let Some(carrier) = self.carrier {
            carrier.serve();
        }
    }

    /// The process communicates, and may not have to wait: after a [`TURN`] of them it
    /// [ends its turn](Self::end_turn).
    #[inline(always)]
    pub(crate) fn count_communication(&self) {
        let communications = self.changing.communications.get().wrapping_add(1);
        self.changing.communications.set(communications);
        if communications.is_multiple_of(TURN) {
            self.end_turn();
        }
    }

    /// Lets the other processes of this processor run once, and those that wait for others look.
    /// Where processors share no memory it does nothing: others run whenever this one waits for
    /// DMA.
    #[cold]
    #[inline(never)]
    pub(crate) fn end_turn(&self) {
        if self.shares_memory() {
            self.place.yield_now();
        }
    }

    /// An alternation has found no guard ready, and does not wait.
    pub(crate) fn skip(&self) {
        if let Some(carrier) = self.carrier {
            carrier.skip(self.asker());
        }
    }

    /// Lets the other processes of this processor run once, if one of them could; otherwise it
    /// costs a look, and on a Cell no switch. For loops that compute for long and do not
    /// communicate (section 2.2.7).
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
        self.place.yield_ready();
    }

    /// Waits until a time, counted as [`now`](Self::now) does. The other processes of this
    /// processor run meanwhile, and the network is in no deadlock.
    #[track_caller]
    pub fn sleep_until(&self, time: Time) {
        let why = "its time to come";
        self.place.wait_until_deadline(&why, time, &mut || false);
    }

    /// What the processes of its network share.
    pub(crate) fn shared(&self) -> &'a NetworkState {
        self.who.shared
    }

    /// Whether all processors share memory, so that steps are performed here.
    #[inline(always)]
    pub(crate) fn shares_memory(&self) -> bool {
        self.carrier.is_none()
    }

    pub(crate) fn number(&self) -> u32 {
        self.who.waker.process
    }

    #[inline(always)]
    pub(crate) fn who(&self) -> &Who<'a> {
        &self.who
    }

    /// Whom to wake when what the process waits for has come.
    #[inline(always)]
    pub(crate) fn waker(&self) -> &Waker {
        match self.carrier {
            None => self.assert_is_calling(),
            // The step may be performed on another processor.
            Some(_) => self.changing.step_waits.set(true),
        }
        match self.place.outside() {
            None => &self.who.waker,
            Some(outside) => outside.waker(),
        }
    }

    /// # Panics
    ///
    /// If another thread is going to wait than that which began the process.
    #[inline(always)]
    fn assert_is_calling(&self) {
        if !self.place.is_calling(self.who.waker.sleeper) {
            self.refuse_other_thread();
        }
    }

    #[cold]
    #[inline(never)]
    fn refuse_other_thread(&self) {
        // Who is unwound when a run was cancelled is nobody on some machines.
        assert!(
            panicking(),
            "another thread was going to wait as the process `{}`, in which its own thread alone can wait; have the thread be \
             a process of its own, on the same SPE",
            self.who.name
        );
    }

    /// Whether it is a thread outside, and its network has ended: it meets no process any more.
    #[inline(always)]
    pub(crate) fn is_left_alone(&self) -> bool {
        self.place.outside().is_some_and(OutsidePlace::is_over)
    }

    /// Who it is, if it may use the buffers of channels without their locks: where all processors
    /// share memory.
    #[inline(always)]
    pub(crate) fn user(&self) -> Option<User> {
        self.shares_memory().then(|| User {
            thread: sync::os_thread(),
            process: self.who.waker.process,
        })
    }

    fn asker(&self) -> Asker<'_> {
        Asker {
            name: self.who.name,
            number: self.who.waker.process,
            looks: false,
        }
    }

    /// Performs a step of the protocol at the channel that `what` names, and wakes whom it gave a
    /// reason to go on. The step asks for the [waker](Self::waker) of this process if, and only if,
    /// that has to wait.
    #[inline]
    pub(crate) fn perform<R>(&self, what: &Waiting<'_>, step: impl FnOnce(&mut Woken) -> R) -> R {
        let Some(carrier) = self.carrier else {
            return self.step(step);
        };
        self.changing.step_waits.set(false);
        once(step, |step| {
            carrier.perform(self.asker(), what, &mut || Stepped {
                woken: step(),
                waits: self.changing.step_waits.get(),
                changes: true,
            });
        })
    }

    /// As [`perform`](Self::perform), for the look of an alternation at one of its guards, which
    /// says whether it has found anything to do.
    #[inline(always)]
    pub(crate) fn look<'b>(
        &self,
        what: impl FnOnce() -> Waiting<'b>,
        step: impl FnOnce(&mut Woken) -> bool,
    ) {
        match self.carrier {
            None => drop(self.step(step)),
            Some(carrier) => self.look_by(carrier, &what(), step),
        }
    }

    #[cold]
    #[inline(never)]
    fn look_by(
        &self,
        carrier: &dyn Carrier,
        what: &Waiting<'_>,
        step: impl FnOnce(&mut Woken) -> bool,
    ) {
        let asker = Asker {
            looks: true,
            ..self.asker()
        };
        let changes = Cell::new(false);
        once(
            |woken| changes.set(step(woken)),
            |step| {
                carrier.perform(asker, what, &mut || Stepped {
                    woken: step(),
                    waits: false,
                    changes: changes.get(),
                });
            },
        );
    }

    /// As [`perform`](Self::perform), for the step with which an alternation begins to wait.
    #[inline(always)]
    pub(crate) fn announce<R>(&self, step: impl FnOnce(&mut Woken) -> R) -> R {
        match self.carrier {
            None => self.step(step),
            Some(carrier) => once(step, |step| carrier.announce(self.asker(), step)),
        }
    }

    /// Performs a step here.
    #[inline(always)]
    fn step<R>(&self, step: impl FnOnce(&mut Woken) -> R) -> R {
        let mut woken = Woken::None;
        let result = step(&mut woken);
        self.wake(&mut woken);
        result
    }

    /// Where processors share no memory: asks the program of another SPE to start the process that
    /// was put down for it.
    pub(crate) fn request_start(&self, at: SpeId) {
        if let Some(carrier) = self.carrier {
            carrier.start(at);
        }
    }

    /// It has ended: its transport waits for it no more.
    pub(crate) fn end(&self) {
        if let Some(carrier) = self.carrier {
            carrier.end(self.who.waker.process);
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_all(&self, wakers: &[Waker]) {
        for waker in wakers {
            self.wake_one(*waker, waker.sleeper.polls());
        }
    }

    /// Wakes a process that polls or not: see
    /// [`Sleeper::polling`](cellworks_machine::Sleeper::polling). Says whether it is of this
    /// core.
    #[inline(always)]
    pub(crate) fn wake_one(&self, waker: Waker, polls: bool) -> bool {
        if self.place.wake_here(waker.sleeper) {
            // A core runs threads of one network.
            return true;
        }
        if waker.network != self.who.shared.network {
            return self.wake_outside(waker.network, waker.process);
        }
        self.place.wake_elsewhere(waker.sleeper.polling(polls));
        false
    }

    /// Wakes a thread outside, as [`wake_one`](Self::wake_one).
    // With numbers instead of a waker, which would take room in the frames of all callers.
    #[cold]
    #[inline(never)]
    fn wake_outside(&self, network: u32, thread: u32) -> bool {
        assert!(
            network == outside_of(self.who.shared.network),
            "the process `{}` uses a channel at which a process of another network waits; all that use a channel have \
             to belong to one network, and be run together",
            self.who.name
        );
        pending::wake_remote(Waker {
            process: thread,
            network,
            ..self.who.waker
        });
        false
    }

    /// See [`Wake::wait_briefly`](cellworks_machine::Wake::wait_briefly).
    #[inline(always)]
    pub(crate) fn wait_briefly(&self) -> bool {
        self.place.wait_briefly()
    }

    /// Makes an item ready to be written.
    #[inline]
    pub(crate) fn pack<T: Item>(&self, item: T, link: &dyn Link) -> Parcel<T> {
        let origin = match self.carrier {
            None => Origin::default(),
            Some(carrier) => self.pack_by(carrier, &item, link),
        };
        Parcel { item, origin }
    }

    /// Takes an item back that was not delivered.
    #[inline]
    pub(crate) fn take_back<T: Item>(&self, parcel: Parcel<T>, link: &dyn Link) -> T {
        if let Some(carrier) = self.carrier {
            self.bring_by(carrier, &parcel, link);
        }
        parcel.item
    }

    /// Brings an item that was read to this processor.
    #[inline]
    pub(crate) fn fetch<T: Item>(&self, parcel: Parcel<T>, link: &dyn Link) -> T {
        if let Some(carrier) = self.carrier {
            carrier.count_communication();
            self.bring_by(carrier, &parcel, link);
        }
        parcel.item
    }

    #[cold]
    fn pack_by<T: Item>(&self, carrier: &dyn Carrier, item: &T, link: &dyn Link) -> Origin {
        carrier.pack(self.asker(), link, item.bytes())
    }

    #[cold]
    fn bring_by<T: Item>(&self, carrier: &dyn Carrier, parcel: &Parcel<T>, link: &dyn Link) {
        carrier.bring(self.asker(), link, parcel.origin, parcel.item.bytes());
    }

    /// Wakes those that a step has given a reason to go on.
    #[inline(always)]
    pub(crate) fn wake(&self, woken: &mut Woken) {
        match (self.carrier, woken) {
            (None, Woken::None) => {}
            (None, Woken::One(waker)) => _ = self.wake_one(*waker, waker.sleeper.polls()),
            (None, Woken::Several(wakers)) => self.wake_all(wakers),
            (Some(carrier), woken) => carrier.wake(std::mem::take(woken)),
        }
    }

    /// Whether the process had better look again and again if it now waits at a channel with such a
    /// lock, instead of being woken by name: see
    /// [`Wake::would_poll`](cellworks_machine::Wake::would_poll).
    #[inline(always)]
    pub(crate) fn would_poll<L: Lock>(&self) -> bool {
        L::IS_SHARED && self.place.would_poll()
    }

    /// Waits and polls again and again. Out of line: the core is idle, so a call costs nothing, and
    /// in line it took the ring 0.9 ns more a message.
    #[track_caller]
    #[inline(never)]
    fn wait_and_poll(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        self.place.wait_until(why, ready)
    }

    /// Waits until `ready` says true, or `deadline` has come: then false. Without a deadline it is
    /// false only in a destructor while the run is being cancelled.
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
            who: &self.who,
            why,
            at: Location::caller(),
        };
        if let Some(outside) = self.place.outside() {
            let is_ready = outside.wait(&|| wait.record(), deadline, ready);
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

/// Has `perform` perform a step, which it knows as a function that is called once. Returns the
/// step's result.
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

/// A wait of a process, in the frame of the call that waits: describes the wait for the machine,
/// and if that is cancelled, records it for the report of a deadlock. A call that returns forgets
/// this.
struct ProcessWaits<'a, W: Why> {
    who: &'a Who<'a>,
    why: W,
    at: &'static Location<'static>,
}

impl<W: Why> fmt::Display for ProcessWaits<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, as the process `{}`",
            self.why.waiting(),
            self.who.name
        )
    }
}

impl<W: Why> ProcessWaits<'_, W> {
    /// Records the wait for the report of a deadlock.
    fn record(&self) {
        let Who {
            name,
            waker,
            shared,
        } = *self.who;
        let (thread, why) = (waker.sleeper.thread(), self.why.waiting());
        shared
            .waits
            .record(waker.process, name, thread, &why, self.at);
    }
}

impl<W: Why> Drop for ProcessWaits<'_, W> {
    #[cold]
    fn drop(&mut self) {
        held::cancelled();
        self.record();
    }
}
