//! A closure may run on another worker than the one that started it.
use cellworks_machine::Spe;
use cellworks_tasks::Worker;

fn program<S: Spe>(worker: &Worker<'_, S>) {
    worker.scope(|scope| {
        scope.spawn(worker, |_| {
            worker.join(|_| (), |_| ());
        });
    });
}

fn main() {}
