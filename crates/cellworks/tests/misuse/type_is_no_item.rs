//! What is written to a channel is an item, which takes one line.
use cellworks_csp::Channel;

struct Task {
    first: u32,
}

fn main() {
    let (_writer, _reader) = Channel::new().one_to_one::<Task>();
}
