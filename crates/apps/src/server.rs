//! A server that waits at the same time for clients, workers, a timer and the signal to stop.
//!
//! ```text
//!   client ─┬─ REQUESTS ──► ┌────────┐ ── TASKS ────┬─► worker
//!   client ─┘               │ server │              └─► worker
//!     ▲ ▲                   │        │ ◄─ RESULTS ──┴── worker
//!     │ └─── ANSWERS ───────└────────┘
//!     └───── ANSWERS + 1      ▲    ▲
//!                        timer      main process, on the PPE: stop
//! ```
//!
//! Names in capitals are identifiers with which processes get channel ends. The server has one
//! alternation, in which the signal to stop has the highest priority.
//!
//! After the signal to stop, the server reads no more requests, sends the answers to all requests
//! that it has read, and poisons all channels, which ends the other processes. At the end the
//! counts of all processes must agree.

use std::collections::VecDeque;

use cellworks_csp::{
    Alternation, Any, Channel, Ended, Item, Network, One, Place, Process, ProcessError, Reader,
    Writer, processes,
};
use cellworks_machine::{Machine, Span, SpeId, Time, Topology};
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::deployment::Deployment;
use crate::error::{ParameterError, ProgramError, agree};
use crate::figure::{Figure, against, axis, counted};
use crate::gang::check_spes;
use crate::picture::Draw;
use crate::placement::STACK_BYTES;
use crate::{Done, Metric, Parts, Program, Quantity, Repeats, RunResult, clock};

/// Measures what a request costs at a server that waits at the same time for clients, workers, a
/// timer and the signal to stop, by one alternation.
///
/// The server and the timer are on SPE 0. The workers, and then the clients, are placed one by one
/// on SPE 1, SPE 2 and so on; after the last SPE, SPE 0 follows. When one of the clients is the
/// first to have all of its answers, the server gets the signal to stop. The other clients still
/// send requests then.
#[derive(Args, Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// How many SPEs have processes, from SPE 0 on.
    #[arg(long, default_value = "2")]
    pub spes: usize,

    /// How many clients; each one has one request under way.
    #[arg(long, default_value = "4")]
    pub clients: usize,

    /// How many workers.
    #[arg(long, default_value = "2")]
    pub workers: usize,

    /// For how many cycles a worker computes for each request.
    #[arg(long, default_value = "2k")]
    pub cycles: u64,

    /// How many answers a client waits for. When the first client has all of them, the server gets
    /// the signal to stop.
    #[arg(long)]
    pub requests: u64,
}

const TIME: Metric = Metric::new("time_per_request", "us");
const ANSWERED: Metric = Metric::new("answered", "requests");
const QUEUED: Metric = Metric::new("queued", "requests");

/// The largest number of clients, and of workers.
const PROCESSES_MAX: usize = 1_000;
/// The largest number of requests, and of cycles. Such a run takes hours on any machine.
const REQUESTS_MAX: u64 = 1_000_000_000;
const CYCLES_MAX: u64 = 1_000_000_000;

const PERIOD: Span = Span::from_nanoseconds(100_000);

/// The numbers by which processes find the channels.
const REQUESTS: u64 = 0;
const TASKS: u64 = 1;
const RESULTS: u64 = 2;
/// The channel to client 0. The channels to the other clients have the following numbers.
const ANSWERS: u64 = 3;

#[derive(Clone, Copy)]
struct Request {
    client: u32,
    number: u64,
}

impl Item for Request {}

#[derive(Clone, Copy)]
struct Answer {
    client: u32,
    number: u64,
}

impl Item for Answer {}

/// The report of a process to the main process.
#[derive(Clone, Copy)]
enum Report {
    /// A client has received as many answers as the parameter `requests`.
    Satisfied,
    /// A client has ended.
    Client {
        /// The number of requests that the client has sent.
        sent: u64,
        answered: u64,
        /// The number of answers that do not belong to the client's request.
        wrong: u64,
    },
    Worker {
        done: u64,
    },
    Server {
        served: Served,
    },
}

impl Item for Report {}

#[derive(Clone, Copy, Default)]
struct Served {
    read: u64,
    answered: u64,
    /// The time from the first request to the signal to stop, and the answers in this time.
    span: Span,
    in_span: u64,
    /// The number of timer signals, and the length of the server's queue, summed over the signals.
    looks: u64,
    queued: u64,
}

/// Computes the answer to a request: on the worker, and on the client as a check.
fn answer(number: u64) -> u64 {
    (number ^ number >> 7).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Program for Server {
    const NAME: &'static str = "server";
    const EXAMPLE: &'static str = "--clients 1,4,16 --workers 1,2";
    const EXAMPLE_ON_ONE_SPE: Option<&'static str> =
        Some("--spes 1 --clients 1,4,16 --workers 1,2");
    const METRICS: &'static [Metric] = &[TIME, ANSWERED, QUEUED];
    const PARTS: Parts = Parts::Processes;
    const REPEATS: Option<Repeats> = Some(Repeats {
        parameter: "requests",
        on_this_computer: "10k",
        simulated: "50",
    });

    fn title(&self) -> String {
        let (clients, workers) = (
            counted(self.clients, "client"),
            counted(self.workers, "worker"),
        );
        format!(
            "server, {}, {clients}, {workers}",
            counted(self.spes, "SPE")
        )
    }

    fn check(&self, topology: &Topology) -> Result<(), ParameterError> {
        check_spes(self.spes, topology)?;
        let within = |parameter, value: u64, max: u64| match value {
            0 => Err(ParameterError::Zero {
                parameter,
                noun: parameter,
            }),
            value if value > max => Err(ParameterError::Refused {
                parameter,
                why: format!("{value} {parameter} are too many; use at most {max}"),
            }),
            _ => Ok(()),
        };
        within("clients", self.clients as u64, PROCESSES_MAX as u64)?;
        within("workers", self.workers as u64, PROCESSES_MAX as u64)?;
        within("requests", self.requests, REQUESTS_MAX)?;
        within("cycles", self.cycles.max(1), CYCLES_MAX)
    }

    fn address_space_bytes(&self) -> usize {
        (self.clients + self.workers).saturating_mul(STACK_BYTES)
    }

    fn run_as<M: Machine>(&self, machine: &M, _: Draw<'_>, parts: &mut Deployment) -> RunResult {
        self.check(machine.topology())?;
        let Self {
            spes,
            clients,
            workers,
            cycles,
            requests,
        } = *self;
        let (reports, mut reported) = Channel::new().named("reports").any_to_one();
        let (mut stop, stopped) = Channel::new().named("stop").one_to_one();
        let (tick, ticks) = Channel::new().named("ticks").one_to_one();
        let mut network = Network::on(machine);
        network.process("timer", SpeId::new(0), move |process| {
            processes::timer(process, PERIOD, tick)
        });
        let to_main = reports.clone();
        network.process("server", SpeId::new(0), move |process| {
            serve(process, clients, stopped, ticks, to_main)
        });
        let mut places = (0..spes as u16).map(SpeId::new).cycle().skip(1);
        let mut next_place = || places.next().expect("there is an SPE");
        for index in 0..workers {
            let to_main = reports.clone();
            network.process(format!("worker {index}"), next_place(), move |process| {
                work(process, to_main, |place| clock::spend(place, cycles))
            });
        }
        for index in 0..clients {
            let to_main = reports.clone();
            network.process(format!("client {index}"), next_place(), move |process| {
                send_requests(process, index as u32, requests, to_main)
            });
        }
        drop(reports);
        let counted = parts.prepare(&mut network);
        let all = network.run_with(move |process| {
            let mut all = Vec::new();
            let mut is_running = true;
            // This loop ends when the last process with a writer of `reports` has ended.
            while let Ok(report) = reported.read(process) {
                match report {
                    Report::Satisfied if is_running => {
                        is_running = false;
                        stop.write(process, true)?;
                    }
                    Report::Satisfied => {}
                    other => all.push(other),
                }
            }
            Ok::<_, Ended>(all)
        })?;
        parts.record(counted);
        let all = all.expect("a server ends after the signal to stop, or its network fails");
        conclude(&all)
    }

    fn figures(done: &[Done<Self>]) -> Vec<Figure> {
        against(done, "Time of a request", TIME, axis)
    }
}

/// Compares the counts of all processes, and returns the quantities.
fn conclude(all: &[Report]) -> Result<Vec<Quantity>, ProgramError> {
    let (mut sent, mut got, mut wrong_answers, mut done) = (0, 0, 0, 0);
    let mut served = Served::default();
    for report in all {
        match *report {
            Report::Satisfied => {}
            Report::Client {
                sent: requests,
                answered,
                wrong,
            } => {
                sent += requests;
                got += answered;
                wrong_answers += wrong;
            }
            Report::Worker { done: tasks } => done += tasks,
            Report::Server { served: all } => served = all,
        }
    }
    for (what, found) in [
        (
            "the number of requests that the server has read",
            served.read,
        ),
        ("the number of tasks that workers have done", done),
        (
            "the number of answers that the server has given",
            served.answered,
        ),
        ("the number of answers that clients have got", got),
    ] {
        agree(|| what.to_owned(), found, sent, "by what clients have sent")?;
    }
    let what = || "the number of wrong answers".to_owned();
    agree(what, wrong_answers, 0, "by plain code")?;
    let mut quantities = vec![
        TIME.measured(served.span.as_seconds_f64() * 1e6 / served.in_span.max(1) as f64),
        ANSWERED.measured(served.answered as f64),
    ];
    // A run may end before the first signal of the timer.
    if served.looks > 0 {
        quantities.push(QUEUED.measured(served.queued as f64 / served.looks as f64));
    }
    Ok(quantities)
}

/// Passes requests to workers and answers to clients. Ends after the signal to stop, when all
/// requests that were read are answered.
fn serve<P: Place>(
    process: &Process<'_, P>,
    clients: usize,
    mut stopped: Reader<bool>,
    mut ticks: Reader<Time>,
    mut to_main: Writer<Report, Any>,
) -> Result<(), ProcessError> {
    process.create(REQUESTS, Channel::new().any_to_one::<Request>())?;
    process.create(TASKS, Channel::new().one_to_any::<Request>())?;
    process.create(RESULTS, Channel::new().any_to_one::<Answer>())?;
    let mut requests: Reader<Request> = process.reader(REQUESTS)?;
    let mut tasks: Writer<Request> = process.writer(TASKS)?;
    let mut results: Reader<Answer> = process.reader(RESULTS)?;
    let answers = (0..clients as u64).map(|client| process.writer(ANSWERS + client));
    let mut answers: Vec<Writer<Answer>> = answers.collect::<Result<_, _>>()?;

    let mut served = Served::default();
    let mut queue = VecDeque::new();
    let (mut began, mut is_running) = (None, true);
    let mut any = Alternation::priority();
    let stop = any.read(&mut stopped);
    let tick = any.read(&mut ticks);
    let result = any.read(&mut results);
    let task = any.write(&mut tasks);
    let request = any.read(&mut requests);
    while is_running || served.answered < served.read {
        if !any.is_offered(&task)
            && let Some(next) = queue.pop_front()
        {
            any.offer(process, &task, next);
        }
        let chosen = any.select(process)?;
        if chosen == request {
            began.get_or_insert_with(|| process.now());
            queue.push_back(any.take(process, &request));
            served.read += 1;
        } else if chosen == result {
            let answer = any.take(process, &result);
            answers[answer.client as usize].write(process, answer)?;
            served.answered += 1;
        } else if chosen == tick {
            any.take(process, &tick);
            served.looks += 1;
            served.queued += queue.len() as u64;
        } else if chosen == stop {
            any.take(process, &stop);
            any.when(&stop, false);
            any.when(&request, false);
            is_running = false;
            let now = process.now();
            served.span = now.since(began.unwrap_or(now));
            served.in_span = served.answered;
        }
    }
    drop(any);
    // These channels have no buffer, so poisoning them loses no item.
    requests.poison(process);
    tasks.poison(process);
    results.poison(process);
    ticks.poison(process);
    answers
        .iter_mut()
        .for_each(|answers| drop(answers.poison(process)));
    Ok(to_main.write(process, Report::Server { served })?)
}

/// Does tasks until the channel of tasks is poisoned.
fn work<P: Place>(
    process: &Process<'_, P>,
    mut to_main: Writer<Report, Any>,
    compute: impl Fn(&P),
) -> Result<(), ProcessError> {
    let mut tasks: Reader<Request, Any> = process.reader(TASKS)?;
    let mut results: Writer<Answer, Any> = process.writer(RESULTS)?;
    let mut done = 0;
    while let Ok(Request { client, number }) = tasks.read(process) {
        compute(process.place());
        let number = answer(number);
        results.write(process, Answer { client, number })?;
        done += 1;
    }
    Ok(to_main.write(process, Report::Worker { done })?)
}

/// Sends requests and checks the answers, until the server poisons the channels.
fn send_requests<P: Place>(
    process: &Process<'_, P>,
    client: u32,
    wanted: u64,
    mut to_main: Writer<Report, Any>,
) -> Result<(), ProcessError> {
    let id = ANSWERS + u64::from(client);
    process.create(id, Channel::new().one_to_one::<Answer>())?;
    let mut answers: Reader<Answer, One> = process.reader(id)?;
    let mut requests: Writer<Request, Any> = process.writer(REQUESTS)?;
    let (mut sent, mut answered, mut wrong) = (0, 0, 0);
    loop {
        let number = sent;
        if requests.write(process, Request { client, number }).is_err() {
            break;
        }
        sent += 1;
        // If the server ends without sending this answer, the counts differ at the end.
        let Ok(found) = answers.read(process) else {
            break;
        };
        answered += 1;
        wrong += u64::from((found.client, found.number) != (client, answer(number)));
        if answered == wanted {
            to_main.write(process, Report::Satisfied)?;
        }
    }
    Ok(to_main.write(
        process,
        Report::Client {
            sent,
            answered,
            wrong,
        },
    )?)
}
