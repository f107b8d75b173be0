//! The crew of working SPEs. The PPE starts all loops of a round at the same time.

// Rejected: one visit (run) with rounds until its medians agree. The medians agreed within 1 %, but
// those of the next run differed by 50 %: the shared processor had another state.

use cellworks_machine::mailbox::Outbound;
use cellworks_machine::mfc::EffectiveAddress;
use cellworks_machine::{CellMachine, CellSpe, Cycles, Handle, Ppe, Span, SpeId, Time};

use super::control_block::{ControlBlock, receive};
use crate::error::{MeasureError, SpeError};
use crate::plan::{Pace, Timed};
use crate::program::{FAILED, Stopped, join};
use crate::sample::{
    LOOK_ROUNDS, ROUNDS_MAX, ROUNDS_MIN, Rate, Round, RoundTimes, STANDSTILL_ITERATIONS, Stopwatch,
    TimedLoop, is_settled,
};

/// A word in the outbound mailbox: the SPE is ready for the next word.
pub(super) const READY: u32 = 1;
/// A word in the outbound mailbox: the loop is done, and its times follow.
const DONE: u32 = 2;

/// A word in the inbound mailbox: the program shall end.
pub(super) const END: u32 = 0;
/// A word in the inbound mailbox: the next loop is a warm-up. The number of iterations follows.
const WARM_UP: u32 = 1;
/// A word in the inbound mailbox: the next loop counts. The number of iterations follows.
const COUNTS: u32 = 2;

/// The time in which a sleeping SPE wakes up: twice the median of `wakeup` (docs/performance.md).
const WAKE_UP_NS: u64 = 50_000;

/// An estimate of the time in which the PPE wakes one sleeping SPE and sends its words of a round.
const SEND_NS: u64 = 5_000;

/// The length of a warm-up if the request gave no number of iterations. Until then, cores have
/// risen to their clock rate.
const WARM_UP_SPAN: Span = Span::from_nanoseconds(10_000_000);

/// The length of the warm-up after another visit or measurement. It brings the data of the visit
/// into the caches; the clock rate of the core is up from what was before.
const WARM_UP_AGAIN_SPAN: Span = Span::from_nanoseconds(2_500_000);

/// From a loop of this length on, the number of iterations of the whole warm-up follows from it.
const TELLING_SPAN: Span = Span::from_nanoseconds(500_000);

/// The number of rounds that fit into the requested time.
const ROUNDS_PER_SPAN: u128 = ROUNDS_MAX as u128;

/// The number of rounds of each visit (run of a measurement) except the last. Three visits have
/// enough rounds for the first look at the interval.
const ROUNDS_PER_VISIT: usize = LOOK_ROUNDS / 3;

/// The number of rounds of a visit if its time is over before.
const ROUNDS_PER_SLOW_VISIT: usize = 2;

/// On a machine with times that repeat, two medians agree if they differ by at most the later
/// median divided by this number. The published times of Cells are less accurate than this limit.
const STEADY_PER_MEDIAN: u128 = 1_000;

/// The maximum number of rounds on a machine with times that repeat. The medians may never agree,
/// for example if the order in which SPEs overtake each other takes several rounds to repeat.
const STEADY_ROUNDS_MAX: u32 = 8;

pub(super) trait Work<S: CellSpe> {
    /// The data for the PPE to verify after all loops.
    type Left: Send;

    fn operate(&mut self, spe: &S) -> Result<(), SpeError>;

    /// Verifies the data of the SPE, and returns the data for the PPE.
    fn finish(self, spe: &S) -> Result<Self::Left, SpeError>;
}

/// The result of an SPE's program: the loops that count, and the data for the PPE.
pub(super) type WorkResult<L> = Result<(Vec<TimedLoop>, L), SpeError>;

/// Runs the timed loops that the PPE requests, on an SPE.
pub(super) fn work<S: CellSpe, W: Work<S>>(
    spe: &S,
    control_block: EffectiveAddress,
    set_up: impl FnOnce(&S, ControlBlock) -> Result<W, SpeError>,
) -> WorkResult<W::Left> {
    let set_up = receive(spe, control_block).and_then(|block| {
        let stopwatch = Stopwatch::new(block.spes, || spe.now());
        Ok((set_up(spe, block)?, stopwatch))
    });
    // Without this report, the PPE would wait for a word of the program forever.
    let (mut work, mut stopwatch) = set_up.inspect_err(|_| report_failure(spe))?;
    run_rounds(spe, |round| {
        stopwatch.time(round, || spe.now(), || work.operate(spe))
    })?;
    Ok((stopwatch.into_rounds(), work.finish(spe)?))
}

/// Calls `do_round` for each round that the PPE requests, until the PPE ends the program.
pub(super) fn run_rounds<S: CellSpe>(
    spe: &S,
    mut do_round: impl FnMut(Round) -> Result<RoundTimes, SpeError>,
) -> Result<(), SpeError> {
    let send = |word| spe.write_out_mbox(Outbound::Plain, word);
    send(READY);
    loop {
        let counts = match spe.read_in_mbox() {
            END => return Ok(()),
            kind => kind == COUNTS,
        };
        let iterations = spe.read_in_mbox();
        let start = time_of([(); 2].map(|()| spe.read_in_mbox()));
        wait_until(start, || spe.now(), |left| pass(spe, left));
        spe.begin_window();
        let activity = spe.activity(if counts { "timed loop" } else { "warm-up" });
        let times = do_round(Round { iterations, counts }).inspect_err(|_| report_failure(spe))?;
        drop(activity);
        spe.end_window();
        send(DONE);
        for word in words(times.took).into_iter().chain(words(times.median)) {
            send(word);
        }
    }
}

fn report_failure<S: CellSpe>(spe: &S) {
    spe.write_out_mbox(Outbound::Plain, FAILED);
}

/// The number of readings after which a clock that has not moved counts as standing still.
const STANDSTILL_READINGS: u32 = 1 << 20;

/// Calls `pass` with the remaining time, again and again until the clock reaches `until`. Returns
/// early if the clock stands still: a measurement with such a clock is refused later.
pub(super) fn wait_until(until: Time, now: impl Fn() -> Time, pass: impl Fn(Span)) {
    let mut seen = now();
    let mut still = 0;
    while seen < until && still < STANDSTILL_READINGS {
        pass(until.since(seen));
        let time = now();
        still = if time > seen { 0 } else { still + 1 };
        seen = time;
    }
}

/// Lets other threads run. On a simulated machine, first computes for one cycle for each 2 ns of
/// `left`: simulating one long computation is faster than simulating many readings of the clock. If
/// the clock of the SPU is faster than 0.5 GHz, the computation ends before `left` is over.
pub(super) fn pass<S: CellSpe>(spe: &S, left: Span) {
    const FEMTOSECONDS_PER_CYCLE: u128 = 2_000_000;
    let cycles = left.as_femtoseconds() / FEMTOSECONDS_PER_CYCLE;
    spe.compute(Cycles(u64::try_from(cycles).unwrap_or(u64::MAX)));
    spe.yield_now();
}

pub(super) fn words_of(time: Time) -> [u32; 2] {
    words(time.since(Time::default()))
}

pub(super) fn time_of(words: [u32; 2]) -> Time {
    Time::default() + span_of(words)
}

/// Converts a span to femtoseconds in two mailbox words, upper half first. A span of more than five
/// hours becomes the largest number.
fn words(span: Span) -> [u32; 2] {
    let fs = u64::try_from(span.as_femtoseconds()).unwrap_or(u64::MAX);
    [(fs >> 32) as u32, fs as u32]
}

fn span_of([upper, lower]: [u32; 2]) -> Span {
    Span::from_femtoseconds(u128::from(upper) << 32 | u128::from(lower))
}

/// The PPE's handles to the working SPEs. The program of each SPE returns a `T`.
pub(super) struct Crew<'scope, 'env, M: CellMachine, T> {
    pub ppe: &'scope Ppe<'scope, 'env, M>,
    members: Vec<Member<'scope, M, T>>,
    /// The longest time of sending the words of a round to all members.
    longest_send: Span,
}

struct Member<'scope, M: CellMachine, T> {
    handle: Handle<'scope, Result<T, SpeError>, M>,
    failed: bool,
}

impl<'scope, 'env, M: CellMachine, T> Crew<'scope, 'env, M, T> {
    /// Waits until every program is ready or has failed, and makes a crew of the programs.
    pub fn gather(
        ppe: &'scope Ppe<'scope, 'env, M>,
        programs: Vec<Handle<'scope, Result<T, SpeError>, M>>,
    ) -> Self {
        let members = programs
            .into_iter()
            .map(|handle| {
                let failed = ppe.read_out_mbox(handle.spe(), Outbound::Plain) == FAILED;
                Member { handle, failed }
            })
            .collect();
        Self {
            ppe,
            members,
            longest_send: Span::default(),
        }
    }

    /// Measures with these programs at the given pace, and returns the results of the programs.
    pub fn measure(
        ppe: &'scope Ppe<'scope, 'env, M>,
        pace: &Pace,
        programs: Vec<Handle<'scope, Result<T, SpeError>, M>>,
    ) -> Result<Vec<T>, MeasureError> {
        Self::measure_in_turn(ppe, [pace].into_iter(), programs)
    }

    /// Measures as [`measure`](Self::measure) does, once for each pace. The programs call [`work`] for
    /// each pace, and prepare their data before.
    pub fn measure_in_turn<'p>(
        ppe: &'scope Ppe<'scope, 'env, M>,
        paces: impl Iterator<Item = &'p Pace>,
        programs: Vec<Handle<'scope, Result<T, SpeError>, M>>,
    ) -> Result<Vec<T>, MeasureError> {
        let mut crew = Self::gather(ppe, programs);
        for (turn, pace) in paces.enumerate() {
            if turn > 0 {
                crew.begin_next_turn();
            }
            // If a program stopped the crew, `dismiss` returns its error.
            if conduct(pace, |round| crew.round(round)).is_err() {
                break;
            }
        }
        crew.dismiss()
    }

    /// Ends the rounds of each program, and waits until it is ready for the next turn or has failed.
    fn begin_next_turn(&mut self) {
        for member in &mut self.members {
            let spe = member.handle.spe();
            self.ppe.write_in_mbox(spe, END);
            member.failed = self.ppe.read_out_mbox(spe, Outbound::Plain) == FAILED;
        }
    }

    /// Returns an error if a program has failed. The caller must then send no more words.
    pub fn check(&self) -> Result<(), Stopped> {
        if self.members.iter().any(|member| member.failed) {
            Err(Stopped)
        } else {
            Ok(())
        }
    }

    /// Waits until an SPE has reported that its work has ended or that its program has failed.
    pub fn await_report(&mut self, spe: SpeId) {
        if self.ppe.read_out_mbox(spe, Outbound::Plain) == FAILED {
            let found = self.members.iter_mut().find(|one| one.handle.spe() == spe);
            found.expect("every SPE of the plan has a program").failed = true;
        }
    }

    /// Runs a loop on each SPE, and returns the times of all loops together.
    pub fn round(&mut self, round: Round) -> Result<RoundTimes, Stopped> {
        self.check()?;
        let kind = if round.counts { COUNTS } else { WARM_UP };
        let begin = self.ppe.now();
        // The delay is at least twice the longest time of sending in earlier rounds. Sending may
        // take longer now, because each word may need a system call of the PPE.
        let gate = start_delay(self.members.len()).max(twice(self.longest_send));
        let [upper, lower] = words_of(begin + gate);
        for member in &self.members {
            for word in [kind, round.iterations, upper, lower] {
                self.ppe.write_in_mbox(member.handle.spe(), word);
            }
        }
        if self.members.len() > 1 {
            self.longest_send = self.longest_send.max(self.ppe.now().since(begin));
        }
        let mut times = Vec::with_capacity(self.members.len());
        for member in &mut self.members {
            let read = || self.ppe.read_out_mbox(member.handle.spe(), Outbound::Plain);
            member.failed = read() == FAILED;
            if !member.failed {
                let took = span_of([read(), read()]);
                let median = span_of([read(), read()]);
                times.push(RoundTimes { took, median });
            }
        }
        if times.len() < self.members.len() {
            return Err(Stopped);
        }
        Ok(RoundTimes::of_all(&times))
    }

    pub fn dismiss(self) -> Result<Vec<T>, MeasureError> {
        for member in self.members.iter().filter(|member| !member.failed) {
            self.ppe.write_in_mbox(member.handle.spe(), END);
        }
        // All programs are joined even if a program failed.
        let results: Vec<_> = self
            .members
            .into_iter()
            .map(|member| join(member.handle))
            .collect();
        results.into_iter().collect()
    }
}

/// Estimates how long a round must wait for its words to be sent. A single SPE need not wait.
fn start_delay(spes: usize) -> Span {
    match spes {
        0..=1 => Span::default(),
        _ => Span::from_nanoseconds(WAKE_UP_NS + SEND_NS * spes as u64),
    }
}

fn twice(mut span: Span) -> Span {
    span += span;
    span
}

/// Warms up, and runs the rounds that count. A given number of iterations is one round. On a
/// machine with times that repeat, the rounds end when two successive medians agree. On other
/// machines, [`repeat`] says when they end.
pub(super) fn conduct<E>(
    pace: &Pace,
    mut round: impl FnMut(Round) -> Result<RoundTimes, E>,
) -> Result<(), E> {
    if let Some(iterations @ 1..) = pace.warm_up {
        let counts = false;
        round(Round { iterations, counts })?;
    }
    match pace.timed {
        Timed::Exactly(iterations) => {
            if pace.warm_up.is_none() {
                warm_up(WARM_UP_SPAN, None, &mut round)?;
            }
            let counts = true;
            round(Round { iterations, counts })?;
            Ok(())
        }
        Timed::Within(span) => {
            let of_round = Span::from_femtoseconds(span.as_femtoseconds() / ROUNDS_PER_SPAN);
            // A warm-up of a given size does not show how many iterations fill a round, so more
            // loops follow until one is as long as a round.
            let (enough, known) = match (pace.warm_up, pace.rate) {
                (Some(_), _) => (of_round, None),
                (None, known @ Some(_)) => (WARM_UP_AGAIN_SPAN, known),
                (None, None) if pace.is_warm => (WARM_UP_AGAIN_SPAN, None),
                (None, None) => (WARM_UP_SPAN, None),
            };
            let rate = warm_up(enough, known, &mut round)?;
            repeat(span, of_round, rate, pace, round)
        }
        Timed::Steady(iterations) => {
            if pace.warm_up.is_none() {
                let (iterations, counts) = (iterations.div_ceil(4), false);
                round(Round { iterations, counts })?;
            }
            until_steady(iterations, round)
        }
    }
}

/// Runs up to [`STEADY_ROUNDS_MAX`] rounds until the medians of two successive rounds agree.
fn until_steady<E>(
    iterations: u32,
    mut round: impl FnMut(Round) -> Result<RoundTimes, E>,
) -> Result<(), E> {
    let counts = true;
    let mut before = round(Round { iterations, counts })?.median;
    for _ in 1..STEADY_ROUNDS_MAX {
        let median = round(Round { iterations, counts })?.median;
        let apart = (median.max(before) - median.min(before)).as_femtoseconds();
        if apart * STEADY_PER_MEDIAN <= median.as_femtoseconds() {
            break;
        }
        before = median;
    }
    Ok(())
}

/// Runs longer and longer loops that do not count, until a loop takes at least `span`. If the rate
/// of an earlier visit is `known`, these are one iteration, which may start OS threads, and one
/// loop, unless an iteration takes as long as the loop.
fn warm_up<E>(
    span: Span,
    known: Option<Rate>,
    round: &mut impl FnMut(Round) -> Result<RoundTimes, E>,
) -> Result<Rate, E> {
    let enough = known.map(|rate| rate.fitting(span));
    let mut iterations = 1_u32;
    loop {
        let counts = false;
        let took = round(Round { iterations, counts })?.took;
        let is_enough = match enough {
            Some(enough) => iterations >= enough,
            // The first loop may start an OS thread, so later loops may be much faster.
            None => took >= span && iterations > 1,
        };
        let stands_still = took == Span::default() && iterations >= STANDSTILL_ITERATIONS;
        let rate = Rate {
            iterations: iterations.into(),
            took,
        };
        if is_enough || stands_still || iterations == u32::MAX {
            return Ok(rate);
        }
        iterations = match (enough, iterations) {
            (Some(enough), _) => enough,
            (None, 1) if took >= span => 2,
            // A fifth more, because later iterations may be a little faster.
            (None, 2..) if took >= TELLING_SPAN => (rate.fitting(span) / 5)
                .saturating_mul(6)
                .max(iterations + 1),
            (None, _) => iterations.saturating_mul(4),
        };
    }
}

/// Runs rounds of the length `of_round`. A visit that is not the last has [`ROUNDS_PER_VISIT`]
/// rounds. The last visit ends when there are [`LOOK_ROUNDS`] rounds in all and their interval is
/// settled, or when there are [`ROUNDS_MAX`]. Each visit ends earlier if `span` is over.
fn repeat<E>(
    span: Span,
    of_round: Span,
    mut rate: Rate,
    pace: &Pace,
    mut round: impl FnMut(Round) -> Result<RoundTimes, E>,
) -> Result<(), E> {
    let mut all = Rate::default();
    let mut visited = pace.earlier.clone();
    let this_visit = visited.len();
    visited.push(Vec::new());
    loop {
        let (iterations, counts) = (rate.fitting(of_round), true);
        let times = round(Round { iterations, counts })?;
        visited[this_visit].push(times.median);
        all.iterations += u64::from(iterations);
        all.took += times.took;
        rate = all;
        let here = visited[this_visit].len();
        let rounds: usize = visited.iter().map(Vec::len).sum();
        if here < ROUNDS_PER_SLOW_VISIT || !pace.more_visits && rounds < ROUNDS_MIN {
            continue;
        }
        let is_enough = if pace.more_visits {
            here >= ROUNDS_PER_VISIT
        } else {
            rounds >= ROUNDS_MAX || rounds == LOOK_ROUNDS && is_settled(&visited)
        };
        // Without a clock that moves, the rounds would become longer and longer.
        if is_enough || all.took >= span || all.took == Span::default() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use cellworks_host::Host;
    use cellworks_machine::{Machine, ModuleId};

    use super::*;
    use crate::measure::control_block::control_blocks;
    use crate::sample::interval;

    const MS: u64 = 1_000_000;

    fn ns(ns: u64) -> Span {
        Span::from_nanoseconds(ns)
    }

    /// Runs rounds of a made-up operation. `times` returns the times of a round. Its second
    /// argument is the number of earlier rounds without the warm-up.
    fn conducted(
        warm_up: Option<u32>,
        timed: Timed,
        times: impl FnMut(Round, usize) -> RoundTimes,
    ) -> Vec<Round> {
        let pace = Pace {
            warm_up,
            timed,
            earlier: Vec::new(),
            more_visits: false,
            rate: None,
            is_warm: false,
        };
        conducted_in(&pace, times)
    }

    fn conducted_in(pace: &Pace, mut times: impl FnMut(Round, usize) -> RoundTimes) -> Vec<Round> {
        let mut rounds: Vec<Round> = Vec::new();
        let Ok(()) = conduct(pace, |round| {
            let counted = rounds.iter().filter(|round| round.counts).count();
            rounds.push(round);
            Ok::<_, Infallible>(times(round, counted))
        });
        rounds
    }

    fn counted(rounds: &[Round]) -> Vec<u32> {
        let counted = rounds.iter().filter(|round| round.counts);
        counted.map(|round| round.iterations).collect()
    }

    fn steady(round: Round, _: usize) -> RoundTimes {
        always(100, round)
    }

    fn always(each_ns: u64, round: Round) -> RoundTimes {
        RoundTimes {
            took: ns(each_ns * u64::from(round.iterations)),
            median: ns(each_ns),
        }
    }

    #[test]
    fn exact_iterations_are_one_loop() {
        for (warm_up, before) in [(None, 9), (Some(7), 1), (Some(0), 0)] {
            let rounds = conducted(warm_up, Timed::Exactly(37), steady);
            assert_eq!(counted(&rounds), [37]);
            assert_eq!(rounds.len(), before + 1, "{rounds:?}");
            assert!(rounds.last().unwrap().counts);
        }
        let rounds = conducted(Some(7), Timed::Exactly(37), steady);
        assert_eq!((rounds[0].iterations, rounds[0].counts), (7, false));
    }

    #[test]
    fn rounds_that_agree_end_at_the_first_look() {
        for warm_up in [None, Some(0), Some(50)] {
            let rounds = conducted(warm_up, Timed::Within(ns(120 * MS)), steady);
            assert_eq!(counted(&rounds), [50_000; 12], "5 ms each");
        }
    }

    #[test]
    fn rounds_that_do_not_agree_go_on_until_the_time_is_spent() {
        let unsteady = |round: Round, counted: usize| RoundTimes {
            median: ns(100 + 2 * (counted as u64 % 6)),
            ..steady(round, counted)
        };
        let rounds = conducted(None, Timed::Within(ns(120 * MS)), unsteady);
        assert_eq!(counted(&rounds), [50_000; 24]);
    }

    #[test]
    fn a_round_that_was_disturbed_is_outside_of_the_interval() {
        let disturbed = |times: usize| {
            let median = move |counted| if counted < times { 150 } else { 100 };
            let rounds = conducted(None, Timed::Within(ns(120 * MS)), |round, counted| {
                RoundTimes {
                    median: ns(median(counted)),
                    ..steady(round, counted)
                }
            });
            counted(&rounds).len()
        };
        assert_eq!(disturbed(1), 12);
        assert_eq!(disturbed(2), 24);
    }

    #[test]
    fn visits_have_four_rounds_and_the_last_as_many_as_it_takes() {
        let counted_in = |earlier: &[[u64; 4]], more_visits, each_ns| {
            let pace = Pace {
                warm_up: None,
                timed: Timed::Within(ns(120 * MS)),
                earlier: earlier.iter().map(|visit| visit.map(ns).to_vec()).collect(),
                more_visits,
                rate: None,
                is_warm: false,
            };
            let rounds = conducted_in(&pace, |round, _| always(each_ns, round));
            counted(&rounds).len()
        };
        assert_eq!(counted_in(&[], true, 100), 4);
        assert_eq!(counted_in(&[[300, 310, 390, 400]], true, 100), 4);
        assert_eq!(counted_in(&[[100; 4], [100; 4]], false, 100), 4);
        // The medians of the visits differ, and more rounds would not change that.
        assert_eq!(counted_in(&[[100; 4], [140; 4]], false, 120), 4);
        // The rounds of the visits differ as much as their medians, so it may become narrower.
        let different = [[95, 100, 105, 110], [95, 100, 105, 110]];
        assert_eq!(counted_in(&different, false, 100), 16);
    }

    #[test]
    fn the_warm_up_of_a_later_visit_is_one_short_loop() {
        let pace = Pace {
            warm_up: None,
            timed: Timed::Within(ns(120 * MS)),
            earlier: vec![[100; 4].map(ns).to_vec()],
            more_visits: true,
            rate: Some(Rate {
                iterations: 1_000,
                took: ns(100_000),
            }),
            is_warm: false,
        };
        let rounds = conducted_in(&pace, steady);
        let before = rounds.iter().take_while(|round| !round.counts);
        let before: Vec<u32> = before.map(|round| round.iterations).collect();
        assert_eq!(before, [1, 25_000], "2.5 ms");
        assert_eq!(counted(&rounds), [50_000; 4]);
    }

    #[test]
    fn the_warm_up_after_another_measurement_is_short_and_as_much_is_measured() {
        let rounds = |is_warm| {
            let pace = Pace {
                warm_up: None,
                timed: Timed::Within(ns(120 * MS)),
                earlier: Vec::new(),
                more_visits: true,
                rate: None,
                is_warm,
            };
            let rounds = conducted_in(&pace, steady);
            let warm_up = rounds.iter().filter(|round| !round.counts);
            let iterations: u32 = warm_up.map(|round| round.iterations).sum();
            (iterations, counted(&rounds))
        };
        let ((cold, counted), (warm, counted_warm)) = (rounds(false), rounds(true));
        assert_eq!(counted, counted_warm);
        assert!(
            cold > 100_000 && (25_000..60_000).contains(&warm),
            "{cold} {warm}"
        );
    }

    /// A random number of the normal distribution (the method of Box and Muller).
    fn normal(random: &mut fastrand::Rng) -> f64 {
        let (radius, angle) = (1.0 - random.f64(), random.f64());
        (-2.0 * radius.ln()).sqrt() * (angle * std::f64::consts::TAU).cos()
    }

    /// Returns the share of measurements of three visits whose interval contains the true median.
    /// `noise` makes the difference of a round from the median, as a share of the median.
    fn coverage(mut noise: impl FnMut() -> f64) -> f64 {
        const MEASUREMENTS: usize = 2_000;
        const MEDIAN_NS: f64 = 1e6;
        let holds = |_: &usize| {
            let mut pace = Pace {
                warm_up: Some(0),
                timed: Timed::Within(ns(240 * MS)),
                earlier: Vec::new(),
                more_visits: true,
                rate: None,
                is_warm: false,
            };
            for visit in 1..=3 {
                pace.more_visits = visit < 3;
                let mut medians = Vec::new();
                conducted_in(&pace, |round, _| {
                    let each_ns = (MEDIAN_NS * (1.0 + noise())) as u64;
                    if round.counts {
                        medians.push(ns(each_ns));
                    }
                    RoundTimes {
                        median: ns(each_ns),
                        ..always(1_000_000, round)
                    }
                });
                pace.earlier.push(medians);
            }
            let (low, high) = interval(&pace.earlier).unwrap();
            (low..=high).contains(&ns(MEDIAN_NS as u64))
        };
        (0..MEASUREMENTS).filter(holds).count() as f64 / MEASUREMENTS as f64
    }

    /// Rounds vary by much less than the width at which a measurement ends, by about as much, and by
    /// much more. The true median is known, because the rounds are made up.
    #[test]
    fn the_interval_holds_the_median_although_narrow_intervals_end_a_measurement() {
        let mut random = fastrand::Rng::with_seed(1);
        for spread in [0.001, 0.003, 0.005, 0.007, 0.01, 0.03] {
            let normal = coverage(|| spread * normal(&mut random));
            assert!(normal >= 0.95, "normal, {spread}: {normal}");
            // A skewed distribution, as of rounds that interrupts made longer, with median 0.
            let skewed = coverage(|| spread * (-random.f64().ln() - std::f64::consts::LN_2));
            assert!(skewed >= 0.95, "skewed, {spread}: {skewed}");
        }
    }

    #[test]
    fn an_operation_longer_than_the_time_is_done_six_times() {
        let slow = |round: Round, _| RoundTimes {
            took: ns(500 * MS * u64::from(round.iterations)),
            median: ns(500 * MS),
        };
        let rounds = conducted(Some(0), Timed::Within(ns(100 * MS)), slow);
        assert_eq!(counted(&rounds), [1; 6]);
    }

    #[test]
    fn rounds_that_become_shorter_and_shorter_end_too() {
        let faster = |round: Round, counted: usize| RoundTimes {
            took: ns(u64::from(round.iterations) >> counted),
            median: ns(1_000_000 >> counted),
        };
        let rounds = conducted(None, Timed::Within(ns(1_000 * MS)), faster);
        assert!(counted(&rounds).len() <= ROUNDS_MAX);
    }

    #[test]
    fn steady_rounds_end_when_two_agree_to_a_thousandth() {
        let counted_of = |warm_up, medians_ns: [u64; 9]| {
            let rounds = conducted(warm_up, Timed::Steady(16), |round, counted| {
                always(medians_ns[counted], round)
            });
            let before = rounds.iter().take_while(|round| !round.counts);
            let before: Vec<_> = before.map(|round| round.iterations).collect();
            (before, counted(&rounds))
        };
        let same = [100_000; 9];
        assert_eq!(counted_of(None, same), (vec![4], vec![16; 2]));
        assert_eq!(counted_of(Some(0), same), (vec![], vec![16; 2]));
        assert_eq!(counted_of(Some(7), same), (vec![7], vec![16; 2]));
        let nearer = [130_000, 110_000, 100_110, 100_010, 1, 1, 1, 1, 1];
        assert_eq!(counted_of(None, nearer).1, vec![16; 4]);
        let never = [10, 20, 10, 20, 10, 20, 10, 20, 10];
        assert_eq!(counted_of(None, never).1, vec![16; 8]);
    }

    #[test]
    fn a_clock_that_stands_still_is_not_waited_for() {
        let steady = Timed::Steady(5);
        for timed in [Timed::Exactly(5), Timed::Within(ns(100 * MS)), steady] {
            let rounds = conducted(None, timed, |_, _| RoundTimes::default());
            assert!(rounds.len() <= 20, "{rounds:?}");
            let iterations: u64 = rounds.iter().map(|round| u64::from(round.iterations)).sum();
            assert!(iterations <= 100 * u64::from(STANDSTILL_ITERATIONS));
        }
    }

    struct Counter(u32);

    impl<S: CellSpe> Work<S> for Counter {
        type Left = u32;

        fn operate(&mut self, _: &S) -> Result<(), SpeError> {
            self.0 += 1;
            Ok(())
        }

        fn finish(self, _: &S) -> Result<u32, SpeError> {
            Ok(self.0)
        }
    }

    #[test]
    fn no_spe_starts_before_all_have_their_words() {
        let host = Host::builder().spes(5).build().unwrap();
        let block = ControlBlock::default();
        let region = control_blocks(&host, ModuleId::new(0), [block].into_iter()).unwrap();
        let (starts, results) = host
            .run(|ppe| {
                let program = |spe| {
                    let block = region.at(0);
                    ppe.spawn(spe, move |spe| work(spe, block, |_, _| Ok(Counter(0))))
                };
                let programs = host.topology().spes().map(program).collect();
                let mut crew = Crew::gather(ppe, programs);
                let starts = [100, 200].map(|iterations| {
                    let start = ppe.now() + start_delay(5);
                    let counts = true;
                    crew.round(Round { iterations, counts }).unwrap();
                    start
                });
                (starts, crew.dismiss().unwrap())
            })
            .unwrap();
        for (rounds, operations) in results {
            assert_eq!((rounds.len(), operations), (2, 300));
            for (round, start) in rounds.iter().zip(starts) {
                assert!(round.start >= start, "{round:?} before {start:?}");
            }
        }
    }

    #[test]
    fn waiting_ends_at_the_time_or_when_the_clock_stands_still() {
        let clock = std::cell::Cell::new(5);
        let yields = std::cell::Cell::new(0);
        let at = Time::from_femtoseconds;
        let wait = |until, step| {
            yields.set(0);
            let tick = |_| {
                yields.set(yields.get() + 1);
                clock.set(clock.get() + step);
            };
            wait_until(at(until), || at(clock.get()), tick);
            (clock.get(), yields.get())
        };
        assert_eq!(wait(4, 1), (5, 0), "it is past");
        assert_eq!(wait(8, 2), (9, 2));
        assert_eq!(wait(20, 0), (9, STANDSTILL_READINGS));
    }

    #[test]
    fn spans_travel_by_mailbox_to_the_femtosecond_and_stop_at_five_hours() {
        for fs in [0, 1, 0xFFFF_FFFF, 0x1_0000_0000, u128::from(u64::MAX)] {
            let span = Span::from_femtoseconds(fs);
            assert_eq!(span_of(words(span)), span);
        }
        let day = Span::from_femtoseconds(86_400 * 1_000_000_000_000_000);
        assert_eq!(words(day), [u32::MAX; 2]);
    }
}
