//! The ring of CommsTime on a simulated QS22.

use cellworks_csp::{Channel, Ended, Network, Traffic, Transport};
use cellworks_machine::{Span, SpeId, Time};
use cellworks_sim::{Description, Sim};

const ROUNDS: u32 = 100;

/// Sends a number around a ring of `spes * threads` processes, from SPE to SPE, and in each round
/// to the PPE (figure 2 of the paper). Returns the time of a communication, and the traffic.
pub fn ring(transport: Transport, spes: usize, threads: usize) -> (Span, Traffic) {
    let qs22 = Sim::new(Description::built_in("qs22").expect("it is built in"))
        .expect("there is memory for its local stores");
    let processes = spes * threads;
    let mut network = Network::on(&qs22);
    network.transport(transport);
    let (mut writers, mut readers) = (Vec::new(), Vec::new());
    for _ in 0..processes {
        let (writer, reader) = Channel::new().one_to_one::<u32>();
        writers.push(Some(writer));
        readers.push(Some(reader));
    }
    let (count, mut counted) = Channel::new().one_to_one::<u32>();
    let mut count = Some(count);
    for index in 0..processes {
        let at = SpeId::new((index / threads) as u16);
        let mut input = readers[index].take().expect("one process reads it");
        let output = writers[(index + 1) % processes].take();
        let mut output = output.expect("one process writes it");
        match index {
            0 => network.process("prefix", at, move |process| {
                output.write(process, 0)?;
                loop {
                    let number = input.read(process)?;
                    output.write(process, number)?;
                }
            }),
            1 => {
                let mut count = count.take().expect("there is one delta");
                network.process("delta", at, move |process| {
                    loop {
                        let number = input.read(process)?;
                        output.write(process, number)?;
                        count.write(process, number)?;
                    }
                });
            }
            _ => network.process("successor", at, move |process| {
                loop {
                    let number = input.read(process)?;
                    output.write(process, number + 1)?;
                }
            }),
        }
    }
    let measured = network.run_counted(move |process| {
        let mut since = Time::default();
        // In the first rounds the transport learns which processes use which channel.
        for round in 0..ROUNDS + 5 {
            if round == 5 {
                since = process.now();
            }
            counted.read(process)?;
        }
        let took = process.now().since(since);
        counted.poison(process);
        Ok::<_, Ended>(took)
    });
    let (took, traffic) = measured.expect("the ring ends when it is poisoned");
    let took = took.expect("no other process poisons it");
    let communications = u128::from(ROUNDS) * (processes as u128 + 1);
    let each_fs = took.as_femtoseconds() / communications;
    (Span::from_femtoseconds(each_fs), traffic)
}
