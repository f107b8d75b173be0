//! A process, as its channels see it.

use std::cell::Cell;
use std::fmt;
use std::panic::Location;

use cellworks_machine::{Sleeper, Time};

use crate::held;
use crate::item::Item;
use crate::parcel::{Origin, Parcel};
use crate::pending;
use crate::place::Place;
use crate::ring::User;
use crate::shared::NetworkState;
use crate::transport::{Asker, Carrier, Key, Stepped};
use crate::waits::Waits;
use crate::waker::{Waker, Woken};

/// A process: what its program speaks to channels through.
///
/// It belongs to the processor that it runs on, its [`place`](Self::place), and can be neither sent to nor shared with
/// others.
pub struct Process<'a, P: Place> {
    place: &'a P,
    name: &'a str,
    number: u32,
    shared: &'a NetworkState,
    /// Where processors share no memory.
    carrier: Option<&'a dyn Carrier>,
    /// Itself, where a step may be performed on another processor, which cannot ask.
    sleeper: Option<Sleeper>,
    /// The present step has asked whom to wake later.
    step_waits: Cell<bool>,
}

impl<'a, P: Place> Process<'a, P> {
    pub(crate) fn new(
        place: &'a P,
        name: &'a str,
        shared: &'a NetworkState,
        carrier: Option<&'a dyn Carrier>,
    ) -> Self {
        let number = shared.next_number();
        if let Some(carrier) = carrier {
            carrier.begin(number);
        }
        Self {
            place,
            name,
            number,
            shared,
            carrier,
            sleeper: carrier.map(|_| place.sleeper()),
            step_waits: Cell::new(false),
        }
    }

    /// What it is called in its network.
    pub fn name(&self) -> &str {
        self.name
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

    /// An alternation has looked whether a guard is ready, and none was.
    pub(crate) fn glance(&self) {
        if let Some(carrier) = self.carrier {
            carrier.glance(self.asker());
        }
    }

    /// Lets the other processes of this processor run once, if one of them could; otherwise it costs a look, and on a
    /// Cell no switch. For loops that compute for long and do not communicate (section 2.2.7).
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

    /// Waits until a time, counted as [`now`](Self::now) does. The other processes of this processor run meanwhile, and
    /// the network is in no deadlock.
    #[track_caller]
    pub fn sleep_until(&self, time: Time) {
        let why = "its time to come";
        self.place.wait_until_deadline(&why, time, &mut || false);
    }

    /// What the processes of its network share.
    pub(crate) fn shared(&self) -> &'a NetworkState {
        self.shared
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    #[inline(always)]
    pub(crate) fn waker(&self) -> Waker {
        let sleeper = match self.sleeper {
            None => self.place.sleeper(),
            Some(sleeper) => {
                self.step_waits.set(true);
                sleeper
            }
        };
        Waker {
            sleeper,
            process: self.number,
            network: self.shared.network,
        }
    }

    /// Who it is, if it may use the buffers of channels without their locks: where all processors share memory.
    #[inline(always)]
    pub(crate) fn user(&self) -> Option<User> {
        // The threads of a model are one OS thread, so models of channels take the lock; the ring has its own.
        let shares_memory = self.carrier.is_none() && !cfg!(loom);
        shares_memory.then(|| User {
            thread: pending::os_thread(),
            process: self.number,
        })
    }

    fn asker(&self) -> Asker<'_> {
        Asker {
            name: self.name,
            number: self.number,
            looks: false,
        }
    }

    /// Performs a step of the protocol at the channel that `what` names, and wakes whom it gave a reason to go on. The step
    /// asks for the [waker](Self::waker) of this process if, and only if, that has to wait.
    #[inline(always)]
    pub(crate) fn perform(&self, what: &Waiting<'_>, step: &mut impl FnMut() -> Woken) {
        match self.carrier {
            None => self.wake(step()),
            Some(carrier) => self.perform_by(carrier, what, step),
        }
    }

    #[cold]
    fn perform_by(
        &self,
        carrier: &dyn Carrier,
        what: &Waiting<'_>,
        step: &mut dyn FnMut() -> Woken,
    ) {
        self.step_waits.set(false);
        carrier.perform(self.asker(), what, &mut || Stepped {
            woken: step(),
            waits: self.step_waits.get(),
            changes: true,
        });
    }

    /// As [`perform`](Self::perform), for the look of an alternation at one of its guards: `None` if it finds nothing to do.
    #[inline(always)]
    pub(crate) fn look(&self, what: &Waiting<'_>, step: &mut impl FnMut() -> Option<Woken>) {
        match self.carrier {
            None => self.wake(step().unwrap_or_default()),
            Some(carrier) => self.look_by(carrier, what, step),
        }
    }

    #[cold]
    fn look_by(
        &self,
        carrier: &dyn Carrier,
        what: &Waiting<'_>,
        step: &mut dyn FnMut() -> Option<Woken>,
    ) {
        let asker = Asker {
            looks: true,
            ..self.asker()
        };
        carrier.perform(asker, what, &mut || {
            let woken = step();
            Stepped {
                changes: woken.is_some(),
                woken: woken.unwrap_or_default(),
                waits: false,
            }
        });
    }

    /// As [`perform`](Self::perform), for the step with which an alternation begins to wait.
    #[inline]
    pub(crate) fn announce(&self, step: &mut impl FnMut() -> Woken) {
        match self.carrier {
            None => self.wake(step()),
            Some(carrier) => carrier.announce(self.asker(), step),
        }
    }

    /// It has ended: its transport waits for it no more.
    pub(crate) fn end(&self) {
        if let Some(carrier) = self.carrier {
            carrier.end(self.number);
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_all(&self, wakers: Vec<Waker>) {
        for waker in wakers {
            self.wake_one(waker);
        }
    }

    #[inline(always)]
    fn wake_one(&self, waker: Waker) {
        assert!(
            waker.network == self.shared.network,
            "the process `{}` uses a channel at which a process of another network waits; all that use a channel have \
             to belong to one network, and be run together",
            self.name
        );
        self.place.wake(waker.sleeper);
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

    #[inline(always)]
    pub(crate) fn wake(&self, woken: Woken) {
        match (self.carrier, woken) {
            (Some(carrier), woken) => carrier.wake(woken),
            (None, Woken::Nobody) => {}
            (None, Woken::One(waker)) => self.wake_one(waker),
            (None, Woken::Several(wakers)) => self.wake_all(wakers),
        }
    }

    /// Waits until `ready` says true. False only in a destructor while the run is being cancelled.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn wait_until(&self, why: &Waiting<'_>, ready: &mut dyn FnMut() -> bool) -> bool {
        let what = why;
        let why = self.described(what);
        let cancelled = held::Cancelled;
        let is_ready = match self.carrier {
            None => self.place.wait_until(&why, ready),
            Some(carrier) => carrier.wait(self.asker(), what, &why, None, ready),
        };
        std::mem::forget(cancelled);
        why.forget();
        is_ready
    }

    /// Waits until `ready` says true, or `deadline` has come: then false.
    #[track_caller]
    pub(crate) fn wait_until_deadline(
        &self,
        why: &Waiting<'_>,
        deadline: Time,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        let what = why;
        let why = self.described(what);
        let cancelled = held::Cancelled;
        let is_ready = match self.carrier {
            None => self.place.wait_until_deadline(&why, deadline, ready),
            Some(carrier) => carrier.wait(self.asker(), what, &why, Some(deadline), ready),
        };
        std::mem::forget(cancelled);
        why.forget();
        is_ready
    }

    #[track_caller]
    #[inline(always)]
    fn described<'b>(&'b self, why: &'b Waiting<'b>) -> Described<'b> {
        Described {
            name: self.name,
            number: self.number,
            waits: &self.shared.waits,
            why,
            at: Location::caller(),
            is_taken_down: Cell::new(false),
        }
    }
}

/// Tells of each guard of an alternation what it waits for.
pub(crate) type EachGuard<'a> = dyn Fn(&mut dyn FnMut(Waiting<'_>)) + 'a;

/// What a process waits for.
#[derive(Clone, Copy)]
pub(crate) enum Waiting<'a> {
    Read(&'a dyn Link),
    Write(&'a dyn Link),
    /// One of the guards of an alternation.
    Alternation(&'a EachGuard<'a>),
    /// A channel with this name to be created.
    Creation(&'a dyn fmt::Display),
}

/// A channel, for reports.
pub(crate) trait Link {
    fn name(&self) -> String;
    /// What tells it from other channels.
    fn address(&self) -> usize;
    /// The processes that used its ends last, by their numbers: reader and writer.
    fn last_users(&self) -> (Option<u32>, Option<u32>);
    /// What transports know it by, unless only processes of one SPE can use it.
    fn key(&self) -> Option<Key>;
}

/// Describes what a process waits for, and takes it down for the report of a deadlock: descriptions are asked for only
/// then, and before a processor sleeps.
struct Described<'a> {
    name: &'a str,
    number: u32,
    waits: &'a Waits,
    why: &'a Waiting<'a>,
    at: &'static Location<'static>,
    is_taken_down: Cell<bool>,
}

impl Described<'_> {
    /// The process goes on.
    #[inline]
    fn forget(&self) {
        if self.is_taken_down.get() {
            self.waits.forget(self.number);
        }
    }
}

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.is_taken_down.set(true);
        self.waits
            .take_down(self.number, self.name, self.why, self.at);
        write!(f, "{}, as the process `{}`", self.why, self.name)
    }
}

impl fmt::Display for Waiting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(channel) => write!(f, "a writer to {}", channel.name()),
            Self::Write(channel) => write!(f, "a reader of {}", channel.name()),
            Self::Alternation(guards) => {
                f.write_str("one of: ")?;
                let mut result = Ok(());
                let mut is_first = true;
                guards(&mut |guard| {
                    let comma = if std::mem::take(&mut is_first) {
                        ""
                    } else {
                        ", "
                    };
                    result = result.and_then(|()| write!(f, "{comma}{guard}"));
                });
                result
            }
            Self::Creation(name) => write!(f, "the channel {name} to be created"),
        }
    }
}
