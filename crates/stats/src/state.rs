//! Finds the states of a computer from the times of one operation. For example, two CPUs of a
//! virtual machine run on one core at some times, and on distant cores at other times.
//!
//! ```text
//!   ns │ ▄▄     ▄▄▄▄▄            two peaks of times: far apart compared with the width
//!      │                         of a peak, and each state lasts for many samples
//!      │   ▀▀▀▀▀     ▀▀▀▀
//!      └──────────────────── time
//! ```

use crate::report::State;

/// The minimum ratio of two times that belong to different states. In one state, the ratio is at
/// most 1.5, because the clock rate of a core rises by at most half. Operations between distant
/// virtual CPUs took 3.6 times as long as operations between near virtual CPUs.
pub const STATES_RATIO_MIN: f64 = 1.5;

/// The minimum share of the times in a state. A state with a smaller share would not move medians.
const SHARE_MIN: f64 = 0.1;

/// The minimum distance between the medians of two peaks, in multiples of the width of the wider
/// peak (the distance between its quartiles). Two halves of one broad peak are nearer: their
/// medians are 1.6 times the width of a half apart in a normal distribution, and 2 times in a
/// uniform one.
const WIDTHS_APART: f64 = 3.0;

/// The maximum number of changes of state between successive samples, divided by the expected
/// number for the same samples in random order. With more changes, the states do not last.
const SWITCHES_MAX: f64 = 0.5;

/// The minimum number of times for deciding whether there are two states. One of two times that
/// differ may have been disturbed.
const TIMES_MIN: usize = 3;

/// The minimum number of samples for deciding whether states last.
const SAMPLES_MIN: usize = 20;

/// Returns the states in which times were measured, the faster state first. If there are two peaks
/// far apart, there are two states. Otherwise, there is one state or, without times, no state.
pub(crate) fn states(times_ns: &[f64]) -> Vec<State> {
    match boundary(times_ns) {
        Some(first_slow) => {
            let (fast, slow): (Vec<f64>, Vec<f64>) =
                times_ns.iter().partition(|ns| **ns < first_slow);
            [fast, slow]
                .into_iter()
                .filter_map(|of_one| state(of_one, times_ns.len()))
                .collect()
        }
        None => state(times_ns.to_vec(), times_ns.len())
            .into_iter()
            .collect(),
    }
}

/// Returns for each time whether it belongs to the state with most of the times. If there is one
/// state, a time that is more than [`STATES_RATIO_MIN`] times away from the median does not belong to
/// it: the computer was in another state, but too shortly to count.
pub(crate) fn are_main(times_ns: &[f64]) -> Vec<bool> {
    match boundary(times_ns) {
        Some(first_slow) => {
            let is_slow = |ns: &f64| *ns >= first_slow;
            let slow = times_ns.iter().filter(|ns| is_slow(ns)).count();
            let is_main_slow = 2 * slow > times_ns.len();
            times_ns
                .iter()
                .map(|ns| is_slow(ns) == is_main_slow)
                .collect()
        }
        None => {
            let mut sorted = times_ns.to_vec();
            sorted.sort_unstable_by(f64::total_cmp);
            let is_near = |ns: &f64| {
                let middle = quantile(&sorted, 0.5);
                *ns <= middle * STATES_RATIO_MIN && middle <= *ns * STATES_RATIO_MIN
            };
            times_ns.iter().map(is_near).collect()
        }
    }
}

/// Returns the two states of successive samples. The result is empty if there are fewer than
/// [`SAMPLES_MIN`] samples or only one state, or if fast and slow samples alternate, because the
/// operation then has two usual times.
pub(crate) fn lasting(samples_ns: &[f64]) -> Vec<State> {
    if samples_ns.len() < SAMPLES_MIN {
        return Vec::new();
    }
    let Some(first_slow) = boundary(samples_ns) else {
        return Vec::new();
    };
    let is_slow = |ns: &f64| *ns >= first_slow;
    let slow = share(
        samples_ns.iter().filter(|ns| is_slow(ns)).count(),
        samples_ns.len(),
    );
    let switches = samples_ns
        .windows(2)
        .filter(|pair| is_slow(&pair[0]) != is_slow(&pair[1]))
        .count();
    let in_any_order = 2.0 * slow * (1.0 - slow) * (samples_ns.len() - 1) as f64;
    if switches as f64 <= SWITCHES_MAX * in_any_order {
        states(samples_ns)
    } else {
        Vec::new()
    }
}

fn share(some: usize, all: usize) -> f64 {
    some as f64 / all as f64
}

fn state(mut times_ns: Vec<f64>, all: usize) -> Option<State> {
    times_ns.sort_unstable_by(f64::total_cmp);
    (!times_ns.is_empty()).then(|| State {
        ns: quantile(&times_ns, 0.5),
        share: share(times_ns.len(), all),
    })
}

/// Returns the shortest time of the slower state, or `None` if there is one state. Compares
/// logarithms of times, because the ratio of two times matters and not their difference.
fn boundary(times_ns: &[f64]) -> Option<f64> {
    let mut sorted = times_ns.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    if sorted.len() < TIMES_MIN || sorted[0] <= 0.0 {
        return None;
    }
    let logarithms: Vec<f64> = sorted.iter().map(|ns| ns.ln()).collect();
    let at = best_cut(&logarithms)?;
    let (fast, slow) = logarithms.split_at(at);
    let fewest = share(fast.len().min(slow.len()), logarithms.len());
    let distance = quantile(slow, 0.5) - quantile(fast, 0.5);
    let width = |peak| quantile(peak, 0.75) - quantile(peak, 0.25);
    let is_far = distance >= STATES_RATIO_MIN.ln()
        && distance >= WIDTHS_APART * width(fast).max(width(slow));
    (is_far && fewest >= SHARE_MIN).then(|| sorted[at])
}

/// Returns the index that cuts ascending numbers into the two parts with the largest variance
/// between the parts (Otsu's method).
fn best_cut(ascending: &[f64]) -> Option<usize> {
    let total: f64 = ascending.iter().sum();
    let mut below = 0.0;
    let cuts = (1..ascending.len()).map(|at| {
        below += ascending[at - 1];
        let (low, high) = (at as f64, (ascending.len() - at) as f64);
        let distance = (total - below) / high - below / low;
        (at, low * high * distance * distance)
    });
    let best = cuts.max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(best.0)
}

/// Returns the number below which `share` (0 to 1) of the ascending numbers lie. `ascending` must
/// have at least one number.
fn quantile(ascending: &[f64], share: f64) -> f64 {
    ascending[((ascending.len() - 1) as f64 * share).round() as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(ns: f64, within: f64, count: usize) -> Vec<f64> {
        let noise = |at: usize| (at * 7_919 % 101) as f64 / 50.0 - 1.0;
        (0..count)
            .map(|at| ns * (1.0 + within * noise(at)))
            .collect()
    }

    fn found(states: &[State]) -> Vec<(f64, f64)> {
        let rounded = |state: &State| (state.ns.round(), (state.share * 100.0).round());
        states.iter().map(rounded).collect()
    }

    #[test]
    fn times_of_one_state_are_not_split() {
        for times in [
            around(136.0, 0.02, 200),
            // A broad peak, from half of 136 ns to 1.5 times 136 ns.
            around(136.0, 0.5, 200),
            // Five successive times that an interrupt made longer.
            [around(136.0, 0.02, 95), around(5_000.0, 0.02, 5)].concat(),
            // A slow drift, as of a clock rate.
            (0..200)
                .map(|at| 100.0 * (1.0 + 0.3 * at as f64 / 200.0))
                .collect(),
            // Two peaks, as of two clock rates.
            [around(136.0, 0.02, 100), around(180.0, 0.02, 100)].concat(),
        ] {
            assert_eq!(states(&times).len(), 1, "{times:?}");
            assert_eq!(lasting(&times), []);
        }
        assert_eq!(states(&[]), []);
        assert_eq!(found(&states(&[136.0])), [(136.0, 100.0)]);
        assert_eq!(found(&states(&[136.0, 136.0])), [(136.0, 100.0)]);
        assert_eq!(states(&[0.0, 136.0, 137.0]).len(), 1);
        // Two readings cannot tell a second state from a disturbance.
        assert_eq!(states(&[66.9, 251.0]).len(), 1);
    }

    #[test]
    fn two_states_have_their_times_and_shares() {
        let flips = [
            around(136.0, 0.05, 60),
            around(495.0, 0.05, 100),
            around(136.0, 0.05, 40),
        ]
        .concat();
        let expected = [(136.0, 50.0), (495.0, 50.0)];
        assert_eq!(found(&states(&flips)), expected);
        assert_eq!(found(&lasting(&flips)), expected);
        // A few readings are enough for `states`, because each reading is a median.
        assert_eq!(
            found(&states(&[66.9, 67.2, 251.0])),
            [(67.0, 67.0), (251.0, 33.0)]
        );
        assert_eq!(lasting(&[66.9, 67.2, 251.0]), []);
    }

    #[test]
    fn times_of_the_main_state_are_those_of_most() {
        let main = |fast: usize, slow: usize| {
            let times = [around(136.0, 0.05, fast), around(495.0, 0.05, slow)].concat();
            let main = are_main(&times);
            let of_fast = main[..fast].iter().all(|is_main| *is_main);
            let of_slow = main[fast..].iter().all(|is_main| *is_main);
            (of_fast, of_slow, main.contains(&true))
        };
        assert_eq!(main(60, 40), (true, false, true));
        assert_eq!(main(40, 60), (false, true, true));
        // Too few of the other state for a state of its own.
        assert_eq!(main(60, 1), (true, false, true));
        assert_eq!(main(60, 0), (true, true, true));
        assert!(are_main(&[]).is_empty());
    }

    #[test]
    fn two_peaks_in_no_order_are_how_the_operation_is() {
        let mixed: Vec<f64> = around(6.0, 0.02, 200)
            .into_iter()
            .zip(around(18.0, 0.02, 200))
            .zip(0..)
            .map(|((fast, slow), at)| if at * 7_919 % 7 < 3 { fast } else { slow })
            .collect();
        assert_eq!(states(&mixed).len(), 2);
        assert_eq!(lasting(&mixed), []);
    }
}
