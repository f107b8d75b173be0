//! Mailboxes and signals: their registers, and words on their way to them.
//!
//! A word that is sent to an inbound mailbox has a place there from the moment it leaves, so none is lost.

use std::cell::{Cell, RefCell};

use cellworks_machine::mailbox::{INBOUND_WORDS, MailboxFull, Outbound};
use cellworks_machine::{ProblemStateRegister, SignalMode, SignalRegister, SpeId};

use crate::engine::{Core, CoreIndex, Owner, PPE, ThreadIndex, World};
use crate::fabric::{Access, Node, Place, Token, Transaction};
use crate::queue::{Event, Kind};
use crate::time::Femtoseconds;

/// Bytes of a word.
pub(crate) const WORD_BYTES: u32 = 4;

/// The registers of one SPE. Cells, so that a message need not borrow them.
#[derive(Debug, Default)]
pub(crate) struct Words {
    inbound: Inbound,
    /// Words on their way to the inbound mailbox.
    coming: Cell<usize>,
    outbound: [Cell<Option<u32>>; 2],
    signals: [Cell<Option<u32>>; 2],
    modes: [Cell<SignalMode>; 2],
    /// Somebody waits for room in the inbound mailbox.
    is_room_wanted: Cell<bool>,
    /// Processors that do.
    wanting_room: RefCell<Vec<CoreIndex>>,
    /// MFCs whose queues hold a put to it.
    blocked: RefCell<Vec<usize>>,
}

/// An inbound mailbox: a ring.
#[derive(Debug, Default)]
struct Inbound {
    words: [Cell<u32>; INBOUND_WORDS],
    /// The place of the oldest word.
    first: Cell<usize>,
    count: Cell<usize>,
}

impl Inbound {
    /// Adds a word; there is room.
    #[inline]
    fn push(&self, word: u32) {
        let (first, count) = (self.first.get(), self.count.get());
        self.words[(first + count) % INBOUND_WORDS].set(word);
        self.count.set(count + 1);
    }

    /// Takes the oldest word.
    #[inline]
    fn pop(&self) -> Option<u32> {
        let first = self.first.get();
        self.count.set(self.count.get().checked_sub(1)?);
        self.first.set((first + 1) % INBOUND_WORDS);
        Some(self.words[first % INBOUND_WORDS].get())
    }
}

impl Words {
    /// Keeps a place in the inbound mailbox for a word that is about to be sent, and says whether there was one.
    #[inline]
    pub fn keep_room(&self) -> bool {
        let coming = self.coming.get();
        let has_room = self.inbound.count.get() + coming < INBOUND_WORDS;
        if has_room {
            self.coming.set(coming + 1);
        }
        has_room
    }

    /// A processor wants to be told when the inbound mailbox has room again.
    pub fn want_room(&self, core: CoreIndex) {
        add_once(&mut self.wanting_room.borrow_mut(), core);
        self.is_room_wanted.set(true);
    }

    /// An MFC wants to be told when the inbound mailbox has room again.
    pub fn block_until_room(&self, mfc: usize) {
        add_once(&mut self.blocked.borrow_mut(), mfc);
        self.is_room_wanted.set(true);
    }

    /// How many words the inbound mailbox holds.
    #[inline]
    pub fn inbound_count(&self) -> usize {
        self.inbound.count.get()
    }

    /// Whether an outbound mailbox holds a word.
    pub fn has_outbound(&self, mailbox: Outbound) -> bool {
        self.outbound[mailbox.index()].get().is_some()
    }

    /// Whether a signal register holds a signal.
    pub fn has_signal(&self, register: SignalRegister) -> bool {
        self.signals[register.index()].get().is_some()
    }

    /// Takes what a signal register holds.
    pub fn take_signal(&self, register: SignalRegister) -> Option<u32> {
        self.signals[register.index()].take()
    }

    /// Chooses what a signal does to one that was not read yet.
    pub fn set_signal_mode(&self, register: SignalRegister, mode: SignalMode) {
        self.modes[register.index()].set(mode);
    }

    #[inline(always)]
    fn put(&self, register: ProblemStateRegister, word: u32) {
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

fn add_once(list: &mut Vec<usize>, one: usize) {
    if !list.contains(&one) {
        list.push(one);
    }
}

/// A word that an inbound mailbox has no room for.
pub(crate) fn inbound_full(of: SpeId, word: u32) -> MailboxFull {
    MailboxFull {
        spe: of,
        mailbox: "inbound mailbox",
        word,
    }
}

/// Words on their way to a register.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    flights: Vec<Flight>,
    /// The place of the next word: that of one that has arrived, which has the next in `next_free`, or a new one
    /// at the end.
    free: u32,
}

/// A word on its way.
#[derive(Clone, Copy, Debug)]
struct Flight {
    from: u32,
    to: u32,
    word: u32,
    next_free: u32,
    register: ProblemStateRegister,
}

impl Flights {
    #[inline]
    fn begin(&mut self, flight: Flight) -> u32 {
        let index = self.free;
        if index as usize == self.flights.len() {
            self.add_place();
        }
        let place = &mut self.flights[index as usize];
        self.free = place.next_free;
        *place = flight;
        index
    }

    // Apart, so that what messages take stays small.
    #[cold]
    #[inline(never)]
    fn add_place(&mut self) {
        self.flights.push(Flight {
            from: 0,
            to: 0,
            word: 0,
            next_free: self.free + 1,
            register: ProblemStateRegister::InMbox,
        });
    }

    #[inline]
    fn end(&mut self, index: u32) -> Flight {
        let place = &mut self.flights[index as usize];
        place.next_free = self.free;
        self.free = index;
        *place
    }
}

/// The register of a signal.
pub(crate) const fn signal(register: SignalRegister) -> ProblemStateRegister {
    match register {
        SignalRegister::One => ProblemStateRegister::SigNotify1,
        SignalRegister::Two => ProblemStateRegister::SigNotify2,
    }
}

/// Who a processor is to the fabric. Programs of the PPE run on that of Cell 0.
pub(crate) fn node_of(core: CoreIndex) -> Node {
    match core {
        PPE => Node::Ppe { cell: 0 },
        core => Node::Spe(core as u16 - 1),
    }
}

/// A write of a word to a register.
pub(crate) fn register_write(requester: Node, to: SpeId, token: Token) -> Transaction {
    Transaction {
        requester,
        target: Node::Spe(to.index() as u16),
        place: Place::Register,
        access: Access::Write,
        bytes: WORD_BYTES,
        token,
    }
}

impl World {
    /// A processor sends a word, which leaves after `start`.
    #[inline(always)]
    pub fn launch_word(
        &self,
        from: &Core,
        to: &Core,
        register: ProblemStateRegister,
        word: u32,
        start: Femtoseconds,
    ) {
        // What was done before is not paid yet, see the module on the engine.
        let now = self.now() + from.lag();
        let latency = from.word_latency[to.index - 1];
        let flight = self.flights.borrow_mut().begin(Flight {
            from: from.index as u32,
            to: to.index as u32,
            word,
            next_free: 0,
            register,
        });
        let (kind, after) = match latency {
            Some(latency) => (Kind::Word, start + latency),
            None => (Kind::SendWord, start),
        };
        let event = Event {
            kind,
            index: flight,
        };
        self.queue.borrow_mut().push(now + after, event);
    }

    /// A word enters the fabric.
    pub fn send_word(&self, index: u32) {
        let Flight { from, to, .. } = self.flights.borrow().flights[index as usize];
        let to = SpeId::new(to as u16 - 1);
        let from = node_of(from as CoreIndex);
        let transaction = register_write(from, to, Owner::Word(index).token());
        let queue = &mut self.queue.borrow_mut();
        self.fabric
            .borrow_mut()
            .begin(self.now(), transaction, queue);
    }

    /// A word has arrived. Returns the processor whose threads may have waited for it.
    #[inline(always)]
    pub fn word_arrives(&self, index: u32) -> &Core {
        let flight = self.flights.borrow_mut().end(index);
        let to = self.core(flight.to as CoreIndex);
        to.words.put(flight.register, flight.word);
        to
    }

    /// A word is in its register. Returns the thread that goes on at once, if one does.
    pub fn deliver(
        &self,
        to: &Core,
        register: ProblemStateRegister,
        word: u32,
    ) -> Option<ThreadIndex> {
        to.words.put(register, word);
        self.check(to)
    }

    /// Takes the oldest word of an inbound mailbox, and tells those who wait for room.
    #[inline]
    pub fn take_inbound(&self, of: &Core) -> Option<u32> {
        let word = of.words.inbound.pop()?;
        if of.words.is_room_wanted.get() {
            self.tell_of_room(&of.words);
        }
        Some(word)
    }

    /// Tells those who wait for room in an inbound mailbox. All of them: the first may want it no more. Those who
    /// come too late wait again, in the same order.
    #[cold]
    #[inline(never)]
    fn tell_of_room(&self, words: &Words) {
        words.is_room_wanted.set(false);
        let wanting = words.wanting_room.take();
        let blocked = words.blocked.take();
        wanting
            .into_iter()
            .for_each(|core| self.notify(self.core(core)));
        blocked.into_iter().for_each(|mfc| self.wake_mfc(mfc));
    }

    /// Puts a word into an outbound mailbox, for the PPE, and says whether it was empty.
    pub fn put_outbound(&self, of: &Core, mailbox: Outbound, word: u32) -> bool {
        let place = &of.words.outbound[mailbox.index()];
        if place.get().is_some() {
            return false;
        }
        place.set(Some(word));
        self.notify(self.core(PPE));
        true
    }

    /// Takes the word of an outbound mailbox, and tells its SPE.
    pub fn take_outbound(&self, of: &Core, mailbox: Outbound) -> Option<u32> {
        let word = of.words.outbound[mailbox.index()].take()?;
        self.notify(of);
        Some(word)
    }
}
