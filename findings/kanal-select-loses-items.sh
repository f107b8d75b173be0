#!/bin/sh
# Finding: a select over two channels of kanal drops items that their sender was told are sent.
#
# Version    kanal 0.1.1, flume 0.12.0, async-channel 2.5.0, tokio 1.54.1
# Guess      Of the branches of tokio's select!, one takes its item, and the items of the others
#            stay in their channels for the next round. A send that has returned Ok is received, or
#            is in the channel, as long as the receiver exists.
# Behaviour  kanal writes an item straight into the future of recv that waits, also if the channel
#            has a buffer. If the select then ends by another branch, this future is dropped, and
#            the item with it. Nothing says so: the send was Ok, the channel is open, its buffer is
#            empty. Of two channels that are written at once, the branch that is polled second loses
#            its item in each round. A timeout around recv can lose one, too. The other channels
#            only wake the receiver, and keep the item until it is polled.
# Source     issues 24 and 50 of fereidani/kanal on GitHub
# Seen       kanal, no buffer: 200 sent, 100 received
#            kanal, buffer of 1: 200 sent, 100 received
#            kanal, no limit: 200 sent, 100 received
#            flume, no buffer: 200 sent, 200 received
#            flume, buffer of 1: 200 sent, 200 received
#            async-channel, buffer of 1: 200 sent, 200 received
#            tokio, buffer of 1: 200 sent, 200 received
#
# Exit code  0 if the numbers are as in Seen, else 1.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir src
cat > Cargo.toml <<'END'
[package]
name = "select-loses-items"
version = "0.0.0"
edition = "2021"

[dependencies]
async-channel = "=2.5.0"
flume = "=0.12.0"
kanal = "=0.1.1"
tokio = { version = "=1.54.1", features = ["macros", "rt", "sync"] }
END
cat > src/main.rs <<'END'
use tokio::runtime::Builder;
use tokio::task::yield_now;

const ROUNDS: u32 = 100;

/// One future selects from two channels for as long as there are items. The other one sends, in
/// each round, an item to both channels, and then lets the first one receive all that is there.
macro_rules! select {
    ($name:literal, $channel:expr, $is_sent:pat, $recv:ident, $got:ident) => {
        // Only tokio's receivers are changed by a receive.
        #[allow(unused_mut)]
        let ((to_a, mut a), (to_b, mut b)) = ($channel, $channel);
        let send = async {
            let mut sent = 0;
            for _ in 0..ROUNDS {
                for _ in 0..10 {
                    yield_now().await;
                }
                for sender in [&to_a, &to_b] {
                    sent += matches!(sender.try_send(1), $is_sent) as u32;
                }
            }
            drop((to_a, to_b));
            sent
        };
        let receive = async {
            let mut received = 0;
            loop {
                tokio::select! {
                    $got(item) = a.$recv() => received += item,
                    $got(item) = b.$recv() => received += item,
                    else => break received,
                }
            }
        };
        let runtime = Builder::new_current_thread().build().unwrap();
        let (sent, received) = runtime.block_on(async { tokio::join!(send, receive) });
        println!("{}: {sent} sent, {received} received", $name);
    };
}

fn main() {
    // The first two of kanal say Ok(false) if there is neither a place nor a receiver that waits.
    select!("kanal, no buffer", kanal::bounded_async(0), Ok(true), recv, Ok);
    select!("kanal, buffer of 1", kanal::bounded_async(1), Ok(true), recv, Ok);
    select!("kanal, no limit", kanal::unbounded_async(), Ok(true), recv, Ok);
    select!("flume, no buffer", flume::bounded(0), Ok(()), recv_async, Ok);
    select!("flume, buffer of 1", flume::bounded(1), Ok(()), recv_async, Ok);
    select!("async-channel, buffer of 1", async_channel::bounded(1), Ok(()), recv, Ok);
    select!("tokio, buffer of 1", tokio::sync::mpsc::channel(1), Ok(()), recv, Some);
}
END
rustc --version
cargo run --quiet > lines
cat lines
cat > expected <<'END'
kanal, no buffer: 200 sent, 100 received
kanal, buffer of 1: 200 sent, 100 received
kanal, no limit: 200 sent, 100 received
flume, no buffer: 200 sent, 200 received
flume, buffer of 1: 200 sent, 200 received
async-channel, buffer of 1: 200 sent, 200 received
tokio, buffer of 1: 200 sent, 200 received
END
cmp lines expected
