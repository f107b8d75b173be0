//! The registry of the named channels of a network.

use std::any::Any as AnyType;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};

use super::error::{Act, Mistake};
use crate::channel::waker::Waker;
use crate::sync::locked;

#[derive(Default)]
pub(crate) struct Names(Mutex<Registry>);

#[derive(Default)]
pub(super) struct Registry {
    pub(super) created: BTreeMap<u64, Named>,
    /// The ids of the channels that a process has created, by the number of the process. A process
    /// that has ended has no entry.
    pub(super) of_creator: BTreeMap<u32, Vec<u64>>,
    /// The processes that wait for the creation of a channel, by the id of the channel.
    pub(super) wanted: BTreeMap<u64, Vec<Wanting>>,
}

pub(super) struct Wanting {
    pub(super) is_created: Arc<AtomicBool>,
    pub(super) waker: Waker,
}

pub(super) struct Named {
    pub(super) has_creator_ended: bool,
    pub(super) created: Act,
    /// A `RawChannel<T, Spin>`, without the type `T` of its items.
    pub(super) channel: Arc<dyn AnyType + Send + Sync>,
    pub(super) item: &'static str,
    pub(super) reader: OneSide,
    pub(super) writer: OneSide,
}

pub(super) struct OneSide {
    kept: Option<KeptEnd>,
    is_for_several: bool,
    taken: Option<Act>,
}

pub(super) type KeptEnd = Box<dyn AnyType + Send>;

impl Names {
    pub(super) fn registry(&self) -> MutexGuard<'_, Registry> {
        locked(&self.0)
    }

    /// Called when a process has ended. Of each channel that this process created, drops the kept
    /// reader if a process has taken a reader, and the kept writer if a process has taken a writer.
    pub(crate) fn creator_ended(&self, process: u32) {
        let mut registry = self.registry();
        let Registry {
            created,
            of_creator,
            ..
        } = &mut *registry;
        let mut unneeded = Vec::new();
        for id in of_creator.remove(&process).into_iter().flatten() {
            let named = created.get_mut(&id).expect("a created channel stays");
            named.has_creator_ended = true;
            for side in [&mut named.reader, &mut named.writer] {
                unneeded.extend(side.kept.take_if(|_| side.taken.is_some()));
            }
        }
        // Dropped without the lock, because dropping the last end of a side wakes processes.
        drop(registry);
        drop(unneeded);
    }
}

impl OneSide {
    pub(super) fn new(end: impl AnyType + Send, is_for_several: bool) -> Self {
        Self {
            kept: Some(Box::new(end)),
            is_for_several,
            taken: None,
        }
    }

    /// Records that `by` takes an end of this side. `for_several` means that this end has the kind
    /// [`Any`](crate::Any). Returns the kept end if the network no longer needs it.
    pub(super) fn take(
        &mut self,
        by: &Act,
        for_several: bool,
        has_creator_ended: bool,
    ) -> Result<Option<KeptEnd>, Mistake> {
        if self.is_for_several {
            self.taken.get_or_insert_with(|| by.clone());
            return Ok(self.kept.take_if(|_| has_creator_ended));
        }
        if for_several {
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
