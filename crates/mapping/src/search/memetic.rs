//! Memetic search: tabu search improves the offspring of a population of good assignments.

// Rejected: tabu search of one placement until the limit. Memetic search reaches the best known
// costs in less time: 1/18 of the time for sko42, 1/45 for tai30b (`docs/performance.md`).
// Rejected: tabu searches twice as long in each population as in the one before. The cost of tai50b
// after 10 s was 0.1 % too high with two of three seeds.

use fastrand::Rng;

use super::bisection;
use super::run::SearchRun;
use super::state::State;
use super::tabu;
use crate::slots::Slots;

/// The number of assignments of a population. With 15, sko64 and tai50b of QAPLIB take longer.
const POPULATION: usize = 8;

/// The number of offspring without a new best assignment, after which a population is replaced.
const OFFSPRING_WITHOUT_GAIN: u32 = 30;

/// The shortest tabu searches have this number of iterations for each item of the problem.
const SHORTEST: u64 = 5;

/// Searches until the run ends, like Benlic and Hao (Memetic search for the quadratic assignment
/// problem, Expert Systems with Applications 42, 2015). An offspring inherits the slots that items
/// have in both parents, and a tabu search improves the offspring. The first population has one
/// assignment by bisection. All other members of populations start from random assignments.
///
/// A population without gain is replaced. The tabu searches of population r (from 1) have the
/// shortest number of iterations times the largest power of two that divides r. Short searches find
/// more if good assignments have much in common, and long searches find more in random problems.
pub(super) fn search(slots: &Slots, random: &mut Rng, run: &mut SearchRun<'_>) {
    let mut first = Some(bisection::assign(slots, random));
    for round in 1_u64.. {
        if run.stopped() {
            break;
        }
        let iterations = (SHORTEST * slots.n as u64) << round.trailing_zeros();
        let mut population: Vec<(Vec<usize>, f64)> = Vec::with_capacity(POPULATION);
        while population.len() < POPULATION && !run.stopped() {
            let slot_of = first.take().unwrap_or_else(|| {
                let mut slot_of: Vec<usize> = (0..slots.n).collect();
                random.shuffle(&mut slot_of);
                slot_of
            });
            population.push(tabu::search(
                State::new(slots, slot_of),
                iterations,
                random,
                run,
            ));
        }
        let mut without_gain = 0;
        while without_gain < OFFSPRING_WITHOUT_GAIN && !run.stopped() {
            without_gain += 1;
            let one = random.usize(0..POPULATION);
            let other = (one + random.usize(1..POPULATION)) % POPULATION;
            let child = offspring(&population[one].0, &population[other].0, random);
            let found = tabu::search(State::new(slots, child), iterations, random, run);
            population.sort_by(|(_, cost), (_, other)| cost.total_cmp(other));
            let (best, worst) = (population[0].1, population[POPULATION - 1].1);
            if found.1 < worst && population.iter().all(|(slot_of, _)| *slot_of != found.0) {
                if found.1 < run.better_than(best) {
                    without_gain = 0;
                }
                population[POPULATION - 1] = found;
            }
        }
    }
}

/// Returns an assignment with the common slots of two parents. Each other item has its slot in a
/// random parent, or else its slot in the other parent, or else any free slot.
fn offspring(one: &[usize], other: &[usize], random: &mut Rng) -> Vec<usize> {
    let n = one.len();
    let mut child = vec![None; n];
    let mut free = vec![true; n];
    let mut order: Vec<usize> = (0..n).collect();
    random.shuffle(&mut order);
    // The sort is stable. Items with the same slot in both parents come first.
    order.sort_by_key(|item| one[*item] != other[*item]);
    for item in &order {
        let mut parents = [one[*item], other[*item]];
        if random.bool() {
            parents.reverse();
        }
        child[*item] = parents
            .into_iter()
            .find(|slot| std::mem::take(&mut free[*slot]));
    }
    let mut left_over: Vec<usize> = (0..n).filter(|slot| free[*slot]).collect();
    random.shuffle(&mut left_over);
    let rest = |slot: Option<usize>| {
        slot.or_else(|| left_over.pop())
            .expect("as many slots are left over as items")
    };
    child.into_iter().map(rest).collect()
}
