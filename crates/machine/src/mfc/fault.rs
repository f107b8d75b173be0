//! Faults: the reasons why the MFC refuses a command, with the architecture's names.

use std::fmt;

use super::address::{EffectiveAddress, LsAddr};
use super::limits::{LIST_ELEMENT_BYTES, MAX_LIST_BYTES, MAX_LIST_ELEMENTS, MAX_TRANSFER_BYTES};
use super::opcode::Opcode;
use super::raw::RawCommand;
use crate::id::SpeId;

/// The reason why the MFC refused a command. The message contains the command, the value, the rule
/// and a legal example. In the architecture, the first four faults are interrupts and suspend the
/// SPE's queue (CBEA p.57, p.113).
#[derive(Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum MfcFault {
    /// Invalid DMA command, class 0 interrupt bit 1.
    #[error("{why} (MFC invalid DMA command, class 0 bit 1; CBEA p.57)")]
    InvalidDmaCommand {
        /// The rule that was broken, with the value.
        why: InvalidCommand,
    },
    /// DMA alignment, class 0 interrupt bit 0.
    #[error("{} (MFC DMA alignment, class 0 bit 0; {})", why.about(operation), why.source())]
    DmaAlignment {
        /// The command or list element.
        operation: Operation,
        /// The rule that was broken, with the value.
        why: Misalignment,
    },
    /// MFC data-segment interrupt: the effective address is in no segment.
    #[error(
        "{operation} at effective address {ea}: no segment holds these addresses; use an address in memory that the \
         machine allocated (MFC data-segment interrupt; CBEA p.118)"
    )]
    DataSegment {
        /// The command or list element.
        operation: Operation,
        /// The address of the first byte.
        ea: EffectiveAddress,
    },
    /// MFC data-storage interrupt: the effective address is not mapped, or access is not permitted.
    #[error(
        "{operation} at effective address {ea}: this memory is not mapped or may not be accessed so; use an address in \
         memory that the machine allocated (MFC data-storage interrupt; CBEA p.118)"
    )]
    DataStorage {
        /// The command or list element.
        operation: Operation,
        /// The address of the first byte.
        ea: EffectiveAddress,
    },
    /// A list element leaves the 4 GiB area of its list. The hardware moves the bytes in the area.
    #[error(
        "{operation} at effective address {ea}: it leaves the 4 GiB area of its list (EAH {:#x}); end the element at the \
         boundary, {} bytes on, and put the rest in a list of its own (MFC exception; Handbook s.19.4.4.2)",
        ea.eah(), (1u64 << 32) - u64::from(ea.eal())
    )]
    ListCrosses4GiB {
        /// The list element.
        operation: Operation,
        /// The address of the first byte.
        ea: EffectiveAddress,
    },
    /// The data or the list leaves the local store. The hardware wraps to 0 (CBEA s.15.6 p.221).
    #[error(
        "{operation} at local store address {lsa}: it would end at {end}, past the {local_store_bytes} bytes of this local \
         store (a Cell would wrap to address 0: LSLR, CBEA s.15.6); {}",
        LastFit { bytes: operation.bytes, local_store_bytes: *local_store_bytes },
        end = format_args!("{:#x}", u64::from(lsa.0) + u64::from(operation.bytes))
    )]
    LocalStoreRange {
        /// The command or list element.
        operation: Operation,
        /// The local-store address of the first byte.
        lsa: LsAddr,
        /// The size of the local store in bytes.
        local_store_bytes: u32,
    },
}

crate::debug_by_display!(MfcFault);

/// A fault, with the command that caused it and the MFC that refused the command.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the MFC of {spe} refused {command}: {fault}")]
pub struct CommandFault {
    /// The SPE of the MFC. The command came from its program, or from the PPE to its proxy queue.
    pub spe: SpeId,
    /// The command.
    pub command: RawCommand,
    /// The fault.
    pub fault: MfcFault,
}

crate::debug_by_display!(CommandFault);

/// The operation in the message of a fault: a command, or one element of a list command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operation {
    /// The command.
    pub opcode: Opcode,
    /// The index of the list element from 0, or `None` for the command itself.
    pub element: Option<u16>,
    /// The number of bytes to move, or the size of the list for a list command.
    pub bytes: u32,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Operation {
            opcode,
            element,
            bytes,
        } = self;
        let bytes = Bytes(u64::from(*bytes));
        match element {
            Some(element) => write!(f, "element {element} ({bytes}) of a {opcode}"),
            None if opcode.is_list() => write!(f, "{opcode} with a list of {bytes}"),
            None => write!(f, "{opcode} of {bytes}"),
        }
    }
}

struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} byte{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

/// Advice for data that leaves the local store.
struct LastFit {
    bytes: u32,
    local_store_bytes: u32,
}

impl fmt::Display for LastFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.local_store_bytes.checked_sub(self.bytes) {
            Some(last) => write!(f, "the last address at which it fits is {last:#x}"),
            None => write!(
                f,
                "move at most {} at once",
                Bytes(self.local_store_bytes.into())
            ),
        }
    }
}

/// The reason why a command is invalid.
#[derive(Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum InvalidCommand {
    /// The architecture has no such opcode.
    #[error(
        "command word {word:#010x}: opcode {:#06x} names no MFC command; put is 0x0020 and get is 0x0040", word & 0xFFFF
    )]
    IllegalOpcode {
        /// The word written to `MFC_Cmd`.
        word: u32,
    },
    /// The opcode is in the reserved range from 0x8000.
    #[error(
        "command word {word:#010x}: opcode {:#06x} is reserved, as all from 0x8000 are; put is 0x0020 and get is 0x0040",
        word & 0xFFFF
    )]
    ReservedOpcode {
        /// The word written to `MFC_Cmd`.
        word: u32,
    },
    /// A command for an SPE's queue is an `s` form, which also starts the SPU.
    #[error(
        "{opcode}: it starts the SPU after the transfer, which only the proxy queue can; from an SPE use {use_instead}"
    )]
    ProxyOnly {
        /// The command.
        opcode: Opcode,
        /// The same command without the start of the SPU.
        use_instead: Opcode,
    },
    /// A command for the proxy queue is a list command or an atomic command.
    #[error(
        "{opcode}: the proxy queue, through which the PPE issues, takes no lists and no atomic commands; issue it from a \
         program on the SPE"
    )]
    SpuOnly {
        /// The command.
        opcode: Opcode,
    },
    /// A command for the proxy queue is an `s` form, which also starts the SPU. This crate refuses
    /// `s` forms, because its programs have no start address. The hardware accepts them.
    #[error(
        "{opcode}: it would start the SPU after the transfer, which a Cell allows here and this machine does not; use \
         {use_instead}, and `Ppe::spawn` to start a program"
    )]
    StartsSpu {
        /// The command.
        opcode: Opcode,
        /// The same command without the start of the SPU.
        use_instead: Opcode,
    },
    /// The tag is above 31.
    #[error("{opcode} with tag {tag}: a tag is 0 to 31; use for example {}", tag % 32)]
    Tag {
        /// The command.
        opcode: Opcode,
        /// The tag of the command.
        tag: u32,
    },
    /// The command is an immediate atomic, and an earlier immediate atomic is incomplete.
    #[error(
        "{opcode} while a {pending} is pending: an SPE has one immediate atomic at a time; read the status of the {pending} \
         from MFC_RdAtomicStat first"
    )]
    AtomicPending {
        /// The command.
        opcode: Opcode,
        /// The incomplete command.
        pending: Opcode,
    },
}

crate::debug_by_display!(InvalidCommand);

/// The broken rule of size or alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Misalignment {
    /// The size is not 0, 1, 2, 4, 8, 16 or a multiple of 16.
    Size,
    /// The size is above 16 KB.
    TooLarge,
    /// The local-store address is not a multiple of 2, 4, 8 or 16, depending on the size.
    LocalStore {
        /// The address.
        lsa: LsAddr,
        /// The required alignment in bytes.
        multiple_of: u32,
    },
    /// The addresses have different offsets in their 16-byte blocks.
    Offset {
        /// The local-store address.
        lsa: LsAddr,
        /// The effective address.
        ea: EffectiveAddress,
    },
    /// The signal is not 4 bytes long.
    SignalSize,
    /// The size of the list is not a multiple of 8 bytes.
    ListSize,
    /// The list has more than 16 KB.
    ListTooLong,
    /// The list does not start at a multiple of 8.
    ListAddress {
        /// The address of the list.
        list: LsAddr,
    },
    /// The data of the list does not start at a multiple of 8.
    ListLocalStore {
        /// The address of the data.
        lsa: LsAddr,
    },
    /// The first element has 16 bytes or fewer, and the data does not start at a multiple of 16.
    FirstElement {
        /// The address of the data.
        lsa: LsAddr,
    },
}

impl Misalignment {
    /// Returns the message without the architecture's name of the fault.
    fn about(self, operation: &Operation) -> impl fmt::Display {
        let operation = *operation;
        let Operation { opcode, bytes, .. } = operation;
        fmt::from_fn(move |f| match self {
            Misalignment::Size => {
                let below = if bytes < 16 {
                    1 << bytes.ilog2()
                } else {
                    bytes & !15
                };
                let above = if bytes < 16 {
                    bytes.next_power_of_two()
                } else {
                    below + 16
                };
                write!(
                    f,
                    "{operation}: a transfer moves 0, 1, 2, 4, 8 or 16 bytes or a multiple of 16; use {below} or {above}"
                )
            }
            Misalignment::TooLarge => write!(
                f,
                "{operation}: at most {MAX_TRANSFER_BYTES} bytes go at once; split it, for example {MAX_TRANSFER_BYTES} bytes first"
            ),
            Misalignment::LocalStore { lsa, multiple_of } => write!(
                f,
                "{operation} at local store address {lsa}: for this size the address is a multiple of {multiple_of}; use {}",
                Neighbours {
                    of: lsa,
                    multiple_of
                }
            ),
            Misalignment::Offset { lsa, ea } => write!(
                f,
                "{operation} between local store address {lsa} and effective address {ea}: both have the same offset in \
                 their 16-byte blocks, and here it is {} and {}; use effective address {}",
                lsa.0 % 16,
                ea.0 % 16,
                EffectiveAddress(ea.0 & !15 | u64::from(lsa.0 % 16))
            ),
            Misalignment::SignalSize => write!(f, "{operation}: a signal is one word; use 4 bytes"),
            Misalignment::ListSize => {
                let below = bytes & !(LIST_ELEMENT_BYTES - 1);
                write!(
                    f,
                    "{operation}: a list element is {LIST_ELEMENT_BYTES} bytes; use {below} or {}",
                    below + LIST_ELEMENT_BYTES
                )
            }
            Misalignment::ListTooLong => write!(
                f,
                "{operation}: a list has at most {MAX_LIST_BYTES} bytes ({MAX_LIST_ELEMENTS} elements); split it, for example \
                 {MAX_LIST_BYTES} bytes first"
            ),
            Misalignment::ListAddress { list } => write!(
                f,
                "{opcode} with its list at local store address {list}: a list starts at a multiple of {LIST_ELEMENT_BYTES}; use {}",
                Neighbours {
                    of: list,
                    multiple_of: LIST_ELEMENT_BYTES
                }
            ),
            // The first element may need a multiple of 16, so the advice shows multiples of 16.
            Misalignment::ListLocalStore { lsa } => write!(
                f,
                "{opcode} with its data at local store address {lsa}: they start at a multiple of 8 at least; use {}",
                Neighbours {
                    of: lsa,
                    multiple_of: 16
                }
            ),
            Misalignment::FirstElement { lsa } => write!(
                f,
                "{operation} with its data at local store address {lsa}: before a first element of 16 bytes or fewer they \
                 start at a multiple of 16; use {}",
                Neighbours {
                    of: lsa,
                    multiple_of: 16
                }
            ),
        })
    }

    /// Returns the source of the rule in the architecture.
    const fn source(self) -> &'static str {
        match self {
            Misalignment::FirstElement { .. } => "CBEA s.7.5.3",
            _ => "CBEA p.57",
        }
    }
}

/// The nearest legal addresses below and above an illegal address, as `0x1000 or 0x1010`.
struct Neighbours {
    of: LsAddr,
    multiple_of: u32,
}

impl fmt::Display for Neighbours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = self.of.0 - self.of.0 % self.multiple_of;
        write!(f, "{}", LsAddr(below))?;
        match below.checked_add(self.multiple_of) {
            Some(above) => write!(f, " or {}", LsAddr(above)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::list::ListElement;
    use super::super::{Command, CommandQueue, RawCommand, Tag};
    use super::*;

    const LOCAL_STORE_BYTES: u32 = 256 * 1024;
    const LSA: LsAddr = LsAddr(0x1000);
    const EA: EffectiveAddress = EffectiveAddress(0x1_0000_2000);
    const TAG: Tag = Tag::of::<5>();

    #[track_caller]
    fn refused(raw: RawCommand) -> String {
        raw.check(LOCAL_STORE_BYTES).unwrap_err().to_string()
    }

    /// Returns the message of the fault that a list with these elements and data at `lsa` causes.
    #[track_caller]
    fn refused_element(lsa: LsAddr, elements: &[(u32, u32)]) -> String {
        let list_bytes = 8 * elements.len() as u32;
        let Ok(Command::ListTransfer(list)) =
            RawCommand::getl(lsa, 1, LsAddr(0), list_bytes, TAG).check(LOCAL_STORE_BYTES)
        else {
            panic!("the list itself is legal")
        };
        let mut cursor = list.cursor();
        let mut faults = Vec::new();
        while let Some(step) = cursor.next(|at| {
            let (bytes, eal) = elements[at.0 as usize / 8];
            ListElement {
                stall_and_notify: false,
                bytes,
                eal,
            }
        }) {
            faults.extend(step.err());
        }
        assert_eq!(faults.len(), 1);
        faults[0].to_string()
    }

    #[test]
    fn invalid_commands() {
        let get = RawCommand::get(LSA, EA, 16, TAG);
        assert_eq!(
            refused(RawCommand {
                opcode: 0x27,
                ..get
            }),
            "command word 0x00000027: opcode 0x0027 names no MFC command; put is 0x0020 and get is 0x0040 (MFC invalid DMA \
             command, class 0 bit 1; CBEA p.57)"
        );
        assert_eq!(
            refused(RawCommand {
                opcode: 0x0302_0120,
                ..get
            }),
            "command word 0x03020120: opcode 0x0120 names no MFC command; put is 0x0020 and get is 0x0040 (MFC invalid DMA \
             command, class 0 bit 1; CBEA p.57)"
        );
        assert_eq!(
            refused(RawCommand {
                opcode: 0x8040,
                ..get
            }),
            "command word 0x00008040: opcode 0x8040 is reserved, as all from 0x8000 are; put is 0x0020 and get is 0x0040 \
             (MFC invalid DMA command, class 0 bit 1; CBEA p.57)"
        );
        assert_eq!(
            refused(RawCommand {
                opcode: 0x49,
                ..get
            }),
            "getbs: it starts the SPU after the transfer, which only the proxy queue can; from an SPE use getb (MFC invalid \
             DMA command, class 0 bit 1; CBEA p.57)"
        );
        assert_eq!(
            refused(RawCommand { tag: 40, ..get }),
            "get with tag 40: a tag is 0 to 31; use for example 8 (MFC invalid DMA command, class 0 bit 1; CBEA p.57)"
        );
    }

    #[test]
    fn commands_that_the_proxy_queue_does_not_take() {
        let refused = |raw: RawCommand| raw.check_proxy(LOCAL_STORE_BYTES).unwrap_err().to_string();
        let why = "the proxy queue, through which the PPE issues, takes no lists and no atomic commands; issue it from a \
            program on the SPE (MFC invalid DMA command, class 0 bit 1; CBEA p.57)";
        for raw in [
            RawCommand::getl(LSA, 1, LsAddr(0x800), 8, TAG),
            RawCommand::new(Opcode::Putrlf, LSA, EA, 8, TAG),
            RawCommand::getllar(LSA, EA),
            RawCommand::putllc(LSA, EA),
            RawCommand::putlluc(LSA, EA),
            RawCommand::putqlluc(LSA, EA, TAG),
        ] {
            let opcode = Opcode::from_number(raw.opcode as u16).unwrap();
            assert_eq!(refused(raw), format!("{opcode}: {why}"));
        }
        assert_eq!(
            refused(RawCommand::new(Opcode::Putfs, LSA, EA, 16, TAG)),
            "putfs: it would start the SPU after the transfer, which a Cell allows here and this machine does not; use \
             putf, and `Ppe::spawn` to start a program (MFC invalid DMA command, class 0 bit 1; CBEA p.57)"
        );
    }

    #[test]
    fn a_second_immediate_atomic() {
        let mut queue: CommandQueue = CommandQueue::new();
        queue
            .push(
                RawCommand::putllc(LSA, EA)
                    .check(LOCAL_STORE_BYTES)
                    .unwrap(),
            )
            .unwrap();
        let error = queue
            .push(
                RawCommand::getllar(LSA, EA)
                    .check(LOCAL_STORE_BYTES)
                    .unwrap(),
            )
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "getllar while a putllc is pending: an SPE has one immediate atomic at a time; read the status of the putllc from \
             MFC_RdAtomicStat first (MFC invalid DMA command, class 0 bit 1; CBEA p.57)"
        );
    }

    #[test]
    fn sizes() {
        assert_eq!(
            refused(RawCommand::get(LSA, EA, 24, TAG)),
            "get of 24 bytes: a transfer moves 0, 1, 2, 4, 8 or 16 bytes or a multiple of 16; use 16 or 32 (MFC DMA alignment, \
             class 0 bit 0; CBEA p.57)"
        );
        for (bytes, advice) in [
            (3, "use 2 or 4 "),
            (5, "use 4 or 8 "),
            (15, "use 8 or 16 "),
            (17, "use 16 or 32 "),
        ] {
            assert!(
                refused(RawCommand::get(LSA, EA, bytes, TAG)).contains(advice),
                "{bytes}"
            );
        }
        assert_eq!(
            refused(RawCommand::putf(LSA, EA, 20_000, TAG)),
            "putf of 20000 bytes: at most 16384 bytes go at once; split it, for example 16384 bytes first (MFC DMA alignment, \
             class 0 bit 0; CBEA p.57)"
        );
        assert_eq!(
            refused(RawCommand {
                size: 1,
                ..RawCommand::sndsig(LSA, EA, TAG)
            }),
            "sndsig of 1 byte: a signal is one word; use 4 bytes (MFC DMA alignment, class 0 bit 0; CBEA p.57)"
        );
    }

    #[test]
    fn addresses() {
        assert_eq!(
            refused(RawCommand::put(LsAddr(0x1002), EA + 2, 4, TAG)),
            "put of 4 bytes at local store address 0x1002: for this size the address is a multiple of 4; use 0x1000 or 0x1004 \
             (MFC DMA alignment, class 0 bit 0; CBEA p.57)"
        );
        assert_eq!(
            refused(RawCommand::get(LsAddr(0x1004), EA + 8, 4, TAG)),
            "get of 4 bytes between local store address 0x1004 and effective address 0x100002008: both have the same offset \
             in their 16-byte blocks, and here it is 4 and 8; use effective address 0x100002004 (MFC DMA alignment, class 0 \
             bit 0; CBEA p.57)"
        );
        assert!(
            refused(RawCommand::get(LsAddr(u32::MAX), EA, 16, TAG))
                .contains("; use 0xfffffff0 (MFC")
        );
    }

    #[test]
    fn lists() {
        assert_eq!(
            refused(RawCommand::getl(LSA, 1, LsAddr(0x800), 12, TAG)),
            "getl with a list of 12 bytes: a list element is 8 bytes; use 8 or 16 (MFC DMA alignment, class 0 bit 0; CBEA p.57)"
        );
        assert_eq!(
            refused(RawCommand::putlb(LSA, 1, LsAddr(0x800), 16_392, TAG)),
            "putlb with a list of 16392 bytes: a list has at most 16384 bytes (2048 elements); split it, for example 16384 \
             bytes first (MFC DMA alignment, class 0 bit 0; CBEA p.57)"
        );
        assert_eq!(
            refused(RawCommand::getl(LSA, 1, LsAddr(0x804), 8, TAG)),
            "getl with its list at local store address 0x804: a list starts at a multiple of 8; use 0x800 or 0x808 (MFC DMA \
             alignment, class 0 bit 0; CBEA p.57)"
        );
        assert_eq!(
            refused(RawCommand::getl(LsAddr(0x1004), 1, LsAddr(0x800), 8, TAG)),
            "getl with its data at local store address 0x1004: they start at a multiple of 8 at least; use 0x1000 or 0x1010 \
             (MFC DMA alignment, class 0 bit 0; CBEA p.57)"
        );
    }

    #[test]
    fn elements() {
        assert_eq!(
            refused_element(LsAddr(0x1008), &[(8, 0x2008)]),
            "element 0 (8 bytes) of a getl with its data at local store address 0x1008: before a first element of 16 bytes or \
             fewer they start at a multiple of 16; use 0x1000 or 0x1010 (MFC DMA alignment, class 0 bit 0; CBEA s.7.5.3)"
        );
        assert_eq!(
            refused_element(LSA, &[(16, 0x2000), (24, 0x3000)]),
            "element 1 (24 bytes) of a getl: a transfer moves 0, 1, 2, 4, 8 or 16 bytes or a multiple of 16; use 16 or 32 (MFC \
             DMA alignment, class 0 bit 0; CBEA p.57)"
        );
        assert_eq!(
            refused_element(LSA, &[(32, 0xFFFF_FFF0)]),
            "element 0 (32 bytes) of a getl at effective address 0x1fffffff0: it leaves the 4 GiB area of its list (EAH 0x1); \
             end the element at the boundary, 16 bytes on, and put the rest in a list of its own (MFC exception; Handbook \
             s.19.4.4.2)"
        );
        assert_eq!(
            refused_element(LsAddr(0x3_FFF0), &[(16, 0x2000), (4, 0x3004)]),
            "element 1 (4 bytes) of a getl at local store address 0x40004: it would end at 0x40008, past the 262144 bytes of \
             this local store (a Cell would wrap to address 0: LSLR, CBEA s.15.6); the last address at which it fits is 0x3fffc"
        );
    }

    #[test]
    fn ranges() {
        assert_eq!(
            refused(RawCommand::get(LsAddr(0x3_F000), EA, 16_384, TAG)),
            "get of 16384 bytes at local store address 0x3f000: it would end at 0x43000, past the 262144 bytes of this local \
             store (a Cell would wrap to address 0: LSLR, CBEA s.15.6); the last address at which it fits is 0x3c000"
        );
        assert_eq!(
            RawCommand::get(LsAddr(0), EA, 16_384, TAG)
                .check(4096)
                .unwrap_err()
                .to_string(),
            "get of 16384 bytes at local store address 0x0: it would end at 0x4000, past the 4096 bytes of this local store (a \
             Cell would wrap to address 0: LSLR, CBEA s.15.6); move at most 4096 bytes at once"
        );
        assert_eq!(
            refused(RawCommand::get(
                LSA,
                EffectiveAddress(u64::MAX - 15),
                32,
                TAG
            )),
            "get of 32 bytes at effective address 0xfffffffffffffff0: no segment holds these addresses; use an address in \
             memory that the machine allocated (MFC data-segment interrupt; CBEA p.118)"
        );
    }

    #[test]
    fn memory_that_may_not_be_accessed() {
        let command = RawCommand::putl(LSA, 1, LsAddr(0x800), 64, TAG)
            .check(LOCAL_STORE_BYTES)
            .unwrap();
        let fault = MfcFault::DataStorage {
            operation: Operation::from(&command),
            ea: EA,
        };
        assert_eq!(
            fault.to_string(),
            "putl with a list of 64 bytes at effective address 0x100002000: this memory is not mapped or may not be accessed \
             so; use an address in memory that the machine allocated (MFC data-storage interrupt; CBEA p.118)"
        );
        for (raw, name) in [
            (RawCommand::put(LSA, EA, 16, TAG), "put of 16 bytes"),
            (RawCommand::sndsig(LSA, EA, TAG), "sndsig of 4 bytes"),
            (RawCommand::getllar(LSA, EA), "getllar of 128 bytes"),
            (RawCommand::putqlluc(LSA, EA, TAG), "putqlluc of 128 bytes"),
            (
                RawCommand::new(Opcode::Sdcrz, LSA, EA, 256, TAG),
                "sdcrz of 256 bytes",
            ),
            (RawCommand::mfcsync(TAG), "mfcsync of 0 bytes"),
        ] {
            let command = raw.check(LOCAL_STORE_BYTES).unwrap();
            assert_eq!(Operation::from(&command).to_string(), name);
        }
    }
}
