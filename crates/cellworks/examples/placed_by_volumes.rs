//! A network of 64 processes that runs once, is placed by what its processes have sent to each
//! other, and runs again: on the 32 CPUs of a Threadripper 1950X, which is simulated
//! from the latencies that Nicolas Viennot published with core-to-core-latency.
//!
//! `cellworks run PROGRAM --volumes FILE` and `--placement FILE` do the same for the programs of
//! the command: see docs/mapping.md.

use std::error::Error;

use cellworks::machine::{Flows, Span};
use cellworks::prelude::*;
use cellworks::sim::Description;

const LATENCIES: &str = include_str!("threadripper-1950x.csv");

/// Runs eight rings of eight processes, which pass numbers round: process 0 to 8, to 16 and so on.
/// Returns the time of the run, and what went from process to process.
fn run(
    machine: &Sim,
    places: impl Iterator<Item = SpeId>,
) -> Result<(Span, Flows), Box<dyn Error>> {
    let channels = (0..64).map(|_| Channel::new().one_to_one::<u64>());
    let (outputs, mut inputs): (Vec<_>, Vec<_>) = channels.unzip();
    inputs.rotate_right(8);
    let mut network = Network::on(machine);
    for (at, ((mut output, mut input), place)) in
        (0..).zip(outputs.into_iter().zip(inputs).zip(places))
    {
        network.process("in a ring", place, move |process| {
            for round in 0..1_000 {
                // The first process of a ring begins each round.
                let number = if at < 8 { round } else { input.read(process)? };
                output.write(process, number)?;
                if at < 8 {
                    input.read(process)?;
                }
            }
            Ok(())
        });
    }
    let counted = network.count_volumes();
    network.run()?;
    let time = machine.counters().ok_or("it has run")?.elapsed;
    Ok((time, counted.flows()))
}

fn main() -> Result<(), Box<dyn Error>> {
    let machine = Sim::new(Description::from_matrix(LATENCIES, "1950x.csv")?)?;
    let (before, flows) = run(&machine, (0..64).map(|at| SpeId::new(at / 2)))?;
    let costs = Costs::from_rows(&cellworks::machine::latency_table(LATENCIES)?)?;
    let problem = Problem::builder(Volumes::from_flows(&flows), costs).capacity(2);
    let found = Search::new(Limit::Iterations(200)).find(&problem.build()?);
    let (after, _) = run(&machine, found.placement.spes())?;
    println!("in order: {before}, placed by its volumes: {after}");
    Ok(())
}
