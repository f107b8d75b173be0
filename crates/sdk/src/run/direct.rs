//! Operations of an SPE that an import carries out by itself, on machines where none of them lets
//! another program run: on this computer. It saves the way through the [`Link`](super::link::Link),
//! which takes as long as a small DMA transfer.
//!
//! An operation that would have to wait, or that is wrong, is not done here: the import asks. So it
//! does if commands are in the queue, because one that stays there needs a place in the source.

use std::cell::RefCell;

use cellworks_machine::mailbox::Outbound;
use cellworks_machine::mfc::{RawCommand, TagMask};
use cellworks_machine::{CellSpe, LateFault, Mfc};
use scoped_tls_hkt::scoped_thread_local;

use super::event;

/// What an import may do to the SPE of its program.
trait Direct {
    fn issue(&self, command: RawCommand, is_again: bool) -> Option<bool>;
    fn complete_tags(&self) -> Option<TagMask>;
    fn in_mbox_count(&self) -> usize;
    fn read_in_mbox(&self) -> Option<u32>;
    fn write_out_mbox(&self, mailbox: Outbound, word: u32) -> bool;
    fn decrementer(&self) -> u32;
}

struct Here<'a, S> {
    spe: &'a S,
    used: RefCell<Used>,
}

/// What imports have used up, or found.
#[derive(Clone, Copy, Default)]
pub(super) struct Used {
    /// The events whose causes the program has used up.
    pub(super) events: u32,
    /// The fault of a command that an import has found to be illegal: the import then asks what it
    /// has not done.
    pub(super) late: Option<LateFault>,
    /// Whether the program has fetched the same data as before, by DMA.
    pub(super) has_polled: bool,
    /// Whether it has done anything else.
    pub(super) has_acted: bool,
}

impl<S> Here<'_, S> {
    /// Notes that the program has used up the cause of an event, if it `has`.
    fn uses(&self, event: u32, has: bool) -> bool {
        if has {
            let mut used = self.used.borrow_mut();
            used.events |= event;
            used.has_acted = true;
        }
        has
    }
}

impl<S: CellSpe> Direct for Here<'_, S> {
    fn issue(&self, command: RawCommand, is_again: bool) -> Option<bool> {
        if self.complete_tags()? != TagMask::ALL {
            return None;
        }
        self.spe.mfc().try_issue(command).ok()?;
        let mut used = self.used.borrow_mut();
        used.events |= event::COMMAND_QUEUE;
        if is_again {
            used.has_polled = true
        } else {
            used.has_acted = true
        }
        // A list that stalls is still there.
        Some(self.spe.mfc().incomplete_tags().is_empty())
    }

    fn complete_tags(&self) -> Option<TagMask> {
        let complete = !self.spe.mfc().incomplete_tags();
        // To look at the queue may find a command that has become illegal.
        if let Some(late) = self.spe.mfc().take_late_fault() {
            self.used.borrow_mut().late = Some(late);
            return None;
        }
        Some(complete)
    }

    fn in_mbox_count(&self) -> usize {
        self.spe.in_mbox_count()
    }

    fn read_in_mbox(&self) -> Option<u32> {
        let word = self.spe.try_read_in_mbox();
        self.uses(event::IN_MBOX, word.is_some());
        word
    }

    fn write_out_mbox(&self, mailbox: Outbound, word: u32) -> bool {
        let event = match mailbox {
            Outbound::Plain => event::OUT_MBOX,
            Outbound::Interrupt => event::OUT_INTR_MBOX,
        };
        self.uses(event, self.spe.try_write_out_mbox(mailbox, word).is_ok())
    }

    fn decrementer(&self) -> u32 {
        self.spe.decrementer()
    }
}

scoped_thread_local!(static HERE: for<'a> &'a dyn Direct);

/// Runs `f`, in which imports may use `spe` directly. Returns its result, and what imports have
/// used.
pub(super) fn with<S: CellSpe, R>(spe: &S, f: impl FnOnce() -> R) -> (R, Used) {
    let here = Here {
        spe,
        used: RefCell::default(),
    };
    let result = HERE.set(&here, f);
    (result, here.used.take())
}

fn here<R>(f: impl FnOnce(&dyn Direct) -> Option<R>) -> Option<R> {
    if HERE.is_set() { HERE.with(f) } else { None }
}

/// Enqueues a legal command, if the queue is empty: perhaps one that fetches the same data again.
/// Returns whether it is complete then.
pub(super) fn issue(command: RawCommand, is_again: bool) -> Option<bool> {
    here(|spe| spe.issue(command, is_again))
}

/// Returns the complete tag groups of `mask`, if that is what `update` waits for.
pub(super) fn tags(mask: u32, update: u32) -> Option<u32> {
    let tags = TagMask::from_bits(mask);
    let complete = tags & here(|spe| spe.complete_tags())?;
    let is_enough = match update {
        0 => true,
        1 => !complete.is_empty() || tags.is_empty(),
        2 => complete == tags,
        _ => false,
    };
    is_enough.then(|| complete.bits())
}

/// Reads a channel if a word is there.
pub(super) fn read(channel: u32) -> Option<u32> {
    match channel {
        8 => here(|spe| Some(spe.decrementer())),
        29 => here(|spe| spe.read_in_mbox()),
        _ => None,
    }
}

/// Writes to a channel if it has room, and returns whether it did.
pub(super) fn write(channel: u32, word: u32) -> bool {
    let mailbox = match channel {
        28 => Outbound::Plain,
        30 => Outbound::Interrupt,
        _ => return false,
    };
    here(|spe| spe.write_out_mbox(mailbox, word).then_some(())).is_some()
}

/// Returns the count of a channel, if it is not 0. Otherwise the program may poll, and others must
/// have their turn.
pub(super) fn count(channel: u32) -> Option<u32> {
    let count = match channel {
        29 => here(|spe| Some(spe.in_mbox_count()))?,
        _ => 0,
    };
    (count > 0).then_some(count as u32)
}
