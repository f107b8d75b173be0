//! Two programs cannot change one slice.
use cellworks::prelude::*;

fn main() {
    let host = Host::new().unwrap();
    let mut data = [0_u32; 4];
    let _ = host.run(|ppe| {
        for at in ppe.topology().spes() {
            let _ = ppe.spawn(at, |spe| {
                spe.stage_mut(&mut data).unwrap()[0] = 1;
            });
        }
    });
}
