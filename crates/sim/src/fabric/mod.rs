//! The fabric: command buses, interconnects, memory and the link between Cells. It computes the end
//! of each transaction, but runs no programs and moves no bytes.
//!
//! ```text
//!   begin(transaction) ─► command bus ─► snoop, link ─► source ─► interconnect ─► sink ─► Token
//!                                                       memory,   rings, mesh,
//!                                                       local     crossbar,
//!                                                       store,    matrix
//!                                                       register
//! ```
//!
//! # Commands
//!
//! A transaction begins with a command, which waits for a slot on the command bus of the
//! requester's Cell. One *phase* later all units of the Cell have *snooped* (seen) the command, and
//! their combined response is known. The target starts when the target has seen the command.
//!
//! A command to main memory is coherent: the units of both Cells, if there are two, snoop it. The
//! requester receives no data before both Cells have responded:
//!
//! ```text
//!   requester's Cell   slot ──phase──┬─► target starts                      ┌─► combined response:
//!                                    └──link──┐                             │   data goes on
//!   other Cell                                ├─► target starts ─► data ... │
//!                                             └──phase──► response ──link───┘
//! ```
//!
//! A write to the other Cell's memory sends its data when the requester's Cell has seen the
//! command. The command crosses the link together with the response of the requester's Cell, and
//! one phase later the other Cell has its own response. So the data needs to wait only for the
//! response in the other Cell. The memory controller answers over the link.
//!
//! # From Cell to Cell without coherence
//!
//! A request to a local store or register in the other Cell goes through an interface at each end
//! of the link. The interface in the target's Cell issues a command there. A read sends a command
//! one way and data the other way. A write sends its command and data, and waits for a response:
//!
//! ```text
//!   requester's Cell  slot ──phase──► source ──rings──► interface keeps the data
//!                                                        │ command and data       ▲
//!                                                        └──link──┐ response ─link┘ acknowledged
//!   target's Cell                                                 └─► slot ─phase─┘ ─► rings ─► sink
//! ```
//!
//! The interface in the requester's Cell keeps the data until the other interface has responded
//! that the command was accepted. After an acknowledgement, the other interface passes the data on.
//! The response and the acknowledgement together take the time of one message over the link.
//!
//! So on the QS20 a read or a write between Cells takes 217 ns longer than within a Cell: two
//! messages, a second phase and a second interconnect. No source describes this protocol. It is the
//! simplest protocol that agrees with the paper CellStats (tables 1 and 2): 216 ns for a mailbox
//! message, 230 ns for a signal, and 220 ns for each access of the PPE.
//!
//! # Data
//!
//! The time of a read from memory comes from [`memory`]. A write to memory is complete when the
//! memory controller has answered. For any other transaction, the access times of the local stores
//! or registers at its source and its sink are added to the times of the command and the
//! interconnect. The PPE adds no time.

mod command;
mod crossbar;
mod link;
mod matrix;
mod memory;
mod mesh;
mod network;
mod packet;
mod ports;
mod rings;
#[cfg(test)]
mod tests;
mod transaction;
mod usage;
mod way;

use crate::description::{Description, Quantity};
use crate::observe::{PartCounters, ResourceCounters};
use crate::queue::{Event, EventKind, Queue};
use crate::time::{Femtoseconds, Moment};
pub(crate) use transaction::{Access, Endpoint, Place, Token, Transaction, WORD_BYTES};
pub(crate) use way::LinkOnWay;

use command::CommandBus;
use link::Link;
use memory::{Memory, MemoryEvent};
use network::{Element, Network};
use packet::Packet;

/// An event of the fabric: a step of a transaction, of the rings or of a memory module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Step {
    /// The arbiter of the rings may grant a packet. The index of the event names the Cell.
    Arbitrate,
    /// A memory module may start a request. The index of the event names the module.
    Schedule,
    /// The units of the requester's Cell have seen the command.
    Reflected,
    /// The command arrives in the other Cell.
    Crossed,
    /// The response of the other Cell's units is known in the other Cell.
    Snooped,
    /// The combined response arrives in the requester's Cell.
    Responded,
    /// Data is ready to enter an interconnect that has no arbiter.
    Ready,
    /// Data arrives at the link in the Cell of its source.
    AtLink,
    /// Data arrives from the link in the Cell of its sink.
    OffLink,
    /// Data arrives at the memory controller that writes it.
    AtMemory,
    Complete,
}

impl Step {
    const ALL: [Self; 11] = [
        Self::Arbitrate,
        Self::Schedule,
        Self::Reflected,
        Self::Crossed,
        Self::Snooped,
        Self::Responded,
        Self::Ready,
        Self::AtLink,
        Self::OffLink,
        Self::AtMemory,
        Self::Complete,
    ];
    /// The width in bits of the transaction's index in an event's index of 19 bits. The other 4
    /// bits are the step. 2^15 transactions suffice for the MFCs of a thousand SPEs.
    const INDEX_BITS: u32 = 15;

    #[inline]
    fn index(self, of: usize) -> u32 {
        debug_assert!(of < 1 << Self::INDEX_BITS);
        (self as u32) << Self::INDEX_BITS | of as u32
    }

    #[inline]
    fn from_index(index: u32) -> (Self, usize) {
        let step = Self::ALL[(index >> Self::INDEX_BITS) as usize];
        (step, (index & ((1 << Self::INDEX_BITS) - 1)) as usize)
    }
}

/// An element, by its Cell and its number on the interconnect of the Cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Port {
    cell: u16,
    element: u16,
}

#[derive(Clone, Copy, Debug)]
struct UnderWay {
    transaction: Transaction,
    requester: Port,
    target: Port,
    /// Whether the combined response to a coherent command is known in the Cell that has the data.
    responded: bool,
    /// The time at which coherent data began to wait for the combined response.
    data_at: Option<Moment>,
    /// The packet that enters the interconnect at [`Step::Ready`].
    packet: Packet,
}

impl UnderWay {
    /// Returns the source and the sink of the data.
    fn ends(&self) -> (Port, Port) {
        match self.transaction.access {
            Access::Write => (self.requester, self.target),
            Access::Read | Access::Claim => (self.target, self.requester),
        }
    }

    fn crosses(&self) -> bool {
        self.requester.cell != self.target.cell
    }
}

/// The access times of local stores and registers.
#[derive(Debug)]
struct Ends {
    local_store_read: Femtoseconds,
    local_store_write: Femtoseconds,
    register_read: Femtoseconds,
    register_write: Femtoseconds,
}

impl Ends {
    fn new(description: &Description) -> Self {
        let cycles = |cycles: &Quantity| cycles.cycles_of(&description.clock.spu_hz);
        Self {
            local_store_read: cycles(&description.local_store.read_cycles),
            local_store_write: cycles(&description.local_store.write_cycles),
            register_read: cycles(&description.registers.read_cycles),
            register_write: cycles(&description.registers.write_cycles),
        }
    }

    /// Returns the time from the request for data until the first byte is on the bus. For data from
    /// a memory module, [`Memory`] decides this time instead.
    fn source(&self, transaction: &Transaction) -> Femtoseconds {
        match (transaction.access, transaction.place, transaction.requester) {
            (Access::Write, _, Endpoint::Spe(_)) => self.local_store_read,
            (Access::Write, ..) => Femtoseconds::ZERO,
            (_, Place::Register, _) => self.register_read,
            (..) => self.local_store_read,
        }
    }

    /// Returns the time from the last byte on the bus until the transaction is complete.
    fn sink(&self, transaction: &Transaction) -> Femtoseconds {
        match (transaction.access, transaction.place, transaction.requester) {
            (Access::Write, Place::Memory { .. }, _) => Femtoseconds::ZERO,
            (Access::Write, Place::Register, _) => self.register_write,
            (Access::Write, ..) | (_, _, Endpoint::Spe(_)) => self.local_store_write,
            (..) => Femtoseconds::ZERO,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Fabric {
    command: CommandBus,
    link: Option<Link>,
    networks: Vec<Network>,
    modules: Vec<Memory>,
    ends: Ends,
    /// The ports of the PPEs, indexed by Cell. `spe_ports` is indexed by SPE, `module_ports` by
    /// memory module, and `link_ports` by Cell.
    ppe_ports: Vec<Port>,
    spe_ports: Vec<Port>,
    module_ports: Vec<Port>,
    link_ports: Vec<Port>,
    under_way: Vec<UnderWay>,
    /// The indices of the unused entries of `under_way`.
    unused: Vec<u32>,
    /// An empty buffer of outcomes, which is used again.
    outcomes: Vec<MemoryEvent>,
}

impl Fabric {
    /// Makes the fabric of a machine. Panics if the description is not valid.
    pub fn new(description: &Description) -> Self {
        let cells = 0..description.cells.len();
        let port = |cell: usize, element| Port {
            cell: cell as u16,
            element: Network::port(description, cell, element),
        };
        let spes = description
            .cells
            .iter()
            .enumerate()
            .flat_map(|(cell, spes)| {
                let spes = spes.spes.iter().enumerate();
                spes.map(move |(index, &number)| (cell, Element::Spe { number, index }))
            });
        let modules = description.modules.iter().enumerate();
        // This capacity suffices for the transactions of all MFCs, so a long run seldom allocates.
        let spe_count = description.spes().count();
        let transactions = spe_count * description.mfc.outstanding_requests.value as usize;
        let link = Link::new(description);
        let linked = if link.is_some() { cells.clone() } else { 0..0 };
        Self {
            command: CommandBus::new(description),
            link,
            networks: cells
                .clone()
                .map(|cell| Network::new(description, cell))
                .collect(),
            modules: description.modules.iter().map(Memory::new).collect(),
            ends: Ends::new(description),
            ppe_ports: cells.map(|cell| port(cell, Element::Ppe)).collect(),
            spe_ports: spes.map(|(cell, spe)| port(cell, spe)).collect(),
            module_ports: modules
                .map(|(module, at)| port(usize::from(at.cell), Element::Memory { module }))
                .collect(),
            link_ports: linked.map(|cell| port(cell, Element::Link)).collect(),
            under_way: Vec::with_capacity(transactions),
            unused: Vec::with_capacity(transactions),
            outcomes: Vec::new(),
        }
    }

    /// Begins a transaction. [`handle`](Self::handle) returns its token when it is complete.
    pub fn begin(&mut self, now: Moment, transaction: Transaction, queue: &mut Queue) {
        let id = self.insert(transaction);
        let entry = &self.under_way[id];
        let cell = usize::from(entry.requester.cell);
        if transaction.place.is_coherent() {
            let slot = self.command.coherent_slot(now, cell);
            self.at(slot + self.command.phase, Step::Reflected, id, queue);
            return;
        }
        let crosses = entry.crosses();
        let reflected = self.command.slot(now, cell) + self.command.phase;
        match transaction.access {
            Access::Claim => self.at(reflected, Step::Complete, id, queue),
            Access::Read if crosses => self.at(reflected, Step::Reflected, id, queue),
            // The source waits for nothing else, so the departure of its data is known now.
            Access::Read | Access::Write => {
                let ready = reflected + self.ends.source(&transaction);
                self.leave_source(ready, id, queue);
            }
        }
    }

    /// Handles an event of the fabric. Appends the tokens of complete transactions to `done`.
    pub fn handle(&mut self, now: Moment, index: u32, queue: &mut Queue, done: &mut Vec<Token>) {
        let (step, id) = Step::from_index(index);
        match step {
            Step::Arbitrate => self.arbitrate(now, id, queue),
            Step::Schedule => {
                let mut outcomes = std::mem::take(&mut self.outcomes);
                let wake = self.modules[id].wake(now, &mut outcomes);
                self.after_memory(now, id, wake, outcomes, queue);
            }
            Step::Reflected => self.reflected(now, id, queue),
            Step::Crossed => self.crossed(now, id, queue),
            Step::Snooped if self.is_written_across(id) => self.responded(now, id, queue),
            Step::Snooped => {
                let other = self.other_cell(id);
                let arrival = self.link().command(now, other);
                self.at(arrival, Step::Responded, id, queue);
            }
            Step::Responded => self.responded(now, id, queue),
            Step::Ready => {
                let packet = self.under_way[id].packet;
                let cell = self.cell_of_packet(id, &packet);
                let arrival = self.networks[cell].arrival(now, &packet);
                let arrival = arrival.expect("an interconnect without an arbiter");
                push(arrival + packet.sink, packet.then, queue);
            }
            Step::AtLink => {
                let entry = &self.under_way[id];
                let (source, _) = entry.ends();
                let bytes = entry.transaction.bytes;
                let arrival = self.link().data_at(now, usize::from(source.cell), bytes);
                self.at(arrival, Step::OffLink, id, queue);
            }
            Step::OffLink => self.off_link(now, id, queue),
            Step::AtMemory => {
                let Transaction {
                    target: Endpoint::Module(module),
                    place: Place::Memory { address },
                    bytes,
                    ..
                } = self.under_way[id].transaction
                else {
                    unreachable!("memory is in a module");
                };
                let module = usize::from(module);
                let mut outcomes = std::mem::take(&mut self.outcomes);
                self.modules[module].write(now, id as u32, address, bytes, &mut outcomes);
                let wake = self.modules[module].proceed(now, &mut outcomes);
                self.after_memory(now, module, wake, outcomes, queue);
            }
            Step::Complete => {
                done.push(self.under_way[id].transaction.token);
                self.unused.push(id as u32);
            }
        }
    }

    /// Returns the time from a write command of `from` until the written word is in a register of
    /// `to`. Returns `None` on rings and meshes, where words and other packets delay each other.
    #[inline]
    pub fn word_latency(&self, from: Endpoint, to: Endpoint) -> Option<Femtoseconds> {
        let (from, to) = (self.port(from), self.port(to));
        let network = self.networks[usize::from(from.cell)].word(from.element, to.element)?;
        let ends = self.ends.local_store_read + self.ends.register_write;
        Some(self.command.phase + network + ends)
    }

    pub fn resources(&self) -> Vec<ResourceCounters> {
        let networks = self.networks.iter().enumerate();
        let modules = self.modules.iter().enumerate();
        networks
            .flat_map(|(cell, network)| network.resources(cell))
            .chain(modules.map(|(number, module)| module.resources(number)))
            .chain(self.link.iter().flat_map(Link::resources))
            .collect()
    }

    /// Lets any number of packets pass a port at once.
    pub fn free_ports(&mut self) {
        self.networks.iter_mut().for_each(Network::free_ports);
    }

    /// Returns the times of all parts that a run uses.
    pub fn parts(&self) -> Vec<PartCounters> {
        let networks = self.networks.iter().enumerate();
        let modules = self.modules.iter().enumerate();
        modules
            .flat_map(|(number, module)| module.parts(number))
            .chain(networks.flat_map(|(cell, network)| network.parts(cell)))
            .chain(self.command.parts())
            .chain(self.link.iter().flat_map(Link::parts))
            .collect()
    }

    fn insert(&mut self, transaction: Transaction) -> usize {
        let entry = UnderWay {
            transaction,
            requester: self.port(transaction.requester),
            target: self.port(transaction.target),
            responded: false,
            data_at: None,
            packet: Packet::default(),
        };
        if let Some(id) = self.unused.pop() {
            self.under_way[id as usize] = entry;
            return id as usize;
        }
        self.under_way.push(entry);
        let count = self.under_way.len();
        assert!(
            count <= 1 << Step::INDEX_BITS,
            "{count} transactions under way"
        );
        count - 1
    }

    fn port(&self, node: Endpoint) -> Port {
        match node {
            Endpoint::Ppe { cell } => self.ppe_ports[usize::from(cell)],
            Endpoint::Spe(id) => self.spe_ports[usize::from(id)],
            Endpoint::Module(number) => self.module_ports[usize::from(number)],
        }
    }

    fn link(&mut self) -> &mut Link {
        self.link.as_mut().expect("two Cells have a link")
    }

    fn other_cell(&self, id: usize) -> usize {
        1 - usize::from(self.under_way[id].requester.cell)
    }

    fn at(&self, time: Moment, step: Step, id: usize, queue: &mut Queue) {
        push(time, step.index(id), queue);
    }

    /// Continues a transaction when the units of the requester's Cell have seen its command.
    fn reflected(&mut self, now: Moment, id: usize, queue: &mut Queue) {
        let entry = self.under_way[id];
        let own_cell = usize::from(entry.requester.cell);
        let coherent = entry.transaction.place.is_coherent();
        if coherent && !entry.crosses() && entry.transaction.access == Access::Read {
            self.start_source(now, id, queue);
        }
        if self.link.is_none() {
            self.responded(now, id, queue);
            return;
        }
        if self.is_written_across(id) {
            let ready = now + self.ends.source(&entry.transaction);
            self.leave_source(ready, id, queue);
        }
        let arrival = self.link().command(now, own_cell);
        if entry.crosses() && entry.transaction.access == Access::Read {
            self.at(arrival, Step::Crossed, id, queue);
        }
        if coherent {
            self.at(arrival + self.command.phase, Step::Snooped, id, queue);
        }
    }

    /// Continues a read from the other Cell when its command arrives in that Cell.
    fn crossed(&mut self, now: Moment, id: usize, queue: &mut Queue) {
        let entry = &self.under_way[id];
        let (transaction, cell) = (entry.transaction, usize::from(entry.target.cell));
        if transaction.place.is_coherent() {
            self.start_source(now, id, queue);
            return;
        }
        let reflected = self.command.slot(now, cell) + self.command.phase;
        let ready = reflected + self.ends.source(&transaction);
        self.leave_source(ready, id, queue);
    }

    /// Continues a coherent read when its target has seen the command.
    fn start_source(&mut self, now: Moment, id: usize, queue: &mut Queue) {
        let transaction = self.under_way[id].transaction;
        match (transaction.place, transaction.target) {
            (Place::Memory { address }, Endpoint::Module(module)) => {
                let module = usize::from(module);
                let mut outcomes = std::mem::take(&mut self.outcomes);
                let memory = &mut self.modules[module];
                memory.read(now, id as u32, address, transaction.bytes);
                let wake = memory.proceed(now, &mut outcomes);
                self.after_memory(now, module, wake, outcomes, queue);
            }
            _ => {
                let ready = now + self.ends.source(&transaction);
                self.source_ready(ready, id, queue);
            }
        }
    }

    /// Continues the transactions for which a memory module has outcomes.
    fn after_memory(
        &mut self,
        now: Moment,
        module: usize,
        wake_at: Option<Moment>,
        mut outcomes: Vec<MemoryEvent>,
        queue: &mut Queue,
    ) {
        for outcome in outcomes.drain(..) {
            match outcome {
                MemoryEvent::Data { transaction, time } => {
                    self.source_ready(time, transaction as usize, queue)
                }
                MemoryEvent::Accepted { transaction } => {
                    let id = transaction as usize;
                    let mut told_at = now + self.modules[module].accept_time();
                    if self.under_way[id].crosses() {
                        let cell = usize::from(self.under_way[id].target.cell);
                        told_at = self.link().command(told_at, cell);
                    }
                    self.at(told_at, Step::Complete, id, queue);
                }
            }
        }
        self.outcomes = outcomes;
        if let Some(wake) = wake_at {
            self.at(wake, Step::Schedule, module, queue);
        }
    }

    /// Continues a coherent read with data that is ready at `ready_at`. Within a Cell the data
    /// waits for the combined response, but data from the other Cell leaves at once.
    fn source_ready(&mut self, ready_at: Moment, id: usize, queue: &mut Queue) {
        let entry = &mut self.under_way[id];
        if entry.crosses() || entry.responded {
            self.leave_source(ready_at, id, queue);
        } else {
            entry.data_at = Some(ready_at);
        }
    }

    /// Continues a transaction when the combined response is known: in the other Cell for a write
    /// to the other Cell's memory, and in the requester's Cell for any other transaction.
    fn responded(&mut self, now: Moment, id: usize, queue: &mut Queue) {
        let is_written_across = self.is_written_across(id);
        let entry = &mut self.under_way[id];
        let transaction = entry.transaction;
        match transaction.access {
            Access::Claim => self.at(now, Step::Complete, id, queue),
            Access::Read => {
                entry.responded = true;
                if let Some(data_at) = entry.data_at {
                    let ready = now.max(data_at);
                    if entry.crosses() {
                        self.enter_from_link(ready, id, queue);
                    } else {
                        self.leave_source(ready, id, queue);
                    }
                }
            }
            Access::Write if is_written_across => {
                entry.responded = true;
                if let Some(data_at) = entry.data_at {
                    self.enter_from_link(now.max(data_at), id, queue);
                }
            }
            Access::Write if transaction.place.is_coherent() => {
                let ready = now + self.ends.source(&transaction);
                self.leave_source(ready, id, queue);
            }
            Access::Write => {
                // This only occupies the link: the response includes the acknowledgement's time.
                let own_cell = usize::from(entry.requester.cell);
                self.link().command(now, own_cell);
                self.enter_from_link(now, id, queue);
            }
        }
    }

    /// Continues a transaction whose data arrives from the link in the Cell of its sink.
    fn off_link(&mut self, now: Moment, id: usize, queue: &mut Queue) {
        let entry = &mut self.under_way[id];
        let coherent = entry.transaction.place.is_coherent();
        match entry.transaction.access {
            Access::Read | Access::Write if coherent && !entry.responded => {
                entry.data_at = Some(now);
            }
            Access::Write if !coherent => {
                let cell = usize::from(entry.target.cell);
                let slot = self.command.slot(now, cell);
                self.at(slot + self.command.phase, Step::Snooped, id, queue);
            }
            _ => self.enter_from_link(now, id, queue),
        }
    }

    /// Returns whether a transaction writes to the memory of the other Cell.
    fn is_written_across(&self, id: usize) -> bool {
        let entry = &self.under_way[id];
        let transaction = &entry.transaction;
        let to_memory = matches!(transaction.place, Place::Memory { .. });
        to_memory && transaction.access == Access::Write && entry.crosses()
    }

    /// Sends data from its source into the interconnect of the source's Cell.
    fn leave_source(&mut self, ready_at: Moment, id: usize, queue: &mut Queue) {
        let entry = &self.under_way[id];
        let (source, sink) = entry.ends();
        if source.cell != sink.cell {
            let interface = self.link_ports[usize::from(source.cell)];
            let then = Step::AtLink.index(id);
            self.send(
                ready_at,
                id,
                [source, interface],
                Femtoseconds::ZERO,
                then,
                queue,
            );
        } else {
            self.send_to_sink(ready_at, id, source, sink, queue);
        }
    }

    /// Sends data from the link into the interconnect of the sink's Cell.
    fn enter_from_link(&mut self, ready_at: Moment, id: usize, queue: &mut Queue) {
        let (_, sink) = self.under_way[id].ends();
        let interface = self.link_ports[usize::from(sink.cell)];
        self.send_to_sink(ready_at, id, interface, sink, queue);
    }

    fn send_to_sink(
        &mut self,
        ready_at: Moment,
        id: usize,
        from: Port,
        to: Port,
        queue: &mut Queue,
    ) {
        let transaction = &self.under_way[id].transaction;
        let to_memory = transaction.access == Access::Write
            && matches!(transaction.place, Place::Memory { .. });
        let then = if to_memory {
            Step::AtMemory
        } else {
            Step::Complete
        };
        let sink = self.ends.sink(transaction);
        self.send(ready_at, id, [from, to], sink, then.index(id), queue);
    }

    fn send(
        &mut self,
        ready_at: Moment,
        id: usize,
        [from, to]: [Port; 2],
        sink: Femtoseconds,
        then: u32,
        queue: &mut Queue,
    ) {
        let entry = &mut self.under_way[id];
        let packet = Packet {
            ready_at,
            sink,
            then,
            bytes: entry.transaction.bytes,
            from: from.element,
            to: to.element,
            between_caches: entry.transaction.place == Place::AtomicCache,
        };
        let cell = usize::from(from.cell);
        if let Network::Rings(rings) = &mut self.networks[cell] {
            if let Some(wake) = rings.send(packet) {
                self.at(wake, Step::Arbitrate, cell, queue);
            }
        } else {
            entry.packet = packet;
            self.at(ready_at, Step::Ready, id, queue);
        }
    }

    fn cell_of_packet(&self, id: usize, packet: &Packet) -> usize {
        let (source, sink) = self.under_way[id].ends();
        let leaves = packet.then == Step::AtLink.index(id);
        usize::from(if leaves { source.cell } else { sink.cell })
    }

    fn arbitrate(&mut self, now: Moment, cell: usize, queue: &mut Queue) {
        let Network::Rings(rings) = &mut self.networks[cell] else {
            unreachable!("only rings have an arbiter");
        };
        let wake = rings.arbitrate(now, |arrival, packet| {
            push(arrival + packet.sink, packet.then, queue);
        });
        if let Some(wake) = wake {
            push(wake, Step::Arbitrate.index(cell), queue);
        }
    }
}

#[inline]
fn push(time: Moment, index: u32, queue: &mut Queue) {
    let kind = EventKind::Fabric;
    queue.push(time, Event { kind, index });
}
