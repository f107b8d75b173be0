//! Ends of channels for tasks of async runtimes, such as tokio and smol.
//!
//! ```text
//!   task                     async end                          network
//!   read().await ──────────► poll: a step of the protocol ────► channels ◄──── processes
//!     │ pending                 │ no partner: lists a guard          │
//!     ▼                         ▼                                    │ serves or pokes the guard
//!   the runtime ◄── wakes ── seat of the task ◄──────────────────────┘
//! ```
//!
//! No runtime is named here: an end keeps the waker of the task, and the process that serves the
//! end wakes it. A poll takes locks for some tens of instructions, and never waits. The wait of an
//! end is in [`polled`](super::polled), and the seat of a task in [`outside`](super).

// Rejected: `Stream` and `Sink`. They would be the only dependency of the feature, and
// `stream::poll_fn` makes a stream of `poll_read`. A `Sink` takes an item before it is written.

use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::polled::Polled;
use super::task::Standing;
use super::{Inside, OwnSeat};
use crate::channel::ChannelEnd;
use crate::channel::link::{Link, Side};
use crate::channel::node::Parcel;
use crate::channel::protocol::Met;
use crate::channel::waker::{Waker, Woken};
use crate::ends::ended::{Ended, Refused, Unsent};
use crate::ends::item::Item;
use crate::ends::{LockOf, One, Reader, Shared, Writer};
use crate::process::{Identity, pending};
use crate::transport::origin::Origin;

/// A gate for a task of an async runtime. It is not `Clone`: for several tasks, clone the
/// [`Gate`](crate::Gate) before, or call [`another`](Self::another).
///
/// It makes the ends by which the task communicates with the network: see
/// [`Gate::into_async`](crate::Gate::into_async).
///
/// Ends that one gate has made belong to one task. The machine counts the task until the gate and
/// these ends are dropped. While it is counted, a network is in a deadlock only during a read or
/// write of the task with [`only`](Reading::only).
pub struct AsyncGate {
    seat: Arc<OwnSeat>,
}

impl AsyncGate {
    pub(crate) fn new(seat: Arc<OwnSeat>) -> Self {
        Self { seat }
    }

    /// Makes an async end of a reader. The reader may come from anywhere: from the gate, from a
    /// [new](crate::Channel::new) channel, or from an item.
    pub fn reader<T: Item, E>(&self, reader: Reader<T, E>) -> AsyncReader<T, E> {
        AsyncReader {
            wait: self.wait(Side::Reader),
            end: reader,
        }
    }

    /// Makes an async end of a writer. The writer may come from anywhere, as for
    /// [`reader`](Self::reader).
    pub fn writer<T: Item, E>(&self, writer: Writer<T, E>) -> AsyncWriter<T, E> {
        AsyncWriter {
            wait: self.wait(Side::Writer),
            end: writer,
        }
    }

    /// Makes the gate of another task in the same network. Reports name the task `name`.
    pub fn another(&self, name: impl Into<String>) -> Self {
        Self::new(Arc::new(self.seat.another(name.into())))
    }

    fn wait<T>(&self, side: Side) -> Wait<T> {
        Wait {
            side,
            polled: Polled::new(side),
            listens: false,
            seat: Arc::clone(&self.seat),
            given: None,
        }
    }
}

impl fmt::Debug for AsyncGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AsyncGate `{}`", self.seat.name())
    }
}

type SharedEnd<T> = ChannelEnd<T, LockOf<Shared>>;

struct Wait<T> {
    side: Side,
    polled: Polled<T>,
    /// Whether the seat has a waker for this end.
    listens: bool,
    seat: Arc<OwnSeat>,
    /// An item that a partner has put into the guard, and that no read has returned yet.
    given: Option<Parcel<T>>,
}

impl<T: Item> Wait<T> {
    /// Returns the item of a parcel that the task has read, and counts it if the network counts.
    fn unpack(&self, parcel: Parcel<T>) -> T {
        if let Some(counting) = self.seat.counting() {
            counting.add_outside(parcel.origin.sender(), parcel.item.bytes());
        }
        parcel.item
    }
}

impl<T> Wait<T> {
    /// Exchanges the item in `parcel`, or waits. `only` is the call in which the task waits for
    /// nothing else.
    fn poll(
        &mut self,
        end: &mut SharedEnd<T>,
        parcel: &mut Option<Parcel<T>>,
        context: &Context<'_>,
        only: Option<&'static Location<'static>>,
    ) -> Poll<Result<(), Ended>> {
        let met = match self.step(end, parcel, context, only) {
            Met::NoPartner => return Poll::Pending,
            met => met,
        };
        self.ignore();
        Poll::Ready(match met {
            Met::Ended(ended) => Err(ended),
            _ => Ok(()),
        })
    }

    fn step(
        &mut self,
        end: &mut SharedEnd<T>,
        parcel: &mut Option<Parcel<T>>,
        context: &Context<'_>,
        only: Option<&'static Location<'static>>,
    ) -> Met {
        let Self {
            side, polled, seat, ..
        } = self;
        let begun = seat.begin();
        if let Standing::Runs(inside) = begun {
            join(end, *side, &identity(seat, inside));
            if !polled.waits() {
                match polled.attempt(&end.channel, parcel, pending::wake) {
                    Met::NoPartner => {}
                    met => return met,
                }
            }
        }
        // Before the wait begins, so that no partner finds the seat without the waker. The waker is
        // cloned without a lock, because its code is the runtime's.
        self.listens = true;
        match seat.listen(polled.number(), context.waker().clone()) {
            Standing::Ahead => Met::NoPartner,
            Standing::Over => self.step_after_the_run(end, parcel),
            Standing::Runs(inside) => {
                // The network may have opened in between.
                if matches!(begun, Standing::Ahead) {
                    join(end, *side, &identity(seat, inside));
                }
                let met = polled.poll(&end.channel, parcel, inside.waker(), pending::wake);
                if let (Met::NoPartner, Some(at)) = (&met, only) {
                    let identity = identity(seat, inside);
                    seat.dismiss(|| identity.record(Some(&end.channel.waiting(*side)), at));
                }
                met
            }
        }
    }

    /// Performs a step without waiting. No process wakes the task any more.
    fn step_after_the_run(&mut self, end: &SharedEnd<T>, parcel: &mut Option<Parcel<T>>) -> Met {
        if self.polled.cancel(&end.channel, parcel) {
            return Met::Done;
        }
        match self.polled.attempt(&end.channel, parcel, pending::wake) {
            Met::NoPartner => Met::Ended(Ended::Closed),
            met => met,
        }
    }

    fn attempt(&mut self, end: &mut SharedEnd<T>, parcel: &mut Option<Parcel<T>>) -> Met {
        self.cancel(end);
        match self.seat.begin() {
            Standing::Ahead => Met::NoPartner,
            Standing::Over => self.step_after_the_run(end, parcel),
            Standing::Runs(inside) => {
                join(end, self.side, &identity(&self.seat, inside));
                self.polled.attempt(&end.channel, parcel, pending::wake)
            }
        }
    }

    /// Ends the wait of the last poll. The task goes on, so the machine counts it again.
    fn cancel(&mut self, end: &SharedEnd<T>) {
        if self.listens {
            self.seat.begin();
            self.polled.cancel(&end.channel, &mut self.given);
            self.ignore();
        }
    }

    fn ignore(&mut self) {
        if std::mem::take(&mut self.listens) {
            self.seat.ignore(self.polled.number());
        }
    }

    fn end(&mut self, end: &SharedEnd<T>, ended: Ended) -> Vec<T> {
        self.cancel(end);
        // A task that wakes processes is counted.
        self.seat.begin();
        let mut woken = Woken::None;
        let unread = end.channel.lock().end(ended, &mut woken);
        pending::wake(woken);
        let given = match ended {
            Ended::Poisoned => self.given.take(),
            Ended::Closed => None,
        };
        let all = given.into_iter().chain(unread);
        all.map(|parcel| parcel.item).collect()
    }
}

fn identity<'a>(seat: &'a OwnSeat, inside: &'a Inside) -> Identity<'a> {
    let shared = inside.shared();
    let waker = Waker {
        network: shared.network,
        ..inside.waker()
    };
    Identity::of_task(seat.name(), waker, shared)
}

/// Makes the task a user of the channel.
fn join<T>(end: &mut SharedEnd<T>, side: Side, identity: &Identity<'_>) {
    end.join_network(identity);
    end.channel.record_user(side, identity);
}

fn parcel<T>(item: T) -> Parcel<T> {
    let origin = Origin::default();
    Parcel { item, origin }
}

/// The end of a channel from which an async task reads: see [`AsyncGate::reader`]. It is not
/// `Clone`: clone the [`Gate`](crate::Gate) before, or the [`Reader`] if several tasks may have it.
///
/// Dropping an async end drops the end that it was made of, and is allowed anywhere.
pub struct AsyncReader<T: Item, E = One> {
    // Dropped before `wait`, because the machine counts the task until the seat is dropped.
    end: Reader<T, E>,
    wait: Wait<T>,
}

/// The end of a channel to which an async task writes: see [`AsyncGate::writer`]. It is not
/// `Clone`: clone the [`Gate`](crate::Gate) before, or the [`Writer`] if several tasks may have it.
///
/// Dropping an async end drops the end that it was made of, and is allowed anywhere.
pub struct AsyncWriter<T: Item, E = One> {
    // Dropped before `wait`, because the machine counts the task until the seat is dropped.
    end: Writer<T, E>,
    wait: Wait<T>,
}

impl<T: Item, E> AsyncReader<T, E> {
    /// Waits for an item, and reads the item. Before the network runs, waits until it runs.
    ///
    /// The future may be dropped at any time, and no item is lost: an item that came just before is
    /// the result of the next read. If the end is dropped first, the item is dropped, as one in a
    /// buffer is.
    ///
    /// ```
    /// use cellworks_csp::{AsyncReader, Ended};
    ///
    /// async fn sum(mut numbers: AsyncReader<u64>) -> Result<u64, Ended> {
    ///     let mut sum = 0;
    ///     loop {
    ///         match numbers.read().await {
    ///             Ok(number) => sum += number,
    ///             Err(Ended::Closed) => return Ok(sum),
    ///             Err(ended) => return Err(ended),
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// The future returns [`Ended`] if the channel has ended. If the channel was
    /// [closed](Ended::Closed), the future first returns the items in the buffer. After the run of
    /// the network, the channel counts as closed.
    ///
    /// # Panics
    ///
    /// The future panics if it is polled after it has returned a result, or if the channel belongs
    /// to another network that still runs.
    #[track_caller]
    pub fn read(&mut self) -> Reading<'_, T, E> {
        Reading {
            reader: Some(self),
            only: None,
            at: Location::caller(),
        }
    }

    /// Polls for an item, as the future of [`read`](Self::read) does. The wait goes on after the
    /// call, until the next call of any method of the end.
    ///
    /// With this method `futures::stream::poll_fn` makes a stream.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`read`](Self::read).
    ///
    /// # Panics
    ///
    /// Panics if the channel belongs to another network that still runs.
    pub fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Result<T, Ended>> {
        self.poll(context, None)
    }

    fn poll(
        &mut self,
        context: &Context<'_>,
        only: Option<&'static Location<'static>>,
    ) -> Poll<Result<T, Ended>> {
        let Self { end, wait } = self;
        let mut read = wait.given.take();
        if read.is_none() {
            ready!(wait.poll(&mut end.end, &mut read, context, only))?;
        }
        let parcel = read.expect("a reader that is done has an item");
        Poll::Ready(Ok(wait.unpack(parcel)))
    }

    /// Reads an item without waiting. If the channel has no item, returns `None`. A
    /// [write](AsyncWriter::write) of an async task has an item for this method only in the buffer
    /// of the channel, because the task writes when it is polled.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`read`](Self::read).
    ///
    /// # Panics
    ///
    /// Panics if the channel belongs to another network that still runs.
    pub fn try_read(&mut self) -> Result<Option<T>, Ended> {
        let Self { end, wait } = self;
        wait.cancel(&end.end);
        let mut read = wait.given.take();
        if read.is_none() {
            match wait.attempt(&mut end.end, &mut read) {
                Met::Ended(ended) => return Err(ended),
                Met::Done | Met::NoPartner => {}
            }
        }
        Ok(read.map(|parcel| wait.unpack(parcel)))
    }
}

impl<T: Item, E> AsyncWriter<T, E> {
    /// Writes an item, and waits until a reader or the channel's buffer has taken the item. Before
    /// the network runs, waits until it runs.
    ///
    /// The future may be dropped at any time: then the item was not written, and is dropped, too.
    /// [`Writing::into_item`] returns the item instead. The item is written in the poll that
    /// returns `Ok`, so [`try_read`](crate::Reader::try_read) finds it only in the buffer of the
    /// channel.
    ///
    /// # Errors
    ///
    /// The future returns [`Unsent`] with the item if the channel has ended, or if the run of the
    /// network has ended and the item was not taken.
    ///
    /// # Panics
    ///
    /// The future panics if it is polled after it has returned a result, or if the channel belongs
    /// to another network that still runs.
    #[track_caller]
    pub fn write(&mut self, item: T) -> Writing<'_, T, E> {
        Writing {
            writer: self,
            item: Some(parcel(item)),
            only: None,
            at: Location::caller(),
        }
    }

    /// Writes an item without waiting. Returns the item if no reader waits and the buffer is full.
    ///
    /// # Errors
    ///
    /// Returns [`Refused`] with the item. The variant shows whether the channel has ended.
    ///
    /// # Panics
    ///
    /// Panics if the channel belongs to another network that still runs.
    pub fn try_write(&mut self, item: T) -> Result<(), Refused<T>> {
        let mut parcel = Some(parcel(item));
        let met = self.wait.attempt(&mut self.end.end, &mut parcel);
        let Some(Parcel { item, .. }) = parcel else {
            return Ok(());
        };
        Err(match met {
            Met::Ended(ended) => Refused::Ended(Unsent { item, ended }),
            Met::Done | Met::NoPartner => Refused::NotTaken(item),
        })
    }
}

macro_rules! end {
    ($end:ident, $name:literal) => {
        impl<T: Item, E> $end<T, E> {
            /// Poisons the channel, and returns the items that were written and not read. All
            /// operations then fail with [`Ended::Poisoned`], and waiting writers get their items
            /// back.
            pub fn poison(&mut self) -> Vec<T> {
                self.wait.end(&self.end.end, Ended::Poisoned)
            }

            /// Closes the channel: writers get [`Ended::Closed`] at once, and readers after they
            /// have read the items in the buffer. Waiting writers get their items back.
            pub fn close(&mut self) {
                self.wait.end(&self.end.end, Ended::Closed);
            }
        }

        impl<T: Item, E> Drop for $end<T, E> {
            fn drop(&mut self) {
                self.wait.cancel(&self.end.end);
                // A forgotten future may have left the task uncounted, and it wakes processes now.
                self.wait.seat.begin();
            }
        }

        impl<T: Item, E> fmt::Debug for $end<T, E> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} of {}", $name, self.end.end.channel.name())
            }
        }
    };
}
end!(AsyncReader, "AsyncReader");
end!(AsyncWriter, "AsyncWriter");

/// The future of [`AsyncReader::read`]. It may be moved between polls.
#[must_use = "a future does something when it is polled"]
pub struct Reading<'a, T: Item, E = One> {
    /// `None` after the result.
    reader: Option<&'a mut AsyncReader<T, E>>,
    only: Option<&'static Location<'static>>,
    at: &'static Location<'static>,
}

/// The future of [`AsyncWriter::write`]. It may be moved between polls.
#[must_use = "a future does something when it is polled"]
pub struct Writing<'a, T: Item, E = One> {
    writer: &'a mut AsyncWriter<T, E>,
    /// `None` after the result.
    item: Option<Parcel<T>>,
    only: Option<&'static Location<'static>>,
    at: &'static Location<'static>,
}

impl<T: Item, E> Reading<'_, T, E> {
    /// Promises that the task waits for only this future, so that a deadlock is reported: another
    /// future of the task, such as a time limit or a socket, will not end the wait.
    ///
    /// Without this promise, a network of which all processes wait is not in a deadlock as long as
    /// the task has ends. If the promise does not hold, the network may end with a deadlock that is
    /// none.
    ///
    /// ```
    /// use cellworks_csp::{AsyncReader, AsyncWriter, ProcessError};
    ///
    /// /// If the server does not answer, because it waits itself, the network ends.
    /// async fn ask(
    ///     questions: &mut AsyncWriter<u64>,
    ///     answers: &mut AsyncReader<u64>,
    /// ) -> Result<u64, ProcessError> {
    ///     questions.write(7).only().await?;
    ///     Ok(answers.read().only().await?)
    /// }
    /// ```
    pub fn only(mut self) -> Self {
        self.only = Some(self.at);
        self
    }
}

impl<T: Item, E> Writing<'_, T, E> {
    /// Promises that the task waits for only this future: see [`Reading::only`].
    pub fn only(mut self) -> Self {
        self.only = Some(self.at);
        self
    }

    /// Ends the wait, and returns the item if it was not written.
    ///
    /// ```
    /// use cellworks_csp::{AsyncWriter, Ended, Unsent};
    ///
    /// /// Writes an item, or returns it when `stop` is ready.
    /// async fn write_or_stop(
    ///     writer: &mut AsyncWriter<String>,
    ///     item: String,
    ///     stop: impl Future<Output = ()>,
    /// ) -> Result<Option<String>, Ended> {
    ///     let mut writing = writer.write(item);
    ///     tokio::select! {
    ///         result = &mut writing => result?,
    ///         () = stop => return Ok(writing.into_item()),
    ///     }
    ///     Ok(None)
    /// }
    /// ```
    pub fn into_item(mut self) -> Option<T> {
        self.item.take().map(|parcel| parcel.item)
    }
}

impl<T: Item, E> Future for Reading<'_, T, E> {
    type Output = Result<T, Ended>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let only = self.only;
        let reader = self
            .reader
            .as_mut()
            .expect("a read that has ended is not polled");
        let result = ready!(reader.poll(context, only));
        self.reader = None;
        Poll::Ready(result)
    }
}

impl<T: Item, E> Future for Writing<'_, T, E> {
    type Output = Result<(), Unsent<T>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self {
            writer, item, only, ..
        } = &mut *self;
        assert!(item.is_some(), "a write that has ended is not polled");
        let AsyncWriter { end, wait } = &mut **writer;
        let result = ready!(wait.poll(&mut end.end, item, context, *only));
        Poll::Ready(match (result, item.take()) {
            (Err(ended), Some(Parcel { item, .. })) => Err(Unsent { item, ended }),
            _ => Ok(()),
        })
    }
}

// The item of a `Writing` is moved in and out, and nothing points to it.
impl<T: Item, E> Unpin for Writing<'_, T, E> {}

impl<T: Item, E> Drop for Reading<'_, T, E> {
    fn drop(&mut self) {
        if let Some(AsyncReader { end, wait }) = self.reader.as_deref_mut() {
            wait.cancel(&end.end);
        }
    }
}

impl<T: Item, E> Drop for Writing<'_, T, E> {
    fn drop(&mut self) {
        let AsyncWriter { end, wait } = &mut *self.writer;
        wait.cancel(&end.end);
    }
}

impl<T: Item, E> fmt::Debug for Reading<'_, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reading at {}", self.at)
    }
}

impl<T: Item, E> fmt::Debug for Writing<'_, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Writing at {}", self.at)
    }
}
