//! Only ends that several processes may have can be cloned.
use cellworks_csp::Channel;

fn main() {
    let (writer, reader) = Channel::new().one_to_any::<u32>();
    let _another_reader = reader.clone();
    let _another_writer = writer.clone();
}
