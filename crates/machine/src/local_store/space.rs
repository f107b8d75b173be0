//! The reserved parts of a local store and their purposes.

use std::fmt;
use std::panic::Location;

/// An allocator for the addresses of one local store.
///
/// A reservation takes the lowest free range that is large enough. Each reserved part, called a
/// *holder*, records its purpose and the reserving source line for error messages. All operations
/// scan a sorted array, because a local store has only some tens of holders.
#[derive(Clone, Debug)]
pub struct Space {
    bytes: u32,
    /// The reserved parts, sorted by address. The gaps between them are free.
    holders: Vec<Holder>,
    held: u32,
    /// The largest value of `held` since the last call of `begin_peak`.
    peak: u32,
}

/// A reserved part of a local store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The local-store address of the first byte.
    pub start: u32,
    /// The number of bytes, at least 1.
    pub bytes: u32,
    /// The purpose of the part in messages, such as `staged [f32]`.
    pub what: &'static str,
    /// The source line of the reservation.
    pub at: &'static Location<'static>,
}

impl Holder {
    fn end(&self) -> u32 {
        self.start + self.bytes
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Holder {
            bytes, what, at, ..
        } = self;
        write!(f, "{bytes} bytes for {what} at {}:{}", at.file(), at.line())
    }
}

impl Space {
    /// Returns the space of a local store of `bytes` bytes, all free.
    pub const fn new(bytes: u32) -> Space {
        Space {
            bytes,
            holders: Vec::new(),
            held: 0,
            peak: 0,
        }
    }

    /// Reserves `bytes` bytes (1 if `bytes` is 0) at a multiple of `align`, and returns the first
    /// address. The purpose `what` and the source line `at` appear in error messages.
    ///
    /// # Errors
    ///
    /// Returns [`NoRoom`] if no free range is large enough.
    ///
    /// # Panics
    ///
    /// Panics if `align` is not a power of two.
    pub fn reserve(
        &mut self,
        bytes: usize,
        align: u32,
        what: &'static str,
        at: &'static Location<'static>,
    ) -> Result<u32, NoRoom> {
        assert!(
            align.is_power_of_two(),
            "an alignment of {align} bytes is not a power of two"
        );
        let need = bytes.max(1);
        let found = self.holes().enumerate().find_map(|(index, hole)| {
            let start = u64::from(hole.start).next_multiple_of(align.into());
            let room = u64::from(hole.end).checked_sub(start)?;
            // Start and size fit into `u32`, because the reservation lies inside the free range.
            (need as u64 <= room).then_some((index, start as u32, need as u32))
        });
        let Some((index, start, bytes)) = found else {
            return Err(self.no_room(bytes, align, what, at));
        };
        self.holders.insert(
            index,
            Holder {
                start,
                bytes,
                what,
                at,
            },
        );
        self.held += bytes;
        self.peak = self.peak.max(self.held);
        Ok(start)
    }

    /// Frees the reservation that starts at `start`.
    ///
    /// # Panics
    ///
    /// Panics if no reservation starts at `start`.
    #[track_caller]
    pub fn release(&mut self, start: u32) {
        match self
            .holders
            .binary_search_by_key(&start, |holder| holder.start)
        {
            Ok(index) => self.held -= self.holders.remove(index).bytes,
            Err(_) => panic!("no reservation starts at local store address {start:#x}"),
        }
    }

    /// Returns the total number of free bytes.
    pub fn free_bytes(&self) -> u32 {
        self.bytes - self.held
    }

    /// Restarts the peak at the bytes reserved now, and returns the old peak for `end_peak`.
    pub(crate) fn begin_peak(&mut self) -> u32 {
        std::mem::replace(&mut self.peak, self.held)
    }

    /// Returns the peak since a [`begin_peak`](Self::begin_peak), which must have returned `outer`.
    pub(crate) fn end_peak(&mut self, outer: u32) -> u32 {
        let peak = self.peak;
        self.peak = peak.max(outer);
        peak
    }

    /// Returns the size of the largest free range in bytes.
    pub fn largest_free_bytes(&self) -> u32 {
        self.holes()
            .map(|hole| hole.end - hole.start)
            .max()
            .unwrap_or(0)
    }

    /// Returns the free ranges before each holder and after the last holder, some of them empty.
    fn holes(&self) -> impl Iterator<Item = std::ops::Range<u32>> {
        let starts = std::iter::once(0).chain(self.holders.iter().map(Holder::end));
        let ends = self
            .holders
            .iter()
            .map(|holder| holder.start)
            .chain([self.bytes]);
        starts.zip(ends).map(|(start, end)| start..end)
    }

    #[cold]
    fn no_room(
        &self,
        need_bytes: usize,
        align: u32,
        what: &'static str,
        at: &'static Location<'static>,
    ) -> NoRoom {
        let mut holders = self.holders.clone();
        // The sort is stable, so holders of equal size remain in address order.
        holders.sort_by_key(|holder| std::cmp::Reverse(holder.bytes));
        NoRoom {
            need_bytes,
            align_bytes: align,
            what,
            at,
            local_store_bytes: self.bytes,
            free_bytes: self.free_bytes(),
            largest_hole_bytes: self.largest_free_bytes(),
            holders,
        }
    }
}

/// The error if no free range is large enough for a reservation.
#[derive(Clone, PartialEq, Eq)]
pub struct NoRoom {
    /// The requested number of bytes.
    pub need_bytes: usize,
    /// The requested alignment in bytes.
    pub align_bytes: u32,
    /// The purpose of the requested bytes.
    pub what: &'static str,
    /// The source line of the request.
    pub at: &'static Location<'static>,
    /// The size of the local store in bytes.
    pub local_store_bytes: u32,
    /// The total number of free bytes.
    pub free_bytes: u32,
    /// The number of bytes in the largest free range.
    pub largest_hole_bytes: u32,
    /// The reserved parts, largest first.
    pub holders: Vec<Holder>,
}

crate::debug_by_display!(NoRoom);

impl NoRoom {
    const NAMED_HOLDERS: usize = 8;

    fn advice(&self) -> String {
        if self.need_bytes > self.local_store_bytes as usize {
            format!(
                "no local store of {} bytes holds this at once: stage it in tiles, or stream it",
                self.local_store_bytes
            )
        } else if self.need_bytes <= self.free_bytes as usize {
            "the free bytes are in pieces: reserve the large buffers first and keep them, or stage in smaller tiles".into()
        } else {
            "drop a staged buffer before this one is needed, or stage in smaller tiles".into()
        }
    }
}

impl std::error::Error for NoRoom {}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NoRoom {
            need_bytes,
            align_bytes,
            what,
            at,
            ..
        } = self;
        write!(f, "{need_bytes} bytes")?;
        if *align_bytes > 1 {
            write!(f, " aligned to {align_bytes}")?;
        }
        write!(
            f,
            " are needed for {what} at {}:{}; {} of {} bytes are free",
            at.file(),
            at.line(),
            self.free_bytes,
            self.local_store_bytes,
        )?;
        if self.largest_hole_bytes < self.free_bytes {
            write!(f, ", at most {} in one piece", self.largest_hole_bytes)?;
        }
        let (named, rest) = self
            .holders
            .split_at(self.holders.len().min(Self::NAMED_HOLDERS));
        for (i, holder) in named.iter().enumerate() {
            write!(f, "{}{holder}", if i == 0 { "; held by " } else { ", " })?;
        }
        if !rest.is_empty() {
            let bytes: u64 = rest.iter().map(|holder| u64::from(holder.bytes)).sum();
            write!(f, " and {} more ({bytes} bytes)", rest.len())?;
        }
        write!(f, "; {}", self.advice())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CELL_LOCAL_STORE_BYTES: u32 = 256 * 1024;

    #[track_caller]
    fn here() -> &'static Location<'static> {
        Location::caller()
    }

    fn place(at: &Location<'_>) -> String {
        format!("{}:{}", at.file(), at.line())
    }

    #[test]
    fn the_first_hole_that_is_large_enough_is_taken() {
        let mut space = Space::new(1024);
        assert_eq!(space.reserve(256, 16, "a", here()), Ok(0));
        assert_eq!(space.reserve(256, 16, "b", here()), Ok(256));
        assert_eq!(space.reserve(256, 16, "c", here()), Ok(512));
        space.release(0);
        assert_eq!(
            space
                .reserve(300, 16, "too large for the hole", here())
                .unwrap_err()
                .largest_hole_bytes,
            256
        );
        assert_eq!(space.reserve(100, 16, "d", here()), Ok(0));
        assert_eq!(space.reserve(100, 128, "e", here()), Ok(128));
        assert_eq!(
            space
                .holders
                .iter()
                .map(|h| (h.start, h.what))
                .collect::<Vec<_>>(),
            [(0, "d"), (128, "e"), (256, "b"), (512, "c")]
        );
        assert_eq!(
            (space.bytes, space.free_bytes(), space.largest_free_bytes()),
            (1024, 312, 256)
        );
    }

    #[test]
    fn released_neighbours_become_one_hole() {
        let mut space = Space::new(300);
        let starts = [0, 1, 2].map(|_| space.reserve(100, 1, "x", here()).unwrap());
        for start in [starts[0], starts[2], starts[1]] {
            space.release(start);
        }
        assert_eq!(space.largest_free_bytes(), 300);
        assert_eq!(space.reserve(300, 1, "all", here()), Ok(0));
        assert_eq!(space.free_bytes(), 0);
    }

    #[test]
    fn a_peak_is_counted_within_another() {
        let mut space = Space::new(300);
        space.reserve(100, 1, "kept", here()).unwrap();
        let before = space.begin_peak();
        let high = space.reserve(150, 1, "given back", here()).unwrap();
        space.release(high);
        let outer = space.begin_peak();
        space.reserve(20, 1, "kept", here()).unwrap();
        assert_eq!(space.end_peak(outer), 120);
        assert_eq!(space.end_peak(before), 250);
    }

    #[test]
    fn reservations_of_no_bytes_have_starts_of_their_own() {
        let mut space = Space::new(16);
        let first = space.reserve(0, 1, "empty", here()).unwrap();
        let second = space.reserve(0, 1, "empty", here()).unwrap();
        assert_ne!(first, second);
        space.release(first);
        space.release(second);
        assert_eq!(space.free_bytes(), 16);
    }

    #[test]
    #[should_panic(expected = "no reservation starts at local store address 0x10")]
    fn releasing_what_is_not_reserved_panics() {
        let mut space = Space::new(64);
        space.reserve(64, 1, "x", here()).unwrap();
        space.release(16);
    }

    #[test]
    fn a_refusal_names_the_need_and_who_holds_the_rest() {
        let mut space = Space::new(CELL_LOCAL_STORE_BYTES);
        let (floats, table, asked) = (here(), here(), here());
        space.reserve(65_536, 128, "staged [f32]", floats).unwrap();
        space.reserve(131_072, 128, "the table", table).unwrap();
        let error = space
            .reserve(100_000, 128, "staged [u8]", asked)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "100000 bytes aligned to 128 are needed for staged [u8] at {}; 65536 of 262144 bytes are free; \
                 held by 131072 bytes for the table at {}, 65536 bytes for staged [f32] at {}; drop a \
                 staged buffer before this one is needed, or stage in smaller tiles",
                place(asked),
                place(table),
                place(floats)
            )
        );
    }

    #[test]
    fn a_refusal_for_more_than_the_whole_local_store_says_so() {
        let mut space = Space::new(CELL_LOCAL_STORE_BYTES);
        let asked = here();
        let error = space.reserve(1 << 20, 1, "staged [u8]", asked).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "1048576 bytes are needed for staged [u8] at {}; 262144 of 262144 bytes are free; no local store of 262144 bytes holds this at once: stage it in tiles, or stream it",
                place(asked)
            )
        );
        assert!(space.reserve(usize::MAX, 128, "everything", asked).is_err());
    }

    #[test]
    fn a_refusal_for_want_of_one_piece_says_so() {
        let mut space = Space::new(96);
        let (held, asked) = (here(), here());
        let starts = [0, 1, 2].map(|_| space.reserve(32, 1, "x", held).unwrap());
        space.release(starts[0]);
        space.release(starts[2]);
        let error = space.reserve(48, 16, "staged [u8]", asked).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "48 bytes aligned to 16 are needed for staged [u8] at {}; 64 of 96 bytes are free, at most \
                 32 in one piece; held by 32 bytes for x at {}; the free bytes are in pieces: reserve the large buffers first and keep \
                 them, or stage in smaller tiles",
                place(asked),
                place(held)
            )
        );
    }

    #[test]
    fn a_refusal_names_the_eight_largest_holders_and_counts_the_others() {
        let mut space = Space::new(660);
        let at = here();
        for tens in 1..=11 {
            space.reserve(tens * 10, 1, "tile", at).unwrap();
        }
        let error = space.reserve(10, 1, "one more", at).unwrap_err();
        let place = place(at);
        let largest: Vec<_> = (4..=11)
            .rev()
            .map(|tens| format!("{tens}0 bytes for tile at {place}"))
            .collect();
        assert_eq!(
            error.to_string(),
            format!(
                "10 bytes are needed for one more at {place}; 0 of 660 bytes are free; held by {} \
                 and 3 more (60 bytes); drop a staged buffer before this one is needed, or stage in smaller tiles",
                largest.join(", ")
            )
        );
    }

    proptest! {
        /// Reservations are aligned and do not overlap, and fail only if no hole is large enough.
        #[test]
        fn reservations_never_overlap_and_free_space_joins(
            size in 1u32..2_000,
            steps in prop::collection::vec((any::<prop::sample::Index>(), 0usize..600, 0u32..8, any::<bool>()), 1..80),
        ) {
            let mut space = Space::new(size);
            let mut used = vec![false; size as usize];
            let mut held: Vec<(u32, usize)> = Vec::new();
            for (pick, bytes, log_align, release) in steps {
                let align = 1 << log_align;
                let need = bytes.max(1);
                if release && !held.is_empty() {
                    let (start, bytes) = held.swap_remove(pick.index(held.len()));
                    space.release(start);
                    used[start as usize..start as usize + bytes].fill(false);
                } else {
                    let fits = |start: &usize| used.get(*start..*start + need).is_some_and(|part| !part.contains(&true));
                    let first_fit = (0..used.len()).step_by(align as usize).find(fits);
                    let got = space.reserve(bytes, align, "x", here()).ok();
                    prop_assert_eq!(got.map(|start| start as usize), first_fit);
                    if let Some(start) = got {
                        used[start as usize..start as usize + need].fill(true);
                        held.push((start, need));
                    }
                }
                prop_assert_eq!(space.free_bytes() as usize, used.iter().filter(|used| !**used).count());
                let longest = used.split(|used| *used).map(<[bool]>::len).max().unwrap();
                prop_assert_eq!(space.largest_free_bytes() as usize, longest);
                prop_assert_eq!(space.holders.iter().len(), held.len());
            }
            for (start, _) in held {
                space.release(start);
            }
            prop_assert_eq!(space.largest_free_bytes(), size);
        }
    }
}
