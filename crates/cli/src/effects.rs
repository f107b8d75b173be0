//! What the numbers of a simulated machine mean for a program: simulated gets from memory, and the
//! part that limits those of one SPE.

use cellworks_machine::Machine;
use cellworks_report::{bandwidth, time};
use cellworks_runner::simulated;
use cellworks_sim::{Description, HazardWatch, Part, Sim};
use cellworks_stats::{Count, Function, Limits, Measurement, Request};

use crate::simulated::limits_of;

const LINE_BYTES: usize = 128;
const BLOCK_BYTES: usize = 16 << 10;

/// A part limits a get if its bandwidth without this part is more than this many times as high.
const GAIN_MIN: f64 = 1.05;

pub(crate) struct Effects {
    /// What is measured, and its value or the reason why there is none.
    pub rows: Vec<(&'static str, String)>,
    /// Sentences about the parts that limit one SPE.
    pub reasons: Vec<String>,
}

/// Simulates gets on a machine, which sentences call `name`.
pub(crate) fn of(machine: &Description, name: &str) -> Effects {
    let in_cell = machine.cells[0].spes.len();
    let line = get(machine, None, 1, LINE_BYTES).map(|get| time(get.latency_ns.p50));
    let one = rate(machine, None, 1);
    let all = rate(machine, None, in_cell);
    let shown = |rate: &Result<u64, String>| rate.clone().map(bandwidth);
    let rows = [
        ("one SPE gets 128 bytes", line),
        ("one SPE gets 16 KB", shown(&one)),
        ("all SPEs of Cell 0 get 16 KB each", shown(&all)),
    ];
    Effects {
        rows: rows
            .map(|(what, value)| (what, value.unwrap_or_else(|why| why)))
            .into(),
        reasons: one.map_or(Vec::new(), |one| reasons(machine, name, one)),
    }
}

/// Returns a sentence about the requests of an MFC, and one about the link to another Cell, if they
/// limit what one SPE gets.
fn reasons(machine: &Description, name: &str, one: u64) -> Vec<String> {
    let gain = |part| {
        let without = rate(machine, Some(part), 1).ok()?;
        (without as f64 > GAIN_MIN * one as f64).then(|| bandwidth(without))
    };
    let requests = machine.mfc.outstanding_requests.value;
    let mut reasons = Vec::new();
    if let Some(more) = gain(Part::MfcRequests) {
        reasons.push(format!(
            "{name}: one SPE gets {} because its MFC has {requests} lines of {LINE_BYTES} bytes under way \
             (mfc.outstanding_requests), and each takes its time; with 128 lines it would get {more}.",
            bandwidth(one)
        ));
    }
    if let Some(more) = machine.link.as_ref().and_then(|_| gain(Part::Link)) {
        reasons.push(format!(
            "{name}: each line waits until the other Cell has answered its command (link.latency_ps, there and \
             back); without the link one SPE would get {more}."
        ));
    }
    reasons
}

/// Returns the bandwidth of gets of 16 KB by each of `spes` SPEs, in bytes a second.
fn rate(machine: &Description, free: Option<Part>, spes: usize) -> Result<u64, String> {
    let get = get(machine, free, spes, BLOCK_BYTES)?;
    get.bandwidth_bytes_per_s
        .ok_or_else(|| "no bandwidth".to_owned())
}

/// Measures gets of a block by each of `spes` SPEs, on a machine on which one part may be free.
fn get(
    machine: &Description,
    free: Option<Part>,
    spes: usize,
    block: usize,
) -> Result<Measurement, String> {
    let limits = Limits {
        bandwidth_bytes_per_s_max: None,
        ..limits_of(machine)
    };
    let builder = Sim::builder(machine.clone()).hazards(HazardWatch::Off);
    let builder = match free {
        Some(part) => builder.free(part),
        None => builder,
    };
    let sim = builder.build().map_err(|error| error.to_string())?;
    let request = Request {
        spes: Count::Private(spes),
        ..Request::new(Function::DmaGet).with_block(block)
    };
    let plan = request
        .plan(sim.topology(), &limits)
        .map_err(|error| error.to_string())?;
    simulated(&sim)
        .measure(&plan)
        .map_err(|error| error.to_string())
}
