//! Runs a program, and compares the end of each call with what its parts have done.

use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cellworks_machine::{Cycles, Machine, Payload, RunError, Spe, Wake};
use cellworks_tasks::{
    Handle, Main, Part as Pieces, Phase as PoolPhase, Place, Pool, PoolError, Scope,
    Task as PoolTask, TaskError, Update, Worker,
};

use crate::ledger::{Ledger, Role, Thrown, Value, dispose};
use crate::tree::{
    Action, Data, Dice, Loop, MainStep, Part, Phase, PhaseStep, Program, Step, Target, Task,
};

/// The number of elements of a row.
const ROW: usize = 8;

/// The number of elements of the block that tasks of a phase change in turn.
const BLOCK: usize = 16;

/// The tasks of a phase that a program can find, by their index.
type Find<'e, S> = Arc<dyn Fn(usize) -> Option<Handle<'e, S>> + Send + Sync + 'e>;

/// What a part can use.
struct Env<'e, S: Spe> {
    ledger: Arc<Ledger>,
    /// One for each phase around the part.
    levels: Vec<Find<'e, S>>,
    /// The parts of the tasks of these phases.
    tasks: Vec<Vec<&'e Task>>,
}

/// The place of a pool from which a program starts tasks.
trait Starts<S: Spe>: Place<S> {
    fn is_cancelled(&self) -> bool;

    fn scope<'env>(&self, f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env, S>));

    fn phase<'env, F>(&self, f: F) -> Result<(), TaskError>
    where
        F: for<'scope> FnOnce(&'scope PoolPhase<'scope, 'env, S>) -> Result<(), TaskError>;
}

impl<S: Spe> Starts<S> for Worker<'_, S> {
    fn is_cancelled(&self) -> bool {
        self.spe().is_cancelled()
    }

    fn scope<'env>(&self, f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env, S>)) {
        Worker::scope(self, f);
    }

    fn phase<'env, F>(&self, f: F) -> Result<(), TaskError>
    where
        F: for<'scope> FnOnce(&'scope PoolPhase<'scope, 'env, S>) -> Result<(), TaskError>,
    {
        Worker::phase(self, f)
    }
}

impl<M: Machine> Starts<M::Spe> for Main<'_, M> {
    fn is_cancelled(&self) -> bool {
        self.ppe().is_cancelled()
    }

    fn scope<'env>(&self, f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env, M::Spe>)) {
        Main::scope(self, f);
    }

    fn phase<'env, F>(&self, f: F) -> Result<(), TaskError>
    where
        F: for<'scope> FnOnce(&'scope PoolPhase<'scope, 'env, M::Spe>) -> Result<(), TaskError>,
    {
        Main::phase(self, f)
    }
}

/// The result of a part.
struct Made {
    part: usize,
    _value: Value,
}

/// Runs a program, and returns what is wrong.
pub fn check<M: Machine>(
    program: &Program,
    has_limit: bool,
    machine_with: &(dyn Fn(usize) -> M + Sync),
) -> Vec<String> {
    let ledger = Ledger::new(program.parts);
    let machine = machine_with(program.workers);
    let mut pool = Pool::new(&machine)
        .workers(program.workers)
        .scheduler(program.scheduler)
        .staging(program.staging);
    if let Some(threshold) = program.dicing {
        pool = pool.dicing(Some(threshold));
    }
    let result = catch_unwind(AssertUnwindSafe(|| {
        pool.run(|main| {
            let running = ledger.begin(0);
            for step in &program.main {
                let done = catch_unwind(AssertUnwindSafe(|| {
                    main_step(step, main, &ledger, machine_with);
                }));
                if let Err(panic) = done {
                    let is_last = !main.ppe().is_cancelled() && program.seed.is_multiple_of(3);
                    if main.ppe().is_cancelled() || is_last {
                        resume_unwind(panic);
                    }
                    dispose(panic);
                }
            }
            running.ended();
        })
    }));
    match result {
        Ok(result) => check_run(&ledger, has_limit, result),
        Err(panic) => {
            ledger.problem(format!("`Pool::run` has panicked: {}", text_of(&panic)));
            dispose(panic);
        }
    }
    ledger.check_end();
    ledger.problems()
}

fn check_run(ledger: &Ledger, has_limit: bool, result: Result<(), PoolError>) {
    let never = ledger.never.load(Ordering::SeqCst);
    let risky = ledger.risky.load(Ordering::SeqCst);
    match result {
        Ok(()) => {
            ledger.expect_success(0, "the pool");
            if never > 0 {
                ledger.problem("the run has ended well, but a part waits for ever".to_owned());
            }
        }
        Err(
            PoolError::Run(RunError::Panic { payload, .. }) | PoolError::Panicked { payload, .. },
        ) => {
            let payload = payload.into_inner();
            let is_right = payload
                .downcast_ref::<Thrown>()
                .is_some_and(|thrown| ledger.has_thrown(thrown.part));
            if !is_right {
                let text = text_of(&payload);
                ledger.problem(format!("the run has a panic that no part threw: {text}"));
            }
            dispose(payload);
        }
        Err(PoolError::Run(error @ RunError::Deadlock { .. })) => {
            let text = error.to_string();
            if never == 0 && risky == 0 {
                ledger.problem(format!("a deadlock without a cause is reported: {text}"));
            }
            if never > 0 && !text.contains("what never comes")
                || never == 0 && risky > 0 && !text.contains("task 't")
            {
                ledger.problem(format!("the report does not name what waits: {text}"));
            }
        }
        Err(PoolError::Run(RunError::TimeLimit { .. })) if has_limit => {}
        Err(error) => ledger.problem(format!("the run has failed: {error}")),
    }
}

/// Returns whether a panic may come from the machine, whose payloads are no text.
fn is_cancellation(panic: &Payload) -> bool {
    !panic.is::<Thrown>() && !panic.is::<&str>() && !panic.is::<String>()
}

fn text_of(panic: &Payload) -> String {
    if let Some(thrown) = panic.downcast_ref::<Thrown>() {
        return format!("the panic of part {}", thrown.part);
    }
    let text = panic.downcast_ref::<&str>().map(|&text| text.to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or("a payload of another type".to_owned())
}

fn main_step<M: Machine>(
    step: &MainStep,
    main: &Main<'_, M>,
    ledger: &Arc<Ledger>,
    machine_with: &(dyn Fn(usize) -> M + Sync),
) {
    let env = &Env {
        ledger: Arc::clone(ledger),
        levels: Vec::new(),
        tasks: Vec::new(),
    };
    match step {
        MainStep::Install(part) => {
            let captured = capture(part, ledger);
            let installed = catch_unwind(AssertUnwindSafe(|| {
                main.install(move |worker| run_with(captured, part, worker, env))
            }));
            let made = env.checked(main, "install", installed, &part.numbers);
            env.expect_result(part, &made);
        }
        MainStep::Scope(parts) => scope(parts, false, 0, main, env),
        MainStep::Phase(tree) => phase(tree, main, env),
        MainStep::NearOtherPool { workers } => {
            near_other_pool(*workers, main, ledger, machine_with)
        }
        MainStep::Throw { bomb } => ledger.throw(0, *bomb),
    }
}

/// A value that the closure of a part captures.
fn capture(part: &Part, ledger: &Arc<Ledger>) -> Value {
    Value::new(
        ledger,
        Role::Captured,
        part.numbers.start,
        part.captures_bomb,
    )
}

fn run<'e, S: Spe>(part: &'e Part, worker: &Worker<'_, S>, env: &Env<'e, S>) -> Made {
    let number = part.numbers.start;
    let running = env.ledger.begin(number);
    steps(&part.steps, number, worker, env);
    running.ended();
    let _value = Value::new(&env.ledger, Role::Result, number, part.returns_bomb);
    Made {
        part: number,
        _value,
    }
}

/// Runs a part, and then drops a captured value. The result is a variable meanwhile, because the
/// compiler forgets a returned value if a destructor panics after the return.
fn run_with<'e, S: Spe>(
    captured: Value,
    part: &'e Part,
    worker: &Worker<'_, S>,
    env: &Env<'e, S>,
) -> Made {
    let made = run(part, worker, env);
    drop(captured);
    made
}

fn steps<'e, S: Spe>(steps: &'e [Step], part: usize, worker: &Worker<'_, S>, env: &Env<'e, S>) {
    steps.iter().for_each(|one| step(one, part, worker, env));
}

/// The parts from the first to the last of some.
fn all(parts: &[Part]) -> Range<usize> {
    let first = parts.first().map_or(0, |part| part.numbers.start);
    first..parts.last().map_or(0, |part| part.numbers.end)
}

fn step<'e, S: Spe>(step: &'e Step, part: usize, worker: &Worker<'_, S>, env: &Env<'e, S>) {
    let ledger = &env.ledger;
    match step {
        Step::Yield(times) => (0..*times).for_each(|_| worker.spe().yield_now()),
        Step::Compute(cycles) => worker.spe().compute(Cycles(*cycles)),
        Step::Throw { bomb } => ledger.throw(part, *bomb),
        Step::Join(halves) => {
            let [first, second] = &**halves;
            let captured = [first, second].map(|part| capture(part, ledger));
            let [of_first, of_second] = captured;
            let joined = catch_unwind(AssertUnwindSafe(|| {
                worker.join(
                    move |worker| run_with(of_first, first, worker, env),
                    move |worker| run_with(of_second, second, worker, env),
                )
            }));
            let (a, b) = env.checked(worker, "join", joined, &all(&halves[..]));
            env.expect_result(first, &a);
            env.expect_result(second, &b);
        }
        Step::Scope { parts, throws } => {
            scope(parts, *throws, part, worker, env);
        }
        Step::Loop { kind, parts } => run_loop(*kind, parts, worker, env),
        Step::Sort { items, throws } => sort(*items, *throws, part, worker, env),
        Step::Phase(tree) => phase(tree, worker, env),
        Step::Catch(inside) => {
            let done = catch_unwind(AssertUnwindSafe(|| steps(inside, part, worker, env)));
            if let Err(panic) = done {
                if worker.is_cancelled() {
                    resume_unwind(panic);
                }
                dispose(panic);
            }
        }
        Step::Threads { parts, are_joined } => threads(parts, *are_joined, worker, env),
        Step::Guard {
            action,
            steps: inside,
        } => {
            let _guard = Guard {
                action: *action,
                part,
                worker,
                env,
            };
            steps(inside, part, worker, env);
        }
        Step::Wait(target) => wait(*target, worker, env),
        Step::Cancel(target) => {
            let task = env.tasks[target.level].get(target.task);
            if let Some((task, handle)) = task.zip(env.find(*target, worker)) {
                cancel(task, &handle, ledger);
            }
        }
        Step::Never => {
            ledger.never.fetch_add(1, Ordering::SeqCst);
            worker.spe().wait_until(&"what never comes", &mut || false);
        }
    }
}

impl<'e, S: Spe> Env<'e, S> {
    /// Returns the result of a call, or checks its panic, which must be that of one of its parts,
    /// and passes the panic on.
    fn checked<R>(
        &self,
        place: &impl Starts<S>,
        whose: &str,
        result: Result<R, Payload>,
        parts: &Range<usize>,
    ) -> R {
        result.unwrap_or_else(|panic| {
            self.check_panic(place, whose, &panic, parts);
            resume_unwind(panic)
        })
    }

    fn check_panic(
        &self,
        place: &impl Starts<S>,
        whose: &str,
        panic: &Payload,
        parts: &Range<usize>,
    ) {
        let is_right = match panic.downcast_ref::<Thrown>() {
            Some(Thrown { part, .. }) => parts.contains(part) && self.ledger.has_thrown(*part),
            None => is_cancellation(panic) && place.is_cancelled(),
        };
        if !is_right {
            let text = text_of(panic);
            let problem = format!("the {whose} of the parts {parts:?} has panicked with {text}");
            self.ledger.problem(problem);
        }
    }

    fn expect_result(&self, part: &Part, made: &Made) {
        let number = part.numbers.start;
        self.ledger.expect_success(number, "a call");
        if made.part != number {
            let other = made.part;
            let text = format!("the result of part {number} is that of part {other}");
            self.ledger.problem(text);
        }
    }

    /// Returns the handle of a task, for which this waits a little if it was not submitted yet.
    fn find(&self, target: Target, worker: &Worker<'_, S>) -> Option<Handle<'e, S>> {
        for _ in 0..100 {
            let found = self.levels[target.level](target.task);
            if found.is_some() || worker.is_cancelled() {
                return found;
            }
            worker.spe().yield_now();
        }
        None
    }
}

fn scope<'e, S: Spe>(
    parts: &'e [Part],
    throws: bool,
    part: usize,
    place: &impl Starts<S>,
    env: &Env<'e, S>,
) {
    let started = Cell::new(0);
    let result = catch_unwind(AssertUnwindSafe(|| {
        place.scope(|scope| {
            for part in parts {
                let captured = capture(part, &env.ledger);
                scope.spawn(place, move |worker| {
                    drop(run_with(captured, part, worker, env));
                });
                started.set(started.get() + 1);
            }
            if throws {
                env.ledger.throw(part, false);
            }
        });
    }));
    if !place.is_cancelled() {
        for part in &parts[..started.get()] {
            let number = part.numbers.start;
            if env.ledger.runs(number) != 1 {
                let text = format!("a scope has ended without part {number}");
                env.ledger.problem(text);
            }
        }
    }
    let own = if throws { part..part + 1 } else { 0..0 };
    match result {
        // In a cancelled run, a scope may return because its closures were unwound.
        Ok(()) if place.is_cancelled() => {}
        Ok(()) => {
            for part in parts {
                env.ledger.expect_success(part.numbers.start, "a scope");
            }
        }
        Err(panic) => {
            let is_own = panic
                .downcast_ref::<Thrown>()
                .is_some_and(|thrown| own.contains(&thrown.part));
            if !is_own {
                env.check_panic(place, "scope", &panic, &all(parts));
            }
            resume_unwind(panic);
        }
    }
}

fn run_loop<'e, S: Spe>(kind: Loop, parts: &'e [Part], worker: &Worker<'_, S>, env: &Env<'e, S>) {
    let done = catch_unwind(AssertUnwindSafe(|| match kind {
        Loop::ForEach => worker.for_each(0..parts.len(), |worker, index| {
            drop(run(&parts[index], worker, env));
        }),
        Loop::ForEachMut => {
            let mut items: Vec<_> = parts.iter().collect();
            worker.for_each_mut(&mut items, |worker, _, part| {
                drop(run(part, worker, env));
            });
        }
        Loop::ForEachChunk => {
            let mut items: Vec<_> = parts.iter().collect();
            worker.for_each_chunk(&mut items, 2, |worker, _, parts| {
                parts.iter().for_each(|part| drop(run(part, worker, env)));
            });
        }
        Loop::MapReduce => {
            let all = worker.map_reduce(
                0..parts.len(),
                Vec::new,
                |worker, index| vec![run(&parts[index], worker, env)],
                |mut left, right| {
                    left.extend(right);
                    left
                },
            );
            if all.len() != parts.len() {
                let text = format!(
                    "a loop over {} parts has {} results",
                    parts.len(),
                    all.len()
                );
                env.ledger.problem(text);
            }
            for (part, made) in parts.iter().zip(&all) {
                env.expect_result(part, made);
            }
        }
    }));
    if done.is_ok() {
        for part in parts {
            env.ledger.expect_success(part.numbers.start, "a loop");
        }
    }
    env.checked(worker, "loop", done, &all(parts));
}

fn sort<S: Spe>(items: usize, throws: bool, part: usize, worker: &Worker<'_, S>, env: &Env<'_, S>) {
    let mut numbers: Vec<u64> = (0..items as u64)
        .map(|i| i.wrapping_mul(7919) % 5003)
        .collect();
    let left = AtomicUsize::new(items);
    let sorted = catch_unwind(AssertUnwindSafe(|| {
        worker.sort_by_key(&mut numbers, |&number| {
            if throws && left.fetch_sub(1, Ordering::Relaxed) == 1 {
                env.ledger.throw(part, false);
            }
            number
        });
    }));
    env.checked(worker, "sort", sorted, &(part..part + 1));
    if !numbers.is_sorted() {
        env.ledger.problem(format!("{items} items are not sorted"));
    }
}

fn threads<'e, S: Spe>(
    parts: &'e [Part],
    are_joined: bool,
    worker: &Worker<'_, S>,
    env: &Env<'e, S>,
) {
    let done = catch_unwind(AssertUnwindSafe(|| {
        worker.spe().thread_scope(|scope| {
            let mut failure = None;
            let mut handles = Vec::new();
            for part in parts {
                let captured = capture(part, &env.ledger);
                let handle = scope.spawn(move |_| drop(run_with(captured, part, worker, env)));
                match handle {
                    Ok(handle) => handles.push(handle),
                    // The local store has no room for another stack.
                    Err(_) => drop(run(part, worker, env)),
                }
            }
            if are_joined {
                for handle in handles {
                    match handle.join() {
                        Err(panic) if failure.is_none() => failure = Some(panic),
                        Err(panic) => dispose(panic),
                        Ok(()) => {}
                    }
                }
            }
            failure
        })
    }));
    match env.checked(worker, "thread scope", done, &all(parts)) {
        Some(panic) => {
            env.check_panic(worker, "thread", &panic, &all(parts));
            resume_unwind(panic);
        }
        None => {
            for part in parts {
                env.ledger
                    .expect_success(part.numbers.start, "a thread scope");
            }
        }
    }
}

fn cancel<S: Spe>(task: &Task, handle: &Handle<'_, S>, ledger: &Ledger) {
    ledger.trouble();
    if handle.cancel() {
        ledger.was_cancelled(task.body.numbers.start);
    }
}

fn wait<'e, S: Spe>(target: Target, worker: &Worker<'_, S>, env: &Env<'e, S>) {
    let Some(handle) = env.find(target, worker) else {
        return;
    };
    let Some(task) = env.tasks[target.level].get(target.task) else {
        return;
    };
    if target.is_risky {
        env.ledger.risky.fetch_add(1, Ordering::SeqCst);
    }
    let waited = catch_unwind(AssertUnwindSafe(|| handle.wait(worker)));
    let waited = env.checked(worker, "wait", waited, &(0..0));
    check_wait(task, waited, worker, env);
}

fn check_wait<S: Spe>(
    task: &Task,
    waited: Result<(), TaskError>,
    place: &impl Starts<S>,
    env: &Env<'_, S>,
) {
    let name = format!("'{}'", task.name());
    let ledger = &env.ledger;
    let has_trouble = ledger.has_trouble.load(Ordering::SeqCst);
    let risky = ledger.risky.load(Ordering::SeqCst);
    match waited {
        Ok(()) => ledger.expect_success(task.body.numbers.start, "a wait"),
        Err(TaskError::Circle { tasks }) if risky > 0 && !tasks.is_empty() => {}
        Err(TaskError::DidNotRun { task }) if task.contains(&name) => {
            if !has_trouble && !place.is_cancelled() {
                ledger.problem(format!("task {task} did not run, but nothing has failed"));
            }
        }
        Err(error) => ledger.problem(format!("the wait for {name} has failed: {error}")),
    }
}

/// Does `action` with the worker in its destructor.
struct Guard<'a, 'w, 'e, S: Spe> {
    action: Action,
    part: usize,
    worker: &'a Worker<'w, S>,
    env: &'a Env<'e, S>,
}

impl<S: Spe> Drop for Guard<'_, '_, '_, S> {
    fn drop(&mut self) {
        let Self {
            action,
            part,
            worker,
            env,
        } = self;
        let value = || Value::new(&env.ledger, Role::Captured, *part, false);
        match *action {
            Action::Yield => worker.spe().yield_now(),
            Action::Scope => worker.scope(|scope| {
                for value in [value(), value()] {
                    scope.spawn(*worker, move |_| drop(value));
                }
            }),
            Action::Phase { waits } => {
                let ran = AtomicUsize::new(0);
                let ended = worker.phase(|phase| {
                    let (value, ran) = (value(), &ran);
                    let task = phase.task("of a destructor", Pieces(0..1), move |_, _| {
                        let _value = &value;
                        ran.fetch_add(1, Ordering::SeqCst);
                    });
                    let handle = phase.submit(*worker, task)?;
                    if waits { handle.wait(*worker) } else { Ok(()) }
                });
                let is_right = match ended {
                    Ok(()) => ran.into_inner() == 1 || worker.is_cancelled(),
                    Err(_) => worker.is_cancelled(),
                };
                if !is_right {
                    let text = format!("a phase of a destructor of part {part} has not run");
                    env.ledger.problem(text);
                }
            }
            Action::Join => {
                for _ in 0..20 {
                    let values = [value(), value()];
                    let [first, second] = values;
                    worker.join(
                        move |worker| {
                            worker.spe().yield_now();
                            drop(first);
                        },
                        move |_| drop(second),
                    );
                }
            }
            Action::ForEach => worker.for_each(0..200, |_, _| drop(value())),
            Action::Sort => {
                let mut numbers: Vec<u32> = (0..5_000).rev().collect();
                worker.sort(&mut numbers);
            }
            Action::Threads => worker.spe().thread_scope(|scope| {
                let value = value();
                // An error says that the local store has no room.
                let _ = scope.spawn(move |_| drop(value));
            }),
            Action::Wait(target) => {
                // A wait in a destructor must not panic while its thread unwinds, and no other
                // call may find it.
                let handle = env.levels[target.level](target.task);
                if let Some(handle) = handle
                    && let Some(task) = env.tasks[target.level].get(target.task)
                {
                    if target.is_risky {
                        env.ledger.risky.fetch_add(1, Ordering::SeqCst);
                    }
                    check_wait(task, handle.wait(*worker), *worker, env);
                }
            }
        }
    }
}

/// Runs a phase of a place.
fn phase<'e, S: Spe>(tree: &'e Phase, place: &impl Starts<S>, env: &Env<'e, S>) {
    let tasks: Vec<&'e Task> = tree.tasks().collect();
    let rows = |task: &Task| match task.data {
        Data::Rows { rows, .. } => rows,
        _ => 0,
    };
    let mut table = vec![0_u32; ROW * tasks.iter().map(|task| rows(task)).sum::<usize>()];
    let mut block = [0_u32; BLOCK];
    let submitted = Cell::new(0);
    let own = tree.numbers.start;
    let ended = catch_unwind(AssertUnwindSafe(|| {
        place.phase(|phase| {
            let slots = Arc::new(Mutex::new(vec![None; tasks.len()]));
            let own_level = Arc::clone(&slots);
            let mut levels: Vec<Find<'_, S>> = Vec::new();
            for outer in &env.levels {
                let outer = Arc::clone(outer);
                levels.push(Arc::new(move |index| outer(index)));
            }
            levels.push(Arc::new(move |index| {
                own_level.lock().unwrap().get(index).cloned().flatten()
            }));
            let mut all_tasks: Vec<Vec<&Task>> = env.tasks.clone();
            all_tasks.push(tasks.clone());
            let inner = Arc::new(Env {
                ledger: Arc::clone(&env.ledger),
                levels,
                tasks: all_tasks,
            });
            let blocks = phase.blocks(&mut block, BLOCK);
            let locks = [phase.lock(), phase.lock()];
            let mut rest = &mut table[..];
            for step in &tree.steps {
                let at = |index: usize| slots.lock().unwrap().get(index).cloned().flatten();
                match step {
                    PhaseStep::Submit(task) => {
                        let number = submitted.get();
                        let own_rows = rest.split_off_mut(..ROW * rows(task)).unwrap_or_default();
                        let mut made = match task.data {
                            Data::Rows { is_diced, .. } => {
                                let body = body(task, Arc::clone(&inner));
                                let data = Update::rows(own_rows, ROW);
                                let made = phase.task(task.name(), data, move |worker, rows| {
                                    rows.iter_mut().for_each(|x| *x += 1);
                                    body(worker);
                                });
                                if is_diced { made.diced() } else { made }
                            }
                            Data::Block => {
                                let body = body(task, Arc::clone(&inner));
                                phase.task(task.name(), blocks.update(0), move |worker, block| {
                                    block.iter_mut().for_each(|x| *x += 1);
                                    body(worker);
                                })
                            }
                            Data::WithDice(pieces, dice) => {
                                task_with_cuts(phase, task, pieces, dice, Arc::clone(&inner))
                            }
                            Data::Pieces(pieces) | Data::Diced(pieces) => {
                                let body = body(task, Arc::clone(&inner));
                                let data = Pieces(0..pieces);
                                let made =
                                    phase.task(task.name(), data, move |worker, _| body(worker));
                                match task.data {
                                    Data::Diced(_) => made.diced(),
                                    _ => made,
                                }
                            }
                        };
                        for other in task.after.iter().filter_map(|&other| at(other)) {
                            made = made.after(&other);
                        }
                        if let Some(other) = task.near.and_then(at) {
                            made = made.near(&other);
                        }
                        if let Some(lock) = task.lock {
                            made = made.locked(&locks[lock]);
                        }
                        let handle = phase.submit(place, made.priority(task.priority))?;
                        slots.lock().unwrap()[number] = Some(handle);
                        submitted.set(number + 1);
                    }
                    PhaseStep::Wait(index) => {
                        if let Some(handle) = at(*index) {
                            check_wait(tasks[*index], handle.wait(place), place, env);
                        }
                    }
                    PhaseStep::Cancel(index) => {
                        if let Some(handle) = at(*index) {
                            cancel(tasks[*index], &handle, &env.ledger);
                        }
                    }
                    PhaseStep::Throw => env.ledger.throw(own, false),
                }
            }
            Ok(())
        })
    }));
    let whole = tree.numbers.clone();
    let failure = match env.checked(place, "phase", ended, &whole) {
        Ok(()) if place.is_cancelled() => return,
        Ok(()) => {
            let has_trouble = env.ledger.has_trouble.load(Ordering::SeqCst);
            for task in &tasks {
                let number = task.body.numbers.start;
                // Without a failure of a task, only tasks that were cancelled, and those that come
                // after them, did not run.
                if !has_trouble || env.ledger.runs(number) > 0 {
                    env.ledger.expect_success(number, "a phase");
                }
            }
            if !has_trouble {
                let users = tasks.iter().filter(|task| matches!(task.data, Data::Block));
                let users = users.count() as u32;
                if table.iter().any(|&x| x != 1) || block.iter().any(|&x| x != users) {
                    let text = format!("the data of phase {own} is wrong: {block:?}, {table:?}");
                    env.ledger.problem(text);
                }
            }
            return;
        }
        Err(error) => error,
    };
    if table.iter().any(|&x| x > 1) {
        let text = format!("a row of phase {own} was changed twice: {table:?}");
        env.ledger.problem(text);
    }
    check_failure(&tasks, failure, env);
    if tree.throws_failure {
        env.ledger.throw(own, false);
    }
}

fn check_failure<S: Spe>(tasks: &[&Task], failure: TaskError, env: &Env<'_, S>) {
    let ledger = &env.ledger;
    let text = failure.to_string();
    let names = |named: &str| {
        let mut tasks = tasks.iter();
        tasks.find(|task| named.contains(&format!("'{}'", task.name())))
    };
    let is_right = match failure {
        TaskError::Panicked { task, payload } => {
            let payload = payload.into_inner();
            let is_right = names(&task).is_some_and(|task| {
                let numbers = &task.body.numbers;
                match payload.downcast_ref::<Thrown>() {
                    Some(Thrown { part, .. }) => numbers.contains(part) && ledger.has_thrown(*part),
                    None => matches!(task.data, Data::WithDice(_, Dice::Panics)),
                }
            });
            dispose(payload);
            is_right
        }
        TaskError::Diced { task, .. } => names(&task).is_some_and(|task| {
            matches!(
                task.data,
                Data::WithDice(_, Dice::NoProgress | Dice::Outside)
            )
        }),
        _ => false,
    };
    ledger.trouble();
    if !is_right {
        ledger.problem(format!("a phase has failed with a wrong error: {text}"));
    }
}

/// Returns the body of a task.
fn body<'e, S: Spe + 'e>(
    task: &'e Task,
    env: Arc<Env<'e, S>>,
) -> impl Fn(&Worker<'_, S>) + Send + Sync + 'e {
    if task.may_be_diced() {
        env.ledger.may_run_again(task.body.numbers.start);
    }
    let captured = Mutex::new(capture(&task.body, &env.ledger));
    move |worker| {
        let _captured = &captured;
        drop(run(&task.body, worker, &env));
    }
}

/// Makes a task with a dice of its own.
fn task_with_cuts<'scope, S: Spe>(
    phase: &'scope PoolPhase<'scope, '_, S>,
    task: &'scope Task,
    pieces: usize,
    dice: Dice,
    env: Arc<Env<'scope, S>>,
) -> PoolTask<'scope, S> {
    let part = task.body.numbers.start;
    let ledger = Arc::clone(&env.ledger);
    let body = body(task, env);
    phase.task_with_cuts(
        task.name(),
        Pieces(0..pieces),
        move |worker, _| body(worker),
        move |whole, _| {
            if dice != Dice::Halves {
                ledger.trouble();
            }
            match dice {
                Dice::Halves if whole.len() < 2 => Vec::new(),
                Dice::Halves => vec![whole.start + whole.len() / 2],
                Dice::Panics => ledger.throw(part, false),
                Dice::NoProgress => vec![whole.start],
                Dice::Outside => vec![whole.end + 1],
            }
        },
    )
}

/// Submits tasks of a second pool near tasks of this pool: an error or a panic names both.
fn near_other_pool<M: Machine>(
    workers: usize,
    main: &Main<'_, M>,
    ledger: &Arc<Ledger>,
    machine_with: &(dyn Fn(usize) -> M + Sync),
) {
    let names_both = |text: &str| text.contains("'far'") && text.contains("'near'");
    let inner = |handles: &[Handle<'_, M::Spe>]| {
        let machine = machine_with(workers);
        Pool::new(&machine).workers(workers).run(|main| {
            main.phase(|phase| {
                for handle in handles {
                    let task = phase.task("near", Pieces(0..1), |_, _| ()).near(handle);
                    phase.submit(main, task)?;
                }
                Ok(())
            })
        })
    };
    let outer = main.phase(|phase| {
        let mut handles = Vec::new();
        for _ in 0..8 {
            let task = phase.task("far", Pieces(0..1), |worker, _| worker.spe().yield_now());
            handles.push(phase.submit(main, task)?);
        }
        for handle in &handles {
            handle.wait(main)?;
        }
        let handles = &handles;
        let ended = std::thread::scope(|scope| scope.spawn(move || inner(handles)).join());
        match ended {
            Ok(Ok(Err(error))) if names_both(&error.to_string()) => {}
            Ok(Err(error)) if names_both(&error.to_string()) => {}
            // Only a machine with a limit of time ends a run so.
            Ok(Err(PoolError::Run(RunError::TimeLimit { .. }))) => {}
            Ok(Ok(Ok(()))) => ledger.problem("`near` takes a task of another pool".to_owned()),
            Ok(other) => ledger.problem(format!("`near` with a task of another pool: {other:?}")),
            Err(panic) if names_both(&text_of(&panic)) => {}
            Err(panic) => {
                let text = text_of(&panic);
                ledger.problem(format!("`near` with a task of another pool panics: {text}"));
            }
        }
        Ok(())
    });
    if let Err(error) = outer {
        ledger.problem(format!("tasks that only yield have failed: {error}"));
    }
}
