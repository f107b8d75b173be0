//! Notes on programs that only poll: a run in which nothing else happens probably never ends.
//!
//! A program that polls looks like one that works. So each part of a run says when it does
//! something else, and one that polls for long looks whether any part did. The note comes by the
//! clock of this computer, once in a run: on a simulated machine, too, a user waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long nothing may happen but polling.
const LIMIT: Duration = Duration::from_secs(2);

/// What the time between two polls counts at most. So a note needs 16 timed polls in a row: a few
/// long sleeps are no polling, nor is a stop of the whole process.
const STEP: Duration = Duration::from_millis(125);

/// The polls in a row before the clock is read, which takes as long as a poll.
const UNTIMED: u32 = 8;

/// The slices of computing in a row that may be of one loop which polls memory: it says so after a
/// number of turns.
const SLICES: u32 = 256;

/// What all parts of a run have done.
#[derive(Default)]
pub(super) struct Deeds {
    /// A number that grows while some part does something.
    count: AtomicU64,
    has_said: AtomicBool,
    has_said_of_dma: AtomicBool,
}

impl Deeds {
    /// Returns whether this is the first program that has ended with DMA under way.
    pub(super) fn is_first_with_dma(&self) -> bool {
        !self.has_said_of_dma.swap(true, Ordering::Relaxed)
    }
}

/// The view of one thread or SPE program.
pub(super) struct Patience {
    deeds: Arc<Deeds>,
    /// The number when this part last looked.
    seen: u64,
    /// The polls since the number has changed.
    polls: u32,
    /// When this part has polled last, if the clock was read.
    looked: Option<Instant>,
    /// The next slices of computing that may be of a loop that polls.
    slices: u32,
    /// How long nothing but polling has happened.
    polling: Duration,
    /// Whether it has done something else since its last poll.
    has_acted: bool,
    /// The number of the loop in which it has polled memory last.
    polled: u32,
}

impl Patience {
    pub(super) fn new(deeds: &Arc<Deeds>) -> Self {
        Self {
            deeds: Arc::clone(deeds),
            seen: 0,
            polls: 0,
            looked: None,
            slices: 0,
            polling: Duration::ZERO,
            has_acted: false,
            polled: 0,
        }
    }

    /// Notes that this part has done something else than to poll.
    pub(super) fn acts(&mut self) {
        (self.slices, self.has_acted) = (0, true);
        self.deeds.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that this part has computed for a slice of time: perhaps in a loop that polls.
    pub(super) fn computes(&mut self) {
        match self.slices.checked_sub(1) {
            Some(left) => self.slices = left,
            None => self.acts(),
        }
    }

    /// Notes a poll of memory in the loop with this number, which is another one if the loop has
    /// begun again. Returns as [`polls`](Self::polls) does.
    pub(super) fn polls_in(&mut self, begun: u32) -> bool {
        if std::mem::replace(&mut self.polled, begun) != begun {
            self.acts();
        }
        let is_long = self.polls();
        self.slices = SLICES;
        is_long
    }

    /// Notes a poll. Returns true, once in a run, if nothing but polling has happened for long.
    pub(super) fn polls(&mut self) -> bool {
        self.slices = 1;
        let count = self.deeds.count.load(Ordering::Relaxed);
        if std::mem::take(&mut self.has_acted) || count != self.seen {
            (self.seen, self.polls) = (count, 0);
            (self.looked, self.polling) = (None, Duration::ZERO);
            return false;
        }
        if self.polls < UNTIMED {
            self.polls += 1;
            return false;
        }
        let now = Instant::now();
        if let Some(before) = self.looked.replace(now) {
            self.polling += now.duration_since(before).min(STEP);
        }
        self.polling >= LIMIT && !self.deeds.has_said.swap(true, Ordering::Relaxed)
    }
}

/// Returns the note on a program that polls `what` at `place`.
pub(super) fn note(who: &str, what: &str, place: &str) -> String {
    format!(
        "for {} s nothing has happened but polling: {who} polls {what} at {place}, and no other program or thread does \
         anything; `--machine ps3 --limit 100ms` ends such a run",
        LIMIT.as_secs()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_part_does_is_seen_by_the_others() {
        let deeds = Arc::new(Deeds::default());
        let (mut one, mut other) = (Patience::new(&deeds), Patience::new(&deeds));
        for _ in 0..3 {
            let before = deeds.count.load(Ordering::Relaxed);
            one.acts();
            one.acts();
            assert!(deeds.count.load(Ordering::Relaxed) > before);
            assert!(!other.polls());
        }
        // A slice of a loop that polls is none of work.
        let before = deeds.count.load(Ordering::Relaxed);
        other.polls();
        other.computes();
        assert_eq!(deeds.count.load(Ordering::Relaxed), before);
        other.computes();
        other.computes();
        assert!(deeds.count.load(Ordering::Relaxed) > before);
    }

    #[test]
    fn a_loop_that_has_begun_again_has_done_something() {
        let deeds = Arc::new(Deeds::default());
        let mut one = Patience::new(&deeds);
        let count = || deeds.count.load(Ordering::Relaxed);
        one.polls_in(1);
        let before = count();
        one.polls_in(1);
        (0..SLICES).for_each(|_| one.computes());
        assert_eq!(count(), before);
        one.computes();
        assert_eq!(count(), before + 1);
        one.polls_in(1);
        assert_eq!(count(), before + 1);
        one.polls_in(2);
        assert_eq!(count(), before + 2);
    }

    /// Polls once for each step of a time.
    fn polls_for(one: &mut Patience, steps: usize) -> Vec<bool> {
        let steps = (0..steps).map(|_| std::thread::sleep(STEP));
        steps.map(|()| one.polls()).collect()
    }

    #[test]
    fn a_note_comes_once_and_late() {
        let deeds = Arc::new(Deeds::default());
        let (mut one, mut other) = (Patience::new(&deeds), Patience::new(&deeds));
        let at_once = |one: &mut Patience| (0..=UNTIMED).any(|_| one.polls());
        assert!(!at_once(&mut one));
        assert!(!polls_for(&mut one, 14).contains(&true));
        other.acts();
        assert!(!one.polls() && !at_once(&mut one));
        assert!(!polls_for(&mut one, 15).contains(&true), "too few");
        assert_eq!(polls_for(&mut one, 1), [true]);
        assert!(!other.polls() && !at_once(&mut other));
        for polling in [&mut one, &mut other] {
            assert!(!polls_for(polling, 17).contains(&true), "twice");
        }
    }

    #[test]
    fn a_stop_of_the_process_is_no_polling() {
        let mut one = Patience::new(&Arc::new(Deeds::default()));
        assert!((0..=UNTIMED).all(|_| !one.polls()));
        std::thread::sleep(LIMIT + STEP);
        assert!((0..8).all(|_| !one.polls()));
    }
}
