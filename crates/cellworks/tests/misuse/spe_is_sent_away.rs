//! An SPE speaks for the core that its program runs on.
use cellworks::prelude::*;

fn program<S: CellSpe>(spe: &S) {
    std::thread::scope(|scope| {
        scope.spawn(|| spe.read_in_mbox());
    });
}

fn main() {}
