//! One program on several SPEs that begin together.

use std::sync::Mutex;

use cellworks_machine::{Machine, RunError, Span, Spe, Time, Topology};

use crate::{ParameterError, clock};

/// What several SPEs did together.
pub(crate) struct Gang<R> {
    /// What the programs returned, in the order in which they ended.
    pub results: Vec<R>,
    /// From the first beginning to the last end.
    pub span: Span,
    /// The rate of the SPUs' clock.
    pub clock_hz: f64,
}

impl<R> Gang<R> {
    /// What each SPE took for each byte of its part, if all together had `bytes`, in cycles.
    pub fn cycles_per_byte(&self, bytes: usize) -> f64 {
        let spes = self.results.len() as f64;
        self.span.as_seconds_f64() * self.clock_hz * spes / bytes as f64
    }

    /// What all moved together, in bytes a second.
    pub fn bandwidth(&self, bytes: usize) -> f64 {
        bytes as f64 / self.span.as_seconds_f64()
    }
}

/// Runs `program` on as many SPEs as there are parts, each with a part of its own. Starting programs takes
/// far longer than they do, so each waits for a word that the PPE sends when all have started.
pub(crate) fn run<M: Machine, P: Send, R: Send>(
    machine: &M,
    parts: Vec<P>,
    program: impl Fn(&M::Spe, P) -> R + Sync,
) -> Result<Gang<R>, RunError> {
    let ended: Mutex<Vec<(Time, Time, f64, R)>> = Mutex::default();
    machine.run(|ppe| {
        let spes = ppe.topology().spes().take(parts.len());
        for (at, part) in spes.clone().zip(parts) {
            let (program, ended) = (&program, &ended);
            drop(ppe.spawn(at, move |spe: &M::Spe| {
                let clock_hz = clock::rate_hz(spe);
                spe.read_in_mbox();
                let begin = spe.now();
                let result = program(spe, part);
                let end = spe.now();
                let mut ended = ended.lock().expect("nobody panics while it has the lock");
                ended.push((begin, end, clock_hz, result));
            }));
        }
        for at in spes {
            ppe.write_in_mbox(at, 0);
        }
    })?;
    let ended = ended
        .into_inner()
        .expect("nobody panics while it has the lock");
    let begin = ended.iter().map(|(begin, ..)| *begin).min();
    let end = ended.iter().map(|(_, end, ..)| *end).max();
    let clock_hz = ended.iter().map(|(.., hz, _)| *hz).fold(0.0, f64::max);
    Ok(Gang {
        span: end
            .unwrap_or_default()
            .since(begin.unwrap_or_default())
            .max(Span::from_femtoseconds(1)),
        clock_hz,
        results: ended.into_iter().map(|(.., result)| result).collect(),
    })
}

/// Whether a machine has so many SPEs.
pub(crate) fn check_spes(spes: usize, topology: &Topology) -> Result<(), ParameterError> {
    let has = topology.spes().len();
    match spes {
        0 => Err(ParameterError::Zero {
            parameter: "spes",
            noun: "SPEs",
        }),
        spes if spes > has => Err(ParameterError::TooManySpes {
            spes,
            has,
            machine: topology.name().to_owned(),
        }),
        _ => Ok(()),
    }
}
