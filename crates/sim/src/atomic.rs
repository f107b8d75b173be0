//! The caches of the atomic units: which SPEs have a copy of a line of main memory, and which have
//! changed it. The caches only decide the time of an atomic command. The bytes and the reservations
//! are in main memory.
//!
//! A line comes from a cache that holds the line, and not from memory, even if the line is
//! unchanged. Sources: D. Calver (n4g.com/news/41514: "from another SPUs cache, if its in there"),
//! and the paper CellStats (section 4.5.1), in which the time does not depend on the memory module
//! of the line. If several caches hold the line, the cache that received it last supplies it, as in
//! the MERSI protocol of other PowerPC processors. No source confirms this choice for the Cell.

// Rejected: repeating a refused command as soon as the line is free. The SPE that had the line then
// claims it again, and a fetch-and-add by 16 SPEs takes 4.6 us (published: 9).
//
// Rejected: repeating a refused command after 244 ns, the time of a command that both Cells answer.
// The fetch-and-add takes 7.4 to 7.9 us, and one more SPE may add 1 us.
//
// Rejected: refusing commands to a line that DMA reads or writes. One SPE takes 276 us for a list
// of 1,024 elements of 16 bytes (CellStats: at most 140 us with 16 SPEs).

/// The number of a line of main memory: its effective address divided by 128.
pub(crate) type LineNumber = u64;

#[derive(Debug)]
pub(crate) struct AtomicCaches {
    /// The cached lines of each SPE, with the most recently used line last.
    lines: Vec<Vec<CachedLine>>,
    lines_max: usize,
    /// The commands that are on the bus: the SPE, the line and the command.
    under_way: Vec<(usize, LineNumber, LineCommand)>,
    /// The number of lines in all caches. If it is 0, `discard` searches no cache.
    count: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CachedLine {
    line: LineNumber,
    /// Whether the SPE has changed the line. No other cache holds a changed line.
    changed: bool,
    /// Whether this cache received the line last. Then it supplies the line to other SPEs.
    is_newest: bool,
}

/// A command of an atomic unit to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineCommand {
    /// Reads a copy of the line from the cache of the SPE `from`, or from memory for `None`.
    Read { from: Option<usize> },
    /// Claims the line for one SPE: all other caches drop the line.
    Claim,
}

/// The state of a line in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// The cache does not hold the line.
    No,
    /// The cache holds the line unchanged. Other caches may hold it too.
    Shared,
    /// Only this cache holds the line, which its SPE has changed.
    Changed,
}

impl AtomicCaches {
    pub fn new(spes: usize, lines_max: usize) -> Self {
        Self {
            lines: vec![Vec::new(); spes],
            lines_max,
            under_way: Vec::new(),
            count: 0,
        }
    }

    pub fn held(&self, spe: usize, line: LineNumber) -> Held {
        match self.lines[spe].iter().find(|cached| cached.line == line) {
            None => Held::No,
            Some(CachedLine { changed: false, .. }) => Held::Shared,
            Some(CachedLine { changed: true, .. }) => Held::Changed,
        }
    }

    /// Returns the SPE whose cache supplies a line, or `None` if memory supplies the line.
    pub fn supplier(&self, line: LineNumber) -> Option<usize> {
        let supplies = |cached: &CachedLine| cached.line == line && cached.is_newest;
        self.lines
            .iter()
            .position(|cache| cache.iter().any(supplies))
    }

    /// Records the start of a command of an SPE.
    pub fn begin(&mut self, spe: usize, line: LineNumber, command: LineCommand) {
        self.under_way.push((spe, line, command));
    }

    /// Records the end of the command of an SPE.
    pub fn end(&mut self, spe: usize) {
        self.under_way.retain(|(begun_by, ..)| *begun_by != spe);
    }

    /// Returns whether a command of `spe` to a line is refused. While another SPE claims the line,
    /// every command is refused. While another SPE reads the line from the cache of `spe`, a claim
    /// is refused.
    pub fn refuses(&self, spe: usize, line: LineNumber, command: LineCommand) -> bool {
        let mut others = self.under_way.iter().filter(|(_, of, _)| *of == line);
        others.any(|(.., other)| match other {
            LineCommand::Claim => true,
            LineCommand::Read { from } => command == LineCommand::Claim && *from == Some(spe),
        })
    }

    /// Records that an SPE has read a line. A changed line in another cache becomes shared. A full
    /// cache drops its least recently used line.
    pub fn read(&mut self, spe: usize, line: LineNumber) {
        let changed = self.held(spe, line) == Held::Changed;
        for cached in self.lines.iter_mut().flatten() {
            if cached.line == line {
                cached.changed = changed;
                cached.is_newest = false;
            }
        }
        self.touch(spe, line, changed);
    }

    /// Records that an SPE has stored to a line, which all other caches drop.
    pub fn store(&mut self, spe: usize, line: LineNumber) {
        self.discard(line);
        self.touch(spe, line, true);
    }

    /// Records that the PPE or an MFC has stored to a line, which all caches drop.
    #[inline]
    pub fn discard(&mut self, line: LineNumber) {
        if self.count == 0 {
            return;
        }
        for cache in &mut self.lines {
            let before = cache.len();
            cache.retain(|cached| cached.line != line);
            self.count -= before - cache.len();
        }
    }

    fn touch(&mut self, spe: usize, line: LineNumber, changed: bool) {
        let cache = &mut self.lines[spe];
        let before = cache.len();
        cache.retain(|cached| cached.line != line);
        if cache.len() == self.lines_max {
            cache.remove(0);
        }
        cache.push(CachedLine {
            line,
            changed,
            is_newest: true,
        });
        self.count = self.count + cache.len() - before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_changed_by_one_or_shared_by_many() {
        let mut caches = AtomicCaches::new(3, 6);
        assert_eq!(caches.held(0, 7), Held::No);
        caches.read(0, 7);
        caches.read(1, 7);
        assert_eq!(
            (caches.held(0, 7), caches.held(1, 7)),
            (Held::Shared, Held::Shared)
        );
        caches.store(1, 7);
        assert_eq!(
            (caches.held(0, 7), caches.held(1, 7)),
            (Held::No, Held::Changed)
        );
        caches.read(1, 7);
        assert_eq!(
            caches.held(1, 7),
            Held::Changed,
            "its own reads change nothing"
        );
        caches.read(2, 7);
        assert_eq!(
            (caches.held(1, 7), caches.held(2, 7)),
            (Held::Shared, Held::Shared)
        );
        caches.discard(7);
        assert_eq!((caches.held(1, 7), caches.count), (Held::No, 0));
    }

    #[test]
    fn the_cache_that_got_a_line_last_supplies_it() {
        let mut caches = AtomicCaches::new(3, 1);
        assert_eq!(caches.supplier(7), None, "memory");
        caches.read(0, 7);
        caches.read(1, 7);
        assert_eq!(
            caches.supplier(7),
            Some(1),
            "although it has not changed it"
        );
        caches.store(0, 7);
        assert_eq!(caches.supplier(7), Some(0));
        caches.read(2, 7);
        assert_eq!(caches.supplier(7), Some(2));
        caches.read(2, 8);
        assert_eq!(caches.supplier(7), None, "SPE 2 has dropped it");
        caches.discard(8);
        assert_eq!(caches.supplier(8), None);
    }

    #[test]
    fn a_line_that_is_claimed_or_handed_on_is_refused() {
        use LineCommand::{Claim, Read};
        let mut caches = AtomicCaches::new(3, 6);
        let from_memory = Read { from: None };
        caches.begin(1, 7, Claim);
        assert!(caches.refuses(2, 7, from_memory) && caches.refuses(2, 7, Claim));
        assert!(!caches.refuses(2, 8, Claim), "another line");
        caches.end(1);
        assert!(!caches.refuses(2, 7, Claim));
        caches.begin(2, 7, Read { from: Some(1) });
        assert!(caches.refuses(1, 7, Claim), "it is handing the line on");
        assert!(!caches.refuses(0, 7, Claim) && !caches.refuses(0, 7, from_memory));
    }

    #[test]
    fn the_line_that_was_not_used_for_longest_goes() {
        let mut caches = AtomicCaches::new(1, 2);
        for line in [1, 2, 1, 3] {
            caches.read(0, line);
        }
        assert_eq!(
            [1, 2, 3].map(|line| caches.held(0, line)),
            [Held::Shared, Held::No, Held::Shared]
        );
        assert_eq!(caches.count, 2);
    }
}
