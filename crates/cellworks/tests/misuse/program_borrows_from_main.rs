//! A program may borrow what outlives the run, not what the main program has on its stack.
use cellworks::prelude::*;

fn main() {
    let host = Host::new().unwrap();
    let _ = host.run(|ppe| {
        let data = [1_u32; 4];
        let first = ppe.topology().spes().next().unwrap();
        let _ = ppe.spawn(first, |spe| spe.stage(&data).unwrap()[0]);
    });
}
