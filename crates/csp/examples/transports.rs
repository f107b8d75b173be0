//! Prints the microseconds of a communication in the ring of CommsTime, on a simulated QS22, with
//! both transports.
//!
//! ```text
//! cargo run --release -p cellworks-csp --example transports
//! ```

use cellworks_csp::{Traffic, Transport};

mod ring;

fn main() {
    for transport in [Transport::Direct, Transport::Coordinator] {
        println!("{transport:?}: us for a communication; with all 16 SPEs, what was moved");
        println!("SPEs        2        4        8       12       16");
        for threads in 1..=4 {
            print!("{threads} each");
            let mut last = Traffic::default();
            for spes in [2, 4, 8, 12, 16] {
                let (took, traffic) = ring::ring(transport, spes, threads);
                let took_us = took.as_femtoseconds() as f64 / 1e9;
                print!(" {took_us:8.3}");
                last = traffic;
            }
            println!("   {last:?}");
        }
    }
}
