//! A stream lends one tile at a time.
use cellworks::prelude::*;

fn program<S: Spe>(spe: &S, data: &[u32]) {
    let mut stream = spe.stream(data, 16);
    let first = stream.next().unwrap().unwrap();
    let second = stream.next().unwrap().unwrap();
    assert_eq!(first.len(), second.len());
}

fn main() {}
