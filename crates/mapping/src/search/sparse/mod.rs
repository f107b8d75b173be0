//! Search on a machine of levels, in memory for each pair of tasks that communicate.

mod assign;
mod local;
mod partition;

use fastrand::Rng;

use super::run::SearchRun;
use crate::sparse::Sparse;
use assign::{Assign, Divide};

/// The numbers of divisions of which each bisection takes the best, for one start after the other.
const TRIES: [usize; 3] = [1, 4, 16];

/// Smaller problems have more starts: as many as make this number of items, but not more than the
/// limit.
const ITEMS: usize = 65_536;
const STARTS_MAX: usize = 8;

/// Divides tasks and places again and again, and improves the best result by local search until the
/// run ends. The points of a grid are first divided by planes, which is best for most stencils.
pub(super) fn search(sparse: &Sparse, random: &mut Rng, run: &mut SearchRun<'_>) {
    if sparse.distances.are_opposite() {
        // Tasks that communicate have to be far from each other, and mostly are by chance.
        let mut slots: Vec<u32> = (0..sparse.slots as u32).collect();
        random.shuffle(&mut slots);
        slots.truncate(sparse.items);
        let slot_of = sparse.with_fixed(slots);
        let cost = sparse.cost(&slot_of);
        run.offer(cost, || sparse.placement(&slot_of));
        return local::search(sparse, slot_of, cost, random, run);
    }
    let more = (ITEMS / sparse.items.max(1)).min(STARTS_MAX);
    let again = std::iter::repeat_n(TRIES[TRIES.len() - 1], more);
    let assign = Assign::new(sparse);
    let by_planes = assign.grid().map(Divide::ByPlanes);
    let divisions = TRIES.into_iter().chain(again).map(Divide::Best);
    let mut best: Option<(Vec<u32>, f64)> = None;
    for how in by_planes.into_iter().chain(divisions) {
        let mut go_on = || {
            run.look();
            best.is_none() || !run.stopped()
        };
        let Some(slot_of) = assign.run(&how, random, &mut go_on) else {
            break;
        };
        let slot_of = sparse.with_fixed(slot_of);
        let cost = sparse.cost(&slot_of);
        run.offer(cost, || sparse.placement(&slot_of));
        if best.as_ref().is_none_or(|(_, best)| cost < *best) {
            best = Some((slot_of, cost));
        }
    }
    let (slot_of, cost) = best.expect("there is a first start");
    local::search(sparse, slot_of, cost, random, run);
}
