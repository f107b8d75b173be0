//! The PPE belongs to the thread that runs the main program.
use cellworks::prelude::*;

fn program<M: Machine>(ppe: &Ppe<'_, '_, M>) {
    std::thread::scope(|scope| {
        scope.spawn(|| ppe.now());
    });
}

fn main() {}
