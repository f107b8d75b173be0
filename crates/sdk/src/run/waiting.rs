//! Where programs wait, in their own source.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cellworks_machine::{SpeId, Time};

/// Where the programs of SPEs wait, for the report of a deadlock.
#[derive(Clone, Default)]
pub(crate) struct Waiting(Arc<Mutex<HashMap<SpeId, &'static str>>>);

impl Waiting {
    /// Notes that the program of `spe` waits at a place in its source.
    pub(super) fn at(&self, spe: SpeId, place: &'static str) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(spe, place);
    }

    /// Returns the report of a machine, with places in the source instead of those in Cellworks.
    pub(super) fn report(&self, waits: &[cellworks_machine::Waiting]) -> String {
        let places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let places: Vec<_> = places
            .iter()
            .map(|(spe, place)| (spe.to_string(), *place))
            .collect();
        let lines = waits.iter().map(|wait| {
            let place = places.iter().find(|(who, _)| *who == wait.who);
            let place = place
                .map(|(_, place)| format!(" at {place}"))
                .unwrap_or_default();
            let since = wait
                .since
                .map(|time| format!(", since the time {}", time.since(Time::default())));
            format!(
                "\n  {} waits for {}{place}{}",
                wait.who,
                wait.what,
                since.unwrap_or_default()
            )
        });
        lines.collect()
    }
}
