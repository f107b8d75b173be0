#!/bin/sh
# Finding: chili's join runs two long functions one after the other, while its second thread sleeps.
#
# Version    chili 0.2.1, rayon 1.12.0, pools of two threads, release build
# Guess      join(a, b) is for work in parallel, as in rayon: with two threads, two functions of
#            100 ms take 100 ms.
# Behaviour  They take 200 ms, each time, on the thread that called join. A thread gives work away
#            only inside a further join, after a heartbeat (every 0.1 ms), and only what an outer
#            join has left waiting. A join of two functions that contain no join therefore never
#            runs in parallel; the same work in 32 parts, by nested joins, does. A program that
#            is divided into two parts for two threads gains nothing.
# Seen       rayon, 2 parts of 100 ms: 100 ms
#            chili, 2 parts of 100 ms: 200 ms, both on the calling thread
#            chili, 32 parts of 6.25 ms: 127 ms
#
# Exit code  0 if chili's two parts run on one thread, and take more than 1.5 times as long as
#            rayon's and more than 1.2 times as long as chili's 32 parts, else 1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir src
cat > Cargo.toml <<'END'
[package]
name = "join-of-two"
version = "0.0.0"
edition = "2021"

[dependencies]
chili = "=0.2.1"
rayon = "=1.12.0"
END
cat > src/main.rs <<'END'
use chili::{Config, Scope, ThreadPool};
use std::num::NonZero;
use std::thread::{current, sleep, ThreadId};
use std::time::{Duration, Instant};

const ALL: Duration = Duration::from_millis(200);

/// The threads of the first and the last part.
type Threads = (ThreadId, ThreadId);

fn part(of: u32) -> Threads {
    sleep(ALL / of);
    (current().id(), current().id())
}

fn halves(scope: &mut Scope<'_>, parts: u32, of: u32) -> Threads {
    if parts == 1 {
        return part(of);
    }
    let half = |s: &mut Scope<'_>| halves(s, parts / 2, of);
    let (first, last) = scope.join(half, half);
    (first.0, last.1)
}

/// The shortest of five runs, in ms, and whether the calling thread ran the first and the last part
/// in each of them.
fn shortest(mut run: impl FnMut() -> Threads) -> (f64, bool) {
    let (mut time, mut alone) = (f64::MAX, true);
    for _ in 0..5 {
        let begin = Instant::now();
        let threads = run();
        time = time.min(begin.elapsed().as_secs_f64() * 1e3);
        alone &= threads == (current().id(), current().id());
    }
    (time, alone)
}

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let (rayon, _) = pool.install(|| {
        shortest(|| {
            let (first, last) = rayon::join(|| part(2), || part(2));
            (first.0, last.1)
        })
    });
    println!("rayon, 2 parts of 100 ms: {rayon:.0} ms");

    let config = Config { thread_count: NonZero::new(2), ..Config::default() };
    let pool = ThreadPool::with_config(config);
    let mut scope = pool.scope();
    let (two, alone) = shortest(|| halves(&mut scope, 2, 2));
    let place = if alone { "both on the calling thread" } else { "on two threads" };
    println!("chili, 2 parts of 100 ms: {two:.0} ms, {place}");
    let (many, _) = shortest(|| halves(&mut scope, 32, 32));
    println!("chili, 32 parts of 6.25 ms: {many:.0} ms");
    std::process::exit(if alone && two > 1.5 * rayon && two > 1.2 * many { 0 } else { 1 });
}
END
rustc --version
cargo run --release --quiet
