//! A local end stays on its SPE, so it is no item.
use cellworks_csp::{Channel, Local, One, Writer};

fn main() {
    let (_writer, _reader) = Channel::new().one_to_one::<Writer<u32, One, Local>>();
}
