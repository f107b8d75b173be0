//! Evaluation of all assignments of a small problem.

use super::run::SearchRun;
use crate::slots::Slots;

/// The largest number of assignments that are all evaluated: 10!, in a few tenths of a second.
const ASSIGNMENTS_MAX: u64 = 3_628_800;

pub(super) fn is_small(slots: &Slots) -> bool {
    let choices = (slots.n - slots.tasks + 1..=slots.n).map(|slots| slots as u64);
    choices.fold(1, u64::saturating_mul) <= ASSIGNMENTS_MAX
}

/// Finds the best assignment. Skips assignments of which the first items already cost too much, and
/// assignments that differ from others only in slots of the same place.
pub(super) fn search(slots: &Slots, run: &mut SearchRun<'_>) {
    let none = vec![false; slots.n];
    let best = f64::INFINITY;
    Exhaustive {
        slots,
        run,
        slot_of: Vec::new(),
        taken: none,
        best,
    }
    .place_next(slots.constant);
}

struct Exhaustive<'a, 'b> {
    slots: &'a Slots,
    run: &'a mut SearchRun<'b>,
    slot_of: Vec<usize>,
    taken: Vec<bool>,
    best: f64,
}

impl Exhaustive<'_, '_> {
    /// Tries each slot for the next item. `cost` is the cost of the items that are already placed.
    fn place_next(&mut self, cost: f64) {
        if self.run.stopped() || cost >= self.run.better_than(self.best) {
            return;
        }
        let Slots {
            n,
            tasks,
            ref places,
            ..
        } = *self.slots;
        if self.slot_of.len() == tasks {
            self.best = cost;
            let (slots, slot_of) = (self.slots, &self.slot_of);
            self.run.offer(cost, || slots.placement(slot_of));
            return;
        }
        for slot in 0..n {
            let equal = slot > 0 && places[slot - 1] == places[slot] && !self.taken[slot - 1];
            if !self.taken[slot] && !equal {
                let more = self.slots.next_cost(&self.slot_of, slot);
                self.slot_of.push(slot);
                self.taken[slot] = true;
                self.place_next(cost + more);
                self.taken[slot] = false;
                self.slot_of.pop();
            }
        }
    }
}
