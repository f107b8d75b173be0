//! A network of 64 processes that runs once, is placed by what its processes have sent to each
//! other, and runs again: on the 32 CPUs of a Threadripper 1950X, which is simulated
//! from the latencies that Nicolas Viennot published with core-to-core-latency.
//!
//! `cellworks run PROGRAM --volumes FILE` and `--placement FILE` do the same for the programs of
//! the command: see docs/mapping.md.

use std::error::Error;
use std::ops::ControlFlow;

use cellworks::machine::{Flows, Span};
use cellworks::mapping::Limit;
use cellworks::prelude::*;
use cellworks::sim::Description;

const LATENCIES: &str = include_str!("threadripper-1950x.csv");

/// Runs eight rings of eight processes, each of which passes numbers round: process 0 to 8, to 16
/// and so on. Returns the time of 90 rounds, and what went from process to process.
fn run(machine: &Sim, places: &[SpeId]) -> Result<(Span, Flows), Box<dyn Error>> {
    let channels = (0..64).map(|_| Channel::new().one_to_one::<u64>());
    let (outputs, mut inputs): (Vec<_>, Vec<_>) = channels.unzip();
    inputs.rotate_right(8);
    let (done, mut times) = Channel::new().any_to_one::<Span>();
    let mut network = Network::on(machine);
    for (at, (mut output, mut input)) in outputs.into_iter().zip(inputs).enumerate() {
        let mut done = done.clone();
        network.process(format!("process {at}"), places[at], move |process| {
            let mut begin = process.now();
            for round in 0..100 {
                if round == 10 {
                    begin = process.now();
                }
                if at < 8 {
                    output.write(process, round)?;
                }
                let number = input.read(process)?;
                if at >= 8 {
                    output.write(process, number)?;
                }
            }
            Ok(done.write(process, process.now().since(begin))?)
        });
    }
    drop(done);
    let counted = network.count_volumes();
    let longest = network.run_with(move |process| times.items(process).max())?;
    Ok((longest.ok_or("no process has ended")?, counted.flows()))
}

fn main() -> Result<(), Box<dyn Error>> {
    let machine = Sim::new(Description::from_matrix(
        LATENCIES,
        "threadripper-1950x.csv",
    )?)?;
    let in_order: Vec<SpeId> = (0..64).map(|at| SpeId::new(at / 2)).collect();
    let (before, flows) = run(&machine, &in_order)?;

    let costs = Costs::from_rows(&cellworks::machine::latency_table(LATENCIES)?)?;
    let problem = Problem::builder(Volumes::from_flows(&flows), costs);
    let problem = problem.capacity(2).build()?;
    let search = Search::new(Limit::Iterations(200));
    let found = search.run(&problem, |_| ControlFlow::Continue(()));
    let places = found.placement.places().iter();
    let places = places.map(|place| SpeId::new(place.0 as u16));

    let (after, again) = run(&machine, &places.collect::<Vec<_>>())?;
    assert!(
        again.iter().eq(flows.iter()),
        "the same processes send the same items"
    );
    println!("in order: {before}, placed by its volumes: {after}");
    Ok(())
}
