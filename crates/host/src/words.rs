//! The mailboxes and signal registers of an SPE, which exchange words with other processors.
//!
//! A message between two cores takes about as long as moving the cache lines that it changes. Words
//! in the same direction share a cache line, so an exchange moves one line each way.
//!
//! ```text
//!   inward:   4 inbound slots, read count of each outbound mailbox     others write, the SPE reads
//!   outward:  2 outbound slots, read count of the inbound mailbox      the SPE writes, others read
//!   writers:  the next inbound slot                                    only writers read and write
//!   signal 1, signal 2                                                 one line each
//! ```
//!
//! A slot holds a word together with its sequence number, from 1 on, so that one load shows whether
//! the word is new. Sequence numbers wrap after 2^32 words.

// Rejected: waking the thread that waits for a word. Writers would need to identify the thread.
// Rejected: a reader that wakes all writers whenever it finds the mailbox full, instead of counting
// the waiting writers (`announce_writer`). If the mailbox is full only between two checks of the
// reader, the reader would not wake the writers that wait since then.

use cellworks_machine::mailbox::{INBOUND_WORDS, Outbound};
use cellworks_machine::{SignalMode, SignalRegister, barrier};
use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// The mailboxes and signal registers of one SPE.
pub(crate) struct Words {
    inward: CachePadded<Inward>,
    outward: CachePadded<Outward>,
    writers: CachePadded<Writers>,
    signals: [CachePadded<Signal>; 2],
}

struct Inward {
    slots: [AtomicU64; INBOUND_WORDS],
    out_read: [AtomicU32; 2],
}

struct Outward {
    slots: [AtomicU64; 2],
    in_read: AtomicU32,
    /// The number of writers that wait for room in the inbound mailbox.
    waiting_writers: AtomicU32,
}

struct Writers {
    /// The number of words for which a writer has reserved a slot.
    written: AtomicU32,
    /// A possibly older value of `in_read`. Writers read this copy first, because the SPE changes
    /// the cache line of `in_read` at each read.
    in_read_seen: AtomicU32,
}

struct Signal {
    /// The word in the lower half, and the flag [`SIGNALLED`] in the upper half.
    word: AtomicU64,
    /// 1 in OR mode, otherwise 0.
    or_mode: AtomicU32,
}

const SIGNALLED: u64 = 1 << 32;

fn slot(number: u32, word: u32) -> u64 {
    u64::from(number) << 32 | u64::from(word)
}

fn number(slot: u64) -> u32 {
    (slot >> 32) as u32
}

impl Words {
    pub(crate) fn new() -> Self {
        let signal = || {
            CachePadded::new(Signal {
                word: AtomicU64::new(0),
                or_mode: AtomicU32::new(0),
            })
        };
        Self {
            inward: CachePadded::new(Inward {
                slots: std::array::from_fn(|_| AtomicU64::new(0)),
                out_read: std::array::from_fn(|_| AtomicU32::new(0)),
            }),
            outward: CachePadded::new(Outward {
                slots: std::array::from_fn(|_| AtomicU64::new(0)),
                in_read: AtomicU32::new(0),
                waiting_writers: AtomicU32::new(0),
            }),
            writers: CachePadded::new(Writers {
                written: AtomicU32::new(0),
                in_read_seen: AtomicU32::new(0),
            }),
            signals: [signal(), signal()],
        }
    }

    /// Lets any processor put a word into the inbound mailbox. Returns false if there is no room.
    #[inline]
    pub(crate) fn write_in(&self, word: u32) -> bool {
        let writers = &self.writers;
        loop {
            let written = writers.written.load(Ordering::Acquire);
            let mut read = writers.in_read_seen.load(Ordering::Relaxed);
            if written.wrapping_sub(read) >= INBOUND_WORDS as u32 {
                read = self.outward.in_read.load(Ordering::Acquire);
                // This store may replace a newer value of another writer. If the mailbox looks full
                // by the older value, a writer loads `in_read` again.
                writers.in_read_seen.store(read, Ordering::Relaxed);
                if written.wrapping_sub(read) >= INBOUND_WORDS as u32 {
                    // The mailbox is full only if `written` has not changed since it was loaded.
                    if writers.written.load(Ordering::Acquire) == written {
                        return false;
                    }
                    continue;
                }
            }
            let next = written.wrapping_add(1);
            let won = writers.written.compare_exchange_weak(
                written,
                next,
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
            if won.is_ok() {
                let at = written as usize % INBOUND_WORDS;
                self.inward.slots[at].store(slot(next, word), Ordering::Release);
                return true;
            }
        }
    }

    /// Counts a writer that will sleep until there is room in the inbound mailbox.
    pub(crate) fn announce_writer(&self) {
        self.outward.waiting_writers.fetch_add(1, Ordering::SeqCst);
    }

    /// Subtracts a writer that [`announce_writer`](Self::announce_writer) has counted.
    pub(crate) fn withdraw_writer(&self) {
        self.outward.waiting_writers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns whether a writer waits for room in the inbound mailbox.
    #[inline]
    pub(crate) fn room_is_wanted(&self) -> bool {
        barrier::light();
        self.outward.waiting_writers.load(Ordering::Relaxed) != 0
    }

    /// Takes the oldest word of the inbound mailbox. Only the SPE itself may call this method.
    #[inline]
    pub(crate) fn read_in(&self) -> Option<u32> {
        let read = self.outward.in_read.load(Ordering::Relaxed);
        let next = read.wrapping_add(1);
        let found = self.inward.slots[read as usize % INBOUND_WORDS].load(Ordering::Acquire);
        if number(found) != next {
            return None;
        }
        self.outward.in_read.store(next, Ordering::Release);
        Some(found as u32)
    }

    pub(crate) fn in_count(&self) -> usize {
        let read = self.outward.in_read.load(Ordering::Relaxed);
        let arrived = |i: &u32| {
            let at = read.wrapping_add(*i);
            let found = self.inward.slots[at as usize % INBOUND_WORDS].load(Ordering::Acquire);
            number(found) == at.wrapping_add(1)
        };
        (0..INBOUND_WORDS as u32).take_while(arrived).count()
    }

    /// Lets the SPE put a word into an outbound mailbox. Returns false if there is no room.
    #[inline]
    pub(crate) fn write_out(&self, mailbox: Outbound, word: u32) -> bool {
        let slots = &self.outward.slots[mailbox.index()];
        let written = number(slots.load(Ordering::Relaxed));
        if self.inward.out_read[mailbox.index()].load(Ordering::Acquire) != written {
            return false;
        }
        slots.store(slot(written.wrapping_add(1), word), Ordering::Release);
        true
    }

    /// Takes the word of an outbound mailbox. Only the PPE may call this method.
    #[inline]
    pub(crate) fn read_out(&self, mailbox: Outbound) -> Option<u32> {
        let found = self.outward.slots[mailbox.index()].load(Ordering::Acquire);
        let read = &self.inward.out_read[mailbox.index()];
        if read.load(Ordering::Relaxed) == number(found) {
            return None;
        }
        read.store(number(found), Ordering::Release);
        Some(found as u32)
    }

    /// Returns the number of words for which the inbound mailbox has room.
    pub(crate) fn in_room(&self) -> usize {
        let read = self.outward.in_read.load(Ordering::Acquire);
        let written = self.writers.written.load(Ordering::Acquire);
        // `read` is the older value, so the words may seem to be more than there is room for.
        INBOUND_WORDS.saturating_sub(written.wrapping_sub(read) as usize)
    }

    /// Returns whether an outbound mailbox holds a word.
    pub(crate) fn has_out(&self, mailbox: Outbound) -> bool {
        let read = self.inward.out_read[mailbox.index()].load(Ordering::Acquire);
        number(self.outward.slots[mailbox.index()].load(Ordering::Acquire)) != read
    }

    /// Returns whether a signal register has unread bits.
    pub(crate) fn has_signal(&self, register: SignalRegister) -> bool {
        self.signals[register.index()].word.load(Ordering::Acquire) & SIGNALLED != 0
    }

    /// Lets any processor send a signal.
    #[inline]
    pub(crate) fn signal(&self, register: SignalRegister, bits: u32) {
        let signal = &self.signals[register.index()];
        let word = SIGNALLED | u64::from(bits);
        if signal.or_mode.load(Ordering::Relaxed) == 1 {
            signal.word.fetch_or(word, Ordering::AcqRel);
        } else {
            signal.word.store(word, Ordering::Release);
        }
    }

    /// Takes the word of a signal register. Only the SPE itself may call this method.
    #[inline]
    pub(crate) fn read_signal(&self, register: SignalRegister) -> Option<u32> {
        let word = &self.signals[register.index()].word;
        // If there is no signal, this load keeps the cache line shared. The swap below would not.
        if word.load(Ordering::Relaxed) & SIGNALLED == 0 {
            return None;
        }
        Some(word.swap(0, Ordering::AcqRel) as u32)
    }

    pub(crate) fn set_mode(&self, register: SignalRegister, mode: SignalMode) {
        self.signals[register.index()]
            .or_mode
            .store((mode == SignalMode::Or).into(), Ordering::Relaxed);
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    fn until<R>(mut attempt: impl FnMut() -> Option<R>) -> R {
        loop {
            if let Some(result) = attempt() {
                return result;
            }
            thread::yield_now();
        }
    }

    fn write_in(words: &Arc<Words>, word: u32) -> thread::JoinHandle<()> {
        let words = Arc::clone(words);
        thread::spawn(move || until(|| words.write_in(word).then_some(())))
    }

    #[test]
    fn words_of_two_writers_all_arrive() {
        loom::model(|| {
            let words = Arc::new(Words::new());
            let writers = [write_in(&words, 1), write_in(&words, 2)];
            let mut read = [until(|| words.read_in()), until(|| words.read_in())];
            read.sort_unstable();
            assert_eq!((read, words.read_in()), ([1, 2], None));
            for writer in writers {
                writer.join().unwrap();
            }
        });
    }

    #[test]
    fn a_full_mailbox_takes_a_word_when_one_is_read() {
        loom::model(|| {
            let words = Arc::new(Words::new());
            for word in 0..INBOUND_WORDS as u32 {
                assert!(words.write_in(word));
            }
            let writer = write_in(&words, 4);
            for word in 0..=INBOUND_WORDS as u32 {
                assert_eq!(until(|| words.read_in()), word);
            }
            writer.join().unwrap();
        });
    }

    #[test]
    fn a_writer_that_sleeps_until_there_is_room_is_woken() {
        use crate::parking::{Parking, Woken};
        loom::model(|| {
            let parking = Arc::new(Parking::new(1));
            let words = Arc::new(Words::new());
            for word in 0..INBOUND_WORDS as u32 {
                assert!(words.write_in(word));
            }
            parking.admit();
            parking.admit();
            let writer = {
                let (parking, words) = (Arc::clone(&parking), Arc::clone(&words));
                thread::spawn(move || {
                    parking.take_seat(0);
                    words.announce_writer();
                    while !words.write_in(4) {
                        parking.prepare(0);
                        if words.write_in(4) {
                            return parking.resume(0);
                        }
                        assert_eq!(parking.park(0), Woken::Notified);
                    }
                })
            };
            assert_eq!(words.read_in(), Some(0));
            if words.room_is_wanted() {
                parking.notify(0);
            }
            writer.join().unwrap();
        });
    }

    #[test]
    fn outbound_words_are_neither_lost_nor_doubled() {
        loom::model(|| {
            let words = Arc::new(Words::new());
            let spe = {
                let words = Arc::clone(&words);
                thread::spawn(move || {
                    for word in 1..=2 {
                        until(|| words.write_out(Outbound::Plain, word).then_some(()));
                    }
                })
            };
            assert_eq!(until(|| words.read_out(Outbound::Plain)), 1);
            assert_eq!(until(|| words.read_out(Outbound::Plain)), 2);
            spe.join().unwrap();
            assert_eq!(words.read_out(Outbound::Plain), None);
        });
    }

    #[test]
    fn bits_of_ored_signals_are_not_lost() {
        loom::model(|| {
            let words = Arc::new(Words::new());
            words.set_mode(SignalRegister::One, SignalMode::Or);
            let sender = {
                let words = Arc::clone(&words);
                thread::spawn(move || {
                    words.signal(SignalRegister::One, 1);
                    words.signal(SignalRegister::One, 2);
                })
            };
            let mut bits = 0;
            while bits != 3 {
                bits |= until(|| words.read_signal(SignalRegister::One));
            }
            sender.join().unwrap();
            assert_eq!(words.read_signal(SignalRegister::One), None);
        });
    }
}
