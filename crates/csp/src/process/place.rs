//! Places: the processors that run processes.

use std::fmt;

use cellworks_machine::{PpeCore, Processor, RemoteWaker, RunId, Sleeper, Spe, Time, Wait, Wake};

use crate::outside::place::OutsidePlace;

/// A processor that runs processes: an SPE, a [`PpePlace`] or an [`OutsidePlace`].
pub trait Place: Wake {
    /// Returns the processor of this place.
    fn processor(&self) -> Processor;

    /// Lets the other processes of this processor run once.
    fn let_others_run(&self);

    /// Lets the other processes of this processor run once, if one of them is ready.
    fn let_ready_others_run(&self);

    /// Returns this place if it is an outside thread. The result is constant for each type.
    #[doc(hidden)]
    #[inline(always)]
    fn outside(&self) -> Option<&OutsidePlace> {
        None
    }
}

impl<S: Spe> Place for S {
    fn processor(&self) -> Processor {
        Processor::Spe(self.id())
    }

    #[inline]
    #[track_caller]
    fn let_others_run(&self) {
        Spe::yield_now(self);
    }

    #[inline]
    fn let_ready_others_run(&self) {
        Spe::yield_ready(self);
    }
}

/// The PPE as the place of one process: the main process of a network.
pub struct PpePlace<'a, C>(pub(crate) &'a C);

impl<C: PpeCore> Wait for PpePlace<'_, C> {
    #[track_caller]
    fn wait_until(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        self.0.wait_until(why, ready)
    }
}

impl<C: PpeCore> Wake for PpePlace<'_, C> {
    fn run_id(&self) -> &RunId {
        self.0.run_id()
    }

    fn now(&self) -> Time {
        self.0.now()
    }

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    #[track_caller]
    fn notify(&self, to: Processor) {
        self.0.notify(to);
    }

    fn sleeper(&self) -> Sleeper {
        self.0.sleeper()
    }

    fn would_poll(&self) -> bool {
        self.0.would_poll()
    }

    fn wait_briefly(&self) -> bool {
        self.0.wait_briefly()
    }

    fn outlast(&self, done: &mut dyn FnMut() -> bool) {
        self.0.outlast(done);
    }

    fn wake_elsewhere(&self, sleeper: Sleeper) {
        self.0.wake(sleeper);
    }

    fn remote_waker(&self) -> RemoteWaker {
        self.0.remote_waker()
    }

    #[track_caller]
    fn wait_until_deadline(
        &self,
        why: &dyn fmt::Display,
        deadline: Time,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        self.0.wait_until_deadline(why, deadline, ready)
    }
}

impl<C: PpeCore> Place for PpePlace<'_, C> {
    fn processor(&self) -> Processor {
        Processor::Ppe
    }

    #[track_caller]
    fn let_others_run(&self) {
        self.0.yield_now();
    }

    fn let_ready_others_run(&self) {
        self.let_others_run();
    }
}

impl Place for OutsidePlace {
    fn processor(&self) -> Processor {
        Processor::Ppe
    }

    fn let_others_run(&self) {
        std::thread::yield_now();
    }

    fn let_ready_others_run(&self) {
        self.let_others_run();
    }

    fn outside(&self) -> Option<&OutsidePlace> {
        Some(self)
    }
}
