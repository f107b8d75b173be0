//! A network of 64 processes that runs once, is placed by what its processes have sent to each
//! other, and runs again: on the 32 CPUs of a Threadripper 1950X, which is simulated
//! from the latencies that Nicolas Viennot published with core-to-core-latency.
//!
//! `cellworks run PROGRAM --volumes FILE` and `--placement FILE` do the same for the programs of
//! the command: see docs/mapping.md.

use cellworks::{machine::*, prelude::*, sim::Description};

const LATENCIES: &str = include_str!("threadripper-1950x.csv");

/// Runs eight rings of eight processes: process 0 sends numbers to process 8, which sends its own
/// numbers to process 16, and so on. Returns the time, and what went from process to process.
fn run(sim: &Sim, places: impl Iterator<Item = SpeId>) -> Result<(Span, Flows), NetworkError> {
    let channels = (0..64).map(|_| Channel::new().buffered(1).one_to_one::<u64>());
    let (outputs, mut inputs): (Vec<_>, Vec<_>) = channels.unzip();
    inputs.rotate_right(8);
    let mut network = Network::on(sim);
    for ((mut output, mut input), place) in outputs.into_iter().zip(inputs).zip(places) {
        network.process("in a ring", place, move |process| {
            (0..1_000).try_for_each(|number| {
                output.write(process, number)?;
                Ok(input.read(process).map(drop)?)
            })
        });
    }
    let counted = network.count_volumes();
    network.run()?;
    Ok((sim.counters().expect("it ran").elapsed, counted.flows()))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sim = Sim::new(Description::from_matrix(LATENCIES, "1950x.csv")?)?;
    let (before, flows) = run(&sim, (0..64).map(|process| SpeId::new(process / 2)))?;
    let costs = Costs::from_rows(&latency_table(LATENCIES)?.rows)?;
    let problem = Problem::builder(Volumes::from_flows(&flows), costs).capacity(2);
    let found = Search::new(Limit::Iterations(200)).find(&problem.build()?);
    let (after, _) = run(&sim, found.placement.spes())?;
    println!("in order: {before}, placed by its volumes: {after}");
    assert!(after < before);
    Ok(())
}
