//! A view cannot outlive the slice that it shows.
use cellworks::prelude::*;

fn program<S: Spe>(spe: &S) -> u32 {
    let view = {
        let data = [1_u32; 4];
        spe.stage(&data).unwrap()
    };
    view[0]
}

fn main() {}
