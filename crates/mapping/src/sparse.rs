//! A problem whose costs have levels, in memory for each pair of tasks that communicate.

use crate::costs::Costs;
use crate::grid::Edge;
use crate::ids::{Place, Task};
use crate::placement::Placement;
use crate::problem::{Problem, total};

/// The item of an empty slot.
pub(crate) const NOBODY: u32 = u32::MAX;

/// The tasks as items, and the places as slots: a place with room for several tasks has several
/// slots. Fixed tasks are the last items, and their slots are the last slots.
///
/// As in [`Slots`](crate::slots::Slots), items i and k in slots s and t cost `G[i][k] T[s][t] +
/// H[i][k] B[s][t]`, with G the volume in both directions and T the mean cost of both directions.
pub(crate) struct Sparse {
    /// The number of items that have a choice.
    pub items: usize,
    /// The number of slots that have a choice. They are in the order of their places.
    pub slots: usize,
    pub graph: Graph,
    pub distances: Distances,
    /// The place of each slot.
    pub places: Vec<u32>,
    /// The volume that each item sends to itself.
    alone: Vec<f64>,
    /// The slots of the fixed tasks, which are those of the last items.
    tasks: Vec<Task>,
}

/// The other items with which each item communicates, and the volumes: item i has the edges from
/// `start[i]` to `start[i + 1]`.
#[derive(Clone, Default)]
pub(crate) struct Graph {
    pub start: Vec<u32>,
    pub to: Vec<u32>,
    /// G: the volume in both directions.
    pub volumes: Vec<f64>,
    /// H: the volume from the item, less the volume to the item. Empty if it does not matter.
    pub skew: Vec<f64>,
}

impl Graph {
    pub(crate) fn edges(&self, item: usize) -> std::ops::Range<usize> {
        self.start[item] as usize..self.start[item + 1] as usize
    }

    /// Returns the pairs of items that communicate.
    pub(crate) fn pairs(&self) -> Vec<Edge> {
        let mut pairs = Vec::with_capacity(self.to.len() / 2);
        for one in 0..self.start.len() - 1 {
            let others = self
                .edges(one)
                .map(|edge| (self.to[edge] as usize, self.volumes[edge]));
            let after = others.filter(|(other, _)| *other > one);
            pairs.extend(after.map(|(other, volume)| (one, other, volume)));
        }
        pairs
    }
}

/// The costs between slots.
pub(crate) struct Distances {
    /// For each slot, the numbers of its parts on all levels as bits. Slots of the same innermost
    /// part have equal codes.
    code: Vec<u64>,
    /// The cost between slots whose codes differ in this bit, and in no higher one.
    by_bit: Vec<f64>,
    shifts: Vec<u32>,
    /// The place of each slot within its innermost part.
    within: Vec<u32>,
    block: usize,
    /// T and B of an innermost part. B is empty if all of it is 0.
    mean: Vec<f64>,
    half: Vec<f64>,
}

impl Distances {
    fn new(costs: &Costs, places: &[u32]) -> Self {
        let block = costs.block();
        let mut by_bit = Vec::new();
        let mut shifts = Vec::new();
        for level in costs.levels().iter().rev() {
            shifts.push(by_bit.len() as u32);
            let bits = level.parts.next_power_of_two().trailing_zeros() as usize;
            by_bit.extend(std::iter::repeat_n(level.cost, bits));
        }
        let code = |place: &u32| {
            let mut part = *place as usize / block;
            let mut code = 0;
            for (level, shift) in costs.levels().iter().rev().zip(&shifts) {
                code |= ((part % level.parts) as u64)
                    .checked_shl(*shift)
                    .unwrap_or(0);
                part /= level.parts;
            }
            code
        };
        let of = |sign: f64| {
            let row = |from| {
                (0..block).map(move |to| {
                    let [there, back] = [(from, to), (to, from)]
                        .map(|(from, to)| costs.between(Place(from), Place(to)));
                    (there + sign * back) / 2.0
                })
            };
            (0..block).flat_map(row).collect::<Vec<f64>>()
        };
        let half = of(-1.0);
        let codes = places.iter().map(code).collect();
        shifts.reverse();
        Self {
            code: codes,
            shifts,
            by_bit,
            within: places
                .iter()
                .map(|place| (*place as usize % block) as u32)
                .collect(),
            block,
            mean: of(1.0),
            half: if half.iter().any(|cost| *cost != 0.0) {
                half
            } else {
                Vec::new()
            },
        }
    }

    /// T of two slots.
    #[inline]
    pub(crate) fn mean(&self, one: usize, other: usize) -> f64 {
        match self.code[one] ^ self.code[other] {
            0 if self.block == 1 => self.mean[0],
            0 => self.mean[self.within[one] as usize * self.block + self.within[other] as usize],
            differ => self.by_bit[differ.ilog2() as usize],
        }
    }

    /// B of two slots, which is 0 if they are in different innermost parts.
    pub(crate) fn half(&self, one: usize, other: usize) -> f64 {
        if self.code[one] == self.code[other] && !self.half.is_empty() {
            self.half[self.within[one] as usize * self.block + self.within[other] as usize]
        } else {
            0.0
        }
    }

    /// Returns the sum of T over all ordered pairs of the first slots, which are in the order of
    /// their codes.
    fn sum(&self, slots: usize) -> f64 {
        let codes = &self.code[..slots];
        let mut sum = 0.0;
        let mut pairs = (slots * slots) as f64;
        let mut shift = self.by_bit.len() as u32;
        while shift > 0 {
            let cost = self.by_bit[shift as usize - 1];
            shift -= 1;
            let key = |code: &u64| code >> shift;
            let parts = codes.chunk_by(|one, other| key(one) == key(other));
            let within: f64 = parts.map(|part| (part.len() * part.len()) as f64).sum();
            sum += cost * (pairs - within);
            pairs = within;
        }
        let mut first = 0;
        for part in codes.chunk_by(|one, other| one == other) {
            let mut at = vec![0.0; self.block];
            for slot in first..first + part.len() {
                at[self.within[slot] as usize] += 1.0;
            }
            first += part.len();
            let used: Vec<usize> = (0..self.block).filter(|place| at[*place] > 0.0).collect();
            for one in &used {
                let row = used
                    .iter()
                    .map(|other| at[*other] * self.in_block(*one, *other));
                sum += at[*one] * total(row);
            }
        }
        sum
    }

    pub(crate) fn is_symmetric(&self) -> bool {
        self.half.is_empty()
    }

    /// Returns true if slots of different outermost parts have a lower cost than close ones.
    pub(crate) fn are_opposite(&self) -> bool {
        let outermost = self.by_bit.last().copied().unwrap_or(0.0);
        self.by_bit.iter().any(|cost| *cost > outermost)
    }

    pub(crate) fn code(&self, slot: usize) -> u64 {
        self.code[slot]
    }

    /// Returns, for each level, the outermost first, the number of bits of codes within its parts.
    pub(crate) fn shifts(&self) -> Vec<u32> {
        self.shifts.clone()
    }

    /// T of two places of an innermost part.
    pub(crate) fn in_block(&self, one: usize, other: usize) -> f64 {
        self.mean[one * self.block + other]
    }

    pub(crate) fn block(&self) -> usize {
        self.block
    }

    pub(crate) fn within(&self, slot: usize) -> usize {
        self.within[slot] as usize
    }
}

impl Problem {
    /// Returns true if costs have levels and there are more than this number of slots, so that a
    /// matrix of all slots is not made.
    pub(crate) fn is_sparse(&self, slots: usize) -> bool {
        let tasks = self.volumes().tasks();
        let room =
            || (0..self.costs().places()).map(|place| self.capacity(Place(place)).min(tasks));
        !self.costs().levels().is_empty() && room().sum::<usize>() > slots
    }
}

impl Sparse {
    pub(crate) fn new(problem: &Problem) -> Self {
        let (volumes, costs) = (problem.volumes(), problem.costs());
        let count = volumes.tasks();
        let (fixed, mut tasks): (Vec<Task>, Vec<Task>) = (0..count)
            .map(Task)
            .partition(|task| problem.fixed(*task).is_some());
        let items = tasks.len();
        let mut taken = vec![0; costs.places()];
        let pinned: Vec<Place> = fixed
            .iter()
            .filter_map(|task| problem.fixed(*task))
            .collect();
        for place in &pinned {
            taken[place.0] += 1;
        }
        let open = (0..costs.places()).flat_map(|place| {
            let room = problem.capacity(Place(place)) - taken[place];
            std::iter::repeat_n(place as u32, room.min(items))
        });
        let mut places: Vec<u32> = open.collect();
        let slots = places.len();
        places.extend(pinned.iter().map(|place| place.0 as u32));
        tasks.extend(fixed);
        let distances = Distances::new(costs, &places);

        let mut item_of = vec![0_u32; count];
        for (item, task) in tasks.iter().enumerate() {
            item_of[task.0] = item as u32;
        }
        let mut alone = vec![0.0; count];
        let mut edges = Vec::with_capacity(2 * volumes.pairs().len());
        for (from, to, volume) in volumes.pairs() {
            let [from, to] = [from, to].map(|task| item_of[task.0]);
            if from == to {
                alone[from as usize] += volume
            } else {
                edges.extend([(from, to, volume, volume), (to, from, volume, -volume)])
            }
        }
        let graph = Graph::of(count, edges, distances.is_symmetric());
        Self {
            items,
            slots,
            graph,
            distances,
            places,
            alone,
            tasks,
        }
    }

    /// Returns the slot of each item, from those of the items that have a choice.
    pub(crate) fn with_fixed(&self, mut slot_of: Vec<u32>) -> Vec<u32> {
        slot_of.extend(self.slots as u32..self.places.len() as u32);
        slot_of
    }

    /// Returns what an item costs in a slot.
    pub(crate) fn cost_of(&self, slot_of: &[u32], item: usize, slot: usize) -> f64 {
        let graph = &self.graph;
        let mut cost = self.cost_alone(item, slot);
        for edge in graph.edges(item) {
            let other = slot_of[graph.to[edge] as usize] as usize;
            cost += graph.volumes[edge] * self.distances.mean(slot, other);
            if let Some(skew) = graph.skew.get(edge) {
                cost += skew * self.distances.half(slot, other);
            }
        }
        cost
    }

    pub(crate) fn cost_alone(&self, item: usize, slot: usize) -> f64 {
        match self.alone[item] {
            0.0 => 0.0,
            volume => volume * self.distances.mean(slot, slot),
        }
    }

    pub(crate) fn cost(&self, slot_of: &[u32]) -> f64 {
        total((0..slot_of.len()).map(|item| {
            let alone = self.cost_alone(item, slot_of[item] as usize);
            (self.cost_of(slot_of, item, slot_of[item] as usize) + alone) / 2.0
        }))
    }

    /// Returns the average cost of all assignments.
    pub(crate) fn average(&self) -> f64 {
        let (distances, slots) = (&self.distances, self.slots as f64);
        let with_itself = total((0..self.slots).map(|slot| distances.mean(slot, slot)));
        let with_others = distances.sum(self.slots) - with_itself;
        let pair = with_others / (slots * (slots - 1.0)).max(1.0);
        let mut cost = 0.0;
        // For each fixed task, the averages of T and of B from the slots that have a choice.
        let mut to_fixed = vec![None; self.places.len() - self.slots];
        for item in 0..self.tasks.len() {
            cost += if item < self.items {
                self.alone[item] * with_itself / slots.max(1.0)
            } else {
                self.cost_alone(item, self.slots + item - self.items)
            };
            for edge in self.graph.edges(item) {
                let (other, volume) = (self.graph.to[edge] as usize, self.graph.volumes[edge]);
                let [one, other] = [item, other].map(|item| item.checked_sub(self.items));
                cost += match (one, other) {
                    // Each of these pairs has two edges.
                    (None, None) => volume * pair / 2.0,
                    (Some(one), Some(other)) => {
                        let [one, other] = [one, other].map(|fixed| self.slots + fixed);
                        let skew = self.graph.skew.get(edge).unwrap_or(&0.0);
                        (volume * distances.mean(one, other) + skew * distances.half(one, other))
                            / 2.0
                    }
                    (None, Some(fixed)) => {
                        let slot = self.slots + fixed;
                        let [mean, half] = *to_fixed[fixed].get_or_insert_with(|| {
                            let from = || 0..self.slots;
                            let mean = total(from().map(|from| distances.mean(from, slot)));
                            let half = total(from().map(|from| distances.half(from, slot)));
                            [mean, half].map(|sum| sum / slots.max(1.0))
                        });
                        volume * mean + self.graph.skew.get(edge).unwrap_or(&0.0) * half
                    }
                    (Some(_), None) => 0.0,
                };
            }
        }
        cost
    }

    pub(crate) fn placement(&self, slot_of: &[u32]) -> Placement {
        let mut places = vec![Place(0); self.tasks.len()];
        for (task, slot) in self.tasks.iter().zip(slot_of) {
            places[task.0] = Place(self.places[*slot as usize] as usize);
        }
        Placement::new(places)
    }
}

impl Graph {
    /// Makes a graph of edges, each with its item, the other item, G and H. Equal edges add up.
    pub(crate) fn of(
        items: usize,
        mut edges: Vec<(u32, u32, f64, f64)>,
        is_symmetric: bool,
    ) -> Self {
        edges.sort_unstable_by_key(|(from, to, ..)| (*from, *to));
        edges.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 += next.2;
                kept.3 += next.3;
            }
            same
        });
        let mut start = vec![0; items + 1];
        for (from, ..) in &edges {
            start[*from as usize + 1] += 1;
        }
        for item in 0..items {
            start[item + 1] += start[item];
        }
        let skew = edges.iter().map(|edge| edge.3);
        Self {
            start,
            to: edges.iter().map(|edge| edge.1).collect(),
            volumes: edges.iter().map(|edge| edge.2).collect(),
            skew: if is_symmetric {
                Vec::new()
            } else {
                skew.collect()
            },
        }
    }
}
