//! The state of a run, and its parts.
//!
//! ```text
//!   World ─┬─ topology, costs   the machine and its times, which never change
//!          ├─ mfcs              commands, and the caches of atomic units
//!          ├─ processors        for each processor its registers, waiting threads and lag
//!          ├─ threads           the cooperative threads, and the running thread
//!          ├─ observers         hazards, counters, trace, watchdog
//!          ├─ bus               transactions and words that are under way
//!          ├─ clock             the time, and the pending events
//!          ├─ yields            how often threads have only yielded
//!          └─ failure           the reason why the programs were cancelled
//! ```
//!
//! Each part is a struct in its own file and does not use the parts above it. A function that needs
//! several parts is a method of [`World`], in `engine`, `words` or `mfc`.
//!
//! A function that has borrowed a part of this list may borrow only later parts of the list:
//!
//! 1. the state of an MFC,
//! 2. the threads of a processor,
//! 3. the table of threads,
//! 4. `Hazards`, then the observer,
//! 5. the caches of the atomic units, and the table of words on their way,
//! 6. the fabric,
//! 7. the queue of events.
//!
//! No part may be borrowed during a switch of threads or while the `ready` closure of a wait runs.

// Rejected: a trait for each part, so that no function uses the whole `World`. An event needs
// several parts at once, so each method would be generic over all parts.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::rc::Rc;

use cellworks_machine::{
    CellId, LocalStoreUse, LocalStoreWatch, Processor, RunId, Running, SpeId, Time, Topology,
    Waiting,
};
use cellworks_threads as threads;

use crate::bus::Bus;
use crate::clock::Clock;
use crate::costs::Costs;
use crate::fabric::{Endpoint, Fabric};
use crate::hazard::Hazard;
use crate::index::{PPE, ProcessorIndex};
use crate::mfc::Mfcs;
use crate::observers::Observers;
use crate::processor::SimProcessor;
use crate::threads::Threads;
use crate::time::Moment;
use crate::yields::Yields;

/// The state of a run, which all programs of the run share.
pub(crate) struct World {
    pub id: RunId,
    pub topology: Topology,
    pub costs: Costs,
    pub mfcs: Mfcs,
    /// The PPE at index 0, then the SPEs.
    pub processors: Vec<Rc<SimProcessor>>,
    pub threads: Threads,
    pub observers: Observers,
    pub bus: Bus,
    pub clock: Clock,
    pub yields: Yields,
    pub failure: RefCell<Option<Failure>>,
}

/// The reason for which the threads of a run were cancelled.
#[derive(Debug)]
pub(crate) enum Failure {
    Deadlock(Vec<Waiting>),
    TimeLimit(Vec<Running>, Vec<Waiting>),
}

impl World {
    pub fn new(
        topology: Topology,
        costs: Costs,
        mfcs: Mfcs,
        observers: Observers,
        fabric: Fabric,
        clock: Clock,
    ) -> Self {
        let spes = topology.spes().len();
        let processor = |from| {
            let latency = |to| fabric.word_latency(Endpoint::of(from), Endpoint::of(to));
            Rc::new(SimProcessor::new(from, (1..=spes).map(latency).collect()))
        };
        Self {
            id: RunId::new(&topology),
            processors: (PPE..=spes).map(processor).collect(),
            topology,
            costs,
            mfcs,
            threads: Threads::new(),
            observers,
            bus: Bus::new(fabric),
            clock,
            yields: Yields::default(),
            failure: RefCell::new(None),
        }
    }

    #[inline]
    pub fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Returns the time on a processor: the clock plus the processor's lag, which is time that the
    /// processor has used and the clock has not counted yet.
    pub fn now_of(&self, processor: &SimProcessor) -> Time {
        Time::from(self.clock.now() + processor.lag.get())
    }

    #[inline]
    pub fn processor(&self, index: ProcessorIndex) -> &SimProcessor {
        &self.processors[index]
    }

    /// Returns a processor. Panics if `processor` is an SPE that the machine does not have.
    #[track_caller]
    pub fn named(&self, processor: Processor) -> &SimProcessor {
        match processor {
            Processor::Ppe => self.processor(PPE),
            Processor::Spe(spe) => self.spe(spe),
        }
    }

    /// Returns an SPE. Panics if the machine does not have the SPE.
    #[inline]
    #[track_caller]
    pub fn spe(&self, spe: SpeId) -> &Rc<SimProcessor> {
        match self.processors.get(spe.index() + 1) {
            Some(processor) => processor,
            None => self.no_such_spe(spe),
        }
    }

    #[cold]
    #[track_caller]
    fn no_such_spe(&self, spe: SpeId) -> ! {
        panic!(
            "{spe} was named, but {} has {} SPEs, 0 to {}; use `topology().spes()`",
            self.topology.name(),
            self.spe_count(),
            self.spe_count() - 1
        )
    }

    pub fn spe_count(&self) -> usize {
        self.mfcs.all().len()
    }

    /// Returns whether the `ready` closure of a wait is running. The closure must not wait.
    #[inline]
    pub fn is_in_condition(&self) -> bool {
        self.threads.is_in_condition()
    }

    /// Returns the number of the module nearest to the PPE, in which typed views stage memory.
    pub fn typed_module(&self) -> u16 {
        let cell = CellId::new(0);
        self.topology.nearest_module(cell).index() as u16
    }

    /// Panics with the text of `hazard`, if it is `Some` and the thread is not unwinding.
    pub fn panic_if_hazard(&self, hazard: Option<Hazard>) {
        if let Some(hazard) = hazard
            && !threads::is_unwinding()
        {
            // `panic!` would also print the location of this line, which the user does not need.
            resume_unwind(Box::new(hazard.to_string()));
        }
    }

    /// Returns the function that the local store of an SPE calls when a program uses its bytes. The
    /// function panics if a transfer may be using the same bytes.
    pub fn local_store_watch(self: &Rc<Self>, spe: SpeId) -> LocalStoreWatch {
        let world = Rc::clone(self);
        Rc::new(move |what, at, bytes| {
            let now = world.now();
            let bytes = bytes as u32;
            let mut hazards = world.observers.hazards.borrow_mut();
            let hazard = match what {
                LocalStoreUse::Read => hazards.local_access(now, spe, at, bytes, false),
                LocalStoreUse::Write => hazards.local_access(now, spe, at, bytes, true),
                LocalStoreUse::Reserve => hazards.buffer_reserved(now, spe, at, bytes),
                LocalStoreUse::Release => hazards.buffer_released(now, spe, at, bytes),
            };
            drop(hazards);
            world.panic_if_hazard(hazard);
        })
    }
}
