//! The times of the software of the scheduler in main memory, and the sizes of its parts. No paper
//! has published these times, so they are assumed. Where the Jack Rabbit thesis has figures, the
//! sizes follow from them. The machine simulates the time of the hardware. `docs/simulated-cell.md`
//! lists the values.

use cellworks_machine::Cycles;

/// The call of a check-out, of a flush or of an operation on a lock, on an SPE, without the
/// transfers and atomic updates: some 60 instructions and two branches without a hint, as for a
/// step of a channel.
pub(super) const SPE_STEP: Cycles = Cycles(150);

/// Moving one task from a buffer to another, on an SPE: `pop_front` and `push_back` of figure 4.2,
/// some 20 instructions with 4 loads of 6 cycles each.
pub(super) const SPE_MOVE: Cycles = Cycles(40);

/// The work of an SPE on the descriptor of a task before it jumps to the task (figure 4.5): some 40
/// instructions and two branches without a hint.
pub(super) const SPE_TASK: Cycles = Cycles(100);

/// Making the object of a task, or of a part that dicing has made, on the PPE (figure 4.1: 192
/// bytes, two lines): some 200 instructions of the PPE, which issues in order.
pub(super) const PPE_MAKE: Cycles = Cycles(400);

/// A pass of the PPE's scheduler, without the locks. The scheduler reads the head, tail and length
/// of two buffers, which SPEs have changed, so it waits for two lines of main memory.
pub(super) const PPE_PASS: Cycles = Cycles(1_000);

/// Moving one task from a buffer to another, on the PPE: some 20 instructions, and a 32nd part of
/// the wait for a line.
pub(super) const PPE_MOVE: Cycles = Cycles(60);

/// Looking at one task on the PPE, to order, filter or dice it: a virtual call, and its object.
pub(super) const PPE_LOOK: Cycles = Cycles(100);

/// The bytes of the object of a task: as in figure 4.1, with pointers of 4 bytes as on an SPE.
pub(super) const TASK_BYTES: usize = 192;

/// The bytes of code and data of a kind of tasks. If the last task of an SPE was of another kind,
/// the SPE gets these bytes. Assumed: as many bytes as one DMA command moves.
pub(super) const BINARY_BYTES: usize = 16 * 1_024;

/// The largest number of tasks in an inbox: "the SPE threads can load two jobs at a time" (section
/// 4.8). Figure 4.4 calls this number `MAILBOX_SIZE` and does not give a value.
pub(super) const INBOX_TASKS: usize = 2;

/// The number of submitted tasks after which the PPE's scheduler imports them. If the main program
/// waits earlier, they are imported earlier. Assumed: as many tasks as keep one worker busy, by the
/// threshold of the dicer.
pub(super) const IMPORT_TASKS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../../docs/simulated-cell.md");

    #[test]
    fn the_page_on_the_simulated_cell_lists_these_values() {
        let cycles = |cycles: Cycles| match cycles.0 {
            thousands @ 1_000.. => format!("{},{:03} cycles", thousands / 1_000, thousands % 1_000),
            few => format!("{few} cycles"),
        };
        for (what, value) in [
            (
                "a check-out, a flush or a lock, on an SPE",
                cycles(SPE_STEP),
            ),
            ("moving a task between buffers, on an SPE", cycles(SPE_MOVE)),
            ("a task, before it runs, on an SPE", cycles(SPE_TASK)),
            ("making a task or a part, on the PPE", cycles(PPE_MAKE)),
            ("a pass of the scheduler, on the PPE", cycles(PPE_PASS)),
            (
                "moving a task between buffers, on the PPE",
                cycles(PPE_MOVE),
            ),
            ("looking at a task, on the PPE", cycles(PPE_LOOK)),
            ("the object of a task", format!("{TASK_BYTES} bytes")),
            (
                "the code and data of a kind of tasks",
                format!("{} KiB", BINARY_BYTES / 1_024),
            ),
            ("tasks in an inbox", INBOX_TASKS.to_string()),
            (
                "tasks that are submitted before an import",
                IMPORT_TASKS.to_string(),
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
