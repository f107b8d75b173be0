//! A closure that runs on another worker uses the worker that it is given, not the outer one.
use cellworks_machine::{Machine, Spe};
use cellworks_tasks::{Main, Worker};

fn halves<S: Spe>(worker: &Worker<'_, S>) {
    worker.join(|_| (), |_| worker.join(|_| (), |_| ()));
}

fn in_a_scope<S: Spe>(worker: &Worker<'_, S>) {
    worker.scope(|scope| scope.spawn(worker, |_| _ = worker.workers()));
}

fn in_a_parallel_iterator<S: Spe>(worker: &Worker<'_, S>) {
    worker.par_iter(0..9).map(|_| worker.workers()).sum::<usize>();
}

fn on_a_machine<M: Machine>(main: &Main<'_, M>) {
    main.install(|_| main.install(|_| ()));
}

fn main() {}
