//! Models of the protocols between workers. loom runs each model in every order of its steps, with
//! every value that a load may return, and reports a deadlock if no thread can continue.
//!
//! The models check these properties:
//!
//! - The second closure (half) of a `join` is run once, by its owner or by another worker. The
//!   owner frees the half only when the other worker no longer uses it.
//! - Each job with a half to offer is in the list in which other workers look.
//! - The owner of a scope is woken when its tasks have ended, and may then free the scope.
//! - No worker sleeps while a queue holds a job. No main program sleeps while a queue has room.
//! - While a worker sleeps, the next `join` of another worker offers it a half: the owner of the
//!   half is asked, or a queue holds a job.

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::{Arc, Condvar};
use loom::thread;

use crate::join::halves::Halves;
use crate::join::offer::{State, Waiter};
use crate::join::request::{Exchange, Request};
use crate::scope::count::Count;
use crate::shared::fresh_room::FreshRoom;
use crate::shared::sleepers::Sleepers;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering};

/// A model of `Wait::wait_until` and `Wake::notify` of a machine, for one waiting thread.
#[derive(Default)]
struct Seat {
    thread: Mutex<Thread>,
    wakes: Condvar,
    rests: Condvar,
}

#[derive(Default)]
struct Thread {
    is_woken: bool,
    does: Does,
}

#[derive(Default, PartialEq)]
enum Does {
    #[default]
    Runs,
    Sleeps,
    /// Runs a job that does not end while the model is checked.
    RunsALongJob,
}

impl Seat {
    fn wait_until(&self, mut ready: impl FnMut() -> bool) {
        while !ready() {
            let mut thread = self.thread.lock().unwrap();
            while !thread.is_woken {
                thread.does = Does::Sleeps;
                self.rests.notify_one();
                thread = self.wakes.wait(thread).unwrap();
            }
            *thread = Thread::default();
        }
    }

    fn notify(&self) {
        self.thread.lock().unwrap().is_woken = true;
        self.wakes.notify_one();
    }

    fn runs_a_long_job(&self) {
        self.thread.lock().unwrap().does = Does::RunsALongJob;
        self.rests.notify_one();
    }

    /// Waits until the thread sleeps and was not woken, or runs a long job. Returns whether it
    /// sleeps.
    fn comes_to_sleep(&self) -> bool {
        let mut thread = self.thread.lock().unwrap();
        loop {
            match thread.does {
                Does::Sleeps if !thread.is_woken => return true,
                Does::RunsALongJob => return false,
                Does::Runs | Does::Sleeps => thread = self.rests.wait(thread).unwrap(),
            }
        }
    }
}

/// Runs a model in all orders with up to `preemptions` preemptions, or without a limit if `None`.
fn check(preemptions: Option<usize>, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(model);
}

/// Memory on the stack of its owner, which another worker may use until the owner continues.
struct Lent(UnsafeCell<u32>);

// SAFETY: loom reports unordered accesses.
unsafe impl Send for Lent {}
// SAFETY: as above.
unsafe impl Sync for Lent {}

impl Lent {
    fn new() -> Arc<Self> {
        Arc::new(Self(UnsafeCell::new(0)))
    }

    fn add(&self, number: u32) {
        // SAFETY: loom reports an error if another thread uses the memory at the same time.
        self.0.with_mut(|lent| unsafe { *lent += number });
    }

    /// Uses the memory for another purpose, after the owner has continued.
    fn take(&self) -> u32 {
        // SAFETY: as in `add`.
        self.0
            .with_mut(|lent| unsafe { std::mem::take(&mut *lent) })
    }
}

#[test]
fn a_half_of_a_join_is_run_once_and_left_before_its_owner_goes_on() {
    check(None, || {
        let (offer, half) = (Arc::new(State::new()), Lent::new());
        let owner = Arc::new(Seat::default());
        let queue = Arc::new(AtomicUsize::new(0));
        let taker = {
            let (offer, half) = (Arc::clone(&offer), Arc::clone(&half));
            let (owner, queue) = (Arc::clone(&owner), Arc::clone(&queue));
            thread::spawn(move || {
                if queue.load(Ordering::Acquire) == 1 && offer.take() {
                    half.add(1);
                    offer.end();
                    owner.notify();
                }
            })
        };
        half.add(10);
        queue.store(1, Ordering::Release);
        if offer.withdraw() {
            half.add(100);
        } else {
            owner.wait_until(|| offer.has_ended());
        }
        let run_by = half.take();
        assert!(run_by == 11 || run_by == 110, "{run_by}");
        // The owner reuses the memory, as a later `join` would do.
        half.add(1);
        taker.join().unwrap();
    });
}

#[test]
fn the_owner_of_a_half_is_woken_by_its_name() {
    check(None, || {
        let offer = Arc::new((State::new(), Waiter::default()));
        let half = Lent::new();
        let taker = {
            let (offer, half) = (Arc::clone(&offer), Arc::clone(&half));
            thread::spawn(move || {
                if offer.0.take() {
                    half.add(1);
                    offer.0.end();
                    let owner: Option<Arc<Seat>> = offer.1.take();
                    owner.into_iter().for_each(|owner| owner.notify());
                }
            })
        };
        if offer.0.withdraw() {
            half.add(1);
        } else {
            let owner = Arc::new(Seat::default());
            offer.1.set(Arc::clone(&owner));
            owner.wait_until(|| offer.0.has_ended());
        }
        assert_eq!(half.take(), 1);
        taker.join().unwrap();
    });
}

#[test]
fn two_workers_do_not_both_take_a_half() {
    check(Some(3), || {
        let (offer, half) = (Arc::new(State::new()), Lent::new());
        let owner = Arc::new(Seat::default());
        let takers = [0; 2].map(|_| {
            let (offer, half, owner) = (Arc::clone(&offer), Arc::clone(&half), Arc::clone(&owner));
            thread::spawn(move || {
                if offer.take() {
                    half.add(1);
                    offer.end();
                    owner.notify();
                }
            })
        });
        if offer.withdraw() {
            half.add(1);
        } else {
            owner.wait_until(|| offer.has_ended());
        }
        assert_eq!(half.take(), 1);
        for taker in takers {
            taker.join().unwrap();
        }
    });
}

#[test]
fn an_offer_is_taken_once() {
    check(Some(3), || {
        let exchange = Arc::new(Exchange::new());
        let takers = [0; 2].map(|_| {
            let exchange = Arc::clone(&exchange);
            thread::spawn(move || {
                let taken: Option<std::sync::Arc<Lent>> = exchange.offer.take();
                taken.map_or(0, |offer| offer.take())
            })
        });
        let mut met = 0;
        for number in [1, 10] {
            let offer = std::sync::Arc::new(Lent(UnsafeCell::new(0)));
            offer.add(number);
            if let Err(offer) = exchange.offer.put(offer) {
                met += offer.take();
            }
        }
        met += takers
            .map(|taker| taker.join().unwrap())
            .iter()
            .sum::<u32>();
        met += exchange.offer.take().map_or(0, |offer| offer.take());
        assert_eq!(met, 11);
    });
}

/// Nested `join` calls.
#[test]
fn another_worker_offers_halves_while_the_owner_removes_them() {
    // The second half needs more room.
    offered_for_the_owner(Some(5), 1, [1, 0]);
}

/// The `join` calls of cooperative threads, which end in the order in which they began.
#[test]
fn another_worker_offers_halves_that_have_moved() {
    offered_for_the_owner(Some(3), 4, [0, 1, 2]);
}

/// An owner adds halves and removes them in an order. Another worker offers halves for the owner,
/// and runs what it has offered.
fn offered_for_the_owner<const N: usize>(switches: Option<usize>, room: usize, order: [usize; N]) {
    check(switches, move || {
        let job = Job::<N>::new(room);
        let other = {
            let job = Arc::clone(&job);
            thread::spawn(move || (0..N).for_each(|_| job.run_offered(job.offer())))
        };
        let places: [usize; N] = std::array::from_fn(|half| job.halves.add(half, || ()));
        order
            .into_iter()
            .for_each(|half| job.end(half, places[half]));
        assert!(!job.halves.has_private());
        other.join().unwrap();
    });
}

/// The owner leaves its job out of the list of its jobs while the job has no half to offer. Another
/// worker offers halves only of a job in the list.
#[test]
fn a_job_with_a_half_to_offer_is_in_the_list() {
    check(Some(3), || {
        let (job, is_listed) = (Job::<2>::new(2), Arc::new(Mutex::new(true)));
        let other = {
            let (job, is_listed) = (Arc::clone(&job), Arc::clone(&is_listed));
            thread::spawn(move || {
                for _ in 0..2 {
                    let is_listed = is_listed.lock().unwrap();
                    let offered = is_listed.then(|| job.offer()).flatten();
                    drop(is_listed);
                    job.run_offered(offered);
                }
            })
        };
        let shorten = || {
            let mut is_listed = is_listed.lock().unwrap();
            *is_listed = *is_listed && !job.halves.leave_out();
            assert_eq!(*is_listed, job.halves.has_private());
        };
        for half in 0..2 {
            let list = || *is_listed.lock().unwrap() = true;
            let place = job.halves.add(half, list);
            shorten();
            job.end(half, place);
            shorten();
        }
        other.join().unwrap();
    });
}

/// The halves of a job with `N` joins, and what the halves use.
struct Job<const N: usize> {
    halves: Halves<usize, Arc<(State, usize)>>,
    lent: [Arc<Lent>; N],
    owner: Seat,
}

// SAFETY: the other worker calls `offer` and `run_offered` alone.
unsafe impl<const N: usize> Send for Job<N> {}
// SAFETY: as above.
unsafe impl<const N: usize> Sync for Job<N> {}

impl<const N: usize> Job<N> {
    fn new(room: usize) -> Arc<Self> {
        Arc::new(Self {
            halves: Halves::with_room(room),
            lent: std::array::from_fn(|_| Lent::new()),
            owner: Seat::default(),
        })
    }

    /// Offers the oldest half, on another worker.
    fn offer(&self) -> Option<Arc<(State, usize)>> {
        let offer = |half| Arc::new((State::new(), half));
        // SAFETY: the job is alive, and its owner is another thread.
        unsafe { Halves::offer_oldest(&raw const self.halves, false, offer) }
    }

    /// Runs a half that the owner has not taken back, on another worker.
    fn run_offered(&self, offered: Option<Arc<(State, usize)>>) {
        if let Some(offer) = offered
            && offer.0.take()
        {
            self.lent[offer.1].add(1);
            offer.0.end();
            self.owner.notify();
        }
    }

    /// Ends a join as its owner: removes the half, and runs it or waits for it.
    fn end(&self, half: usize, place: usize) {
        if !self.halves.remove_newest(place)
            && let Some(offer) = self.halves.remove(|it| it == half)
            && !offer.0.withdraw()
        {
            assert_eq!(offer.1, half);
            self.owner.wait_until(|| offer.0.has_ended());
        } else {
            self.lent[half].add(1);
        }
        // The half was run once, and its memory is used for another purpose.
        assert_eq!(self.lent[half].take(), 1);
    }
}

struct Scope {
    count: Count,
    owner: Seat,
    written: [Arc<Lent>; 2],
    /// The memory of the scope. After the owner has freed it, no thread may access the count.
    state: Arc<Lent>,
}

impl Scope {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            count: Count::new(),
            owner: Seat::default(),
            written: [Lent::new(), Lent::new()],
            state: Lent::new(),
        })
    }

    fn wait(&self) {
        // SAFETY: only the owner calls this.
        if !unsafe { self.count.begin_to_wait() } {
            self.owner.wait_until(|| self.count.is_zero());
        }
        assert!(self.count.is_zero());
        let _: u32 = self.state.take();
        for written in &self.written {
            assert_eq!(written.take(), 1);
        }
    }

    fn end(&self, tasks: isize) {
        if self.count.end(tasks) {
            self.owner.notify();
        }
    }
}

#[test]
fn the_owner_of_a_scope_waits_for_tasks_that_end_on_two_workers() {
    check(Some(3), || {
        let scope = Scope::new();
        // SAFETY: this thread is the owner.
        unsafe { scope.count.start_by_owner() };
        // SAFETY: as above.
        unsafe { scope.count.start_by_owner() };
        let workers = [0, 1].map(|task| {
            let scope = Arc::clone(&scope);
            thread::spawn(move || {
                scope.written[task].add(1);
                scope.end(1);
            })
        });
        scope.wait();
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

/// A worker counts the end of two tasks in one call.
#[test]
fn the_owner_of_a_scope_waits_for_tasks_that_are_handed_in_together() {
    check(None, || {
        let scope = Scope::new();
        let worker = {
            // SAFETY: this thread is the owner.
            unsafe { scope.count.start_by_owner() };
            let scope = Arc::clone(&scope);
            thread::spawn(move || {
                // The first task starts the second task.
                scope.count.start();
                scope.written[0].add(1);
                scope.written[1].add(1);
                scope.end(2);
            })
        };
        scope.wait();
        worker.join().unwrap();
    });
}

/// The first task starts the second task, which may end before the first task.
#[test]
fn the_owner_of_a_scope_waits_for_tasks_that_tasks_start() {
    check(Some(3), || {
        let scope = Scope::new();
        // SAFETY: this thread is the owner.
        unsafe { scope.count.start_by_owner() };
        let first = {
            let scope = Arc::clone(&scope);
            thread::spawn(move || {
                scope.count.start();
                let second = {
                    let scope = Arc::clone(&scope);
                    thread::spawn(move || {
                        scope.written[1].add(1);
                        scope.end(1);
                    })
                };
                scope.written[0].add(1);
                scope.end(1);
                second.join().unwrap();
            })
        };
        scope.wait();
        first.join().unwrap();
    });
}

/// A model of a queue, or of the room for an offer. Its operations do not order other memory
/// accesses, because a check of the length of the real deque orders none.
#[derive(Default)]
struct Queue(AtomicUsize);

impl Queue {
    fn push(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    fn pop(&self) -> bool {
        let less = |jobs: usize| jobs.checked_sub(1);
        let popped = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        popped.is_ok()
    }
}

struct Workers {
    sleepers: Sleepers,
    queue: Queue,
    seats: [Seat; 3],
}

impl Workers {
    fn new(groups: &[usize]) -> Arc<Self> {
        Arc::new(Self {
            sleepers: Sleepers::new(groups),
            queue: Queue::default(),
            seats: Default::default(),
        })
    }

    /// Waits for a job and takes it, as `WorkerProgram::next` does.
    fn take(&self, worker: usize) {
        while !self.queue.pop() {
            self.seats[worker].wait_until(|| {
                let is_there = || !self.queue.is_empty();
                is_there() || (self.sleepers.lie_down(worker) && is_there())
            });
            self.sleepers.get_up(worker);
        }
    }

    /// Adds a job and wakes a worker, as `WorkerProgram::push` does.
    fn push(&self, order: &[usize]) {
        self.queue.push();
        if self.sleepers.are_there()
            && let Some(worker) = self.sleepers.one_to_wake(order.iter().copied())
        {
            self.seats[worker].notify();
        }
    }
}

#[test]
fn a_worker_does_not_sleep_while_there_is_a_job() {
    check(None, || {
        let workers = Workers::new(&[0]);
        let worker = {
            let workers = Arc::clone(&workers);
            thread::spawn(move || workers.take(0))
        };
        workers.push(&[0]);
        worker.join().unwrap();
        assert!(workers.queue.is_empty());
        assert_eq!(workers.sleepers.asleep(), 0, "workers lie");
    });
}

#[test]
fn a_worker_that_was_woken_sleeps_and_is_woken_again() {
    check(Some(3), || {
        let workers = Workers::new(&[0]);
        let worker = {
            let workers = Arc::clone(&workers);
            thread::spawn(move || {
                workers.take(0);
                workers.take(0);
            })
        };
        workers.push(&[0]);
        workers.push(&[0]);
        worker.join().unwrap();
        assert_eq!(workers.sleepers.asleep(), 0, "workers lie");
    });
}

#[test]
fn two_jobs_wake_two_workers() {
    check(Some(2), || {
        let workers = Workers::new(&[0, 1]);
        let threads = [0, 1].map(|worker| {
            let workers = Arc::clone(&workers);
            thread::spawn(move || workers.take(worker))
        });
        workers.push(&[0, 1]);
        workers.push(&[0, 1]);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(workers.sleepers.asleep(), 0, "workers lie");
    });
}

#[test]
fn a_worker_beside_a_busy_one_is_not_woken_in_place_of_another() {
    check(None, || {
        let workers = Workers::new(&[0, 0, 1]);
        let other = {
            let workers = Arc::clone(&workers);
            thread::spawn(move || workers.take(2))
        };
        // The worker 0 sleeps, and the worker 1 of the same OS thread starts a job.
        assert!(workers.sleepers.lie_down(0));
        workers.push(&[0, 2]);
        other.join().unwrap();
        assert_eq!(workers.sleepers.asleep(), 0, "workers lie");
    });
}

#[test]
fn a_group_of_workers_does_not_sleep_while_there_is_a_job() {
    check(None, || {
        let workers = Workers::new(&[0, 0]);
        let group = {
            let workers = Arc::clone(&workers);
            thread::spawn(move || {
                let (sleepers, queue) = (&workers.sleepers, &workers.queue);
                while !queue.pop() {
                    workers.seats[0].wait_until(|| {
                        let looks = |worker| sleepers.lie_down(worker) && !queue.is_empty();
                        !queue.is_empty() || looks(0) || looks(1)
                    });
                }
                sleepers.get_up(0);
                sleepers.get_up(1);
            })
        };
        workers.queue.push();
        if workers.sleepers.are_there() && workers.sleepers.one_to_wake([0, 1]).is_some() {
            // The workers share an OS thread.
            workers.seats[0].notify();
        }
        group.join().unwrap();
        assert_eq!(workers.sleepers.asleep(), 0, "workers lie");
    });
}

#[test]
fn the_main_program_does_not_sleep_while_there_is_room() {
    check(None, || {
        let room = Arc::new((FreshRoom::new(), Queue::default(), Seat::default()));
        room.1.push();
        let worker = {
            let room = Arc::clone(&room);
            thread::spawn(move || {
                let (room, fresh, main) = &*room;
                assert!(fresh.pop());
                if room.is_waited_for() && fresh.is_empty() {
                    main.notify();
                }
            })
        };
        let (room, fresh, main) = &*room;
        room.begin_to_wait();
        main.wait_until(|| fresh.is_empty());
        room.end_to_wait();
        worker.join().unwrap();
    });
}

/// The owner of the halves of `join` calls, and other workers that ask it for halves.
struct Joins {
    workers: Arc<Workers>,
    /// The number of workers.
    number: usize,
    request: Request,
    is_closed: AtomicBool,
}

impl Joins {
    fn new(workers: usize) -> Arc<Self> {
        Arc::new(Self {
            workers: Workers::new(&[0, 1][..workers]),
            number: workers,
            request: Request::new(),
            is_closed: AtomicBool::new(false),
        })
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Looks for a job as `WorkerProgram::has_job_or_asks` does.
    fn has_job_or_asks(&self, worker: usize) -> bool {
        let is_there = !self.workers.queue.is_empty();
        if !is_there {
            self.request.ask(worker);
        }
        is_there
    }

    /// Takes the request of a worker back, which has a job, as `Requests::take_back` does.
    fn take_back(&self, worker: usize) {
        let others = (0..self.number).filter(|&other| other != worker);
        let do_others_sleep = || self.workers.sleepers.are_among(others);
        self.request.take_back(worker, do_others_sleep);
    }

    /// Runs `jobs` jobs as `WorkerProgram::next` does, the last of which is long. Returns earlier
    /// if the pool is closed.
    fn run_jobs(&self, worker: usize, jobs: usize) {
        let (sleepers, seat) = (&self.workers.sleepers, &self.workers.seats[worker]);
        for _ in 0..jobs {
            while !self.workers.queue.pop() {
                let lies_down = || sleepers.lie_down(worker);
                seat.wait_until(|| {
                    let is_there = || self.has_job_or_asks(worker);
                    self.is_closed() || is_there() || (lies_down() && is_there())
                });
                sleepers.get_up(worker);
                if self.is_closed() {
                    return;
                }
            }
            self.take_back(worker);
        }
        seat.runs_a_long_job();
    }

    /// Runs a `join` of the owner as `Worker::join` does. The owner has a half to offer, or not.
    fn join(&self, order: &[usize], has_half: bool) {
        if self.request.is_asked() {
            let offer = || {
                if has_half {
                    self.workers.push(order);
                }
                has_half
            };
            let others = order.iter().copied();
            self.request
                .answer(offer, || self.workers.sleepers.are_among(others));
        }
    }

    /// Waits until no worker does anything that the model sees. Then, if a worker sleeps, the next
    /// `join` must offer a half, or the worker would sleep until the end.
    fn check_and_close(&self, workers: usize) {
        let seats = &self.workers.seats[..workers];
        let sleeping = seats.iter().filter(|seat| seat.comes_to_sleep()).count();
        assert!(
            sleeping == 0 || self.request.is_asked() || !self.workers.queue.is_empty(),
            "{sleeping} workers sleep, and the owner does not know it"
        );
        self.is_closed.store(true, Ordering::Relaxed);
        seats.iter().for_each(Seat::notify);
    }
}

/// The number of a worker that has asked before the model begins.
const EARLIER: usize = 2;

/// Runs workers that each take up to `jobs` jobs, and an owner that calls `join` for each of
/// `halves`, which says whether the owner has a half to offer. The first `asleep` workers sleep
/// before the first `join`. Of an earlier worker, which has found a job since, a request is left:
/// loom does not find each order of a first load by one thread, and a load and a store by another.
fn check_joins(
    preemptions: Option<usize>,
    jobs: &'static [usize],
    asleep: usize,
    halves: &'static [bool],
) {
    check(preemptions, move || {
        let joins = Joins::new(jobs.len());
        joins.request.ask(EARLIER);
        let workers: Vec<_> = jobs
            .iter()
            .enumerate()
            .map(|(worker, &jobs)| {
                let joins = Arc::clone(&joins);
                thread::spawn(move || joins.run_jobs(worker, jobs))
            })
            .collect();
        for seat in &joins.workers.seats[..asleep] {
            assert!(seat.comes_to_sleep());
        }
        let order: Vec<usize> = (0..jobs.len()).collect();
        halves.iter().for_each(|half| joins.join(&order, *half));
        joins.check_and_close(jobs.len());
        for worker in workers {
            worker.join().unwrap();
        }
    });
}

/// The worker may end the half, look again and lie down while the owner still answers its first
/// request.
#[test]
fn a_worker_that_ends_a_half_quickly_is_given_another() {
    check_joins(None, &[2], 1, &[true]);
}

#[test]
fn a_worker_that_asks_when_there_is_no_half_is_given_a_later_one() {
    check_joins(None, &[2], 1, &[false, true]);
}

/// Each request is for one of the workers, and the half that is offered may be taken by the other
/// worker, which then runs it for long.
#[test]
fn two_workers_that_ask_one_owner_are_both_given_a_half() {
    check_joins(Some(2), &[1, 1], 2, &[true, true]);
}

/// The worker that lies down may find the request of the other worker, which the owner then
/// forgets.
#[test]
fn a_worker_that_lies_down_during_an_answer_to_another_is_given_a_half() {
    check_joins(Some(2), &[1, 1], 1, &[true]);
}

#[test]
fn two_workers_that_lie_down_during_an_answer_are_both_given_a_half() {
    check_joins(Some(2), &[1, 1], 0, &[true]);
}
