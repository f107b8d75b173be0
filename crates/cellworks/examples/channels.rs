//! Workers on two SPEs take tasks from one channel and write results to another channel. On this
//! computer items move between processes by ownership. On the simulated blade the SPEs share no
//! memory.

use cellworks::prelude::*;
use cellworks::sim::Description;

fn sum_of_squares<M: Machine>(machine: &M) -> Result<u64, NetworkError> {
    let (mut tasks, worker) = Channel::new().one_to_any::<u64>();
    let (results, mut squares) = Channel::new().any_to_one::<u64>();
    let mut network = Network::on(machine);
    for spe in [0, 1].map(SpeId::new) {
        let (mut tasks, mut results) = (worker.clone(), results.clone());
        network.process(format!("worker on {spe}"), spe, move |process| {
            loop {
                let number = tasks.read(process)?;
                results.write(process, number * number)?;
            }
        });
    }
    // The workers have the last writers of `results`: when the workers end, `results` is closed.
    drop((worker, results));
    network.process("source", SpeId::new(0), move |process| {
        (1..=100).try_for_each(|number| Ok(tasks.write(process, number)?))
    });
    network.run_with(|process| std::iter::from_fn(|| squares.read(process).ok()).sum())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let host = Host::builder().spes(2).build()?;
    println!("this computer: {}", sum_of_squares(&host)?);
    let blade = Sim::new(Description::load("qs22")?)?;
    println!("an IBM QS22:   {}", sum_of_squares(&blade)?);
    Ok(())
}
