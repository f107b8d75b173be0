//! A view of a source is for reading.
use cellworks::prelude::*;

fn program<S: Spe>(spe: &S, data: &[u32]) {
    let mut view = spe.stage(data).unwrap();
    view[0] = 1;
}

fn main() {}
