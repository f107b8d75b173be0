//! The items that the processes of the ring send each other, and the plan of the computation.

use std::fmt;

use cellworks_csp::Item;

/// The size of a block without its points: `number` and `first`, with 4 bytes each.
pub(super) const HEADER_BYTES: usize = 2 * 4;

/// Points that go round the ring as one item.
#[derive(Clone)]
pub(super) struct Block {
    pub number: usize,
    /// The number of the block's first point.
    pub first: u32,
    pub coordinates: Box<[f32]>,
}

impl Item for Block {
    fn bytes(&self) -> usize {
        HEADER_BYTES + self.coordinates.bytes()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) struct Neighbour {
    /// The square of the distance.
    pub squared: f32,
    pub point: u32,
}

impl Item for Neighbour {}

impl fmt::Display for Neighbour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "point {} at the squared distance {}",
            self.point, self.squared
        )
    }
}

/// The neighbours of the points of a block, nearest first.
pub(super) struct Neighbours {
    pub first: u32,
    pub neighbours: Vec<Vec<Neighbour>>,
}

impl Item for Neighbours {
    fn bytes(&self) -> usize {
        4 + self.neighbours.bytes()
    }
}

#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub processes: usize,
    pub blocks: usize,
    /// The number of blocks that become homes of a process: all blocks, or in a sample only the
    /// first blocks.
    pub homes: usize,
    /// The number of points in a block. The last block may have fewer points.
    pub block_points: usize,
    pub dimensions: usize,
    pub neighbours: usize,
}

impl Plan {
    /// Returns the number of full turns: all turns before the last turn. In a full turn, each
    /// process has a home. In the last turn, at least one process has a home.
    pub fn full_turns(&self) -> usize {
        (self.homes - 1) / self.processes
    }

    /// Returns the plan of a sample: at most `turns` full turns, and then the last turn.
    pub fn sample(self, turns: usize) -> Self {
        let left_out = self.full_turns().saturating_sub(turns);
        Self {
            homes: self.homes - left_out * self.processes,
            ..self
        }
    }

    /// Returns the block that is the `turn`-th home of a process, and the step in which the process
    /// first receives this block. Returns `None` if there are too few homes. A process receives
    /// one block in each of its steps, which are numbered from 0.
    ///
    /// Process i + 1 receives each block one step later than process i. Its home in a turn is the
    /// block before the home of process i, so process i + 1 receives its home when process i
    /// receives its own home. Therefore all processes begin a turn at the same time.
    pub fn home(&self, position: usize, turn: usize) -> Option<(usize, usize)> {
        let place = self.processes - 1 - position;
        let home = place + turn * self.processes;
        let at = place + turn * (self.blocks + self.processes);
        (home < self.homes).then_some((home, at))
    }

    /// Returns the number of steps that each process makes. After these steps, all homes have been
    /// compared with all blocks.
    pub fn length(&self) -> usize {
        let last = self.homes - 1;
        let (place, turn) = (last % self.processes, last / self.processes);
        place + turn * (self.blocks + self.processes) + self.blocks
    }
}
