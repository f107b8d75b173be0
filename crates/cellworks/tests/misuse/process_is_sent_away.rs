//! A process belongs to the processor that it runs on.
use cellworks_csp::{Place, Process, Writer};

fn program(process: &Process<'_, impl Place>, mut writer: Writer<u32>) {
    std::thread::scope(|scope| {
        scope.spawn(|| writer.write(process, 1));
    });
}

fn main() {}
