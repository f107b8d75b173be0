//! A handle cannot leave the run.
use cellworks::prelude::*;

fn main() {
    let host = Host::new().unwrap();
    let handle = host.run(|ppe| {
        let first = ppe.topology().spes().next().unwrap();
        ppe.spawn(first, |_| 1)
    });
    drop(handle);
}
