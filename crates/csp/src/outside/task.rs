//! What an async task does at its seat. None of it waits.

use std::sync::Arc;

use super::{Gates, Inside, LastUser, OwnSeat, Phase, State};
use crate::channel::waker::Waker;
use crate::counting::Counting;
use crate::network::shared::NetworkState;

/// Starts a thread that gives a hint if the network does not run for some time.
fn watch_until_run(gates: &Arc<Gates>) {
    let gates = Arc::clone(gates);
    let watch = move || {
        let mut state = State::hint_if_late(&gates, gates.state());
        // If no task waited at that moment, the next task that waits is watched anew.
        state.is_watched = state.has_hinted;
    };
    let thread = std::thread::Builder::new().name("cellworks gates".to_owned());
    // If the thread cannot be started, there is no hint.
    drop(thread.spawn(watch));
}

/// What a task finds when it looks at its network.
#[derive(Clone, Copy)]
pub(crate) enum Standing<'a> {
    /// The network does not run yet.
    Ahead,
    Runs(&'a Inside),
    Over,
}

impl OwnSeat {
    fn standing(&self, state: &State) -> Standing<'_> {
        match &state.phase {
            Phase::Ahead => Standing::Ahead,
            Phase::Open(run) => Standing::Runs(self.inside.get_or_init(|| self.inside(run))),
            Phase::Over { .. } => Standing::Over,
        }
    }

    /// Begins a step of the task. The machine counts the task from now on, as a task that goes on
    /// may wake processes.
    pub(crate) fn begin(&self) -> Standing<'_> {
        let mut state = self.gates.state();
        state.steps += 1;
        let State { phase, seats, .. } = &mut *state;
        if let (Phase::Open(run), Some(seat)) = (phase, seats.get_mut(&self.number)) {
            seat.user = LastUser::Task;
            seat.is_notified = false;
            if std::mem::take(&mut seat.is_dismissed) {
                run.outside.admit();
            }
            // In a cancelled run, the record may be needed for the report of a deadlock.
            if seat.is_recorded && !run.outside.is_cancelled() {
                seat.is_recorded = false;
                run.shared.waits.forget(self.number);
            }
        }
        self.standing(&state)
    }

    /// Sets the waker of the future that waits at the end `end`. After the run, does nothing.
    pub(crate) fn listen(&self, end: u64, future: std::task::Waker) -> Standing<'_> {
        let mut state = self.gates.state();
        let standing = self.standing(&state);
        let mut old = Some(future);
        if matches!(standing, Standing::Ahead) && !std::mem::replace(&mut state.is_watched, true) {
            watch_until_run(&self.gates);
        }
        if !matches!(standing, Standing::Over)
            && let (Some(seat), Some(future)) = (state.seats.get_mut(&self.number), old.take())
        {
            match seat.futures.iter_mut().find(|(of, _)| *of == end) {
                Some((_, place)) => old = Some(std::mem::replace(place, future)),
                None => seat.futures.push((end, future)),
            }
        }
        // Dropped without the lock, because the destructor of a waker may run any code.
        drop(state);
        drop(old);
        standing
    }

    /// Removes the waker of the end `end`.
    pub(crate) fn ignore(&self, end: u64) {
        let mut state = self.gates.state();
        let futures = state.seats.get_mut(&self.number);
        let futures = futures.map(|seat| &mut seat.futures);
        let old = futures.and_then(|futures| {
            let at = futures.iter().position(|(of, _)| *of == end)?;
            Some(futures.swap_remove(at))
        });
        drop(state);
        drop(old);
    }

    /// Called when the task waits for nothing but its ends. Unless it was notified since its last
    /// step, calls `record` and stops counting it, which may report a deadlock.
    pub(crate) fn dismiss(&self, record: impl FnOnce()) {
        let mut state = self.gates.state();
        let State { phase, seats, .. } = &mut *state;
        let (Phase::Open(run), Some(seat)) = (phase, seats.get_mut(&self.number)) else {
            return;
        };
        if seat.is_notified || seat.is_dismissed {
            return;
        }
        record();
        seat.is_recorded = true;
        seat.is_dismissed = true;
        run.outside.dismiss();
    }
}

impl Inside {
    /// Returns the handle by which partners wake the task.
    pub(crate) fn waker(&self) -> Waker {
        self.waker
    }

    pub(crate) fn shared(&self) -> &NetworkState {
        &self.run.shared
    }
}

impl OwnSeat {
    /// Returns what the network has counted, if it counts and has begun.
    pub(crate) fn counting(&self) -> Option<&Counting> {
        self.inside.get()?.run.shared.counting.as_deref()
    }
}
