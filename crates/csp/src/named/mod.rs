//! Named channels: processes look up the ends of a channel by an id (section 2.2.3).
//!
//! ```text
//!   create(7, (writer, reader)) ──► the network keeps both ends
//!                                     └──► writer(7), reader(7): waits until the channel is created
//! ```
//!
//! If only one process may have an end, the network hands it out once. If several processes may
//! have the end, the network keeps one and hands out others. It drops the kept end when the creator
//! of the channel has ended. Otherwise the channel would never close.

// Rejected: to look up a named channel at every operation, as the paper's functions do. Each
// look-up takes a lock. An end is looked up only once, and has a type.

pub(crate) mod error;
pub(crate) mod registry;

use std::any::type_name;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use self::error::{Act, Mistake, NamedError};
use self::registry::{Named, OneSide, Wanting};
use crate::cause::Moment;
use crate::channel::{Kind, Reader, Writer};
use crate::item::Item;
use crate::lock::Spin;
use crate::place::Place;
use crate::process::Process;
use crate::raw::RawChannel;
use crate::shared::Failure;
use crate::side::Side;
use crate::waiting::Waiting;
use crate::waker::Woken;

/// Methods for named channels. An id belongs to one channel of the network during the whole run.
impl<P: Place> Process<'_, P> {
    /// Gives both ends of a channel to the network, so that processes of the network can look them
    /// up by the id. Processes that have waited for this channel go on.
    ///
    /// If only one process may have an end, the first process that asks gets it. If several
    /// processes may have the end, each of them gets one, and the network keeps one until the
    /// calling process has ended. So the channel does not close before all processes have taken
    /// their ends. After that it closes as other channels do, and a process that looks it up later
    /// finds it closed.
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
    /// A local channel stays with the processes of one SPE, and cannot have an id:
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
    /// [`NamedError`] if the id exists already. The channel is then dropped.
    ///
    /// # Panics
    ///
    /// If the ends belong to two channels, or the channel has an id already.
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
            creator: self.number(),
            has_creator_ended: false,
            created,
            channel,
            item: type_name::<T>(),
            reader: OneSide::new(reader, R::IS_FOR_SEVERAL),
            writer: OneSide::new(writer, W::IS_FOR_SEVERAL),
        };
        registry.created.insert(id, named);
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

    /// Takes the reading end of a named channel. Waits until the channel is created. The kind of
    /// the end is [`One`](crate::One). If the channel was created for several readers and the
    /// caller wants to clone the end, the kind may be [`Any`](crate::Any).
    ///
    /// # Errors
    ///
    /// [`NamedError`] if the channel carries items of another type. If the channel is for one
    /// reader, it is also an error that another process has taken the end, or that the caller asks
    /// for the kind [`Any`](crate::Any).
    #[track_caller]
    pub fn reader<T: Item + 'static, E: Kind>(&self, id: u64) -> Result<Reader<T, E>, NamedError> {
        self.take::<T, E, _>(id, Side::Reader, Reader::one_more)
    }

    /// Takes the writing end of a named channel, as [`reader`](Self::reader) takes the reading end.
    ///
    /// # Errors
    ///
    /// The same errors as [`reader`](Self::reader).
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
            // The run has failed for another reason.
            return Err(self.mistake(id, by, None, Mistake::NotCreated));
        };
        let taken = match Arc::clone(&named.channel).downcast::<RawChannel<T, Spin>>() {
            Ok(channel) => {
                let kept = match side {
                    Side::Reader => &mut named.reader,
                    Side::Writer => &mut named.writer,
                };
                // The new end is made before the kept end is dropped, because the kept end might be
                // the last one.
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

    /// Records the error as the failure of the network.
    fn failed(&self, error: NamedError) -> NamedError {
        self.shared()
            .fail(Moment::now(), Failure::Named(error.clone()));
        error
    }
}
