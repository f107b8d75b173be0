//! Runs a model in many schedules. Loom runs all schedules up to a number of preemptions, with all
//! values that a load may return. Shuttle runs a sample, with sequential consistency only.

#[cfg(loom)]
pub(super) use self::exhaustive::check;
#[cfg(shuttle)]
pub(super) use self::sampled::check;

#[cfg(loom)]
mod exhaustive {
    pub(crate) fn check(preemptions: Option<usize>, model: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = preemptions;
        builder.max_branches = 20_000;
        builder.check(model);
    }
}

#[cfg(shuttle)]
mod sampled {
    use std::sync::Arc;

    use shuttle::scheduler::{
        DataSource, PctScheduler, RandomDataSource, RandomScheduler, Schedule, Scheduler, Task,
        TaskId,
    };
    use shuttle::{Config, MaxSteps, Runner};

    /// The number of schedules for each scheduler in `kinds`, unless `CELLWORKS_SCHEDULES` is set.
    const SCHEDULES: usize = 300;

    /// The most steps of a model. A model with more steps fails, because it probably never ends.
    const MOST_STEPS: usize = 100_000;

    /// Runs a model in random schedules, schedules with few preemptions, and [`TimeSlices`].
    pub(crate) fn check(_: Option<usize>, model: impl Fn() + Sync + Send + 'static) {
        let schedules = match std::env::var("CELLWORKS_SCHEDULES") {
            Ok(number) => number
                .parse()
                .expect("CELLWORKS_SCHEDULES is a number of schedules"),
            Err(_) => SCHEDULES,
        };
        let mut config = Config::new();
        config.stack_size = 1 << 17;
        config.max_steps = MaxSteps::FailAfter(MOST_STEPS);
        // Shuttle warns that it checks only sequential consistency. Loom checks other orders.
        config.silence_warnings = true;
        let model = Arc::new(model);
        let kinds: [Box<dyn Scheduler + Send>; 3] = [
            Box::new(RandomScheduler::new(schedules)),
            Box::new(PctScheduler::new(4, schedules)),
            Box::new(TimeSlices::new(schedules)),
        ];
        for scheduler in kinds {
            let model = Arc::clone(&model);
            Runner::new(scheduler, config.clone()).run(move || model());
        }
    }

    /// Schedules that begin at random and then repeat a short list of time slices: the threads run
    /// in turns, each for the number of steps of its slice. If two threads can hinder each other
    /// for ever, they do so in one of these schedules, but not in a random one.
    ///
    /// After a yield, the next thread runs for a random number of steps. Otherwise a polling thread
    /// could have a channel's lock each time when another thread tries to take it.
    struct TimeSlices {
        schedules: usize,
        random: RandomDataSource,
        random_steps: u64,
        slices: Vec<u64>,
        slice: usize,
        /// The number of remaining steps of the current slice.
        left: u64,
    }

    impl TimeSlices {
        fn new(schedules: usize) -> Self {
            Self {
                schedules,
                random: RandomDataSource::initialize(0x9E37_79B9_7F4A_7C15),
                random_steps: 0,
                slices: Vec::new(),
                slice: 0,
                left: 0,
            }
        }

        fn below(&mut self, end: u64) -> u64 {
            self.random.next_u64() % end
        }
    }

    impl Scheduler for TimeSlices {
        fn new_execution(&mut self) -> Option<Schedule> {
            self.schedules = self.schedules.checked_sub(1)?;
            let schedule = Schedule::new(self.random.reinitialize());
            self.random_steps = self.below(100);
            let slices = 1 + self.below(4);
            let longest = 1 << self.below(7);
            self.slices = (0..slices).map(|_| 1 + self.below(longest)).collect();
            self.left = 0;
            Some(schedule)
        }

        fn next_task(
            &mut self,
            runnable: &[&Task],
            current: Option<TaskId>,
            is_yielding: bool,
        ) -> Option<TaskId> {
            if self.random_steps > 0 {
                self.random_steps -= 1;
                let index = self.below(runnable.len() as u64);
                return Some(runnable[index as usize].id());
            }
            let is_runnable = |task: &TaskId| runnable.iter().any(|other| other.id() == *task);
            if self.left > 0
                && !is_yielding
                && let Some(current) = current.filter(is_runnable)
            {
                self.left -= 1;
                return Some(current);
            }
            self.slice = (self.slice + 1) % self.slices.len();
            self.left = if is_yielding {
                self.below(10)
            } else {
                self.slices[self.slice] - 1
            };
            let next = runnable.iter().find(|task| Some(task.id()) > current);
            Some(next.unwrap_or(&runnable[0]).id())
        }

        fn next_u64(&mut self) -> u64 {
            self.random.next_u64()
        }
    }
}
