//! The memory modules in which main memory lies.

use cellworks::machine::mfc::EffectiveAddress;
use cellworks::machine::{CellMachine, Spe};

use crate::skipped::skipped;
use crate::{on_every_cell, spe};

on_every_cell![
    what_was_written_is_at_home_where_it_was_allocated,
    what_is_no_memory_is_nowhere,
];

fn what_was_written_is_at_home_where_it_was_allocated<M: CellMachine>(machine: &M) {
    for module in machine.topology().modules() {
        let region = machine.allocate(module, 8192).unwrap();
        machine
            .run(|ppe| {
                let program = |spe: &M::Spe| {
                    region.write(4096, &[1]);
                    spe.id()
                };
                ppe.spawn(spe(0), program).join().unwrap();
            })
            .unwrap();
        match machine.home_of(region.at(5000)) {
            Some(home) => assert_eq!(home, module),
            None => skipped("the machine does not tell where memory is, as in a sandbox"),
        }
    }
}

fn what_is_no_memory_is_nowhere<M: CellMachine>(machine: &M) {
    assert_eq!(machine.home_of(EffectiveAddress(0x1000)), None);
}
