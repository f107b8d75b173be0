//! Ordinary code walks structures of pointers: a B+-tree, a graph, and a hash join with buckets.
//!
//! Each look-up is one function that is generic over how it reads a node. The plain loop loads
//! nodes, and interleaved work stages nodes. Nothing else differs.

use cellworks_host::HostSpe;
use cellworks_machine::{InFlight, InterleavedSpe};

use crate::memory::{Pages, Table};
use crate::table::{compare, is_wanted};
use crate::{Work, interleave, key};

/// The number of look-ups in one measurement.
const PROBES: usize = 1 << 18;

/// Reads a node of a structure: `N` words from `at` on.
trait Read {
    fn read<const N: usize>(&self, memory: &[u64], at: usize) -> [u64; N];
}

/// Reads by plain loads.
struct Plainly;

impl Read for Plainly {
    #[inline(always)]
    fn read<const N: usize>(&self, memory: &[u64], at: usize) -> [u64; N] {
        *memory[at..]
            .first_chunk()
            .expect("a node lies in the memory")
    }
}

/// Reads by staging.
struct Staging<'a>(InterleavedSpe<'a, HostSpe>);

impl Read for Staging<'_> {
    #[inline(always)]
    fn read<const N: usize>(&self, memory: &[u64], at: usize) -> [u64; N] {
        let node = self.0.stage(&memory[at..at + N]).expect("room for a node");
        *node.first_chunk().expect("as many words as were staged")
    }
}

pub fn measure(spe: &HostSpe, bytes: usize, size: &str) {
    let memory = || Table::new(bytes, Pages::Huge);
    let title = format!("B+-tree of {size}");
    if is_wanted(&title) {
        let mut memory = memory();
        let tree = Tree::build(memory.words_mut());
        three(
            spe,
            &title,
            tree.levels,
            |probe| tree.find(&Plainly, memory.words(), probe),
            |spe, probe| tree.find(&Staging(spe), memory.words(), probe),
        );
    }
    let title = format!("Walks of 8 steps in a graph of {size}");
    if is_wanted(&title) {
        let mut memory = memory();
        fill_graph(memory.words_mut());
        three(
            spe,
            &title,
            8,
            |probe| walk(&Plainly, memory.words(), probe),
            |spe, probe| walk(&Staging(spe), memory.words(), probe),
        );
    }
    let title = format!("Hash join with a build side in chains, {size}");
    if is_wanted(&title) {
        let mut memory = memory();
        let join = Join::build(memory.words_mut());
        three(
            spe,
            &title,
            1,
            |probe| join.probe(&Plainly, memory.words(), probe),
            |spe, probe| join.probe(&Staging(spe), memory.words(), probe),
        );
    }
}

/// Measures a look-up in a plain loop and with interleaved work.
fn three(
    spe: &HostSpe,
    title: &str,
    misses: usize,
    plainly: impl Fn(usize) -> u64,
    staging: impl Fn(InterleavedSpe<'_, HostSpe>, usize) -> u64,
) {
    let (work, staging) = (Work::new(PROBES, misses), &staging);
    let interleaved = |name, in_flight: InFlight| {
        work.method(name, move |probes| {
            interleave(spe, in_flight, probes, staging)
        })
    };
    let add = |sum: u64, probe| sum.wrapping_add(plainly(probe));
    let methods = vec![
        work.method("plain loop", |probes| (0..probes).fold(0, add)),
        interleaved("**interleave**, 16", 16.into()),
        interleaved("**interleave**, 32", 32.into()),
        interleaved("**interleave**, 64", 64.into()),
        interleaved("**interleave**, automatic", InFlight::Automatic),
    ];
    compare(title, methods);
}

/// A B+-tree. Its inner nodes have 8 keys (one line) and 9 children, and are laid out level by
/// level. Its keys are the multiples of 2 from 0 on.
struct Tree {
    levels: usize,
    keys: u64,
    /// The index at which each level begins, the root first.
    begins: Vec<usize>,
}

const FANOUT: usize = 9;
const NODE_WORDS: usize = FANOUT - 1;

impl Tree {
    fn build(memory: &mut [u64]) -> Self {
        // A level has 9 times as many nodes as the level above.
        let (mut begins, mut nodes) = (vec![0], 1);
        loop {
            let end = begins.last().expect("there is a root") + nodes * NODE_WORDS;
            if end + nodes * FANOUT * NODE_WORDS > memory.len() {
                break;
            }
            begins.push(end);
            nodes *= FANOUT;
        }
        let levels = begins.len();
        // A node of the level above the leaves has 9 leaves of 8 keys.
        let keys = (nodes * NODE_WORDS) as u64;
        for (level, begin) in begins.iter().enumerate() {
            let below = keys / FANOUT.pow(level as u32) as u64;
            for node in 0..FANOUT.pow(level as u32) {
                for slot in 0..NODE_WORDS {
                    let first = node as u64 * below;
                    memory[begin + node * NODE_WORDS + slot] = if level + 1 == levels {
                        2 * (first + slot as u64)
                    } else {
                        // The first key of the child to the right of this key.
                        2 * (first + (slot as u64 + 1) * (below / FANOUT as u64))
                    };
                }
            }
        }
        Self {
            levels,
            keys,
            begins,
        }
    }

    /// The number of keys that are smaller than the wanted key, if the tree has that key.
    #[inline(always)]
    fn find(&self, reader: &impl Read, memory: &[u64], probe: usize) -> u64 {
        let wanted = key(probe) % (2 * self.keys);
        let mut node = 0;
        for (level, begin) in self.begins.iter().enumerate() {
            let keys: [u64; NODE_WORDS] = reader.read(memory, begin + node * NODE_WORDS);
            if level + 1 == self.levels {
                let found = keys.iter().position(|key| *key == wanted);
                return found.map_or(0, |slot| (node * NODE_WORDS + slot) as u64);
            }
            let child = keys.iter().filter(|key| **key <= wanted).count();
            node = node * FANOUT + child;
        }
        unreachable!("the last level returns")
    }
}

/// Fills memory with nodes of 8 words: 7 edges to other nodes, and a value.
fn fill_graph(memory: &mut [u64]) {
    let nodes = memory.len() as u64 / 8;
    for (at, word) in memory.iter_mut().enumerate() {
        *word = key(at) % nodes;
    }
}

#[inline(always)]
fn walk(reader: &impl Read, memory: &[u64], probe: usize) -> u64 {
    let key = key(probe);
    let mut node = key as usize % (memory.len() / 8);
    let mut sum = 0_u64;
    for step in 0..8 {
        let words: [u64; 8] = reader.read(memory, node * 8);
        sum = sum.wrapping_add(words[7]);
        node = words[(key >> (8 * step)) as usize % 7] as usize;
    }
    sum
}

/// The build side of a hash join. A bucket holds the first row of a chain. A row has a key, a
/// payload and the next row.
struct Join {
    rows: usize,
    buckets: usize,
}

const ROW_WORDS: usize = 4;
const NO_ROW: u64 = u64::MAX;

impl Join {
    fn build(memory: &mut [u64]) -> Self {
        // A bucket takes one word, and a row takes four.
        let rows = memory.len() / (ROW_WORDS + 2);
        let buckets = rows.next_power_of_two() / 2;
        memory[..buckets].fill(NO_ROW);
        for row in 0..rows {
            let key = key(row);
            let bucket = key as usize & (buckets - 1);
            let at = buckets + row * ROW_WORDS;
            memory[at] = key;
            memory[at + 1] = row as u64;
            memory[at + 2] = memory[bucket];
            memory[bucket] = row as u64;
        }
        Self { rows, buckets }
    }

    /// The payload of the row with a key. Half of the keys have no row.
    #[inline(always)]
    fn probe(&self, reader: &impl Read, memory: &[u64], probe: usize) -> u64 {
        let key = key(probe * 2_654_435_761 % (2 * self.rows));
        let [mut row] = reader.read(memory, key as usize & (self.buckets - 1));
        while row != NO_ROW {
            let [found, payload, next, _]: [u64; ROW_WORDS] =
                reader.read(memory, self.buckets + row as usize * ROW_WORDS);
            if found == key {
                return payload;
            }
            row = next;
        }
        0
    }
}
