//! Messages a second of real time in our simulator and in others: 16 actors in 8 pairs, each pair
//! with one message that goes back and forth. A bare heap of events shows the least time that any
//! simulator can take.
//!
//! All systems take turns in every repetition, in one process, so that ratios hold on a noisy
//! machine. Prints a Markdown table: millions of messages a second as median (minimum-maximum) over
//! the repetitions, and the median of the ratio to the bare heap in the same repetition.
//!
//! In every system a message takes some simulated time, and a message that arrives makes its
//! receiver send the next one. The heap has events that run nothing. Ours is the whole simulator:
//! SPE programs on stacks of their own, mailboxes that may be full, costs of the channels,
//! conditions of waiting programs, and the model of the interconnect. There are three tables:
//!
//! - *one latency*: a crossbar on which messages never wait for each other. A message is one event,
//!   and events are created in the order of their times, so that our simulator needs no heap;
//! - *different latencies*: a message is one event, and events are created in a different order;
//! - *QS20*: the model of a dual Cell blade, with its command bus and its rings. A message is
//!   several events. The table states their average number, which the other systems use.
//!
//! Run it with `cargo bench -p cellworks-benches --bench messages`.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use cellworks_machine::{CellSpe, Machine, SpeId};
use cellworks_sim::{
    Certainty, Crossbar, Description, Interconnect, Matrix, Quantity, Sim, SimSpe,
};
use cellworks_threads as threads;

const REPETITIONS: usize = 11;
const PAIRS: usize = 8;
const ACTORS: usize = 2 * PAIRS;
/// The number of messages in one measurement, the same for every system.
const MESSAGES: usize = 3_200_000;
/// The number of messages in one measurement where a message is several events.
const MESSAGES_OF_A_BLADE: usize = 800_000;
/// The latency of a message in nanoseconds, where it can be chosen.
const LATENCY_NS: u64 = 100;

/// The work of every system.
#[derive(Clone)]
struct Work {
    messages: usize,
    /// The number of events of a message.
    events: usize,
    /// The latency of a message in nanoseconds, for each sending actor.
    latencies_ns: [u64; ACTORS],
}

impl Work {
    /// The number of messages that each actor receives.
    fn rounds(&self) -> usize {
        self.messages / ACTORS
    }

    /// The time from one event of a message to its next event, for the sending actor `from`.
    fn step_ns(&self, from: usize) -> u64 {
        self.latencies_ns[from] / self.events as u64
    }
}

/// A function that does the work and returns the time that it took.
type Measure<'a> = &'a dyn Fn(&Work) -> Duration;

fn main() {
    let mut work = Work {
        messages: MESSAGES,
        events: 1,
        latencies_ns: [LATENCY_NS; ACTORS],
    };
    let crossbar = Interconnect::Crossbar(Crossbar {
        latency_ps: quantity(LATENCY_NS * 1_000),
        port_bytes_per_s: quantity(PORT_BYTES_PER_S),
    });
    compare("one latency", &work, &machine(Some(crossbar)));

    work.latencies_ns = std::array::from_fn(|from| LATENCY_NS + 7 * from as u64);
    let matrix = Interconnect::Matrix(Matrix {
        one_way_ps: work.latencies_ns.map(|ns| vec![ns * 1_000; ACTORS]).into(),
        one_way_source: "chosen for this benchmark".to_owned(),
        to_memory_ps: quantity(LATENCY_NS * 1_000),
        port_bytes_per_s: quantity(PORT_BYTES_PER_S),
    });
    compare("different latencies", &work, &machine(Some(matrix)));

    let blade = machine(None);
    work.messages = MESSAGES_OF_A_BLADE;
    let (_, events) = ours(&blade, &work);
    work.events = (events as f64 / work.messages as f64).round() as usize;
    compare("QS20", &work, &blade);
}

/// Measures all systems in turn, and prints their table.
fn compare(title: &str, work: &Work, machine: &Description) {
    let ours = |work: &Work| ours(machine, work).0;
    let systems: [(&str, Measure<'_>); 5] = [
        ("bare binary heap", &bare_heap),
        ("heap and stackful threads", &heap_and_threads),
        ("**cellworks-sim**", &ours),
        ("odem-rs 0.4", &odem),
        ("nexosim 1.0, 1 thread", &nexosim),
    ];
    let mut rounds = Vec::new();
    for round in 0..=REPETITIONS {
        let rates: Vec<f64> = systems
            .iter()
            .map(|(_, measure)| work.messages as f64 / measure(work).as_secs_f64())
            .collect();
        // The first round warms up.
        if round > 0 {
            rounds.push(rates);
        }
    }
    println!(
        "\n{title}: {ACTORS} actors in {PAIRS} pairs, events a message: {}, {REPETITIONS} repetitions:\n",
        work.events
    );
    println!("| system | million messages a second | ratio |\n|---|---|---|");
    for (system, (name, _)) in systems.iter().enumerate() {
        let rates = sorted(rounds.iter().map(|rates| rates[system] / 1e6));
        let ratios = sorted(rounds.iter().map(|rates| rates[system] / rates[0]));
        let middle = REPETITIONS / 2;
        println!(
            "| {name} | {:.2} ({:.2}-{:.2}) | {:.3} |",
            rates[middle],
            rates[0],
            rates[REPETITIONS - 1],
            ratios[middle]
        );
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Events as tuples: time, order, and the actor that sent the message.
type Heap = BinaryHeap<Reverse<(u64, u64, usize)>>;

/// The messages under way, ordered by the times of their next events.
struct Messages<'a> {
    work: &'a Work,
    heap: Heap,
    order: u64,
    now: u64,
    /// The number of events that are left of the message of each actor.
    left: [usize; ACTORS],
}

impl<'a> Messages<'a> {
    /// The first actor of each pair sends a message. The pairs start at slightly different times.
    fn new(work: &'a Work) -> Self {
        let mut messages = Self {
            work,
            heap: Heap::new(),
            order: 0,
            now: 0,
            left: [0; ACTORS],
        };
        for pair in 0..PAIRS {
            messages.now = pair as u64;
            messages.send(2 * pair);
        }
        messages
    }

    fn send(&mut self, from: usize) {
        self.left[from] = self.work.events;
        self.push(from);
    }

    fn push(&mut self, from: usize) {
        let at = self.now + self.work.step_ns(from);
        self.heap.push(Reverse((at, self.order, from)));
        self.order += 1;
    }

    /// Runs events until a message arrives, and returns the actor that receives the message.
    fn receive(&mut self) -> Option<usize> {
        loop {
            let Reverse((time, _, from)) = self.heap.pop()?;
            self.now = time;
            self.left[from] -= 1;
            if self.left[from] == 0 {
                return Some(from ^ 1);
            }
            self.push(from);
        }
    }
}

fn bare_heap(work: &Work) -> Duration {
    let mut messages = Messages::new(work);
    let mut received = [0_u64; ACTORS];
    let start = Instant::now();
    for _ in 0..work.messages {
        let to = messages.receive().expect("each pair has a message");
        received[to] += 1;
        messages.send(to);
    }
    let time = start.elapsed();
    black_box(received);
    time
}

/// The event loop of `heap_and_threads`. It runs when no thread is ready.
struct HeapLoop<'a> {
    messages: RefCell<Messages<'a>>,
    actors: RefCell<Vec<threads::Thread>>,
}

impl threads::Idle for HeapLoop<'_> {
    fn idle(&self) -> threads::Verdict {
        let Some(to) = self.messages.borrow_mut().receive() else {
            return threads::Verdict::Stuck;
        };
        self.actors.borrow()[to].unpark();
        threads::Verdict::Continue
    }
}

fn heap_and_threads(work: &Work) -> Duration {
    let events = HeapLoop {
        messages: RefCell::new(Messages::new(work)),
        actors: RefCell::default(),
    };
    let start = Cell::new(Instant::now());
    let config = threads::Config::default();
    let outcome = threads::run(&config, &events, || {
        threads::scope(|scope| {
            for actor in 0..ACTORS {
                let events = &events;
                scope.spawn(move || {
                    events.actors.borrow_mut().push(threads::current());
                    for _ in 0..work.rounds() {
                        threads::park(&"a message");
                        events.messages.borrow_mut().send(actor);
                    }
                });
            }
            threads::yield_now();
            start.set(Instant::now());
        });
    });
    outcome.expect("a message is always on its way");
    start.get().elapsed()
}

const PORT_BYTES_PER_S: u64 = 25_600_000_000;

fn quantity(value: u64) -> Quantity {
    Quantity {
        value,
        source: "chosen for this benchmark".to_owned(),
        sure: Certainty::Stated,
        fitted_to: None,
    }
}

/// A QS20 that starts programs at once. If an interconnect is given, it replaces that of the QS20.
fn machine(interconnect: Option<Interconnect>) -> Description {
    let mut description = Description::built_in("qs20").expect("it is built in");
    description.ppe.start_program_ps.value = 1;
    if let Some(interconnect) = interconnect {
        description.interconnect = interconnect;
    }
    description
}

/// Returns the time and the number of events.
fn ours(machine: &Description, work: &Work) -> (Duration, u64) {
    let sim = Sim::new(machine.clone()).unwrap();
    let rounds = work.rounds();
    let start = Instant::now();
    let outcome = sim.run(|ppe| {
        for pair in 0..PAIRS as u16 {
            let [ping, pong] = [SpeId::new(2 * pair), SpeId::new(2 * pair + 1)];
            drop(ppe.spawn(ping, move |spe: &SimSpe| {
                for round in 0..rounds as u32 {
                    spe.write_in_mbox_of(pong, round);
                    black_box(spe.read_in_mbox());
                }
            }));
            drop(ppe.spawn(pong, move |spe: &SimSpe| {
                for _ in 0..rounds {
                    let round = spe.read_in_mbox();
                    spe.write_in_mbox_of(ping, round);
                }
            }));
        }
    });
    outcome.expect("a message is always on its way");
    let time = start.elapsed();
    (time, sim.counters().expect("it has run").events)
}

fn odem(work: &Work) -> Duration {
    use odem_rs::prelude::*;
    use odem_rs::sync::channel::shared::{Receiver, Sender};
    use odem_rs::sync::channel::{ArrayBuf, channel};

    struct Actor {
        begins: bool,
        rounds: usize,
        /// The waits that model the latency of a message.
        waits: usize,
        wait_ns: f64,
        send: Sender<u64>,
        receive: Receiver<u64>,
    }

    impl Actor {
        /// Sends a message. If the partner has ended, the message is dropped.
        async fn send(&self, sim: &odem_rs::prelude::Sim, message: u64) {
            for _ in 0..self.waits {
                sim.advance(self.wait_ns).await;
            }
            let _ = self.send.send(message).await;
        }
    }

    impl Behavior for Actor {
        type Output = ();

        async fn actions(&self, sim: &odem_rs::prelude::Sim) {
            if self.begins {
                self.send(sim, 0).await;
            }
            for _ in 0..self.rounds {
                let message = self.receive.recv().await.expect("the partner goes on");
                self.send(sim, message + 1).await;
            }
        }
    }

    // A time after the end of every pair.
    let until: u64 = work.latencies_ns.iter().sum::<u64>() * (work.rounds() as u64 + 1);
    let start = Instant::now();
    simulation(async |sim| {
        for pair in 0..PAIRS {
            let (to_pong, from_ping) = channel(ArrayBuf::<4, u64>::new());
            let (to_ping, from_pong) = channel(ArrayBuf::<4, u64>::new());
            let actor = |from: usize, send, receive| Actor {
                begins: from.is_multiple_of(2),
                rounds: work.rounds(),
                waits: work.events,
                wait_ns: work.step_ns(from) as f64,
                send,
                receive,
            };
            sim.spawn(actor(2 * pair, to_pong, from_pong));
            sim.spawn(actor(2 * pair + 1, to_ping, from_ping));
        }
        sim.advance(until as f64).await;
    })
    .expect("a message is always on its way");
    start.elapsed()
}

mod delay {
    use std::time::Duration;

    use nexosim::model::{Context, Model, schedulable};
    use nexosim::ports::Output;
    use serde::{Deserialize, Serialize};

    /// Sends each received message on after some waits, for a number of messages.
    #[derive(Default, Serialize, Deserialize)]
    pub struct Delay {
        pub output: Output<u64>,
        pub left: usize,
        pub waits: usize,
        pub wait: Duration,
    }

    #[Model]
    impl Delay {
        pub async fn input(&mut self, message: u64, context: &Context<Self>) {
            if self.left > 0 {
                self.left -= 1;
                self.go_on((message + 1, self.waits), context).await;
            }
        }

        /// Does the next step of a message for which `waits` waits are left.
        #[nexosim(schedulable)]
        async fn go_on(&mut self, (message, waits): (u64, usize), context: &Context<Self>) {
            if waits == 0 {
                self.output.send(message).await;
                return;
            }
            let next = schedulable!(Self::go_on);
            context
                .schedule_event(self.wait, next, (message, waits - 1))
                .expect("the wait is not 0");
        }
    }
}

fn nexosim(work: &Work) -> Duration {
    use delay::Delay;
    use nexosim::ports::{EventSource, Output};
    use nexosim::simulation::{Mailbox, SimInit};
    use nexosim::time::MonotonicTime;

    let mut bench = SimInit::with_num_threads(1);
    let mut first = Vec::new();
    for pair in 0..PAIRS {
        let mailboxes = [Mailbox::new(), Mailbox::new()];
        let mut actors = [2 * pair, 2 * pair + 1].map(|actor| Delay {
            output: Output::default(),
            left: work.rounds(),
            waits: work.events,
            wait: Duration::from_nanos(work.step_ns(actor)),
        });
        for actor in 0..2 {
            let to = &mailboxes[1 - actor];
            actors[actor].output.connect(Delay::input, to);
        }
        let source = EventSource::new().connect(Delay::input, &mailboxes[0]);
        first.push(source.register(&mut bench));
        for (actor, (model, mailbox)) in actors.into_iter().zip(mailboxes).enumerate() {
            bench = bench.add_model(model, mailbox, &format!("actor {}", 2 * pair + actor));
        }
    }
    let mut simulation = bench
        .init(MonotonicTime::EPOCH)
        .expect("the models are connected");
    let start = Instant::now();
    for source in &first {
        simulation
            .process_event(source, 0)
            .expect("the actor takes it");
    }
    simulation.run().expect("the simulation ends");
    start.elapsed()
}
