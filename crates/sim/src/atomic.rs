//! The caches of the atomic units: which SPE has which line of main memory, and whether it has
//! changed the line.
//!
//! The caches decide how long an atomic command takes, not what it does: memory itself keeps the
//! bytes and the reservations on them.
//!
//! A line that any SPE has comes from that SPE's cache and not from memory, whether it was changed
//! or not: an SPU that asks for a line gets it "from another SPUs cache, if its in there" (D.
//! Calver, n4g.com/news/41514). So the module of the line makes no difference, as CellStats finds
//! (section 4.5.1). Of several caches that have the line, the one that got it last supplies it, as
//! in the MERSI protocol of other PowerPC processors. No source says which of them does on a Cell.

// Rejected: refusing commands to a line that is read or written by DMA, like those of atomic
// units. Then 1,024 elements of 16 bytes take one SPE 276 us, while the paper has at most 140 us
// with 16 SPEs, and shared buffers are slower above 1 KB.
// Rejected: trying a refused command again as soon as the line is free: the SPE that just had
// the line gets it again, 4.6 us with 16 SPEs (published: 9). Or after a command of both Cells
// (244 ns): 7.4 to 7.9 us, with steps of 1 us between numbers of SPEs.

/// A line of main memory, by its effective address over 128.
pub(crate) type LineNumber = u64;

/// The caches of all SPEs.
#[derive(Debug)]
pub(crate) struct AtomicCaches {
    /// By SPE. The last line of each is the one that was used last.
    lines: Vec<Vec<CachedLine>>,
    lines_max: usize,
    /// The commands to lines that are on the bus, with the SPE that issued each.
    under_way: Vec<(usize, LineNumber, LineCommand)>,
    /// How many lines all caches hold, so that machines without atomics pay nothing.
    count: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CachedLine {
    line: LineNumber,
    /// Whether the SPE has changed the line: then no other cache has it, and memory is not up to
    /// date.
    changed: bool,
    /// Whether the SPE was the last one to get the line: then its cache supplies the others.
    is_newest: bool,
}

/// What an atomic unit requests on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineCommand {
    /// A copy of a line, from the SPE that supplies it or else from memory.
    Read { from: Option<usize> },
    /// The line alone: the copies of all other SPEs are dropped.
    Claim,
}

/// The state of a line in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// The cache does not have the line.
    No,
    /// The cache has the line, and other caches may have it too.
    Shared,
    /// Only this cache has the line, and the SPE has changed it.
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

    /// The state of a line in the cache of an SPE.
    pub fn held(&self, spe: usize, line: LineNumber) -> Held {
        match self.lines[spe].iter().find(|cached| cached.line == line) {
            None => Held::No,
            Some(CachedLine { changed: false, .. }) => Held::Shared,
            Some(CachedLine { changed: true, .. }) => Held::Changed,
        }
    }

    /// The SPE that supplies a line: the last one that has read or changed it. `None` if memory
    /// supplies it, because that SPE has dropped the line, or there was none.
    pub fn supplier(&self, line: LineNumber) -> Option<usize> {
        let supplies = |cached: &CachedLine| cached.line == line && cached.is_newest;
        self.lines
            .iter()
            .position(|cache| cache.iter().any(supplies))
    }

    /// An SPE begins to claim a line, or to read it: from the SPE that supplies it, if there is
    /// one.
    pub fn begin(&mut self, spe: usize, line: LineNumber, command: LineCommand) {
        self.under_way.push((spe, line, command));
    }

    /// The command that the SPE began last ends.
    pub fn end(&mut self, spe: usize) {
        self.under_way.retain(|(begun_by, ..)| *begun_by != spe);
    }

    /// Whether a command of an SPE to a line is refused. While another SPE claims the line, every
    /// command to it is refused. While an SPE hands the line to others, it cannot claim it.
    pub fn refuses(&self, spe: usize, line: LineNumber, command: LineCommand) -> bool {
        let mut others = self.under_way.iter().filter(|(_, of, _)| *of == line);
        others.any(|(.., other)| match other {
            LineCommand::Claim => true,
            LineCommand::Read { from } => command == LineCommand::Claim && *from == Some(spe),
        })
    }

    /// An SPE has read a line. An SPE that had changed the line shares it from now on. If the cache
    /// is full, it drops the line that was not used for the longest time.
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

    /// An SPE has stored a line: the other caches drop it.
    pub fn store(&mut self, spe: usize, line: LineNumber) {
        self.discard(line);
        self.touch(spe, line, true);
    }

    /// The PPE or an MFC has stored to a line: all caches drop it.
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
