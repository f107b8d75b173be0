//! The prime sieve. Each prime number has a process, which passes on only the numbers that its
//! prime does not divide. The first number from the last process is the next prime, for which a
//! process is started. The number of processes is not known beforehand.

use cellworks_csp::{
    Any, Channel, Ended, Network, NetworkError, Place, Process, ProcessError, Reader, Starter,
    Writer,
};
use cellworks_host::Host;
use cellworks_machine::{Machine, Spe, SpeId};
use cellworks_sim::{Description, Sim};

/// Reads numbers that no smaller prime divides. The first number is a prime.
fn filter<S: Spe>(
    starter: &Starter<'_, S>,
    process: &Process<'_, S>,
    mut numbers: Reader<u64>,
    mut primes: Writer<u64, Any>,
) -> Result<(), ProcessError> {
    let prime = numbers.read(process)?;
    primes.write(process, prime)?;
    let (mut passed, at_next) = Channel::new().one_to_one();
    let its_own = starter.clone();
    let spes = process.place().topology().spes().len();
    let next = SpeId::new(((process.place().id().index() + 1) % spes) as u16);
    drop(
        starter.start(process, format!("after {prime}"), next, move |process| {
            filter(&its_own, process, at_next, primes)
        }),
    );
    loop {
        let number = numbers.read(process)?;
        if !number.is_multiple_of(prime) {
            passed.write(process, number)?;
        }
    }
}

/// Returns the first `count` primes.
pub(crate) fn primes<M: Machine>(machine: &M, count: usize) -> Result<Vec<u64>, NetworkError> {
    let (primes, mut found) = Channel::new().named("primes").any_to_one();
    let mut network = Network::on(machine);
    let starter = network.starter();
    for spe in machine.topology().spes() {
        // An empty group is enough to start processes on this SPE.
        network.group(spe, |_| {});
    }
    network.process("numbers", SpeId::new(0), move |process| {
        let (mut numbers, at_first) = Channel::new().one_to_one();
        let its_own = starter.clone();
        let first = process.place().id();
        drop(starter.start(process, "first", first, move |process| {
            filter(&its_own, process, at_first, primes)
        }));
        (2..).try_for_each(|number| Ok(numbers.write(process, number)?))
    });
    network.run_with(move |process| take(process, &mut found, count))
}

/// Reads `count` primes and closes `found`. Then the filters end, from the last filter to the
/// first.
fn take(process: &Process<'_, impl Place>, found: &mut Reader<u64>, count: usize) -> Vec<u64> {
    let primes: Result<_, Ended> = (0..count).map(|_| found.read(process)).collect();
    found.close(process);
    primes.expect("there is always one more prime")
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let host = Host::builder().spes(2).build()?;
    println!("this computer: {:?}", primes(&host, 30)?);
    let blade = Sim::new(Description::load("qs22")?)?;
    println!("an IBM QS22:   {:?}", primes(&blade, 30)?);
    Ok(())
}
