//! The time that the software of the transports takes. No paper has published these times, so all
//! values are assumed, except the fitted [`THREAD_WAKE`]: see `docs/simulated-cell.md`.

use cellworks_machine::Cycles;

/// A step of the [protocol](crate::channel::protocol) on an SPE: some 60 instructions on queues
/// in a local store. A third of the instructions are loads, of 6 cycles each. Two are branches
/// without a branch hint, of 18 cycles each (IBM's programming tutorial: latencies of the SPU).
pub(crate) const SPE_STEP: Cycles = Cycles(150);

/// Building a request on an SPE, or reading an answer: some 30 instructions.
pub(crate) const SPE_REQUEST: Cycles = Cycles(60);

/// The work of the SPE handler for a request, without mailbox accesses: some 300 instructions of
/// the PPE, which issues in order, to find the channel and to perform or pass on the step.
pub(crate) const HANDLER: Cycles = Cycles(500);

/// The work of the request coordinator for a request: as much as [`HANDLER`], and a lock on each of
/// two queues (section 2.1 of the paper: "a pair per participating component").
pub(crate) const COORDINATOR: Cycles = Cycles(1_000);

/// Waking a thread of the PPE that waits for a condition variable, including the context switch.
///
/// Fitted: a communication between two processes on the PPE takes 145 us (section 3.1 of the
/// paper). The writer and the reader make one request each. A request wakes the request
/// coordinator, and its answer wakes the process that made it. These are four wake-ups of 36.25 us,
/// which is 116,000 cycles at 3.2 GHz. The coordinator's work is less than 1 % of the time. The SPE
/// handler is not woken, because it spins (section 4.3).
pub(crate) const THREAD_WAKE: Cycles = Cycles(116_000);

/// Words of a request in an SPE's outbound mailbox: kind and process, channel, and item.
pub(crate) const REQUEST_WORDS: usize = 3;

/// Words of an answer in an SPE's inbound mailbox: the process and the outcome, and the item.
pub(crate) const ANSWER_WORDS: usize = 2;

/// The pause of a process that has found no guard ready and does not wait. Each check of a guard
/// reads the line of a channel, which moves the line to the reader. Without a pause, processes that
/// check again and again could keep a slower process from ever changing the line.
pub(super) const PAUSE_OF_SKIP: Cycles = Cycles(2_000);

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../../docs/simulated-cell.md");

    #[test]
    fn the_page_on_the_simulated_cell_lists_these_costs() {
        let cycles = |cycles: Cycles| match cycles.0 {
            thousands @ 1_000.. => format!("{},{:03} cycles", thousands / 1_000, thousands % 1_000),
            few => format!("{few} cycles"),
        };
        for (what, value) in [
            ("a step on an SPE", cycles(SPE_STEP)),
            ("building a request, reading an answer", cycles(SPE_REQUEST)),
            (
                "the SPE handler, for a request or an answer",
                cycles(HANDLER),
            ),
            (
                "the request coordinator, for a request",
                cycles(COORDINATOR),
            ),
            (
                "waking a thread of the PPE by a condition variable",
                cycles(THREAD_WAKE),
            ),
            (
                "a pause before an alternation that skipped may look again",
                cycles(PAUSE_OF_SKIP),
            ),
            (
                "words of a request, of an answer",
                format!("{REQUEST_WORDS}, {ANSWER_WORDS}"),
            ),
        ] {
            let row = format!("\n| {what} | {value} |");
            assert!(
                PAGE.contains(&row),
                "docs/simulated-cell.md lacks the row {row}"
            );
        }
    }
}
