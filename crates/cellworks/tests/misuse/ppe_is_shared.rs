//! The PPE belongs to the thread that runs the main program.
use cellworks::prelude::*;

fn main() {
    let host = Host::new().unwrap();
    let _ = host.run(|ppe| {
        let first = ppe.topology().spes().next().unwrap();
        let _ = ppe.spawn(first, |_| ppe.now());
    });
}
