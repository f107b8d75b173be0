//! What a user is told about threads outside, in reports of deadlocks and if a run stands still.

use std::time::{Duration, Instant};

use cellworks_machine::Outsiders;

use super::{Gates, LastUser, OpenNetwork, Phase, STILL, Seat, State};

/// After this time without a step, there is a hint about gates that may yet be used.
const LONG_STILL: Duration = Duration::from_secs(10);

impl Seat {
    /// Returns what is known of the user, and whether the user is probably done with the seat,
    /// which then lives on only because it was forgotten.
    fn standing(&self) -> (&'static str, bool) {
        if self.is_dismissed {
            return ("waits for the network", false);
        }
        match &self.user {
            LastUser::None => ("was neither used nor dropped", false),
            LastUser::Thread(thread) if thread.strong_count() == 0 => (
                "was not dropped, but the thread that entered it has ended",
                true,
            ),
            LastUser::Thread(_) => ("was entered by a thread, which does something else", false),
            #[cfg(feature = "async")]
            LastUser::Task if self.futures.is_empty() => (
                "or one of its async ends was not dropped, but its task waits for none of them",
                true,
            ),
            #[cfg(feature = "async")]
            LastUser::Task => ("has a task that waits for a channel, without `only`", false),
        }
    }
}

/// What a user can do about ends that live on.
const DROP_THEM: &str = "A closure or an `async` block without `move` only borrows what it uses, and \
    that lives on in the function around it: write `move`, or drop the gate and its ends";

impl Outsiders for Gates {
    fn list(&self) -> Vec<String> {
        let state = self.state();
        let Phase::Open(run) = &state.phase else {
            return Vec::new();
        };
        let mut lines = Vec::new();
        let mut has_advice = false;
        for seat in state.seats.values() {
            let (standing, is_forgotten) = seat.standing();
            has_advice |= is_forgotten || matches!(seat.user, LastUser::None);
            lines.push(format!(
                "the gate `{}` {standing}: of {}",
                seat.gate,
                run.network()
            ));
        }
        lines.extend(has_advice.then(|| DROP_THEM.to_owned()));
        lines
    }

    fn all_programs_wait(&self) -> Option<String> {
        let mut state = self.state();
        let now = (Instant::now(), state.steps);
        let still = state.still_since.filter(|(_, steps)| *steps == now.1);
        let (since, _) = *state.still_since.insert(still.unwrap_or(now));
        let Phase::Open(run) = &state.phase else {
            return None;
        };
        let seats = || {
            state
                .seats
                .values()
                .map(|seat| (&seat.gate, seat.standing()))
        };
        let stood = since.elapsed();
        if state.has_hinted || seats().next().is_none() || stood < STILL {
            return None;
        }
        // A user that is not done may still let the network go on.
        let mut hint = if seats().all(|(_, (_, is_forgotten))| is_forgotten) {
            format!(
                "hint: all processes of {} have waited for some seconds. Either the network is idle and \
                 waits for its clients, or the run should have ended and a channel is kept open. \
                 {DROP_THEM}.",
                run.network()
            )
        } else if state.are_all_unused() && state.is_one_done && stood >= LONG_STILL {
            format!(
                "hint: all processes of {} have waited for some seconds, and all gates that were used are \
                 dropped. Either the network is idle and waits for its next client, or a gate is kept \
                 that was only cloned. If no thread or task will use such a gate any more, drop it and \
                 its ends.",
                run.network()
            )
        } else {
            return None;
        };
        for (gate, (standing, _)) in seats() {
            hint += &format!("\n  the gate `{gate}` {standing}");
        }
        state.has_hinted = true;
        Some(hint)
    }
}

impl OpenNetwork {
    fn network(&self) -> String {
        format!("the network that was run at {}", self.at)
    }
}

impl State {
    fn are_all_unused(&self) -> bool {
        let mut seats = self.seats.values();
        seats.all(|seat| matches!(seat.user, LastUser::None))
    }
}
