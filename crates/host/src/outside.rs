//! Outside threads: OS threads that run no program of a run, but wake threads of the run.

use cellworks_machine::{Outside, Processor, Time};

use crate::run::Run;

impl Outside for Run {
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
