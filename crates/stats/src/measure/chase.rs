//! `chase` follows pointers in random order. The result shows the latency of a load that misses,
//! the sizes of the caches, and the maximum number of misses that one core has under way at once.
//! The paper does not have this function, because a local store has no misses.
//!
//! ```text
//!   table      ┌──────┬──────┬──────┬──────┬──────┬──────┐   nodes of 64 bytes, each refers
//!              │ next │      │      │      │      │      │   to the next node
//!              └──┬───┴──────┴───▲──┴──────┴──────┴──────┘
//!                 └──────────────┘  ...                      all in one cycle, in random order
//!
//!   1 chain    ●────►●────►●────►●                           one miss at a time
//!   3 chains   ●────►●────►●────►●                           three misses at a time: chains start at
//!              ●────►●────►●────►●                           equally distant places of the cycle,
//!              ●────►●────►●────►●                           and the SPE follows them in turn
//! ```
//!
//! No prefetcher can predict the random order. The table is one cycle, so every node is visited. An
//! operation is a visit to one node. On a computer with pages of 4 KB, the time includes misses of
//! the translation buffers.
//!
//! On a machine with local stores, the SPE begins to stage the next node of every chain before it
//! waits for the first of these nodes. On a machine without local stores, the SPE follows Rust
//! references, because staging takes 2 to 3 ns and a load from the first cache only 1 ns.
//!
//! Other SPEs can copy memory at the same time, to show the latency of a busy memory. Without local
//! stores, each loading SPE has private blocks that are larger than a cache. With local stores,
//! there is no cache that would keep the data, so all loading SPEs can read one source.

use std::cell::Cell;
use std::ops::ControlFlow;

use bytemuck::{Pod, Zeroable};
use cellworks_machine::mailbox::Outbound;
use cellworks_machine::memory::{LINE_BYTES, Region};
use cellworks_machine::mfc::{EffectiveAddress, LsAddr, RawCommand};
use cellworks_machine::{CellMachine, CellSpe, LocalBuffer, Mfc, SpeId};

use super::control_block::{ControlBlock, TAG, control_blocks};
use super::copy::Copier;
use super::crew::{Crew, READY, Work, WorkResult, work};
use super::outcome::Outcome;
use crate::error::{MeasureError, SpeError, Untrusted};
use crate::plan::Plan;
use crate::plan::chase::{ChaseTask, NODE_BYTES};
use crate::plan::copy::CopyTask;
use crate::program::join;
use crate::sample::TimedLoop;
use crate::shuffle::RandomOrder;

/// The number of nodes that an iteration visits in each chain. Compared with these visits, the
/// start and the end of an iteration take little time.
const STEPS: usize = 1_024;

/// A word in the inbound mailbox of a loading SPE: the program shall end.
const STOP: u32 = 1;

pub(super) fn measure<M: CellMachine>(
    machine: &M,
    plan: &Plan,
    task: &ChaseTask,
) -> Result<Outcome, MeasureError> {
    let Some(page_bytes) = plan.parameters().settings.page_bytes else {
        return Ok(measure_together(machine, &[(plan, task)])?.swap_remove(0));
    };
    let table = machine.allocate_in_pages(plan.module, task.table_bytes(), page_bytes)?;
    let outcome = in_region(machine, plan, task, &table)?;
    Ok(Outcome {
        huge_page_share: machine.huge_page_share(&table),
        ..outcome
    })
}

/// Measures as [`measure`] does, with a table in the region `table`.
pub(super) fn in_region<M: CellMachine>(
    machine: &M,
    plan: &Plan,
    task: &ChaseTask,
    table: &Region,
) -> Result<Outcome, MeasureError> {
    let starts = write_table(table, task);
    let outcomes = with_table(machine, &[(plan, task)], Some((table, &starts)));
    Ok(outcomes?.swap_remove(0))
}

/// Measures several plans in one run. Their tables share the memory of the largest table. All plans
/// must have the same SPE, and if there are several, no loading SPEs.
pub(super) fn measure_together<M: CellMachine>(
    machine: &M,
    plans: &[(&Plan, &ChaseTask)],
) -> Result<Vec<Outcome>, MeasureError> {
    with_table(machine, plans, None)
}

fn with_table<M: CellMachine>(
    machine: &M,
    plans: &[(&Plan, &ChaseTask)],
    table: Option<(&Region, &[usize])>,
) -> Result<Vec<Outcome>, MeasureError> {
    let (plan, first) = plans[0];
    let name = plan.function().name();
    let region = control_blocks(machine, plan.module, [ControlBlock::default()].into_iter())?;
    let is_shared = !first.in_one_view && !first.load.spes.is_empty();
    let source = is_shared.then(|| vec![1_u64; first.load.bytes / size_of::<u64>()]);
    let tasks: Vec<&ChaseTask> = plans.iter().map(|(_, task)| *task).collect();
    let mut results = machine.run(|ppe| {
        let load = |spe: &M::Spe| load(spe, &first.load, source.as_deref());
        let spawn = |spe: &SpeId| ppe.spawn_named(*spe, "load", load);
        let loaders: Vec<_> = first.load.spes.iter().map(spawn).collect();
        for spe in &first.load.spes {
            ppe.read_out_mbox(*spe, Outbound::Plain);
        }
        let (block, tasks) = (region.at(0), &tasks);
        let program = ppe.spawn_named(first.spes[0], name, move |spe| match table {
            None => chase(spe, block, tasks),
            Some((table, starts)) => {
                chase_in(spe, block, first, table, starts).map(|(loops, ())| vec![loops])
            }
        });
        let paces = plans.iter().map(|(plan, _)| &plan.pace);
        let results = Crew::measure_in_turn(ppe, paces, vec![program]);
        for spe in &first.load.spes {
            ppe.write_in_mbox(*spe, STOP);
        }
        let loaded: Vec<_> = loaders.into_iter().map(join).collect();
        loaded.into_iter().collect::<Result<(), _>>()?;
        results
    })??;
    let outcome = |(loops, task): (Vec<TimedLoop>, &&ChaseTask)| Outcome {
        loops: vec![loops],
        operations_per_iteration: STEPS * task.chains as usize,
        ..Outcome::default()
    };
    Ok(results
        .swap_remove(0)
        .into_iter()
        .zip(&tasks)
        .map(outcome)
        .collect())
}

/// Copies memory until the PPE tells the SPE to stop. All loading SPEs share `source`, if given.
fn load<S: CellSpe>(spe: &S, task: &CopyTask, source: Option<&[u64]>) -> Result<(), SpeError> {
    let go_on = || match spe.try_read_in_mbox() {
        Some(_) => ControlFlow::Break(()),
        None => {
            spe.yield_now();
            ControlFlow::Continue(())
        }
    };
    match source {
        None => {
            let mut copier = Copier::new(task, 0);
            spe.write_out_mbox(Outbound::Plain, READY);
            while copier.copy(spe, go_on)?.is_continue() {}
        }
        Some(source) => {
            let mut tile = vec![0; task.tile_bytes / size_of::<u64>()];
            spe.write_out_mbox(Outbound::Plain, READY);
            while copy_to_tile(spe, source, &mut tile, go_on)?.is_continue() {}
        }
    }
    Ok(())
}

/// Copies each tile of `source` to `tile`, until `go_on` returns a break.
fn copy_to_tile<S: CellSpe>(
    spe: &S,
    source: &[u64],
    tile: &mut [u64],
    go_on: impl Fn() -> ControlFlow<()>,
) -> Result<ControlFlow<()>, SpeError> {
    let mut tiles = spe.stream(source, tile.len());
    while let Some(next) = tiles.next()? {
        let mut out = spe.stage_out(&mut *tile)?;
        out.copy_from_slice(next);
        out.commit();
        if go_on().is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Follows pointers in tables that the SPE allocates in the memory near the SPE. The tables of all
/// tasks begin at the same address, and successive tasks with tables of one size share the table.
/// Returns the loops of each task.
fn chase<S: CellSpe>(
    spe: &S,
    control_block: EffectiveAddress,
    tasks: &[&ChaseTask],
) -> Result<Vec<Vec<TimedLoop>>, SpeError> {
    let mut all = Vec::with_capacity(tasks.len());
    if !tasks[0].in_one_view {
        let mut order = RandomOrder::new();
        for task in tasks {
            let order = order.of(task.nodes);
            let walker = Staging::new(order, Chains::new(order.len(), task.chains));
            let (loops, ()) = work(spe, control_block, |_, _| Ok(walker))?;
            all.push(loops);
        }
        return Ok(all);
    }
    let nodes = tasks
        .iter()
        .map(|task| task.nodes as usize)
        .max()
        .unwrap_or(0);
    let mut room = Vec::new();
    if room.try_reserve_exact(nodes).is_err() {
        let bytes = nodes * NODE_BYTES;
        let refused = |_: &S, _| Err::<Linked<'_>, _>(SpeError::NoMemory { bytes });
        work(spe, control_block, refused)?;
    }
    room.extend((0..nodes).map(|_| Link::default()));
    let (mut order, mut linked) = (RandomOrder::new(), 0);
    for task in tasks {
        let (table, order) = (&room[..task.nodes as usize], order.of(task.nodes));
        if linked != task.nodes {
            link(table, order);
            linked = task.nodes;
        }
        let chains = Chains::new(table.len(), task.chains);
        let starts = chains
            .starts
            .iter()
            .map(|start| &table[order[*start] as usize]);
        let walker = Linked {
            positions: starts.collect(),
            chains,
        };
        let (loops, ()) = work(spe, control_block, |_, _| Ok(walker))?;
        all.push(loops);
    }
    Ok(all)
}

/// Follows pointers through a table in a region. The chains begin at the nodes `starts`.
fn chase_in<S: CellSpe>(
    spe: &S,
    control_block: EffectiveAddress,
    task: &ChaseTask,
    table: &Region,
    starts: &[usize],
) -> WorkResult<()> {
    let chains = Chains::new(task.nodes as usize, task.chains);
    work(spe, control_block, |spe, _| {
        let arriving = if task.in_one_view {
            None
        } else {
            Some(spe.local_store().reserve(
                NODE_BYTES * starts.len(),
                LINE_BYTES as u32,
                "the nodes that arrive",
            )?)
        };
        Ok(InRegion {
            table: table.clone(),
            arriving,
            positions: starts.to_vec(),
            chains,
        })
    })
}

/// Writes a table that is one cycle to a region, and returns the nodes at which the chains begin.
fn write_table(table: &Region, task: &ChaseTask) -> Vec<usize> {
    const CHUNK: usize = 1_024;
    let mut order = RandomOrder::new();
    let order = order.of(task.nodes);
    let mut nodes = vec![[0_u32; 2]; order.len()];
    for ((node, next), place) in steps(order).zip(0..) {
        nodes[node as usize] = [next, place];
    }
    for (chunk, nodes) in nodes.chunks(CHUNK).enumerate() {
        let mut bytes = vec![0_u8; nodes.len() * NODE_BYTES];
        for (node, into) in nodes.iter().zip(bytes.chunks_exact_mut(NODE_BYTES)) {
            into[..size_of_val(node)].copy_from_slice(bytemuck::bytes_of(node));
        }
        table.write(chunk * CHUNK * NODE_BYTES, &bytes);
    }
    let chains = Chains::new(order.len(), task.chains);
    chains
        .starts
        .iter()
        .map(|start| order[*start] as usize)
        .collect()
}

/// The starts and the progress of the chains. A place is the position of a node in the cycle.
struct Chains {
    nodes: usize,
    starts: Vec<usize>,
    steps: usize,
}

impl Chains {
    fn new(nodes: usize, chains: u32) -> Self {
        let chains = chains as usize;
        Self {
            nodes,
            starts: (0..chains).map(|chain| chain * nodes / chains).collect(),
            steps: 0,
        }
    }

    /// Verifies that each chain has moved by `steps` nodes from its start to its place in `places`.
    fn verify(&self, places: impl Iterator<Item = usize>) -> Result<(), Untrusted> {
        let Self { nodes, steps, .. } = self;
        for (start, found) in self.starts.iter().zip(places) {
            let place = (start + steps % nodes) % nodes;
            if found != place {
                return Err(Untrusted::new(format!(
                    "a chain that began at place {start} of {nodes} is at place {found} after \
                     {steps} steps, which lead to place {place}"
                )));
            }
        }
        Ok(())
    }
}

/// Returns each node with the next node, in the order of the cycle.
fn steps(order: &[u32]) -> impl Iterator<Item = (u32, u32)> {
    let nexts = order.iter().cycle().skip(1);
    order.iter().copied().zip(nexts.copied())
}

/// A node of a table that is read by references. The table has no indices, because the arithmetic
/// for an index takes a fourth of the time of a load from the first cache.
#[repr(align(64))]
#[derive(Default)]
struct Link<'t> {
    next: Cell<Option<&'t Link<'t>>>,
    /// The number of nodes before this node in the cycle.
    place: Cell<usize>,
}

const _: () = assert!(size_of::<Link>() == NODE_BYTES);

impl<'t> Link<'t> {
    #[inline]
    fn next(&self) -> &'t Link<'t> {
        self.next.get().expect("the table is one cycle")
    }
}

/// Links the nodes of the table into one cycle. Inlined, because the crate that calls it is
/// optimised more than this crate.
#[inline]
fn link<'t>(table: &'t [Link<'t>], order: &[u32]) {
    for ((node, next), place) in steps(order).zip(0..) {
        let node = &table[node as usize];
        node.next.set(Some(&table[next as usize]));
        node.place.set(place);
    }
}

struct Linked<'t> {
    positions: Vec<&'t Link<'t>>,
    chains: Chains,
}

impl Linked<'_> {
    fn walk(&mut self) {
        if let [only] = &mut *self.positions {
            // The position is in a register, because storing each position would take longer than a
            // load from the first cache.
            let mut position = *only;
            for _ in 0..STEPS {
                position = position.next();
            }
            *only = position;
        } else {
            for _ in 0..STEPS {
                for position in &mut self.positions {
                    *position = position.next();
                }
            }
        }
        self.chains.steps += STEPS;
    }

    fn verify(&self) -> Result<(), Untrusted> {
        self.chains
            .verify(self.positions.iter().map(|node| node.place.get()))
    }
}

impl<S: CellSpe> Work<S> for Linked<'_> {
    type Left = ();

    fn operate(&mut self, _: &S) -> Result<(), SpeError> {
        self.walk();
        Ok(())
    }

    fn finish(self, _: &S) -> Result<(), SpeError> {
        Ok(self.verify()?)
    }
}

/// A node of a table that is read by staging.
#[repr(C, align(64))]
#[derive(Clone, Copy, Pod, Zeroable)]
struct TableNode {
    next: u64,
    place: u64,
    rest: [u64; 6],
}

const _: () = assert!(size_of::<TableNode>() == NODE_BYTES);

struct Staging {
    table: Vec<TableNode>,
    positions: Vec<usize>,
    chains: Chains,
}

impl Staging {
    fn new(order: &[u32], chains: Chains) -> Self {
        let mut table = vec![TableNode::zeroed(); order.len()];
        for ((node, next), place) in steps(order).zip(0..) {
            let node = &mut table[node as usize];
            node.next = u64::from(next);
            node.place = place;
        }
        let starts = chains.starts.iter().map(|start| order[*start] as usize);
        Self {
            table,
            positions: starts.collect(),
            chains,
        }
    }
}

impl<S: CellSpe> Work<S> for Staging {
    type Left = ();

    fn operate(&mut self, spe: &S) -> Result<(), SpeError> {
        let mut arriving = Vec::with_capacity(self.positions.len());
        for _ in 0..STEPS {
            for position in &self.positions {
                arriving.push(spe.stage_ahead(&self.table[*position..=*position])?);
            }
            for (position, node) in self.positions.iter_mut().zip(arriving.drain(..)) {
                *position = node.wait()[0].next as usize;
            }
        }
        self.chains.steps += STEPS;
        Ok(())
    }

    fn finish(self, _: &S) -> Result<(), SpeError> {
        let places = self
            .positions
            .iter()
            .map(|at| self.table[*at].place as usize);
        Ok(self.chains.verify(places)?)
    }
}

/// A walk through a table in a region, in which a node has the index of the next node. The SPE gets
/// nodes by DMA if there is an `arriving` buffer, and otherwise loads nodes from memory.
struct InRegion {
    table: Region,
    /// The buffer in the local store for one node of each chain.
    arriving: Option<LocalBuffer>,
    positions: Vec<usize>,
    chains: Chains,
}

impl InRegion {
    fn next(&self, node: usize) -> usize {
        self.table.load_u32(node * NODE_BYTES) as usize
    }

    fn load(&mut self) {
        if let [only] = *self.positions {
            // The position is in a register, as in `Linked::walk`.
            self.positions[0] = (0..STEPS).fold(only, |node, _| self.next(node));
        } else {
            for _ in 0..STEPS {
                for chain in 0..self.positions.len() {
                    self.positions[chain] = self.next(self.positions[chain]);
                }
            }
        }
    }

    fn get<S: CellSpe>(&mut self, spe: &S, arriving: LsAddr) -> Result<(), SpeError> {
        for _ in 0..STEPS {
            let place = |chain: usize| LsAddr(arriving.0 + (chain * NODE_BYTES) as u32);
            for (chain, node) in self.positions.iter().enumerate() {
                let from = self.table.at(node * NODE_BYTES);
                let command = RawCommand::get(place(chain), from, NODE_BYTES as u32, TAG);
                spe.mfc().issue(command)?;
            }
            spe.mfc().wait_all(TAG.mask());
            for (chain, node) in self.positions.iter_mut().enumerate() {
                let mut next = 0_u32;
                let into = bytemuck::bytes_of_mut(&mut next);
                spe.local_store().read(place(chain), into);
                *node = next as usize;
            }
        }
        Ok(())
    }
}

impl<S: CellSpe> Work<S> for InRegion {
    type Left = ();

    fn operate(&mut self, spe: &S) -> Result<(), SpeError> {
        match self.arriving.as_ref().map(LocalBuffer::address) {
            None => self.load(),
            Some(arriving) => self.get(spe, arriving)?,
        }
        self.chains.steps += STEPS;
        Ok(())
    }

    fn finish(self, _: &S) -> Result<(), SpeError> {
        let place = |node: &usize| self.table.load_u32(node * NODE_BYTES + size_of::<u32>());
        let places = self.positions.iter().map(|node| place(node) as usize);
        Ok(self.chains.verify(places)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_start_equally_far_apart() {
        assert_eq!(Chains::new(12, 4).starts, [0, 3, 6, 9]);
        assert_eq!(Chains::new(64, 64).starts, (0..64).collect::<Vec<_>>());
    }

    #[test]
    fn walking_leads_along_one_cycle() {
        for (nodes, chains) in [(1, 1), (5, 1), (5, 2), (64, 7), (3_000, 64)] {
            let mut order = RandomOrder::new();
            let order = order.of(nodes as u32);
            let table: Vec<_> = order.iter().map(|_| Link::default()).collect();
            let chains = Chains::new(nodes, chains);
            link(&table, order);
            let starts = chains
                .starts
                .iter()
                .map(|start| &table[order[*start] as usize]);
            let positions: Vec<_> = starts.collect();
            let cycle: Vec<_> = std::iter::successors(Some(positions[0]), |node| Some(node.next()))
                .take(nodes + 1)
                .map(|node| node.place.get())
                .collect();
            assert!(cycle.into_iter().eq((0..nodes).chain([0])), "{nodes}");
            let mut walker = Linked { positions, chains };
            walker.walk();
            assert_eq!(walker.verify(), Ok(()), "{nodes}");
        }
    }

    #[test]
    fn a_chain_at_a_wrong_place_is_an_error() {
        let mut chains = Chains::new(8, 1);
        chains.steps = 19;
        assert_eq!(chains.verify([3].into_iter()), Ok(()));
        assert_eq!(
            chains.verify([0].into_iter()).unwrap_err().to_string(),
            "the measurement cannot be trusted: a chain that began at place 0 of 8 is at place 0 \
             after 19 steps, which lead to place 3; the machine is at fault, please report it"
        );
    }
}
