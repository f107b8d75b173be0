//! The ring of CommsTime, by channels (the paper on CSP, section 3.1).

use cellworks_apps::{self as apps, Placement, Program};
use cellworks_csp::{Channel, Ended, Network, Transport};
use cellworks_machine::{Machine, Span};
use serde::Deserialize;

use super::{Access, Outcome, check_spes, failed, one};

/// The time of a communication in a ring of processes on SPEs: see [`CommsTime`](apps::CommsTime) of the programs.
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

impl From<ChannelTransport> for Transport {
    fn from(transport: ChannelTransport) -> Self {
        match transport {
            ChannelTransport::Coordinator => Self::Coordinator,
            ChannelTransport::Direct => Self::Direct,
        }
    }
}

/// Timed rounds, and those on the PPE before them.
const TIMED: u32 = 100;
const WARM_UP: u32 = 5;

impl CommsTime {
    pub(super) fn run<M: Machine>(&self, machine: &M) -> Result<Outcome, String> {
        check_spes(machine, usize::from(self.spes))?;
        let transport = self.transport.into();
        if self.spes == 0 {
            let took = on_ppe(transport, machine)?;
            return Ok(Outcome::time(took.as_nanoseconds_f64() / f64::from(TIMED)));
        }
        let ring = apps::CommsTime {
            placement: Placement {
                spes: self.spes.into(),
                threads: self.threads.into(),
                transport,
            },
            rounds: TIMED.into(),
        };
        let found = ring.run(machine).map_err(|error| error.to_string())?;
        let microseconds = found.first().expect("it has one result").value;
        Ok(Outcome::time(microseconds * 1e3))
    }
}

/// Communications of the main process with itself.
fn on_ppe<M: Machine>(transport: Transport, machine: &M) -> Result<Span, String> {
    let mut network = Network::on(machine);
    network.transport(transport);
    let (mut writer, mut reader) = Channel::new().buffered(1).one_to_one::<u32>();
    let took = network.run_with(move |process| {
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
