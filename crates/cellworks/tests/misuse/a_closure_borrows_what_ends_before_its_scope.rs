//! A closure of a scope may outlive the function that starts it.
use cellworks_machine::Spe;
use cellworks_tasks::Worker;

fn program<S: Spe>(worker: &Worker<'_, S>) {
    worker.scope(|scope| {
        let numbers = vec![1, 2, 3];
        scope.spawn(worker, |_| assert_eq!(numbers.len(), 3));
    });
}

fn main() {}
