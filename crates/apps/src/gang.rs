//! Runs one program on several SPEs, which begin at the same time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use cellworks_machine::{
    CellMachine, CellSpe, Machine, OnCell, Ppe, RunError, Span, Spe, SpeId, Time, Topology, Wait,
    Wake,
};

use crate::clock;
use crate::error::ParameterError;

pub(crate) struct Gang<R> {
    /// The results of the programs, in the order in which they ended.
    pub results: Vec<R>,
    /// The time from the beginning of the first SPE to the end of the last SPE.
    pub span: Span,
    /// The highest clock rate of an SPU, in cycles a second.
    pub clock_hz: f64,
}

impl<R> Gang<R> {
    /// Returns the cycles that an SPE needed for each byte of its own share of the `bytes` bytes.
    pub fn cycles_per_byte(&self, bytes: usize) -> f64 {
        let spes = self.results.len() as f64;
        self.span.as_seconds_f64() * self.clock_hz * spes / bytes as f64
    }

    /// Returns the bandwidth in bytes a second, if all SPEs together moved `bytes` bytes.
    pub fn bandwidth(&self, bytes: usize) -> f64 {
        bytes as f64 / self.span.as_seconds_f64()
    }
}

/// A start signal. Each SPE waits for it with `wait`, and the PPE sends it with `signal`.
struct Start<M: Machine> {
    wait: fn(&M::Spe, &AtomicBool),
    signal: fn(&Ppe<'_, '_, M>, SpeId, &AtomicBool),
}

/// A start signal through the SPE's mailbox, as in programs of a Cell.
struct ByMailbox;

impl<M: Machine> OnCell<M> for ByMailbox {
    type Output = Start<M>;

    fn run(self, _: &M) -> Start<M>
    where
        M: CellMachine,
    {
        Start {
            wait: |spe, _| {
                spe.read_in_mbox();
            },
            signal: |ppe, at, _| ppe.write_in_mbox(at, 0),
        }
    }
}

/// Returns a start signal through ordinary memory, for machines without mailboxes.
fn by_memory<M: Machine>() -> Start<M> {
    Start {
        wait: |spe, all_have_started| {
            spe.wait_until(&"the other SPEs to start", &mut || {
                all_have_started.load(Ordering::Acquire)
            });
        },
        signal: |ppe, at, all_have_started| {
            all_have_started.store(true, Ordering::Release);
            ppe.notify(at);
        },
    }
}

/// Runs `program` on an SPE for each of the `parts`, after all SPEs have started. Traces have `name`.
pub(crate) fn run<M: Machine, P: Send, R: Send>(
    machine: &M,
    name: &str,
    parts: Vec<P>,
    program: impl Fn(&M::Spe, P) -> R + Sync,
) -> Result<Gang<R>, RunError> {
    let ended: Mutex<Vec<(Time, Time, f64, R)>> = Mutex::default();
    let start = machine.on_cell(ByMailbox).unwrap_or_else(by_memory);
    let all_have_started = AtomicBool::new(false);
    machine.run(|ppe| {
        let spes = ppe.topology().spes().take(parts.len());
        for (at, part) in spes.clone().zip(parts) {
            let (program, ended, all_have_started) = (&program, &ended, &all_have_started);
            drop(ppe.spawn(at, move |spe: &M::Spe| {
                let clock_hz = clock::rate_hz(spe);
                (start.wait)(spe, all_have_started);
                let begin = spe.now();
                spe.begin_window();
                let activity = spe.activity(name);
                let result = program(spe, part);
                drop(activity);
                let end = spe.now();
                spe.end_window();
                let mut ended = ended
                    .lock()
                    .expect("no thread panics while it has the lock");
                ended.push((begin, end, clock_hz, result));
            }));
        }
        for at in spes {
            (start.signal)(ppe, at, &all_have_started);
        }
    })?;
    let ended = ended
        .into_inner()
        .expect("no thread panics while it has the lock");
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

/// Measures the clock rate of SPE 0 in cycles a second, with operations that take a known number of
/// cycles. If an SPE is a core of a computer, the result is the core's rate during the measurement.
///
/// # Errors
///
/// Returns [`RunError`] if the run failed.
pub(crate) fn clock_rate_hz<M: Machine>(machine: &M) -> Result<f64, RunError> {
    Ok(run(machine, "clock", vec![()], |_, ()| ())?.clock_hz)
}
