//! Outside threads: OS threads without a seat in [`Parking`](crate::parking::Parking) that wake
//! threads of a run.

use cellworks_machine::{Outside, Processor, RunId, Time};

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
        self.parking.admit();
    }

    fn dismiss(&self) {
        if !self.parking.dismiss_unless_last() {
            self.end_in_deadlock();
            self.parking.dismiss();
        }
    }
}
