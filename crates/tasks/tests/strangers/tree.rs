//! Random programs as trees. A seed determines the tree, and its text is the report of a failure.

use std::fmt;
use std::ops::Range;

use cellworks_machine::Span;
use cellworks_tasks::{Priority, Scheduler, Staging};

/// A program for a pool. Closures, bodies of tasks, and functions of phases are its *parts*, which
/// are numbered in the order of the text. So the parts inside of a part have consecutive numbers.
#[derive(Debug)]
pub struct Program {
    pub seed: u64,
    pub workers: usize,
    pub scheduler: Scheduler,
    pub staging: Staging,
    /// The threshold for dicing, or `None` for the pool's default.
    pub dicing: Option<usize>,
    pub main: Vec<MainStep>,
    pub parts: usize,
}

#[derive(Debug)]
pub enum MainStep {
    Install(Part),
    Scope(Vec<Part>),
    Phase(Phase),
    /// Tasks of a second pool are submitted near tasks of the first.
    NearOtherPool {
        workers: usize,
    },
    Throw {
        bomb: bool,
    },
}

/// A closure, or the body of a task.
#[derive(Debug)]
pub struct Part {
    pub numbers: Range<usize>,
    /// Whether the destructor of a captured value panics.
    pub captures_bomb: bool,
    /// Whether the destructor of the result panics.
    pub returns_bomb: bool,
    pub steps: Vec<Step>,
}

#[derive(Debug)]
pub enum Step {
    Yield(u64),
    Compute(u64),
    Throw {
        bomb: bool,
    },
    Join(Box<[Part; 2]>),
    Scope {
        parts: Vec<Part>,
        throws: bool,
    },
    Loop {
        kind: Loop,
        parts: Vec<Part>,
    },
    Sort {
        items: usize,
        throws: bool,
    },
    Phase(Phase),
    Catch(Vec<Step>),
    Threads {
        parts: Vec<Part>,
        are_joined: bool,
    },
    /// A value whose destructor does `action` after the steps.
    Guard {
        action: Action,
        steps: Vec<Step>,
    },
    Wait(Target),
    Cancel(Target),
    /// Waits for what never comes.
    Never,
}

#[derive(Clone, Copy, Debug)]
pub enum Loop {
    ForEach,
    ForEachMut,
    ForEachChunk,
    MapReduce,
}

/// What a destructor does with the worker.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    Yield,
    Scope,
    Phase { waits: bool },
    Join,
    ForEach,
    Sort,
    Threads,
    Wait(Target),
}

/// A task that a program waits for or cancels.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The number of phases around the phase of the task.
    pub level: usize,
    /// The index of the task in its phase.
    pub task: usize,
    /// Whether the task cannot end, perhaps, before the program that waits.
    pub is_risky: bool,
}

#[derive(Debug)]
pub struct Phase {
    pub numbers: Range<usize>,
    pub steps: Vec<PhaseStep>,
    /// Whether the program that owns the phase panics if the phase fails.
    pub throws_failure: bool,
}

#[derive(Debug)]
pub enum PhaseStep {
    Submit(Task),
    Wait(usize),
    Cancel(usize),
    Throw,
}

#[derive(Debug)]
pub struct Task {
    pub body: Part,
    pub after: Vec<usize>,
    pub near: Option<usize>,
    pub lock: Option<usize>,
    pub priority: Priority,
    pub data: Data,
}

#[derive(Clone, Copy, Debug)]
pub enum Data {
    Pieces(usize),
    Diced(usize),
    WithDice(usize, Dice),
    Rows { rows: usize, is_diced: bool },
    Block,
}

/// What a task's own dice does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dice {
    Halves,
    Panics,
    /// Splits off a part without pieces.
    NoProgress,
    /// Splits the task at a piece of another task.
    Outside,
}

impl Task {
    pub fn name(&self) -> String {
        format!("t{}", self.body.numbers.start)
    }

    /// Whether the body may run for several parts of the data.
    pub fn may_be_diced(&self) -> bool {
        match self.data {
            Data::Diced(_) | Data::WithDice(..) => true,
            Data::Rows { is_diced, .. } => is_diced,
            Data::Pieces(_) | Data::Block => false,
        }
    }
}

impl Phase {
    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.steps.iter().filter_map(|step| match step {
            PhaseStep::Submit(task) => Some(task),
            _ => None,
        })
    }
}

impl Program {
    /// Returns the simulated time at which the run ends, if it is not over by then: after the PPE
    /// has started the workers, which takes 1.7 ms for each, and often soon after it.
    pub fn limit(&self) -> Span {
        let mut random = Random::new(!self.seed);
        let most = 1 << random.below(43);
        let started = 1_675_000_000_000 * self.workers as u64;
        Span::from_femtoseconds((started + random.below(most)).into())
    }
}

/// A generator of random numbers.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(0x9E37_79B9_7F4A_7C15))
    }

    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % end
    }

    fn index(&mut self, end: usize) -> usize {
        self.below(end as u64) as usize
    }

    /// True in `percent` of 100 cases.
    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What programs do besides work that cannot fail: the chances in percent.
#[derive(Clone, Copy, Debug, Default)]
struct Mood {
    /// Of a panic.
    throws: u64,
    /// Of a value whose destructor panics.
    bombs: u64,
    /// Of a wait for a task, or of a cancellation.
    handles: u64,
    locks: u64,
    /// Of a wait that never ends.
    never: u64,
    /// Of a destructor that uses the worker.
    guards: u64,
    threads: u64,
    bad_dice: u64,
    other_pool: u64,
}

/// The names and chances of the kinds of programs. The seed chooses one.
const MOODS: [(&str, Mood); 8] = {
    let calm = Mood {
        throws: 0,
        bombs: 0,
        handles: 0,
        locks: 20,
        never: 0,
        guards: 0,
        threads: 0,
        bad_dice: 0,
        other_pool: 0,
    };
    [
        ("nothing fails", Mood { guards: 8, ..calm }),
        (
            "closures panic",
            Mood {
                throws: 10,
                guards: 8,
                handles: 5,
                ..calm
            },
        ),
        (
            "destructors panic",
            Mood {
                bombs: 12,
                throws: 12,
                ..calm
            },
        ),
        (
            "waits and locks",
            Mood {
                handles: 35,
                locks: 40,
                ..calm
            },
        ),
        (
            "deadlocks and destructors",
            Mood {
                never: 8,
                guards: 25,
                bombs: 3,
                ..calm
            },
        ),
        (
            "cooperative threads",
            Mood {
                threads: 25,
                throws: 4,
                ..calm
            },
        ),
        (
            "dices and other pools",
            Mood {
                bad_dice: 40,
                other_pool: 20,
                ..calm
            },
        ),
        (
            "everything",
            Mood {
                throws: 5,
                bombs: 4,
                handles: 15,
                locks: 20,
                never: 2,
                guards: 10,
                threads: 8,
                bad_dice: 10,
                other_pool: 0,
            },
        ),
    ]
};

/// A phase around the part that is being made.
#[derive(Clone, Copy)]
struct Level {
    /// The index of the task of the phase that contains the part.
    task: usize,
    is_locked: bool,
}

struct Generator {
    random: Random,
    mood: Mood,
    next: usize,
    /// How many more parts the program may have.
    left: usize,
}

impl Program {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let scheduler = [Scheduler::Stealing, Scheduler::ThreeLevel, Scheduler::Mars];
        let scheduler = scheduler[[0, 0, 1, 2][random.index(4)]];
        let workers = 1 + random.index(4);
        let is_mars = scheduler == Scheduler::Mars;
        let ahead = random.index(3);
        let staging = match ahead {
            0 if !is_mars => Staging::Ahead(2),
            1 => Staging::Off,
            _ => Staging::Automatic,
        };
        let dicing = (!is_mars && random.chance(50)).then(|| 1 + random.index(32));
        let left = [8, 20, 40][random.index(3)];
        let mut generator = Generator {
            random,
            mood: MOODS[(seed % MOODS.len() as u64) as usize].1,
            next: 1,
            left,
        };
        let count = 1 + generator.random.index(2);
        let main = (0..count).map(|_| generator.main_step()).collect();
        Self {
            seed,
            workers,
            scheduler,
            staging,
            dicing,
            main,
            parts: generator.next,
        }
    }

    /// Returns the program of a seed without some elements. For each of them, `removed` has the
    /// number of elements before it. Returns `None` if the program has fewer elements.
    pub fn without(seed: u64, removed: &[usize]) -> Option<Self> {
        let mut program = Self::new(seed);
        let are_there = removed.iter().all(|&before| program.remove(before));
        are_there.then_some(program)
    }

    fn remove(&mut self, kept: usize) -> bool {
        let mut removal = Removal {
            kept,
            is_done: false,
        };
        removal.apply_to(&mut self.main, |_, _| true);
        for step in &mut self.main {
            match step {
                MainStep::Install(part) => removal.apply_to_steps(&mut part.steps),
                MainStep::Scope(parts) => removal.apply_to_parts(parts),
                MainStep::Phase(phase) => removal.apply_to_phase(phase),
                _ => {}
            }
        }
        removal.is_done
    }

    fn mood(&self) -> &'static str {
        MOODS[(self.seed % MOODS.len() as u64) as usize].0
    }
}

impl Generator {
    fn main_step(&mut self) -> MainStep {
        if self.random.chance(self.mood.other_pool) {
            let workers = 1 + self.random.index(2);
            return MainStep::NearOtherPool { workers };
        }
        if self.random.chance(self.mood.throws / 2) {
            return MainStep::Throw {
                bomb: self.payload_bomb(),
            };
        }
        match self.random.index(5) {
            0 | 1 => MainStep::Install(self.part(3, &[])),
            2 => {
                let count = 1 + self.random.index(5);
                MainStep::Scope(self.parts(count, 2, &[]))
            }
            _ => MainStep::Phase(self.phase(3, &[])),
        }
    }

    fn bomb(&mut self) -> bool {
        self.random.chance(self.mood.bombs)
    }

    /// Several panics of one call are rare, so payloads with such a destructor are not.
    fn payload_bomb(&mut self) -> bool {
        let bombs = self.mood.bombs;
        self.random.chance(4 * bombs)
    }

    fn parts(&mut self, count: usize, depth: usize, levels: &[Level]) -> Vec<Part> {
        (0..count).map(|_| self.part(depth, levels)).collect()
    }

    fn part(&mut self, depth: usize, levels: &[Level]) -> Part {
        let number = self.next;
        self.next += 1;
        self.left = self.left.saturating_sub(1);
        let captures_bomb = self.bomb();
        let returns_bomb = self.bomb();
        let steps = self.steps(depth, levels);
        Part {
            numbers: number..self.next,
            captures_bomb,
            returns_bomb,
            steps,
        }
    }

    fn steps(&mut self, depth: usize, levels: &[Level]) -> Vec<Step> {
        let count = self.random.index(4);
        (0..count).map(|_| self.step(depth, levels)).collect()
    }

    fn step(&mut self, depth: usize, levels: &[Level]) -> Step {
        let Mood {
            throws,
            handles,
            never,
            guards,
            threads,
            ..
        } = self.mood;
        if self.random.chance(throws) {
            return Step::Throw {
                bomb: self.payload_bomb(),
            };
        }
        if self.random.chance(never) {
            return Step::Never;
        }
        if !levels.is_empty() && self.random.chance(handles) {
            let target = self.target(levels);
            return if self.random.chance(85) {
                Step::Wait(target)
            } else {
                Step::Cancel(target)
            };
        }
        if depth == 0 || self.left == 0 {
            return self.leaf();
        }
        let depth = depth - 1;
        if self.random.chance(guards) {
            let action = self.action(levels);
            let steps = self.steps(depth, levels);
            return Step::Guard { action, steps };
        }
        if self.random.chance(threads) {
            let count = 1 + self.random.index(3);
            return Step::Threads {
                parts: self.parts(count, depth, levels),
                are_joined: self.random.chance(50),
            };
        }
        match self.random.index(10) {
            0 => self.leaf(),
            1..=3 => Step::Join(Box::new([
                self.part(depth, levels),
                self.part(depth, levels),
            ])),
            4 | 5 => {
                let count = self.random.index(5);
                Step::Scope {
                    parts: self.parts(count, depth, levels),
                    throws: self.random.chance(throws / 2),
                }
            }
            6 => {
                let kinds = [
                    Loop::ForEach,
                    Loop::ForEachMut,
                    Loop::ForEachChunk,
                    Loop::MapReduce,
                ];
                let count = self.random.index(6);
                Step::Loop {
                    kind: kinds[self.random.index(4)],
                    parts: self.parts(count, depth, levels),
                }
            }
            7 | 8 => Step::Phase(self.phase(depth, levels)),
            _ => Step::Catch(self.steps(depth, levels)),
        }
    }

    fn leaf(&mut self) -> Step {
        match self.random.index(8) {
            0..=3 => Step::Yield(1 + self.random.below(20)),
            4..=6 => Step::Compute(1 + self.random.below(20_000)),
            _ => Step::Sort {
                items: self.random.index(5_000),
                throws: self.random.chance(self.mood.throws),
            },
        }
    }

    fn action(&mut self, levels: &[Level]) -> Action {
        match self.random.index(9) {
            0 => Action::Yield,
            1 => Action::Scope,
            2 => Action::Phase { waits: false },
            3 => Action::Phase { waits: true },
            4 => Action::Join,
            5 => Action::ForEach,
            6 => Action::Sort,
            7 if !levels.is_empty() && self.mood.handles > 0 => Action::Wait(self.target(levels)),
            _ => Action::Threads,
        }
    }

    fn target(&mut self, levels: &[Level]) -> Target {
        let level = self.random.index(levels.len());
        let own = levels[level].task;
        // An earlier task as often as the own task and a later task together.
        let task = if own > 0 && self.random.chance(50) {
            self.random.index(own)
        } else {
            own + self.random.index(2)
        };
        Target {
            level,
            task,
            is_risky: task >= own || levels.iter().any(|level| level.is_locked),
        }
    }

    fn phase(&mut self, depth: usize, levels: &[Level]) -> Phase {
        let number = self.next;
        self.next += 1;
        let count = self.random.index(7);
        let mut steps = Vec::new();
        let mut task_of_block = None;
        for index in 0..count {
            let task = self.task(index, depth.saturating_sub(1), levels, &mut task_of_block);
            steps.push(PhaseStep::Submit(task));
            if self.random.chance(self.mood.handles / 2) {
                steps.push(PhaseStep::Wait(self.random.index(index + 1)));
            }
            if self.random.chance(self.mood.handles / 4) {
                steps.push(PhaseStep::Cancel(self.random.index(index + 1)));
            }
            if self.random.chance(self.mood.throws / 4) {
                steps.push(PhaseStep::Throw);
            }
        }
        Phase {
            numbers: number..self.next,
            steps,
            throws_failure: self.random.chance(50),
        }
    }

    fn task(
        &mut self,
        index: usize,
        depth: usize,
        levels: &[Level],
        task_of_block: &mut Option<usize>,
    ) -> Task {
        let pieces = 1 + self.random.index(100);
        let data = match self.random.index(8) {
            _ if self.random.chance(self.mood.bad_dice) => {
                let dices = [Dice::Panics, Dice::NoProgress, Dice::Outside, Dice::Halves];
                Data::WithDice(pieces, dices[self.random.index(4)])
            }
            0 => Data::Diced(pieces),
            1 => Data::WithDice(pieces, Dice::Halves),
            2 => Data::Rows {
                rows: 1 + pieces / 4,
                is_diced: true,
            },
            3 => Data::Rows {
                rows: 1 + pieces / 16,
                is_diced: false,
            },
            4 => Data::Block,
            _ => Data::Pieces(1),
        };
        let lock = self
            .random
            .chance(self.mood.locks)
            .then(|| self.random.index(2));
        let mut after = Vec::new();
        if index > 0 && self.random.chance(25) {
            after.push(self.random.index(index));
        }
        if let Data::Block = data {
            after.extend(task_of_block.replace(index));
        }
        let near = (index > 0 && self.random.chance(15)).then(|| self.random.index(index));
        let priority = match self.random.index(8) {
            0 => Priority::High,
            1 => Priority::Low,
            _ => Priority::Normal,
        };
        let level = Level {
            task: index,
            is_locked: lock.is_some(),
        };
        let levels = [levels, &[level]].concat();
        let mut task = Task {
            body: Part {
                numbers: 0..0,
                captures_bomb: false,
                returns_bomb: false,
                steps: Vec::new(),
            },
            after,
            near,
            lock,
            priority,
            data,
        };
        // The body of a diced task runs several times, so its parts have no numbers of their own.
        let depth = if task.may_be_diced() { 0 } else { depth };
        task.body = self.part(depth, &levels);
        task
    }
}

/// Removes one element of a tree, to find a smaller program that fails.
struct Removal {
    /// The number of elements that are kept before the removed element.
    kept: usize,
    is_done: bool,
}

impl Removal {
    /// Removes the element of a list that is to be removed, if the list has it.
    fn apply_to<T>(&mut self, list: &mut Vec<T>, may_go: impl Fn(&T, bool) -> bool) {
        let mut at = 0;
        while at < list.len() && !self.is_done {
            let is_last = at + 1 == list.len();
            if may_go(&list[at], is_last) {
                if self.kept == 0 {
                    list.remove(at);
                    self.is_done = true;
                    return;
                }
                self.kept -= 1;
            }
            at += 1;
        }
    }

    fn apply_to_parts(&mut self, parts: &mut Vec<Part>) {
        self.apply_to(parts, |_, _| true);
        for part in parts {
            self.apply_to_steps(&mut part.steps);
        }
    }

    fn apply_to_steps(&mut self, steps: &mut Vec<Step>) {
        self.apply_to(steps, |_, _| true);
        for step in steps {
            match step {
                Step::Join(halves) => {
                    for half in &mut **halves {
                        self.apply_to_steps(&mut half.steps);
                    }
                }
                Step::Scope { parts, .. }
                | Step::Loop { parts, .. }
                | Step::Threads { parts, .. } => {
                    self.apply_to_parts(parts);
                }
                Step::Phase(phase) => self.apply_to_phase(phase),
                Step::Catch(steps) | Step::Guard { steps, .. } => self.apply_to_steps(steps),
                _ => {}
            }
        }
    }

    fn apply_to_phase(&mut self, phase: &mut Phase) {
        // The numbers of the other tasks stay.
        self.apply_to(&mut phase.steps, |step, is_last| {
            is_last || !matches!(step, PhaseStep::Submit(_))
        });
        for step in &mut phase.steps {
            if let PhaseStep::Submit(task) = step {
                self.apply_to_steps(&mut task.body.steps);
            }
        }
    }
}

/// Text that is indented by the depth of its part.
struct Indented(usize);

impl fmt::Display for Indented {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:1$}", "", 4 * self.0)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "seed {} ({}): {:?}, {} workers, {:?}, dicing {:?}",
            self.seed,
            self.mood(),
            self.scheduler,
            self.workers,
            self.staging,
            self.dicing
        )?;
        for step in &self.main {
            match step {
                MainStep::Install(part) => {
                    writeln!(f, "install")?;
                    part.write(f, 1)?;
                }
                MainStep::Scope(parts) => {
                    writeln!(f, "scope of main")?;
                    parts.iter().try_for_each(|part| part.write(f, 1))?;
                }
                MainStep::Phase(phase) => phase.write(f, 0)?,
                other => writeln!(f, "{other:?}")?,
            }
        }
        Ok(())
    }
}

impl Part {
    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        write!(f, "{}part {}", Indented(depth), self.numbers.start)?;
        if self.captures_bomb {
            write!(f, ", captures a bomb")?;
        }
        if self.returns_bomb {
            write!(f, ", returns a bomb")?;
        }
        writeln!(f)?;
        write_steps(&self.steps, f, depth + 1)
    }
}

fn write_steps(steps: &[Step], f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
    for step in steps {
        let (head, parts): (String, &[Part]) = match step {
            Step::Join(halves) => ("join".to_owned(), &**halves),
            Step::Scope { parts, throws } => (format!("scope, throws: {throws}"), parts),
            Step::Loop { kind, parts } => (format!("loop {kind:?}"), parts),
            Step::Threads { parts, are_joined } => {
                (format!("threads, joined: {are_joined}"), parts)
            }
            Step::Phase(phase) => {
                phase.write(f, depth)?;
                continue;
            }
            Step::Catch(steps) => {
                writeln!(f, "{}catch", Indented(depth))?;
                write_steps(steps, f, depth + 1)?;
                continue;
            }
            Step::Guard { action, steps } => {
                writeln!(f, "{}destructor does {action:?} after", Indented(depth))?;
                write_steps(steps, f, depth + 1)?;
                continue;
            }
            other => (format!("{other:?}"), &[]),
        };
        writeln!(f, "{}{head}", Indented(depth))?;
        parts.iter().try_for_each(|part| part.write(f, depth + 1))?;
    }
    Ok(())
}

impl Phase {
    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        writeln!(
            f,
            "{}phase {}, throws its failure: {}",
            Indented(depth),
            self.numbers.start,
            self.throws_failure
        )?;
        let mut index = 0;
        for step in &self.steps {
            let PhaseStep::Submit(task) = step else {
                writeln!(f, "{}{step:?}", Indented(depth + 1))?;
                continue;
            };
            let Task {
                after,
                near,
                lock,
                priority,
                data,
                ..
            } = task;
            writeln!(
                f,
                "{}task {index} '{}', after {after:?}, near {near:?}, lock {lock:?}, {priority:?}, \
                 {data:?}",
                Indented(depth + 1),
                task.name(),
            )?;
            task.body.write(f, depth + 2)?;
            index += 1;
        }
        Ok(())
    }
}
