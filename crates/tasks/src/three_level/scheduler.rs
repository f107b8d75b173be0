//! The PPE's scheduler, which imports, orders, filters and dices tasks, for the main program.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cellworks_machine::{AtomicOp, CellPpeCore, Cycles, Payload};

use super::costs::{IMPORT_TASKS, PPE_LOOK, PPE_MAKE, PPE_MOVE, PPE_PASS};
use super::dicing::dice;
use super::filter::{Filter, PendingTask};
use super::queues::{FIRST_PHASE, Level, Queues, Word, gate_closed, gate_open, unless_cancelled};
use super::sides::MainSide;
use crate::discard::discard;
use crate::error::TaskError;
use crate::phase::node::{End, Node};
use crate::phase::taken::Taken;
use crate::pool::settings::Priority;

pub(super) struct PpeScheduler<'a, C: CellPpeCore> {
    core: &'a C,
    queues: &'a Queues<C::Spe>,
    /// The number of tasks in the reorder buffer below which tasks are diced. `None` for no dicing.
    enough: Option<usize>,
    filters: &'a [Filter<'a>],
    /// The number of tasks that were submitted since the last pass.
    submitted: Cell<usize>,
    /// The task numbers of the parts for which the reorder buffer had no room.
    left_over: RefCell<VecDeque<u32>>,
    /// The number of nested phases of the main program that have not ended.
    depth: Cell<usize>,
    /// The number of the outermost phase, or of the next phase if no phase runs.
    phase: Cell<u32>,
    /// Whether the phase has at least one task, and all tasks were submitted.
    awaits_completion: Cell<bool>,
    filter_panic: RefCell<Option<Payload>>,
    /// The tasks before which all tasks have ended without running, and which are posted next.
    ready: RefCell<VecDeque<Arc<Node<C::Spe>>>>,
    /// Whether a call posts the tasks of `ready`.
    posts_ready: Cell<bool>,
    /// The number of tasks that have ended and that `Word::Jobs` still counts.
    ended_jobs: Cell<usize>,
}

struct Entry<S: cellworks_machine::Spe> {
    number: u32,
    task: Arc<Node<S>>,
}

/// The results of a pass that are handled after the locks were released.
struct PassResults<S: cellworks_machine::Spe> {
    dropped: Vec<Entry<S>>,
    /// The numbers of the tasks for which dicing has failed, and the errors.
    failed: Vec<(u32, TaskError)>,
    /// The number that dicing adds to `Word::Jobs`.
    more_jobs: usize,
}

/// The end of a run at a limit of time unwinds a pass. The errors that are dropped then hold the
/// payloads of panics.
impl<S: cellworks_machine::Spe> Drop for PassResults<S> {
    fn drop(&mut self) {
        self.failed.drain(..).for_each(discard);
    }
}

/// The end of a run at a limit of time unwinds the scheduler before the phase has ended.
impl<C: CellPpeCore> Drop for PpeScheduler<'_, C> {
    fn drop(&mut self) {
        discard(self.filter_panic.take());
    }
}

impl<'a, C: CellPpeCore> PpeScheduler<'a, C> {
    pub(super) fn new(
        core: &'a C,
        queues: &'a Queues<C::Spe>,
        enough: Option<usize>,
        filters: &'a [Filter<'a>],
    ) -> Self {
        Self {
            core,
            queues,
            enough,
            filters,
            submitted: Cell::new(0),
            left_over: RefCell::default(),
            depth: Cell::new(0),
            phase: Cell::new(FIRST_PHASE),
            awaits_completion: Cell::new(false),
            filter_panic: RefCell::default(),
            ready: RefCell::default(),
            posts_ready: Cell::new(false),
            ended_jobs: Cell::new(0),
        }
    }

    fn update(&self, word: Word, op: AtomicOp) -> u32 {
        let before = self.core.fetch_update(self.queues.word(word), op);
        before.expect("the words are in a region of their own")
    }

    /// Reads a word. The compare-and-swap stores nothing, because no word has the expected value.
    fn look_at(&self, word: Word) -> u32 {
        self.update(
            word,
            AtomicOp::CompareAndSwap {
                expected: u32::MAX,
                new: u32::MAX,
            },
        )
    }

    fn acquire(&self, level: Level) {
        let take = AtomicOp::CompareAndSwap {
            expected: 1,
            new: 0,
        };
        while self.update(Word::Lock(level), take) != 1 {
            self.queues.counts.lock_polls.add(1);
            if self.core.is_cancelled() {
                // The lock may never be released, because its holder may have been unwound.
                // Therefore this wait unwinds the caller.
                self.core.wait_until(&"a lock", &mut || false);
                return;
            }
            // On a simulated machine, which has one OS thread, this yield does nothing.
            std::thread::yield_now();
        }
    }

    fn release(&self, level: Level) {
        self.update(Word::Lock(level), AtomicOp::Set(1));
    }

    fn compute(&self, each: Cycles, times: usize) {
        self.core.compute(Cycles(each.0 * times as u64));
    }

    /// Puts a task into the buffer of submitted tasks. Waits while the buffer is full.
    fn enter(&self, task: u32) {
        let entrance = self.queues.entrance();
        loop {
            self.acquire(entrance);
            let buffer = self.queues.buffer_in_main(entrance);
            let has_room = !buffer.is_full();
            if has_room {
                self.compute(PPE_MOVE, 1);
                buffer.push_back(task);
            }
            self.release(entrance);
            if has_room {
                break;
            }
            self.import();
            let has_room = || !self.queues.buffer_in_main(entrance).is_full();
            let why = "room in the queue of tasks";
            let waited = self
                .core
                .wait_until(&why, &mut || has_room() || self.queues.wants_scheduler());
            if !waited {
                // The task stays in the table, from which the cancelled run drops it.
                return;
            }
        }
        if self.queues.is_mars() {
            return self.queues.tasks_came(self.core);
        }
        self.submitted.set(self.submitted.get() + 1);
        if self.submitted.get() >= IMPORT_TASKS {
            self.import();
        }
    }

    /// Imports tasks, except with MARS, where workers take tasks from the buffer of submitted
    /// tasks.
    fn import(&self) {
        self.queues.take_wants_scheduler();
        if !self.queues.is_mars() {
            self.pass();
        }
    }

    /// Moves tasks from the prefilter to the reorder buffer, orders and filters them, and dices
    /// tasks if the buffer holds fewer than `enough`.
    fn pass(&self) {
        self.submitted.set(0);
        self.acquire(Level::Prefilter);
        self.acquire(Level::ReorderBuffer);
        self.core.compute(PPE_PASS);
        let prefilter = self.queues.buffer_in_main(Level::Prefilter);
        let reordered = self.queues.buffer_in_main(Level::ReorderBuffer);
        let before = reordered.len();
        let mut left_over = self.left_over.borrow_mut();
        while !reordered.is_full()
            && let Some(task) = left_over.pop_front()
        {
            reordered.push_back(task);
        }
        while !reordered.is_full() && !prefilter.is_empty() {
            reordered.push_back(prefilter.pop_front());
        }
        drop(left_over);
        let imported = reordered.len() - before;
        self.compute(PPE_MOVE, imported);
        self.queues.counts.imported.add(imported);
        let mut found = PassResults {
            dropped: Vec::new(),
            failed: Vec::new(),
            more_jobs: 0,
        };
        if imported > 0 || self.enough.is_some_and(|enough| reordered.len() < enough) {
            // The buffer is written back only if it has changed, because writing takes time.
            let numbers: Vec<u32> = (0..reordered.len())
                .map(|_| reordered.pop_front())
                .collect();
            let entry = |number| {
                let task = self.queues.get(number)?;
                Some(Entry { number, task })
            };
            let mut entries: Vec<_> = numbers.into_iter().filter_map(entry).collect();
            if imported > 0 {
                self.order(&mut entries);
                entries = self.filter(entries, &mut found);
            }
            if let Some(enough) = self.enough {
                entries = self.dice(entries, enough, &mut found);
            }
            let mut left_over = self.left_over.borrow_mut();
            for entry in entries {
                if reordered.is_full() {
                    left_over.push_back(entry.number)
                } else {
                    reordered.push_back(entry.number)
                }
            }
        }
        let has_come = imported > 0 || reordered.len() > before;
        if found.more_jobs > 0 {
            // The count is raised before a worker can end a part.
            self.update(Word::Jobs, AtomicOp::Add(found.more_jobs as u32));
        }
        self.release(Level::ReorderBuffer);
        self.release(Level::Prefilter);
        if has_come {
            self.queues.tasks_came(self.core);
        }
        self.end_found(found);
    }

    /// Puts tasks of high priority first, and tasks of low priority last.
    fn order(&self, entries: &mut [Entry<C::Spe>]) {
        if entries
            .iter()
            .any(|it| it.task.priority != Priority::Normal)
        {
            self.compute(PPE_LOOK, entries.len());
            entries.sort_by_key(|entry| Reverse(entry.task.priority));
        }
    }

    fn filter(
        &self,
        entries: Vec<Entry<C::Spe>>,
        found: &mut PassResults<C::Spe>,
    ) -> Vec<Entry<C::Spe>> {
        if self.filters.is_empty() || self.filter_panic.borrow().is_some() {
            return entries;
        }
        self.compute(PPE_LOOK, entries.len() * self.filters.len());
        let mut pending: Vec<_> = entries
            .iter()
            .enumerate()
            .map(|(place, entry)| PendingTask {
                place,
                name: entry.task.name(),
                number: entry.task.number,
                priority: entry.task.priority,
                is_part: entry.task.is_part(),
            })
            .collect();
        let asked = catch_unwind(AssertUnwindSafe(|| {
            self.filters.iter().for_each(|filter| filter(&mut pending));
        }));
        let places: Vec<usize> = pending.iter().map(|task| task.place).collect();
        if let Err(panic) = asked {
            self.filter_panic.borrow_mut().replace(panic);
            return entries;
        }
        let mut entries: Vec<_> = entries.into_iter().map(Some).collect();
        let kept = places.into_iter();
        let kept = kept.filter_map(|place| entries[place].take()).collect();
        let dropped = entries.into_iter().flatten();
        found.dropped.extend(dropped);
        kept
    }

    fn dice(
        &self,
        entries: Vec<Entry<C::Spe>>,
        enough: usize,
        found: &mut PassResults<C::Spe>,
    ) -> Vec<Entry<C::Spe>> {
        let may_be_diced = |entry: &Entry<C::Spe>| {
            self.compute(PPE_LOOK, 1);
            let task = &entry.task;
            let may_be = task.dices
                && (task.lock.is_none() || task.has_its_lock())
                && !task.is_dropped()
                // SAFETY: the task lies in the reorder buffer, so it has not ended.
                && !unsafe { &*task.phase }.has_failed();
            if !may_be {
                self.queues.counts.undiced.add(1);
            }
            may_be
        };
        dice(entries, enough, may_be_diced, |entry, asking, into| {
            self.dice_one(entry, asking, into, found);
        })
    }

    /// Dices a task, or leaves it unchanged if it cannot be split.
    ///
    /// Time passes only when the table has the task or its parts. If a limit of the time ends the
    /// run there, tasks that are neither in the table nor ended would be waited for without an end.
    fn dice_one(
        &self,
        entry: Entry<C::Spe>,
        asking: usize,
        into: &mut Vec<Entry<C::Spe>>,
        found: &mut PassResults<C::Spe>,
    ) {
        let counts = &self.queues.counts;
        let Some(mut task) = self.take(entry.number) else {
            return;
        };
        // SAFETY: if the call returns parts, the work is dropped below.
        let parts = match unsafe { task.work().dice(asking) } {
            Ok(None) => {
                counts.undiced.add(1);
                let task = task.give_up();
                let number = self.queues.insert(Arc::clone(&task));
                return into.push(Entry { number, task });
            }
            Ok(Some(parts)) => parts,
            Err(error) => {
                let error = error.of(task.to_string());
                let number = self.queues.insert(task.give_up());
                return found.failed.push((number, error));
            }
        };
        counts.diced.add(1);
        let made = parts.len();
        counts.parts.add(made);
        if task.phase().is_of_main() {
            found.more_jobs += made - 1;
        }
        // A part that is split again no longer counts as a part.
        let more = made - usize::from(task.is_part());
        task.whole().wait_for_parts(more);
        // The data of the task now belongs to its parts. No part has ended yet, so the body and the
        // values that it owns are not dropped here.
        task.drop_work();
        for part in parts {
            let part = Arc::new(task.part(part));
            let number = self.queues.insert(Arc::clone(&part));
            into.push(Entry { number, task: part });
        }
        self.compute(PPE_MAKE, made);
    }

    fn end_found(&self, mut found: PassResults<C::Spe>) {
        for Entry { number, .. } in found.dropped.drain(..) {
            let Some(task) = self.take(number) else {
                continue;
            };
            self.queues.counts.dropped.add(1);
            if task.is_awaited() {
                let error = TaskError::DroppedByFilter {
                    task: task.to_string(),
                };
                task.phase().fail(error);
            }
            self.end(task);
        }
        for (number, error) in found.failed.drain(..) {
            let Some(task) = self.take(number) else {
                continue;
            };
            task.phase().fail(error);
            self.end(task);
        }
        if self.posts_ready.replace(true) {
            // A caller of this call posts the tasks. Otherwise a long chain of tasks that do not
            // run would be as many nested calls.
            return;
        }
        while let Some(task) = self.take_ready() {
            self.post(task);
        }
        self.posts_ready.set(false);
        // The ends are counted after the starts, so that the count is not 0 in between.
        for _ in 0..self.ended_jobs.take() {
            unless_cancelled(self.core, || self.job_ended());
        }
    }

    fn take_ready(&self) -> Option<Arc<Node<C::Spe>>> {
        self.ready.borrow_mut().pop_front()
    }

    /// Takes a task out of the table. `None` if a cancelled run has dropped the task.
    fn take(&self, number: u32) -> Option<Taken<C::Spe>> {
        let task = self.queues.take(number)?;
        // SAFETY: the table is a queue. A task that is in it is taken once, and no worker has it.
        Some(unsafe { Taken::new(task) })
    }

    /// Ends a task that has not run.
    fn end(&self, mut task: Taken<C::Spe>) {
        let dropped = catch_unwind(AssertUnwindSafe(|| task.drop_work()));
        if let Err(panic) = dropped {
            if self.core.is_cancelled() {
                discard(panic)
            } else {
                task.panicked(panic)
            }
        }
        let is_job = task.phase().is_of_main();
        let whole = task.whole();
        whole.drop_it();
        let is_last = !task.is_part() || whole.release();
        if is_last {
            // This task did not run. `End::Failed` drops the tasks that come after it.
            let wake = |waiting| self.core.wake(waiting);
            let is_ready = |task| self.ready.borrow_mut().push_back(task);
            whole.end_with(End::Failed, is_ready, wake);
        }
        self.ended_jobs
            .set(self.ended_jobs.get() + usize::from(is_job));
        if is_last {
            let scope = &task.phase().scope;
            let waiter = scope.waiter;
            if scope.count.end(1) {
                self.core.wake(waiter);
            }
        }
    }

    fn job_ended(&self) {
        if self.update(Word::Jobs, AtomicOp::Subtract(1)) == 1 && self.awaits_completion.get() {
            self.close();
        }
    }

    /// Makes the workers wait at the gate after all tasks of the phase have ended.
    fn close(&self) {
        let phase = self.phase.get();
        if self.queues.is_mars() {
            self.update(Word::CompletionGate, AtomicOp::Set(phase));
            return self.queues.complete(phase, self.core);
        }
        let close = AtomicOp::CompareAndSwap {
            expected: gate_open(phase),
            new: gate_closed(phase),
        };
        if self.update(Word::FinishedGate, close) == gate_open(phase) {
            self.queues.gate_moved(self.core);
        }
    }
}

impl<C: CellPpeCore> MainSide<C::Spe> for PpeScheduler<'_, C> {
    fn post(&self, task: Arc<Node<C::Spe>>) {
        // SAFETY: the task has not run, so it has not been counted as ended.
        let is_job = unsafe { self.queues.is_job(&task) } && !task.has_its_lock();
        let task = self.queues.insert(task);
        if is_job {
            self.queues.job_came();
        }
        unless_cancelled(self.core, || {
            self.core.compute(PPE_MAKE);
            if is_job {
                self.update(Word::Jobs, AtomicOp::Add(1));
            }
            self.enter(task);
        });
    }

    fn phase_begins(&self) {
        self.depth.set(self.depth.get() + 1);
        if self.depth.get() == 1 {
            self.queues.take_has_jobs();
            self.update(Word::CompletionGate, AtomicOp::Set(0));
            self.update(Word::UserFinished, AtomicOp::Set(0));
        }
    }

    fn all_submitted(&self) {
        if self.depth.get() > 1 || !self.queues.take_has_jobs() {
            return;
        }
        self.update(Word::UserFinished, AtomicOp::Set(self.phase.get()));
        self.awaits_completion.set(true);
        if self.look_at(Word::Jobs) == 0 {
            self.close();
        }
    }

    fn phase_ends(&self) -> Result<(), Payload> {
        self.depth.set(self.depth.get() - 1);
        if self.awaits_completion.get() && self.depth.get() == 0 {
            self.awaits_completion.set(false);
            let phase = self.phase.get();
            let is_complete = || self.queues.completed() == phase;
            while !is_complete() {
                let why = "the workers to come to the gate at the end of a phase";
                let waited = self
                    .core
                    .wait_until(&why, &mut || is_complete() || self.is_wanted());
                if !waited {
                    break;
                }
                self.serve();
            }
            self.look_at(Word::CompletionGate);
            self.phase.set(phase + 1);
            if !self.queues.is_mars() {
                self.update(Word::Entered, AtomicOp::Set(0));
                self.update(Word::FinishedGate, AtomicOp::Set(gate_open(phase + 1)));
                self.queues.gate_moved(self.core);
            }
        }
        self.filter_panic.take().map_or(Ok(()), Err)
    }

    fn serve(&self) {
        while self.is_wanted() {
            self.queues.take_wants_scheduler();
            if !self.queues.is_mars() {
                self.pass();
            }
        }
    }

    fn is_wanted(&self) -> bool {
        self.submitted.get() > 0 || self.queues.wants_scheduler()
    }
}
