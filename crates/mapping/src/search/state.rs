//! An assignment of items to slots, with tables for the change of cost by an exchange.

use multiversion::multiversion;

use crate::slots::Slots;

/// An assignment, and its potentials: the cost of each item in each slot if no other item moves.
///
/// The potentials of two items in their two slots determine how an exchange of the items changes
/// the cost. An exchange adds the outer product of two vectors to the n times n potentials.
pub(super) struct State<'a> {
    pub slots: &'a Slots,
    pub slot_of: Vec<usize>,
    pub item_at: Vec<usize>,
    pub cost: f64,
    /// The potentials: row i has the cost of item i in each slot.
    potentials: Vec<f64>,
    /// The products that the last exchange added to the potentials.
    pub change: Change,
}

/// The amount that an exchange of items r and s adds to the potentials: for item i and slot t the
/// product of `G[i][r] - G[i][s]` and `T[t][slot of s] - T[t][slot of r]`, plus the same product
/// with H instead of G and B instead of T. [`Slots`] defines these matrices.
#[derive(Default)]
pub(super) struct Change {
    pub symmetric: Outer,
    pub skew: Option<Outer>,
}

#[derive(Default)]
pub(super) struct Outer {
    pub items: Vec<f64>,
    pub slots: Vec<f64>,
}

impl Outer {
    /// Sets each vector to the difference of two rows.
    fn set(&mut self, items: [&[f64]; 2], slots: [&[f64]; 2]) {
        let differences = |to: &mut Vec<f64>, [first, second]: [&[f64]; 2]| {
            to.clear();
            to.extend(
                first
                    .iter()
                    .zip(second)
                    .map(|(first, second)| first - second),
            );
        };
        differences(&mut self.items, items);
        differences(&mut self.slots, slots);
    }
}

impl<'a> State<'a> {
    pub(super) fn new(slots: &'a Slots, slot_of: Vec<usize>) -> Self {
        let n = slots.n;
        let mut item_at = vec![0; n];
        for (item, slot) in slot_of.iter().enumerate() {
            item_at[*slot] = item;
        }
        let change = Change {
            symmetric: Outer::default(),
            skew: slots.skew.as_ref().map(|_| Outer::default()),
        };
        let (potentials, cost) = (slots.linear.clone(), slots.constant);
        let mut state = Self {
            slots,
            slot_of,
            item_at,
            cost,
            potentials,
            change,
        };
        for item in 0..slots.tasks {
            let at = state.slot_of[item];
            let alone = slots.linear[item * n + at];
            let row = &mut state.potentials[item * n..(item + 1) * n];
            for (other, slot) in state.slot_of.iter().enumerate() {
                let (pair, costs) = (item * n + other, *slot * n..(*slot + 1) * n);
                if slots.volumes[pair] != 0.0 {
                    add(row, slots.volumes[pair], &slots.costs[costs.clone()]);
                }
                // B is skew-symmetric, so a column of B is the negated row.
                if let Some((volumes, half)) =
                    slots.skew.as_ref().filter(|skew| skew.0[pair] != 0.0)
                {
                    add(row, -volumes[pair], &half[costs]);
                }
            }
            state.cost += (row[at] + alone) / 2.0;
        }
        state
    }

    /// Returns the change of cost if two items were exchanged.
    #[inline]
    pub(super) fn delta(&self, first: usize, second: usize) -> f64 {
        let n = self.slots.n;
        let (here, there) = (self.slot_of[first], self.slot_of[second]);
        let (row, other) = (
            &self.potentials[first * n..][..n],
            &self.potentials[second * n..][..n],
        );
        row[there] - row[here] + other[here] - other[there]
            + 2.0 * self.slots.volumes[first * n + second] * self.slots.costs[here * n + there]
    }

    pub(super) fn exchange(&mut self, first: usize, second: usize) {
        self.cost += self.delta(first, second);
        let n = self.slots.n;
        let row = |index: usize| index * n..(index + 1) * n;
        let (here, there) = (self.slot_of[first], self.slot_of[second]);
        let (volumes, costs) = (&self.slots.volumes, &self.slots.costs);
        self.change.symmetric.set(
            [&volumes[row(first)], &volumes[row(second)]],
            [&costs[row(there)], &costs[row(here)]],
        );
        add_outer(
            &mut self.potentials,
            &self.change.symmetric.items,
            &self.change.symmetric.slots,
        );
        if let (Some(change), Some((volumes, costs))) = (&mut self.change.skew, &self.slots.skew) {
            // H and B are skew-symmetric, so columns are negated rows.
            change.set(
                [&volumes[row(second)], &volumes[row(first)]],
                [&costs[row(here)], &costs[row(there)]],
            );
            add_outer(&mut self.potentials, &change.items, &change.slots);
        }
        self.slot_of.swap(first, second);
        self.item_at.swap(here, there);
    }
}

#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn add(row: &mut [f64], factor: f64, vector: &[f64]) {
    for (element, other) in row.iter_mut().zip(vector) {
        *element += factor * other;
    }
}

#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn add_outer(matrix: &mut [f64], column: &[f64], row: &[f64]) {
    for (elements, factor) in matrix.chunks_exact_mut(row.len()).zip(column) {
        if *factor != 0.0 {
            for (element, other) in elements.iter_mut().zip(row) {
                *element += factor * other;
            }
        }
    }
}
