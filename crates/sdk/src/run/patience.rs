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

/// The polls in a row that a note needs: a few long sleeps are none.
const POLLS: u32 = 16;

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
    /// The number when this part last looked, and when that was.
    seen: u64,
    since: Instant,
    has_polled: bool,
    /// The polls since then.
    polls: u32,
    /// Whether it has done something else since its last poll.
    has_acted: bool,
}

impl Patience {
    pub(super) fn new(deeds: &Arc<Deeds>) -> Self {
        Self {
            deeds: Arc::clone(deeds),
            seen: 0,
            since: Instant::now(),
            has_polled: false,
            polls: 0,
            has_acted: false,
        }
    }

    /// Notes that this part has done something else than to poll.
    pub(super) fn acts(&mut self) {
        (self.has_polled, self.has_acted) = (false, true);
        let now = self.deeds.count.load(Ordering::Relaxed);
        if now == self.seen {
            // Others need not count while one does.
            self.deeds.count.fetch_add(1, Ordering::Relaxed);
        }
        self.seen = now;
    }

    /// Notes that this part has computed for a slice of time: perhaps in a loop that polls.
    pub(super) fn computes(&mut self) {
        if !std::mem::take(&mut self.has_polled) {
            self.acts();
        }
    }

    /// Notes a poll. Returns true, once in a run, if nothing but polling has happened for long.
    pub(super) fn polls(&mut self) -> bool {
        self.has_polled = true;
        let now = self.deeds.count.load(Ordering::Relaxed);
        if std::mem::take(&mut self.has_acted) || now != self.seen {
            (self.seen, self.since, self.polls) = (now, Instant::now(), 0);
            return false;
        }
        self.polls += 1;
        self.polls >= POLLS
            && self.since.elapsed() > LIMIT
            && !self.deeds.has_said.swap(true, Ordering::Relaxed)
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
    fn a_note_comes_once_and_late() {
        let deeds = Arc::new(Deeds::default());
        let (mut one, mut other) = (Patience::new(&deeds), Patience::new(&deeds));
        assert!(!one.polls() && !other.polls());
        std::thread::sleep(LIMIT + Duration::from_millis(1));
        other.acts();
        other.acts();
        assert!(!one.polls() && !other.polls());
        std::thread::sleep(LIMIT + Duration::from_millis(1));
        assert!((1..POLLS).all(|_| !one.polls()), "too few");
        assert!(one.polls());
        assert!((0..2 * POLLS).all(|_| !one.polls() && !other.polls()));
    }
}
