//! Measures how long the search for placements takes to reach the best known cost of an instance of
//! QAPLIB. For comparison, it runs a plain implementation of the robust tabu search of Taillard
//! (Robust taboo search for the quadratic assignment problem, Parallel Computing 17, 1991).
//!
//! Both searches begin with the same seeds and stop after 5 s. Prints a Markdown table:
//! milliseconds as median (minimum-maximum) over the seeds, and the number of runs that did not
//! reach the cost. Such a run counts as 5 s.
//!
//! Run it with `cargo bench -p cellworks-benches --bench placements`. If words follow `--`, only
//! instances with one of these words in the name are measured.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use cellworks_mapping::{Limit, Place, Problem, Search, read};
use fastrand::Rng;

const INSTANCES: [(&str, i64); 6] = [
    ("nug12", 578),
    ("nug20", 2570),
    ("nug30", 6124),
    ("tai20a", 703_482),
    ("tai30b", 637_117_113),
    ("sko42", 15_812),
];

const SEEDS: u64 = 7;

const LIMIT: Duration = Duration::from_secs(5);

fn main() {
    // Cargo adds the argument `--bench`.
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    println!("| instance | this search, ms | missed | robust tabu search, ms | missed |");
    println!("|---|---|---|---|---|");
    for (name, target) in INSTANCES {
        if words.is_empty() || words.iter().any(|word| name.contains(word)) {
            let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mapping/tests/data");
            let problem = read::qaplib(data.join(format!("{name}.dat"))).expect("an instance");
            let plain = Plain::new(&problem);
            let mut times = [Vec::new(), Vec::new()];
            for seed in 0..SEEDS {
                times[0].push(ours(&problem, target, seed));
                times[1].push(timed(|deadline| plain.search(target, deadline, seed)));
            }
            let [ours, theirs] = times.map(summary);
            println!("| {name} | {ours} | {theirs} |");
        }
    }
}

fn summary(mut times: Vec<Option<Duration>>) -> String {
    times.sort_by_key(|time| time.unwrap_or(LIMIT));
    let milliseconds = |index: usize| times[index].unwrap_or(LIMIT).as_secs_f64() * 1e3;
    let (middle, last) = (times.len() / 2, times.len() - 1);
    let missed = times.iter().filter(|time| time.is_none()).count();
    let [median, first, last] = [middle, 0, last].map(milliseconds);
    format!("{median:.1} ({first:.1}-{last:.1}) | {missed} of {SEEDS}")
}

/// The time that `search` took, if it reached the cost before the deadline.
fn timed(search: impl FnOnce(Instant) -> bool) -> Option<Duration> {
    let start = Instant::now();
    search(start + LIMIT).then(|| start.elapsed())
}

fn ours(problem: &Problem, target: i64, seed: u64) -> Option<Duration> {
    timed(|_| {
        let search = Search::new(Limit::Time(LIMIT)).seed(seed);
        let solution = search.run(problem, |progress| {
            if progress.cost <= target as f64 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        solution.cost <= target as f64
    })
}

/// The matrices of a problem of whole numbers, and Taillard's search as in his paper and his
/// program.
struct Plain {
    n: usize,
    volumes: Vec<Vec<i64>>,
    costs: Vec<Vec<i64>>,
}

impl Plain {
    fn new(problem: &Problem) -> Self {
        let n = problem.volumes().tasks();
        let mut volumes = vec![vec![0; n]; n];
        for (from, to, volume) in problem.volumes().pairs() {
            volumes[from.0][to.0] = volume as i64;
        }
        let row = |from| {
            let cost = |to| problem.costs().between(Place(from), Place(to)) as i64;
            (0..n).map(cost).collect()
        };
        let costs = (0..n).map(row).collect();
        Self { n, volumes, costs }
    }

    /// Whether the cost is reached before the deadline.
    fn search(&self, target: i64, deadline: Instant, seed: u64) -> bool {
        let n = self.n;
        let mut random = Rng::with_seed(seed);
        let mut p: Vec<usize> = (0..n).collect();
        random.shuffle(&mut p);
        let mut cost = 0;
        let mut delta = vec![vec![0; n]; n];
        for i in 0..n {
            for j in 0..n {
                cost += self.volumes[i][j] * self.costs[p[i]][p[j]];
                if i < j {
                    delta[i][j] = self.delta(&p, i, j);
                }
            }
        }
        let mut best = cost;
        let size = n as i64;
        let mut tabu = vec![vec![0; n]; n];
        for (i, row) in tabu.iter_mut().enumerate() {
            for (j, until) in row.iter_mut().enumerate() {
                *until = -(size * i as i64 + j as i64);
            }
        }
        let aspiration = 5 * size * size;
        for now in 1.. {
            if best <= target {
                return true;
            }
            if now % 64 == 0 && Instant::now() >= deadline {
                return false;
            }
            let mut chosen = None;
            let (mut least, mut aspired_before) = (i64::MAX, false);
            for i in 0..n - 1 {
                for j in i + 1..n {
                    let until = [tabu[i][p[j]], tabu[j][p[i]]];
                    let allowed = until.iter().any(|until| *until < now);
                    let aspired = until.iter().all(|until| *until < now - aspiration)
                        || cost + delta[i][j] < best;
                    let better = match (aspired, aspired_before) {
                        (true, false) => true,
                        (true, true) => delta[i][j] < least,
                        (false, true) => false,
                        (false, false) => allowed && delta[i][j] < least,
                    };
                    if better {
                        (least, chosen) = (delta[i][j], Some((i, j)));
                        aspired_before |= aspired;
                    }
                }
            }
            let Some((r, s)) = chosen else { continue };
            p.swap(r, s);
            cost += delta[r][s];
            best = best.min(cost);
            tabu[r][p[s]] = now + random.i64(9 * size / 10..=11 * size / 10);
            tabu[s][p[r]] = now + random.i64(9 * size / 10..=11 * size / 10);
            for (i, row) in delta.iter_mut().enumerate() {
                for (j, delta) in row.iter_mut().enumerate().skip(i + 1) {
                    *delta = if [r, s].contains(&i) || [r, s].contains(&j) {
                        self.delta(&p, i, j)
                    } else {
                        self.delta_after(&p, *delta, (i, j), (r, s))
                    };
                }
            }
        }
        unreachable!("the loop has no end")
    }

    /// The change of the cost if i and j are exchanged.
    fn delta(&self, p: &[usize], i: usize, j: usize) -> i64 {
        let (a, b) = (&self.volumes, &self.costs);
        let mut d = (a[i][i] - a[j][j]) * (b[p[j]][p[j]] - b[p[i]][p[i]])
            + (a[i][j] - a[j][i]) * (b[p[j]][p[i]] - b[p[i]][p[j]]);
        for k in (0..self.n).filter(|k| *k != i && *k != j) {
            d += (a[k][i] - a[k][j]) * (b[p[k]][p[j]] - b[p[k]][p[i]])
                + (a[i][k] - a[j][k]) * (b[p[j]][p[k]] - b[p[i]][p[k]]);
        }
        d
    }

    /// The change of the cost if i and j are exchanged after r and s were. All four are different.
    fn delta_after(
        &self,
        p: &[usize],
        before: i64,
        (i, j): (usize, usize),
        (r, s): (usize, usize),
    ) -> i64 {
        let (a, b) = (&self.volumes, &self.costs);
        before
            + (a[r][i] - a[r][j] + a[s][j] - a[s][i])
                * (b[p[s]][p[i]] - b[p[s]][p[j]] + b[p[r]][p[j]] - b[p[r]][p[i]])
            + (a[i][r] - a[j][r] + a[j][s] - a[i][s])
                * (b[p[i]][p[s]] - b[p[j]][p[s]] + b[p[j]][p[r]] - b[p[i]][p[r]])
    }
}
