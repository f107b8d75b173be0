//! A get that was not waited for gives no view.
use cellworks::prelude::*;

fn program<S: Spe>(spe: &S, data: &[u32]) -> u32 {
    let pending = spe.stage_ahead(data).unwrap();
    pending[0]
}

fn main() {}
