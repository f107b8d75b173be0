//! The counters of a simulated machine as rows of text, for the table and the page.

use super::{Counters, FreePart, ResourceCounters, SpeCounters};
use crate::columns::Table;
use crate::text::{bold, figures, in_unit, in_words, size, time, whole, without_unit, wrapped};

const OF_COLUMNS: &str = "Shares of this time: an SPE computes, waits for what the heading names, or is idle, without a \
     program. Its commands are those of its MFC, which moved the bytes. A part is busy while it carries packets of up \
     to 128 bytes.";

/// Returns all that a table of results shows about counters, in lines of at most `width` columns.
/// Titles contain ANSI styles.
pub fn table(counters: &Counters, width: usize) -> String {
    let mut text = format!("\n{}: {}\n", bold("Counters"), about(counters));
    text += &wrapped(OF_COLUMNS, "", width);
    text += &tables(counters)
        .map(|table| table.text(Some(width)))
        .join("\n");
    if let Some(busiest) = busiest(counters) {
        text += &format!("\nbusiest: {busiest}\n");
    }
    if let Some(table) = free_parts(counters) {
        text += &format!("\n{}\n", bold("Bottleneck"));
        for sentence in sentences(counters) {
            text += &wrapped(&sentence, "", width);
        }
        text.push('\n');
        text += &table.text(Some(width));
    }
    text
}

pub(crate) fn about(counters: &Counters) -> String {
    let from = match counters.began_ns {
        0.0 => String::new(),
        began => format!(" from {} on", time(began)),
    };
    format!(
        "{} of simulated time{from}, {} events",
        time(counters.elapsed_ns),
        whole(counters.events as usize)
    )
}

/// Returns sentences about the part that limits the result. Empty if the user did not ask for it.
pub(crate) fn sentences(counters: &Counters) -> Vec<String> {
    let Some(bottleneck) = &counters.bottleneck else {
        return Vec::new();
    };
    let result = in_words(without_unit(&bottleneck.result));
    let mut parts = bottleneck.parts.iter();
    let limit = parts.find(|one| bottleneck.part.as_ref() == Some(&one.kind));
    let Some(limit) = limit else {
        return vec![format!(
            "No single part is the bottleneck: the {result} stays within 1 % without any of them, \
             because others take their place."
        )];
    };
    let next = match (&limit.next, limit.next_busy) {
        (Some(next), Some(busy)) => format!("; then {next} is the busiest, {}", percent(busy)),
        _ => String::new(),
    };
    let value = |value| in_unit(value, &bottleneck.unit);
    vec![
        bottleneck.verdict.clone(),
        format!(
            "Without this limit the {result} would be {} in place of {}{next}.",
            value(limit.value),
            value(bottleneck.value)
        ),
        limit.advice.clone(),
    ]
}

/// Returns a table of the runs in which one part took no time. The first row has the headings.
pub(crate) fn free_parts(counters: &Counters) -> Option<Table> {
    let bottleneck = counters.bottleneck.as_ref()?;
    let result = in_words(without_unit(&bottleneck.result));
    let headings = ["without", &result, "saved", "busiest of its kind", "busy"];
    let row = |part: &FreePart| {
        [
            part.kind.clone(),
            in_unit(part.value, &bottleneck.unit),
            percent(part.saved),
            part.busiest.clone().unwrap_or_default(),
            part.busy.map(percent).unwrap_or_default(),
        ]
    };
    let rows = bottleneck.parts.iter().map(row);
    Some(Table::new(headings, rows, [0, 3]))
}

/// Returns the name of the busiest part of all, with its share of the window.
pub(crate) fn busiest(counters: &Counters) -> Option<String> {
    let parts = counters.busiest.iter();
    let most = parts.max_by(|a, b| a.busy_ns.total_cmp(&b.busy_ns))?;
    Some(format!("{}, {}", most.name, share(most.busy_ns, counters)))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn share(ns: f64, counters: &Counters) -> String {
    match counters.elapsed_ns {
        elapsed if elapsed > 0.0 => percent(ns / elapsed),
        _ => String::new(),
    }
}

/// Returns a table of the SPEs and a table of the shared parts. The first row of each table has the
/// headings. Times are shares of the window. Unused columns and unused parts are left out.
pub(crate) fn tables(counters: &Counters) -> [Table; 2] {
    let share = |ns: f64| share(ns, counters);
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
    let headings = headings.chain(["commands", "moved"]);
    let spe = |(number, spe): (usize, &SpeCounters)| {
        let mut row = vec![number.to_string()];
        row.extend(columns.iter().map(|(_, value)| share(value(spe))));
        row.extend([whole(spe.commands as usize), moved(spe.bytes)]);
        row
    };
    let has_run = |(_, spe): &(usize, &SpeCounters)| spe.idle_ns < counters.elapsed_ns;
    let spes = counters.spes.iter().enumerate().filter(has_run).map(spe);
    let resource = |resource: &ResourceCounters| {
        [
            resource.name.clone(),
            share(resource.busy_ns),
            whole(resource.packets as usize),
            moved(resource.bytes),
        ]
    };
    let used = counters.resources.iter().filter(|one| one.packets > 0);
    let parts = ["part", "busy", "packets", "moved"];
    [
        Table::new(headings, spes, [0]),
        Table::new(parts, used.map(resource), [0]),
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

    fn lines(table: &Table) -> Vec<String> {
        let lines = [&table.headings].into_iter().chain(&table.rows);
        lines.map(|line| line.join("|")).collect()
    }

    #[test]
    fn the_bottleneck_is_a_sentence_with_numbers_and_a_table() {
        let counters = made_up::counters_with_a_bottleneck();
        assert_eq!(
            about(&counters),
            "1.00 ms of simulated time from 9.00 ms on, 12,345 events"
        );
        assert_eq!(
            sentences(&counters),
            [
                "The bottleneck is the memory pins: memory module 0 is busy for 96.0 %.",
                "Without this limit the latency would be 3.00 us in place of 4.00 us; then SPE 0 is the \
                 busiest, 50.0 %.",
                "Less of the memory pins.",
            ]
        );
        assert_eq!(
            lines(&free_parts(&counters).unwrap()),
            [
                "without|latency|saved|busiest of its kind|busy",
                "the memory pins|3.00 us|25.0 %|memory module 0|96.0 %",
                "the local stores|3.99 us|0.2 %||",
            ]
        );
    }

    #[test]
    fn without_a_bottleneck_no_part_is_named() {
        let mut counters = made_up::counters_with_a_bottleneck();
        counters.bottleneck.as_mut().unwrap().part = None;
        assert_eq!(
            sentences(&counters),
            [
                "No single part is the bottleneck: the latency stays within 1 % without any of them, \
                 because others take their place."
            ]
        );
    }
    use crate::made_up;

    #[test]
    fn what_did_nothing_is_left_out() {
        let counters = made_up::counters();
        assert_eq!(about(&counters), "1.00 ms of simulated time, 12,345 events");
        let [spes, parts] = tables(&counters);
        assert_eq!(
            lines(&spes),
            [
                "SPE|computing|DMA|idle|commands|moved",
                "0|25.0 %|50.0 %|25.0 %|1,000|15.6 MB"
            ]
        );
        assert_eq!(
            lines(&parts),
            [
                "part|busy|packets|moved",
                "Cell 0, ring 1|12.5 %|128,000|15.6 MB"
            ]
        );
    }
}
