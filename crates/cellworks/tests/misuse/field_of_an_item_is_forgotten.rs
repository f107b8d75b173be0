//! All fields of an item are named, so that the bytes of none are forgotten.
use cellworks_csp::item;

struct Task {
    first: u32,
    points: Vec<f32>,
}

item!(struct Task { first });

fn main() {}
