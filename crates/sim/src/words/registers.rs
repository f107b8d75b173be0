use std::cell::{Cell, RefCell};

use cellworks_machine::mailbox::{INBOUND_WORDS, MailboxFull, Outbound};
use cellworks_machine::{ProblemStateRegister, SignalMode, SignalRegister, SpeId};

use crate::index::ProcessorIndex;

/// The mailboxes and signal registers of an SPE.
#[derive(Debug, Default)]
pub(crate) struct Words {
    pub(super) inbound: Inbound,
    /// The number of words on their way to the inbound mailbox, which have reserved entries.
    coming: Cell<usize>,
    pub(super) outbound: [Cell<Option<u32>>; 2],
    signals: [Cell<Option<u32>>; 2],
    modes: [Cell<SignalMode>; 2],
    /// Whether a processor or an MFC waits for room in the inbound mailbox.
    pub(super) is_room_wanted: Cell<bool>,
    /// The processors that wait for room in the inbound mailbox.
    pub(super) wanting_room: RefCell<Vec<ProcessorIndex>>,
    /// The MFCs that wait for room in the inbound mailbox.
    pub(super) blocked: RefCell<Vec<SpeId>>,
}

/// An inbound mailbox: a ring buffer of words.
#[derive(Debug, Default)]
pub(super) struct Inbound {
    words: [Cell<u32>; INBOUND_WORDS],
    first: Cell<usize>,
    count: Cell<usize>,
}

impl Inbound {
    #[inline]
    fn push(&self, word: u32) {
        let (first, count) = (self.first.get(), self.count.get());
        self.words[(first + count) % INBOUND_WORDS].set(word);
        self.count.set(count + 1);
    }

    #[inline]
    pub(super) fn pop(&self) -> Option<u32> {
        let first = self.first.get();
        self.count.set(self.count.get().checked_sub(1)?);
        self.first.set((first + 1) % INBOUND_WORDS);
        Some(self.words[first % INBOUND_WORDS].get())
    }
}

impl Words {
    /// Reserves an entry of the inbound mailbox for a word. Returns false if the mailbox is full.
    #[inline]
    pub fn keep_room(&self) -> bool {
        let coming = self.coming.get();
        let has_room = self.inbound.count.get() + coming < INBOUND_WORDS;
        if has_room {
            self.coming.set(coming + 1);
        }
        has_room
    }

    pub fn want_room(&self, processor: ProcessorIndex) {
        add_once(&mut self.wanting_room.borrow_mut(), processor);
        self.is_room_wanted.set(true);
    }

    pub fn block_until_room(&self, mfc: SpeId) {
        add_once(&mut self.blocked.borrow_mut(), mfc);
        self.is_room_wanted.set(true);
    }

    #[inline]
    pub fn inbound_count(&self) -> usize {
        self.inbound.count.get()
    }

    /// Returns the number of words for which the inbound mailbox has room.
    pub fn inbound_room(&self) -> usize {
        INBOUND_WORDS - self.inbound.count.get() - self.coming.get()
    }

    pub fn has_outbound(&self, mailbox: Outbound) -> bool {
        self.outbound[mailbox.index()].get().is_some()
    }

    pub fn has_signal(&self, register: SignalRegister) -> bool {
        self.signals[register.index()].get().is_some()
    }

    pub fn take_signal(&self, register: SignalRegister) -> Option<u32> {
        self.signals[register.index()].take()
    }

    /// Sets whether a signal overwrites an unread signal or is combined with it by OR.
    pub fn set_signal_mode(&self, register: SignalRegister, mode: SignalMode) {
        self.modes[register.index()].set(mode);
    }

    #[inline(always)]
    pub(super) fn put(&self, register: ProblemStateRegister, word: u32) {
        match register {
            ProblemStateRegister::InMbox => {
                self.coming.set(self.coming.get() - 1);
                self.inbound.push(word);
            }
            ProblemStateRegister::SigNotify1 => self.signal(SignalRegister::One, word),
            ProblemStateRegister::SigNotify2 => self.signal(SignalRegister::Two, word),
        }
    }

    fn signal(&self, register: SignalRegister, bits: u32) {
        let unread = &self.signals[register.index()];
        let mode = self.modes[register.index()].get();
        unread.set(Some(mode.combine(unread.get(), bits)));
    }
}

fn add_once<T: PartialEq>(list: &mut Vec<T>, one: T) {
    if !list.contains(&one) {
        list.push(one);
    }
}

pub(crate) fn inbound_full(of: SpeId, word: u32) -> MailboxFull {
    MailboxFull {
        spe: of,
        mailbox: "inbound mailbox",
        word,
    }
}

pub(crate) const fn signal(register: SignalRegister) -> ProblemStateRegister {
    match register {
        SignalRegister::One => ProblemStateRegister::SigNotify1,
        SignalRegister::Two => ProblemStateRegister::SigNotify2,
    }
}
