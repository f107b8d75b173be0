//! A dot product on all SPEs: each SPE takes a part, tile by tile, and the PPE adds the results.

use cellworks::prelude::*;

/// Runs on any machine, because the code names no machine.
fn dot<S: Spe>(spe: &S, a: &[f64], b: &[f64]) -> Result<f64, StageError> {
    let (mut a, mut b) = (spe.stream(a, 1_024), spe.stream(b, 1_024));
    let mut sum = 0.0;
    while let (Some(a), Some(b)) = (a.next()?, b.next()?) {
        sum += a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    }
    Ok(sum)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let a: Vec<f64> = (0..1_000_000).map(f64::from).collect();
    let b = vec![0.5; a.len()];

    let host = Host::new()?;
    let sum = host.run(|ppe| {
        let spes = ppe.topology().spes();
        let part = a.len().div_ceil(spes.len());
        let parts = a.chunks(part).zip(b.chunks(part));
        let programs: Vec<_> = spes
            .zip(parts)
            .map(|(at, (a, b))| ppe.spawn(at, move |spe| dot(spe, a, b)))
            .collect();
        let sums = programs
            .into_iter()
            .map(|program| program.join().expect("no program panics"));
        sums.sum::<Result<f64, StageError>>()
    })??;
    println!("the dot product is {sum}");
    Ok(())
}
