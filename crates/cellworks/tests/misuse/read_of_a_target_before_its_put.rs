//! The target of a put cannot be read until the view is committed or dropped.
use cellworks::prelude::*;

fn program<S: Spe>(spe: &S, data: &mut [u32]) {
    let mut view = spe.stage_mut(data).unwrap();
    view[0] = 1;
    assert_eq!(data[0], 1);
    view.commit();
}

fn main() {}
