//! The cost of a communication between processes (the paper DSMCBE, section 3.1, figures 2 and 3).
//!
//! ```text
//!          ┌────────────────────── successor ◄── successor ◄─ ... ◄─┐
//!          ▼                                                        │
//!       prefix ──────────────────────────────────────────────────► delta ──► consumer, on the PPE
//! ```
//!
//! The prefix sends the first number, the delta sends a copy of each number to the consumer, and
//! each successor adds 1. The consumer checks each number.
//!
//! The time of a communication is the time between two numbers at the consumer, divided by the
//! number of channels in the ring. The ring excludes the channel to the consumer (section 3.1).

use std::iter;

use cellworks_csp::{
    Channel, Ended, Item, Network, Place, Process, ProcessError, Transport, Writer,
};
use cellworks_machine::{Machine, Time, Topology};
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::deployment::Deployment;
use crate::error::{ParameterError, agree};
use crate::figure::{Figure, against, axis};
use crate::picture::Draw;
use crate::placement::Placement;
use crate::ring::{Input, Order, Output, Ring};
use crate::{Conclusion, Done, Metric, Parts, Program, Repeats, RunResult};

/// Measures what a communication between processes costs: DSMCBE's figure 3.
///
/// A number goes round a ring of at least 2 processes on SPEs. A process on the PPE gets a copy in
/// each round, checks it, and takes the time. Neighbours in the ring on the same SPE communicate
/// through channels that do not leave the SPE.
#[derive(Args, Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
#[command(mut_args(|flag| {
    if flag.get_id() == "spes" { flag.default_value("2") } else { flag }
}))]
pub struct CommsTime {
    /// Where the processes run.
    #[command(flatten)]
    #[serde(flatten)]
    pub placement: Placement,

    /// How many rounds are timed. Before the timed rounds, a tenth as many run that are not timed.
    #[arg(long)]
    pub rounds: u64,
}

const FIRST: u64 = 0;

/// The largest number of rounds. Such a run takes hours on any machine.
const ROUNDS_MAX: u64 = 1_000_000_000_000;

const TIME: Metric = Metric::new("time_per_communication", "us");
const GAIN: Metric = Metric::new("gain", "times");

enum Role {
    Prefix,
    Delta(Writer<u64>),
    Successor,
}

impl Program for CommsTime {
    const NAME: &'static str = "commstime";
    const EXAMPLE: &'static str = "--spes 2 --threads 1-4";
    const EXAMPLE_ON_ONE_SPE: Option<&'static str> = Some("--spes 1 --threads 2-4");
    const METRICS: &'static [Metric] = &[TIME];
    const PARTS: Parts = Parts::Processes;
    const REPEATS: Option<Repeats> = Some(Repeats {
        parameter: "rounds",
        // This is the number of rounds in the paper.
        on_this_computer: "10k",
        // Fewer rounds are enough, because all rounds take the same time.
        simulated: "1k",
    });

    fn title(&self) -> String {
        format!("commstime, {}", self.placement.title())
    }

    fn check(&self, topology: &Topology) -> Result<(), ParameterError> {
        self.placement.check(topology)?;
        if self.placement.processes() < 2 {
            return Err(ParameterError::Refused {
                parameter: "spes",
                why: "1 SPE with 1 thread is no ring, which takes 2 processes; use at least 2 SPEs or 2 threads"
                    .to_owned(),
            });
        }
        match self.rounds {
            0 => Err(ParameterError::Zero {
                parameter: "rounds",
                noun: "rounds",
            }),
            1..=ROUNDS_MAX => Ok(()),
            rounds => Err(ParameterError::Refused {
                parameter: "rounds",
                why: format!("{rounds} rounds take too long; use at most {ROUNDS_MAX}"),
            }),
        }
    }

    fn address_space_bytes(&self) -> usize {
        self.placement.stacks_bytes()
    }

    fn run_as<M: Machine>(&self, machine: &M, _: Draw<'_>, parts: &mut Deployment) -> RunResult {
        self.check(machine.topology())?;
        let processes = self.placement.processes();
        let successors = processes - 2;
        let (copies, mut consumer) = Channel::new().named("to the consumer").one_to_one();
        let roles = [Role::Prefix, Role::Delta(copies)].into_iter();
        let roles = roles.chain(iter::repeat_with(|| Role::Successor).take(successors));
        let mut network = Network::on(machine);
        network.transport(self.placement.transport);
        let ring = Ring {
            placement: self.placement,
            order: Order::Together,
            buffered: 0,
        };
        ring.add(&mut network, roles.collect(), go_round::<M::Spe>);
        let not_timed = self.rounds / 10;
        let counted = parts.prepare(&mut network);
        let timed = network.run_with(move |process| {
            let mut begin = Time::default();
            for round in 0..=not_timed + self.rounds {
                let number = consumer.read(process)?;
                let expected = FIRST + round * successors as u64;
                let what = || format!("number {round} of the ring");
                let agreed = agree(what, number, expected, "by the count of its processes");
                if let Err(wrong) = agreed {
                    return Ok(Err(wrong));
                }
                if round == not_timed {
                    begin = process.now();
                }
            }
            Ok::<_, Ended>(Ok(process.now().since(begin)))
        })?;
        parts.record(counted);
        let span = timed.expect("a ring ends only when its consumer does, or its network fails")?;
        let communications = self.rounds as f64 * processes as f64;
        Ok(vec![
            TIME.measured(span.as_seconds_f64() * 1e6 / communications),
        ])
    }

    /// Returns the gain of each run with direct channels: the time with [`Transport::Coordinator`],
    /// divided by the time of the same run with [`Transport::Direct`].
    fn conclusions(done: &[Done<Self>]) -> Vec<Conclusion> {
        let of_coordinator = |one: &Done<Self>| {
            let placement = Placement {
                transport: Transport::Coordinator,
                ..one.program.placement
            };
            let other = Self {
                placement,
                ..one.program
            };
            let other = done.iter().find(|another| another.program == other)?;
            let (direct, coordinator) = (one.value(TIME.name)?, other.value(TIME.name)?);
            (direct > 0.0).then_some(coordinator / direct)
        };
        done.iter()
            .filter(|one| one.program.placement.transport == Transport::Direct)
            .filter_map(|one| {
                Some(Conclusion {
                    quantity: GAIN.measured(of_coordinator(one)?),
                    parameters: one.program.parameters(),
                })
            })
            .collect()
    }

    fn figures(done: &[Done<Self>]) -> Vec<Figure> {
        against(done, "Time of a communication", TIME, axis)
    }
}

fn go_round<P: Place>(
    process: &Process<'_, P>,
    role: Role,
    mut input: Input<u64>,
    mut output: Output<u64>,
) -> Result<(), ProcessError> {
    match role {
        Role::Prefix => {
            output.write(process, FIRST)?;
            each(process, input, output, |number| number)
        }
        Role::Delta(mut copies) => loop {
            let number = input.read(process)?;
            copies.write(process, number)?;
            output.write(process, number)?;
        },
        Role::Successor => each(process, input, output, |number| number + 1),
    }
}

/// Reads items, and writes `f` of each item.
fn each<P: Place, T: Item>(
    process: &Process<'_, P>,
    mut input: Input<T>,
    mut output: Output<T>,
    f: impl Fn(T) -> T,
) -> Result<(), ProcessError> {
    loop {
        let item = input.read(process)?;
        output.write(process, f(item))?;
    }
}
