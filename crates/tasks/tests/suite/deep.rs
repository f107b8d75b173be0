//! Calls that nest thousands deep, on a host: each waiting job has a stack, and a local store has no
//! room for so many. The time of such programs grew with the square of the depth.

use std::sync::atomic::{AtomicBool, Ordering};

use cellworks_machine::{Processor, Spe};
use cellworks_tasks::Worker;

use crate::{host, on};

const DEEP: usize = 4_000;

#[test]
fn scopes_nest_deeply() {
    fn nest<S: Spe>(worker: &Worker<'_, S>, left: usize) -> usize {
        let mut inner = 0;
        if left > 0 {
            worker.scope(|scope| scope.spawn(worker, |worker| inner = nest(worker, left - 1)));
        }
        inner + 1
    }
    assert_eq!(on(&host(), |worker| nest(worker, DEEP)), DEEP + 1);
}

/// Each second closure begins while the first one runs, so another thread runs it.
#[test]
fn joins_that_wait_nest_deeply() {
    fn nest<S: Spe>(worker: &Worker<'_, S>, left: usize) -> usize {
        if left == 0 {
            return 1;
        }
        let (owner, has_begun) = (worker.spe().id(), AtomicBool::new(false));
        let is_there = || has_begun.load(Ordering::SeqCst);
        let ((), inner) = worker.join(
            |worker| _ = worker.spe().wait_until(&"the second", &mut { is_there }),
            |worker| {
                has_begun.store(true, Ordering::SeqCst);
                worker.spe().notify(Processor::Spe(owner));
                nest(worker, left - 1)
            },
        );
        inner + 1
    }
    assert_eq!(on(&host(), |worker| nest(worker, DEEP)), DEEP + 1);
}
