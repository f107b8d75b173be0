//! Two processes wait for each other to write first: the run ends with an error that says so.

use cellworks::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut to_right, mut at_right) = Channel::new().named("to the right").one_to_one::<u32>();
    let (mut to_left, mut at_left) = Channel::new().named("to the left").one_to_one::<u32>();
    let host = Host::new()?;
    let mut network = Network::on(&host);
    network.process("left", SpeId::new(0), move |process| {
        let number = at_left.read(process)?;
        Ok(to_right.write(process, number + 1)?)
    });
    network.process("right", SpeId::new(0), move |process| {
        let number = at_right.read(process)?;
        Ok(to_left.write(process, number + 1)?)
    });
    match network.run() {
        Err(error) => println!("{error}"),
        Ok(()) => unreachable!("no process has written first"),
    }
    Ok(())
}
