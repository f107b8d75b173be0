//! Prototein folding from a bag of tasks (the paper DSMCBE, section 3.2, figures 4 and 5).
//!
//! ```text
//!                 ┌──► worker ──┐
//!   PPE, the bag ─┼──► worker ──┼──► PPE, the best of all results
//!                 └──► worker ──┘
//!       tasks: first beads       each worker: its best result
//! ```
//!
//! The bag can also be a process on an SPE, so that it has a place to choose.
//!
//! A prototein is a chain of hydrophobic (`H`) and polar (`P`) beads on a square grid, with at most
//! one bead at each place. A contact is a pair of H beads that are neighbours on the grid, but not
//! in the chain. A folding with more contacts is better (Hayes, *Prototeins*, American Scientist
//! 86(3), 1998). A task is a folding of the first few beads, and workers place the remaining beads.

use std::cmp::Ordering;
use std::iter;
use std::ops::AddAssign;
use std::sync::{Mutex, PoisonError};

use cellworks_csp::{Any, Channel, Item, Network, Place, Process, ProcessError, Reader, Writer};
use cellworks_machine::{Cycles, Machine, Span, Spe, SpeId, Topology};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::deployment::Deployment;
use crate::error::{ParameterError, ProgramError, agree};
use crate::figure::{Figure, axis};
use crate::picture::Draw;
use crate::placement::Placement;
use crate::{Conclusion, Done, Metric, Parts, Program, RunResult, speedup};

/// The largest number of beads. 20 beads have 41,889,578 foldings, 2.7 times as many as 19 beads.
pub const PROTOTEIN_BEADS_MAX: usize = 20;

/// Finds the best of all foldings of prototeins, from a bag of tasks: DSMCBE's figure 5.
///
/// The result is compared with the result of a search without tasks. If the program also runs on
/// one SPE with one thread, the results contain the speed-ups over that run.
#[derive(Args, Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Prototein {
    /// Where the workers run.
    #[command(flatten)]
    #[serde(flatten)]
    pub placement: Placement,

    /// Prototeins of 2 to 20 beads: H is hydrophobic, P polar.
    #[arg(long, default_value = "HPHPPHHPHPPHPHHP")]
    pub prototein: String,

    /// Where the bag of tasks is. On an SPE it is a process with a place of its own, and the
    /// workers run from the next SPE on
    #[arg(long, value_enum, default_value = "ppe")]
    #[serde(default, skip_serializing_if = "Bag::is_on_ppe")]
    pub bag: Bag,

    /// How many beads are already placed when a task begins, from 2 to all [default: 9, or all of a
    /// shorter prototein]
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placed: Option<usize>,
}

/// Where the bag of tasks is.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Bag {
    /// on the PPE, as in the paper
    #[default]
    Ppe,
    /// a process on SPE 0
    Spe,
}

impl Bag {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    fn is_on_ppe(&self) -> bool {
        *self == Self::Ppe
    }
}

/// The default number of beads of a task. 16 beads then give 740 tasks.
const PLACED: usize = 9;

const TIME: Metric = Metric::new("time", "ns");
const BEST: Metric = Metric::new("best", "contacts");
const FOLDINGS: Metric = Metric::new("foldings", "foldings");

/// The cycles of an SPU to place a bead: load and compare four places (6 + 2 each), store the place
/// (6), and mispredict a branch (18). Source: Cell BE Programming Tutorial, pipeline latencies.
const CYCLES_PER_BEAD: u64 = 4 * (6 + 2) + 6 + 18;

impl Prototein {
    fn base(&self) -> Self {
        Self {
            placement: self.placement.alone(),
            ..self.clone()
        }
    }

    fn placed(&self) -> usize {
        self.placed.unwrap_or(PLACED.min(self.prototein.len()))
    }

    fn chain(&self) -> Vec<bool> {
        self.prototein.chars().map(|bead| bead == 'H').collect()
    }
}

impl Program for Prototein {
    const NAME: &'static str = "prototein";
    const EXAMPLE: &'static str = "--prototein HPHPPHHPHPPHPHHP --spes 1,2";
    const METRICS: &'static [Metric] = &[TIME, BEST, FOLDINGS];
    const PARTS: Parts = Parts::Processes;

    fn title(&self) -> String {
        format!("prototein, {}, {}", self.prototein, self.placement.title())
    }

    fn check(&self, topology: &Topology) -> Result<(), ParameterError> {
        self.placement.check(topology)?;
        let refused = |parameter, why| Err(ParameterError::Refused { parameter, why });
        if let Some(other) = self.prototein.chars().find(|bead| !"HP".contains(*bead)) {
            let beads = &self.prototein;
            return refused(
                "prototein",
                format!(
                    "{other:?} in {beads:?} is no bead; use H for hydrophobic and P for polar ones"
                ),
            );
        }
        let beads = self.prototein.len();
        if !(2..=PROTOTEIN_BEADS_MAX).contains(&beads) {
            return refused(
                "prototein",
                format!(
                    "not all foldings of {beads} beads can be tried; use 2 to {PROTOTEIN_BEADS_MAX}"
                ),
            );
        }
        let placed = self.placed();
        if !(2..=beads).contains(&placed) {
            return refused(
                "placed",
                format!(
                    "a task cannot have {placed} beads of {}, which has {beads}; use 2 to {beads}",
                    self.prototein
                ),
            );
        }
        Ok(())
    }

    fn address_space_bytes(&self) -> usize {
        self.placement.stacks_bytes()
    }

    fn run_as<M: Machine>(&self, machine: &M, _: Draw<'_>, parts: &mut Deployment) -> RunResult {
        self.check(machine.topology())?;
        let chain = self.chain();
        let (bag, tasks) = Channel::new().named("bag").one_to_any();
        let (begun, ready) = Channel::new().named("ready").any_to_one();
        let (best, results) = Channel::new().named("results").any_to_one();
        let mut network = Network::on(machine);
        network.transport(self.placement.transport);
        let workers = self.placement.processes();
        let owner = Owner {
            chain: &chain,
            placed: self.placed(),
            workers,
            ready,
            bag,
            results,
        };
        let (mut all, mut of_all) = Channel::new().named("all").one_to_one();
        let (on_ppe, first) = match self.bag {
            Bag::Ppe => (Some(owner), 0),
            Bag::Spe => {
                network.process("bag", SpeId::new(0), move |process| {
                    Ok(all.write(process, owner.hand_out(process))?)
                });
                (None, 1)
            }
        };
        for worker in 0..workers {
            let (chain, tasks) = (&chain, tasks.clone());
            let (begun, best) = (begun.clone(), best.clone());
            let spe = (first + worker / self.placement.threads) % self.placement.spes;
            network.process(
                format!("worker {worker}"),
                SpeId::new(spe as u16),
                move |process| work(process, chain, begun, tasks, best),
            );
        }
        drop((tasks, begun, best));
        let counted = parts.prepare(&mut network);
        let (span, found) = network.run_with(move |process| match on_ppe {
            Some(owner) => owner.hand_out(process),
            // A read fails only if the network fails, and a failed network reports its error.
            None => of_all.read(process).unwrap_or_default(),
        })?;
        parts.record(counted);
        verify(found, expected(&chain))?;
        Ok(vec![
            TIME.measured(span.as_nanoseconds_f64()),
            BEST.measured(f64::from(found.contacts)),
            FOLDINGS.measured(found.foldings as f64),
        ])
    }

    fn complete(mut chosen: Vec<Self>) -> Vec<Self> {
        for one in &mut chosen {
            one.placed = Some(one.placed());
        }
        chosen
    }

    fn conclusions(done: &[Done<Self>]) -> Vec<Conclusion> {
        speedup::conclusions(done, Self::base, TIME)
    }

    fn figures(done: &[Done<Self>]) -> Vec<Figure> {
        speedup::figures(done, Self::base, TIME, axis)
    }
}

/// What owns the bag of tasks: the main process, or a process on an SPE.
struct Owner<'a> {
    chain: &'a [bool],
    placed: usize,
    workers: usize,
    ready: Reader<()>,
    bag: Writer<Task>,
    results: Reader<Foldings>,
}

impl Owner<'_> {
    /// Hands out all tasks when all workers have begun. Returns the time until the last result, and
    /// the best of all results. Reads and writes fail only if the network fails, and a failed
    /// network reports its error.
    fn hand_out<P: Place>(mut self, process: &Process<'_, P>) -> (Span, Foldings) {
        for _ in 0..self.workers {
            let _ = self.ready.read(process);
        }
        let begin = process.now();
        let mut first_beads = Folding::new(self.chain);
        first_beads.each_of(self.placed, &mut |folding| {
            let _ = self.bag.write(process, folding.task());
        });
        drop(self.bag);
        let mut found = Foldings::default();
        for best in iter::from_fn(|| self.results.read(process).ok()).take(self.workers) {
            found += best;
        }
        (process.now().since(begin), found)
    }
}

/// Reports that this worker has begun, and does tasks until the bag is empty and closed.
fn work<S: Spe>(
    process: &Process<'_, S>,
    chain: &[bool],
    mut begun: Writer<(), Any>,
    mut tasks: Reader<Task, Any>,
    mut best: Writer<Foldings, Any>,
) -> Result<(), ProcessError> {
    begun.write(process, ())?;
    // Dropped writers close the channel, so the PPE does not wait for a failed worker.
    drop(begun);
    let mut found = Foldings::default();
    while let Ok(task) = tasks.read(process) {
        let mut folding = Folding::of(chain, task);
        folding.each_of(chain.len(), &mut |folding| found.add(folding.contacts));
        let cycles = folding.beads_laid * CYCLES_PER_BEAD;
        process.place().compute(Cycles(cycles));
    }
    Ok(best.write(process, found)?)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Task {
    directions: Directions,
    beads: u64,
}

impl Item for Task {}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Foldings {
    /// The number of contacts of the best folding.
    contacts: u32,
    /// The number of foldings with this many contacts.
    best: u64,
    foldings: u64,
}

impl Item for Foldings {}

impl Foldings {
    fn add(&mut self, contacts: u32) {
        *self += Self {
            contacts,
            best: 1,
            foldings: 1,
        };
    }
}

impl AddAssign for Foldings {
    fn add_assign(&mut self, other: Self) {
        self.foldings += other.foldings;
        match other.contacts.cmp(&self.contacts) {
            Ordering::Less => {}
            Ordering::Equal => self.best += other.best,
            Ordering::Greater => {
                self.contacts = other.contacts;
                self.best = other.best;
            }
        }
    }
}

/// The directions from each bead to the next bead: two bits each, from the lowest bits up.
type Directions = u64;

const EAST: Directions = 0;
const NORTH: Directions = 1;
const WEST: Directions = 2;
const SOUTH: Directions = 3;

/// The width of the grid: on each side of the middle, 19 places for beads and a border place.
const WIDTH: usize = 2 * PROTOTEIN_BEADS_MAX + 1;

const MIDDLE: usize = WIDTH * WIDTH / 2;

fn beside(place: usize, direction: Directions) -> usize {
    match direction {
        EAST => place + 1,
        NORTH => place - WIDTH,
        WEST => place - 1,
        _ => place + WIDTH,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bead {
    None,
    Polar,
    Hydrophobic,
}

/// The first beads of a chain on the grid. The second bead is east of the first. The first bead off
/// the line through both is north of it, because rotations and reflections are one folding.
struct Folding<'a> {
    chain: &'a [bool],
    grid: [Bead; WIDTH * WIDTH],
    last: usize,
    beads: usize,
    directions: Directions,
    contacts: u32,
    /// The number of beads laid so far, including beads that were removed again.
    beads_laid: u64,
}

impl<'a> Folding<'a> {
    fn new(chain: &'a [bool]) -> Self {
        let mut folding = Self {
            chain,
            grid: [Bead::None; WIDTH * WIDTH],
            last: MIDDLE,
            beads: 0,
            directions: 0,
            contacts: 0,
            beads_laid: 0,
        };
        folding.lay(MIDDLE);
        folding.lay(beside(MIDDLE, EAST));
        folding
    }

    fn of(chain: &'a [bool], task: Task) -> Self {
        let mut folding = Self::new(chain);
        for step in 1..task.beads - 1 {
            folding.lay(beside(folding.last, task.directions >> (2 * step) & 3));
        }
        folding.directions = task.directions;
        folding
    }

    fn task(&self) -> Task {
        Task {
            directions: self.directions,
            beads: self.beads as u64,
        }
    }

    /// Lays the next bead on the grid. Returns the number of new contacts.
    fn lay(&mut self, place: usize) -> u32 {
        let is_hydrophobic = self.chain[self.beads];
        let mut contacts = 0;
        if is_hydrophobic && self.beads > 0 {
            let around = [EAST, NORTH, WEST, SOUTH].map(|direction| beside(place, direction));
            let all = around
                .iter()
                .filter(|at| self.grid[**at] == Bead::Hydrophobic);
            // The previous bead of the chain is beside this bead, but not in contact with it.
            contacts = all.count() as u32 - u32::from(self.chain[self.beads - 1]);
        }
        self.grid[place] = if is_hydrophobic {
            Bead::Hydrophobic
        } else {
            Bead::Polar
        };
        self.last = place;
        self.beads += 1;
        self.contacts += contacts;
        self.beads_laid += 1;
        contacts
    }

    /// Lays further beads in all directions, and calls `f` with each folding of `beads` beads.
    fn each_of(&mut self, beads: usize, f: &mut impl FnMut(&Self)) {
        if self.beads == beads {
            return f(self);
        }
        let (from, directions) = (self.last, self.directions);
        let is_straight = directions == 0;
        for direction in [EAST, NORTH, WEST, SOUTH] {
            let place = beside(from, direction);
            let is_reflection = is_straight && direction == SOUTH;
            if is_reflection || self.grid[place] != Bead::None {
                continue;
            }
            self.directions = directions | direction << (2 * (self.beads - 1));
            let contacts = self.lay(place);
            self.each_of(beads, f);
            self.contacts -= contacts;
            self.beads -= 1;
            self.grid[place] = Bead::None;
        }
        (self.last, self.directions) = (from, directions);
    }
}

/// Finds all foldings without a grid, by comparing each bead with all previous beads.
fn one_after_the_other(chain: &[bool]) -> Foldings {
    fn search(chain: &[bool], beads: &mut Vec<(i32, i32)>, contacts: u32, found: &mut Foldings) {
        if beads.len() == chain.len() {
            return found.add(contacts);
        }
        let (last, next) = (beads.len() - 1, beads.len());
        let (x, y) = beads[last];
        for (x, y) in [(x + 1, y), (x, y + 1), (x - 1, y), (x, y - 1)] {
            let (mut is_free, mut gained) = (true, 0);
            for (bead, at) in beads.iter().enumerate() {
                match (x - at.0).abs() + (y - at.1).abs() {
                    0 => is_free = false,
                    1 if bead < last && chain[bead] && chain[next] => gained += 1,
                    _ => {}
                }
            }
            let is_reflection = || y < 0 && beads.iter().all(|(_, y)| *y == 0);
            if is_free && !is_reflection() {
                beads.push((x, y));
                search(chain, beads, contacts + gained, found);
                beads.pop();
            }
        }
    }
    let mut found = Foldings::default();
    search(chain, &mut vec![(0, 0), (1, 0)], 0, &mut found);
    found
}

/// Returns what [`one_after_the_other`] finds. Keeps the last result, because a chain of 20 beads
/// takes seconds, and is mostly folded several times in a row.
fn expected(chain: &[bool]) -> Foldings {
    static LAST: Mutex<Option<(Vec<bool>, Foldings)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((of, found)) = &*last
        && of == chain
    {
        return *found;
    }
    let found = one_after_the_other(chain);
    *last = Some((chain.to_vec(), found));
    found
}

fn verify(found: Foldings, expected: Foldings) -> Result<(), ProgramError> {
    const BY: &str = "by a search without tasks";
    let what = |what: &'static str| move || format!("the number of {what}");
    agree(what("foldings"), found.foldings, expected.foldings, BY)?;
    agree(
        what("contacts of the best folding"),
        found.contacts,
        expected.contacts,
        BY,
    )?;
    agree(what("best foldings"), found.best, expected.best, BY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(beads: &str) -> Vec<bool> {
        beads.chars().map(|bead| bead == 'H').collect()
    }

    fn by_folding(chain: &[bool]) -> Foldings {
        let mut found = Foldings::default();
        let mut folding = Folding::new(chain);
        folding.each_of(chain.len(), &mut |folding| found.add(folding.contacts));
        found
    }

    #[test]
    fn foldings_are_as_many_as_self_avoiding_walks() {
        // The numbers of self-avoiding walks of n steps, OEIS A001411. A folding counts as 8 walks
        // (4 rotations and their reflections), but a straight folding as 4.
        for (steps, walks) in [(1, 4), (2, 12), (3, 36), (4, 100), (7, 2_172), (9, 16_268)] {
            let found = by_folding(&vec![true; steps + 1]);
            assert_eq!(found.foldings, u64::div_ceil(walks / 4, 2), "{steps} steps");
        }
    }

    #[test]
    fn best_foldings_are_those_known() {
        // The best foldings are a square for the first two chains, two squares side by side for the
        // fourth, and a square of 3 by 3 beads for the last. The third chain has no contact.
        for (beads, contacts) in [
            ("HPPH", 1),
            ("HHHH", 1),
            ("HPHP", 0),
            ("HHHHHH", 2),
            ("HHHHHHHHH", 4),
        ] {
            let chain = chain(beads);
            let found = by_folding(&chain);
            assert_eq!(found.contacts, contacts, "{beads}");
            assert_eq!(found, one_after_the_other(&chain), "{beads}");
        }
    }

    #[test]
    fn a_task_goes_on_where_its_folding_was() {
        let chain = chain("HPHPPHHPHH");
        let mut by_tasks = Foldings::default();
        Folding::new(&chain).each_of(5, &mut |folding| {
            let mut again = Folding::of(&chain, folding.task());
            assert_eq!(again.contacts, folding.contacts);
            again.each_of(chain.len(), &mut |folding| by_tasks.add(folding.contacts));
        });
        assert_eq!(by_tasks, by_folding(&chain));
    }

    #[test]
    fn what_is_expected_is_of_the_chain_that_was_asked_for() {
        for beads in ["HPPH", "HPHP", "HPHP", "HHHHHH", "HPPH"] {
            let chain = chain(beads);
            assert_eq!(expected(&chain), one_after_the_other(&chain), "{beads}");
        }
    }

    #[test]
    fn what_was_overlooked_is_named() {
        let expected = one_after_the_other(&chain("HPPHHP"));
        assert!(verify(expected, expected).is_ok());
        let found = Foldings {
            foldings: expected.foldings - 1,
            ..expected
        };
        let error = verify(found, expected).unwrap_err().to_string();
        assert!(
            error.starts_with(
                "the result is wrong: the number of foldings is 35, and 36 by a search without tasks;"
            ),
            "{error}"
        );
    }
}
