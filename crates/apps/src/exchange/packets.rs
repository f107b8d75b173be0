//! Exchanges: the packets that tasks send to each other, and the SPEs of the tasks.

use cellworks_machine::SpeId;

/// Tasks that exchange packets, with one mapping of tasks to SPEs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExchangeRun {
    /// The packets of a round.
    pub exchange: Exchange,
    /// The number of measured rounds.
    pub rounds: u32,
    /// The SPE of task 0, of task 1 and so on: up to 16 different SPEs, at least 3 SPEs for a ring.
    pub spes: Vec<SpeId>,
    /// The cycles that task 0, task 1 and so on compute before their first packet. Empty if no task
    /// computes.
    pub start_cycles: Vec<u64>,
}

/// The packets that tasks send to each other in a round.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Exchange {
    /// Each task passes packets from each neighbour in the ring to the other neighbour, through
    /// notifications in main memory (the library of Keller and Varbanescu).
    Ring {
        /// The size of a packet in bytes: a multiple of 16, up to 16,384.
        packet_bytes: u32,
        /// Whether packets go around in one direction only.
        one_way: bool,
    },
    /// Each task sends a packet and a signal over each of its edges.
    Graph(Vec<Edge>),
}

/// The packet that one task sends to another in each round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The sending task.
    pub from: u8,
    /// The receiving task, which is not the sending task.
    pub to: u8,
    /// The size of a packet in bytes: a multiple of 16, up to 16,384.
    pub bytes: u32,
}

/// The number of rounds before the measurement begins.
pub(super) const WARM_UP: u32 = 10;

impl ExchangeRun {
    pub(super) fn spe_of(&self, task: u8) -> SpeId {
        self.spes[usize::from(task)]
    }

    /// Returns the tasks in ascending order of their SPEs.
    pub(super) fn tasks(&self) -> Vec<u8> {
        let mut tasks: Vec<u8> = (0..self.spes.len() as u8).collect();
        tasks.sort_by_key(|task| self.spe_of(*task));
        tasks
    }

    pub(super) fn start(&self, task: u8) -> Option<u64> {
        self.start_cycles.get(usize::from(task)).copied()
    }
}
