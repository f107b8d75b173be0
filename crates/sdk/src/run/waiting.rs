//! Where programs wait, in their own source.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cellworks_machine::{SpeId, Time};

/// The PPE in the report of a machine.
const PPE: &str = "the PPE";

/// The SPEs whose programs run, and where they wait, for the report of a deadlock or a limit.
#[derive(Clone, Default)]
pub(crate) struct Waiting(Arc<Mutex<BTreeMap<SpeId, Option<&'static str>>>>);

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<SpeId, Option<&'static str>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the program of `spe` waits at a place in its source.
    pub(super) fn at(&self, spe: SpeId, place: &'static str) {
        self.lock().insert(spe, Some(place));
    }

    /// Notes that the program of `spe` runs, and does not wait.
    pub(super) fn runs(&self, spe: SpeId) {
        self.lock().insert(spe, None);
    }

    /// Notes that the program of `spe` has stopped.
    pub(super) fn stopped(&self, spe: SpeId) {
        self.lock().remove(&spe);
    }

    /// Returns the report of a machine, with places in the source instead of those in Cellworks,
    /// and with the programs that do not wait.
    pub(super) fn report(&self, waits: &[cellworks_machine::Waiting]) -> String {
        let places = self.lock();
        let places: Vec<_> = places
            .iter()
            .map(|(spe, place)| (spe.to_string(), *place))
            .chain([(PPE.to_owned(), None)])
            .collect();
        let lines = waits.iter().map(|wait| {
            let place = places.iter().find(|(who, _)| *who == wait.who);
            let place = place
                .and_then(|(_, place)| *place)
                .map(|place| format!(" at {place}"))
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
        let computes = |who: &String| !waits.iter().any(|wait| wait.who == *who);
        let computing = places
            .iter()
            .map(|(who, _)| who)
            .filter(|who| computes(who));
        lines
            .chain(computing.map(|who| format!("\n  {who} computes")))
            .collect()
    }
}
