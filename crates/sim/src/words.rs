//! Mailboxes and signals: their registers, and words on their way to them.
//!
//! A word that is sent to an inbound mailbox has a place there from the moment it leaves, so none is lost.

use cellworks_machine::mailbox::{INBOUND_WORDS, MailboxFull, Outbound};
use cellworks_machine::{ProblemStateRegister, SignalMode, SignalRegister, SpeId};

use crate::engine::{CoreIndex, Owner, PPE, ThreadIndex, World, core_of};
use crate::fabric::{Access, Node, Place, Token, Transaction};
use crate::queue::{Event, Kind};

/// Bytes of a word.
pub(crate) const WORD_BYTES: u32 = 4;

/// The registers of one SPE.
#[derive(Debug, Default)]
pub(crate) struct Words {
    inbound: Inbound,
    /// Words on their way to the inbound mailbox.
    coming: usize,
    outbound: [Option<u32>; 2],
    signals: [Option<u32>; 2],
    modes: [SignalMode; 2],
    /// Processors that wait for room in the inbound mailbox.
    wanting_room: Vec<CoreIndex>,
    /// MFCs whose queues hold a put to the inbound mailbox, which is full.
    blocked: Vec<usize>,
}

/// An inbound mailbox: a ring.
#[derive(Debug, Default)]
struct Inbound {
    words: [u32; INBOUND_WORDS],
    /// The place of the oldest word.
    first: usize,
    count: usize,
}

impl Inbound {
    /// Adds a word; there is room.
    #[inline]
    fn push(&mut self, word: u32) {
        self.words[(self.first + self.count) % INBOUND_WORDS] = word;
        self.count += 1;
    }

    /// Takes the oldest word.
    #[inline]
    fn pop(&mut self) -> Option<u32> {
        self.count = self.count.checked_sub(1)?;
        let word = self.words[self.first];
        self.first = (self.first + 1) % INBOUND_WORDS;
        Some(word)
    }
}

impl Words {
    fn has_room(&self) -> bool {
        self.inbound.count + self.coming < INBOUND_WORDS
    }
}

/// Words on their way to a register.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    flights: Vec<Flight>,
    free: Vec<u32>,
}

/// A word on its way.
#[derive(Clone, Copy, Debug)]
struct Flight {
    from: CoreIndex,
    to: SpeId,
    register: ProblemStateRegister,
    word: u32,
}

impl Flights {
    fn begin(&mut self, flight: Flight) -> u32 {
        if let Some(index) = self.free.pop() {
            self.flights[index as usize] = flight;
            return index;
        }
        self.flights.push(flight);
        self.flights.len() as u32 - 1
    }

    fn end(&mut self, index: u32) -> Flight {
        self.free.push(index);
        self.flights[index as usize]
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
    /// What belongs to an SPE, which must exist.
    #[track_caller]
    pub fn assert_spe(&self, spe: SpeId) {
        assert!(
            spe.index() < self.words.len(),
            "{spe} was named, but {} has {} SPEs; use `topology().spes()`",
            self.topology.name(),
            self.words.len()
        );
    }

    /// Keeps a place in an inbound mailbox for a word that is about to be sent.
    #[inline(always)]
    pub fn keep_room(&self, to: SpeId, word: u32) -> Result<(), MailboxFull> {
        let mut words = self.words[to.index()].borrow_mut();
        if words.has_room() {
            words.coming += 1;
            return Ok(());
        }
        Err(MailboxFull {
            spe: to,
            mailbox: "inbound mailbox",
            word,
        })
    }

    /// A processor wants to be told when an inbound mailbox has room again.
    pub fn want_room(&self, to: SpeId, core: CoreIndex) {
        let mut words = self.words[to.index()].borrow_mut();
        if !words.wanting_room.contains(&core) {
            words.wanting_room.push(core);
        }
    }

    /// An MFC wants to be told when an inbound mailbox has room again.
    pub fn block_until_room(&self, to: SpeId, mfc: usize) {
        let blocked = &mut self.words[to.index()].borrow_mut().blocked;
        if !blocked.contains(&mfc) {
            blocked.push(mfc);
        }
    }

    /// An SPE sends a word, which leaves after `start_fs`.
    #[inline(always)]
    pub fn launch_word(
        &self,
        from: CoreIndex,
        to: SpeId,
        register: ProblemStateRegister,
        word: u32,
        start_fs: u64,
    ) {
        // What was done before is not paid yet, see the module on the engine.
        let now_fs = self.now_fs() + self.lag_fs(from);
        let latency_fs = self.word_latency_fs[from * self.words.len() + to.index()];
        let flight = self.flights.borrow_mut().begin(Flight {
            from,
            to,
            register,
            word,
        });
        let (kind, after_fs) = match latency_fs {
            Some(latency_fs) => (Kind::Word, start_fs + latency_fs),
            None => (Kind::SendWord, start_fs),
        };
        let event = Event {
            kind,
            index: flight,
        };
        self.queue.borrow_mut().push(now_fs + after_fs, event);
    }

    /// A word enters the fabric.
    pub fn send_word(&self, index: u32) {
        let Flight { from, to, .. } = self.flights.borrow().flights[index as usize];
        let transaction = register_write(node_of(from), to, Owner::Word(index).token());
        let queue = &mut self.queue.borrow_mut();
        self.fabric
            .borrow_mut()
            .begin(self.now_fs(), transaction, queue);
    }

    /// A word has arrived. Returns the processor whose threads may have waited for it.
    #[inline(always)]
    pub fn word_arrives(&self, index: u32) -> CoreIndex {
        let flight = self.flights.borrow_mut().end(index);
        self.put_word(flight.to, flight.register, flight.word);
        core_of(flight.to)
    }

    /// A word is in its register. Returns the thread that goes on at once, if one does.
    pub fn deliver(
        &self,
        to: SpeId,
        register: ProblemStateRegister,
        word: u32,
    ) -> Option<ThreadIndex> {
        self.put_word(to, register, word);
        self.check(core_of(to))
    }

    #[inline(always)]
    fn put_word(&self, to: SpeId, register: ProblemStateRegister, word: u32) {
        let mut words = self.words[to.index()].borrow_mut();
        match register {
            ProblemStateRegister::InMbox => {
                words.coming -= 1;
                words.inbound.push(word);
            }
            ProblemStateRegister::SigNotify1 => words.signal(SignalRegister::One, word),
            ProblemStateRegister::SigNotify2 => words.signal(SignalRegister::Two, word),
        }
    }

    /// How many words an inbound mailbox holds.
    pub fn inbound_count(&self, of: SpeId) -> usize {
        self.words[of.index()].borrow().inbound.count
    }

    /// Takes the oldest word of an inbound mailbox, and tells those who wait for room.
    #[inline]
    pub fn take_inbound(&self, of: SpeId) -> Option<u32> {
        let mut words = self.words[of.index()].borrow_mut();
        let word = words.inbound.pop()?;
        let is_awaited = !(words.wanting_room.is_empty() && words.blocked.is_empty());
        drop(words);
        if is_awaited {
            self.tell_of_room(of);
        }
        Some(word)
    }

    /// Tells those who wait for room in an inbound mailbox. All of them: the first may want it no more. Those who
    /// come too late wait again, in the same order.
    #[cold]
    #[inline(never)]
    fn tell_of_room(&self, of: SpeId) {
        let mut words = self.words[of.index()].borrow_mut();
        let wanting = std::mem::take(&mut words.wanting_room);
        let blocked = std::mem::take(&mut words.blocked);
        drop(words);
        wanting.into_iter().for_each(|core| self.notify(core));
        blocked.into_iter().for_each(|mfc| self.wake_mfc(mfc));
    }

    /// Puts a word into an outbound mailbox, for the PPE.
    pub fn put_outbound(&self, of: SpeId, mailbox: Outbound, word: u32) -> Result<(), MailboxFull> {
        let place = &mut self.words[of.index()].borrow_mut().outbound[mailbox.index()];
        if place.is_some() {
            return Err(MailboxFull {
                spe: of,
                mailbox: mailbox.name(),
                word,
            });
        }
        *place = Some(word);
        self.notify(PPE);
        Ok(())
    }

    /// Whether an outbound mailbox holds a word.
    pub fn has_outbound(&self, of: SpeId, mailbox: Outbound) -> bool {
        self.words[of.index()].borrow().outbound[mailbox.index()].is_some()
    }

    /// Takes the word of an outbound mailbox, and tells its SPE.
    pub fn take_outbound(&self, of: SpeId, mailbox: Outbound) -> Option<u32> {
        let word = self.words[of.index()].borrow_mut().outbound[mailbox.index()].take()?;
        self.notify(core_of(of));
        Some(word)
    }

    /// Whether a signal register holds a signal.
    pub fn has_signal(&self, of: SpeId, register: SignalRegister) -> bool {
        self.words[of.index()].borrow().signals[register.index()].is_some()
    }

    /// Takes what a signal register holds.
    pub fn take_signal(&self, of: SpeId, register: SignalRegister) -> Option<u32> {
        self.words[of.index()].borrow_mut().signals[register.index()].take()
    }

    /// Chooses what a signal does to one that was not read yet.
    pub fn set_signal_mode(&self, of: SpeId, register: SignalRegister, mode: SignalMode) {
        self.words[of.index()].borrow_mut().modes[register.index()] = mode;
    }
}

impl Words {
    fn signal(&mut self, register: SignalRegister, bits: u32) {
        let unread = &mut self.signals[register.index()];
        *unread = Some(self.modes[register.index()].combine(*unread, bits));
    }
}
