//! A network that serves the program around it. Threads outside the network, such as those of a web
//! server, sell the seats of a theatre. No lock is needed and no seat is sold twice, because only
//! one process of the network knows which seats are free.

use std::error::Error;

use cellworks_csp::{
    Any, Channel, Gate, Item, Network, Place, Process, ProcessError, Reader, Writer,
};
use cellworks_host::Host;
use cellworks_machine::{Machine, SpeId};

/// A request for seats side by side.
pub struct Order {
    seats: u32,
    /// The writer for the answer: the number of the first seat, or `None` without enough seats.
    answer: Writer<Option<u32>>,
}

impl Item for Order {}

/// Sells seats until the last ordering thread has ended. Returns the number of sold seats.
fn theatre(process: &Process<'_, impl Place>, mut orders: Reader<Order>, seats: u32) -> u32 {
    let mut sold = 0;
    for Order {
        seats: more,
        mut answer,
    } in orders.items(process)
    {
        let is_enough = sold + more <= seats;
        // A thread that has ended before its answer gets no seats.
        if answer.write(process, is_enough.then_some(sold)).is_ok() && is_enough {
            sold += more;
        }
    }
    sold
}

/// Orders pairs of seats as long as seats are left, in a thread outside the network.
fn sell_pairs(mut gate: Gate<Writer<Order, Any>>) -> Result<Vec<u32>, ProcessError> {
    let (orders, process) = gate.enter()?;
    let mut pairs = Vec::new();
    loop {
        let (answer, mut answered) = Channel::new().one_to_one();
        orders.write(&process, Order { seats: 2, answer })?;
        match answered.read(&process)? {
            Some(first) => pairs.push(first),
            None => return Ok(pairs),
        }
    }
}

/// Sells `seats` seats in four threads. Returns the number of sold seats, and the first seat of
/// each pair.
pub(crate) fn sell<M: Machine + Sync>(
    machine: &M,
    seats: u32,
) -> Result<(u32, Vec<u32>), Box<dyn Error>> {
    let (orders, to_serve) = Channel::new().named("orders").any_to_one();
    let (mut total, mut sold) = Channel::new().one_to_one();
    let mut network = Network::on(machine);
    network.process("theatre", SpeId::new(0), move |process| {
        Ok(total.write(process, theatre(process, to_serve, seats))?)
    });
    let gate = network.gate("box office", orders);
    std::thread::scope(|scope| {
        let offices: Vec<_> = (0..4)
            .map(|_| {
                let gate = gate.clone();
                scope.spawn(|| sell_pairs(gate))
            })
            .collect();
        drop(gate);
        let sold = network.run_with(|process| sold.read(process))??;
        let mut pairs = Vec::new();
        for office in offices {
            let office = office.join().expect("no office panics");
            pairs.extend(office.map_err(|error| error.to_string())?);
        }
        Ok((sold, pairs))
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let (sold, pairs) = sell(&Host::new()?, 101)?;
    println!("{sold} of 101 seats sold, {} pairs", pairs.len());
    Ok(())
}
