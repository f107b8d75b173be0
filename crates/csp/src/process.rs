//! A process, as its channels see it.

use std::cell::Cell;
use std::fmt;
use std::panic::Location;

use cellworks_machine::Time;

use crate::held;
use crate::item::Item;
use crate::parcel::{Origin, Parcel};
use crate::pending;
use crate::place::Place;
use crate::ring::User;
use crate::shared::Shared;
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
    shared: &'a Shared,
}

impl<'a, P: Place> Process<'a, P> {
    pub(crate) fn new(place: &'a P, name: &'a str, shared: &'a Shared) -> Self {
        Self {
            place,
            name,
            number: shared.next_number(),
            shared,
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
    }

    /// Lets the other processes of this processor run once, if one of them could; otherwise it costs a look, and on a
    /// Cell no switch. For loops that compute for long and do not communicate (section 2.2.7).
    ///
    /// ```
    /// use cellworks_csp::{Ended, Input, Output, Place, Process};
    ///
    /// fn logistic_map(
    ///     process: &Process<impl Place>,
    ///     mut starts: impl Input<f64>,
    ///     mut results: impl Output<f64>,
    /// ) -> Result<(), Ended> {
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
    pub(crate) fn shared(&self) -> &'a Shared {
        self.shared
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    #[inline(always)]
    pub(crate) fn waker(&self) -> Waker {
        Waker {
            sleeper: self.place.sleeper(),
            process: self.number,
        }
    }

    /// Who it is, if it may use the buffers of channels without their locks: where all processors share memory.
    #[inline(always)]
    pub(crate) fn user(&self) -> Option<User> {
        Some(User {
            thread: pending::os_thread(),
            process: self.number,
        })
    }

    /// Performs a step of the protocol, and wakes whom it gave a reason to go on.
    #[inline(always)]
    pub(crate) fn perform(&self, step: &mut impl FnMut() -> Woken) {
        let woken = step();
        self.wake(woken);
        self.wake_those_of_dropped_ends();
    }

    /// See [`pending`].
    #[inline(always)]
    pub(crate) fn wake_those_of_dropped_ends(&self) {
        if pending::any() {
            self.wake_all(pending::take());
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_all(&self, wakers: Vec<Waker>) {
        for waker in wakers {
            self.place.wake(waker.sleeper);
        }
    }

    /// Makes an item ready to be written.
    #[inline]
    pub(crate) fn pack<T: Item>(&self, item: T) -> Parcel<T> {
        let origin = Origin::default();
        Parcel { item, origin }
    }

    /// Takes an item back that was not delivered.
    #[inline]
    pub(crate) fn take_back<T: Item>(&self, parcel: Parcel<T>) -> T {
        parcel.item
    }

    /// Brings an item that was read to this processor.
    #[inline]
    pub(crate) fn fetch<T: Item>(&self, parcel: Parcel<T>) -> T {
        parcel.item
    }

    #[inline(always)]
    pub(crate) fn wake(&self, woken: Woken) {
        match woken {
            Woken::Nobody => {}
            Woken::One(waker) => self.place.wake(waker.sleeper),
            Woken::Several(wakers) => self.wake_all(wakers),
        }
    }

    /// Waits until `ready` says true. False only in a destructor while the run is being cancelled.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn wait_until(&self, why: &Waiting<'_>, ready: &mut dyn FnMut() -> bool) -> bool {
        let why = self.described(why);
        let cancelled = held::Cancelled;
        let is_ready = self.place.wait_until(&why, ready);
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
        let why = self.described(why);
        let cancelled = held::Cancelled;
        let is_ready = self.place.wait_until_deadline(&why, deadline, ready);
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
