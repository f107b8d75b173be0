//! Local search for large problems, where evaluating all exchanges in each iteration is too slow.

use std::collections::VecDeque;

use fastrand::Rng;

use super::bisection;
use super::run::SearchRun;
use super::state::State;
use crate::slots::Slots;

/// The number of bisections. Local search starts from the best result.
const STARTS: usize = 16;

/// The largest number of random exchanges that disturb a local optimum.
const KICKS_MAX: usize = 4;

/// A random exchange moves an item to one of this number of slots close to a communicating item.
const CLOSE: usize = 16;

/// Improves the best assignment of several bisections until the run ends, by iterated local search
/// (H.R. Lourenço, O.C. Martin and T. Stützle, Handbook of Metaheuristics, 2003). When no exchange
/// is a gain, the search moves a few items close to items with which they communicate, and improves
/// the assignment again. If the cost is then higher, the search undoes all of this.
pub(super) fn search(slots: &Slots, random: &mut Rng, run: &mut SearchRun<'_>) {
    let (first, _) = (0..STARTS)
        .map_while(|start| {
            (start == 0 || !run.stopped()).then(|| {
                let slot_of = bisection::assign(slots, random);
                let cost = slots.cost(&slot_of);
                run.offer(cost, || slots.placement(&slot_of));
                run.look();
                (slot_of, cost)
            })
        })
        .min_by(|(_, cost), (_, other)| cost.total_cmp(other))
        .expect("there is a first start");
    let neighbours = slots.neighbours();
    let (state, exchanged) = (State::new(slots, first), Vec::new());
    let mut local = Local {
        state,
        neighbours: &neighbours,
        exchanged,
        run,
    };
    local.descend((0..slots.tasks).collect());
    let communicates = |item: &usize| !neighbours[*item].is_empty();
    let talking: Vec<usize> = (0..slots.tasks).filter(communicates).collect();
    let close: Vec<Vec<usize>> = (0..slots.n).map(|slot| closest(slots, slot)).collect();
    while !local.run.stopped() && !talking.is_empty() {
        let before = local.state.cost;
        local.exchanged.clear();
        let mut disturbed = VecDeque::new();
        for _ in 0..random.usize(1..=KICKS_MAX) {
            let item = talking[random.usize(0..talking.len())];
            let (neighbour, _) = neighbours[item][random.usize(0..neighbours[item].len())];
            let close = &close[local.state.slot_of[neighbour]];
            let other = local.state.item_at[close[random.usize(0..close.len())]];
            if other != item {
                local.exchange(item, other, &mut disturbed);
            }
        }
        local.descend(disturbed);
        if local.state.cost > before {
            local.take_back();
        }
    }
}

fn closest(slots: &Slots, slot: usize) -> Vec<usize> {
    let costs = &slots.costs[slot * slots.n..(slot + 1) * slots.n];
    let mut others: Vec<usize> = (0..slots.n).filter(|other| *other != slot).collect();
    others.sort_by(|a, b| costs[*a].total_cmp(&costs[*b]));
    others.truncate(CLOSE);
    others
}

struct Local<'a, 'b> {
    state: State<'a>,
    neighbours: &'a [Vec<(usize, f64)>],
    exchanged: Vec<(usize, usize)>,
    run: &'a mut SearchRun<'b>,
}

impl Local<'_, '_> {
    fn exchange(&mut self, first: usize, second: usize, disturbed: &mut VecDeque<usize>) {
        if self.run.go_on() {
            self.state.exchange(first, second);
            self.exchanged.push((first, second));
            for item in [first, second] {
                disturbed.push_back(item);
                disturbed.extend(self.neighbours[item].iter().map(|(other, _)| *other));
            }
        }
    }

    /// Makes the best exchange of each item in `disturbed`, if the exchange is a gain.
    fn descend(&mut self, mut disturbed: VecDeque<usize>) {
        while let Some(item) = disturbed.pop_front().filter(|_| !self.run.stopped()) {
            let others = (0..self.state.slots.n).filter(|other| *other != item);
            let best = others
                .map(|other| (other, self.state.delta(item, other)))
                .min_by(|(_, delta), (_, other)| delta.total_cmp(other));
            if let Some((other, delta)) = best {
                let cost = self.state.cost;
                if cost + delta < self.run.better_than(cost) {
                    self.exchange(item, other, &mut disturbed);
                }
            }
        }
        let state = &self.state;
        self.run
            .offer(state.cost, || state.slots.placement(&state.slot_of));
    }

    fn take_back(&mut self) {
        while let Some((first, second)) = self.exchanged.pop() {
            self.state.exchange(first, second);
        }
    }
}
