//! The ring of CommsTime, by channels (the paper on CSP, section 3.1).

use cellworks_csp::{Channel, Ended, Network, Process, Transport};
use cellworks_machine::{Machine, Span, SpeId};
use serde::Deserialize;

use super::{Access, Outcome, check_spes, failed};

/// A number that goes around a ring of processes on SPEs, and to the PPE each time (figure 2); the result is the time of a
/// communication: that of a round, divided by the number of channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommsTime {
    /// SPEs. 0 is a communication on the PPE alone: a write to a buffer, and a read from it.
    pub spes: u16,
    /// Processes on each.
    #[serde(default = "one")]
    pub threads: u16,
    /// What carries requests.
    #[serde(default)]
    pub transport: ChannelTransport,
    /// How the PPE reaches mailboxes.
    #[serde(default)]
    pub ppe_access: Access,
}

/// What carries requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChannelTransport {
    /// The paper's own.
    #[default]
    Coordinator,
    /// What it proposes for the future.
    Direct,
}

fn one() -> u16 {
    1
}

/// Rounds before those that are timed, in which it is found out who uses which channel, and timed rounds.
const WARM_UP: u32 = 5;
const TIMED: u32 = 100;

impl CommsTime {
    pub(super) fn run<M: Machine>(&self, machine: &M) -> Result<Outcome, String> {
        check_spes(machine, usize::from(self.spes))?;
        let mut network = Network::new();
        network.transport(match self.transport {
            ChannelTransport::Coordinator => Transport::Coordinator,
            ChannelTransport::Direct => Transport::Direct,
        });
        let processes = usize::from(self.spes) * usize::from(self.threads);
        let took = match processes {
            0 => on_ppe(network, machine),
            1 => return Err("a ring has at least two processes".to_owned()),
            _ => self.ring(network, machine, processes),
        }?;
        let communications = f64::from(TIMED) * (processes + 1) as f64;
        Ok(Outcome::time(took.as_nanoseconds_f64() / communications))
    }

    fn ring<M: Machine>(
        &self,
        mut network: Network<'_, M>,
        machine: &M,
        processes: usize,
    ) -> Result<Span, String> {
        let (mut writers, readers): (Vec<_>, Vec<_>) = (0..processes)
            .map(|_| Channel::new().one_to_one::<u32>())
            .unzip();
        // Each process reads from the one before it.
        writers.rotate_left(1);
        let (mut count, mut counted) = Channel::new().one_to_one::<u32>();
        let ends = writers.into_iter().zip(readers).enumerate();
        let mut delta = Some(move |process: &Process<'_, M::Spe>, number| {
            Ok::<_, Ended>(count.write(process, number)?)
        });
        for (index, (mut output, mut input)) in ends {
            let at = SpeId::new((index / usize::from(self.threads)) as u16);
            let mut also = if index == 1 { delta.take() } else { None };
            network.process(format!("process {index}"), at, move |process| {
                if index == 0 {
                    output.write(process, 0)?;
                }
                loop {
                    let number = input.read(process)?;
                    output.write(process, number + 1)?;
                    if let Some(also) = &mut also {
                        also(process, number)?;
                    }
                }
            });
        }
        let took = network.run_with(machine, move |process| {
            let mut begin = process.now();
            for round in 0..WARM_UP + TIMED {
                if round == WARM_UP {
                    begin = process.now();
                }
                counted.read(process)?;
            }
            let took = process.now().since(begin);
            counted.poison(process);
            Ok::<_, Ended>(took)
        });
        took.map_err(failed)?.map_err(failed)
    }
}

/// Communications of the main process with itself.
fn on_ppe<M: Machine>(network: Network<'_, M>, machine: &M) -> Result<Span, String> {
    let (mut writer, mut reader) = Channel::new().buffered(1).one_to_one::<u32>();
    let took = network.run_with(machine, move |process| {
        let mut begin = process.now();
        for number in 0..WARM_UP + TIMED {
            if number == WARM_UP {
                begin = process.now();
            }
            writer.write(process, number)?;
            reader.read(process)?;
        }
        Ok::<_, Ended>(process.now().since(begin))
    });
    took.map_err(failed)?.map_err(failed)
}
