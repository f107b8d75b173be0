//! A get that was not waited for gives no view to write to.
use cellworks::prelude::*;

fn program<S: Spe>(spe: &S, data: &mut [u32]) {
    let mut pending = spe.stage_mut_ahead(data).unwrap();
    pending[0] = 1;
}

fn main() {}
