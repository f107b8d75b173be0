//! The ring of CommsTime on a simulated QS22, with both transports: microseconds for a communication.
//!
//! ```text
//! cargo run --release -p cellworks-csp --example transports
//! ```

use cellworks_csp::{Channel, Ended, Network, Traffic, Transport};
use cellworks_machine::{Machine, SpeId, Time};
use cellworks_sim::{Description, Sim};

const ROUNDS: u32 = 200;

/// Sends a number around a ring of `spes * threads` processes, from SPE to SPE, and to the PPE each time (figure 2 of the
/// paper). Returns how long it takes for a communication, in microseconds, and what was moved.
fn ring<M: Machine>(
    machine: &M,
    transport: Transport,
    spes: usize,
    threads: usize,
) -> (f64, Traffic) {
    let processes = spes * threads;
    let mut network = Network::new();
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
    let measured = network.run_counted(machine, move |process| {
        let mut since = Time::default();
        // The first rounds find out who uses which channel.
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
    let took = took.expect("nobody else poisons it");
    let communications = f64::from(ROUNDS) * (processes + 1) as f64;
    (
        took.as_femtoseconds() as f64 / 1e9 / communications,
        traffic,
    )
}

fn main() {
    for transport in [Transport::Direct, Transport::Coordinator] {
        println!("{transport:?}: us for a communication; with all 16 SPEs, what was moved");
        println!("SPEs        2        4        8       12       16");
        for threads in 1..=4 {
            print!("{threads} each");
            let mut last = Traffic::default();
            for spes in [2, 4, 8, 12, 16] {
                let sim = Sim::new(Description::built_in("qs22").expect("it is built in"));
                let (took_us, traffic) = ring(&sim, transport, spes, threads);
                print!(" {took_us:8.3}");
                last = traffic;
            }
            println!("   {last:?}");
        }
    }
}
