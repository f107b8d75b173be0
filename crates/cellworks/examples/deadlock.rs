//! Two programs wait for each other: the run ends with an error that lists each wait.

use cellworks::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let host = Host::new()?;
    let result = host.run(|ppe| {
        let first = SpeId::new(0);
        let _asked = ppe.spawn(first, |spe| {
            let question = spe.read_in_mbox();
            spe.write_out_mbox(Outbound::Plain, question + 1);
        });
        // The PPE never sent the word for which SPE 0 waits.
        ppe.read_out_mbox(first, Outbound::Plain)
    });
    match result {
        Err(error) => println!("{error}"),
        Ok(answer) => unreachable!("{answer} was not asked for"),
    }
    Ok(())
}
