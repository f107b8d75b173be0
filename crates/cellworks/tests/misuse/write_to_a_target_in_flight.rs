//! A get of what will be put back is under way: no other code may touch the target meanwhile.
use cellworks::prelude::*;

fn program<S: Spe>(spe: &S, data: &mut [u32]) {
    let pending = spe.stage_mut_ahead(data).unwrap();
    data[0] = 1;
    pending.wait().commit();
}

fn main() {}
