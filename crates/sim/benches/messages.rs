//! Messages a second of real time: 16 actors in 8 pairs, each pair with one message that goes back and forth,
//! beside other simulators and beside the least that any of them could do.
//!
//! All are measured in turn, again and again, in one process, so that ratios hold on a noisy machine. Prints a
//! Markdown table: millions of messages a second as median (minimum-maximum) over the repetitions, and the
//! median over the repetitions of the ratio to the bare heap in the same repetition.
//!
//! In all of them a message takes some simulated time, and what comes in is what sends the next one. The heap is
//! the floor: events without anything to run. Ours is the whole simulator: SPE programs on stacks of their own,
//! mailboxes that may be full, costs of the channels, conditions, and a crossbar on which messages wait for nobody.
//! Run it with `cargo bench -p cellworks-sim --bench messages`.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use cellworks_machine::{Machine, Spe, SpeId};
use cellworks_sim::{Certainty, Crossbar, Description, Interconnect, Quantity, Sim, SimSpe};
use cellworks_threads as threads;

const REPETITIONS: usize = 11;
const PAIRS: usize = 8;
const ACTORS: usize = 2 * PAIRS;
/// Messages in one measurement.
const MESSAGES: usize = 3_200_000;
/// The same for simulators that take a microsecond for one.
const SLOW_MESSAGES: usize = 320_000;
/// How long a message takes where that can be chosen, in nanoseconds.
const LATENCY_NS: u64 = 100;

/// Returns how long so many messages took.
type Measure = fn(usize) -> Duration;

fn main() {
    let systems: [(&str, Measure, usize); 5] = [
        ("bare binary heap", bare_heap, MESSAGES),
        ("heap and stackful threads", heap_and_threads, MESSAGES),
        ("**cellworks-sim**", ours, MESSAGES),
        ("odem-rs 0.4", odem, SLOW_MESSAGES),
        ("nexosim 1.0, 1 thread", nexosim, SLOW_MESSAGES),
    ];
    let mut rounds = Vec::new();
    for round in 0..=REPETITIONS {
        let rates: Vec<f64> = systems
            .iter()
            .map(|(_, measure, messages)| *messages as f64 / measure(*messages).as_secs_f64())
            .collect();
        // The first round warms up.
        if round > 0 {
            rounds.push(rates);
        }
    }
    println!("\n{ACTORS} actors in {PAIRS} pairs, {REPETITIONS} repetitions:\n");
    println!("| system | million messages a second | ratio |\n|---|---|---|");
    for (system, (name, ..)) in systems.iter().enumerate() {
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

/// Events as (time, order, receiver).
type Heap = BinaryHeap<Reverse<(u64, u64, usize)>>;

/// The first message of each pair, a little apart.
fn first_messages() -> Heap {
    (0..PAIRS)
        .map(|pair| Reverse((pair as u64, pair as u64, 2 * pair)))
        .collect()
}

fn bare_heap(messages: usize) -> Duration {
    let mut heap = first_messages();
    let mut received = [0_u64; ACTORS];
    let start = Instant::now();
    for order in 0..messages {
        let Reverse((time, _, to)) = heap.pop().expect("each pair has a message");
        received[to] += 1;
        heap.push(Reverse((time + LATENCY_NS, (PAIRS + order) as u64, to ^ 1)));
    }
    let time = start.elapsed();
    black_box(received);
    time
}

/// The event loop of `heap_and_threads`: runs when no thread is ready.
struct HeapLoop {
    heap: RefCell<Heap>,
    order: Cell<u64>,
    now: Cell<u64>,
    actors: RefCell<Vec<threads::Thread>>,
}

impl HeapLoop {
    fn send(&self, to: usize) {
        let order = self.order.replace(self.order.get() + 1);
        let event = Reverse((self.now.get() + LATENCY_NS, order, to));
        self.heap.borrow_mut().push(event);
    }
}

impl threads::Idle for HeapLoop {
    fn idle(&self) -> threads::Verdict {
        let Some(Reverse((time, _, to))) = self.heap.borrow_mut().pop() else {
            return threads::Verdict::Stuck;
        };
        self.now.set(time);
        self.actors.borrow()[to].unpark();
        threads::Verdict::Continue
    }
}

fn heap_and_threads(messages: usize) -> Duration {
    let events = HeapLoop {
        heap: RefCell::default(),
        order: Cell::new(PAIRS as u64),
        now: Cell::new(0),
        actors: RefCell::default(),
    };
    let rounds = messages / ACTORS;
    let start = Cell::new(Instant::now());
    let config = threads::Config::default();
    let outcome = threads::run(&config, &events, || {
        threads::scope(|scope| {
            for actor in 0..ACTORS {
                let events = &events;
                scope.spawn(move || {
                    events.actors.borrow_mut().push(threads::current());
                    for _ in 0..rounds {
                        threads::park(&"a message");
                        events.send(actor ^ 1);
                    }
                });
            }
            threads::yield_now();
            *events.heap.borrow_mut() = first_messages();
            start.set(Instant::now());
        });
    });
    outcome.expect("a message is always on its way");
    start.get().elapsed()
}

/// A QS20 whose elements are connected by a crossbar, and whose programs start at once.
fn machine() -> Description {
    let quantity = |value| Quantity {
        value,
        source: "chosen for this benchmark".to_owned(),
        sure: Certainty::Stated,
        fitted_to: None,
    };
    let mut description = Description::built_in("qs20").expect("it is built in");
    description.interconnect = Interconnect::Crossbar(Crossbar {
        latency_ps: quantity(LATENCY_NS * 1_000),
        port_bytes_per_s: quantity(25_600_000_000),
    });
    description.ppe.start_program_ps.value = 1;
    description
}

fn ours(messages: usize) -> Duration {
    let sim = Sim::new(machine());
    let rounds = messages / ACTORS;
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
    start.elapsed()
}

fn odem(messages: usize) -> Duration {
    use odem_rs::prelude::*;
    use odem_rs::sync::channel::shared::{Receiver, Sender};
    use odem_rs::sync::channel::{ArrayBuf, channel};

    struct Actor {
        begins: bool,
        send: Sender<u64>,
        receive: Receiver<u64>,
    }

    impl Behavior for Actor {
        type Output = ();

        async fn actions(&self, sim: &odem_rs::prelude::Sim) {
            let mut message = 0;
            if self.begins {
                sim.advance(LATENCY_NS as f64).await;
                self.send.send(message).await.expect("the partner lives");
            }
            while let Ok(received) = self.receive.recv().await {
                message = received + 1;
                // The model of a message is a wait before it is handed over.
                sim.advance(LATENCY_NS as f64).await;
                if self.send.send(message).await.is_err() {
                    return;
                }
            }
        }
    }

    let until = (messages / PAIRS) as f64 * LATENCY_NS as f64;
    let start = Instant::now();
    simulation(async |sim| {
        for _ in 0..PAIRS {
            let (to_pong, from_ping) = channel(ArrayBuf::<4, u64>::new());
            let (to_ping, from_pong) = channel(ArrayBuf::<4, u64>::new());
            sim.spawn(Actor {
                begins: true,
                send: to_pong,
                receive: from_pong,
            });
            sim.spawn(Actor {
                begins: false,
                send: to_ping,
                receive: from_ping,
            });
        }
        sim.advance(until).await;
    })
    .expect("a message is always on its way");
    start.elapsed()
}

mod delay {
    use std::time::Duration;

    use nexosim::model::{Context, Model, schedulable};
    use nexosim::ports::Output;
    use serde::{Deserialize, Serialize};

    /// Sends what it has received on after a while, until it has seen enough.
    #[derive(Default, Serialize, Deserialize)]
    pub struct Delay {
        pub output: Output<u64>,
        pub left: u64,
    }

    #[Model]
    impl Delay {
        pub fn input(&mut self, message: u64, context: &Context<Self>) {
            if self.left > 0 {
                self.left -= 1;
                let latency = Duration::from_nanos(super::LATENCY_NS);
                context
                    .schedule_event(latency, schedulable!(Self::send), message + 1)
                    .expect("the latency is not 0");
            }
        }

        #[nexosim(schedulable)]
        async fn send(&mut self, message: u64) {
            self.output.send(message).await;
        }
    }
}

fn nexosim(messages: usize) -> Duration {
    use delay::Delay;
    use nexosim::ports::EventSource;
    use nexosim::simulation::{Mailbox, SimInit};
    use nexosim::time::MonotonicTime;

    let mut bench = SimInit::with_num_threads(1);
    let mut first = Vec::new();
    for pair in 0..PAIRS {
        let mailboxes = [Mailbox::new(), Mailbox::new()];
        let mut actors = [(); 2].map(|()| Delay {
            left: (messages / ACTORS) as u64,
            ..Delay::default()
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
