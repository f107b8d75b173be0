//! One function on two machines: this computer, and a simulated Cell blade.
//!
//! On the blade, time passes for transfers to and from the SPE, and for the arithmetic that the
//! program declares by `compute`.

use cellworks::machine::Cycles;
use cellworks::prelude::*;
use cellworks::sim::Description;

const TILE: usize = 1_024;

/// The sum of the squares of the values in `part`. The code names no machine.
fn squares<S: Spe>(spe: &S, part: &[f32]) -> Result<f64, StageError> {
    let mut tiles = spe.stream(part, TILE);
    let mut sum = 0.0;
    while let Some(tile) = tiles.next()? {
        sum += tile.iter().map(|x| f64::from(x * x)).sum::<f64>();
        // An SPU without stalls multiplies and adds four values in a cycle.
        spe.compute(Cycles(tile.len() as u64 / 4));
    }
    Ok(sum)
}

/// Gives every SPE of a machine its part. Returns a text with the sum and the time.
fn on<M: Machine>(machine: &M, values: &[f32]) -> Result<String, Box<dyn std::error::Error>> {
    let (sum, took) = machine.run(|ppe| {
        let spes = ppe.topology().spes();
        let parts = values.chunks(values.len().div_ceil(spes.len()));
        let begin = ppe.now();
        let programs: Vec<_> = spes
            .zip(parts)
            .map(|(at, part)| ppe.spawn(at, move |spe| squares(spe, part)))
            .collect();
        let sums = programs
            .into_iter()
            .map(|program| program.join().expect("no program panics"));
        let sum = sums.sum::<Result<f64, StageError>>();
        (sum, ppe.now().since(begin))
    })?;
    Ok(format!("{}, in {took}", sum?))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let values: Vec<f32> = (0..1_000_000).map(|at| (at % 100) as f32).collect();
    println!("this computer: {}", on(&Host::new()?, &values)?);

    let blade = Sim::new(Description::load("qs20")?)?;
    println!("an IBM QS20:   {}", on(&blade, &values)?);
    let counters = blade.counters().expect("it has run");
    let first = &counters.spes[0];
    println!(
        "its SPE 0 computed for {} and waited for DMA for {}",
        first.computing, first.waiting_for_dma
    );
    Ok(())
}
