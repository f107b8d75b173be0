//! A started process may go on for longer than the one that starts it, so it borrows nothing there.
use cellworks_csp::Network;
use cellworks_machine::{Machine, SpeId};

fn program<'env, M: Machine>(network: &mut Network<'env, M>) {
    let starter = network.starter();
    network.process("parent", SpeId::new(0), move |process| {
        let numbers = vec![1_u64, 2, 3];
        let sum = starter.start(process, "sum", SpeId::new(1), |_| Ok(numbers.iter().sum::<u64>()));
        sum.join(process)?;
        Ok(())
    });
}

fn main() {}
