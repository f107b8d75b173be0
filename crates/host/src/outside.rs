//! Outside threads: OS threads without a seat in [`Parking`](crate::parking::Parking) that wake
//! threads of a run.

use std::sync::Weak;
use std::sync::atomic::Ordering;

use cellworks_machine::{Outside, Outsiders, Processor, RunId, Time};

use crate::run::Run;

impl Outside for Run {
    fn run_id(&self) -> &RunId {
        &self.id
    }

    fn now(&self) -> Time {
        self.now()
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled()
    }

    #[track_caller]
    fn notify(&self, to: Processor) {
        self.notify(to);
    }

    fn admit(&self) {
        self.outside.fetch_add(1, Ordering::Relaxed);
        self.parking.admit();
    }

    fn dismiss(&self) {
        self.outside.fetch_sub(1, Ordering::Relaxed);
        if !self.parking.dismiss_unless_last() {
            self.end_in_deadlock();
            self.parking.dismiss();
        }
    }

    fn ask(&self, outsiders: Weak<dyn Outsiders>) {
        // A run has one network.
        let _ = self.outsiders.set(outsiders);
    }
}
