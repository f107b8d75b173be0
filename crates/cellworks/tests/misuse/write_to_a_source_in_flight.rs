//! The source of a get cannot be changed while the view lives.
use cellworks::prelude::*;

fn program<S: Spe>(spe: &S, data: &mut [u32]) {
    let view = spe.stage(data).unwrap();
    data[0] = 1;
    assert_eq!(view[0], 1);
}

fn main() {}
