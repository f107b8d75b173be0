//! A communication by a channel within the PPE (the paper on CSP, section 3.1).

use cellworks_csp::{Channel, Ended, Network, Transport};
use cellworks_machine::{Machine, Span};

use super::outcome::{SimulationResults, failed};

/// The number of timed communications. [`WARM_UP`] untimed communications precede these.
const TIMED: u32 = 100;
const WARM_UP: u32 = 5;

/// Measures a communication of the main process with itself: the process writes to a channel with a
/// buffer, and reads the value back. The channel has the transport that the paper describes.
pub(super) fn run<M: Machine>(machine: &M) -> Result<SimulationResults, String> {
    let took = on_ppe(machine)?;
    Ok(SimulationResults::time(
        took.as_nanoseconds_f64() / f64::from(TIMED),
    ))
}

fn on_ppe<M: Machine>(machine: &M) -> Result<Span, String> {
    let mut network = Network::on(machine);
    network.transport(Transport::Coordinator);
    let (mut writer, mut reader) = Channel::new().buffered(1).one_to_one::<u32>();
    let took = network.run_with(move |process| {
        let mut begin = process.now();
        for number in 0..WARM_UP + TIMED {
            if number == WARM_UP {
                begin = process.now();
            }
            writer.write(process, number)?;
            reader.read(process)?;
        }
        Ok::<_, Ended>(process.now().since(begin))
    });
    took.map_err(failed)?.map_err(failed)
}
