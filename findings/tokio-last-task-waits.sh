#!/bin/sh
# Finding: of the tasks that a task of tokio starts or wakes, the last one waits until it yields,
# also if another thread of the runtime has nothing to do.
#
# Version    tokio 1.54.1, rayon 1.12.0, two threads, release build
# Guess      The runtime with several threads takes work from busy threads. If a task starts another
#            one, or sends to one that waits, and then computes for 200 ms, the idle thread
#            runs the other one at once.
# Behaviour  The other one begins 200 ms later. The task that was made ready last has a slot of its
#            own on the thread, from which no other thread takes it. A second task pushes the first
#            one out of the slot, to where the idle thread finds it: of three, two begin at once
#            and the third waits. A task that is started from block_on, which is not on a thread
#            of the runtime, begins at once, and so does any if the first task yields before it
#            computes. With rayon's spawn it begins at once. A delay that is measured this way is
#            the time of the sender's computation, not that of the runtime.
# Seen       one task starts 1: after 200 ms
#            one task starts 2: after 0, 200 ms
#            one task starts 3: after 0, 0, 200 ms
#            one task starts 1 and yields: after 0 ms
#            block_on starts 1: after 0 ms
#            one task sends to a task that waits: after 200 ms
#            rayon, one task starts 1: after 0 ms
#
# Exit code  0 if those tasks wait for 200 ms or more, and the others for less than 150 ms, else 1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir src
cat > Cargo.toml <<'END'
[package]
name = "last-task-waits"
version = "0.0.0"
edition = "2021"

[dependencies]
rayon = "=1.12.0"
tokio = { version = "=1.54.1", features = ["rt-multi-thread", "sync"] }
END
cat > src/main.rs <<'END'
use std::thread::sleep;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::{yield_now, JoinHandle};

const LONG: Duration = Duration::from_millis(200);

fn compute() {
    sleep(LONG);
}

/// Tasks that return how long after now they have begun.
fn start(count: usize) -> Vec<JoinHandle<Duration>> {
    let now = Instant::now();
    (0..count).map(|_| tokio::spawn(async move { now.elapsed() })).collect()
}

async fn delays(tasks: Vec<JoinHandle<Duration>>) -> Vec<Duration> {
    let mut delays = Vec::new();
    for task in tasks {
        delays.push(task.await.unwrap());
    }
    delays
}

/// Prints the delays, and returns whether the last `late` of them wait and the others do not.
fn show(what: &str, delays: &[Duration], late: usize) -> bool {
    let list: Vec<String> = delays.iter().map(|d| d.as_millis().to_string()).collect();
    println!("{what}: after {} ms", list.join(", "));
    let (soon, last) = delays.split_at(delays.len() - late);
    soon.iter().all(|d| *d < Duration::from_millis(150)) && last.iter().all(|d| *d >= LONG)
}

fn main() {
    let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let mut good = true;
    for count in 1..=3 {
        let first = runtime.spawn(async move {
            let tasks = start(count);
            compute();
            delays(tasks).await
        });
        let seen = runtime.block_on(first).unwrap();
        good &= show(&format!("one task starts {count}"), &seen, 1);
    }

    let first = runtime.spawn(async {
        let tasks = start(1);
        yield_now().await;
        compute();
        delays(tasks).await
    });
    let seen = runtime.block_on(first).unwrap();
    good &= show("one task starts 1 and yields", &seen, 0);

    let seen = runtime.block_on(async {
        let tasks = start(1);
        compute();
        delays(tasks).await
    });
    good &= show("block_on starts 1", &seen, 0);

    let (sender, receiver) = oneshot::channel::<Instant>();
    let waits = runtime.spawn(async { receiver.await.unwrap().elapsed() });
    sleep(Duration::from_millis(100));
    runtime.spawn(async {
        sender.send(Instant::now()).unwrap();
        compute();
    });
    let seen = [runtime.block_on(waits).unwrap()];
    good &= show("one task sends to a task that waits", &seen, 1);

    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    pool.spawn(move || {
        let now = Instant::now();
        rayon::spawn(move || sender.send(now.elapsed()).unwrap());
        compute();
    });
    good &= show("rayon, one task starts 1", &[receiver.recv().unwrap()], 0);
    std::process::exit(if good { 0 } else { 1 });
}
END
rustc --version
cargo run --release --quiet
