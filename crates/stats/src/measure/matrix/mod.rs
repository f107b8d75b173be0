//! The one-way time from every SPE to every other SPE, as a matrix.
//!
//! ```text
//!   PPE                                    SPE a                      SPE b
//!   spawns one program on each SPE ──────► READY                      READY
//!   the next pair: ── answer a ─────────────────────────────────────► waits
//!                  ── exchange with b ───► exchanges ◄──────────────► answers
//!                 ◄── READY ────────────── keeps the median           READY
//!   ... END ─────────────────────────────► returns its medians        returns its medians
//! ```
//!
//! All pairs are measured in one run, because starting OS threads for each pair would take longer
//! than measuring the pair. The SPEs that are not in the pair wait for a word.
//!
//! | primitive | timed operation | one-way time |
//! |---|---|---|
//! | mailbox, signal | a word there and back | half of the operation |
//! | atomic | a variable changed by one SPE, then by the other | half of the operation |
//! | copy | a DMA get of a block that the sender has just written | the whole operation |

mod blocks;
mod command;
mod rounds;
mod server;
mod sides;
mod variable;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use cellworks_machine::memory::{LINE_BYTES, Region};
use cellworks_machine::mfc::EffectiveAddress;
use cellworks_machine::{CellMachine, Distance, ModuleId, Ppe, Span, SpeId, Topology};

use super::crew::Crew;
use crate::error::MeasureError;
use crate::plan::pairs::{Carrier, HAND_OVER, PAIR_SPAN_MIN, PairsTask, divided};
use crate::program::Stopped;
use crate::report::{Choice, Home, Matrix, MatrixClass};
use command::{Command, Role};
use server::{Served, serve};
use sides::LINES;

/// Measures the pairs of a task. After each pair, calls `progress` with the number of measured
/// pairs and the number of all pairs. If `progress` returns a break, the matrix has only the
/// measured pairs. A pair has no time if the clock is too coarse for its exchanges or copies.
pub(super) fn measure<M: CellMachine>(
    machine: &M,
    task: &PairsTask,
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Matrix, MeasureError> {
    let topology = machine.topology();
    assert_eq!(
        topology.spes().len(),
        task.spes,
        "the plan is for another machine than {}",
        topology.name()
    );
    let variables = Variables::allocate(machine, task)?;
    let served = served(machine, task, &variables, progress)?;
    Ok(matrix(machine, task, &variables, &served))
}

/// Measures the first pair of a task in one direction. Returns `None` if the transfers of the pair
/// are shorter than the steps of the clock.
pub(super) fn one_way<M: CellMachine>(
    machine: &M,
    task: &PairsTask,
) -> Result<Option<Span>, MeasureError> {
    let variables = Variables::allocate(machine, task)?;
    let served = served(
        machine,
        task,
        &variables,
        &mut |_, _| ControlFlow::Break(()),
    )?;
    Ok(served.one_way.first().map(|(_, _, span)| *span))
}

fn served<M: CellMachine>(
    machine: &M,
    task: &PairsTask,
    variables: &Variables,
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Served, MeasureError> {
    let served = machine.run(|ppe| {
        let mut crew = gather(ppe, task);
        // If an SPE stopped the crew, `dismiss` returns its error.
        let _ = conduct(&mut crew, task, machine.topology(), variables, progress);
        crew.dismiss()
    })??;
    Ok(Served::of_all(served))
}

fn gather<'scope, 'env, M: CellMachine>(
    ppe: &'scope Ppe<'scope, 'env, M>,
    task: &PairsTask,
) -> Crew<'scope, 'env, M, Served> {
    let taken: BTreeSet<_> = task.pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
    let carrier = task.carrier;
    let programs = taken
        .into_iter()
        .map(|spe| ppe.spawn_named(spe, carrier.name(), move |spe| serve(spe, carrier)))
        .collect();
    Crew::gather(ppe, programs)
}

fn conduct<M: CellMachine>(
    crew: &mut Crew<'_, '_, M, Served>,
    task: &PairsTask,
    topology: &Topology,
    variables: &Variables,
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<(), Stopped> {
    let pairs = &task.pairs;
    let start = crew.ppe.now();
    for (done, &(a, b)) in pairs.iter().enumerate() {
        // If earlier pairs took longer than planned, later pairs get less time.
        let span = if task.steady {
            task.pair_span
        } else {
            let left = task.estimated_time() - crew.ppe.now().since(start);
            let span = divided(left, pairs.len() - done) - HAND_OVER;
            span.clamp(PAIR_SPAN_MIN, task.pair_span)
        };
        let directions = task.directions(topology, a, b);
        let each = divided(span, directions.len());
        for &(from, to) in &directions {
            let variable = match task.home(topology, from) {
                Some(home) => variables.reset(home),
                None => EffectiveAddress(0),
            };
            measure_way(crew, task.carrier.timer(from, to), variable, each)?;
        }
        if progress(done + 1, pairs.len()).is_break() {
            break;
        }
    }
    Ok(())
}

/// Measures for `span` the one-way time between two SPEs. The first SPE takes the time. If there is
/// a variable, its value must be 0.
fn measure_way<M: CellMachine>(
    crew: &mut Crew<'_, '_, M, Served>,
    (timer, other): (SpeId, SpeId),
    variable: EffectiveAddress,
    span: Span,
) -> Result<(), Stopped> {
    crew.check()?;
    // The answering SPE must have its command before the first word of an exchange.
    for (spe, partner, role) in [(other, timer, Role::Answer), (timer, other, Role::Time)] {
        let command = Command {
            role,
            partner,
            variable,
            span,
        };
        for word in command.words() {
            crew.ppe.write_in_mbox(spe, word);
        }
    }
    crew.await_report(timer);
    crew.await_report(other);
    crew.check()
}

/// The atomic variables of a matrix, one variable in each memory module that the pairs use.
struct Variables(BTreeMap<ModuleId, Region>);

impl Variables {
    fn allocate<M: CellMachine>(machine: &M, task: &PairsTask) -> Result<Self, MeasureError> {
        let topology = machine.topology();
        let spes = task.pairs.iter().flat_map(|&(a, b)| [a, b]);
        let homes: BTreeSet<_> = spes.filter_map(|spe| task.home(topology, spe)).collect();
        let allocate = |home| Ok((home, machine.allocate(home, LINES * LINE_BYTES)?));
        let regions = homes.into_iter().map(allocate);
        Ok(Self(regions.collect::<Result<_, MeasureError>>()?))
    }

    /// Sets all lines of the variable in `home` to 0, and returns the address of the first line.
    fn reset(&self, home: ModuleId) -> EffectiveAddress {
        let region = &self.0[&home];
        for line in 0..LINES {
            region.write(line * LINE_BYTES, &0_u32.to_ne_bytes());
        }
        region.at(0)
    }
}

fn matrix<M: CellMachine>(
    machine: &M,
    task: &PairsTask,
    variables: &Variables,
    served: &Served,
) -> Matrix {
    let topology = machine.topology();
    let mut one_way_ns = vec![vec![None; task.spes]; task.spes];
    for &(timer, other, span) in &served.one_way {
        let (from, to) = task.carrier.timer(timer, other);
        one_way_ns[from.index()][to.index()] = Some(span.as_nanoseconds_f64());
        if task.directions(topology, from, to).len() == 1 {
            one_way_ns[to.index()][from.index()] = Some(span.as_nanoseconds_f64());
        }
    }
    // A pair has no time if the measurement was interrupted, or if the clock is coarse.
    let measured = |a: SpeId, b: SpeId| {
        let there = one_way_ns[a.index()][b.index()]?;
        Some([there, one_way_ns[b.index()][a.index()]?])
    };
    let mut times: BTreeMap<Distance, Vec<f64>> = BTreeMap::new();
    let mut pairs_measured = 0;
    for &(a, b) in &task.pairs {
        if let Some(both) = measured(a, b) {
            times
                .entry(topology.distance(a, b))
                .or_default()
                .extend(both);
            pairs_measured += 1;
        }
    }
    let class = |(&distance, &pairs): (&Distance, &usize)| {
        let mut times = times.remove(&distance).unwrap_or_default();
        times.sort_unstable_by(f64::total_cmp);
        MatrixClass {
            name: topology.name_of(distance).to_owned(),
            pairs,
            pairs_measured: times.len() / 2,
            min_ns: times.first().copied(),
            p50_ns: times.get(times.len().saturating_sub(1) / 2).copied(),
            max_ns: times.last().copied(),
        }
    };
    let pairs = task.classes.values().sum();
    Matrix {
        primitive: task.carrier.primitive(),
        polling: task.carrier.polling(),
        block_bytes: task.carrier.block_bytes(),
        pairs,
        pairs_measured,
        choice: Choice::of(&one_way_ns, pairs_measured == pairs),
        classes: task.classes.iter().map(class).collect(),
        home: home(machine, task, variables, served),
        doubts: Vec::new(),
        one_way_ns,
    }
}

/// Returns the planned module of variables or blocks, and whether the machine confirms the place.
fn home<M: CellMachine>(
    machine: &M,
    task: &PairsTask,
    variables: &Variables,
    served: &Served,
) -> Option<Home> {
    let topology = machine.topology();
    let placed: Vec<(ModuleId, EffectiveAddress)> = match task.carrier {
        Carrier::Mailbox | Carrier::Signal => return None,
        Carrier::Atomic(_) => {
            let regions = variables.0.iter();
            regions
                .map(|(&module, region)| (module, region.at(0)))
                .collect()
        }
        Carrier::Copy { .. } => {
            let blocks = served.blocks.iter();
            blocks
                .map(|&(spe, block)| (topology.module_of(spe), block))
                .collect()
        }
    };
    let first = placed.first()?.0;
    let found: Option<Vec<bool>> = placed
        .iter()
        .map(|&(module, ea)| machine.home_of(ea).map(|home| home == module))
        .collect();
    Some(Home {
        module: placed
            .iter()
            .all(|&(module, _)| module == first)
            .then_some(first.index()),
        verified: found.map(|found| found.into_iter().all(|there| there)),
    })
}
