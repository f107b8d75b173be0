//! An alternation speaks for the ends that it lists.
use cellworks_csp::{Alternation, Ended, Place, Process, Reader};

fn program(process: &Process<impl Place>, mut reader: Reader<u32>) -> Result<u32, Ended> {
    let mut alternation = Alternation::fair();
    let guard = alternation.read(&mut reader);
    reader.read(process)?;
    alternation.select(process)?;
    Ok(alternation.take(process, &guard))
}

fn main() {}
