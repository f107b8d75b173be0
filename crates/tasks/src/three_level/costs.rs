//! The times that the scheduler's code takes, and the sizes of its data. The times are assumed,
//! because no paper has published them. Some sizes follow from the Jack Rabbit thesis.

use cellworks_machine::Cycles;

/// The time of a check-out, a flush or an operation on a lock, on an SPE, without transfers and
/// atomic updates: about 60 instructions and two branches without a hint.
pub(super) const SPE_STEP: Cycles = Cycles(150);

/// The time of moving one task between buffers on an SPE (`pop_front` and `push_back` of figure
/// 4.2): about 20 instructions with 4 loads of 6 cycles each.
pub(super) const SPE_MOVE: Cycles = Cycles(40);

/// The time that an SPE needs for the descriptor of a task before the task begins (figure 4.5):
/// about 40 instructions and two branches without a hint.
pub(super) const SPE_TASK: Cycles = Cycles(100);

/// The time of making the object of a task on the PPE (figure 4.1): about 200 instructions.
pub(super) const PPE_MAKE: Cycles = Cycles(400);

/// The time of a pass of the PPE's scheduler without the locks: the waits for two lines of main
/// memory, which hold the head, tail and length of two buffers.
pub(super) const PPE_PASS: Cycles = Cycles(1_000);

/// The time of moving one task on the PPE: about 20 instructions, and 1/32 of a wait for a line.
pub(super) const PPE_MOVE: Cycles = Cycles(60);

/// The time of ordering, filtering or dicing a task on the PPE: a virtual call and a load of the
/// task.
pub(super) const PPE_LOOK: Cycles = Cycles(100);

/// The number of bytes of the object of a task (figure 4.1), with pointers of 4 bytes.
pub(super) const TASK_BYTES: usize = 192;

/// The number of bytes of the code and data (binary) of tasks with the same name. An SPE gets the
/// binary if its last task had another name. Assumed: as many bytes as one DMA command can move.
pub(super) const BINARY_BYTES: usize = 16 * 1_024;

/// The largest number of tasks in an inbox: "the SPE threads can load two jobs at a time" (section
/// 4.8). In figure 4.4 this number is `MAILBOX_SIZE`, without a value.
pub(super) const INBOX_TASKS: usize = 2;

/// The number of submitted tasks after which the PPE's scheduler imports tasks, unless the main
/// program waits earlier. Assumed: the same as `DICING_THRESHOLD`.
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
