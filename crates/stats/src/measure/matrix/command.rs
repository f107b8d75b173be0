//! Commands from the PPE to an SPE, sent as words to the inbound mailbox of the SPE.

use cellworks_machine::mfc::EffectiveAddress;
use cellworks_machine::{CellSpe, Span, SpeId};

use crate::measure::crew::END;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Answer,
    Time,
}

/// The work of one SPE in a pair, in words that fill the inbound mailbox.
///
/// ```text
///   role, partner │ variable, upper half │ lower half │ microseconds
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Command {
    pub role: Role,
    pub partner: SpeId,
    /// The address of the first line of the variable, or 0 without a variable.
    pub variable: EffectiveAddress,
    pub span: Span,
}

const ANSWER: u32 = 1 << 16;
const TIME: u32 = 2 << 16;
const FEMTOSECONDS_PER_MICROSECOND: u128 = 1_000_000_000;

impl Command {
    pub fn words(&self) -> [u32; 4] {
        let role = match self.role {
            Role::Answer => ANSWER,
            Role::Time => TIME,
        };
        let us = self.span.as_femtoseconds() / FEMTOSECONDS_PER_MICROSECOND;
        [
            role | self.partner.index() as u32,
            self.variable.eah(),
            self.variable.eal(),
            u32::try_from(us).unwrap_or(u32::MAX),
        ]
    }

    /// Waits for the next command. Returns `None` if there are no more commands.
    pub fn receive<S: CellSpe>(spe: &S) -> Option<Self> {
        let first = spe.read_in_mbox();
        if first == END {
            return None;
        }
        let [eah, eal, us] = [(); 3].map(|()| spe.read_in_mbox());
        Some(Self {
            role: if first & TIME == 0 {
                Role::Answer
            } else {
                Role::Time
            },
            partner: SpeId::new(first as u16),
            variable: EffectiveAddress::from_halves(eah, eal),
            span: Span::from_femtoseconds(u128::from(us) * FEMTOSECONDS_PER_MICROSECOND),
        })
    }
}
