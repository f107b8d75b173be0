//! What is written to a channel belongs to the reader.
use cellworks_csp::{Ended, Place, Process, Writer};

fn program(process: &Process<impl Place>, mut writer: Writer<Vec<u8>>) -> Result<(), Ended> {
    let mut item = vec![1];
    writer.write(process, item)?;
    item.push(2);
    Ok(())
}

fn main() {}
