//! A problem as a permutation problem: each item has its own slot, and all slots have an item.
//!
//! A place for several tasks has several slots, without those of the tasks that are fixed to it.
//! The items are the free tasks and, for slots that stay empty, items without volume.

use crate::ids::{Place, Task};
use crate::placement::Placement;
use crate::problem::{Problem, total};

/// The items, the slots, and the costs of assignments.
///
/// `F[i][k]` is the volume from item i to item k, and `D[s][t]` is the cost from slot s to slot t.
/// Items i and k in slots s and t cost `F[i][k] D[s][t] + F[k][i] D[t][s]`. This sum equals
/// `G[i][k] T[s][t] + H[i][k] B[s][t]` with the matrices G = F + F', T = (D + D')/2, H = F - F' and
/// B = (D - D')/2, where F' and D' are transposed. All matrices are stored row by row.
pub(crate) struct Slots {
    /// The number of items, which is also the number of slots.
    pub n: usize,
    /// The number of items that are tasks. They come before all other items.
    pub tasks: usize,
    /// The symmetric matrix G, with 0 on the diagonal.
    pub volumes: Vec<f64>,
    /// The symmetric matrix T, with 0 on the diagonal.
    pub costs: Vec<f64>,
    /// The skew-symmetric matrices H and B, if neither of them is 0.
    pub skew: Option<(Vec<f64>, Vec<f64>)>,
    /// At index i * n + t, the cost between item i, in slot t, and fixed tasks or the item itself.
    pub linear: Vec<f64>,
    pub places: Vec<Place>,
    /// The cost of the communication between fixed tasks.
    pub constant: f64,
    free: Vec<Task>,
    fixed: Vec<Option<Place>>,
}

impl Slots {
    pub(crate) fn new(problem: &Problem) -> Self {
        let (volumes, costs) = (problem.volumes(), problem.costs());
        let fixed: Vec<_> = (0..volumes.tasks())
            .map(|task| problem.fixed(Task(task)))
            .collect();
        let free: Vec<Task> = (0..fixed.len())
            .filter(|task| fixed[*task].is_none())
            .map(Task)
            .collect();
        let slots_of = |place: Place| {
            let taken = fixed.iter().filter(|at| **at == Some(place)).count();
            (problem.capacity(place) - taken).min(free.len())
        };
        let places: Vec<Place> = (0..costs.places())
            .map(Place)
            .flat_map(|place| std::iter::repeat_n(place, slots_of(place)))
            .collect();

        let n = places.len();
        let mut item_of = vec![None; fixed.len()];
        for (item, task) in free.iter().enumerate() {
            item_of[task.0] = Some(item);
        }
        let mut linear = vec![0.0; n * n];
        let (mut symmetric, mut skew) = (vec![0.0; n * n], vec![0.0; n * n]);
        let mut constant = 0.0;
        for (from, to, volume) in volumes.pairs() {
            let mut alone = |item: usize, cost: &dyn Fn(Place) -> f64| {
                for (slot, place) in places.iter().enumerate() {
                    linear[item * n + slot] += volume * cost(*place);
                }
            };
            match (item_of[from.0], item_of[to.0]) {
                (Some(from), Some(to)) if from == to => alone(from, &|at| costs.between(at, at)),
                (Some(from), Some(to)) => {
                    symmetric[from * n + to] += volume;
                    symmetric[to * n + from] += volume;
                    skew[from * n + to] += volume;
                    skew[to * n + from] -= volume;
                }
                (from_item, to_item) => match (from_item, to_item, fixed[from.0], fixed[to.0]) {
                    (Some(item), _, _, Some(to)) => alone(item, &|at| costs.between(at, to)),
                    (_, Some(item), Some(from), _) => alone(item, &|at| costs.between(from, at)),
                    (_, _, Some(from), Some(to)) => constant += volume * costs.between(from, to),
                    _ => unreachable!("a task is free or fixed"),
                },
            }
        }

        let (mut mean, mut half) = (vec![0.0; n * n], vec![0.0; n * n]);
        for (slot, from) in places.iter().enumerate() {
            for (other, to) in places
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != slot)
            {
                let (there, back) = (costs.between(*from, *to), costs.between(*to, *from));
                mean[slot * n + other] = (there + back) / 2.0;
                half[slot * n + other] = (there - back) / 2.0;
            }
        }
        let any = |matrix: &[f64]| matrix.iter().any(|element| *element != 0.0);
        let skew = (any(&skew) && any(&half)).then_some((skew, half));
        Self {
            n,
            tasks: free.len(),
            volumes: symmetric,
            costs: mean,
            skew,
            linear,
            places,
            constant,
            free,
            fixed,
        }
    }

    /// Returns the other items with which each item communicates, and the volumes.
    pub(crate) fn neighbours(&self) -> Vec<Vec<(usize, f64)>> {
        let row = |item: usize| {
            let volumes = self.volumes[item * self.n..(item + 1) * self.n]
                .iter()
                .copied();
            volumes
                .enumerate()
                .filter(|(_, volume)| *volume > 0.0)
                .collect()
        };
        (0..self.n).map(row).collect()
    }

    /// Returns the cost that item k adds in a slot. `slot_of` has the slots of all items before k.
    pub(crate) fn next_cost(&self, slot_of: &[usize], slot: usize) -> f64 {
        let row = slot_of.len() * self.n;
        let mut cost = self.linear[row + slot];
        for (item, other) in slot_of.iter().enumerate() {
            let (pair, slots) = (row + item, slot * self.n + other);
            cost += self.volumes[pair] * self.costs[slots];
            if let Some((volumes, costs)) = &self.skew {
                cost += volumes[pair] * costs[slots];
            }
        }
        cost
    }

    pub(crate) fn cost(&self, slot_of: &[usize]) -> f64 {
        let costs = (0..self.tasks).map(|item| self.next_cost(&slot_of[..item], slot_of[item]));
        self.constant + total(costs)
    }

    /// Returns the average cost of all assignments, to which the products of H and B add 0.
    pub(crate) fn average(&self) -> f64 {
        let sum = |matrix: &[f64]| total(matrix.iter().copied());
        let n = self.n as f64;
        let by_itself = sum(&self.linear) / n.max(1.0);
        // `volumes` has each pair twice.
        let volume = sum(&self.volumes) / 2.0;
        let cost = sum(&self.costs) / (n * (n - 1.0)).max(1.0);
        self.constant + by_itself + volume * cost
    }

    pub(crate) fn placement(&self, slot_of: &[usize]) -> Placement {
        let mut places = self.fixed.clone();
        for (task, slot) in self.free.iter().zip(slot_of) {
            places[task.0] = Some(self.places[*slot]);
        }
        Placement::new(
            places
                .into_iter()
                .map(|place| place.expect("fixed or in a slot"))
                .collect(),
        )
    }
}
