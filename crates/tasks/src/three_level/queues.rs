//! The queues that the workers and the PPE share: a region of main memory with the locks, gates,
//! counters and buffers, and the table of tasks.

use std::borrow::Cow;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use cellworks_machine::memory::{AllocateError, LINE_BYTES, Region};
use cellworks_machine::mfc::EffectiveAddress;
use cellworks_machine::{CellMachine, Processor, Spe, SpeId, Wake};

use super::buffer::{BUFFER_BYTES, BUFFER_TASKS, Buffer, InMain};
use super::costs::{BINARY_BYTES, TASK_BYTES};
use crate::phase::node::Node;
use crate::pool::counters::SchedulerCounters;
use crate::pool::settings::Scheduler;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering, locked};

/// A buffer with its lock. The PPE's scheduler takes locks in the order of the first row, workers
/// in the order of the second row. To flush its outbox, a worker locks only the prefilter.
///
/// ```text
///   Prefilter, ReorderBuffer
///   Ready, ReorderBuffer
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// The tasks that were submitted and not yet imported.
    Prefilter,
    /// The tasks in the order in which they run.
    ReorderBuffer,
    /// The tasks that workers take. The paper calls the lock of this buffer `FetchLock`.
    Ready,
}

/// A word of main memory, in a line of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// 0 if a processor has locked the buffer, otherwise 1.
    Lock(Level),
    /// The number of tasks that have not ended. Only tasks of the main program's phases count.
    Jobs,
    /// The number of the main program's phase if all of its tasks were submitted, otherwise 0.
    UserFinished,
    /// Twice the number of the main program's phase, plus 1 when all of its tasks have ended. While
    /// this value is odd, workers wait at the gate.
    FinishedGate,
    /// The number of workers that have come to the gate.
    Entered,
    /// The number of the main program's phase if its tasks have ended and all workers are at the
    /// gate, otherwise 0.
    CompletionGate,
}

const OBJECTS: usize = 4 * BUFFER_TASKS;

/// The distance in bytes between the objects of two tasks.
const OBJECT_STRIDE: usize = TASK_BYTES.next_multiple_of(LINE_BYTES);

const BUFFERS_AT: usize = 8 * LINE_BYTES;
const OBJECTS_AT: usize = (BUFFERS_AT + 3 * BUFFER_BYTES).next_multiple_of(4_096);
const BINARY_AT: usize = OBJECTS_AT + OBJECTS * OBJECT_STRIDE;
const REGION_BYTES: usize = BINARY_AT + BINARY_BYTES;

pub(crate) struct Queues<S: Spe> {
    scheduler: Scheduler,
    workers: Box<[SpeId]>,
    memory: Region,
    tasks: Mutex<Tasks<S>>,
    /// The number of times that tasks have come to the buffers from which workers take tasks.
    arrivals: AtomicUsize,
    /// The number of times that `Word::FinishedGate` has changed.
    gate_moves: AtomicUsize,
    /// Whether the PPE's scheduler must check the buffers.
    wants_scheduler: AtomicBool,
    /// Whether a task of the main program's phases was submitted since the last check.
    has_jobs: AtomicBool,
    /// The last phase for which the completion gate was opened.
    completed: AtomicUsize,
    pub(super) counts: Counts,
}

/// The table of the tasks that no worker runs.
struct Tasks<S: Spe> {
    pending: Vec<Option<Arc<Node<S>>>>,
    free: Vec<u32>,
    kinds: HashMap<Cow<'static, str>, u32>,
}

#[derive(Default)]
pub(super) struct Counts {
    pub(super) imported: Count,
    pub(super) check_outs: Count,
    pub(super) empty_check_outs: Count,
    pub(super) lock_polls: Count,
    pub(super) diced: Count,
    pub(super) parts: Count,
    pub(super) undiced: Count,
    pub(super) dropped: Count,
}

pub(super) struct Count(AtomicUsize);

impl Default for Count {
    fn default() -> Self {
        Self(AtomicUsize::new(0))
    }
}

impl Count {
    pub(super) fn add(&self, by: usize) {
        self.0.fetch_add(by, Ordering::Relaxed);
    }

    fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed) as u64
    }
}

impl<S: Spe> Queues<S> {
    pub(super) fn new<M: CellMachine<Spe = S>>(
        machine: &M,
        scheduler: Scheduler,
        workers: &[SpeId],
    ) -> Result<Self, AllocateError> {
        let module = machine.topology().modules().next();
        let module = module.expect("a machine has a memory module");
        let memory = machine.allocate(module, REGION_BYTES)?;
        for level in [Level::Prefilter, Level::ReorderBuffer, Level::Ready] {
            memory.write(Word::Lock(level).offset(), &1_u32.to_ne_bytes());
        }
        let gate = gate_open(FIRST_PHASE).to_ne_bytes();
        memory.write(Word::FinishedGate.offset(), &gate);
        Ok(Self {
            scheduler,
            workers: workers.into(),
            memory,
            tasks: Mutex::new(Tasks {
                pending: Vec::new(),
                free: Vec::new(),
                kinds: HashMap::new(),
            }),
            arrivals: AtomicUsize::new(0),
            gate_moves: AtomicUsize::new(0),
            wants_scheduler: AtomicBool::new(false),
            has_jobs: AtomicBool::new(false),
            completed: AtomicUsize::new(0),
            counts: Counts::default(),
        })
    }

    pub(super) fn is_mars(&self) -> bool {
        self.scheduler == Scheduler::Mars
    }

    pub(super) fn workers(&self) -> usize {
        self.workers.len()
    }

    /// Returns the buffer to which submitted tasks go.
    pub(super) fn entrance(&self) -> Level {
        if self.is_mars() {
            Level::Ready
        } else {
            Level::Prefilter
        }
    }

    pub(super) fn word(&self, word: Word) -> EffectiveAddress {
        self.memory.at(word.offset())
    }

    pub(super) fn buffer(&self, level: Level) -> EffectiveAddress {
        self.memory.at(level.offset())
    }

    /// Returns a buffer for the PPE. The caller has locked the buffer.
    pub(super) fn buffer_in_main(&self, level: Level) -> Buffer<InMain<'_>> {
        Buffer(InMain {
            memory: &self.memory,
            start: level.offset(),
        })
    }

    pub(super) fn object(&self, task: u32) -> EffectiveAddress {
        // Tasks may share an object, because only the time of the transfer matters.
        let object = task as usize % OBJECTS;
        self.memory.at(OBJECTS_AT + object * OBJECT_STRIDE)
    }

    /// Returns the address of the binaries of all tasks. Only the time of the transfer matters.
    pub(super) fn binary(&self) -> EffectiveAddress {
        self.memory.at(BINARY_AT)
    }

    /// Puts a task into the table and returns its number.
    pub(super) fn insert(&self, task: Arc<Node<S>>) -> u32 {
        let mut tasks = locked(&self.tasks);
        let Some(number) = tasks.free.pop() else {
            tasks.pending.push(Some(task));
            return tasks.pending.len() as u32 - 1;
        };
        tasks.pending[number as usize] = Some(task);
        number
    }

    /// Takes a task out of the table. Returns `None` if a cancelled run has dropped the task.
    pub(super) fn take(&self, number: u32) -> Option<Arc<Node<S>>> {
        let mut tasks = locked(&self.tasks);
        let task = tasks.pending[number as usize].take()?;
        tasks.free.push(number);
        Some(task)
    }

    /// Returns a task, which stays in the table.
    pub(super) fn get(&self, number: u32) -> Option<Arc<Node<S>>> {
        locked(&self.tasks).pending[number as usize].clone()
    }

    /// Takes all tasks out of the table, because the run was cancelled.
    pub(crate) fn take_all(&self) -> Vec<Arc<Node<S>>> {
        let mut tasks = locked(&self.tasks);
        tasks.pending.iter_mut().filter_map(Option::take).collect()
    }

    /// Returns a number that is the same for all tasks with the same name.
    pub(super) fn kind_of(&self, task: &Node<S>) -> u32 {
        let mut tasks = locked(&self.tasks);
        let next = tasks.kinds.len() as u32;
        *tasks.kinds.entry(task.name().clone()).or_insert(next)
    }

    /// Returns whether a task belongs to a phase of the main program.
    ///
    /// # Safety
    ///
    /// The task has not been counted as ended.
    pub(super) unsafe fn is_job(&self, task: &Node<S>) -> bool {
        // SAFETY: by the contract of this function.
        unsafe { &*task.phase }.is_of_main()
    }

    /// Records that a task of a phase of the main program was submitted.
    pub(super) fn job_came(&self) {
        self.has_jobs.store(true, Ordering::Relaxed);
    }

    pub(super) fn take_has_jobs(&self) -> bool {
        self.has_jobs.swap(false, Ordering::Relaxed)
    }

    /// Records that tasks have come to a buffer from which workers take tasks.
    pub(super) fn tasks_came(&self, by: &impl Wake) {
        self.arrivals.fetch_add(1, Ordering::Release);
        self.tell_workers(by);
    }

    pub(super) fn arrivals(&self) -> usize {
        self.arrivals.load(Ordering::Acquire)
    }

    pub(super) fn gate_moved(&self, by: &impl Wake) {
        self.gate_moves.fetch_add(1, Ordering::Release);
        self.tell_workers(by);
    }

    pub(super) fn gate_moves(&self) -> usize {
        self.gate_moves.load(Ordering::Acquire)
    }

    fn tell_workers(&self, by: &impl Wake) {
        for &worker in &self.workers {
            by.notify(Processor::Spe(worker));
        }
    }

    /// Records that the PPE's scheduler must check the buffers.
    pub(super) fn want_scheduler(&self, by: &impl Wake) {
        self.wants_scheduler.store(true, Ordering::Release);
        by.notify(Processor::Ppe);
    }

    pub(super) fn wants_scheduler(&self) -> bool {
        self.wants_scheduler.load(Ordering::Acquire)
    }

    pub(super) fn take_wants_scheduler(&self) -> bool {
        self.wants_scheduler.swap(false, Ordering::Acquire)
    }

    /// Records that the completion gate was opened for a phase.
    pub(super) fn complete(&self, phase: u32, by: &impl Wake) {
        self.completed.store(phase as usize, Ordering::Release);
        by.notify(Processor::Ppe);
    }

    pub(super) fn completed(&self) -> u32 {
        self.completed.load(Ordering::Acquire) as u32
    }

    pub(crate) fn counters(&self) -> SchedulerCounters {
        let counts = &self.counts;
        SchedulerCounters {
            imported: counts.imported.read(),
            check_outs: counts.check_outs.read(),
            empty_check_outs: counts.empty_check_outs.read(),
            lock_polls: counts.lock_polls.read(),
            diced: counts.diced.read(),
            parts: counts.parts.read(),
            undiced: counts.undiced.read(),
            dropped: counts.dropped.read(),
        }
    }
}

impl Word {
    fn offset(self) -> usize {
        let line = match self {
            Self::Lock(Level::Prefilter) => 0,
            Self::Lock(Level::ReorderBuffer) => 1,
            Self::Lock(Level::Ready) => 2,
            Self::Jobs => 3,
            Self::UserFinished => 4,
            Self::FinishedGate => 5,
            Self::Entered => 6,
            Self::CompletionGate => 7,
        };
        line * LINE_BYTES
    }
}

impl Level {
    fn offset(self) -> usize {
        BUFFERS_AT + self as usize * BUFFER_BYTES
    }
}

pub(super) const FIRST_PHASE: u32 = 1;

/// Returns the value of `FinishedGate` while workers may take tasks of the phase.
pub(super) const fn gate_open(phase: u32) -> u32 {
    phase.wrapping_mul(2)
}

pub(super) const fn gate_closed(phase: u32) -> u32 {
    gate_open(phase).wrapping_add(1)
}

/// Calls `operations`. If the run is cancelled, returns early, and the caller's next wait unwinds.
pub(super) fn unless_cancelled(processor: &impl Wake, operations: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(operations))
        && !processor.is_cancelled()
    {
        resume_unwind(panic);
    }
}
