//! The processes of *Programming the CELL-BE using CSP*, Listings 1 and 2, as a network that
//! computes the Fibonacci numbers, on this computer and on a simulated QS22:
//!
//! ```text
//!   prefix 1 ──► prefix 0 ──► delta ──► main
//!      ▲                        │
//!      │                      delta ──► tail ──► add
//!      │                        └───────────────► │
//!      └──────────────────────────────────────────┘
//! ```

use cellworks::csp::processes::{add, delta, parallel_delta, prefix, tail};
use cellworks::prelude::*;
use cellworks::sim::Description;

fn fibonacci<M: Machine>(machine: &M, count: usize) -> Result<Vec<u64>, NetworkError> {
    let channel = |name: &str| Channel::new().named(name).one_to_one::<u64>();
    let (sum, to_prefix_1) = channel("sum");
    let (from_prefix_1, to_prefix_0) = channel("behind prefix 1");
    let (from_prefix_0, to_delta) = channel("behind prefix 0");
    let (result, mut results) = channel("results");
    let (numbers, to_split) = channel("numbers");
    let (left, as_they_are) = channel("as they are");
    let (right, to_tail) = channel("to tail");
    let (from_tail, without_first) = channel("without the first");

    // Each of three SPEs has two processes, which take turns.
    let [a, b, c] = [0, 1, 2].map(SpeId::new);
    let mut network = Network::on(machine);
    network.process("prefix 1", a, |process| {
        prefix(process, 1, to_prefix_1, from_prefix_1)
    });
    network.process("prefix 0", a, |process| {
        prefix(process, 0, to_prefix_0, from_prefix_0)
    });
    network.process("results", b, |process| {
        delta(process, to_delta, result, numbers)
    });
    network.process("split", b, |process| {
        parallel_delta(process, to_split, left, right)
    });
    network.process("tail", c, |process| tail(process, to_tail, from_tail));
    network.process("add", c, |process| {
        add(process, as_they_are, without_first, sum)
    });
    network.run_with(|process| {
        let numbers = Vec::from_iter((0..count).map_while(|_| results.read(process).ok()));
        // The poison spreads through all channels, so all processes end.
        results.poison(process);
        numbers
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let host = Host::builder().spes(3).build()?;
    println!("this computer: {:?}", fibonacci(&host, 16)?);
    let blade = Sim::new(Description::load("qs22")?)?;
    println!("an IBM QS22:   {:?}", fibonacci(&blade, 16)?);
    Ok(())
}
