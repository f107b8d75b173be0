//! The next bus request of a started command or typed transfer. Each kind of [`Task`] has its own
//! function that returns the request.

use std::mem;

use cellworks_machine::mfc::{Direction, EffectiveAddress, ListCursor, LsAddr, MfcFault};
use cellworks_machine::{ProblemStateRegister, SpeId};

use super::state::{Effect, LINE, MfcState, Move, Site, Task};
use super::transaction::{access_of, request};
use crate::fabric::{Access, Endpoint, Place, Transaction, WORD_BYTES};
use crate::issuer::Issuer;
use crate::time::Moment;
use crate::world::World;

type Request = (Transaction, Effect);

/// The next bus request of a `Work`, and the state of the `Work` after it.
#[derive(Default)]
struct Next {
    /// The request to send now.
    request: Option<Request>,
    /// Whether the `Work` has no more requests.
    is_sent: bool,
    /// Whether the `Work` waits for room in a mailbox.
    is_blocked: bool,
    /// The new earliest time of the next request, or `None` if this time does not change.
    not_before: Option<Moment>,
}

impl World {
    /// Returns the next request of the `Work` at index `place`, or `None` if there is none now.
    pub(super) fn next_request(
        &self,
        mfc: &mut MfcState,
        place: usize,
    ) -> Result<Option<Request>, MfcFault> {
        let issuer = mfc.work[place].issuer;
        let mut task = mem::replace(&mut mfc.work[place].task, Task::Nothing);
        let next = match &mut task {
            Task::Nothing => Ok(Next {
                is_sent: true,
                ..Next::default()
            }),
            Task::Typed {
                direction,
                address,
                left,
            } => Ok(self.next_of_typed(mfc.spe, *direction, address, left)),
            Task::LinePut { lsa, ea } => Ok(self.next_of_line_put(mfc, *lsa, *ea)),
            Task::Zero { ea, lines } => Ok(self.next_of_zero(mfc, ea, lines)),
            Task::Move(part) => self.next_of_move(mfc, issuer, part),
            Task::List {
                cursor,
                element,
                stalls,
                next_at,
            } if element.is_none() && !*stalls => {
                self.fetch_element(mfc, place, cursor, element, stalls, next_at)
            }
            Task::List {
                element,
                stalls,
                next_at,
                ..
            } => {
                next_at.get_or_insert(self.now() + self.costs.list_interval);
                self.next_of_list(mfc, place, element, *stalls)
            }
        };
        let work = &mut mfc.work[place];
        work.task = task;
        let next = next?;
        work.is_sent = next.is_sent;
        work.is_blocked = next.is_blocked;
        if let Some(not_before) = next.not_before {
            work.not_before = not_before;
        }
        Ok(next.request)
    }

    /// Returns the request of the next line of a typed transfer.
    #[inline]
    fn next_of_typed(
        &self,
        spe: SpeId,
        direction: Direction,
        address: &mut u64,
        left: &mut u64,
    ) -> Next {
        let bytes = (*left).min(LINE) as u32;
        let module = Endpoint::Module(self.typed_module());
        let to_module = to_memory(spe, module, *address, access_of(direction), bytes);
        let request = (*left > 0).then_some((to_module, Effect::Nothing));
        *address += LINE;
        *left -= u64::from(bytes);
        Next {
            request,
            is_sent: *left == 0,
            ..Next::default()
        }
    }

    fn next_of_line_put(&self, mfc: &MfcState, lsa: LsAddr, ea: EffectiveAddress) -> Next {
        let module = self.module_of(mfc, ea);
        let put = to_memory(mfc.spe, module, ea.0, Access::Write, LINE as u32);
        Next {
            request: Some((put, Effect::StoreLine { lsa, ea })),
            is_sent: true,
            ..Next::default()
        }
    }

    /// Returns the request of the next line to set to zero.
    fn next_of_zero(&self, mfc: &MfcState, ea: &mut u64, lines: &mut u64) -> Next {
        let module = self.module_of(mfc, EffectiveAddress(*ea));
        let zero = to_memory(mfc.spe, module, *ea, Access::Write, LINE as u32);
        let request = (*lines > 0).then_some((zero, Effect::ZeroLine { ea: *ea }));
        *ea = ea.wrapping_add(LINE);
        *lines = lines.saturating_sub(1);
        Next {
            request,
            is_sent: *lines == 0,
            ..Next::default()
        }
    }

    /// Fetches the next element of a list. Only the first fetch takes extra time, because the MFC
    /// fetches several elements ahead.
    fn fetch_element(
        &self,
        mfc: &mut MfcState,
        place: usize,
        cursor: &mut ListCursor,
        element: &mut Option<Move>,
        stalls: &mut bool,
        next_at: &mut Option<Moment>,
    ) -> Result<Next, MfcFault> {
        let Some(next) = cursor.next(|at| mfc.read_element(at)).transpose()? else {
            return Ok(Next {
                is_sent: true,
                ..Next::default()
            });
        };
        *stalls = next.stalls();
        let next = Move {
            operation: next.operation(),
            direction: cursor.list().direction(),
            lsa: next.lsa().0,
            ea: next.ea().0,
            left: next.bytes(),
            met_full_mailbox: false,
        };
        if next.left > 0 {
            self.watch_element(mfc, place, &next);
        }
        *element = Some(next);
        Ok(Next {
            not_before: next_at
                .take()
                .or_else(|| Some(self.now() + self.costs.list_element)),
            ..Next::default()
        })
    }

    /// Returns the request of the next line of a list element.
    fn next_of_list(
        &self,
        mfc: &mut MfcState,
        place: usize,
        element: &mut Option<Move>,
        stalls: bool,
    ) -> Result<Next, MfcFault> {
        let Some(part) = element else {
            return Ok(Next::default());
        };
        let issuer = mfc.work[place].issuer;
        let mut next = self.next_of_move(mfc, issuer, part)?;
        let ends = mem::replace(&mut next.is_sent, false);
        if ends {
            *element = None;
            next.is_sent = stalls;
            if let Some(watched) = mfc.work[place].watched.last_mut() {
                watched.is_sent = true;
            }
        }
        Ok(next)
    }

    /// Returns the request of the next part of a raw transfer, up to the end of its line.
    #[inline]
    fn next_of_move(
        &self,
        mfc: &mut MfcState,
        issuer: Issuer,
        part: &mut Move,
    ) -> Result<Next, MfcFault> {
        if part.left == 0 {
            return Ok(Next {
                is_sent: true,
                ..Next::default()
            });
        }
        let bytes = part.left.min((LINE - part.ea % LINE) as u32);
        let Move {
            operation,
            direction,
            lsa,
            ea,
            ..
        } = *part;
        let copy = |target, place| request(mfc.spe, target, place, access_of(direction), bytes);
        let effect = Effect::Copy {
            operation,
            direction,
            lsa,
            ea,
            bytes,
        };
        let request = match mfc.site(operation, direction, ea, bytes, self.spe_count())? {
            Site::Memory(target) => (copy(target, Place::Memory { address: ea }), effect),
            Site::LocalStore(target) => (copy(target, Place::LocalStore), effect),
            Site::Register(to, register) => {
                let words = &self.spe(to).words;
                if register == ProblemStateRegister::InMbox && !words.keep_room() {
                    words.block_until_room(mfc.spe);
                    self.met_full_mailbox(mfc, issuer, part, to);
                    return Ok(Next {
                        is_blocked: true,
                        ..Next::default()
                    });
                }
                let target = Endpoint::Spe(to.index() as u16);
                let write = request(mfc.spe, target, Place::Register, Access::Write, WORD_BYTES);
                (write, Effect::Word { to, register, lsa })
            }
        };
        part.lsa += bytes;
        part.ea += u64::from(bytes);
        part.left -= bytes;
        Ok(Next {
            request: Some(request),
            is_sent: part.left == 0,
            ..Next::default()
        })
    }

    /// Reports a full mailbox to `Hazards`, once for each word.
    #[cold]
    fn met_full_mailbox(&self, mfc: &mut MfcState, issuer: Issuer, part: &mut Move, to: SpeId) {
        if mem::replace(&mut part.met_full_mailbox, true) {
            return;
        }
        let from = issuer.processor(mfc.spe);
        let mut hazards = self.observers.hazards.borrow_mut();
        let hazard = hazards.mailbox_full(self.now(), from, to);
        mfc.record_hazard(issuer, hazard);
    }
}

#[inline]
fn to_memory(of: SpeId, module: Endpoint, address: u64, access: Access, bytes: u32) -> Transaction {
    request(of, module, Place::Memory { address }, access, bytes)
}
