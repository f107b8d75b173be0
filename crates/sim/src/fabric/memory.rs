//! A memory module: a memory controller and its banks.
//!
//! ```text
//!   reads  ──────────────► bank 0: reads, writes ─┐
//!                          bank 1: reads, writes ─┼─► data pins: one line at a time,
//!   writes ─► write queue ►  ...                 ─┘   in one direction at a time
//!            (accepted)
//! ```
//!
//! Consecutive lines are in different banks: see `bank_of`. Of the requests to free banks, the
//! oldest starts first. The data pins lose time when their direction changes, so writes go in
//! batches of `write_batch` lines. While reads wait, at least `write_batch` of them go between two
//! batches, so that reads do not starve. Every request takes the time of a whole line on the pins.
//! A short write first reads its line.
//!
//! A write that begins where a waiting write in the same line ends is appended to it, so a list
//! that puts parts of a line uses the bank once. Writes of the same bytes stay separate: in the
//! paper CellStats, puts of many SPEs to one line take longer with more SPEs (section 4.4).
//!
//! A write is complete for its sender when the write queue has room for it. A read uses the bank
//! even if a write to the same line is still waiting. Refreshes begin at the multiples of an
//! interval, and no request starts during a refresh.

// Rejected: open rows. The time of accesses to one shared line would not grow with the number of
// SPEs, but in CellStats it does, for GETs and PUTs.
//
// Rejected: reading the line before a short put, in the modules of a Cell. In CellStats, puts of 1
// to 128 bytes are equally fast. In a description, `whole_write_bytes` is the size of the shortest
// write without such a read.
//
// Rejected: two channels of half the data rate with 8 banks each. If 16 SPEs transfer lists of
// 1,024 elements of 16 bytes, the transfers take 82.5 us, as long as with one channel (published:
// 140 us).
//
// Rejected: 8 banks. The lists take 125 us, but 8 SPEs reach only 16.5 GB/s (published: 24.6). With
// a row cycle of 40 ns instead of 60 ns, 8 SPEs reach 24.8 GB/s, but the lists take 83 us.
//
// Rejected: a queue of 64 reads, with which the lists take 84.5 us. With a queue of 32 reads the
// lists take 89 to 94 us, but no source supports 32 or fewer.

use std::collections::VecDeque;

use super::usage::Usage;
use crate::description::MemoryModule;
use crate::observe::{PartCounters, ResourceCounters};
use crate::part::Part;
use crate::time::{Femtoseconds, Moment};

/// The size in bytes of a cache line. Each line is in one bank.
const LINE_BYTES: u64 = 128;

/// An effect of a request, reported by [`proceed`](Memory::proceed).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryEvent {
    /// The data of a read is at the bus at `time`.
    Data { transaction: u32, time: Moment },
    /// A write has entered the write queue.
    Accepted { transaction: u32 },
}

#[derive(Debug)]
pub(super) struct Memory {
    line: Femtoseconds,
    access: Femtoseconds,
    accept: Femtoseconds,
    bank_read: Femtoseconds,
    bank_write: Femtoseconds,
    turnaround: Femtoseconds,
    refresh_interval: Femtoseconds,
    refresh: Femtoseconds,
    whole_write_bytes: u64,
    write_batch: usize,
    write_room: usize,

    banks: Vec<Bank>,
    /// The first request of each bank, in each direction.
    firsts: [Vec<First>; 2],
    /// The number of reads in the queues of the banks. `writes` is the number of writes there.
    reads: usize,
    writes: usize,
    /// The number of writes in the write queue.
    accepted: usize,
    /// The writes that wait for room in the write queue.
    outside: VecDeque<Write>,
    /// The last direction of the pins. `lines_on_end` counts the lines since it last changed.
    direction: Direction,
    lines_on_end: usize,
    pins_free_at: Moment,
    arrivals: u64,
    wake_at: Moment,
    /// The direction of the line that starts at `wake_at`, if it waits for nothing but the pins.
    waits_for_pins: Option<Direction>,
    usage: Usage,
}

/// The earliest start of a bank's first request, as far as the bank and the request decide it, and
/// the sequence number of the request. [`Moment::NEVER`] without a request.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct First {
    start: Moment,
    order: u64,
}

impl First {
    const NONE: Self = Self {
        start: Moment::NEVER,
        order: u64::MAX,
    };
}

#[derive(Debug, Default)]
struct Bank {
    free_at: Moment,
    busy: Femtoseconds,
    reads: VecDeque<Request>,
    writes: VecDeque<Request>,
}

impl Bank {
    fn queue(&mut self, direction: Direction) -> &mut VecDeque<Request> {
        match direction {
            Direction::Read => &mut self.reads,
            Direction::Write => &mut self.writes,
        }
    }

    #[inline]
    fn first(&self, direction: Direction) -> First {
        let request = match direction {
            Direction::Read => self.reads.front(),
            Direction::Write => self.writes.front(),
        };
        request.map_or(First::NONE, |request| First {
            start: self.free_at.max(request.not_before),
            order: request.order,
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct Request {
    /// The sequence number of the request, in order of arrival.
    order: u64,
    /// The earliest start of the request. A short write waits for the data of its read.
    not_before: Moment,
    /// The address of the first byte.
    address: u64,
    bytes: u32,
    /// The transaction that receives the data of a read, or `None` for the read of a short write.
    reader: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Write {
    transaction: u32,
    address: u64,
    bytes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Read,
    Write,
}

impl Memory {
    pub fn new(module: &MemoryModule) -> Self {
        let banks = module.banks.value as usize;
        let write_room = module.write_queue_lines.value as usize;
        assert!(banks > 0 && write_room > 0, "banks and room for writes");
        Self {
            line: Femtoseconds::of_transfer(LINE_BYTES, module.bytes_per_s.value),
            access: module.access_ps.picoseconds(),
            accept: module.accept_ps.picoseconds(),
            bank_read: module.bank_read_ps.picoseconds(),
            bank_write: module.bank_write_ps.picoseconds(),
            turnaround: module.turnaround_ps.picoseconds(),
            refresh_interval: module.refresh_interval_ps.picoseconds(),
            refresh: module.refresh_ps.picoseconds(),
            whole_write_bytes: module.whole_write_bytes.value,
            write_batch: (module.write_batch_lines.value as usize).clamp(1, write_room),
            write_room,
            banks: (0..banks).map(|_| Bank::default()).collect(),
            firsts: [vec![First::NONE; banks], vec![First::NONE; banks]],
            reads: 0,
            writes: 0,
            accepted: 0,
            outside: VecDeque::new(),
            direction: Direction::Read,
            lines_on_end: 0,
            pins_free_at: Moment::START,
            arrivals: 0,
            wake_at: Moment::NEVER,
            waits_for_pins: None,
            usage: Usage::default(),
        }
    }

    /// Adds a read whose command arrives now. [`proceed`](Self::proceed) must be called next.
    pub fn read(&mut self, now: Moment, transaction: u32, address: u64, bytes: u32) {
        self.enqueue(Direction::Read, address, now, bytes, Some(transaction));
    }

    /// Adds a write whose data arrives now. [`proceed`](Self::proceed) must be called next.
    pub fn write(
        &mut self,
        now: Moment,
        transaction: u32,
        address: u64,
        bytes: u32,
        outcomes: &mut Vec<MemoryEvent>,
    ) {
        if self.gathers(address, bytes) {
            outcomes.push(MemoryEvent::Accepted { transaction });
            return;
        }
        self.outside.push_back(Write {
            transaction,
            address,
            bytes,
        });
        self.accept(now, outcomes);
    }

    /// Starts the requests that can start now. Returns the time at which [`wake`](Self::wake) must
    /// be called, unless an earlier call has returned the same time.
    pub fn proceed(&mut self, now: Moment, outcomes: &mut Vec<MemoryEvent>) -> Option<Moment> {
        while let Some(direction) = self.next_direction() {
            // No request that has come since can start before the pins are free.
            if self.waits_for_pins == Some(direction) && now < self.wake_at {
                return None;
            }
            let pins = now.max(self.pins_free_for(direction));
            let (free, bank) = self.next_start(pins, direction);
            let start = self.after_refresh(free);
            if start > now {
                let known = start == self.wake_at;
                self.wake_at = start;
                self.waits_for_pins = (pins > now && free == pins).then_some(direction);
                return (!known).then_some(start);
            }
            self.start(now, direction, bank, outcomes);
        }
        self.wake_at = Moment::NEVER;
        None
    }

    /// Calls [`proceed`](Self::proceed) if `now` is the time in `wake_at`, which `proceed` stores.
    pub fn wake(&mut self, now: Moment, outcomes: &mut Vec<MemoryEvent>) -> Option<Moment> {
        if now != self.wake_at {
            return None;
        }
        self.proceed(now, outcomes)
    }

    /// Returns the time from the last byte of a write until the module's Cell has the answer.
    pub fn accept_time(&self) -> Femtoseconds {
        self.accept
    }

    /// Returns the counters of the pins. A short write counts as two lines: its read and its write.
    pub fn resources(&self, number: usize) -> ResourceCounters {
        self.usage.counters(format!("memory module {number}"))
    }

    /// Returns the times of the pins and of each bank.
    pub fn parts(&self, number: usize) -> impl Iterator<Item = PartCounters> {
        let module = format!("memory module {number}");
        let pins = PartCounters::new(Part::MemoryPins, module.clone(), self.usage.busy);
        let banks = self.banks.iter().enumerate().map(move |(bank, state)| {
            PartCounters::new(
                Part::MemoryBanks,
                format!("{module}, bank {bank}"),
                state.busy,
            )
        });
        [pins].into_iter().chain(banks)
    }

    /// Moves writes into the write queue while it has room.
    fn accept(&mut self, now: Moment, outcomes: &mut Vec<MemoryEvent>) {
        while self.accepted < self.write_room
            && let Some(write) = self.outside.pop_front()
        {
            self.accepted += 1;
            let short = u64::from(write.bytes) < self.whole_write_bytes;
            let first = if short {
                Direction::Read
            } else {
                Direction::Write
            };
            self.enqueue(first, write.address, now, write.bytes, None);
            let transaction = write.transaction;
            outcomes.push(MemoryEvent::Accepted { transaction });
        }
    }

    /// Appends a write to the waiting write in the same line that ends at `address`. Returns false
    /// if no waiting write ends there.
    fn gathers(&mut self, address: u64, bytes: u32) -> bool {
        let bank = self.bank_of(address);
        let starts_line = address.is_multiple_of(LINE_BYTES);
        let mut waiting = self.banks[bank].writes.iter_mut();
        let continued =
            waiting.find(|write| !starts_line && write.address + u64::from(write.bytes) == address);
        continued.map(|write| write.bytes += bytes).is_some()
    }

    /// Returns the bank of a line: the digit sum of the line's number in base `banks`, modulo
    /// `banks`. Each group of `banks` consecutive lines uses each bank once, in another order than
    /// the group before. Only the low 32 bits of the address count. The high bits depend on the
    /// regions of main memory that were allocated before.
    fn bank_of(&self, address: u64) -> usize {
        // 32 bits, because many processors divide 64 bits more slowly.
        let banks = self.banks.len() as u32;
        let mut rest = address as u32 / LINE_BYTES as u32;
        let mut bank = 0;
        while rest > 0 {
            bank += rest % banks;
            rest /= banks;
        }
        (bank % banks) as usize
    }

    fn enqueue(
        &mut self,
        direction: Direction,
        address: u64,
        not_before: Moment,
        bytes: u32,
        reader: Option<u32>,
    ) {
        let order = self.arrivals;
        self.arrivals += 1;
        match direction {
            Direction::Read => self.reads += 1,
            Direction::Write => self.writes += 1,
        }
        let bank = self.bank_of(address);
        self.banks[bank].queue(direction).push_back(Request {
            order,
            not_before,
            address,
            bytes,
            reader,
        });
        self.firsts[direction as usize][bank] = self.banks[bank].first(direction);
    }

    /// Returns the next direction of the pins, or `None` if no request waits.
    fn next_direction(&self) -> Option<Direction> {
        use Direction::{Read, Write};
        match (self.reads, self.writes) {
            (0, 0) => None,
            (_, 0) => Some(Read),
            (0, _) => Some(Write),
            _ => {
                let turn_is_over = self.lines_on_end >= self.write_batch;
                Some(match self.direction {
                    // Continues a batch that waiting writes can fill. Otherwise reads come first.
                    Write if !turn_is_over => {
                        if self.lines_on_end + self.writes >= self.write_batch {
                            Write
                        } else {
                            Read
                        }
                    }
                    Write => Read,
                    Read if turn_is_over && self.writes >= self.write_batch => Write,
                    Read => Read,
                })
            }
        }
    }

    /// Returns the time from which the pins are free for a line in a direction.
    fn pins_free_for(&self, direction: Direction) -> Moment {
        if direction == self.direction {
            self.pins_free_at
        } else {
            self.pins_free_at + self.turnaround
        }
    }

    /// Returns the time at which the next line in a direction can start, at `pins` or later, and
    /// its bank. Leaves refreshes out. A request waits in that direction.
    fn next_start(&self, pins: Moment, direction: Direction) -> (Moment, usize) {
        let mut next = First::NONE;
        let mut bank = 0;
        for (index, first) in self.firsts[direction as usize].iter().enumerate() {
            let first = First {
                start: pins.max(first.start),
                order: first.order,
            };
            if first < next {
                (next, bank) = (first, index);
            }
        }
        (next.start, bank)
    }

    fn occupy(&mut self, now: Moment, bank: usize, span: Femtoseconds) {
        let state = &mut self.banks[bank];
        state.free_at = now + span;
        state.busy += span;
        for direction in [Direction::Read, Direction::Write] {
            self.firsts[direction as usize][bank] = state.first(direction);
        }
    }

    fn after_refresh(&self, time: Moment) -> Moment {
        if self.refresh_interval == Femtoseconds::ZERO
            || time < Moment::START + self.refresh_interval
        {
            return time;
        }
        let since_refresh = time.after_last_multiple_of(self.refresh_interval);
        time + self.refresh.saturating_sub(since_refresh)
    }

    fn start(
        &mut self,
        now: Moment,
        direction: Direction,
        bank: usize,
        outcomes: &mut Vec<MemoryEvent>,
    ) {
        let request = self.banks[bank].queue(direction).pop_front();
        let request = request.expect("a request was chosen");
        if direction != self.direction {
            self.direction = direction;
            self.lines_on_end = 0;
        }
        self.lines_on_end += 1;
        self.pins_free_at = now + self.line;
        self.waits_for_pins = None;
        self.usage.packets += 1;
        self.usage.busy += self.line;
        match direction {
            Direction::Read => {
                self.reads -= 1;
                self.occupy(now, bank, self.bank_read);
                let time = now + self.access;
                if let Some(transaction) = request.reader {
                    self.usage.bytes += u64::from(request.bytes);
                    outcomes.push(MemoryEvent::Data { transaction, time });
                } else {
                    let bytes = request.bytes;
                    self.enqueue(Direction::Write, request.address, time, bytes, None);
                }
            }
            Direction::Write => {
                self.writes -= 1;
                self.occupy(now, bank, self.bank_write);
                self.usage.bytes += u64::from(request.bytes);
                self.accepted -= 1;
                self.accept(now, outcomes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::Description;

    /// Returns the time `nanoseconds` after the start of the run.
    fn ns(nanoseconds: u64) -> Moment {
        Moment::from_femtoseconds(nanoseconds.saturating_mul(1_000_000))
    }

    fn module() -> MemoryModule {
        let mut module = Description::built_in("qs20").unwrap().modules[0].clone();
        module.bank_write_ps.value = 70_000;
        module.whole_write_bytes.value = 128;
        module.refresh_ps.value = 30_000;
        module
    }

    /// A module and its requests. Times are in nanoseconds. Line n has the address 128 n.
    struct Driver {
        memory: Memory,
        wakes: Vec<Moment>,
        requests: u32,
        starts: Vec<u64>,
        /// The transaction and the time of each read.
        data: Vec<(u32, u64)>,
        accepted: Vec<(u32, u64)>,
    }

    impl Driver {
        fn new(module: &MemoryModule) -> Self {
            Self {
                memory: Memory::new(module),
                wakes: Vec::new(),
                requests: 0,
                starts: Vec::new(),
                data: Vec::new(),
                accepted: Vec::new(),
            }
        }

        fn read(&mut self, now: u64, line: u64) {
            self.run_until(now);
            let transaction = self.requests;
            self.requests += 1;
            self.step(ns(now), |memory, outcomes| {
                memory.read(ns(now), transaction, line * 128, 128);
                memory.proceed(ns(now), outcomes)
            });
        }

        fn write(&mut self, now: u64, line: u64, bytes: u32) {
            self.run_until(now);
            let transaction = self.requests;
            self.requests += 1;
            self.step(ns(now), |memory, outcomes| {
                memory.write(ns(now), transaction, line * 128, bytes, outcomes);
                memory.proceed(ns(now), outcomes)
            });
        }

        fn run_until(&mut self, end: u64) {
            while let Some(next) = self.wakes.iter().copied().min()
                && next < ns(end)
            {
                self.wakes.retain(|&wake| wake != next);
                self.step(next, |memory, outcomes| memory.wake(next, outcomes));
            }
        }

        /// Handles all wakes, and returns the times at which requests started.
        fn starts(mut self) -> Vec<u64> {
            self.run_until(u64::MAX);
            self.starts
        }

        fn data(mut self) -> Vec<(u32, u64)> {
            self.run_until(u64::MAX);
            self.data
        }

        fn step(
            &mut self,
            now: Moment,
            act: impl FnOnce(&mut Memory, &mut Vec<MemoryEvent>) -> Option<Moment>,
        ) {
            let mut outcomes = Vec::new();
            let before = self.memory.usage.packets;
            self.wakes.extend(act(&mut self.memory, &mut outcomes));
            for _ in before..self.memory.usage.packets {
                self.starts.push(now.as_nanoseconds());
            }
            for outcome in outcomes {
                match outcome {
                    MemoryEvent::Data { transaction, time } => {
                        self.data.push((transaction, time.as_nanoseconds()))
                    }
                    MemoryEvent::Accepted { transaction } => {
                        self.accepted.push((transaction, now.as_nanoseconds()));
                    }
                }
            }
        }
    }

    #[test]
    fn an_idle_bank_takes_the_access_time() {
        let mut driver = Driver::new(&module());
        driver.read(100, 3);
        assert_eq!(driver.data(), [(0, 100 + 48)]);
    }

    #[test]
    fn lines_of_different_banks_follow_each_other_on_the_pins() {
        let mut driver = Driver::new(&module());
        (0..4).for_each(|line| driver.read(100, line));
        assert_eq!(driver.starts(), [100, 105, 110, 115]);
    }

    #[test]
    fn a_busy_bank_holds_up_its_own_requests_and_no_others() {
        let mut driver = Driver::new(&module());
        // Line 31 is in the bank of line 0, which is busy for 60 ns.
        for line in [0, 31, 1] {
            driver.read(100, line);
        }
        assert_eq!(driver.data(), [(0, 148), (2, 153), (1, 160 + 48)]);
    }

    #[test]
    fn lines_of_any_power_of_two_apart_are_in_different_banks() {
        let memory = Memory::new(&module());
        for distance in [128, 256, 2_048, 4_096, 16_384, 65_536, 1 << 20] {
            let mut banks: Vec<usize> = (0..8).map(|n| memory.bank_of(n * distance)).collect();
            banks.sort_unstable();
            banks.dedup();
            assert_eq!(banks.len(), 8, "{distance} bytes apart");
        }
    }

    #[test]
    fn writes_that_continue_one_that_waits_are_gathered() {
        let mut module = module();
        module.whole_write_bytes.value = 1;
        let mut driver = Driver::new(&module);
        let mut write = |at: u64, address: u64| {
            driver.run_until(at);
            let transaction = driver.requests;
            driver.requests += 1;
            driver.step(ns(at), |memory, outcomes| {
                memory.write(ns(at), transaction, address, 16, outcomes);
                memory.proceed(ns(at), outcomes)
            });
        };
        // The first write starts at once. The next three become one write of 48 bytes. A write of
        // the same bytes stays separate, and so does a write that begins a line.
        for (at, address) in [
            (100, 0),
            (101, 16),
            (102, 32),
            (103, 48),
            (104, 48),
            (105, 128),
        ] {
            write(at, address);
        }
        assert_eq!(driver.starts(), [100, 105, 170, 240]);
    }

    #[test]
    fn the_oldest_request_whose_bank_is_free_goes_first() {
        let mut driver = Driver::new(&module());
        // Line 31 is in bank 0, which is free at 160 ns. The pins are free at 163 ns.
        driver.read(100, 0);
        driver.read(158, 1);
        driver.read(159, 31);
        driver.read(159, 2);
        assert_eq!(
            driver.data(),
            [(0, 148), (1, 206), (2, 163 + 48), (3, 168 + 48)]
        );
    }

    #[test]
    fn a_change_of_direction_costs_the_turnaround_both_ways() {
        let mut driver = Driver::new(&module());
        driver.read(100, 0);
        driver.write(100, 1, 128);
        driver.read(111, 2);
        // A line takes 5 ns, and a turnaround takes 5 ns.
        assert_eq!(driver.starts(), [100, 110, 120]);
    }

    #[test]
    fn a_turnaround_that_passed_while_the_pins_were_idle_costs_nothing() {
        let mut driver = Driver::new(&module());
        driver.read(100, 0);
        driver.write(200, 1, 128);
        assert_eq!(driver.starts(), [100, 200]);
    }

    #[test]
    fn a_few_writes_wait_until_nothing_else_is_to_do() {
        let mut driver = Driver::new(&module());
        driver.read(100, 0);
        driver.write(101, 1, 128);
        driver.read(101, 2);
        driver.read(102, 3);
        assert_eq!(driver.memory.writes, 1);
        driver.run_until(111);
        assert_eq!(
            (driver.starts.len(), driver.memory.writes),
            (3, 1),
            "{:?}",
            driver.starts
        );
        assert_eq!(driver.starts(), [100, 105, 110, 120]);
    }

    #[test]
    fn batches_of_writes_and_reads_alternate() {
        let mut module = module();
        module.write_batch_lines.value = 2;
        let mut driver = Driver::new(&module);
        (0..6).for_each(|line| driver.read(100, line));
        (8..12).for_each(|line| driver.write(100, line, 128));
        // Two reads, a turnaround, two writes, a turnaround, and so on.
        let starts = [100, 105, 115, 120, 130, 135, 145, 150, 160, 165];
        assert_eq!(driver.starts(), starts);
    }

    #[test]
    fn a_write_is_accepted_when_the_queue_has_room() {
        let mut module = module();
        module.write_queue_lines.value = 2;
        let mut driver = Driver::new(&module);
        driver.read(100, 5);
        // All written lines are in one bank. Each write occupies the bank for 70 ns.
        for line in [0, 31, 46, 61] {
            driver.write(100, line, 128);
        }
        driver.run_until(u64::MAX);
        assert_eq!(driver.starts, [100, 110, 180, 250, 320]);
        assert_eq!(driver.accepted, [(1, 100), (2, 100), (3, 110), (4, 180)]);
    }

    #[test]
    fn a_short_write_reads_its_line_before() {
        let mut driver = Driver::new(&module());
        driver.write(100, 0, 16);
        assert_eq!(driver.accepted, [(0, 100)], "it is accepted at once");
        // The read occupies the bank for 60 ns.
        assert_eq!(driver.starts(), [100, 160]);
    }

    #[test]
    fn what_a_short_write_has_read_must_have_come() {
        let mut module = module();
        module.bank_read_ps.value = 1_000;
        let mut driver = Driver::new(&module);
        driver.write(100, 0, 64);
        assert_eq!(driver.starts(), [100, 148]);
    }

    #[test]
    fn nothing_starts_during_refresh() {
        let mut driver = Driver::new(&module());
        // Refreshes take 1,000 to 1,030 ns and 2,000 to 2,030 ns.
        for (now, line) in [(10, 0), (999, 1), (1_000, 2), (1_029, 3), (2_010, 4)] {
            driver.read(now, line);
        }
        assert_eq!(driver.starts(), [10, 999, 1_030, 1_035, 2_030]);
    }

    #[test]
    fn the_pins_carry_their_rate_less_refresh() {
        let mut driver = Driver::new(&module());
        (0..2_000).for_each(|line| driver.read(1_030, line));
        let starts = driver.starts();
        // A refresh takes 30 of each 1,000 ns. In the other 970 ns, 194 lines take 5 ns each.
        assert_eq!(starts[194 * 10] - starts[0], 10 * 1_000);
    }

    #[test]
    fn counts_lines_and_how_long_they_took() {
        let mut driver = Driver::new(&module());
        driver.read(100, 0);
        driver.write(200, 1, 16);
        driver.run_until(u64::MAX);
        let counters = driver.memory.resources(1);
        assert_eq!(counters.name, "memory module 1");
        assert_eq!((counters.packets, counters.bytes), (3, 144));
        assert_eq!(counters.busy, cellworks_machine::Span::from_nanoseconds(15));
    }
}
