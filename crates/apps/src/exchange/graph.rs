//! A graph of tasks that send packets to each other.
//!
//! ```text
//!   sender                                          receiver
//!   packet in its buffer  ─── put ────────────────► buffer of the edge
//!                         ─── sndsigf, a bit ─────► signal register 1
//!                                                   reads the packet
//!   signal register 1 ◄────── sndsig, a bit ─────── the buffer is free
//! ```
//!
//! A task begins a round when it has all packets of the previous round, and sends each packet as
//! soon as the receiver's buffer is free. No packet goes through main memory.

// Rejected: notifications in main memory, as in the ring. Polling intervals determined the times.
// On the PS3 the mapping caused 0 to 35 % of the variance, and with signals 56 to 100 %.

use cellworks_machine::mfc::{EffectiveAddress, LsAddr, RawCommand, Tag, TagMask};
use cellworks_machine::{
    CellMachine, CellSpe, Cycles, LocalBuffer, Mfc, ProblemStateRegister, SignalMode,
    SignalRegister, SpeId,
};

use super::gather::{address, check_spes, failed, gather, join, prepare, send_address};
use super::packets::{Edge, ExchangeRun, WARM_UP};

/// The first bit for packets that were read. Lower bits are for packets that have arrived.
const READ: usize = 16;

/// The first tag of packets, which is also for the signals behind the packets.
const PACKETS: usize = 0;
/// The first tag of signals that report that a packet was read.
const SIGNALS: usize = 16;

pub(super) struct Graph<'a> {
    pub edges: &'a [Edge],
    pub of: &'a ExchangeRun,
}

impl Graph<'_> {
    pub fn run<M: CellMachine>(&self, machine: &M) -> Result<f64, String> {
        let run = self.of;
        let last = run.spes.iter().max().expect("there are tasks");
        check_spes(machine, last.index() + 1)?;
        let tasks = run.tasks();
        let spes: Vec<SpeId> = tasks.iter().map(|task| run.spe_of(*task)).collect();
        let numbers = 0..run.spes.len() as u8;
        let plans: Vec<Plan> = numbers.map(|task| Plan::of(task, self.edges)).collect();
        let plans = &plans;
        machine
            .run(|ppe| {
                for spe in &spes {
                    ppe.set_signal_mode(*spe, SignalRegister::One, SignalMode::Or);
                }
                let programs = tasks
                    .iter()
                    .map(|&task| {
                        let plan = &plans[usize::from(task)];
                        ppe.spawn(run.spe_of(task), move |spe| self.task(spe, plan))
                    })
                    .collect();
                let mut buffers = vec![EffectiveAddress(0); spes.len()];
                for (task, address) in tasks.iter().zip(gather(ppe, &spes)) {
                    buffers[usize::from(*task)] = address;
                }
                for task in &tasks {
                    for output in &plans[usize::from(*task)].outputs {
                        send_address(ppe, run.spe_of(*task), buffers[usize::from(output.task)]);
                    }
                    // All tasks have their buffers now, so the first packet may arrive.
                    ppe.write_in_mbox(run.spe_of(*task), 0);
                }
                let ns: Vec<f64> = join(programs)?;
                Ok(ns.into_iter().fold(0.0, f64::max))
            })
            .map_err(failed)?
    }

    /// Runs the program of an SPE. Returns the time of a round in nanoseconds.
    fn task<S: CellSpe>(&self, spe: &S, plan: &Plan) -> Result<f64, String> {
        let size = plan.buffers_bytes() as usize;
        let room = spe
            .local_store()
            .reserve(size, 128, "the packets of a task");
        let room = prepare(spe, room, |room: &LocalBuffer| {
            spe.local_store().effective(room.address())
        })?;
        let output = |end: &End| Output {
            end: *end,
            target: address(spe) + u64::from(end.at_other),
            signal: ProblemStateRegister::SigNotify1.of(self.of.spe_of(end.task)),
            sent: 0,
            read: 0,
        };
        let outputs = plan.outputs.iter().map(output).collect();
        spe.read_in_mbox();
        let input = |end: &End| Input {
            end: *end,
            signal: ProblemStateRegister::SigNotify1.of(self.of.spe_of(end.task)),
            received: 0,
        };
        if let Some(cycles) = self.of.start(plan.task) {
            spe.compute(Cycles(cycles));
        }
        let mut task = Task {
            spe,
            plan,
            packets: WARM_UP + self.of.rounds,
            start: room.address(),
            inputs: plan.inputs.iter().map(input).collect(),
            outputs,
        };
        task.run()
    }
}

#[derive(Clone, Copy, Debug)]
struct End {
    /// The task at the other end of the edge.
    task: u8,
    bytes: u32,
    /// The distance in bytes from this task's first buffer to the edge's buffer.
    at: u32,
    /// The distance in bytes from the other task's first buffer to the edge's buffer.
    at_other: u32,
    /// The index of the edge among the inputs or outputs of the other task.
    number_there: usize,
}

/// The edges of a task. The buffers of outgoing packets come first, then those of incoming packets.
#[derive(Clone, Debug)]
struct Plan {
    task: u8,
    outputs: Vec<End>,
    inputs: Vec<End>,
}

impl Plan {
    fn of(task: u8, edges: &[Edge]) -> Self {
        let before = |edge: &Edge, is_of: &dyn Fn(&&Edge) -> bool| -> (usize, u32) {
            let same = edges.iter().take_while(|other| *other != edge);
            same.filter(is_of).fold((0, 0), |(number, bytes), other| {
                (number + 1, bytes + other.bytes)
            })
        };
        // Both return an edge's index among a task's outputs or inputs, and its buffer's offset.
        let at_sender = |edge: &Edge| before(edge, &|other| other.from == edge.from);
        let at_receiver = |edge: &Edge| {
            let outgoing = edges.iter().filter(|other| other.from == edge.to);
            let (number, bytes) = before(edge, &|other| other.to == edge.to);
            (number, bytes + outgoing.map(|edge| edge.bytes).sum::<u32>())
        };
        let end = |edge: &Edge, sends: bool| {
            let (sender, receiver) = (at_sender(edge), at_receiver(edge));
            let (here, there) = if sends {
                (sender, receiver)
            } else {
                (receiver, sender)
            };
            End {
                task: if sends { edge.to } else { edge.from },
                bytes: edge.bytes,
                at: here.1,
                at_other: there.1,
                number_there: there.0,
            }
        };
        let outputs = edges.iter().filter(|edge| edge.from == task);
        let inputs = edges.iter().filter(|edge| edge.to == task);
        Self {
            task,
            outputs: outputs.map(|edge| end(edge, true)).collect(),
            inputs: inputs.map(|edge| end(edge, false)).collect(),
        }
    }

    fn packets_bytes(&self) -> u32 {
        let ends = self.outputs.iter().chain(&self.inputs);
        ends.map(|end| end.bytes).sum()
    }

    /// Returns the offset of the word that is sent as signal `number`. Signals for outgoing packets
    /// come first. The word is at offset 12 of its quadword, as signal registers are.
    fn word(&self, number: usize) -> u32 {
        self.packets_bytes() + number as u32 * 16 + 12
    }

    fn buffers_bytes(&self) -> u32 {
        self.packets_bytes() + (self.outputs.len() + self.inputs.len()).max(1) as u32 * 16
    }
}

struct Input {
    end: End,
    signal: EffectiveAddress,
    received: u32,
}

struct Output {
    end: End,
    target: EffectiveAddress,
    signal: EffectiveAddress,
    sent: u32,
    /// The number of packets that the receiver has read.
    read: u32,
}

struct Task<'a, S> {
    spe: &'a S,
    plan: &'a Plan,
    /// The number of packets that go over each edge.
    packets: u32,
    /// The address of the first buffer.
    start: LsAddr,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
}

impl<S: CellSpe> Task<'_, S> {
    fn run(&mut self) -> Result<f64, String> {
        let mut begin = self.spe.now();
        let mut end = begin;
        self.write_words();
        self.send()?;
        while !self.is_done() {
            let before = self.rounds();
            let signals = self.spe.read_signal(SignalRegister::One);
            self.receive(signals)?;
            self.send()?;
            let rounds = self.rounds();
            if before < WARM_UP && rounds >= WARM_UP {
                begin = self.spe.now();
            }
            if before < self.packets && rounds == self.packets {
                end = self.spe.now();
            }
        }
        self.spe.mfc().wait_all(TagMask::ALL);
        Ok(end.since(begin).as_nanoseconds_f64() / f64::from(self.packets - WARM_UP))
    }

    /// Returns the number of complete rounds: the least number of packets that have arrived over an
    /// incoming edge or, without incoming edges, that a receiver has read.
    fn rounds(&self) -> u32 {
        let received = self.inputs.iter().map(|input| input.received).min();
        let read = || self.outputs.iter().map(|output| output.read).min();
        received.or_else(read).unwrap_or(self.packets)
    }

    fn is_done(&self) -> bool {
        let all = self.packets;
        self.inputs.iter().all(|input| input.received == all)
            && self.outputs.iter().all(|output| output.read == all)
    }

    fn write_words(&self) {
        let outputs = self.outputs.iter();
        let outputs = outputs.map(|output| 1 << output.end.number_there);
        let inputs = self.inputs.iter();
        let inputs = inputs.map(|input| 1 << (READ + input.end.number_there));
        for (number, bits) in outputs.chain(inputs).enumerate() {
            let at = self.at(self.plan.word(number));
            self.spe.local_store().write_word(at, bits);
        }
    }

    /// Handles signals: reads the packets that have arrived, and signals to their senders.
    fn receive(&mut self, signals: u32) -> Result<(), String> {
        let is_set = |bit: usize| signals >> bit & 1 == 1;
        for (number, output) in self.outputs.iter_mut().enumerate() {
            output.read += u32::from(is_set(READ + number));
        }
        for number in (0..self.inputs.len()).filter(|number| is_set(*number)) {
            self.check(number)?;
            self.inputs[number].received += 1;
            let word = self.at(self.plan.word(self.outputs.len() + number));
            let signal = self.inputs[number].signal;
            let tag = Tag::new((SIGNALS + number) as u32).expect("16 tags from there on");
            let told = RawCommand::sndsig(word, signal, tag);
            self.spe.mfc().issue(told).map_err(failed)?;
        }
        Ok(())
    }

    /// Reads a packet, and checks that all of its bytes are the [`mark`] of its sender.
    fn check(&self, number: usize) -> Result<(), String> {
        let Input { end, received, .. } = self.inputs[number];
        let mut packet = vec![0; end.bytes as usize];
        self.spe.local_store().read(self.at(end.at), &mut packet);
        // The SPU loads each quadword, with one access to the local store per cycle.
        self.spe.compute(Cycles(u64::from(end.bytes / 16)));
        let mark = mark(end.task, received);
        match packet.iter().find(|byte| **byte != mark) {
            None => Ok(()),
            Some(byte) => Err(format!(
                "packet {received} of task {} from task {} should be full of {mark}, and has {byte}: packets were \
                 mixed up",
                self.plan.task, end.task
            )),
        }
    }

    /// Sends each packet if its round has begun and its buffer at the receiver is free.
    fn send(&mut self) -> Result<(), String> {
        for number in 0..self.outputs.len() {
            let Output {
                end,
                target,
                signal,
                sent,
                read,
            } = self.outputs[number];
            let has_come = |input: &Input| input.received >= sent;
            if sent == self.packets || sent > read || !self.inputs.iter().all(has_come) {
                continue;
            }
            let packet = vec![mark(self.plan.task, sent); end.bytes as usize];
            let at = self.at(end.at);
            self.spe.local_store().write(at, &packet);
            // The SPU stores each quadword.
            self.spe.compute(Cycles(u64::from(end.bytes / 16)));
            let tag = Tag::new((PACKETS + number) as u32).expect("16 tags from there on");
            let put = RawCommand::put(at, target, end.bytes, tag);
            self.spe.mfc().issue(put).map_err(failed)?;
            // The fence makes the packet arrive before the signal.
            let word = self.at(self.plan.word(number));
            let arrived = RawCommand::sndsigf(word, signal, tag);
            self.spe.mfc().issue(arrived).map_err(failed)?;
            self.outputs[number].sent += 1;
        }
        Ok(())
    }

    fn at(&self, offset: u32) -> LsAddr {
        LsAddr(self.start.0 + offset)
    }
}

/// Returns the value of all bytes of a packet: 4 bits for the sending task, 4 bits for `number`.
fn mark(task: u8, number: u32) -> u8 {
    task << 4 | (number & 0xf) as u8
}
