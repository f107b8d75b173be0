//! Named channels: processes look up the ends of a channel by an id (section 2.2.3 of the paper).
//!
//! ```text
//!   create(7, (writer, reader)) ──► the network keeps both ends
//!                                     └──► writer(7), reader(7): waits until the channel is created
//! ```
//!
//! Read this file first, then `registry` (who may have which end) and `error` (wrong uses).

// Rejected: a look-up with a lock for every operation, as in the functions of the paper.

pub(crate) mod error;
pub(crate) mod registry;

use std::any::type_name;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use self::error::{Act, Mistake, NamedError};
use self::registry::{Named, OneSide, Wanting};
use crate::channel::RawChannel;
use crate::channel::link::{Side, Waiting};
use crate::channel::lock::Spin;
use crate::channel::waker::Woken;
use crate::ends::item::Item;
use crate::ends::{Kind, Reader, Writer};
use crate::network::cause::Moment;
use crate::network::shared::Failure;
use crate::process::Process;
use crate::process::place::Place;

/// Methods for named channels. An id belongs to one channel of the network during the whole run.
impl<P: Place> Process<'_, P> {
    /// Gives both ends of a channel to the network, so that processes of the network can look up
    /// the ends by `id`. Processes that wait for this channel go on.
    ///
    /// If only one process may have an end, the first process that asks for it gets it. Otherwise
    /// each process that asks gets an end of its own, and the network keeps a further end until the
    /// process that called `create` has ended, so that the channel does not close too early.
    ///
    /// The network keeps the channel, with its buffer, until the run ends, because a process may
    /// look up the id at any time. A network that runs for long and needs ever more channels
    /// therefore sends their ends through other channels.
    ///
    /// ```
    /// use cellworks_csp::{Channel, Network, Reader, Writer};
    /// use cellworks_machine::{Machine, SpeId};
    ///
    /// const GREETINGS: u64 = 7;
    ///
    /// fn greetings<M: Machine>(machine: &M) -> Vec<String> {
    ///     let mut network = Network::on(machine);
    ///     for spe in [0, 1].map(SpeId::new) {
    ///         network.process(format!("greeter {spe}"), spe, move |process| {
    ///             // Waits until the channel is created.
    ///             let mut greetings: Writer<String> = process.writer(GREETINGS)?;
    ///             Ok(greetings.write(process, format!("hello from {spe}"))?)
    ///         });
    ///     }
    ///     let received = network.run_with(|process| {
    ///         process.create(GREETINGS, Channel::new().any_to_one::<String>())?;
    ///         let mut greetings: Reader<String> = process.reader(GREETINGS)?;
    ///         let mut all = vec![greetings.read(process)?, greetings.read(process)?];
    ///         all.sort_unstable();
    ///         Ok::<_, cellworks_csp::Ended>(all)
    ///     });
    ///     received.unwrap().unwrap()
    /// }
    /// # let host = cellworks_host::Host::builder().spes(2).build().unwrap();
    /// # assert_eq!(greetings(&host), ["hello from SPE 0", "hello from SPE 1"]);
    /// ```
    ///
    /// A local channel cannot have an id, because its ends cannot leave their SPE:
    ///
    /// ```compile_fail,E0308
    /// # use cellworks_csp::{Channel, NamedError, Place, Process};
    /// # fn create(process: &Process<impl Place>) -> Result<(), NamedError> {
    /// process.create(7, Channel::local().one_to_one::<u32>())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns a [`NamedError`] if the id exists already, and drops the channel.
    ///
    /// # Panics
    ///
    /// Panics if the ends belong to two channels, or if the channel has an id already.
    #[track_caller]
    pub fn create<T: Item + 'static, W: Kind + 'static, R: Kind + 'static>(
        &self,
        id: u64,
        (writer, reader): (Writer<T, W>, Reader<T, R>),
    ) -> Result<(), NamedError> {
        assert!(
            Arc::ptr_eq(&writer.end.channel, &reader.end.channel),
            "the channel {id} was to be created of a writer and a reader of two different channels"
        );
        let created = self.act();
        let mut registry = self.shared().names.registry();
        if let Some(named) = registry.created.get(&id) {
            let error = self.mistake(id, created, Some(named), Mistake::Exists);
            drop(registry);
            return Err(self.failed(error));
        }
        let channel = Arc::clone(&writer.end.channel);
        let has = *channel.id.get_or_init(|| id);
        if has != id {
            drop(registry);
            panic!("the channel {has} was to be created again, as the channel {id}");
        }
        let named = Named {
            has_creator_ended: false,
            created,
            channel,
            item: type_name::<T>(),
            reader: OneSide::new(reader, R::IS_FOR_SEVERAL),
            writer: OneSide::new(writer, W::IS_FOR_SEVERAL),
        };
        registry.created.insert(id, named);
        registry
            .of_creator
            .entry(self.number())
            .or_default()
            .push(id);
        let wanted = registry.wanted.remove(&id);
        drop(registry);
        let mut woken = Woken::None;
        for wanting in wanted.into_iter().flatten() {
            wanting.is_created.store(true, Ordering::Release);
            woken.add(wanting.waker);
        }
        self.wake(&mut woken);
        Ok(())
    }

    /// Takes the reader of a named channel, and waits until the channel is created. The kind `E` is
    /// [`One`](crate::One), or [`Any`](crate::Any) if the channel was created for several readers.
    ///
    /// # Errors
    ///
    /// Returns a [`NamedError`] if the channel carries items of another type, or if only one
    /// process may have the reader, and the reader was taken or `E` is [`Any`](crate::Any).
    #[track_caller]
    pub fn reader<T: Item + 'static, E: Kind>(&self, id: u64) -> Result<Reader<T, E>, NamedError> {
        self.take::<T, E, _>(id, Side::Reader, Reader::one_more)
    }

    /// Takes the writer of a named channel, as [`reader`](Self::reader) takes the reader.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`reader`](Self::reader).
    #[track_caller]
    pub fn writer<T: Item + 'static, E: Kind>(&self, id: u64) -> Result<Writer<T, E>, NamedError> {
        self.take::<T, E, _>(id, Side::Writer, Writer::one_more)
    }

    #[track_caller]
    fn take<T: Item + 'static, E: Kind, End>(
        &self,
        id: u64,
        side: Side,
        one_more: impl FnOnce(Arc<RawChannel<T, Spin>>) -> End,
    ) -> Result<End, NamedError> {
        let by = self.act();
        self.wait_for_creation(id);
        let mut registry = self.shared().names.registry();
        let Some(named) = registry.created.get_mut(&id) else {
            // The run was cancelled before the channel was created.
            return Err(self.mistake(id, by, None, Mistake::NotCreated));
        };
        let taken = match Arc::clone(&named.channel).downcast::<RawChannel<T, Spin>>() {
            Ok(channel) => {
                let kept = match side {
                    Side::Reader => &mut named.reader,
                    Side::Writer => &mut named.writer,
                };
                // Drops the kept end after making the new one, so that the side always has an end.
                let taken = kept.take(&by, E::IS_FOR_SEVERAL, named.has_creator_ended);
                taken.map(|unneeded| (one_more(channel), unneeded))
            }
            Err(_) => Err(Mistake::Item {
                wanted: type_name::<T>(),
                carried: named.item,
            }),
        };
        match taken {
            Ok((end, unneeded)) => {
                drop(registry);
                drop(unneeded);
                Ok(end)
            }
            Err(mistake) => {
                let error = self.mistake(id, by, registry.created.get(&id), mistake);
                drop(registry);
                Err(self.failed(error))
            }
        }
    }

    #[track_caller]
    fn wait_for_creation(&self, id: u64) {
        let mut registry = self.shared().names.registry();
        if registry.created.contains_key(&id) {
            return;
        }
        let is_created = Arc::new(AtomicBool::new(false));
        let wanting = Wanting {
            is_created: Arc::clone(&is_created),
            waker: *self.waker(),
        };
        registry.wanted.entry(id).or_default().push(wanting);
        drop(registry);
        self.wait_until(Waiting::Creation(&id), None, false, &mut || {
            is_created.load(Ordering::Acquire)
        });
    }

    #[track_caller]
    fn act(&self) -> Act {
        Act {
            process: self.name().to_owned(),
            at: Location::caller(),
        }
    }

    fn mistake(&self, id: u64, by: Act, named: Option<&Named>, mistake: Mistake) -> NamedError {
        NamedError::new(id, by, named.map(|named| named.created.clone()), mistake)
    }

    fn failed(&self, error: NamedError) -> NamedError {
        self.shared()
            .fail(Moment::now(), Failure::Named(error.clone()));
        error
    }
}
