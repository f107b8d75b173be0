//! The programs with other channels between tasks of one OS thread. The channels have one slot, the
//! smallest size that most of them have. Each kind of channel is measured with each executor.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::Instant;

use futures::stream::{self, StreamExt};

use super::ns;
use crate::table::{System, system};

/// Channels of tasks.
pub trait Kind: 'static {
    fn channel() -> (impl Send1, impl Receive1);
}

pub trait Send1: 'static {
    /// Returns whether the channel still has a receiver.
    fn send(&self, number: u64) -> impl Future<Output = bool>;
}

pub trait Receive1: 'static {
    /// Returns `None` if the channel has no sender any more.
    fn receive(&mut self) -> impl Future<Output = Option<u64>>;
}

struct AsyncUnsync;

impl Kind for AsyncUnsync {
    fn channel() -> (impl Send1, impl Receive1) {
        async_unsync::bounded::channel(1).into_split()
    }
}

impl Send1 for async_unsync::bounded::Sender<u64> {
    async fn send(&self, number: u64) -> bool {
        self.send(number).await.is_ok()
    }
}

impl Receive1 for async_unsync::bounded::Receiver<u64> {
    async fn receive(&mut self) -> Option<u64> {
        self.recv().await
    }
}

/// The only one of these channels that has rendezvous.
struct Kanal;

impl Kind for Kanal {
    fn channel() -> (impl Send1, impl Receive1) {
        kanal::bounded_async(0)
    }
}

impl Send1 for kanal::AsyncSender<u64> {
    async fn send(&self, number: u64) -> bool {
        self.send(number).await.is_ok()
    }
}

impl Receive1 for kanal::AsyncReceiver<u64> {
    async fn receive(&mut self) -> Option<u64> {
        self.recv().await.ok()
    }
}

struct Tokio;

impl Kind for Tokio {
    fn channel() -> (impl Send1, impl Receive1) {
        tokio::sync::mpsc::channel(1)
    }
}

impl Send1 for tokio::sync::mpsc::Sender<u64> {
    async fn send(&self, number: u64) -> bool {
        self.send(number).await.is_ok()
    }
}

impl Receive1 for tokio::sync::mpsc::Receiver<u64> {
    async fn receive(&mut self) -> Option<u64> {
        self.recv().await
    }
}

/// An executor that runs tasks on the calling thread.
pub trait Executor: Default {
    fn spawn(&self, task: impl Future<Output = ()> + 'static);

    /// Runs all tasks until they have ended.
    fn run(self);
}

#[derive(Default)]
struct LocalSet(tokio::task::LocalSet);

impl Executor for LocalSet {
    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.0.spawn_local(task);
    }

    fn run(self) {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.expect("a runtime without I/O can be made");
        runtime.block_on(self.0);
    }
}

#[derive(Default)]
struct Compio(compio_executor::Executor);

impl Executor for Compio {
    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.0.spawn(task).detach();
    }

    fn run(self) {
        while self.0.tick() {}
    }
}

/// An executor without queue and wake-ups: all tasks are polled in turn, ready or not.
#[derive(Default)]
struct InTurn(RefCell<Vec<Pin<Box<dyn Future<Output = ()>>>>>);

impl Executor for InTurn {
    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.0.borrow_mut().push(Box::pin(task));
    }

    fn run(self) {
        let mut tasks = self.0.into_inner();
        let mut context = Context::from_waker(Waker::noop());
        while !tasks.is_empty() {
            tasks.retain_mut(|task| task.as_mut().poll(&mut context).is_pending());
        }
    }
}

/// A program that can be run by any executor with channels of any kind.
pub trait Program: Copy + 'static {
    /// Spawns all tasks except the last, and returns the last one. The last task measures, and
    /// returns nanoseconds for each message.
    fn spawn<K: Kind>(self, executor: &impl Executor) -> impl Future<Output = f64> + 'static;
}

fn run<E: Executor, K: Kind>(program: impl Program) -> f64 {
    let executor = E::default();
    let result = Rc::new(Cell::new(f64::NAN));
    let last = program.spawn::<K>(&executor);
    let set = result.clone();
    executor.spawn(async move { set.set(last.await) });
    executor.run();
    assert!(!result.get().is_nan(), "the tasks wait for ever");
    result.get()
}

/// A program with each kind of channel, on each executor.
pub fn systems<'a>(program: impl Program) -> Vec<System<'a>> {
    fn of<'a, K: Kind>(channels: &str, program: impl Program) -> [System<'a>; 3] {
        [
            system(
                format!("{channels}, tasks of tokio's `LocalSet`"),
                move || run::<LocalSet, K>(program),
            ),
            system(format!("{channels}, tasks of compio-executor"), move || {
                run::<Compio, K>(program)
            }),
            system(format!("{channels}, futures polled in turn"), move || {
                run::<InTurn, K>(program)
            }),
        ]
    }
    let kinds = [
        of::<AsyncUnsync>("async-unsync (1 slot)", program),
        of::<Kanal>("kanal async", program),
        of::<Tokio>("tokio mpsc (1 slot)", program),
    ];
    kinds.into_iter().flatten().collect()
}

/// CommsTime, where each process is a task.
#[derive(Clone, Copy)]
pub struct CommsTime {
    pub loops: usize,
}

impl Program for CommsTime {
    fn spawn<K: Kind>(self, executor: &impl Executor) -> impl Future<Output = f64> + 'static {
        let (to_delta, mut at_delta) = K::channel();
        let (to_successor, mut at_successor) = K::channel();
        let (to_prefix, mut at_prefix) = K::channel();
        let (to_consumer, mut at_consumer) = K::channel();
        executor.spawn(async move {
            to_delta.send(0).await;
            while let Some(number) = at_prefix.receive().await {
                to_delta.send(number).await;
            }
        });
        executor.spawn(async move {
            while let Some(number) = at_delta.receive().await {
                if !to_successor.send(number).await || !to_consumer.send(number).await {
                    return;
                }
            }
        });
        executor.spawn(async move {
            while let Some(number) = at_successor.receive().await {
                to_prefix.send(number + 1).await;
            }
        });
        async move {
            let mut take = async |messages: usize| {
                for _ in 0..messages {
                    std::hint::black_box(at_consumer.receive().await);
                }
            };
            take(self.loops / 10).await;
            let start = Instant::now();
            take(self.loops).await;
            ns(start.elapsed(), 4 * self.loops)
        }
    }
}

/// A number goes back and forth between two tasks.
#[derive(Clone, Copy)]
pub struct PingPong {
    pub round_trips: usize,
}

impl Program for PingPong {
    fn spawn<K: Kind>(self, executor: &impl Executor) -> impl Future<Output = f64> + 'static {
        let (forth, mut there) = K::channel();
        let (back, mut here) = K::channel();
        executor.spawn(async move {
            while let Some(number) = there.receive().await {
                back.send(number).await;
            }
        });
        async move {
            let mut ping = async |round_trips: usize| {
                for _ in 0..round_trips {
                    forth.send(1).await;
                    std::hint::black_box(here.receive().await);
                }
            };
            ping(self.round_trips / 10).await;
            let start = Instant::now();
            ping(self.round_trips).await;
            ns(start.elapsed(), 2 * self.round_trips)
        }
    }
}

/// A number of guards. `tokio::select!` needs a branch for each guard.
pub struct Guards<const N: usize>;

pub trait Select: 'static {
    /// Receives from one of the receivers that have a number, chosen at random. The number of
    /// receivers must be the number of guards.
    fn select(receivers: &mut [impl Receive1]) -> impl Future<Output = Option<u64>>;
}

macro_rules! guards {
    ($count:literal: $($receiver:ident)*) => {
        impl Select for Guards<$count> {
            async fn select(receivers: &mut [impl Receive1]) -> Option<u64> {
                let [$($receiver),*] = receivers else {
                    panic!("{} receivers for {} guards", receivers.len(), $count);
                };
                tokio::select! { $(number = $receiver.receive() => number,)* }
            }
        }
    };
}

guards!(2: r0 r1);
guards!(8: r0 r1 r2 r3 r4 r5 r6 r7);
guards!(64:
    r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12 r13 r14 r15 r16 r17 r18 r19 r20 r21 r22 r23 r24 r25 r26
    r27 r28 r29 r30 r31 r32 r33 r34 r35 r36 r37 r38 r39 r40 r41 r42 r43 r44 r45 r46 r47 r48 r49 r50 r51
    r52 r53 r54 r55 r56 r57 r58 r59 r60 r61 r62 r63
);

/// The receivers of `N` channels. Each channel has a task that writes.
fn written<K: Kind, const N: usize>(executor: &impl Executor) -> [impl Receive1; N] {
    std::array::from_fn(|_| {
        let (sender, receiver) = K::channel();
        executor.spawn(async move { while sender.send(1).await {} });
        receiver
    })
}

/// A task alternates over channels with `tokio::select!`.
#[derive(Clone, Copy)]
pub struct Alternation<const N: usize> {
    pub messages: usize,
}

impl<const N: usize> Program for Alternation<N>
where
    Guards<N>: Select,
{
    fn spawn<K: Kind>(self, executor: &impl Executor) -> impl Future<Output = f64> + 'static {
        let mut receivers = written::<K, N>(executor);
        async move {
            let mut take = async |messages: usize| {
                for _ in 0..messages {
                    std::hint::black_box(Guards::<N>::select(&mut receivers).await);
                }
            };
            take(self.messages / 10).await;
            let start = Instant::now();
            take(self.messages).await;
            ns(start.elapsed(), self.messages)
        }
    }
}

/// An alternation with `futures::stream::select_all`, which polls only woken streams.
#[derive(Clone, Copy)]
pub struct StreamAlternation<const N: usize> {
    pub messages: usize,
}

impl<const N: usize> Program for StreamAlternation<N> {
    fn spawn<K: Kind>(self, executor: &impl Executor) -> impl Future<Output = f64> + 'static {
        let streams = written::<K, N>(executor).map(|receiver| {
            Box::pin(stream::unfold(receiver, async |mut receiver| {
                Some((receiver.receive().await?, receiver))
            }))
        });
        let mut all = stream::select_all(streams);
        async move {
            let mut take = async |messages: usize| {
                for _ in 0..messages {
                    std::hint::black_box(all.next().await);
                }
            };
            take(self.messages / 10).await;
            let start = Instant::now();
            take(self.messages).await;
            ns(start.elapsed(), self.messages)
        }
    }
}
