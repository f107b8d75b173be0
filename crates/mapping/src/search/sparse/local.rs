//! Local search on a machine of levels: exchanges near the tasks with which a task communicates.

use std::collections::VecDeque;

use fastrand::Rng;

use crate::search::run::SearchRun;
use crate::sparse::{NOBODY, Sparse};

/// The largest number of random exchanges that disturb a local optimum.
const KICKS_MAX: usize = 3;

/// An exchange moves an item to one of this number of slots close to a communicating item.
const CLOSE: usize = 16;

/// Only the slots close to this number of communicating items are tried.
const PARTNERS: usize = 12;

/// After this number of visited edges, a search for exchanges looks at the limit of the run.
const STEPS: usize = 100_000;

/// Improves an assignment until the run ends, as [`local`](crate::search::local) does.
pub(super) fn search(
    sparse: &Sparse,
    slot_of: Vec<u32>,
    cost: f64,
    random: &mut Rng,
    run: &mut SearchRun<'_>,
) {
    if sparse.items == 0 || sparse.slots < 2 {
        // Nothing can be exchanged.
        return;
    }
    let mut item_at = vec![NOBODY; sparse.places.len()];
    for (item, slot) in slot_of.iter().enumerate() {
        item_at[*slot as usize] = item as u32;
    }
    let mut local = Local {
        sparse,
        waits: vec![false; slot_of.len()],
        slot_of,
        item_at,
        cost,
        close: close(sparse),
        exchanged: Vec::new(),
        waiting: VecDeque::new(),
        steps: 0,
        run,
    };
    let talking: Vec<usize> = (0..sparse.items)
        .filter(|item| !sparse.graph.edges(*item).is_empty())
        .collect();
    for item in &talking {
        local.wait(*item);
    }
    let mut offered = cost;
    local.descend();
    local.exchanged.clear();
    local.offer(&mut offered);
    while !local.run.stopped() && !talking.is_empty() {
        let before = local.cost;
        for _ in 0..random.usize(1..=KICKS_MAX) {
            let item = talking[random.usize(0..talking.len())];
            let edges = sparse.graph.edges(item);
            let partner = sparse.graph.to[random.usize(edges)] as usize;
            let close = local.close_to(local.slot_of[partner] as usize);
            let slot = local.close[random.usize(close)] as usize;
            if slot != local.slot_of[item] as usize {
                local.exchange(item, slot);
            }
        }
        local.descend();
        if local.cost > before {
            local.take_back(before);
        }
        local.exchanged.clear();
        if local.run.is_due() {
            local.offer(&mut offered);
        }
    }
    local.offer(&mut offered);
}

/// Returns the slots near each slot: [`CLOSE`] for each, or all if there are fewer.
fn close(sparse: &Sparse) -> Vec<u32> {
    let (distances, slots) = (&sparse.distances, sparse.slots);
    let count = CLOSE.min(slots);
    if distances.are_opposite() {
        // Slots all over the machine.
        let others =
            |slot| (0..count).map(move |index| ((slot + index * slots / count) % slots) as u32);
        return (0..sparse.places.len()).flat_map(others).collect();
    }
    let mut close = Vec::with_capacity(sparse.places.len() * count);
    let mut near: Vec<(f64, u32)> = Vec::new();
    for slot in 0..sparse.places.len() {
        // Slots of a fixed task are behind all others, so their place is searched.
        let place = sparse.places[slot];
        let at = if slot < slots {
            slot
        } else {
            sparse.places[..slots]
                .partition_point(|other| *other < place)
                .min(slots - 1)
        };
        let reach = match distances.block() {
            1 => count,
            block => count.max(block),
        };
        let range = at.saturating_sub(reach)..(at + reach + 1).min(slots);
        near.clear();
        near.extend(range.map(|other| (distances.mean(slot, other), other as u32)));
        near.sort_by(|one, other| one.0.total_cmp(&other.0));
        close.extend(near[..count].iter().map(|(_, other)| *other));
    }
    close
}

struct Local<'a, 'b> {
    sparse: &'a Sparse,
    slot_of: Vec<u32>,
    item_at: Vec<u32>,
    cost: f64,
    close: Vec<u32>,
    exchanged: Vec<(u32, u32)>,
    /// The items whose exchanges have to be tried, and whether an item is one of them.
    waiting: VecDeque<u32>,
    waits: Vec<bool>,
    /// The edges that were visited since the last look at the limit.
    steps: usize,
    run: &'a mut SearchRun<'b>,
}

impl Local<'_, '_> {
    fn close_to(&self, slot: usize) -> std::ops::Range<usize> {
        let count = CLOSE.min(self.sparse.slots);
        slot * count..(slot + 1) * count
    }

    fn wait(&mut self, item: usize) {
        if item < self.sparse.items && !self.waits[item] {
            self.waits[item] = true;
            self.waiting.push_back(item as u32);
        }
    }

    /// Returns what an item costs more in another slot, if `without` does not move or communicate.
    fn delta_of(&self, item: usize, slot: usize, without: usize) -> f64 {
        let Sparse {
            graph, distances, ..
        } = self.sparse;
        let here = self.slot_of[item] as usize;
        let mut delta = self.sparse.cost_alone(item, slot) - self.sparse.cost_alone(item, here);
        for edge in graph.edges(item) {
            let other = graph.to[edge] as usize;
            if other != without {
                let at = self.slot_of[other] as usize;
                delta +=
                    graph.volumes[edge] * (distances.mean(slot, at) - distances.mean(here, at));
                if let Some(skew) = graph.skew.get(edge) {
                    delta += skew * (distances.half(slot, at) - distances.half(here, at));
                }
            }
        }
        delta
    }

    /// Returns the change of cost if an item and what is in a slot were exchanged.
    fn delta(&self, item: usize, slot: usize) -> f64 {
        let here = self.slot_of[item] as usize;
        let other = self.item_at[slot];
        if other == NOBODY {
            return self.delta_of(item, slot, usize::MAX);
        }
        let other = other as usize;
        let mut delta = self.delta_of(item, slot, other) + self.delta_of(other, here, item);
        let Sparse {
            graph, distances, ..
        } = self.sparse;
        if !graph.skew.is_empty() {
            for edge in graph
                .edges(item)
                .filter(|edge| graph.to[*edge] as usize == other)
            {
                delta +=
                    graph.skew[edge] * (distances.half(slot, here) - distances.half(here, slot));
            }
        }
        delta
    }

    fn exchange(&mut self, item: usize, slot: usize) {
        if !self.run.go_on() {
            return;
        }
        self.cost += self.delta(item, slot);
        let here = self.slot_of[item];
        let other = self.item_at[slot];
        self.exchanged.push((item as u32, here));
        self.swap(item, slot);
        let graph = &self.sparse.graph;
        for moved in [item as u32, other]
            .into_iter()
            .filter(|moved| *moved != NOBODY)
        {
            self.wait(moved as usize);
            for edge in graph.edges(moved as usize) {
                self.wait(graph.to[edge] as usize);
            }
        }
    }

    fn swap(&mut self, item: usize, slot: usize) {
        let here = self.slot_of[item] as usize;
        let other = self.item_at[slot];
        self.slot_of[item] = slot as u32;
        if other != NOBODY {
            self.slot_of[other as usize] = here as u32;
        }
        self.item_at.swap(here, slot);
    }

    /// Makes the best exchange of each waiting item, if the exchange is a gain.
    fn descend(&mut self) {
        while let Some(item) = self.waiting.pop_front() {
            let item = item as usize;
            self.waits[item] = false;
            if self.run.stopped() {
                continue;
            }
            let here = self.slot_of[item] as usize;
            let mut best = (0.0, usize::MAX);
            for edge in self.sparse.graph.edges(item).take(PARTNERS) {
                let partner = self.sparse.graph.to[edge] as usize;
                for index in self.close_to(self.slot_of[partner] as usize) {
                    let slot = self.close[index] as usize;
                    if slot != here {
                        self.steps += 1 + self.sparse.graph.edges(item).len();
                        let delta = self.delta(item, slot);
                        if delta < best.0 {
                            best = (delta, slot);
                        }
                    }
                }
            }
            if self.steps >= STEPS {
                self.steps = 0;
                self.run.look();
            }
            if self.cost + best.0 < self.run.better_than(self.cost) {
                self.exchange(item, best.1);
            }
        }
    }

    fn take_back(&mut self, before: f64) {
        while let Some((item, slot)) = self.exchanged.pop() {
            self.swap(item as usize, slot as usize);
        }
        self.cost = before;
    }

    /// Offers the assignment if it costs less than the last one that was offered.
    fn offer(&mut self, offered: &mut f64) {
        if self.cost < *offered {
            // The changes of cost are rounded, and this is not.
            self.cost = self.sparse.cost(&self.slot_of);
            *offered = self.cost;
            let (sparse, slot_of) = (self.sparse, &self.slot_of);
            self.run.offer(self.cost, || sparse.placement(slot_of));
        }
    }
}
