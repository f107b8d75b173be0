//! The program of an SPE in a matrix, which carries out the commands of the PPE.

use cellworks_machine::mailbox::Outbound;
use cellworks_machine::mfc::EffectiveAddress;
use cellworks_machine::{CellSpe, Span, SpeId};

use super::blocks::Blocks;
use super::command::{Command, Role};
use super::rounds::Rounds;
use super::sides::Sides;
use super::variable::{Reads, Swaps, Variable};
use super::words::{Mailbox, Signal, Words};
use crate::error::SpeError;
use crate::function::Polling;
use crate::measure::crew::READY;
use crate::plan::pairs::Carrier;
use crate::program::FAILED;
use crate::sample::Clock;

#[derive(Debug, Default)]
pub(super) struct Served {
    /// The timing SPE, its partner, and the one-way time, for each pair with a time.
    pub one_way: Vec<(SpeId, SpeId, Span)>,
    /// The SPEs that sent blocks, and the addresses of the blocks.
    pub blocks: Vec<(SpeId, EffectiveAddress)>,
}

impl Served {
    pub fn of_all(all: Vec<Self>) -> Self {
        all.into_iter().fold(Self::default(), |mut all, served| {
            all.one_way.extend(served.one_way);
            all.blocks.extend(served.blocks);
            all
        })
    }
}

/// Carries out the commands of the PPE, and returns the results. Every SPE runs this program.
pub(super) fn serve<S: CellSpe>(spe: &S, carrier: Carrier) -> Result<Served, SpeError> {
    match carrier {
        Carrier::Mailbox => execute_commands(spe, Ok(Words(Mailbox))),
        Carrier::Signal => execute_commands(spe, Ok(Words(Signal))),
        Carrier::Atomic(Polling::Reads) => execute_commands(spe, Ok(Variable(Reads))),
        Carrier::Atomic(Polling::CompareAndSwap) => execute_commands(spe, Ok(Variable(Swaps))),
        Carrier::Copy { bytes } => execute_commands(spe, Blocks::reserve(spe, bytes)),
    }
}

fn execute_commands<S: CellSpe>(
    spe: &S,
    sides: Result<impl Sides<S>, SpeError>,
) -> Result<Served, SpeError> {
    // Without this report, the PPE would wait for a word of the program forever.
    let or_report = |failure| {
        spe.write_out_mbox(Outbound::Plain, FAILED);
        failure
    };
    let mut sides = sides.map_err(or_report)?;
    let mut served = Served::default();
    // The clock is calibrated only if the SPE times a pair.
    let mut clock = None;
    spe.write_out_mbox(Outbound::Plain, READY);
    while let Some(command) = Command::receive(spe) {
        match command.role {
            Role::Answer => sides.answer(spe, &command).map_err(or_report)?,
            Role::Time => {
                let clock = *clock.get_or_insert_with(|| Clock::calibrate(|| spe.now()));
                let mut rounds = Rounds::new(clock);
                sides.time(spe, &command, &mut rounds).map_err(or_report)?;
                let one_way = rounds.median();
                served
                    .one_way
                    .extend(one_way.map(|median| (spe.id(), command.partner, median)));
            }
        }
        spe.write_out_mbox(Outbound::Plain, READY);
    }
    let sent = sides.sent(spe);
    served.blocks.extend(sent.map(|block| (spe.id(), block)));
    Ok(served)
}
