//! Both closures of a `join` may run at once.
use std::cell::Cell;

use cellworks_machine::Spe;
use cellworks_tasks::Worker;

fn program<S: Spe>(worker: &Worker<'_, S>) {
    let count = Cell::new(0);
    let add = |_: &Worker<'_, S>| count.set(count.get() + 1);
    worker.join(add, add);
}

fn main() {}
