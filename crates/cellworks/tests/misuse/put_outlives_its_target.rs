//! A view that will be put back cannot be declared before its target: it would be dropped after it.
use cellworks::prelude::*;

fn program<S: Spe>(spe: &S) {
    let mut view;
    let mut target = [0_u32; 4];
    view = spe.stage_mut(&mut target).unwrap();
    view[0] = 1;
}

fn main() {}
