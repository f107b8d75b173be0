#!/bin/sh
# Finding: a sleep of 20 ms in four threads takes 5 ms to Google Benchmark and Go, 20 ms to divan.
#
# Version    libbenchmark 1.7.1-1 (Debian 12), Go's package testing (1.26.8), divan 0.1.21
# Guess      A benchmark in several threads prints how long one iteration takes in a thread: 20 ms
#            for a sleep, whatever the number of threads.
# Behaviour  Google Benchmark (with UseRealTime) and Go (RunParallel) divide the time by the
#            iterations of all threads, under the headings "Time" and "ns/op". The times of one
#            message or lock seem to fall with each thread, and a time that stays the same is one
#            that grows with the threads. divan prints the time of one iteration in its thread.
#            Latencies of the three are compared only after those of the first two are
#            multiplied by the number of threads.
# Seen       ms for threads:   1     2     4
#            Google Benchmark  20.1  10.6  5.1
#            Go                20.3  10.5  5.1
#            divan             20.1  20.1  20.1
#
# Exit code  0 if four threads take less than half of the time of one in Google Benchmark and
#            Go, and more in divan, else 1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() {
    echo "apt-get cannot download the packages: this needs Debian 12 and its lists of packages"
    exit 1
}
apt-get download libbenchmark-dev=1.7.1-1 libbenchmark1debian=1.7.1-1 > log 2>&1 || fail
for package in *.deb; do
    dpkg -x "$package" debian
done
cat > nap.cc <<'END_OF_CC'
#include <benchmark/benchmark.h>

#include <chrono>
#include <thread>

static void nap(benchmark::State &state) {
    for (auto _ : state) std::this_thread::sleep_for(std::chrono::milliseconds(20));
}
BENCHMARK(nap)->ThreadRange(1, 4)->Iterations(10)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK_MAIN();
END_OF_CC
library=$(dirname "$(find "$folder/debian" -name libbenchmark.so.1debian)")
c++ -O2 -I debian/usr/include nap.cc -L "$library" -lbenchmark -pthread -o nap
LD_LIBRARY_PATH=$library ./nap 2> log | awk '/^nap/ { printf "%.1f\n", $2 }' > google

mkdir go
cat > go/go.mod <<'END_OF_MOD'
module nap
go 1.26
END_OF_MOD
cat > go/nap_test.go <<'END_OF_GO'
package nap

import (
	"testing"
	"time"
)

func BenchmarkNap(b *testing.B) {
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			time.Sleep(20 * time.Millisecond)
		}
	})
}
END_OF_GO
export GOTOOLCHAIN=go1.26.8
(cd go && go version && go test -bench . -benchtime 40x -cpu 1,2,4) > log
grep '^go version' log
awk '/^BenchmarkNap/ { printf "%.1f\n", $3 / 1e6 }' log > golang

mkdir -p divan/benches divan/src
echo > divan/src/lib.rs
cat > divan/Cargo.toml <<'END_OF_TOML'
[package]
name = "nap"
version = "0.0.0"
edition = "2021"

[profile.bench]
opt-level = 0

[dev-dependencies]
divan = "=0.1.21"

[[bench]]
name = "nap"
harness = false
END_OF_TOML
cat > divan/benches/nap.rs <<'END_OF_RUST'
#[divan::bench(threads = [1, 2, 4], sample_count = 8, sample_size = 1)]
fn nap() {
    std::thread::sleep(std::time::Duration::from_millis(20));
}

fn main() {
    divan::main();
}
END_OF_RUST
# The median, in the column after the second bar.
(cd divan && cargo bench --quiet --bench nap) > log 2>&1 || { cat log; exit 1; }
awk -F '│' '/t=[124] / { split($3, median, " "); printf "%.1f\n", median[1] }' log > rust

show() { printf '%-16s  %-4s  %-4s  %s\n' "$1" "$2" "$3" "$4"; }
show "ms for threads:" 1 2 4
show "Google Benchmark" $(cat google)
show Go $(cat golang)
show divan $(cat rust)
# Whether four threads take less than half of the time of one.
falls() { awk 'NR == 1 { one = $1 } END { exit !(NR == 3 && $1 < one / 2) }' "$1"; }
stays() { awk 'NR == 1 { one = $1 } END { exit !(NR == 3 && $1 > one / 2) }' "$1"; }
falls google
falls golang
stays rust
