//! The clock of a run and its queue of events, a part of [`World`](crate::world::World).

use std::cell::{Cell, RefCell, RefMut};

use crate::queue::{Event, Queue};
use crate::time::Moment;

pub(crate) struct Clock {
    now: Cell<Moment>,
    limit: Moment,
    queue: RefCell<Queue>,
    handled: Cell<u64>,
}

impl Clock {
    pub fn new(seed: u64, limit: Moment) -> Self {
        Self {
            now: Cell::default(),
            limit,
            queue: RefCell::new(Queue::new(seed)),
            handled: Cell::new(0),
        }
    }

    #[inline]
    pub fn now(&self) -> Moment {
        self.now.get()
    }

    #[inline]
    pub fn limit(&self) -> Moment {
        self.limit
    }

    pub fn handled(&self) -> u64 {
        self.handled.get()
    }

    #[inline(always)]
    pub fn plan(&self, time: Moment, event: Event) {
        self.queue.borrow_mut().push(time, event);
    }

    /// Queues an event for the present time, after those already queued for this time.
    #[inline]
    pub fn plan_now(&self, event: Event) {
        self.plan(self.now.get(), event);
    }

    /// Sets the clock to `until` if no event comes before or at `until` and `until` is within the
    /// time limit. Otherwise queues `event` for `until`. Returns whether the clock was set.
    #[inline(always)]
    pub fn jump_or_plan(&self, until: Moment, event: impl FnOnce() -> Event) -> bool {
        let mut queue = self.queue.borrow_mut();
        let is_alone = queue.next_time().is_none_or(|next| next > until);
        let jumps = is_alone && until <= self.limit;
        if jumps {
            self.now.set(until);
        } else {
            queue.push(until, event());
        }
        jumps
    }

    /// Removes the next event and returns it with its time. Does not set the clock.
    #[inline]
    pub fn take_next(&self) -> Option<(Moment, Event)> {
        self.queue.borrow_mut().pop()
    }

    /// Sets the clock to the time of an event, and counts the event as handled.
    #[inline(always)]
    pub fn handle_at(&self, time: Moment) {
        self.now.set(time);
        self.handled.set(self.handled.get() + 1);
    }

    /// Borrows the queue of events, so that the fabric can add events.
    #[inline]
    pub fn queue(&self) -> RefMut<'_, Queue> {
        self.queue.borrow_mut()
    }

    pub fn forget_events(&self) {
        self.queue.borrow_mut().clear();
    }
}
