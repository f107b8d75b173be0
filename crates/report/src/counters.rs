//! The counters of a simulated machine as rows of text, for the table and the page.

use crate::text::{figures, size, time, whole};
use crate::{Counters, ResourceCounters, SpeCounters};

pub(crate) fn about(counters: &Counters) -> String {
    format!(
        "{} of simulated time, {} events",
        time(counters.elapsed_ns),
        whole(counters.events as usize)
    )
}

/// Returns a table of the SPEs and a table of the shared parts. The first row of each table has the
/// headings. Times are shares of the run. Unused columns and unused parts are left out.
pub(crate) fn tables(counters: &Counters) -> [Vec<Vec<String>>; 2] {
    let share = |ns: f64| match counters.elapsed_ns {
        elapsed if elapsed > 0.0 => format!("{:.1} %", ns / elapsed * 100.0),
        _ => String::new(),
    };
    type Column = (&'static str, fn(&SpeCounters) -> f64);
    let columns: [Column; 7] = [
        ("computing", |spe| spe.computing_ns),
        ("DMA", |spe| spe.waiting_for_dma_ns),
        ("mailbox", |spe| spe.waiting_for_mailbox_ns),
        ("signal", |spe| spe.waiting_for_signal_ns),
        ("lock", |spe| spe.waiting_for_lock_ns),
        ("other", |spe| spe.waiting_for_other_ns),
        ("idle", |spe| spe.idle_ns),
    ];
    let is_used = |(_, value): &Column| counters.spes.iter().any(|spe| value(spe) > 0.0);
    let columns: Vec<Column> = columns.into_iter().filter(is_used).collect();
    let headings = columns.iter().map(|(heading, _)| *heading);
    let headings = ["SPE"].into_iter().chain(headings);
    let headings = headings.chain(["commands", "moved"]).map(str::to_owned);
    let spe = |(number, spe): (usize, &SpeCounters)| {
        let mut row = vec![number.to_string()];
        row.extend(columns.iter().map(|(_, value)| share(value(spe))));
        row.extend([whole(spe.commands as usize), moved(spe.bytes)]);
        row
    };
    let has_run = |(_, spe): &(usize, &SpeCounters)| spe.idle_ns < counters.elapsed_ns;
    let spes = counters.spes.iter().enumerate().filter(has_run).map(spe);
    let resource = |resource: &ResourceCounters| {
        vec![
            resource.name.clone(),
            share(resource.busy_ns),
            whole(resource.packets as usize),
            moved(resource.bytes),
        ]
    };
    let used = counters.resources.iter().filter(|one| one.packets > 0);
    let parts = ["part", "busy", "packets", "moved"].map(str::to_owned);
    [
        [headings.collect()].into_iter().chain(spes).collect(),
        [parts.to_vec()]
            .into_iter()
            .chain(used.map(resource))
            .collect(),
    ]
}

fn moved(bytes: u64) -> String {
    let scaled =
        |log2: u32, unit| format!("{} {unit}", figures(bytes as f64 / 2f64.powi(log2 as i32)));
    match bytes {
        _ if bytes < 1 << 10 => size(bytes as usize),
        _ if bytes < 1 << 20 => scaled(10, "KB"),
        _ if bytes < 1 << 30 => scaled(20, "MB"),
        _ => scaled(30, "GB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up;

    #[test]
    fn what_did_nothing_is_left_out() {
        let counters = made_up::counters();
        assert_eq!(about(&counters), "1.00 ms of simulated time, 12,345 events");
        let [spes, parts] = tables(&counters);
        let spes: Vec<_> = spes.iter().map(|row| row.join("|")).collect();
        assert_eq!(
            spes,
            [
                "SPE|computing|DMA|idle|commands|moved",
                "0|25.0 %|50.0 %|25.0 %|1,000|15.6 MB"
            ]
        );
        let parts: Vec<_> = parts.iter().map(|row| row.join("|")).collect();
        assert_eq!(
            parts,
            [
                "part|busy|packets|moved",
                "Cell 0, ring 1|12.5 %|128,000|15.6 MB"
            ]
        );
    }
}
