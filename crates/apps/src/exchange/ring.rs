//! The ring of Keller and Varbanescu (section 2.2): each task passes packets on to both neighbours.
//!
//! ```text
//!   sender                main memory: a row for each thread           receiver
//!   packet in a buffer
//!   put notification ──────────► row of the receiver ◄──────────────── get of this row, repeated
//!                     ◄─────────────────────────────────────────────── get of the packet
//!   get of this row ───────────► row of the sender ◄────────────────── put acknowledgement
//!   buffer is free
//! ```
//!
//! A task copies an arrived packet to the outgoing buffer for the other neighbour when this buffer
//! is free. Threads are numbered in the order of their SPEs.

// Rejected: sends that wait until their buffer is free. With one receive buffer, 86 to 98 of 100
// mappings deadlock. With eight, runs of one mapping differ as much as runs of two mappings.
// Rejected: polling at fixed times. The published ratio of 3.4, slowest to fastest mapping, needs
// an interval chosen for it, and after 3,000 rounds the ratio is 1.9.
// Rejected: one send buffer for both neighbours. One direction starves. docs/notes/ring.md has all
// assumptions with their ratios.

use std::iter;

use cellworks_machine::mfc::{EffectiveAddress, LsAddr, RawCommand, Tag};
use cellworks_machine::{CellMachine, CellSpe, Cycles, LocalBuffer, Mfc, SpeId};

use super::gather::{address, check_spes, failed, gather, join, prepare, send_address};
use super::packets::{ExchangeRun, WARM_UP};

pub(super) struct Ring<'a> {
    pub packet_bytes: u32,
    pub one_way: bool,
    pub of: &'a ExchangeRun,
}

/// The bytes between the rows of two threads in main memory. Rows share no cache line.
const ROW_STRIDE: usize = 128;
/// The size in bytes of an entry of a row, which has an entry for each thread. The entry counts the
/// packets that this thread has sent and, at offset [`ACKNOWLEDGED`], received.
const ENTRY_BYTES: u32 = 8;
const ACKNOWLEDGED: u32 = 4;

/// The number of directions: to the next task, and to the previous task.
const DIRECTIONS: usize = 2;

const POLL: Tag = Tag::of::<0>();
const PACKET: [Tag; DIRECTIONS] = [Tag::of::<1>(), Tag::of::<2>()];
const NOTIFY: [Tag; DIRECTIONS] = [Tag::of::<3>(), Tag::of::<4>()];
const ACKNOWLEDGE: [Tag; DIRECTIONS] = [Tag::of::<5>(), Tag::of::<6>()];

impl Ring<'_> {
    pub fn run<M: CellMachine>(&self, machine: &M) -> Result<f64, String> {
        let number = self.of.spes.len();
        let last = self.of.spes.iter().max().expect("a ring has tasks");
        check_spes(machine, last.index() + 1)?;
        let module = machine.topology().modules().next();
        let module = module.expect("a machine has a memory module");
        let rows = machine
            .allocate(module, number * ROW_STRIDE)
            .map_err(failed)?;
        // The tasks are in the order of their SPEs, because the PPE starts the first SPE first.
        let tasks = self.of.tasks();
        let spes: Vec<SpeId> = tasks.iter().map(|task| self.of.spe_of(*task)).collect();
        let mut threads = vec![0; number];
        for (thread, task) in (0..).zip(&tasks) {
            threads[usize::from(*task)] = thread;
        }
        let threads = &threads;
        let rows = rows.at(0);
        machine
            .run(|ppe| {
                let programs = tasks
                    .iter()
                    .map(|&task| {
                        ppe.spawn(self.of.spe_of(task), move |spe| {
                            self.task(spe, task, threads, rows)
                        })
                    })
                    .collect();
                let mut buffers = vec![EffectiveAddress(0); number];
                for (task, address) in tasks.iter().zip(gather(ppe, &spes)) {
                    buffers[usize::from(*task)] = address;
                }
                for task in &tasks {
                    for neighbour in self.neighbours(*task) {
                        send_address(ppe, self.of.spe_of(*task), buffers[usize::from(neighbour)]);
                    }
                }
                let ns: Vec<f64> = join(programs)?;
                Ok(ns.into_iter().fold(0.0, f64::max))
            })
            .map_err(failed)?
    }

    /// Returns the next and the previous task.
    fn neighbours(&self, task: u8) -> [u8; DIRECTIONS] {
        let number = self.of.spes.len() as u8;
        [(task + 1) % number, (task + number - 1) % number]
    }

    /// Runs the program of an SPE. Returns the time of a round in nanoseconds.
    fn task<S: CellSpe>(
        &self,
        spe: &S,
        task: u8,
        threads: &[u8],
        rows: EffectiveAddress,
    ) -> Result<f64, String> {
        let size = 2 * DIRECTIONS as u32 * self.packet_bytes + Buffers::WORDS_BYTES;
        let room = spe
            .local_store()
            .reserve(size as usize, 128, "the packets of a task");
        let room = prepare(spe, room, |room: &LocalBuffer| {
            spe.local_store().effective(room.address())
        })?;
        let neighbours = self.neighbours(task);
        let buffers_of = [address(spe), address(spe)];
        if let Some(cycles) = self.of.start(task) {
            spe.compute(Cycles(cycles));
        }
        let thread = |task: u8| threads[usize::from(task)];
        let mut task = Task {
            spe,
            task,
            thread: thread(task),
            tasks: self.of.spes.len() as u8,
            packet_bytes: self.packet_bytes,
            packets: WARM_UP + self.of.rounds,
            rows,
            buffers: Buffers {
                start: room.address(),
                packet_bytes: self.packet_bytes,
            },
            way: [0, 1].map(|direction| Way {
                // Packets to one neighbour come from the other neighbour.
                next: thread(neighbours[direction]),
                previous: thread(neighbours[1 - direction]),
                buffers_of_previous: buffers_of[1 - direction],
                sent: 0,
                acknowledged: 0,
                received: 0,
                holds: false,
            }),
            directions: if self.one_way { 1 } else { DIRECTIONS },
        };
        task.run()
    }
}

/// The layout of a task's data in its local store.
#[derive(Clone, Copy)]
struct Buffers {
    start: LsAddr,
    packet_bytes: u32,
}

impl Buffers {
    /// The size of a copy of this task's row, and of a quadword for each word that is put.
    const WORDS_BYTES: u32 = ROW_STRIDE as u32 + 2 * DIRECTIONS as u32 * 16;

    const fn outgoing(self, direction: usize) -> u32 {
        direction as u32 * self.packet_bytes
    }

    const fn incoming(self, direction: usize) -> u32 {
        (DIRECTIONS + direction) as u32 * self.packet_bytes
    }

    const fn row(self) -> u32 {
        2 * DIRECTIONS as u32 * self.packet_bytes
    }

    /// Returns the offset of the quadword for the word that a put command transfers. In its
    /// quadword the word has the same offset as at the target in main memory.
    const fn word(self, number: usize) -> u32 {
        self.row() + ROW_STRIDE as u32 + number as u32 * 16
    }

    const fn at(self, offset: u32) -> LsAddr {
        LsAddr(self.start.0 + offset)
    }
}

#[derive(Clone, Copy)]
struct Way {
    next: u8,
    previous: u8,
    buffers_of_previous: EffectiveAddress,
    sent: u32,
    acknowledged: u32,
    received: u32,
    /// Whether a packet has arrived that is not yet copied to the outgoing buffer.
    holds: bool,
}

struct Task<'a, S> {
    spe: &'a S,
    task: u8,
    thread: u8,
    tasks: u8,
    packet_bytes: u32,
    /// The number of packets that this task sends, and receives, in each direction.
    packets: u32,
    rows: EffectiveAddress,
    buffers: Buffers,
    way: [Way; DIRECTIONS],
    directions: usize,
}

impl<S: CellSpe> Task<'_, S> {
    fn run(&mut self) -> Result<f64, String> {
        let mut begin = self.spe.now();
        let mut end = begin;
        for direction in 0..self.directions {
            // A packet contains the number of the task that first sent it, which `verify` checks.
            let at = self.buffers.at(self.buffers.outgoing(direction));
            let origin = vec![self.task; self.packet_bytes as usize];
            self.spe.local_store().write(at, &origin);
            self.send(direction)?;
        }
        while !self.is_done() {
            let before = self.received();
            if !self.step()? {
                self.spe.yield_now();
            }
            let received = self.received();
            if before < WARM_UP && received >= WARM_UP {
                begin = self.spe.now();
            }
            if before < self.packets && received == self.packets {
                end = self.spe.now();
            }
        }
        self.verify()?;
        Ok(end.since(begin).as_nanoseconds_f64() / f64::from(self.packets - WARM_UP))
    }

    /// Returns the lowest number of packets that have arrived from a neighbour.
    fn received(&self) -> u32 {
        let received = self.way[..self.directions].iter().map(|way| way.received);
        received.min().expect("there is a direction")
    }

    fn is_done(&self) -> bool {
        self.way[..self.directions]
            .iter()
            .all(|way| way.received == self.packets && way.acknowledged == self.packets)
    }

    /// Reads the row once, and handles all changes. Returns whether a packet was taken or sent.
    fn step(&mut self) -> Result<bool, String> {
        self.poll()?;
        let mut did = false;
        let mut arriving = [false; DIRECTIONS];
        for (direction, arrives) in arriving.iter_mut().enumerate().take(self.directions) {
            let way = self.way[direction];
            let notified = self.entry(way.previous, 0);
            self.way[direction].acknowledged = self.entry(way.next, ACKNOWLEDGED);
            *arrives = notified > way.received && !way.holds;
            if *arrives {
                let from = way.buffers_of_previous + u64::from(self.buffers.outgoing(direction));
                let to = self.buffers.at(self.buffers.incoming(direction));
                let get = RawCommand::get(to, from, self.packet_bytes, PACKET[direction]);
                self.spe.mfc().issue(get).map_err(failed)?;
            }
        }
        for direction in (0..self.directions).filter(|direction| arriving[*direction]) {
            self.spe.mfc().wait_all(PACKET[direction].mask());
            let way = &mut self.way[direction];
            way.received += 1;
            way.holds = true;
            let (previous, received) = (way.previous, way.received);
            let word = DIRECTIONS + direction;
            self.put(
                word,
                previous,
                ACKNOWLEDGED,
                received,
                ACKNOWLEDGE[direction],
            )?;
            did = true;
        }
        for direction in 0..self.directions {
            let way = self.way[direction];
            if !way.holds || way.sent > way.acknowledged {
                continue;
            }
            // The last packets stay in the incoming buffers for verification.
            if way.sent < self.packets {
                self.forward(direction);
                self.send(direction)?;
                self.way[direction].holds = false;
                did = true;
            }
        }
        Ok(did)
    }

    fn poll(&self) -> Result<(), String> {
        let row = self.rows + u64::from(self.thread) * ROW_STRIDE as u64;
        let to = self.buffers.at(self.buffers.row());
        let bytes = (u32::from(self.tasks) * ENTRY_BYTES).next_multiple_of(16);
        let get = RawCommand::get(to, row, bytes, POLL);
        self.spe.mfc().issue(get).map_err(failed)?;
        self.spe.mfc().wait_all(POLL.mask());
        Ok(())
    }

    fn entry(&self, thread: u8, field: u32) -> u32 {
        let offset = self.buffers.row() + u32::from(thread) * ENTRY_BYTES + field;
        self.spe.local_store().read_word(self.buffers.at(offset))
    }

    fn forward(&self, direction: usize) {
        let store = self.spe.local_store();
        let mut packet = vec![0; self.packet_bytes as usize];
        store.read(
            self.buffers.at(self.buffers.incoming(direction)),
            &mut packet,
        );
        store.write(self.buffers.at(self.buffers.outgoing(direction)), &packet);
        // The SPU loads and stores each quadword, with one access to the local store per cycle.
        self.spe
            .compute(Cycles(u64::from(self.packet_bytes / 16) * 2));
    }

    fn send(&mut self, direction: usize) -> Result<(), String> {
        let way = &mut self.way[direction];
        way.sent += 1;
        let (next, sent) = (way.next, way.sent);
        self.put(direction, next, 0, sent, NOTIFY[direction])
    }

    /// Writes a number into the row of another thread, without waiting for the transfer.
    fn put(&self, word: usize, row: u8, field: u32, number: u32, tag: Tag) -> Result<(), String> {
        // The previous transfer of this word may still be under way.
        self.spe.mfc().wait_all(tag.mask());
        let offset = u32::from(self.thread) * ENTRY_BYTES + field;
        let from = self.buffers.at(self.buffers.word(word) + offset % 16);
        self.spe.local_store().write_word(from, number);
        let to = self.rows + u64::from(row) * ROW_STRIDE as u64 + u64::from(offset);
        let put = RawCommand::put(from, to, 4, tag);
        self.spe.mfc().issue(put).map_err(failed)
    }

    /// Checks that the last packet of each direction began at the expected task.
    fn verify(&self) -> Result<(), String> {
        let tasks = i64::from(self.tasks);
        for (direction, step) in iter::zip(0..self.directions, [-1, 1]) {
            let origin = (i64::from(self.task) + step * i64::from(self.packets)).rem_euclid(tasks);
            let mut packet = vec![0; self.packet_bytes as usize];
            let at = self.buffers.at(self.buffers.incoming(direction));
            self.spe.local_store().read(at, &mut packet);
            if packet.iter().any(|byte| i64::from(*byte) != origin) {
                return Err(format!(
                    "the last packet of task {} should have begun at task {origin}, and says {}",
                    self.task, packet[0]
                ));
            }
        }
        Ok(())
    }
}
