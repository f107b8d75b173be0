//! Robust tabu search. Each iteration makes the best exchange that is not forbidden.

use fastrand::Rng;
use multiversion::multiversion;

use super::run::SearchRun;
use super::state::{Outer, State};

/// The number of elements of `deltas` that one vector instruction compares.
const LANES: usize = 8;

/// Searches from an assignment for some iterations. Returns the best assignment and its cost.
///
/// The search is that of Taillard (Robust taboo search for the quadratic assignment problem,
/// Parallel Computing 17, 1991). An exchange is forbidden if both items return to slots that they
/// left in the last 0.9 n to 1.1 n iterations. An exchange that leads to the best assignment so far
/// is allowed.
pub(super) fn search(
    mut state: State<'_>,
    iterations: u64,
    random: &mut Rng,
    run: &mut SearchRun<'_>,
) -> (Vec<usize>, f64) {
    let (n, tasks) = (state.slots.n, state.slots.tasks);
    let mut best = (state.slot_of.clone(), state.cost);
    run.offer(state.cost, || state.slots.placement(&state.slot_of));
    let mut table = Table::new(&state);
    // For each item and slot, the iteration until which the item should not return to the slot.
    let mut until = vec![0; n * n];
    let shortest = (9 * n as u64 / 10).max(1);
    let longest = shortest + n as u64 / 5;
    for now in 1..=iterations {
        if !run.go_on() {
            break;
        }
        let enough = run.better_than(best.1) - state.cost;
        let allowed = |first: usize, second: usize, delta: f64| {
            let (here, there) = (state.slot_of[first], state.slot_of[second]);
            (until[first * n + there] < now || until[second * n + here] < now || delta < enough)
                && state.slots.places[here] != state.slots.places[there]
        };
        let (first, second) = match table.best(allowed) {
            Some(exchange) => exchange,
            // In small problems all exchanges may be forbidden, so a random exchange is made.
            None if n > 1 => {
                let first = random.usize(0..tasks);
                (first, (first + random.usize(1..n)) % n)
            }
            None => break,
        };
        for item in [first, second] {
            until[item * n + state.slot_of[item]] = now + random.u64(shortest..=longest);
        }
        state.exchange(first, second);
        table.update(&state, [first, second]);
        if state.cost < run.better_than(best.1) {
            best.0.clone_from(&state.slot_of);
            best.1 = state.cost;
            run.offer(state.cost, || state.slots.placement(&state.slot_of));
        }
    }
    best
}

struct Table {
    n: usize,
    tasks: usize,
    /// Row u has the changes of cost by the exchanges of u with u + 1, u + 2 and so on.
    deltas: Vec<f64>,
    /// A lower bound of the elements of each row.
    lowest: Vec<f64>,
    /// For the slot of each item, the element of [`Outer::slots`] of the last exchange.
    at_items: Vec<f64>,
}

impl Table {
    fn new(state: &State<'_>) -> Self {
        let (n, tasks) = (state.slots.n, state.slots.tasks);
        let mut deltas = vec![0.0; tasks * n];
        let mut lowest = vec![f64::INFINITY; tasks];
        for first in 0..tasks {
            for second in first + 1..n {
                let delta = state.delta(first, second);
                deltas[first * n + second] = delta;
                lowest[first] = delta.min(lowest[first]);
            }
        }
        Self {
            n,
            tasks,
            deltas,
            lowest,
            at_items: vec![0.0; n],
        }
    }

    /// Returns the allowed exchange with the lowest change of cost.
    fn best(&self, allowed: impl Fn(usize, usize, f64) -> bool) -> Option<(usize, usize)> {
        let mut best = None;
        let mut lowest = f64::INFINITY;
        for first in (0..self.tasks).filter(|first| self.n > first + 1) {
            if self.lowest[first] < lowest {
                let row = &self.deltas[first * self.n..][first + 1..self.n];
                for (second, delta) in row.iter().enumerate() {
                    if *delta < lowest && allowed(first, first + 1 + second, *delta) {
                        lowest = *delta;
                        best = Some((first, first + 1 + second));
                    }
                }
            }
        }
        best
    }

    /// Updates the table after an exchange that adds the outer product of vectors x and y to the
    /// potentials. For items u and v in slots s and t, adds `(x[v] - x[u]) (y[s] - y[t])` to their
    /// element of `deltas`. Computes elements of the items `exchanged` from the potentials.
    fn update(&mut self, state: &State<'_>, exchanged: [usize; 2]) {
        let (symmetric, skew) = (&state.change.symmetric, &state.change.skew);
        for Outer { items, slots } in std::iter::once(symmetric).chain(skew) {
            for (at_item, slot) in self.at_items.iter_mut().zip(&state.slot_of) {
                *at_item = slots[*slot];
            }
            add_differences(&mut self.deltas, &mut self.lowest, items, &self.at_items);
        }
        for item in exchanged {
            for other in (0..self.n).filter(|other| *other != item) {
                let (first, second) = (item.min(other), item.max(other));
                if first < self.tasks {
                    let delta = state.delta(first, second);
                    self.deltas[first * self.n + second] = delta;
                    self.lowest[first] = self.lowest[first].min(delta);
                }
            }
        }
    }
}

/// Adds `(x[v] - x[u]) (y[u] - y[v])` to each element v > u of each row u. Sets `lowest` of row u.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn add_differences(deltas: &mut [f64], lowest: &mut [f64], x: &[f64], y: &[f64]) {
    for (u, (row, lowest)) in deltas.chunks_exact_mut(x.len()).zip(lowest).enumerate() {
        let (row, x_of, y_of) = (&mut row[u + 1..], &x[u + 1..], &y[u + 1..]);
        let (x, y) = (x[u], y[u]);
        let mut lowest_of = [f64::INFINITY; LANES];
        let (deltas, rest) = row.as_chunks_mut::<LANES>();
        let ((x_of, x_rest), (y_of, y_rest)) =
            (x_of.as_chunks::<LANES>(), y_of.as_chunks::<LANES>());
        for ((deltas, x_of), y_of) in deltas.iter_mut().zip(x_of).zip(y_of) {
            for lane in 0..LANES {
                deltas[lane] += (x_of[lane] - x) * (y - y_of[lane]);
                lowest_of[lane] = if deltas[lane] < lowest_of[lane] {
                    deltas[lane]
                } else {
                    lowest_of[lane]
                };
            }
        }
        for ((delta, x_of), y_of) in rest.iter_mut().zip(x_rest).zip(y_rest) {
            *delta += (x_of - x) * (y - y_of);
            lowest_of[0] = delta.min(lowest_of[0]);
        }
        *lowest = lowest_of.into_iter().fold(f64::INFINITY, f64::min);
    }
}
