//! The report of a deadlock or a limit, with places in the source of the programs.

use cellworks_machine::{Running, Time, Waiting};

/// Returns the report on programs that did not wait.
pub(super) fn computing(running: &[Running]) -> String {
    let lines = running.iter().map(|thread| {
        let place = thread.place.map(|place| format!(" at {place}"));
        format!("\n  {} computes{}", thread.who, place.unwrap_or_default())
    });
    lines.collect()
}

/// Returns the report of a machine, without places in Cellworks itself.
pub(super) fn report(waits: &[Waiting]) -> String {
    let lines = waits.iter().map(|wait| {
        let place = wait.place.map(|place| format!(" at {place}"));
        let since = wait
            .since
            .map(|time| format!(", since the time {}", time.since(Time::default())));
        format!(
            "\n  {} waits for {}{}{}",
            wait.who,
            wait.what,
            place.unwrap_or_default(),
            since.unwrap_or_default()
        )
    });
    lines.collect()
}
