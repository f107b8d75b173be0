#!/bin/sh
# Finding: rayon's position_first takes longer on two threads than a plain loop on one.
#
# Version    rayon 1.12.0, rayon-core as locked by it, two threads, release build
# Guess      Two threads search a slice of a million f32, in which nothing is found, in about half
#            of the time of std's position.
# Behaviour  position_first takes several times the time of std's position. find_any, which may
#            return any match, takes about the time of one thread or less, so it is not the slice
#            that is slow. Before each item, the search for the first match compares positions that
#            are shared by all threads, and the loop over the items is not vectorised.
# Seen       On two CPUs of a Xeon, medians of 21: std 0.54 ms, find_any 0.30 ms,
#            position_first 5.0 ms (9 times std).
#
# Exit code  0 if position_first still takes more than 3 times as long as std's position, else 1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir src
cat > Cargo.toml <<'END'
[package]
name = "first-position"
version = "0.0.0"
edition = "2021"

[dependencies]
rayon = "=1.12.0"
END
cat > src/main.rs <<'END'
use rayon::prelude::*;
use std::hint::black_box;
use std::time::Instant;

fn median(mut search: impl FnMut() -> bool) -> f64 {
    let mut times: Vec<f64> = (0..21)
        .map(|_| {
            let begin = Instant::now();
            assert!(!search());
            begin.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let numbers: Vec<f32> = (0..1_000_000).map(|n| (n % 1_000) as f32).collect();
    let is_negative = |x: &f32| *x < 0.0;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let (mut alone, mut any, mut first) = (0.0, 0.0, 0.0);
    pool.install(|| {
        alone = median(|| black_box(&numbers).iter().position(|x| is_negative(x)).is_some());
        any = median(|| black_box(&numbers).par_iter().find_any(|x| is_negative(x)).is_some());
        first = median(|| black_box(&numbers).par_iter().position_first(is_negative).is_some());
    });
    println!("std position {alone:.2} ms, find_any {any:.2} ms, position_first {first:.2} ms");
    println!("position_first / std position = {:.1}", first / alone);
    std::process::exit(if first > 3.0 * alone { 0 } else { 1 });
}
END
rustc --version
cargo run --release --quiet
