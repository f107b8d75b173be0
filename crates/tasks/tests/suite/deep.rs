//! Calls that nest thousands deep, and long chains of tasks that wait, on a host: each waiting job
//! has a stack, and a local store has no room for so many. The time of such programs grew with the
//! square of the depth, and they took minutes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cellworks_machine::{Machine, PpeCore, Processor, Spe, Wait, Wake};
use cellworks_tasks::{Handle, Main, Part, Phase, Pool, TaskError, Worker};

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

/// Each task makes a phase, and waits for the task that it submits to the phase.
#[test]
fn waits_in_phases_nest_deeply() {
    fn nest<S: Spe>(worker: &Worker<'_, S>, left: usize) -> usize {
        let inner = AtomicUsize::new(0);
        if left > 0 {
            let waited = worker.phase(|phase| {
                let deeper = phase.task("deeper", Part(0..1), |worker, _| {
                    inner.store(nest(worker, left - 1), Ordering::Relaxed);
                });
                phase.submit(worker, deeper)?.wait(worker)
            });
            waited.unwrap();
        }
        inner.into_inner() + 1
    }
    assert_eq!(on(&host(), |worker| nest(worker, DEEP)), DEEP + 1);
}

/// The handles of tasks in a circle, by their places.
type Places<'scope, S> = Mutex<Vec<Option<Handle<'scope, S>>>>;

/// Submits tasks that begin when all of them are submitted, in another order than that of their
/// places. Calls `body` with the place of the task.
fn submit_in_places<'scope, M: Machine>(
    main: &Main<'_, M>,
    phase: &'scope Phase<'scope, '_, M::Spe>,
    places: &'scope Places<'scope, M::Spe>,
    body: impl Fn(&Worker<'_, M::Spe>, usize) + Clone + Send + Sync + 'scope,
) -> Result<(), TaskError> {
    let all_are_there = || places.lock().unwrap().iter().all(Option::is_some);
    let first = phase.task("first", Part(0..1), move |worker, _| {
        worker
            .spe()
            .wait_until(&"all tasks", &mut { all_are_there });
    });
    let first = phase.submit(main, first)?;
    let count = places.lock().unwrap().len();
    for number in 0..count {
        // A prime number, so each place comes once.
        let place = number * 4_799 % count;
        let body = body.clone();
        let task = phase.task(format!("at {place}"), Part(0..1), move |worker, _| {
            body(worker, place);
        });
        let handle = phase.submit(main, task.after(&first))?;
        places.lock().unwrap()[place] = Some(handle);
    }
    let workers = main.ppe().topology().spes();
    workers.for_each(|spe| main.ppe().notify(Processor::Spe(spe)));
    Ok(())
}

fn no_handles<'scope, S: Spe>() -> &'scope Places<'scope, S> {
    Box::leak(Box::new(Mutex::new(vec![None; DEEP])))
}

fn at<'scope, S: Spe>(places: &Places<'scope, S>, place: usize) -> Handle<'scope, S> {
    places.lock().unwrap()[place].clone().unwrap()
}

#[test]
fn tasks_of_a_long_chain_wait_for_each_other() {
    let host = host();
    let ended: Vec<AtomicBool> = (0..DEEP).map(|_| AtomicBool::new(false)).collect();
    let phase = Pool::new(&host).run(|main| {
        main.phase(|phase| {
            let (places, ended) = (no_handles(), &ended);
            submit_in_places(main, phase, places, move |worker, place| {
                if place > 0 {
                    at(places, place - 1).wait(worker).unwrap();
                    assert!(ended[place - 1].load(Ordering::SeqCst));
                }
                ended[place].store(true, Ordering::SeqCst);
            })
        })
    });
    phase.unwrap().unwrap();
    assert!(ended.into_iter().all(AtomicBool::into_inner));
}

/// The wait that closes the circle fails. Then all others end.
#[test]
fn a_long_circle_of_tasks_is_found() {
    let host = host();
    let circles = Mutex::new(Vec::new());
    let phase = Pool::new(&host).run(|main| {
        main.phase(|phase| {
            let (places, circles) = (no_handles(), &circles);
            submit_in_places(main, phase, places, move |worker, place| {
                let next = (place + 1) % DEEP;
                match at(places, next).wait(worker) {
                    Ok(()) => {}
                    Err(TaskError::Circle { tasks }) => {
                        circles.lock().unwrap().push((place, tasks))
                    }
                    Err(other) => panic!("{other}"),
                }
            })
        })
    });
    phase.unwrap().unwrap();
    let circles = circles.into_inner().unwrap();
    let [(first, tasks)] = &*circles else {
        panic!("{} circles", circles.len());
    };
    assert_eq!(tasks.len(), DEEP);
    for (task, place) in tasks.iter().zip((*first..DEEP).chain(0..*first)) {
        assert!(
            task.starts_with(&format!("'at {place}'")),
            "{task}, {place}"
        );
    }
}
