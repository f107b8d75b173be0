//! Gravity of bodies in a plane, by the algorithm of Barnes and Hut (Jack Rabbit, section 5.2).
//!
//! ```text
//!   bodies ── Tree::new ──► nodes, depth first     0 1 2 3 4 5 6 7 8 9 ...
//!     ▲                                            └─ section ─┘└─ section ─┘
//!     │                                                  │            │
//!   advance, kick ◄────────────── accelerate: each set of bodies by each section
//! ```
//!
//! A square of the plane that is far from a body acts upon the body as one mass, at the square's
//! centre of mass. A [`Tree`] has a [`Node`] for each square, and a [`Section`] is a part of a
//! tree. The gravitational constant is 1. Forces decrease with the square of the distance.

mod program;
mod tree;

use bytemuck::{Pod, Zeroable};
use fastrand::Rng;

pub use self::program::BarnesHut;
pub use self::tree::{ANCESTORS_MAX, Counts, Node, Section, Tree, accelerate};
use crate::picture::Picture;

/// A body: 32 bytes, so 512 bodies are 16 KB, the largest DMA transfer.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Body {
    /// The position of the body.
    pub position: [f32; 2],
    /// The velocity of the body.
    pub velocity: [f32; 2],
    /// The sum of all accelerations since the body last moved.
    pub acceleration: [f32; 2],
    /// The gravitational potential at the body, summed over all nodes that accelerated the body.
    pub potential: f32,
    /// The mass of the body, more than 0.
    pub mass: f32,
}

/// The distance in a third dimension that any two bodies have in addition to their distance in the
/// plane. Without the additional distance, bodies that come close would throw each other far away.
pub const SOFTENING: f32 = 0.05;

/// Returns the bodies of a disc that rotates around (0, 0), with a total mass of 1. The same seed
/// gives the same bodies.
///
/// The disc is a Kuzmin disc of scale length 1 (Binney and Tremaine, *Galactic Dynamics*, second
/// edition, section 2.3.1), without the outermost tenth of its mass. Bodies move nearly on circles.
/// A body at a distance of 1 goes round the centre in 10.6 units of time.
pub fn disc(bodies: usize, seed: u64) -> Vec<Body> {
    let mut random = Rng::with_seed(seed);
    let body = |_| {
        let mass_inside = 0.9 * random.f64();
        let squared_distance = (1.0 - mass_inside).powi(-2) - 1.0;
        let distance = squared_distance.sqrt();
        let speed = distance * (squared_distance + 1.0).powf(-0.75);
        let (sine, cosine) = (random.f64() * std::f64::consts::TAU).sin_cos();
        Body {
            position: [distance * cosine, distance * sine].map(|part| part as f32),
            velocity: [-speed * sine, speed * cosine].map(|part| part as f32),
            acceleration: [0.0; 2],
            potential: 0.0,
            mass: 1.0 / bodies as f32,
        }
    };
    (0..bodies).map(body).collect()
}

/// Begins a step of the leapfrog integrator (velocity Verlet): accelerates bodies for half the
/// step, moves them for the whole step, and sets their accelerations to zero.
///
/// After this call, compute the accelerations at the new positions and end the step with [`kick`].
pub fn advance(bodies: &mut [Body], step: f32) {
    kick(bodies, step);
    for body in bodies {
        for (place, speed) in body.position.iter_mut().zip(body.velocity) {
            *place += speed * step;
        }
        body.acceleration = [0.0; 2];
        body.potential = 0.0;
    }
}

/// Ends a step of the leapfrog integrator: accelerates bodies for half the step.
pub fn kick(bodies: &mut [Body], step: f32) {
    for body in bodies {
        for (speed, acceleration) in body.velocity.iter_mut().zip(body.acceleration) {
            *speed += acceleration * (step / 2.0);
        }
    }
}

/// Returns the kinetic and potential energy of all bodies. The potential of each body must include
/// all other bodies, as it does between steps.
pub fn energy(bodies: &[Body]) -> f64 {
    let of_body = |body: &Body| {
        let [x, y] = body.velocity.map(f64::from);
        // Both bodies of a pair have the potential energy of the pair, so potentials are halved.
        f64::from(body.mass) * (x * x + y * y + f64::from(body.potential)) / 2.0
    };
    bodies.iter().map(of_body).sum()
}

/// Accelerates some bodies by each of all bodies, as a reference for [`accelerate`]. Bodies at the
/// same position do not act upon each other.
pub fn accelerate_directly(bodies: &mut [Body], all: &[Body]) {
    let softening = f64::from(SOFTENING);
    for body in bodies {
        let [at_x, at_y] = body.position.map(f64::from);
        let (mut to_x, mut to_y, mut potential) = (0.0, 0.0, 0.0);
        for other in all {
            let x = f64::from(other.position[0]) - at_x;
            let y = f64::from(other.position[1]) - at_y;
            let squared = x * x + y * y;
            let mass = if squared > 0.0 {
                f64::from(other.mass)
            } else {
                0.0
            };
            let inverse = 1.0 / (squared + softening * softening).sqrt();
            let pull = mass * inverse * inverse * inverse;
            to_x += pull * x;
            to_y += pull * y;
            potential -= mass * inverse;
        }
        body.acceleration[0] += to_x as f32;
        body.acceleration[1] += to_y as f32;
        body.potential += potential as f32;
    }
}

/// Returns a picture of a square around (0, 0). A pixel with more bodies is lighter.
pub fn picture(bodies: &[Body], side: f32, pixels: u32) -> Picture {
    let mut counts = vec![0_u32; pixels as usize * pixels as usize];
    let scale = pixels as f32 / side;
    for body in bodies {
        let [column, row] = body
            .position
            .map(|part| ((part + side / 2.0) * scale).floor());
        let inside = 0.0..pixels as f32;
        if inside.contains(&column) && inside.contains(&row) {
            let row = pixels as usize - 1 - row as usize;
            counts[row * pixels as usize + column as usize] += 1;
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    let full = f64::from(most).ln_1p().max(f64::MIN_POSITIVE);
    let shade = |count: u32| (f64::from(count).ln_1p() / full * 255.0) as u8;
    Picture {
        width: pixels,
        height: pixels,
        shades: counts.into_iter().map(shade).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(bodies: &mut [Body], step: f32, theta: f32) {
        advance(bodies, step);
        let tree = Tree::new(bodies);
        accelerate(bodies, tree.whole(), theta);
        kick(bodies, step);
    }

    #[test]
    fn two_bodies_go_round_their_middle() {
        // Two masses of 0.5 have a distance of 1.
        let acceleration = 0.5 * (1.0 + SOFTENING * SOFTENING).powf(-1.5);
        let speed = (0.5 * acceleration).sqrt();
        let body = |side: f32| Body {
            position: [0.5 * side, 0.0],
            velocity: [0.0, speed * side],
            acceleration: [-acceleration * side, 0.0],
            potential: 0.0,
            mass: 0.5,
        };
        let mut bodies = [body(-1.0), body(1.0)];
        const STEPS: usize = 1000;
        let round = std::f32::consts::TAU * 0.5 / speed;
        for turn in 1..=STEPS {
            step(&mut bodies, round / STEPS as f32, 0.5);
            let [x, y] = bodies[0].position;
            assert!((x.hypot(y) - 0.5).abs() < 1e-4, "{turn}: {x} {y}");
        }
        for (found, side) in bodies.iter().zip([-1.0, 1.0]) {
            let [x, y] = found.position;
            assert!((x - 0.5 * side).hypot(y) < 1e-3, "{x} {y}");
        }
    }

    /// With exact forces, the error of the energy is proportional to the squared length of a step.
    #[test]
    fn energy_drifts_little() {
        let drift = |theta: f32, steps: usize| {
            let mut bodies = disc(300, 1);
            step(&mut bodies, 0.0, theta);
            let before = energy(&bodies);
            for _ in 0..steps {
                step(&mut bodies, 1.0 / steps as f32, theta);
            }
            (energy(&bodies) / before - 1.0).abs()
        };
        let [coarse, fine] = [25, 50].map(|steps| drift(0.0, steps));
        assert!(coarse < 3e-4, "{coarse}");
        assert!((3.0..5.0).contains(&(coarse / fine)), "{coarse} {fine}");
        let usual = drift(0.5, 50);
        assert!(usual < 3e-3, "{usual}");
    }

    #[test]
    fn a_disc_is_held_together_by_its_rotation() {
        let mut bodies = disc(1000, 1);
        assert_eq!(bodies, disc(1000, 1));
        assert_ne!(bodies, disc(1000, 2));
        let all = bodies.clone();
        accelerate_directly(&mut bodies, &all);
        let mut inwards = 0.0;
        let mut needed = 0.0;
        for body in &bodies {
            let [[x, y], [to_x, to_y]] = [body.position, body.acceleration];
            inwards -= x * to_x + y * to_y;
            needed += body.velocity[0].powi(2) + body.velocity[1].powi(2);
        }
        assert!((inwards / needed - 1.0).abs() < 0.1, "{inwards} {needed}");
    }

    #[test]
    fn a_picture_is_light_where_bodies_are() {
        let mut bodies = disc(4, 1);
        let places = [[-0.9, 0.9], [0.9, -0.9], [0.9, -0.9], [5.0, f32::NAN]];
        for (body, place) in bodies.iter_mut().zip(places) {
            body.position = place;
        }
        assert_eq!(picture(&bodies, 2.0, 2).shades, [160, 0, 0, 255]);
        assert_eq!(picture(&[], 2.0, 2).shades, [0; 4]);
    }
}
