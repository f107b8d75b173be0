//! Exchanges: what tasks send to each other, on which SPEs, and for how long.

use cellworks_machine::SpeId;

/// Tasks that exchange packets, with one mapping.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExchangeRun {
    /// What the tasks send to each other.
    pub exchange: Exchange,
    /// The number of rounds that are measured.
    pub rounds: u32,
    /// The SPE of task 0, of task 1 and so on: up to 16 different ones; in a ring at least 3.
    pub spes: Vec<SpeId>,
    /// The cycles that each task computes before its first packet. If it is empty, no task
    /// computes.
    pub start_cycles: Vec<u64>,
}

/// What tasks send to each other in a round.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Exchange {
    /// Each task passes on packets from each neighbour in the ring to the other one, with the
    /// library of Keller and Varbanescu: notifications are in main memory.
    Ring {
        /// Bytes of a packet: a multiple of 16, up to 16,384.
        packet_bytes: u32,
        /// Whether packets go around in one direction only.
        one_way: bool,
    },
    /// Each task sends a packet over each of its edges, and a signal with it.
    Graph(Vec<Edge>),
}

/// The packet that one task sends to another in each round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The task that sends.
    pub from: u8,
    /// The task that receives, another one.
    pub to: u8,
    /// Bytes of a packet: a multiple of 16, up to 16,384.
    pub bytes: u32,
}

/// How many packets each task gets from each other task before the measurement begins.
pub(super) const WARM_UP: u32 = 10;

impl ExchangeRun {
    /// The SPE of a task.
    pub(super) fn spe_of(&self, task: u8) -> SpeId {
        self.spes[usize::from(task)]
    }

    /// The tasks in the order of their SPEs: that of thread 0, of thread 1 and so on.
    pub(super) fn tasks(&self) -> Vec<u8> {
        let mut tasks: Vec<u8> = (0..self.spes.len() as u8).collect();
        tasks.sort_by_key(|task| self.spe_of(*task));
        tasks
    }

    /// For how long a task computes before its first packet.
    pub(super) fn start(&self, task: u8) -> Option<u64> {
        self.start_cycles.get(usize::from(task)).copied()
    }
}
