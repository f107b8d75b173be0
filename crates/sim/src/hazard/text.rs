//! The texts of hazards: the actions of processors, the addresses, and advice.

use std::fmt;
use std::ops::Range;

use cellworks_machine::{Processor, SpeId};

use super::found::{FoundHazard, Use};
use super::transfer::{InFlight, Transfer};
use crate::issuer::Issuer;

pub(super) struct Text<'a> {
    found: FoundHazard<'a>,
    local_stores: &'a [Range<u64>],
}

impl<'a> Text<'a> {
    /// Makes the text of a hazard. `local_stores` has the effective addresses of each local store.
    pub fn new(found: FoundHazard<'a>, local_stores: &'a [Range<u64>]) -> Self {
        Self {
            found,
            local_stores,
        }
    }

    /// Describes the memory or local store with these effective addresses.
    fn place(&self, start: u64, end: u64) -> String {
        let mut stores = self.local_stores.iter().enumerate();
        match stores.find(|(_, store)| store.contains(&start)) {
            Some((spe, store)) => {
                let base = store.start;
                format!(
                    "local store {:#x} to {:#x} of SPE {spe}",
                    start - base,
                    end - 1 - base
                )
            }
            None => format!("effective addresses {start:#x} to {:#x}", end - 1),
        }
    }
}

/// Describes how another processor permits `processor` to continue.
fn may_begin_by(processor: Processor) -> &'static str {
    match processor {
        Processor::Ppe => "a mailbox",
        Processor::Spe(_) => "a mailbox or a signal",
    }
}

impl InFlight {
    /// Describes how the issuer of the earlier transfer waits for its end.
    fn wait(&self) -> String {
        match (self.transfer.issue.tag, self.issuer()) {
            (Some(tag), Issuer::Spu) => format!("wait for tag group {tag}"),
            (Some(tag), Issuer::Ppe) => {
                format!(
                    "wait for tag group {tag} of the proxy queue of {}",
                    self.spe
                )
            }
            (None, _) => "wait for its view".to_owned(),
        }
    }
}

impl fmt::Display for InFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Transfer {
            name,
            bytes,
            lsa,
            ea,
            ..
        } = self.transfer;
        if self.issuer() == Issuer::Ppe {
            f.write_str("proxy ")?;
        }
        write!(
            f,
            "{name} of {bytes} bytes (local store {lsa}, effective address {ea}"
        )?;
        match self.transfer.issue.tag {
            Some(tag) => write!(f, ", tag {tag})")?,
            None => f.write_str(", typed)")?,
        }
        match self.transfer.issue.place {
            Some(place) => write!(f, " at {place}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.found {
            FoundHazard::Overlap {
                new,
                old,
                start,
                end,
            } => {
                let (by, other) = (new.processor(), old.processor());
                write!(
                    f,
                    "{by} issued {new} while {} {old}, issued at {}, is in flight; both touch {}, at \
                     least one writes there, and nothing orders them: {}",
                    whose(other, by, "its own"),
                    old.issued_at,
                    self.place(start, end),
                    order(new, old)
                )
            }
            FoundHazard::Local {
                what,
                spe,
                lsa,
                bytes,
                old,
            } => {
                let last = lsa.0 + bytes.max(1) - 1;
                let did = match what {
                    Use::Read => "read",
                    Use::Write => "wrote to",
                    Use::Reserve => "was handed out a buffer at",
                    Use::Release => "gave back the buffer at",
                };
                write!(
                    f,
                    "{spe} {did} local store {lsa} to {last:#x} while {} {old}, issued at {}, is in \
                     flight over it: {}",
                    whose(old.processor(), Processor::Spe(spe), "its"),
                    old.issued_at,
                    wait_before(what, spe, old)
                )
            }
            FoundHazard::MailboxFull { from, to } => write!(
                f,
                "{from} wrote to the inbound mailbox of {to}, which was full; a Cell loses the newest \
                 word there: let {to} answer before more words are sent than its mailbox holds"
            ),
        }
    }
}

/// Returns the owner in the possessive form, or `own` if it is the subject of the sentence.
fn whose(owner: Processor, subject: Processor, own: &str) -> String {
    if owner == subject {
        own.to_owned()
    } else {
        format!("{owner}'s")
    }
}

/// Returns advice on how to order two transfers.
fn order(new: &InFlight, old: &InFlight) -> String {
    let (by, other) = (new.processor(), old.processor());
    let wait = old.wait();
    if by != other {
        let means = may_begin_by(by);
        return format!("let {other} {wait} and then tell {by} by {means} that it may begin");
    }
    if new.spe != old.spe {
        return format!("{wait} before");
    }
    let name = new.transfer.name;
    let (new, old) = (&new.transfer.issue, &old.transfer.issue);
    match (new.tag, old.tag) {
        _ if new.number == old.number => {
            format!("they belong to one list; make two of it, the second with a fence ({name}f)")
        }
        (Some(one), Some(other)) if one == other => {
            format!("order them with a fence ({name}f), or {wait} before")
        }
        (Some(_), Some(other)) if new.comes_after_group => format!(
            "a fence or barrier orders one tag group, so issue the {name} in tag group {other}, or \
             {wait} before"
        ),
        (Some(_), Some(other)) => {
            format!("order them with a fence ({name}f) in tag group {other}, or {wait} before")
        }
        (None, _) | (_, None) => format!("{wait} before"),
    }
}

/// Returns advice on the wait that must come before the use of local store.
fn wait_before(what: Use, spe: SpeId, old: &InFlight) -> String {
    let (other, wait) = (old.processor(), old.wait());
    match what {
        _ if other != Processor::Spe(spe) => {
            format!("let {other} {wait} and then tell {spe} by a mailbox or a signal")
        }
        Use::Read | Use::Write => format!("{wait} before"),
        Use::Reserve | Use::Release => format!("{wait} before the buffer is given back"),
    }
}
