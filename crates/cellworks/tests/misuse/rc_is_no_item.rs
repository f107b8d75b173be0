//! Two threads may not share the count of an `Rc`, so an `Rc` is no item, not even in a `Foreign`
//! or for a local channel.
use std::rc::Rc;

use cellworks_csp::{Channel, Foreign, item};

struct Text {
    text: Rc<str>,
}

item!(struct Text { text });

fn main() {
    let (_writer, _reader) = Channel::new().one_to_one::<Rc<u32>>();
    let (_writer, _reader) = Channel::new().one_to_one::<Foreign<Rc<u32>>>();
    let (_writer, _reader) = Channel::local().one_to_one::<Rc<u32>>();
}
