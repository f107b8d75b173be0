//! A local channel takes no atomic instructions, so its ends stay on their SPE.
use cellworks_csp::{Channel, Network};
use cellworks_machine::{Machine, SpeId};

fn program<M: Machine>(network: &mut Network<'_, M>) {
    let (mut writer, _reader) = Channel::local().one_to_one::<u32>();
    network.process("writer", SpeId::new(1), move |process| {
        Ok(writer.write(process, 1)?)
    });
}

fn main() {}
