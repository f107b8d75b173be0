//! The report of a deadlock, with places in the source of the programs.

use cellworks_machine::{Time, Waiting};

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
