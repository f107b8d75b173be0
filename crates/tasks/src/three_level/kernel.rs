//! The kernel: the program on an SPE that moves tasks between the queues and a worker.

// Rejected: simulating each check-out that finds no task, because there would be millions in a run.
// Instead the worker waits until tasks have come, and then simulates two check-outs.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;

use cellworks_machine::memory::LINE_BYTES;
use cellworks_machine::mfc::{CommandFault, EffectiveAddress, LsAddr, RawCommand, Tag};
use cellworks_machine::{AtomicOp, CellSpe, LocalBuffer, Mfc, StageError};

use super::buffer::{BUFFER_BYTES, Buffer, CONTROL, CONTROL_BYTES, ELEMENT_BYTES, InLocal};
use super::costs::{BINARY_BYTES, INBOX_TASKS, SPE_MOVE, SPE_STEP, SPE_TASK, TASK_BYTES};
use super::queues::{Level, Queues, Word, gate_closed, gate_open, unless_cancelled};
use super::sides::WorkerSide;
use crate::phase::node::Node;

const TAG: Tag = Tag::of::<31>();

/// The name of the kernel in the error of a full local store.
const HOLDER: &str = "the scheduler in main memory";

/// The number of bytes that a poll of a lock transfers (figure 4.3).
const POLL_BYTES: usize = 8;

/// The number of bytes of the quadword in which an element of a buffer lies.
const QUADWORD_BYTES: usize = 16;

pub(super) struct Kernel<'a, S: CellSpe> {
    spe: &'a S,
    queues: &'a Queues<S>,
    /// A copy of the main memory line that holds the lock used last.
    line: LocalBuffer,
    ready: LocalBuffer,
    /// A copy of the reorder buffer, or of the prefilter while the outbox is flushed.
    other: LocalBuffer,
    object: LocalBuffer,
    binary: LocalBuffer,
    inbox: RefCell<VecDeque<InInbox>>,
    outbox: RefCell<VecDeque<u32>>,
    /// Whether the buffer of submitted tasks had no room for the tasks in the outbox.
    is_stuck: Cell<bool>,
    /// Whether a thread of this worker uses the buffers in the local store.
    is_busy: Cell<bool>,
    /// The value of `Queues::arrivals` before the last check-out that found no task.
    seen: Cell<usize>,
    gate_seen: Cell<usize>,
    /// The last phase for which the worker has arrived at the gate.
    entered: Cell<u32>,
    is_at_gate: Cell<bool>,
    /// The kind (`Queues::kind_of`) of the tasks that run the binary in the local store.
    kind: Cell<Option<u32>>,
}

#[derive(Clone, Copy)]
struct InInbox {
    task: u32,
    /// Whether the SPE has got the object of the task.
    is_known: bool,
}

impl<'a, S: CellSpe> Kernel<'a, S> {
    pub(super) fn new(spe: &'a S, queues: &'a Queues<S>) -> Result<Self, StageError> {
        let room = |bytes| spe.local_store().reserve(bytes, LINE_BYTES as u32, HOLDER);
        Ok(Self {
            spe,
            queues,
            line: room(LINE_BYTES)?,
            ready: room(BUFFER_BYTES)?,
            other: room(BUFFER_BYTES)?,
            object: room(TASK_BYTES)?,
            binary: room(BINARY_BYTES)?,
            inbox: RefCell::default(),
            outbox: RefCell::default(),
            is_stuck: Cell::new(false),
            is_busy: Cell::new(false),
            seen: Cell::new(0),
            gate_seen: Cell::new(0),
            entered: Cell::new(0),
            is_at_gate: Cell::new(false),
            kind: Cell::new(None),
        })
    }

    fn transfer(&self, command: Result<(), CommandFault>) {
        command.expect("the buffers are in a region and in a local store of their own");
        self.spe.mfc().wait_all(TAG.mask());
    }

    fn get(&self, to: LsAddr, from: EffectiveAddress, bytes: usize) {
        let command = RawCommand::get(to, from, bytes as u32, TAG);
        self.transfer(self.spe.mfc().issue(command));
    }

    fn put(&self, from: LsAddr, to: EffectiveAddress, bytes: usize) {
        let command = RawCommand::put(from, to, bytes as u32, TAG);
        self.transfer(self.spe.mfc().issue(command));
    }

    fn update(&self, word: Word, op: AtomicOp) -> u32 {
        let before = self.spe.fetch_update(self.queues.word(word), op);
        before.expect("the words are in a region of their own")
    }

    fn look_at(&self, word: Word) -> u32 {
        let word = self.spe.load_word(self.queues.word(word));
        word.expect("the words are in a region of their own")
    }

    /// Locks a buffer as `SpinLock::Acquire` of figure 4.3 does.
    fn acquire(&self, level: Level) {
        const IN_REGION: &str = "the locks are in a region of their own";
        let (mfc, local_store) = (self.spe.mfc(), self.spe.local_store());
        let (line, lock) = (self.line.address(), self.queues.word(Word::Lock(level)));
        self.spe.compute(SPE_STEP);
        loop {
            mfc.getllar(line, lock).expect(IN_REGION);
            if local_store.read_word(line) == 1 {
                local_store.write_word(line, 0);
                if mfc.putllc(line, lock).expect(IN_REGION) {
                    return;
                }
                continue;
            }
            while local_store.read_word(line) == 0 {
                self.get(line, lock, POLL_BYTES);
                self.queues.counts.lock_polls.add(1);
                if self.spe.is_cancelled() {
                    // The lock may never be released, because its holder may have been unwound.
                    // Therefore this wait unwinds the caller.
                    self.spe.wait_until(&"a lock", &mut || false);
                    return;
                }
                // On a host the holder of the lock may need this OS thread to continue.
                self.spe.yield_now();
            }
        }
    }

    fn release(&self, level: Level) {
        let line = self.line.address();
        self.spe.local_store().write_word(line, 1);
        let lock = self.queues.word(Word::Lock(level));
        let stored = self.spe.mfc().putlluc(line, lock);
        stored.expect("the locks are in a region of their own");
    }

    fn buffer(&self, of: &LocalBuffer) -> Buffer<InLocal<'_>> {
        Buffer(InLocal {
            local_store: self.spe.local_store(),
            start: of.address(),
        })
    }

    /// Gets a buffer, which the caller has locked.
    fn get_buffer(&self, of: &LocalBuffer, level: Level) -> Buffer<InLocal<'_>> {
        self.get(of.address(), self.queues.buffer(level), BUFFER_BYTES);
        self.buffer(of)
    }

    fn put_buffer(&self, of: &LocalBuffer, level: Level) {
        self.put(of.address(), self.queues.buffer(level), BUFFER_BYTES);
    }

    /// Returns the addresses of a buffer's head, tail and length, in local store and main memory.
    fn control(&self, of: &LocalBuffer, level: Level) -> (LsAddr, EffectiveAddress) {
        let local = LsAddr(of.address().0 + CONTROL as u32);
        let main = EffectiveAddress(self.queues.buffer(level).0 + CONTROL as u64);
        (local, main)
    }

    /// Moves tasks into the inbox by the check-out of figure 4.4. Returns false if there is no
    /// task.
    fn check_out(&self) -> bool {
        let counts = &self.queues.counts;
        counts.check_outs.add(1);
        self.spe.compute(SPE_STEP);
        let found = if self.queues.is_mars() {
            self.check_out_one()
        } else {
            self.check_out_several()
        };
        if !found {
            counts.empty_check_outs.add(1);
        }
        found
    }

    fn check_out_several(&self) -> bool {
        self.acquire(Level::Ready);
        let ready = self.get_buffer(&self.ready, Level::Ready);
        if ready.is_empty() {
            self.acquire(Level::ReorderBuffer);
            let reordered = self.get_buffer(&self.other, Level::ReorderBuffer);
            // The paper does not give this number. This number fills the inboxes of all workers, so
            // that the other tasks can still be reordered and diced.
            let tasks = reordered.len().min(self.queues.workers() * INBOX_TASKS);
            if tasks == 0 {
                self.release(Level::ReorderBuffer);
                self.release(Level::Ready);
                return false;
            }
            for _ in 0..tasks {
                self.spe.compute(SPE_MOVE);
                ready.push_back(reordered.pop_front());
            }
            self.put_buffer(&self.other, Level::ReorderBuffer);
            self.release(Level::ReorderBuffer);
            self.queues.want_scheduler(self.spe);
        }
        let free = INBOX_TASKS.saturating_sub(self.inbox.borrow().len());
        let tasks = match ready.len() {
            few if few < free => (few / self.queues.workers()).max(1),
            _ => free,
        };
        for _ in 0..tasks {
            self.spe.compute(SPE_MOVE);
            self.deliver(ready.pop_front());
        }
        self.put_buffer(&self.ready, Level::Ready);
        self.release(Level::Ready);
        true
    }

    /// Takes one task by the check-out of MARS, which has only one queue.
    fn check_out_one(&self) -> bool {
        self.acquire(Level::Ready);
        let (control, control_in_main) = self.control(&self.ready, Level::Ready);
        self.get(control, control_in_main, CONTROL_BYTES);
        let ready = self.buffer(&self.ready);
        if ready.is_empty() {
            self.release(Level::Ready);
            return false;
        }
        let quadword = (ready.head() & !(QUADWORD_BYTES - 1)) as u32;
        let local = LsAddr(self.ready.address().0 + quadword);
        let main = EffectiveAddress(self.queues.buffer(Level::Ready).0 + u64::from(quadword));
        self.get(local, main, QUADWORD_BYTES);
        let was_full = ready.is_full();
        self.spe.compute(SPE_MOVE);
        self.deliver(ready.pop_front());
        self.put(control, control_in_main, CONTROL_BYTES);
        self.release(Level::Ready);
        if was_full {
            self.queues.want_scheduler(self.spe);
        }
        true
    }

    fn deliver(&self, task: u32) {
        self.inbox.borrow_mut().push_back(InInbox {
            task,
            is_known: false,
        });
    }

    /// Takes the next task of the inbox, and transfers the object of the task.
    fn next_of_inbox(&self) -> Option<Arc<Node<S>>> {
        loop {
            let InInbox { task, is_known } = self.inbox.borrow_mut().pop_front()?;
            if !is_known {
                self.get(self.object.address(), self.queues.object(task), TASK_BYTES);
                self.spe.compute(SPE_TASK);
            }
            // `None` if a cancelled run has dropped the task.
            if let Some(task) = self.queues.take(task) {
                return Some(task);
            }
        }
    }

    /// Moves tasks from the outbox into the buffer of submitted tasks, while this buffer has room.
    fn flush(&self) {
        if self.outbox.borrow().is_empty() {
            return;
        }
        let entrance = self.queues.entrance();
        self.spe.compute(SPE_STEP);
        self.acquire(entrance);
        let flushed = if self.queues.is_mars() {
            let (control, control_in_main) = self.control(&self.other, entrance);
            self.get(control, control_in_main, CONTROL_BYTES);
            self.flush_into(&self.buffer(&self.other), &|at| {
                let local = LsAddr(self.other.address().0 + at as u32);
                let main = EffectiveAddress(self.queues.buffer(entrance).0 + at as u64);
                self.put(local, main, ELEMENT_BYTES);
            })
        } else {
            self.flush_into(&self.get_buffer(&self.other, entrance), &|_| {})
        };
        if flushed > 0 {
            if self.queues.is_mars() {
                let (control, control_in_main) = self.control(&self.other, entrance);
                self.put(control, control_in_main, CONTROL_BYTES);
            } else {
                self.put_buffer(&self.other, entrance)
            }
        }
        self.release(entrance);
        if self.queues.is_mars() {
            self.queues.tasks_came(self.spe)
        } else {
            self.queues.want_scheduler(self.spe)
        }
    }

    /// Moves tasks from the outbox into a buffer, while the buffer has room. Calls `pushed` with
    /// the offset of each task, and returns the number of tasks.
    fn flush_into(&self, buffer: &Buffer<InLocal<'_>>, pushed: &dyn Fn(usize)) -> usize {
        let mut tasks = 0;
        while !buffer.is_full() {
            let next = self.outbox.borrow_mut().pop_front();
            let Some(task) = next else { break };
            self.put(self.object.address(), self.queues.object(task), TASK_BYTES);
            self.spe.compute(SPE_MOVE);
            let at = buffer.tail();
            buffer.push_back(task);
            pushed(at);
            tasks += 1;
        }
        // Before other threads of the SPE run again: they may add tasks, for which there is room if
        // the buffer is not full now.
        self.is_stuck.set(!self.outbox.borrow().is_empty());
        tasks
    }

    /// Reads the finished gate, at which workers stay between the phases of the main program.
    fn look_at_gate(&self) {
        self.gate_seen.set(self.queues.gate_moves());
        let gate = self.look_at(Word::FinishedGate);
        let phase = gate / 2;
        self.is_at_gate.set(gate == gate_closed(phase));
        if !self.is_at_gate.get() || self.entered.replace(phase) == phase {
            return;
        }
        let before = self.update(Word::Entered, AtomicOp::Add(1));
        if before as usize + 1 == self.queues.workers() {
            self.open_completion_gate(phase);
        }
    }

    fn open_completion_gate(&self, phase: u32) {
        self.update(Word::CompletionGate, AtomicOp::Set(phase));
        self.queues.complete(phase, self.spe);
    }

    fn look(&self) -> Option<Arc<Node<S>>> {
        self.flush();
        let task = self.next_of_inbox();
        if task.is_some() {
            return task;
        }
        if self.queues.gate_moves() != self.gate_seen.get() {
            self.look_at_gate();
        }
        if self.is_at_gate.get() {
            return None;
        }
        self.fill_inbox();
        self.next_of_inbox()
    }

    /// Checks tasks out, if tasks have come since the last check-out without a task.
    fn fill_inbox(&self) {
        let arrivals = self.queues.arrivals();
        if arrivals != self.seen.get() && !self.check_out() {
            self.seen.set(arrivals);
        }
    }

    /// Calls `look` unless another thread of this worker uses the buffers in the local store.
    fn exclusively(&self, look: impl FnOnce() -> Option<Arc<Node<S>>>) -> Option<Arc<Node<S>>> {
        if self.is_busy.replace(true) {
            return None;
        }
        let mut task = None;
        unless_cancelled(self.spe, || task = look());
        self.is_busy.set(false);
        task
    }
}

impl<S: CellSpe> WorkerSide<S> for Kernel<'_, S> {
    fn may_find(&self) -> bool {
        if self.is_busy.get() {
            return false;
        }
        let has_come = self.queues.arrivals() != self.seen.get();
        let has_outbox = !self.outbox.borrow().is_empty() && (has_come || !self.is_stuck.get());
        has_outbox
            || !self.inbox.borrow().is_empty()
            || self.queues.gate_moves() != self.gate_seen.get()
            || (has_come && !self.is_at_gate.get())
    }

    fn take(&self) -> Option<Arc<Node<S>>> {
        self.exclusively(|| self.look())
    }

    fn take_ahead(&self, is_first: bool) -> Option<Arc<Node<S>>> {
        self.exclusively(|| {
            if is_first && self.inbox.borrow().is_empty() && !self.is_at_gate.get() {
                self.fill_inbox();
            }
            self.next_of_inbox()
        })
    }

    fn put_back(&self, task: Arc<Node<S>>) {
        let task = self.queues.insert(task);
        self.inbox.borrow_mut().push_front(InInbox {
            task,
            is_known: true,
        });
    }

    fn post(&self, task: Arc<Node<S>>) {
        // SAFETY: the task has not run, so it has not been counted as ended.
        let is_job = unsafe { self.queues.is_job(&task) } && !task.has_its_lock();
        let task = self.queues.insert(task);
        self.outbox.borrow_mut().push_back(task);
        self.is_stuck.set(false);
        if is_job {
            self.queues.job_came();
            unless_cancelled(self.spe, || {
                self.update(Word::Jobs, AtomicOp::Add(1));
            });
        }
    }

    fn load(&self, task: &Node<S>) {
        let kind = Some(self.queues.kind_of(task));
        if self.kind.replace(kind) != kind {
            let (to, from) = (self.binary.address(), self.queues.binary());
            self.get(to, from, BINARY_BYTES);
        }
    }

    fn job_ended(&self) {
        unless_cancelled(self.spe, || {
            if self.update(Word::Jobs, AtomicOp::Subtract(1)) != 1 {
                return;
            }
            let phase = self.look_at(Word::UserFinished);
            if phase == 0 {
                return;
            }
            if self.queues.is_mars() {
                return self.open_completion_gate(phase);
            }
            let close = AtomicOp::CompareAndSwap {
                expected: gate_open(phase),
                new: gate_closed(phase),
            };
            if self.update(Word::FinishedGate, close) == gate_open(phase) {
                self.queues.gate_moved(self.spe);
            }
        });
    }
}
