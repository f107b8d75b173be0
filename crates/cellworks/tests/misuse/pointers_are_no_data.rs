//! Only plain data can be staged: an address means nothing in another core's store.
use cellworks::prelude::*;

fn program<S: Spe>(spe: &S, data: &[&u32]) {
    let _ = spe.stage(data);
}

fn main() {}
