//! Named channels: ends that processes look up by an id (section 2.2.3).
//!
//! ```text
//!   create(7, (writer, reader)) ──► the network keeps both ends ──► writer(7), reader(7): waits until they are there
//! ```
//!
//! An end that one process may have is handed over once. Of one that several may have, the network keeps one and hands out
//! more, until the process that created the channel has ended: or the channel would never close.

use std::any::{Any as AnyType, type_name};
use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cause::Moment;
use crate::channel::{Kind, Reader, Whole, Writer};
use crate::core::Side;
use crate::end::Ended;
use crate::item::Item;
use crate::lock::Spin;
use crate::place::Place;
use crate::process::{Process, Waiting};
use crate::shared::Failure;
use crate::waker::{Waker, Woken};

/// The named channels of a network.
#[derive(Default)]
pub(crate) struct Names(Mutex<Registry>);

#[derive(Default)]
struct Registry {
    created: BTreeMap<u64, Named>,
    /// Who waits for which to be created.
    wanted: BTreeMap<u64, Vec<Wanting>>,
}

struct Wanting {
    is_created: Arc<AtomicBool>,
    waker: Waker,
}

struct Named {
    /// The process that created it.
    creator: u32,
    has_creator_ended: bool,
    created: Act,
    /// A `Whole<T, Spin>`.
    channel: Arc<dyn AnyType + Send + Sync>,
    item: &'static str,
    reader: OneSide,
    writer: OneSide,
}

/// What the network keeps of one side of a channel.
struct OneSide {
    kept: Option<KeptEnd>,
    is_for_several: bool,
    taken: Option<Act>,
}

/// An end that the network keeps, of any type: dropped if it is needed no more.
type KeptEnd = Box<dyn AnyType + Send>;

/// Who did something, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Act {
    process: String,
    at: &'static Location<'static>,
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the process `{}` at {}", self.process, self.at)
    }
}

impl Names {
    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process has ended: what it created closes as other channels do.
    pub(crate) fn creator_ended(&self, process: u32) {
        let mut registry = self.registry();
        let of_process = |named: &&mut Named| named.creator == process;
        let mut unneeded = Vec::new();
        for named in registry.created.values_mut().filter(of_process) {
            named.has_creator_ended = true;
            for side in [&mut named.reader, &mut named.writer] {
                unneeded.extend(side.kept.take_if(|_| side.taken.is_some()));
            }
        }
        // Dropping the last end of a side wakes others.
        drop(registry);
        drop(unneeded);
    }
}

impl OneSide {
    fn new<E: Kind>(end: impl AnyType + Send) -> Self {
        Self {
            kept: Some(Box::new(end)),
            is_for_several: E::IS_FOR_SEVERAL,
            taken: None,
        }
    }

    /// A process takes an end. Returns the kept one, if it is needed no more when there is another.
    fn take<E: Kind>(
        &mut self,
        by: &Act,
        has_creator_ended: bool,
    ) -> Result<Option<KeptEnd>, Mistake> {
        if self.is_for_several {
            self.taken.get_or_insert_with(|| by.clone());
            return Ok(self.kept.take_if(|_| has_creator_ended));
        }
        if E::IS_FOR_SEVERAL {
            return Err(Mistake::OneProcess);
        }
        match &self.taken {
            Some(by) => Err(Mistake::Taken {
                process: by.process.clone(),
                at: by.at,
            }),
            None => {
                self.taken = Some(by.clone());
                Ok(self.kept.take())
            }
        }
    }
}

/// Named channels. An id belongs to one channel of the network for the whole run.
impl<P: Place> Process<'_, P> {
    /// Creates a channel that other processes of the network look up by its id, and so hands both ends to the network.
    /// Whoever has waited for it goes on.
    ///
    /// An end that one process may have belongs to the first that takes it. Of an end that several may have, each that takes
    /// it gets one of its own, and one stays with the network until this process has ended: so the channel does not close
    /// while others are still to come. After that it closes as others do, and who comes later finds it closed.
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
    ///             // Waits until it is created.
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
    /// A local channel stays with the processes of one SPE, and has no id:
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
    /// [`NamedError`] if the id exists; the channel is dropped then.
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
            Arc::ptr_eq(&writer.channel, &reader.channel),
            "the channel {id} was to be created of a writer and a reader of two different channels"
        );
        let created = self.act();
        let mut registry = self.shared().names.registry();
        if let Some(named) = registry.created.get(&id) {
            let error = self.mistake(id, created, Some(named), Mistake::Exists);
            drop(registry);
            return Err(self.failed(error));
        }
        let channel = Arc::clone(&writer.channel);
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
            reader: OneSide::new::<R>(reader),
            writer: OneSide::new::<W>(writer),
        };
        registry.created.insert(id, named);
        let wanted = registry.wanted.remove(&id);
        drop(registry);
        let mut woken = Woken::Nobody;
        for wanting in wanted.into_iter().flatten() {
            wanting.is_created.store(true, Ordering::Release);
            woken.add(wanting.waker);
        }
        self.wake(&mut woken);
        Ok(())
    }

    /// Takes the end of a named channel to read from: [`One`](crate::One), or [`Any`](crate::Any) if the channel was created
    /// for several readers and the end is to be cloned. Waits until the channel is created.
    ///
    /// # Errors
    ///
    /// [`NamedError`] if the channel carries another type of item, or is for one reader only and another process has
    /// taken that end, or the end was to be [`Any`](crate::Any).
    #[track_caller]
    pub fn reader<T: Item + 'static, E: Kind>(&self, id: u64) -> Result<Reader<T, E>, NamedError> {
        self.take::<T, E, _>(id, Side::Reader, Reader::one_more)
    }

    /// As [`reader`](Self::reader), for the end to write to.
    ///
    /// # Errors
    ///
    /// As [`reader`](Self::reader).
    #[track_caller]
    pub fn writer<T: Item + 'static, E: Kind>(&self, id: u64) -> Result<Writer<T, E>, NamedError> {
        self.take::<T, E, _>(id, Side::Writer, Writer::one_more)
    }

    #[track_caller]
    fn take<T: Item + 'static, E: Kind, End>(
        &self,
        id: u64,
        side: Side,
        one_more: impl FnOnce(Arc<Whole<T, Spin>>) -> End,
    ) -> Result<End, NamedError> {
        let by = self.act();
        self.wait_for_creation(id);
        let mut registry = self.shared().names.registry();
        let Some(named) = registry.created.get_mut(&id) else {
            // The run has failed by now, and not because of this.
            return Err(self.mistake(id, by, None, Mistake::NotCreated));
        };
        let taken = match Arc::clone(&named.channel).downcast::<Whole<T, Spin>>() {
            Ok(channel) => {
                let kept = match side {
                    Side::Reader => &mut named.reader,
                    Side::Writer => &mut named.writer,
                };
                // Before the kept one is dropped, or it might be the last.
                let taken = kept.take::<E>(&by, named.has_creator_ended);
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
        self.wait_until(Waiting::Creation(&id), &mut || {
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
        NamedError(Box::new(Misuse {
            id,
            by,
            created: named.map(|named| named.created.clone()),
            mistake,
        }))
    }

    /// The network will say so when it has ended.
    fn failed(&self, error: NamedError) -> NamedError {
        self.shared()
            .fail(Moment::now(), Failure::Named(error.clone()));
        error
    }
}

/// A named channel was misused: a mistake of the program, so that [`Network::run`](crate::Network::run) fails with it,
/// whatever the process does about it.
///
/// With `?` it becomes an [`Ended::Poisoned`], for the process to end.
#[derive(Clone, PartialEq, Eq)]
pub struct NamedError(Box<Misuse>);

#[derive(Clone, PartialEq, Eq)]
struct Misuse {
    id: u64,
    by: Act,
    created: Option<Act>,
    mistake: Mistake,
}

/// What is wrong about the use of a named channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// It was to be created, and existed.
    Exists,
    /// An end was to be taken that is for one process, and is taken.
    Taken {
        /// Who has it.
        process: String,
        /// The call that took it.
        at: &'static Location<'static>,
    },
    /// An end was to be taken that can be cloned, but is for one process.
    OneProcess,
    /// It carries items of another type.
    Item {
        /// The type that the process wanted.
        wanted: &'static str,
        /// The type that it was created for.
        carried: &'static str,
    },
    /// The run was cancelled before it was created, and the process could not wait because it was unwinding.
    NotCreated,
}

impl NamedError {
    /// The id of the channel.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// What is wrong.
    pub fn mistake(&self) -> &Mistake {
        &self.0.mistake
    }
}

impl From<NamedError> for Ended {
    fn from(_: NamedError) -> Self {
        Self::Poisoned
    }
}

impl fmt::Display for NamedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Misuse {
            id,
            by,
            created,
            mistake,
        } = &*self.0;
        match mistake {
            Mistake::Exists => write!(
                f,
                "{by} was to create the channel {id}, which exists: create each id once"
            )?,
            Mistake::Taken { process, at } => write!(
                f,
                "{by} was to take an end of the channel {id} that one process may have, and the process `{process}` has \
                 taken at {at}: create a channel that several may use there"
            )?,
            Mistake::OneProcess => write!(
                f,
                "{by} was to take an end of the channel {id} that can be cloned, but one process may have it: take a \
                 `One`, or create a channel that several may use there"
            )?,
            Mistake::Item { wanted, carried } => write!(
                f,
                "{by} was to take an end of the channel {id} for items of the type `{wanted}`, but it carries `{carried}`"
            )?,
            Mistake::NotCreated => write!(
                f,
                "{by} was to take an end of the channel {id}, which was not created when the run was cancelled"
            )?,
        }
        match created {
            Some(created) => write!(f, "; {created} had created it"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for NamedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for NamedError {}
