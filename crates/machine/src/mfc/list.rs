//! List commands: the elements of a list and their addresses.

use super::address::{EffectiveAddress, LsAddr};
use super::check::{check_local_store, check_shape};
use super::command::ListTransfer;
use super::fault::{MfcFault, Misalignment, Operation};
use super::limits::LIST_ELEMENT_BYTES;

/// The stall-and-notify flag in the first word of an element.
const STALL_AND_NOTIFY: u32 = 1 << 31;

/// An element of a list (CBEA s.7.4 p.59). In the local store it is two words in the machine's byte
/// order. The first word has the stall-and-notify flag in its most significant bit, and the size in
/// the other bits. The second word is the lower half of the effective address.
///
/// ```
/// # use cellworks_machine::mfc::ListElement;
/// let element = ListElement { stall_and_notify: true, bytes: 128, eal: 0x2000 };
/// assert_eq!(element.to_words(), [0x8000_0080, 0x2000]);
/// assert_eq!(ListElement::from_words([0x8000_0080, 0x2000]), element);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListElement {
    /// Whether the list stalls after this element until acknowledged. Ignored in the last element.
    pub stall_and_notify: bool,
    /// The number of bytes to move, as for a single transfer. Elements of 0 bytes are skipped. The
    /// field has 31 bits, which include the bits that the architecture reserves. If a reserved bit
    /// is 1, the size is too large and therefore illegal.
    pub bytes: u32,
    /// The lower half of the effective address.
    pub eal: u32,
}

impl ListElement {
    /// Returns the element with these two words, which may be illegal.
    #[inline]
    pub const fn from_words([first, eal]: [u32; 2]) -> ListElement {
        ListElement {
            stall_and_notify: first & STALL_AND_NOTIFY != 0,
            bytes: first & !STALL_AND_NOTIFY,
            eal,
        }
    }

    /// Returns the two words of the element.
    ///
    /// # Panics
    ///
    /// Panics if the most significant bit of `bytes` is set, because this bit is the flag.
    pub const fn to_words(self) -> [u32; 2] {
        assert!(
            self.bytes & STALL_AND_NOTIFY == 0,
            "the size of a list element has 31 bits at most"
        );
        [
            if self.stall_and_notify {
                self.bytes | STALL_AND_NOTIFY
            } else {
                self.bytes
            },
            self.eal,
        ]
    }
}

/// The checked transfer of one list element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ElementTransfer {
    operation: Operation,
    lsa: LsAddr,
    ea: EffectiveAddress,
    stalls: bool,
}

impl ElementTransfer {
    /// Returns the local-store address of the data.
    pub const fn lsa(&self) -> LsAddr {
        self.lsa
    }

    /// Returns the effective address of the data.
    pub const fn ea(&self) -> EffectiveAddress {
        self.ea
    }

    /// Returns the number of bytes to move, which is 0 only if the element stalls the list.
    pub const fn bytes(&self) -> u32 {
        self.operation.bytes
    }

    /// Returns whether the list stalls after this transfer. If so, the machine must call
    /// [`CommandQueue::stall`](super::CommandQueue::stall), and read no element during the stall.
    pub const fn stalls(&self) -> bool {
        self.stalls
    }

    /// Returns the operation for the message of a fault.
    pub const fn operation(&self) -> Operation {
        self.operation
    }
}

/// An iterator over the transfers of a list.
///
/// The data of each element starts in the local store at the next multiple of 16, plus the low four
/// bits of the effective address if the element has fewer than 16 bytes. All elements share the
/// upper half of the effective address. [`next`](Self::next) reads one element, so a program may
/// change a stalled list (CBEA s.7.4 p.59, s.7.5.3 p.60, s.9.3.7 p.129).
#[derive(Clone, Copy, Debug)]
pub struct ListCursor {
    list: ListTransfer,
    next_element: u16,
    /// The local-store address of the next data, at most the end of the local store.
    next_lsa: u32,
    any_moved: bool,
}

impl ListTransfer {
    /// Returns a cursor at the first element.
    pub const fn cursor(&self) -> ListCursor {
        ListCursor::new(*self)
    }
}

impl ListCursor {
    const fn new(list: ListTransfer) -> ListCursor {
        ListCursor {
            list,
            next_element: 0,
            next_lsa: list.lsa().0,
            any_moved: false,
        }
    }

    /// Returns the list that the cursor reads.
    #[inline]
    pub const fn list(&self) -> &ListTransfer {
        &self.list
    }

    /// Returns the next element that moves bytes or stalls, or `None` at the end of the list.
    /// `read` reads the element at a local-store address.
    ///
    /// # Errors
    ///
    /// Returns the faults of a transfer, or [`MfcFault::ListCrosses4GiB`]. A fault ends the list.
    #[inline]
    pub fn next(
        &mut self,
        mut read: impl FnMut(LsAddr) -> ListElement,
    ) -> Option<Result<ElementTransfer, MfcFault>> {
        while self.next_element < self.list.elements() {
            let index = self.next_element;
            let is_last = index + 1 == self.list.elements();
            let at = LsAddr(self.list.list().0 + u32::from(index) * LIST_ELEMENT_BYTES);
            let element = read(at);
            self.next_element += 1;
            let stalls = element.stall_and_notify && !is_last;
            if element.bytes == 0 && !stalls {
                continue;
            }
            let step = self.transfer(index, element, stalls);
            if step.is_err() {
                self.next_element = self.list.elements();
            }
            return Some(step);
        }
        None
    }

    #[inline]
    fn transfer(
        &mut self,
        index: u16,
        element: ListElement,
        stalls: bool,
    ) -> Result<ElementTransfer, MfcFault> {
        let ListElement { bytes, eal, .. } = element;
        let ea = EffectiveAddress::from_halves(self.list.eah(), eal);
        let operation = Operation {
            opcode: self.list.opcode(),
            element: Some(index),
            bytes,
        };
        if bytes == 0 {
            return Ok(ElementTransfer {
                operation,
                lsa: LsAddr(self.next_lsa),
                ea,
                stalls,
            });
        }
        if !self.any_moved && bytes <= 16 && !self.next_lsa.is_multiple_of(16) {
            let why = Misalignment::FirstElement {
                lsa: self.list.lsa(),
            };
            return Err(MfcFault::DmaAlignment { operation, why });
        }
        let offset = if bytes < 16 { eal % 16 } else { 0 };
        let lsa = LsAddr(self.next_lsa + offset);
        let local_store_bytes = self.list.local_store_bytes();
        check_shape(operation, lsa, ea)?;
        check_local_store(operation, lsa, local_store_bytes)?;
        if u64::from(eal) + u64::from(bytes) > 1 << 32 {
            return Err(MfcFault::ListCrosses4GiB { operation, ea });
        }
        self.next_lsa = (lsa.0 + bytes).next_multiple_of(16);
        self.any_moved = true;
        Ok(ElementTransfer {
            operation,
            lsa,
            ea,
            stalls,
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::super::{Command, RawCommand, Tag};
    use super::*;

    const LOCAL_STORE_BYTES: u32 = 256 * 1024;
    const DATA: LsAddr = LsAddr(0x400);
    const LIST: LsAddr = LsAddr(0x200);

    fn element(bytes: u32, eal: u32) -> ListElement {
        ListElement {
            stall_and_notify: false,
            bytes,
            eal,
        }
    }

    fn stalling(bytes: u32, eal: u32) -> ListElement {
        ListElement {
            stall_and_notify: true,
            bytes,
            eal,
        }
    }

    fn list(lsa: LsAddr, elements: usize) -> ListCursor {
        let raw = RawCommand::getl(lsa, 7, LIST, 8 * elements as u32, Tag::of::<1>());
        match raw.check(LOCAL_STORE_BYTES) {
            Ok(Command::ListTransfer(list)) => list.cursor(),
            other => panic!("{other:?}"),
        }
    }

    /// Returns the transfers of a whole list, up to the first fault.
    fn walk(lsa: LsAddr, elements: &[ListElement]) -> (Vec<ElementTransfer>, Option<MfcFault>) {
        let mut cursor = list(lsa, elements.len());
        let mut moved = Vec::new();
        while let Some(step) = cursor.next(|at| elements[(at.0 - LIST.0) as usize / 8]) {
            match step {
                Ok(transfer) => moved.push(transfer),
                Err(fault) => {
                    assert!(
                        cursor
                            .next(|_| unreachable!("the list ends at a fault"))
                            .is_none()
                    );
                    return (moved, Some(fault));
                }
            }
        }
        (moved, None)
    }

    fn shapes(moved: &[ElementTransfer]) -> Vec<(u32, u64, u32)> {
        moved
            .iter()
            .map(|t| (t.lsa().0, t.ea().0, t.bytes()))
            .collect()
    }

    #[test]
    fn words_hold_the_stall_flag_above_the_size() {
        assert_eq!(
            stalling(0x4000, 0x1234_5670).to_words(),
            [0x8000_4000, 0x1234_5670]
        );
        assert_eq!(ListElement::from_words([0x4000, 1]), element(0x4000, 1));
        // A reserved bit of the word makes the size illegal.
        let (_, fault) = walk(DATA, &[ListElement::from_words([0x0001_0010, 0])]);
        assert!(matches!(
            fault,
            Some(MfcFault::DmaAlignment {
                why: Misalignment::TooLarge,
                ..
            })
        ));
    }

    #[test]
    #[should_panic(expected = "31 bits at most")]
    fn a_size_that_would_set_the_stall_flag_panics() {
        element(1 << 31, 0).to_words();
    }

    #[test]
    fn elements_start_at_quadwords_and_small_ones_at_the_offset_of_their_address() {
        let (moved, fault) = walk(
            DATA,
            &[
                element(0x20, 0x1000),
                element(4, 0x2008),
                element(0x10, 0x3000),
            ],
        );
        assert_eq!(fault, None);
        assert_eq!(
            shapes(&moved),
            [
                (0x400, 0x7_0000_1000, 0x20),
                (0x428, 0x7_0000_2008, 4),
                (0x430, 0x7_0000_3000, 0x10)
            ]
        );
        assert_eq!(
            moved[1].operation().to_string(),
            "element 1 (4 bytes) of a getl"
        );
    }

    #[test]
    fn empty_lists_and_empty_elements_move_nothing() {
        assert_eq!(walk(DATA, &[]), (vec![], None));
        let (moved, fault) = walk(
            DATA,
            &[
                element(0x10, 0x1000),
                element(0, 3),
                element(0x10, 0x3000),
                element(0, 0),
            ],
        );
        assert_eq!(
            (shapes(&moved), fault),
            (
                vec![(0x400, 0x7_0000_1000, 0x10), (0x410, 0x7_0000_3000, 0x10)],
                None
            )
        );
    }

    #[test]
    fn the_cursor_reads_nothing_behind_a_stalled_element_and_the_last_never_stalls() {
        let elements = [
            stalling(0x10, 0x1000),
            stalling(0, 0),
            stalling(0x10, 0x2000),
        ];
        let mut cursor = list(DATA, elements.len());
        let reads = std::cell::Cell::new(0);
        let mut next = || {
            cursor.next(|at| {
                reads.set(reads.get() + 1);
                elements[(at.0 - LIST.0) as usize / 8]
            })
        };
        let first = next().unwrap().unwrap();
        assert_eq!(
            (first.bytes(), first.stalls(), reads.get()),
            (0x10, true, 1)
        );
        let empty = next().unwrap().unwrap();
        assert_eq!((empty.bytes(), empty.stalls(), reads.get()), (0, true, 2));
        let last = next().unwrap().unwrap();
        assert_eq!(
            (last.bytes(), last.stalls(), last.lsa()),
            (0x10, false, LsAddr(0x410))
        );
        assert!(next().is_none());
        assert_eq!(cursor.list().elements(), 3);
    }

    #[test]
    fn a_short_first_element_needs_a_quadword_boundary() {
        let off = LsAddr(0x408);
        let why = |elements: &[ListElement]| match walk(off, elements).1 {
            Some(MfcFault::DmaAlignment { why, .. }) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            why(&[element(8, 0x1008)]),
            Misalignment::FirstElement { lsa: off }
        );
        assert_eq!(
            why(&[element(0, 0), element(16, 0x1000)]),
            Misalignment::FirstElement { lsa: off }
        );
        assert_eq!(
            why(&[element(32, 0x1000)]),
            Misalignment::LocalStore {
                lsa: off,
                multiple_of: 16
            }
        );
    }

    #[test]
    fn what_comes_before_a_fault_has_moved() {
        for (bad, bytes) in [
            (element(3, 0x1000), 3),
            (element(4, 0x1002), 4),
            (element(16, 0x1008), 16),
            (element(16_400, 0), 16_400),
        ] {
            let (moved, fault) = walk(DATA, &[element(16, 0x1000), bad, element(16, 0x2000)]);
            assert_eq!(moved.len(), 1);
            let Some(MfcFault::DmaAlignment { operation, .. }) = fault else {
                panic!("{fault:?}")
            };
            assert_eq!((operation.element, operation.bytes), (Some(1), bytes));
        }
    }

    #[test]
    fn an_element_stays_in_its_4_gib_area() {
        assert_eq!(walk(DATA, &[element(0x10, 0xFFFF_FFF0)]).1, None);
        let ea = EffectiveAddress(0x7_FFFF_FFF0);
        let (moved, fault) = walk(DATA, &[element(0x10, 0x1000), element(0x20, 0xFFFF_FFF0)]);
        assert_eq!(moved.len(), 1);
        assert!(matches!(fault, Some(MfcFault::ListCrosses4GiB { ea: at, .. }) if at == ea));
    }

    #[test]
    fn an_element_stays_in_the_local_store() {
        let (moved, fault) = walk(
            LsAddr(LOCAL_STORE_BYTES - 16),
            &[element(8, 0x1008), element(1, 0)],
        );
        assert_eq!(shapes(&moved), [(LOCAL_STORE_BYTES - 8, 0x7_0000_1008, 8)]);
        assert!(matches!(
            fault,
            Some(MfcFault::LocalStoreRange {
                lsa: LsAddr(LOCAL_STORE_BYTES),
                ..
            })
        ));
    }

    #[test]
    fn a_list_of_2048_elements_is_walked_to_its_end() {
        let elements: Vec<_> = (0..2_048).map(|i| element(128, i * 128)).collect();
        let (moved, fault) = walk(LsAddr(0), &elements);
        assert_eq!((moved.len(), fault), (2_048, None));
        assert_eq!(moved[2_047].lsa(), LsAddr(2_047 * 128));
    }

    proptest! {
        /// Every list can be read. The transfers are legal, in order, and do not overlap.
        #[test]
        fn every_list_is_walked(
            quadword in 0u32..0x4000,
            elements in prop::collection::vec(
                (prop_oneof![0u32..20, (0u32..64).prop_map(|n| n * 16), any::<u32>()], any::<u32>(), any::<bool>()),
                0..20,
            ),
        ) {
            let elements: Vec<_> = elements
                .into_iter()
                .map(|(bytes, eal, aligned)| ListElement::from_words([bytes, if aligned { eal & !15 } else { eal }]))
                .collect();
            let (moved, _) = walk(LsAddr(quadword * 16), &elements);
            let mut end = 0;
            for t in moved {
                let (lsa, bytes) = (t.lsa().0, t.bytes());
                prop_assert!(lsa >= end && lsa + bytes <= LOCAL_STORE_BYTES);
                prop_assert!(lsa % bytes.clamp(1, 16) == 0);
                prop_assert!(bytes == 0 || u64::from(lsa % 16) == t.ea().0 % 16);
                prop_assert_eq!(t.ea().eah(), 7);
                end = lsa + bytes;
            }
        }
    }
}
