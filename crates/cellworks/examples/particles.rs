//! Stages a struct that derives `Pod`, here a particle, on this computer and on a simulated
//! PlayStation 3.
//!
//! cargo run --package cellworks --example particles

use std::error::Error;

use cellworks::bytemuck::{Pod, Zeroable};
use cellworks::prelude::*;
use cellworks::sim::Description;

/// Only a program that does not depend on bytemuck needs the second line.
#[derive(Clone, Copy, Pod, Zeroable)]
#[bytemuck(crate = "cellworks::bytemuck")]
#[repr(C)]
struct Particle {
    position: [f32; 3],
    velocity: [f32; 3],
    mass: f32,
    /// Makes the size 32 bytes, because a struct with padding bytes would not be plain data.
    unused: f32,
}

const TILE: usize = 256;

/// Moves particles for `seconds` seconds, and returns their kinetic energy.
fn step<S: Spe>(spe: &S, particles: &mut [Particle], seconds: f32) -> Result<f32, StageError> {
    let mut energy = 0.0;
    for tile in particles.chunks_mut(TILE) {
        for particle in spe.stage_mut(tile)?.iter_mut() {
            let [x, y, z] = particle.velocity;
            for (position, velocity) in particle.position.iter_mut().zip([x, y, z]) {
                *position += velocity * seconds;
            }
            energy += 0.5 * particle.mass * (x * x + y * y + z * z);
        }
    }
    Ok(energy)
}

fn run<M: Machine>(machine: &M) -> Result<(f32, f32), Box<dyn Error>> {
    let particle = |number: u16| Particle {
        position: [f32::from(number), 0.0, 0.0],
        velocity: [2.0, 1.0, 2.0],
        mass: 2.0,
        unused: 0.0,
    };
    let mut particles: Vec<Particle> = (0..1_000).map(particle).collect();
    let energy = machine.run(|ppe| {
        let program = ppe.spawn(SpeId::new(0), |spe| step(spe, &mut particles, 0.5));
        program.join().expect("the program does not panic")
    })??;
    Ok((energy, particles[999].position[0]))
}

fn main() -> Result<(), Box<dyn Error>> {
    let ps3 = Sim::new(Description::built_in("ps3").expect("it is built in"))
        .expect("there is memory for its local stores");
    for (name, (energy, x)) in [
        ("this computer", run(&Host::new()?)?),
        ("a PlayStation 3", run(&ps3)?),
    ] {
        assert_eq!((energy, x), (9_000.0, 1_000.0));
        println!("{name}: the energy is {energy}, and the last particle is at {x}");
    }
    Ok(())
}
