#!/bin/sh
# Finding: in a task of tokio, a channel of tokio with 1000 items looks empty after 128 of them, so
# that a choice with priorities takes the lower one.
#
# Version    tokio 1.54.1, tokio-stream 0.1.18, futures 0.3.34, flume 0.12.0
# Guess      recv().now_or_never() gives an item as long as there is one, ready_chunks(1000) all
#            1000 items at once, and select_biased! takes the second channel when the first one is
#            empty.
# Behaviour  A task has 128 units between two returns to the runtime, and each item takes one. After
#            that recv is pending, whatever is in the channel, and so is every other channel of
#            tokio, as the units belong to the task. now_or_never says None, the chunk ends, and
#            select_biased! of the crate futures goes on to a channel of flume, which knows no
#            units. tokio's own select! with "biased" does not: it leaves the task first. try_recv
#            and recv_many are not stopped, nor is tokio's channel under another executor.
#            tokio::task::unconstrained switches the units off.
# Source     the documentation of tokio 1, module task::coop
# Seen       received of 1000 items:
#              recv().now_or_never() until None      128
#              the same by the executor of futures  1000
#              the same with unconstrained          1000
#              try_recv until an error              1000
#              recv_many(1000), once                1000
#              ready_chunks(1000), once              128
#              flume, the same as in the first line 1000
#            after the 128, from a second channel of tokio with one item: None
#            items before the one of the channel with lower priority:
#              select_biased! of futures             128
#              select! of tokio, biased             1000
#
# Exit code  0 if the lines are as in Seen, else 1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir src
cat > Cargo.toml <<'END'
[package]
name = "looks-empty"
version = "0.0.0"
edition = "2021"

[dependencies]
flume = "=0.12.0"
futures = "=0.3.34"
tokio = { version = "=1.54.1", features = ["macros", "rt", "sync"] }
tokio-stream = "=0.1.18"
END
cat > src/main.rs <<'END'
use futures::{FutureExt, StreamExt};
use std::future::Future;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

const ITEMS: usize = 1000;

/// Runs what is given as a task of tokio.
fn in_task<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

/// A channel of tokio that has as many items. It stays open, as its sender does.
fn tokios(items: usize) -> (mpsc::Sender<usize>, mpsc::Receiver<usize>) {
    let (sender, receiver) = mpsc::channel(items);
    (0..items).for_each(|item| sender.try_send(item).unwrap());
    (sender, receiver)
}

/// The same of flume.
fn flumes(items: usize) -> (flume::Sender<usize>, flume::Receiver<usize>) {
    let (sender, receiver) = flume::bounded(items);
    (0..items).for_each(|item| sender.try_send(item).unwrap());
    (sender, receiver)
}

/// Receives until a channel of tokio looks empty, and then from a second one that has one item.
async fn drain() -> (usize, Option<usize>) {
    let ((_open, mut receiver), (_also, mut second)) = (tokios(ITEMS), tokios(1));
    let mut count = 0;
    while let Some(Some(_)) = receiver.recv().now_or_never() {
        count += 1;
    }
    (count, second.recv().now_or_never().flatten())
}

fn show(what: &str, count: usize) {
    println!("  {what:36} {count:4}");
}

fn main() {
    println!("received of {ITEMS} items:");
    let (count, second) = in_task(drain());
    show("recv().now_or_never() until None", count);
    show("the same by the executor of futures", futures::executor::block_on(drain()).0);
    show("the same with unconstrained", in_task(tokio::task::unconstrained(drain())).0);
    show("try_recv until an error", in_task(async {
        let (_open, mut receiver) = tokios(ITEMS);
        std::iter::from_fn(|| receiver.try_recv().ok()).count()
    }));
    show("recv_many(1000), once", in_task(async {
        let (_open, mut receiver) = tokios(ITEMS);
        receiver.recv_many(&mut Vec::new(), ITEMS).await
    }));
    show("ready_chunks(1000), once", in_task(async {
        let (_open, receiver) = tokios(ITEMS);
        ReceiverStream::new(receiver).ready_chunks(ITEMS).next().await.unwrap().len()
    }));
    show("flume, the same as in the first line", in_task(async {
        let (_open, receiver) = flumes(ITEMS);
        std::iter::from_fn(|| receiver.recv_async().now_or_never()?.ok()).count()
    }));
    println!("after the 128, from a second channel of tokio with one item: {second:?}");

    println!("items before the one of the channel with lower priority:");
    show("select_biased! of futures", in_task(async {
        let ((_open, mut high), (_also, low)) = (tokios(ITEMS), flumes(1));
        let mut before = 0;
        loop {
            futures::select_biased! {
                _ = high.recv().fuse() => before += 1,
                _ = low.recv_async().fuse() => break before,
            }
        }
    }));
    show("select! of tokio, biased", in_task(async {
        let ((_open, mut high), (_also, low)) = (tokios(ITEMS), flumes(1));
        let mut before = 0;
        loop {
            tokio::select! {
                biased;
                _ = high.recv() => before += 1,
                _ = low.recv_async() => break before,
            }
        }
    }));
}
END
rustc --version
cargo run --quiet > lines
cat lines
cat > expected <<'END'
received of 1000 items:
  recv().now_or_never() until None      128
  the same by the executor of futures  1000
  the same with unconstrained          1000
  try_recv until an error              1000
  recv_many(1000), once                1000
  ready_chunks(1000), once              128
  flume, the same as in the first line 1000
after the 128, from a second channel of tokio with one item: None
items before the one of the channel with lower priority:
  select_biased! of futures             128
  select! of tokio, biased             1000
END
cmp lines expected
