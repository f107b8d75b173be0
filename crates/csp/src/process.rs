//! A process, as its channels see it.

use std::cell::Cell;
use std::fmt;
use std::panic::Location;

use cellworks_machine::Time;

use crate::item::Item;
use crate::parcel::{Origin, Parcel};
use crate::place::Place;
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
    waits: &'a Waits,
}

impl<'a, P: Place> Process<'a, P> {
    pub(crate) fn new(place: &'a P, name: &'a str, number: u32, waits: &'a Waits) -> Self {
        Self {
            place,
            name,
            number,
            waits,
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

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    #[inline]
    pub(crate) fn waker(&self) -> Waker {
        Waker {
            sleeper: self.place.sleeper(),
            process: self.number,
            network: self.waits.network,
        }
    }

    /// Performs a step of the protocol, and wakes whom it gave a reason to go on.
    #[inline]
    pub(crate) fn perform(&self, step: &mut impl FnMut() -> Woken) {
        let woken = step();
        self.wake(woken);
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

    #[inline]
    pub(crate) fn wake(&self, woken: Woken) {
        woken.for_each(|waker| {
            assert!(
                waker.network == self.waits.network,
                "the process `{}` uses a channel at which a process of another network waits; all that use a channel have \
                 to belong to one network, and be run together",
                self.name
            );
            self.place.wake(waker.sleeper);
        });
    }

    /// Waits until `ready` says true. False only in a destructor while the run is being cancelled.
    #[track_caller]
    #[inline]
    pub(crate) fn wait_until(&self, why: &Waiting<'_>, ready: &mut dyn FnMut() -> bool) -> bool {
        let why = self.described(why);
        let is_ready = self.place.wait_until(&why, ready);
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
        let is_ready = self.place.wait_until_deadline(&why, deadline, ready);
        why.forget();
        is_ready
    }

    #[track_caller]
    fn described<'b>(&'b self, why: &'b Waiting<'b>) -> Described<'b> {
        Described {
            name: self.name,
            number: self.number,
            waits: self.waits,
            why,
            at: Location::caller(),
            is_taken_down: Cell::new(false),
        }
    }
}

/// What a process waits for.
pub(crate) enum Waiting<'a> {
    Read(&'a dyn Link),
    Write(&'a dyn Link),
    /// One of the guards of an alternation.
    Alternation(&'a dyn Fn(&mut dyn FnMut(Waiting<'_>))),
    /// A channel with this name to be created.
    Creation(&'a dyn fmt::Display),
}

/// A channel, for reports.
pub(crate) trait Link {
    fn name(&self) -> String;
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
