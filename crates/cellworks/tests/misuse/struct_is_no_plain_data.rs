//! A struct can be staged once it derives `Pod`.
use cellworks::prelude::*;

struct Point {
    x: f32,
}

fn program<S: Spe>(spe: &S, points: &[Point]) {
    let _ = spe.stage(points);
    let _ = spe.stream(points, 8);
}

fn main() {}
