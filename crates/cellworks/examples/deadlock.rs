//! A run in which everybody waits for somebody else ends with an error that says who waits for what.

use cellworks::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let host = Host::new()?;
    let result = host.run(|ppe| {
        let first = SpeId::new(0);
        let _asked = ppe.spawn(first, |spe| {
            let question = spe.read_in_mbox();
            spe.write_out_mbox(Outbound::Plain, question + 1);
        });
        // The question was never sent.
        ppe.read_out_mbox(first, Outbound::Plain)
    });
    match result {
        Err(error) => println!("{error}"),
        Ok(answer) => unreachable!("nobody asked for {answer}"),
    }
    Ok(())
}
