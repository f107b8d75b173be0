//! Channels and their ends, which programs use.
//!
//! ```text
//!   Channel::new().named(..).buffered(..) ── one_to_one() ... ──► Writer, Reader
//!
//!   write, read, items     ──► the ways of an item (crate::way)
//!   try_write, write_until ──► the same, without a wait or until a time (crate::way::patience)
//!   several ends at once   ──► Alternation: waits until one of its guards is ready
//!   poison, close, drop    ──► the channel ends; its waiting writers get their items back
//! ```
//!
//! This file has the builder of channels, and both ends. Then read `item` (what a channel carries),
//! `ended` (how it ends), `input_output` (traits of ends of any type) and `alternation`.

pub(crate) mod alternation;
pub(crate) mod ended;
pub(crate) mod input_output;
pub(crate) mod item;

use std::collections::VecDeque;
use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

use cellworks_machine::Time;

use self::ended::{Ended, Refused, Unsent};
use self::item::Item;
use crate::channel::link::{Link, Side};
use crate::channel::lock::{Spin, Turns};
use crate::channel::node::Parcel;
use crate::channel::waker::Woken;
use crate::channel::{ChannelEnd, RawChannel};
use crate::deadlock::held;
use crate::process::place::Place;
use crate::process::{Process, pending};
use crate::way::{self, patience};

/// The kind of an end that only one process may have. Such an end is not `Clone`.
#[derive(Clone, Copy, Debug)]
pub struct One(());

/// The kind of an end that several processes may have. Such an end is `Clone`.
#[derive(Clone, Copy, Debug)]
pub struct Any(());

/// The kind of an end: how many processes may have the end, [`One`] or [`Any`].
pub trait Kind: sealed::Kind {}
impl Kind for One {}
impl Kind for Any {}

/// The reach of a channel that processes on all processors may use.
#[derive(Clone, Copy, Debug)]
pub struct Shared(());

/// The reach of a channel that only processes of one SPE may use. The ends of the channel are not
/// `Send`, and the channel needs no atomic instructions.
#[derive(Clone, Copy, Debug)]
pub struct Local(());

/// The reach of a channel: which processes may use it, [`Shared`] or [`Local`].
pub trait Reach: sealed::Reach {}
impl Reach for Shared {}
impl Reach for Local {}

mod sealed {
    pub trait Kind {
        const IS_FOR_SEVERAL: bool;
    }
    pub trait Reach {
        type Lock: crate::channel::lock::Lock;
    }
}
impl sealed::Kind for One {
    const IS_FOR_SEVERAL: bool = false;
}
impl sealed::Kind for Any {
    const IS_FOR_SEVERAL: bool = true;
}
impl sealed::Reach for Shared {
    type Lock = Spin;
}
impl sealed::Reach for Local {
    type Lock = Turns;
}

/// A builder of a channel. Methods such as [`one_to_one`](Self::one_to_one) make the two ends.
///
/// ```
/// use cellworks_csp::Channel;
///
/// let (mut writer, mut reader) = Channel::new().named("squares").one_to_one::<u64>();
/// let (tasks, worker) = Channel::new().buffered(8).one_to_any::<String>();
/// let another_worker = worker.clone();
/// ```
///
/// An end of kind [`One`] cannot be cloned:
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
    /// Makes a builder of a rendezvous channel between processes on any processors. A writer waits
    /// until a reader has taken the item.
    #[track_caller]
    #[expect(
        clippy::new_without_default,
        reason = "the place in the source is recorded"
    )]
    pub fn new() -> Self {
        Self {
            name: None,
            capacity: 0,
            made_at: Location::caller(),
            reach: PhantomData,
        }
    }

    /// Makes a builder of a rendezvous channel between processes of one SPE.
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
    /// Sets the channel's name in reports. Without a name, reports say where the channel was made.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets how many items the channel's buffer holds. A writer waits only while the buffer is
    /// full. 0 makes a rendezvous channel. `usize::MAX` makes an unbounded buffer, which grows as
    /// long as items are written and not read.
    pub fn buffered(mut self, items: usize) -> Self {
        self.capacity = items;
        self
    }

    /// Makes the ends of a channel that one process writes and one process reads.
    pub fn one_to_one<T: Item>(self) -> (Writer<T, One, R>, Reader<T, One, R>) {
        self.ends(true)
    }

    /// Makes the ends of a channel that one process writes and several processes read. Each item
    /// goes to one of the readers.
    pub fn one_to_any<T: Item>(self) -> (Writer<T, One, R>, Reader<T, Any, R>) {
        self.ends(false)
    }

    /// Makes the ends of a channel that several processes write and one process reads.
    pub fn any_to_one<T: Item>(self) -> (Writer<T, Any, R>, Reader<T, One, R>) {
        self.ends(false)
    }

    /// Makes the ends of a channel that several processes write and several processes read. Each
    /// item goes to one of the readers.
    pub fn any_to_any<T: Item>(self) -> (Writer<T, Any, R>, Reader<T, Any, R>) {
        self.ends(false)
    }

    fn ends<T: Item, W, D>(self, is_one_to_one: bool) -> (Writer<T, W, R>, Reader<T, D, R>) {
        let shared = Arc::new(RawChannel::new(
            self.capacity,
            is_one_to_one,
            self.name,
            self.made_at,
        ));
        (Writer::new(Arc::clone(&shared)), Reader::new(shared))
    }
}

pub(crate) type LockOf<R> = <R as sealed::Reach>::Lock;

/// The largest number of items that [`Writer::write_all`] takes from its iterator at once.
const BATCH_ITEMS: usize = 64;

/// The items that [`Writer::write_all`] has not written.
pub type Unwritten<T, I> = std::iter::Chain<std::vec::IntoIter<T>, I>;

/// The end of a channel that items are written to.
///
/// Dropping the last `Writer` closes the channel. While the network runs, drop ends only in its
/// processes or with a [`Gate`](crate::Gate): a drop on another OS thread wakes no process.
pub struct Writer<T, E = One, R: Reach = Shared> {
    pub(crate) end: ChannelEnd<T, LockOf<R>>,
    kind: PhantomData<fn() -> E>,
}

/// The end of a channel that items are read from.
///
/// Dropping the last `Reader` closes the channel and drops the items in the buffer.
/// [`poison`](Self::poison) returns these items, and after [`close`](Self::close) they can still be
/// read. Drop a `Reader` only where a [`Writer`] may be dropped.
pub struct Reader<T, E = One, R: Reach = Shared> {
    pub(crate) end: ChannelEnd<T, LockOf<R>>,
    kind: PhantomData<fn() -> E>,
}

impl<T: Item, E, R: Reach> Writer<T, E, R> {
    /// Writes an item, and waits until a reader or the channel's buffer has taken the item. While
    /// the process waits, the other processes of its processor run. If processors share memory, a
    /// process that never has to wait lets the others run at least once every 256 items.
    ///
    /// # Errors
    ///
    /// Returns [`Unsent`] with the item if the channel has ended.
    #[track_caller]
    #[inline(always)]
    pub fn write<P: Place>(&mut self, process: &Process<'_, P>, item: T) -> Result<(), Unsent<T>> {
        way::write(&mut self.end, process, item)
    }

    /// Writes an item without waiting. Returns the item if no reader waits and the buffer is full.
    ///
    /// Two processes that call only `try_write` and [`try_read`](Reader::try_read) never exchange
    /// an item of a rendezvous channel. A loop of `try_write` must call
    /// [`yield_ready`](Process::yield_ready), so that the other processes of its processor can run.
    ///
    /// # Errors
    ///
    /// Returns [`Refused`] with the item. The variant shows whether the channel has ended.
    #[track_caller]
    pub fn try_write<P: Place>(
        &mut self,
        process: &Process<'_, P>,
        item: T,
    ) -> Result<(), Refused<T>> {
        patience::write(&mut self.end, process, item, None)
    }

    /// Writes an item as [`write`](Self::write) does, but waits only until `deadline`, a time as
    /// [`Process::now`] returns it. During the wait, the network is not in a deadlock.
    ///
    /// # Errors
    ///
    /// Returns [`Refused`] with the item. The variant shows whether the channel has ended.
    #[track_caller]
    pub fn write_until<P: Place>(
        &mut self,
        process: &Process<'_, P>,
        item: T,
        deadline: Time,
    ) -> Result<(), Refused<T>> {
        patience::write(&mut self.end, process, item, Some(deadline))
    }

    /// Writes items one after the other, as [`write`](Self::write) does. With a
    /// [buffered](crate::Channel::buffered) one-to-one channel, this is some nanoseconds per item
    /// faster than `write`, because several items are put into the buffer at once.
    ///
    /// ```
    /// # use cellworks_csp::{Ended, Place, Process, Writer};
    /// fn squares(process: &Process<impl Place>, mut output: Writer<u64>) -> Result<(), Ended> {
    ///     output.write_all(process, (0..1000).map(|number| number * number))?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Unsent`] with an iterator of the unwritten items if the channel has ended.
    #[track_caller]
    pub fn write_all<P: Place, I: IntoIterator<Item = T>>(
        &mut self,
        process: &Process<'_, P>,
        items: I,
    ) -> Result<(), Unsent<Unwritten<T, I::IntoIter>>> {
        let mut items = items.into_iter();
        let mut batch = VecDeque::with_capacity(items.size_hint().0.min(BATCH_ITEMS));
        loop {
            // The iterator may run any code, so it runs before the writer uses the ring buffer.
            let more = items.by_ref().take(BATCH_ITEMS);
            batch.extend(more);
            if batch.is_empty() {
                return Ok(());
            }
            if let Err(Unsent { item, ended }) = way::write_many(&mut self.end, process, &mut batch)
            {
                let mut unwritten = vec![item];
                unwritten.extend(batch);
                let item = unwritten.into_iter().chain(items);
                return Err(Unsent { item, ended });
            }
        }
    }
}

impl<T: Item, E, R: Reach> Reader<T, E, R> {
    /// Waits for an item, and reads the item. Meanwhile the other processes of this processor run.
    ///
    /// # Errors
    ///
    /// Returns [`Ended`] if the channel has ended. If the channel was [closed](Ended::Closed), the
    /// reader first gets the items in the buffer.
    #[track_caller]
    #[inline(always)]
    pub fn read<P: Place>(&mut self, process: &Process<'_, P>) -> Result<T, Ended> {
        way::read(&mut self.end, process)
    }

    /// Reads an item without waiting. If the channel has no item, returns `None`.
    ///
    /// Two processes that call only `try_read` and [`try_write`](Writer::try_write) never exchange
    /// an item of a rendezvous channel. A loop of `try_read` must call
    /// [`yield_ready`](Process::yield_ready), so that the other processes of its processor can run.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`read`](Self::read).
    #[track_caller]
    pub fn try_read<P: Place>(&mut self, process: &Process<'_, P>) -> Result<Option<T>, Ended> {
        patience::read(&mut self.end, process, None)
    }

    /// Reads an item as [`read`](Self::read) does, but waits only until `deadline`, as
    /// [`write_until`](Writer::write_until) does. If no item came, returns `None`.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`read`](Self::read).
    #[track_caller]
    pub fn read_until<P: Place>(
        &mut self,
        process: &Process<'_, P>,
        deadline: Time,
    ) -> Result<Option<T>, Ended> {
        patience::read(&mut self.end, process, Some(deadline))
    }

    /// Returns an iterator that [reads](Self::read) items until the channel ends. [`Items::ended`]
    /// then returns how the channel has ended.
    ///
    /// ```
    /// # use cellworks_csp::{Ended, Place, Process, Reader};
    /// fn sum(process: &Process<impl Place>, mut input: Reader<u64>) -> Result<u64, Ended> {
    ///     let mut items = input.items(process);
    ///     let sum = items.by_ref().sum();
    ///     match items.ended() {
    ///         Some(Ended::Poisoned) => Err(Ended::Poisoned),
    ///         _ => Ok(sum),
    ///     }
    /// }
    /// ```
    #[track_caller]
    pub fn items<'r, 'p, 'a, P: Place>(
        &'r mut self,
        process: &'p Process<'a, P>,
    ) -> Items<'r, 'p, 'a, T, E, R, P> {
        Items {
            reader: self,
            process,
            ended: None,
            at: Location::caller(),
        }
    }

    /// Waits for an item as [`read`](Self::read) does, and then reads more items without waiting,
    /// up to `most` items in all. Appends the items to `items`, and returns how many items were
    /// read. The result is 0 only if `most` is 0. Only a [buffered](crate::Channel::buffered)
    /// one-to-one channel gives more than one item in a call.
    ///
    /// ```
    /// # use cellworks_csp::{Ended, Place, Process, Reader};
    /// fn sum(process: &Process<impl Place>, mut input: Reader<u64>) -> u64 {
    ///     let (mut sum, mut batch) = (0, Vec::new());
    ///     while input.read_up_to(process, 64, &mut batch).is_ok() {
    ///         sum += batch.drain(..).sum::<u64>();
    ///     }
    ///     sum
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`read`](Self::read). After an error, `items` is unchanged.
    #[track_caller]
    pub fn read_up_to<P: Place>(
        &mut self,
        process: &Process<'_, P>,
        most: usize,
        items: &mut Vec<T>,
    ) -> Result<usize, Ended> {
        way::read_up_to(&mut self.end, process, most, items)
    }
}

impl<T: Item, E> Item for Reader<T, E> {}
impl<T: Item, E> Item for Writer<T, E> {}

/// An iterator of the items of a channel: see [`Reader::items`].
#[must_use = "items are read when they are asked for"]
pub struct Items<'r, 'p, 'a, T, E, R: Reach, P: Place> {
    reader: &'r mut Reader<T, E, R>,
    process: &'p Process<'a, P>,
    ended: Option<Ended>,
    /// The call of [`Reader::items`].
    at: &'static Location<'static>,
}

impl<T, E, R: Reach, P: Place> Items<'_, '_, '_, T, E, R, P> {
    /// Returns how the channel has ended, or `None` while the channel may still have items.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }
}

impl<T: Item, E, R: Reach, P: Place> Iterator for Items<'_, '_, '_, T, E, R, P> {
    type Item = T;

    #[track_caller]
    #[inline]
    fn next(&mut self) -> Option<T> {
        match way::read_for_iterator(&mut self.reader.end, self.process, self.at) {
            Ok(item) => Some(item),
            Err(ended) => {
                self.ended = Some(ended);
                None
            }
        }
    }
}

impl<T: Item, E, R: Reach, P: Place> FusedIterator for Items<'_, '_, '_, T, E, R, P> {}

impl<T, E, R: Reach, P: Place> fmt::Debug for Items<'_, '_, '_, T, E, R, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Items of {}", self.reader.end.channel.name())
    }
}

#[cfg(all(test, any(loom, shuttle)))]
thread_local! {
    /// The number of items of this model that were dropped with the last reader of their channel.
    pub(crate) static DROPPED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

fn drop_unread<T>(unread: VecDeque<Parcel<T>>) {
    #[cfg(all(test, any(loom, shuttle)))]
    DROPPED.set(DROPPED.get() + unread.len());
    drop(unread);
}

macro_rules! end {
    ($end:ident, $side:expr) => {
        impl<T: Item, E, R: Reach> $end<T, E, R> {
            /// Poisons the channel, and returns the items in the buffer. All operations then fail
            /// with [`Ended::Poisoned`], and waiting writers get their items back.
            #[track_caller]
            pub fn poison<P: Place>(&mut self, process: &Process<'_, P>) -> Vec<T> {
                self.end(process, Ended::Poisoned)
            }

            /// Closes the channel: writers get [`Ended::Closed`] at once, and readers after they
            /// have read the items in the buffer. Waiting writers get their items back.
            #[track_caller]
            pub fn close<P: Place>(&mut self, process: &Process<'_, P>) {
                self.end(process, Ended::Closed);
            }

            #[track_caller]
            fn end<P: Place>(&mut self, process: &Process<'_, P>, ended: Ended) -> Vec<T> {
                let (channel, at) = (&*self.end.channel, Location::caller());
                let unread = process.perform(&channel.waiting($side), at, |woken| {
                    channel.lock().end(ended, woken)
                });
                unread
                    .into_iter()
                    .map(|parcel| process.take_back(parcel, channel))
                    .collect()
            }
        }

        impl<T, E, R: Reach> $end<T, E, R> {
            /// Makes another end of a channel. The caller has checked that this is allowed.
            pub(crate) fn one_more(channel: Arc<RawChannel<T, LockOf<R>>>) -> Self {
                channel.lock().add_end($side);
                Self::new(channel)
            }

            fn new(channel: Arc<RawChannel<T, LockOf<R>>>) -> Self {
                Self {
                    end: ChannelEnd::new(channel),
                    kind: PhantomData,
                }
            }
        }

        impl<T, R: Reach> Clone for $end<T, Any, R> {
            fn clone(&self) -> Self {
                Self::one_more(Arc::clone(&self.end.channel))
            }
        }

        impl<T, E, R: Reach> Drop for $end<T, E, R> {
            fn drop(&mut self) {
                held::dropped(&*self.end.channel, $side);
                let mut woken = Woken::None;
                let unread = self.end.channel.lock().drop_end($side, &mut woken);
                pending::wake(woken);
                drop_unread(unread);
            }
        }

        impl<T, E, R: Reach> fmt::Debug for $end<T, E, R> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} of {}", stringify!($end), self.end.channel.name())
            }
        }
    };
}
end!(Writer, Side::Writer);
end!(Reader, Side::Reader);
