//! The OS threads of the workers of a host. When a run has ended, they wait for the next run,
//! because it takes longer to start and end an OS thread than to wake one: for a pool of two workers
//! that runs one empty task, 330 us instead of 50 (two CPUs of a Xeon, with stacks that are kept, too).

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use crossbeam_utils::Backoff;

use crate::run::lock;

/// The waiting OS threads of a host, by worker. Dropping this value ends them.
pub(crate) struct Crew {
    waiting: Box<[Mutex<Vec<Member>>]>,
}

/// What a worker does in a run.
type Work = Box<dyn FnOnce() + Send>;

/// An OS thread.
struct Member {
    desk: Arc<Desk>,
    thread: JoinHandle<()>,
}

/// What an OS thread and its host tell each other.
#[derive(Default)]
struct Desk {
    order: Mutex<Option<Order>>,
    /// Notified when there is an order, and when work has ended.
    changed: Condvar,
    has_ended: AtomicBool,
}

enum Order {
    Work(Work),
    Leave,
}

/// An OS thread that works in a run.
pub(crate) struct Working(Member);

impl Crew {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            waiting: (0..workers).map(|_| Mutex::default()).collect(),
        }
    }

    /// Has an OS thread of a worker do `work`: one that waits, or else a new one with this name.
    pub(crate) fn begin(&self, worker: usize, name: String, work: Work) -> io::Result<Working> {
        let waiting = lock(&self.waiting[worker]).pop();
        let member = waiting.map_or_else(|| Member::start(name), Ok)?;
        member.desk.has_ended.store(false, Ordering::Relaxed);
        member.desk.give(Order::Work(work));
        Ok(Working(member))
    }

    /// Waits until the OS thread of a worker has ended its work. It then waits for the next run.
    pub(crate) fn end(&self, worker: usize, Working(member): Working) {
        member.desk.wait_for_end();
        lock(&self.waiting[worker]).push(member);
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        let all = || {
            self.waiting
                .iter()
                .flat_map(|of_worker| std::mem::take(&mut *lock(of_worker)))
        };
        let leaving: Vec<Member> = all()
            .inspect(|member| member.desk.give(Order::Leave))
            .collect();
        for member in leaving {
            // A member catches all panics.
            drop(member.thread.join());
        }
    }
}

impl Member {
    fn start(name: String) -> io::Result<Self> {
        let desk = Arc::new(Desk::default());
        let of_thread = Arc::clone(&desk);
        let thread = Builder::new().name(name).spawn(move || {
            while let Order::Work(work) = of_thread.wait_for_order() {
                let result = catch_unwind(AssertUnwindSafe(work));
                // The work has reported its panics. The payload may have a destructor that panics.
                std::mem::forget(result);
                of_thread.end_work();
            }
        })?;
        Ok(Self { desk, thread })
    }
}

impl Desk {
    fn give(&self, order: Order) {
        *lock(&self.order) = Some(order);
        self.changed.notify_all();
    }

    fn wait_for_order(&self) -> Order {
        let mut order = lock(&self.order);
        loop {
            if let Some(order) = order.take() {
                return order;
            }
            order = wait(&self.changed, order);
        }
    }

    fn end_work(&self) {
        let order = lock(&self.order);
        self.has_ended.store(true, Ordering::Release);
        drop(order);
        self.changed.notify_all();
    }

    /// Waits until the work has ended. Spins first, because all workers end at about the same time.
    fn wait_for_end(&self) {
        let backoff = Backoff::new();
        let has_ended = || self.has_ended.load(Ordering::Acquire);
        while !has_ended() && !backoff.is_completed() {
            backoff.snooze();
        }
        let mut order = lock(&self.order);
        while !has_ended() {
            order = wait(&self.changed, order);
        }
    }
}

fn wait<'a, T>(changed: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    changed.wait(guard).unwrap_or_else(PoisonError::into_inner)
}
