//! The fabric and the words that it carries, a part of [`World`](crate::world::World).

use std::cell::RefCell;

use crate::clock::Clock;
use crate::fabric::{Fabric, Token, Transaction};
use crate::index::ThreadIndex;
use crate::observe::{PartCounters, ResourceCounters};
use crate::words::Flights;

pub(crate) struct Bus {
    fabric: RefCell<Fabric>,
    /// The words that wait for a transaction of the fabric: see [`Owner::Word`].
    pub flights: RefCell<Flights>,
    /// An empty buffer, which `handle` uses again.
    done: RefCell<Vec<Token>>,
}

impl Bus {
    pub fn new(fabric: Fabric) -> Self {
        Self {
            fabric: RefCell::new(fabric),
            flights: RefCell::default(),
            done: RefCell::default(),
        }
    }

    #[inline]
    pub fn begin(&self, clock: &Clock, transaction: Transaction) {
        let mut fabric = self.fabric.borrow_mut();
        fabric.begin(clock.now(), transaction, &mut clock.queue());
    }

    /// Handles an event of the fabric. Returns a buffer with the tokens of the complete
    /// transactions. The caller must pass this buffer to [`keep`](Self::keep) afterwards.
    #[inline]
    pub fn handle(&self, clock: &Clock, index: u32) -> Vec<Token> {
        let mut done = self.done.take();
        let mut fabric = self.fabric.borrow_mut();
        fabric.handle(clock.now(), index, &mut clock.queue(), &mut done);
        done
    }

    /// Keeps a buffer that `handle` has returned. The next call of `handle` uses it again.
    #[inline]
    pub fn keep(&self, done: Vec<Token>) {
        self.done.replace(done);
    }

    pub fn parts(&self) -> Vec<PartCounters> {
        self.fabric.borrow().parts()
    }

    pub fn resources(&self) -> Vec<ResourceCounters> {
        self.fabric.borrow().resources()
    }
}

/// The owner of a transaction. The owner continues when the transaction is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A thread that waits for the transaction.
    Thread(ThreadIndex),
    /// A line of an MFC's transfer, by the index of the SPE and the index of the line in the MFC.
    Line { spe: u32, line: u32 },
    /// A word on its way to a register, by its index in `flights`.
    Word(u32),
}

impl Owner {
    const KIND_SHIFT: u32 = 30;
    const LINE_BITS: u32 = 10;

    #[inline]
    pub fn token(self) -> Token {
        let (kind, rest) = match self {
            Self::Thread(thread) => (0, thread),
            Self::Line { spe, line } => (1, spe << Self::LINE_BITS | line),
            Self::Word(flight) => (2, flight),
        };
        Token(kind << Self::KIND_SHIFT | rest)
    }

    #[inline]
    pub fn of(Token(token): Token) -> Self {
        let rest = token & ((1 << Self::KIND_SHIFT) - 1);
        match token >> Self::KIND_SHIFT {
            0 => Self::Thread(rest),
            1 => Self::Line {
                spe: rest >> Self::LINE_BITS,
                line: rest & ((1 << Self::LINE_BITS) - 1),
            },
            _ => Self::Word(rest),
        }
    }
}
