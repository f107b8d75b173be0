//! Channels and their ends.

use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

use crate::core::{Core, Side};
use crate::end::{Ended, Unsent};
use crate::item::Item;
use crate::lock::{Lock, Spin, Turns};
use crate::pending;
use crate::place::Place;
use crate::process::{Link, Process, Waiting};

/// An end that one process has: it is not `Clone`.
#[derive(Clone, Copy, Debug)]
pub struct One(());

/// An end that several processes may have: it is `Clone`.
#[derive(Clone, Copy, Debug)]
pub struct Any(());

/// Processes of any processors may use the channel.
#[derive(Clone, Copy, Debug)]
pub struct Shared(());

/// Only processes of one SPE may use the channel, which needs no atomic instructions then: its ends are not `Send`.
#[derive(Clone, Copy, Debug)]
pub struct Local(());

/// Who may use a channel: [`Shared`] or [`Local`].
pub trait Reach: sealed::Reach {}
impl Reach for Shared {}
impl Reach for Local {}

mod sealed {
    pub trait Reach {
        type Lock: crate::lock::Lock;
    }
}
impl sealed::Reach for Shared {
    type Lock = Spin;
}
impl sealed::Reach for Local {
    type Lock = Turns;
}

/// What a channel is to be, before its two ends are made.
///
/// ```
/// use cellworks_csp::Channel;
///
/// let (mut writer, mut reader) = Channel::new().named("squares").one_to_one::<u64>();
/// let (tasks, worker) = Channel::new().buffered(8).one_to_any::<String>();
/// let another_worker = worker.clone();
/// ```
///
/// An end that one process has cannot be shared:
///
/// ```compile_fail,E0599
/// # use cellworks_csp::Channel;
/// let (writer, reader) = Channel::new().one_to_any::<String>();
/// let another_writer = writer.clone();
/// ```
#[derive(Clone, Debug)]
#[must_use = "a channel is made by naming its kind, such as `one_to_one`"]
pub struct Channel<R: Reach = Shared> {
    name: Option<String>,
    capacity: usize,
    made_at: &'static Location<'static>,
    reach: PhantomData<R>,
}

impl Channel {
    /// A rendezvous between processes of any processors: a writer waits until a reader has its item.
    #[track_caller]
    #[expect(
        clippy::new_without_default,
        reason = "the place in the source is taken down"
    )]
    pub fn new() -> Self {
        Self {
            name: None,
            capacity: 0,
            made_at: Location::caller(),
            reach: PhantomData,
        }
    }

    /// As [`new`](Self::new), between processes of one SPE.
    #[track_caller]
    pub fn local() -> Channel<Local> {
        Channel {
            name: None,
            capacity: 0,
            made_at: Location::caller(),
            reach: PhantomData,
        }
    }
}

impl<R: Reach> Channel<R> {
    /// What reports call it; otherwise they say where it was made.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// With room for `items` items, that writers need not wait for a reader with. 0 is a rendezvous.
    pub fn buffered(mut self, items: usize) -> Self {
        self.capacity = items;
        self
    }

    /// One process writes, one reads.
    pub fn one_to_one<T: Item>(self) -> (Writer<T, One, R>, Reader<T, One, R>) {
        self.ends()
    }

    /// One process writes, several read: each item goes to one of them.
    pub fn one_to_any<T: Item>(self) -> (Writer<T, One, R>, Reader<T, Any, R>) {
        self.ends()
    }

    /// Several processes write, one reads.
    pub fn any_to_one<T: Item>(self) -> (Writer<T, Any, R>, Reader<T, One, R>) {
        self.ends()
    }

    /// Several processes write, several read: each item goes to one of them.
    pub fn any_to_any<T: Item>(self) -> (Writer<T, Any, R>, Reader<T, Any, R>) {
        self.ends()
    }

    fn ends<T: Item, W, D>(self) -> (Writer<T, W, R>, Reader<T, D, R>) {
        let shared = Arc::new(Whole {
            core: Core::new(self.capacity),
            name: self.name,
            made_at: self.made_at,
        });
        let reader = Reader {
            channel: Arc::clone(&shared),
            kind: PhantomData,
        };
        let writer = Writer {
            channel: shared,
            kind: PhantomData,
        };
        (writer, reader)
    }
}

/// A channel, with what reports say of it.
pub(crate) struct Whole<T, L> {
    pub(crate) core: Core<T, L>,
    name: Option<String>,
    made_at: &'static Location<'static>,
}

impl<T, L: Lock> Link for Whole<T, L> {
    fn name(&self) -> String {
        match &self.name {
            Some(name) => format!("the channel `{name}`"),
            None => format!("the channel made at {}", self.made_at),
        }
    }

    fn last_users(&self) -> (Option<u32>, Option<u32>) {
        let state = self.core.lock();
        (state.last_reader, state.last_writer)
    }
}

type LockOf<R> = <R as sealed::Reach>::Lock;

/// The end of a channel that items are written to.
///
/// Dropping the last one closes the channel. While the network runs its ends are to be dropped by its processes: an OS thread
/// that runs none of them tells nobody.
pub struct Writer<T, E = One, R: Reach = Shared> {
    pub(crate) channel: Arc<Whole<T, LockOf<R>>>,
    kind: PhantomData<fn() -> E>,
}

/// The end of a channel that items are read from.
///
/// Dropping the last one closes the channel, as that of a [`Writer`]. Items that nobody has read are dropped with the
/// channel, unless a writer [poisons](Writer::poison) it and gets them back.
pub struct Reader<T, E = One, R: Reach = Shared> {
    pub(crate) channel: Arc<Whole<T, LockOf<R>>>,
    kind: PhantomData<fn() -> E>,
}

impl<T: Item, E, R: Reach> Writer<T, E, R> {
    /// Writes an item: returns when a reader has it, or the buffer of the channel. The other processes of this
    /// processor run meanwhile.
    ///
    /// # Errors
    ///
    /// [`Unsent`] gives the item back if the channel has ended.
    #[track_caller]
    #[inline]
    pub fn write<P: Place>(&mut self, process: &Process<'_, P>, item: T) -> Result<(), Unsent<T>> {
        let parcel = process.pack(item);
        let why = Waiting::Write(&*self.channel);
        match self.channel.core.write(process, parcel, &why) {
            Ok(()) => Ok(()),
            Err((parcel, ended)) => Err(Unsent {
                item: process.take_back(parcel),
                ended,
            }),
        }
    }
}

impl<T: Item, E, R: Reach> Reader<T, E, R> {
    /// Reads an item: waits until there is one. The other processes of this processor run meanwhile.
    ///
    /// # Errors
    ///
    /// [`Ended`] if the channel has ended. If it was [closed](Ended::Closed), what it had accepted is read first.
    #[track_caller]
    #[inline]
    pub fn read<P: Place>(&mut self, process: &Process<'_, P>) -> Result<T, Ended> {
        let why = Waiting::Read(&*self.channel);
        let parcel = self.channel.core.read(process, &why)?;
        Ok(process.fetch(parcel))
    }
}

macro_rules! end {
    ($end:ident, $side:expr) => {
        impl<T: Item, E, R: Reach> $end<T, E, R> {
            /// Ends the channel: all pending and later operations, at both sides, fail with [`Ended::Poisoned`], and
            /// give items that were not delivered back to their writers. Those that were in the buffer are returned.
            pub fn poison<P: Place>(&mut self, process: &Process<'_, P>) -> Vec<T> {
                self.end(process, Ended::Poisoned)
            }

            /// Ends the channel for writers, and for readers when they have read what the buffer holds. Items of writers
            /// that wait are given back.
            pub fn close<P: Place>(&mut self, process: &Process<'_, P>) {
                self.end(process, Ended::Closed);
            }

            fn end<P: Place>(&mut self, process: &Process<'_, P>, ended: Ended) -> Vec<T> {
                let mut unread = Default::default();
                process.perform(&mut || {
                    let woken;
                    (woken, unread) = self.channel.core.end(ended);
                    woken
                });
                unread
                    .into_iter()
                    .map(|parcel| process.take_back(parcel))
                    .collect()
            }
        }

        impl<T, R: Reach> Clone for $end<T, Any, R> {
            fn clone(&self) -> Self {
                self.channel.core.add_end($side);
                Self {
                    channel: Arc::clone(&self.channel),
                    kind: PhantomData,
                }
            }
        }

        impl<T, E, R: Reach> Drop for $end<T, E, R> {
            fn drop(&mut self) {
                pending::wake(self.channel.core.drop_end($side));
            }
        }

        impl<T, E, R: Reach> fmt::Debug for $end<T, E, R> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} of {}", stringify!($end), self.channel.name())
            }
        }
    };
}
end!(Writer, Side::Writer);
end!(Reader, Side::Reader);
