//! MFC commands: what six channel writes carry, and the check that turns them into a [`Command`].

use std::fmt;
use std::ops::Add;

use super::LOCK_LINE_BYTES;
use super::fault::{InvalidCommand, MfcFault, Misalignment, Operation};
use super::list::{LIST_ELEMENT_BYTES, ListCursor, MAX_LIST_BYTES};
use super::tag::Tag;

/// The most bytes that one transfer, or one element of a list, moves: 16 KB.
///
/// Source: CBEA s.9.1.4 p.116.
pub const MAX_TRANSFER_BYTES: u32 = 16 * 1024;

/// A byte address in one SPE's local store; never an address of main memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LsAddr(pub u32);

impl fmt::Display for LsAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// A byte address in the effective address space, which holds main memory and every SPE's local
/// store and registers.
///
/// `address + bytes` is the address that many bytes further; it panics past 2^64 as integer
/// addition does. The range of a checked [`Command`] never gets there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectiveAddress(pub u64);

impl EffectiveAddress {
    /// The address with these halves, as the channels `MFC_EAH` and `MFC_EAL` carry it.
    pub const fn from_halves(eah: u32, eal: u32) -> EffectiveAddress {
        EffectiveAddress((eah as u64) << 32 | eal as u64)
    }

    /// The upper 32 bits: the 4 GiB area that the address is in.
    pub const fn eah(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The lower 32 bits.
    pub const fn eal(self) -> u32 {
        self.0 as u32
    }

    /// The lock line that holds this address: the address rounded down to 128 bytes.
    pub const fn lock_line(self) -> EffectiveAddress {
        EffectiveAddress(self.0 & !(LOCK_LINE_BYTES as u64 - 1))
    }
}

impl Add<u64> for EffectiveAddress {
    type Output = EffectiveAddress;
    fn add(self, bytes: u64) -> EffectiveAddress {
        EffectiveAddress(self.0 + bytes)
    }
}

impl fmt::Display for EffectiveAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// Which way a transfer moves bytes, seen from the SPE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the effective address into the local store.
    Get,
    /// From the local store to the effective address.
    Put,
}

/// How a command is ordered with the others of its tag group in the same queue.
///
/// Commands without such an order may run in any order (Handbook s.19 p.509).
///
/// Source: CBEA s.7.9 p.69.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Not ordered.
    None,
    /// Runs after every earlier command of its tag group (the `f` forms).
    Fence,
    /// The same, and every later command of its tag group runs after it (the `b` forms).
    Barrier,
}

/// What kind of command an opcode names: decides which rules of the check apply.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Transfer(Direction),
    List(Direction),
    /// A transfer that also starts the SPU: for the proxy queue only.
    StartSpu {
        use_instead: Opcode,
    },
    SendSignal,
    Ordering,
    Atomic,
    QueuedLinePut,
    /// Storage control that may do something: its size is checked.
    StorageControl,
    /// The touch hints, which do nothing on this chip: only their tag is checked.
    Touch,
}

/// Writes the catalogue of opcodes once: the enum, number to opcode, names, classes and orders.
macro_rules! opcodes {
    ($($variant:ident = $number:literal, $name:literal, $class:expr, $order:ident, $what:literal;)*) => {
        /// The commands of the MFC, by the architecture's names and numbers.
        ///
        /// The ending says how: `f` fence and `b` barrier (see [`Order`]), `l` list, `r` a hint
        /// that the result will be read soon, which this chip ignores (CBEA s.7.6.5 p.62), `s`
        /// start the SPU afterwards, which only the proxy queue takes.
        ///
        /// Source: CBEA pp.54-72 and pp.306-308.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Opcode {
            $(#[doc = concat!("`", $name, "`: ", $what, ".")] $variant = $number,)*
        }

        impl Opcode {
            /// Every opcode.
            pub const ALL: &[Opcode] = &[$(Opcode::$variant),*];

            /// The opcode of this number, or `None` where the architecture has none.
            pub const fn from_number(number: u16) -> Option<Opcode> {
                match number {
                    $($number => Some(Opcode::$variant),)*
                    _ => None,
                }
            }

            /// The architecture's name, in lower case.
            pub const fn name(self) -> &'static str {
                match self { $(Opcode::$variant => $name,)* }
            }

            #[inline]
            const fn class(self) -> Class {
                match self { $(Opcode::$variant => $class,)* }
            }

            /// The order that the command has within its tag group.
            pub const fn order(self) -> Order {
                match self { $(Opcode::$variant => Order::$order,)* }
            }
        }
    };
}

opcodes! {
    Put = 0x20, "put", Class::Transfer(Direction::Put), None, "local store to memory";
    Putb = 0x21, "putb", Class::Transfer(Direction::Put), Barrier, "`put` with barrier";
    Putf = 0x22, "putf", Class::Transfer(Direction::Put), Fence, "`put` with fence";
    Putl = 0x24, "putl", Class::List(Direction::Put), None, "list of puts";
    Putlb = 0x25, "putlb", Class::List(Direction::Put), Barrier, "`putl` with barrier";
    Putlf = 0x26, "putlf", Class::List(Direction::Put), Fence, "`putl` with fence";
    Puts = 0x28, "puts", Class::StartSpu { use_instead: Opcode::Put }, None, "`put`, then start the SPU";
    Putbs = 0x29, "putbs", Class::StartSpu { use_instead: Opcode::Putb }, Barrier, "`putb`, then start the SPU";
    Putfs = 0x2A, "putfs", Class::StartSpu { use_instead: Opcode::Putf }, Fence, "`putf`, then start the SPU";
    Putr = 0x30, "putr", Class::Transfer(Direction::Put), None, "`put` with result hint";
    Putrb = 0x31, "putrb", Class::Transfer(Direction::Put), Barrier, "`putb` with result hint";
    Putrf = 0x32, "putrf", Class::Transfer(Direction::Put), Fence, "`putf` with result hint";
    Putrl = 0x34, "putrl", Class::List(Direction::Put), None, "`putl` with result hint";
    Putrlb = 0x35, "putrlb", Class::List(Direction::Put), Barrier, "`putlb` with result hint";
    Putrlf = 0x36, "putrlf", Class::List(Direction::Put), Fence, "`putlf` with result hint";
    Get = 0x40, "get", Class::Transfer(Direction::Get), None, "memory to local store";
    Getb = 0x41, "getb", Class::Transfer(Direction::Get), Barrier, "`get` with barrier";
    Getf = 0x42, "getf", Class::Transfer(Direction::Get), Fence, "`get` with fence";
    Getl = 0x44, "getl", Class::List(Direction::Get), None, "list of gets";
    Getlb = 0x45, "getlb", Class::List(Direction::Get), Barrier, "`getl` with barrier";
    Getlf = 0x46, "getlf", Class::List(Direction::Get), Fence, "`getl` with fence";
    Gets = 0x48, "gets", Class::StartSpu { use_instead: Opcode::Get }, None, "`get`, then start the SPU";
    Getbs = 0x49, "getbs", Class::StartSpu { use_instead: Opcode::Getb }, Barrier, "`getb`, then start the SPU";
    Getfs = 0x4A, "getfs", Class::StartSpu { use_instead: Opcode::Getf }, Fence, "`getf`, then start the SPU";
    // Storage control commands are barriers of their tag group: CBEA s.7.7 p.62.
    Sdcrt = 0x80, "sdcrt", Class::Touch, Barrier, "touch a range for reading (does nothing on this chip)";
    Sdcrtst = 0x81, "sdcrtst", Class::Touch, Barrier, "touch a range for writing (does nothing on this chip)";
    Sdcrz = 0x89, "sdcrz", Class::StorageControl, Barrier, "zero the lock lines that a range touches";
    Sdcrst = 0x8D, "sdcrst", Class::StorageControl, Barrier, "write the modified lines of a range to memory";
    Sdcrf = 0x8F, "sdcrf", Class::StorageControl, Barrier, "write a range to memory and drop it from the atomic cache";
    Sndsig = 0xA0, "sndsig", Class::SendSignal, None, "put of 4 bytes to a signal register";
    Sndsigb = 0xA1, "sndsigb", Class::SendSignal, Barrier, "`sndsig` with barrier";
    Sndsigf = 0xA2, "sndsigf", Class::SendSignal, Fence, "`sndsig` with fence";
    Putlluc = 0xB0, "putlluc", Class::Atomic, None, "put a lock line unconditionally, at once";
    Putllc = 0xB4, "putllc", Class::Atomic, None, "put a lock line if its reservation still holds";
    // The fence is implied: CBEA s.7.8.4 p.68.
    Putqlluc = 0xB8, "putqlluc", Class::QueuedLinePut, Fence, "put a lock line unconditionally, through the queue";
    // Orders the whole queue, whatever the tag: CBEA s.7.9.3 p.72.
    Barrier = 0xC0, "barrier", Class::Ordering, Barrier, "order all commands of the queue";
    // Tag-specific barriers: CBEA s.7.9.1 p.71 and s.7.9.2 p.72.
    Mfceieio = 0xC8, "mfceieio", Class::Ordering, Barrier, "order the storage accesses of a tag group";
    Mfcsync = 0xCC, "mfcsync", Class::Ordering, Barrier, "order a tag group for all processors and devices";
    Getllar = 0xD0, "getllar", Class::Atomic, None, "get a lock line and reserve it";
}

impl Opcode {
    /// The number of the opcode, as the low half of the command word carries it.
    pub const fn number(self) -> u16 {
        self as u16
    }

    /// Whether the command is a list command.
    pub const fn is_list(self) -> bool {
        matches!(self.class(), Class::List(_))
    }

    /// Which way the command moves bytes, or `None` where it moves none.
    pub const fn direction(self) -> Option<Direction> {
        match self.class() {
            Class::Transfer(direction) | Class::List(direction) => Some(direction),
            Class::StartSpu { use_instead } => use_instead.direction(),
            Class::SendSignal | Class::QueuedLinePut => Some(Direction::Put),
            Class::Atomic => match self {
                Opcode::Getllar => Some(Direction::Get),
                _ => Some(Direction::Put),
            },
            Class::Ordering | Class::StorageControl | Class::Touch => None,
        }
    }
}

/// The architecture's name, in lower case.
impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A command as a program gives it: the values of the six channel writes, legal or not.
///
/// ```
/// # use cellworks_machine::mfc::{Command, EffectiveAddress, LsAddr, RawCommand, Tag};
/// let raw = RawCommand::get(LsAddr(0x1000), EffectiveAddress(0x2000_0000), 16_384, Tag::of::<3>());
/// let Ok(Command::Transfer(transfer)) = raw.check(256 * 1024) else { panic!() };
/// assert_eq!(transfer.bytes(), 16_384);
///
/// let raw = RawCommand::get(LsAddr(0x1000), EffectiveAddress(0x2000_0000), 24, Tag::of::<3>());
/// assert!(raw.check(256 * 1024).unwrap_err().to_string().starts_with("get of 24 bytes: "));
/// ```
///
/// Source: the channels 16 to 21, CBEA s.9.1 pp.113-118.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawCommand {
    /// The word for `MFC_Cmd`: the opcode in the low 16 bits, above it the transfer class and
    /// replacement class ids, which steer speed and never meaning and are ignored (Handbook p.457,
    /// CBEA p.114).
    pub opcode: u32,
    /// `MFC_LSA`: the local-store address of the data.
    pub lsa: u32,
    /// `MFC_EAH` and `MFC_EAL`: the effective address. For a list command the low half is the
    /// local-store address of the list, and the high half is shared by all its elements.
    pub ea: u64,
    /// `MFC_Size`: bytes to move, or bytes of list.
    pub size: u32,
    /// `MFC_TagID`.
    pub tag: u32,
}

/// Constructors of one family: transfers, lists or signals.
macro_rules! constructors {
    (transfer: $($name:ident $variant:ident),*) => {$(
        #[doc = concat!("`", stringify!($name), "`: `bytes` bytes between `lsa` and `ea`.")]
        pub const fn $name(lsa: LsAddr, ea: EffectiveAddress, bytes: u32, tag: Tag) -> RawCommand {
            RawCommand::new(Opcode::$variant, lsa, ea, bytes, tag)
        }
    )*};
    (list: $($name:ident $variant:ident),*) => {$(
        #[doc = concat!(
            "`", stringify!($name), "`: the data at `lsa`, by the `list_bytes` bytes of list at `list`, ",
            "whose elements lie in the 4 GiB area `eah`."
        )]
        pub const fn $name(lsa: LsAddr, eah: u32, list: LsAddr, list_bytes: u32, tag: Tag) -> RawCommand {
            RawCommand::new(Opcode::$variant, lsa, EffectiveAddress::from_halves(eah, list.0), list_bytes, tag)
        }
    )*};
    (signal: $($name:ident $variant:ident),*) => {$(
        #[doc = concat!("`", stringify!($name), "`: the word at `lsa` to the signal register at `ea`.")]
        pub const fn $name(lsa: LsAddr, ea: EffectiveAddress, tag: Tag) -> RawCommand {
            RawCommand::new(Opcode::$variant, lsa, ea, SIGNAL_BYTES, tag)
        }
    )*};
    (ordering: $($name:ident $variant:ident),*) => {$(
        #[doc = concat!("`", stringify!($name), "`: see [`Opcode::", stringify!($variant), "`].")]
        pub const fn $name(tag: Tag) -> RawCommand {
            RawCommand::new(Opcode::$variant, LsAddr(0), EffectiveAddress(0), 0, tag)
        }
    )*};
    (atomic: $($name:ident $variant:ident),*) => {$(
        #[doc = concat!("`", stringify!($name), "`: the lock lines that hold `lsa` and `ea`.")]
        pub const fn $name(lsa: LsAddr, ea: EffectiveAddress) -> RawCommand {
            RawCommand::new(Opcode::$variant, lsa, ea, LOCK_LINE_BYTES, Tag::of::<0>())
        }
    )*};
}

/// Bytes of a signal.
const SIGNAL_BYTES: u32 = 4;

impl RawCommand {
    /// The command with these values, unchecked.
    pub const fn new(
        opcode: Opcode,
        lsa: LsAddr,
        ea: EffectiveAddress,
        size: u32,
        tag: Tag,
    ) -> RawCommand {
        RawCommand {
            opcode: opcode as u32,
            lsa: lsa.0,
            ea: ea.0,
            size,
            tag: tag.number(),
        }
    }

    constructors!(transfer: get Get, getb Getb, getf Getf, put Put, putb Putb, putf Putf);
    constructors!(list: getl Getl, getlb Getlb, getlf Getlf, putl Putl, putlb Putlb, putlf Putlf);
    constructors!(signal: sndsig Sndsig, sndsigb Sndsigb, sndsigf Sndsigf);
    constructors!(ordering: barrier Barrier, mfceieio Mfceieio, mfcsync Mfcsync);
    constructors!(atomic: getllar Getllar, putllc Putllc, putlluc Putlluc);

    /// `putqlluc`: the lock lines that hold `lsa` and `ea`, through the queue.
    pub const fn putqlluc(lsa: LsAddr, ea: EffectiveAddress, tag: Tag) -> RawCommand {
        RawCommand::new(Opcode::Putqlluc, lsa, ea, LOCK_LINE_BYTES, tag)
    }

    /// Checks the command for an SPU's queue and a local store of `local_store_bytes`; the result
    /// is the proof that its shape is legal.
    ///
    /// Where a command breaks several rules, a command error is reported ahead of an alignment
    /// error (CBEA p.57 table 7-6 note 2), and both ahead of the ranges. Zero bytes and an empty
    /// list are legal and move nothing. The elements of a list are checked when [`ListCursor`]
    /// reads them, as on the hardware.
    ///
    /// The hardware lets a transfer run past the end of the local store and wraps its address to 0
    /// (the local store limit register, CBEA s.15.6 p.221). That is refused here: no program means
    /// it, and the bytes at address 0 are usually the program itself.
    ///
    /// # Errors
    ///
    /// - [`MfcFault::InvalidDmaCommand`]: an illegal or reserved opcode, an `s` form, a tag above
    ///   31.
    /// - [`MfcFault::DmaAlignment`]: an illegal size, a misaligned address, addresses at different
    ///   offsets in their 16-byte blocks, a signal of other than 4 bytes, a malformed list. Not for
    ///   the ordering and the atomic commands, which have no such rules (same table, note 1).
    /// - [`MfcFault::LocalStoreRange`]: the bytes, or the list, leave the local store.
    /// - [`MfcFault::DataSegment`]: the bytes leave the effective address space at 2^64.
    ///
    /// # Panics
    ///
    /// Where `local_store_bytes` is not a multiple of 16, as no local store is.
    #[inline]
    pub fn check(&self, local_store_bytes: u32) -> Result<Command, MfcFault> {
        self.check_for(self.check_spu_opcode()?, local_store_bytes)
    }

    /// As [`check`](Self::check), for the proxy queue, which the PPE fills. It takes no lists and no
    /// atomic commands: they belong to a program on the SPE.
    ///
    /// The hardware's proxy queue takes the `s` forms, which also start the SPU. They are refused here:
    /// a program is started by [`Ppe::spawn`](crate::Ppe::spawn).
    ///
    /// Source: CBEA s.7.4 p.59 (no lists), s.7.8 p.65 (no atomics).
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check); for a list, an atomic command or an `s` form it is
    /// [`MfcFault::InvalidDmaCommand`].
    ///
    /// # Panics
    ///
    /// As [`check`](Self::check).
    #[inline]
    pub fn check_proxy(&self, local_store_bytes: u32) -> Result<Command, MfcFault> {
        self.check_for(self.check_proxy_opcode()?, local_store_bytes)
    }

    /// Checks everything but whether the queue takes such commands.
    #[inline]
    fn check_for(&self, opcode: Opcode, local_store_bytes: u32) -> Result<Command, MfcFault> {
        assert!(
            local_store_bytes.is_multiple_of(16),
            "a local store of {local_store_bytes} bytes: its size is a multiple of 16"
        );
        let class = opcode.class();
        let lsa = LsAddr(self.lsa);
        let ea = EffectiveAddress(self.ea);
        let bytes = self.size;
        let operation = Operation {
            opcode,
            element: None,
            bytes,
        };

        if class == Class::Atomic {
            // No tag to check: the immediate atomics carry none (CBEA s.7.8 p.65).
            let lsa = check_line(opcode, lsa, local_store_bytes)?;
            return Ok(Command::Atomic(Atomic {
                opcode,
                lsa,
                ea: ea.lock_line(),
            }));
        }
        let tag = Tag::new(self.tag).ok_or(MfcFault::InvalidDmaCommand {
            why: InvalidCommand::Tag {
                opcode,
                tag: self.tag,
            },
        })?;
        match class {
            Class::Transfer(_) | Class::SendSignal => {
                if class == Class::SendSignal && bytes != SIGNAL_BYTES {
                    return Err(MfcFault::DmaAlignment {
                        operation,
                        why: Misalignment::SignalSize,
                    });
                }
                check_shape(operation, lsa, ea)?;
                check_local_store(operation, lsa, local_store_bytes)?;
                check_effective_range(operation, ea)?;
                Ok(match class {
                    Class::SendSignal => Command::SendSignal(SendSignal {
                        opcode,
                        tag,
                        lsa,
                        ea,
                    }),
                    _ => Command::Transfer(Transfer {
                        opcode,
                        tag,
                        lsa,
                        bytes,
                        ea,
                    }),
                })
            }
            Class::List(_) => {
                let list = LsAddr(ea.eal());
                check_list(operation, lsa, list)?;
                check_local_store(operation, list, local_store_bytes)?;
                Ok(Command::ListTransfer(ListTransfer {
                    opcode,
                    tag,
                    lsa,
                    list,
                    list_bytes: bytes,
                    eah: ea.eah(),
                    local_store_bytes,
                }))
            }
            Class::Ordering => Ok(Command::Ordering(OrderingCommand { opcode, tag })),
            Class::QueuedLinePut => {
                let lsa = check_line(opcode, lsa, local_store_bytes)?;
                Ok(Command::QueuedLinePut(QueuedLinePut {
                    tag,
                    lsa,
                    ea: ea.lock_line(),
                }))
            }
            Class::StorageControl => {
                if bytes > MAX_TRANSFER_BYTES {
                    return Err(MfcFault::DmaAlignment {
                        operation,
                        why: Misalignment::TooLarge,
                    });
                }
                check_effective_range(operation, ea)?;
                Ok(Command::StorageControl(StorageControl {
                    opcode,
                    tag,
                    ea,
                    bytes,
                }))
            }
            Class::Touch => Ok(Command::StorageControl(StorageControl {
                opcode,
                tag,
                ea,
                bytes,
            })),
            Class::Atomic | Class::StartSpu { .. } => {
                unreachable!("atomics are done above, and the s forms were refused")
            }
        }
    }

    #[inline]
    fn check_spu_opcode(&self) -> Result<Opcode, MfcFault> {
        let opcode = self.check_opcode()?;
        match opcode.class() {
            Class::StartSpu { use_instead } => Err(MfcFault::InvalidDmaCommand {
                why: InvalidCommand::ProxyOnly {
                    opcode,
                    use_instead,
                },
            }),
            _ => Ok(opcode),
        }
    }

    fn check_proxy_opcode(&self) -> Result<Opcode, MfcFault> {
        let opcode = self.check_opcode()?;
        let why = match opcode.class() {
            Class::StartSpu { use_instead } => InvalidCommand::StartsSpu {
                opcode,
                use_instead,
            },
            Class::List(_) | Class::Atomic | Class::QueuedLinePut => {
                InvalidCommand::SpuOnly { opcode }
            }
            _ => return Ok(opcode),
        };
        Err(MfcFault::InvalidDmaCommand { why })
    }

    #[inline]
    fn check_opcode(&self) -> Result<Opcode, MfcFault> {
        // The class ids are in the upper half of the command word and name nothing (CBEA p.114).
        let number = self.opcode as u16;
        Opcode::from_number(number).ok_or_else(|| {
            let word = self.opcode;
            let why = if number >= 0x8000 {
                InvalidCommand::ReservedOpcode { word }
            } else {
                InvalidCommand::IllegalOpcode { word }
            };
            MfcFault::InvalidDmaCommand { why }
        })
    }
}

/// The rules for size and alignment of one transfer, alone or as an element of a list (CBEA p.57
/// table 7-6).
#[inline]
pub(super) fn check_shape(
    operation: Operation,
    lsa: LsAddr,
    ea: EffectiveAddress,
) -> Result<(), MfcFault> {
    let bytes = operation.bytes;
    let fault = |why| Err(MfcFault::DmaAlignment { operation, why });
    if bytes > MAX_TRANSFER_BYTES {
        return fault(Misalignment::TooLarge);
    }
    let need = match bytes {
        0 => 1,
        1 | 2 | 4 | 8 => bytes,
        _ if bytes.is_multiple_of(16) => 16,
        _ => return fault(Misalignment::Size),
    };
    // A power of two, so a mask does what a division would.
    if lsa.0 & (need - 1) != 0 {
        return fault(Misalignment::LocalStore {
            lsa,
            multiple_of: need,
        });
    }
    if lsa.0 % 16 != ea.eal() % 16 {
        return fault(Misalignment::Offset { lsa, ea });
    }
    Ok(())
}

/// The rules for the parameters of a list command (CBEA p.57 table 7-6, s.7.5.3 p.60, p.116).
fn check_list(operation: Operation, lsa: LsAddr, list: LsAddr) -> Result<(), MfcFault> {
    let fault = |why| Err(MfcFault::DmaAlignment { operation, why });
    if operation.bytes > MAX_LIST_BYTES {
        fault(Misalignment::ListTooLong)
    } else if !operation.bytes.is_multiple_of(LIST_ELEMENT_BYTES) {
        fault(Misalignment::ListSize)
    } else if !list.0.is_multiple_of(LIST_ELEMENT_BYTES) {
        fault(Misalignment::ListAddress { list })
    } else if !lsa.0.is_multiple_of(8) {
        fault(Misalignment::ListLocalStore { lsa })
    } else {
        Ok(())
    }
}

/// That the operation's bytes at `lsa` lie in the local store.
#[inline]
pub(super) fn check_local_store(
    operation: Operation,
    lsa: LsAddr,
    local_store_bytes: u32,
) -> Result<(), MfcFault> {
    let end = u64::from(lsa.0) + u64::from(operation.bytes);
    if operation.bytes == 0 || end <= u64::from(local_store_bytes) {
        Ok(())
    } else {
        Err(MfcFault::LocalStoreRange {
            operation,
            lsa,
            local_store_bytes,
        })
    }
}

/// That the operation's bytes at `ea` end at 2^64 at most.
#[inline]
fn check_effective_range(operation: Operation, ea: EffectiveAddress) -> Result<(), MfcFault> {
    match u64::from(operation.bytes).checked_sub(1) {
        Some(to_last) if ea.0.checked_add(to_last).is_none() => {
            Err(MfcFault::DataSegment { operation, ea })
        }
        _ => Ok(()),
    }
}

/// The local-store line of an atomic command. Its alignment is not checked: the line that holds the
/// address is meant (CBEA p.57 table 7-6 note 1).
fn check_line(opcode: Opcode, lsa: LsAddr, local_store_bytes: u32) -> Result<LsAddr, MfcFault> {
    let line = LsAddr(lsa.0 & !(LOCK_LINE_BYTES - 1));
    let operation = Operation {
        opcode,
        element: None,
        bytes: LOCK_LINE_BYTES,
    };
    check_local_store(operation, line, local_store_bytes)?;
    Ok(line)
}

/// A command whose shape the hardware accepts; only [`RawCommand::check`] and
/// [`RawCommand::check_proxy`] make one, so holding one is the proof.
///
/// Whether its effective address is mapped is not part of the shape: the machine finds out when it
/// moves the bytes, and then reports [`MfcFault::DataSegment`] or [`MfcFault::DataStorage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// `get`, `put` and their forms.
    Transfer(Transfer),
    /// `getl`, `putl` and their forms.
    ListTransfer(ListTransfer),
    /// `sndsig` and its forms.
    SendSignal(SendSignal),
    /// `barrier`, `mfceieio`, `mfcsync`.
    Ordering(OrderingCommand),
    /// `getllar`, `putllc`, `putlluc`: immediate, without tag.
    Atomic(Atomic),
    /// `putqlluc`.
    QueuedLinePut(QueuedLinePut),
    /// `sdcrt`, `sdcrtst`, `sdcrz`, `sdcrst`, `sdcrf`.
    StorageControl(StorageControl),
}

impl Command {
    /// The opcode.
    pub const fn opcode(&self) -> Opcode {
        match self {
            Command::Transfer(c) => c.opcode,
            Command::ListTransfer(c) => c.opcode,
            Command::SendSignal(c) => c.opcode,
            Command::Ordering(c) => c.opcode,
            Command::Atomic(c) => c.opcode,
            Command::QueuedLinePut(_) => Opcode::Putqlluc,
            Command::StorageControl(c) => c.opcode,
        }
    }

    /// The tag group, or `None` for the immediate atomics, which have none.
    pub const fn tag(&self) -> Option<Tag> {
        match self {
            Command::Transfer(c) => Some(c.tag),
            Command::ListTransfer(c) => Some(c.tag),
            Command::SendSignal(c) => Some(c.tag),
            Command::Ordering(c) => Some(c.tag),
            Command::Atomic(_) => None,
            Command::QueuedLinePut(c) => Some(c.tag),
            Command::StorageControl(c) => Some(c.tag),
        }
    }
}

/// The command that a fault about this command names.
impl From<&Command> for Operation {
    fn from(command: &Command) -> Operation {
        let bytes = match command {
            Command::Transfer(c) => c.bytes,
            Command::ListTransfer(c) => c.list_bytes,
            Command::SendSignal(_) => SIGNAL_BYTES,
            Command::Ordering(_) => 0,
            Command::Atomic(_) | Command::QueuedLinePut(_) => LOCK_LINE_BYTES,
            Command::StorageControl(c) => c.bytes,
        };
        Operation {
            opcode: command.opcode(),
            element: None,
            bytes,
        }
    }
}

/// Getters, each with its documentation, for the fields that the commands share.
macro_rules! getters {
    ($($command:ident { $($field:ident: $type:ty),* })*) => {$(
        impl $command { $(getters!(@ $field $type);)* }
    )*};
    (@ opcode $type:ty) => {
        /// The opcode.
        pub const fn opcode(&self) -> $type { self.opcode }
    };
    (@ tag $type:ty) => {
        /// The tag group.
        pub const fn tag(&self) -> $type { self.tag }
    };
    (@ lsa $type:ty) => {
        /// Where the data start in the local store.
        pub const fn lsa(&self) -> $type { self.lsa }
    };
    (@ ea $type:ty) => {
        /// Where the data start in the effective address space.
        pub const fn ea(&self) -> $type { self.ea }
    };
    (@ bytes $type:ty) => {
        /// How many bytes the command covers.
        pub const fn bytes(&self) -> $type { self.bytes }
    };
}

/// One transfer: 0, 1, 2, 4, 8, 16 or a multiple of 16 bytes, up to 16 KB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transfer {
    opcode: Opcode,
    tag: Tag,
    lsa: LsAddr,
    bytes: u32,
    ea: EffectiveAddress,
}

impl Transfer {
    /// Which way the bytes move.
    pub const fn direction(&self) -> Direction {
        direction_of(self.opcode)
    }

    /// The order within the tag group.
    pub const fn order(&self) -> Order {
        self.opcode.order()
    }
}

/// A list of up to 2,048 transfers that share a tag group, a queue entry and the upper half of
/// their effective addresses. The list itself lies in the local store; a [`ListCursor`] walks it.
///
/// Source: CBEA s.7.4 p.59, s.7.5.3 p.60.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListTransfer {
    opcode: Opcode,
    tag: Tag,
    lsa: LsAddr,
    list: LsAddr,
    list_bytes: u32,
    eah: u32,
    local_store_bytes: u32,
}

impl ListTransfer {
    /// Which way the bytes move.
    pub const fn direction(&self) -> Direction {
        direction_of(self.opcode)
    }

    /// The order of the whole list within the tag group.
    pub const fn order(&self) -> Order {
        self.opcode.order()
    }

    /// Where the list starts in the local store: a multiple of 8.
    pub const fn list(&self) -> LsAddr {
        self.list
    }

    /// Bytes of list: 8 for each element.
    pub const fn list_bytes(&self) -> u32 {
        self.list_bytes
    }

    /// How many elements the list has, 0 to 2,048.
    pub const fn elements(&self) -> u16 {
        // At most 16 KB of 8 bytes each.
        (self.list_bytes / LIST_ELEMENT_BYTES) as u16
    }

    /// The 4 GiB area, the upper 32 bits, of every element's effective address.
    pub const fn eah(&self) -> u32 {
        self.eah
    }

    /// The size of the local store that the command was checked for.
    pub(super) const fn local_store_bytes(&self) -> u32 {
        self.local_store_bytes
    }

    /// A cursor at the first element.
    pub const fn cursor(&self) -> ListCursor {
        ListCursor::new(*self)
    }
}

const fn direction_of(opcode: Opcode) -> Direction {
    match opcode.direction() {
        Some(direction) => direction,
        None => unreachable!(),
    }
}

/// A put of 4 bytes to a signal-notification register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SendSignal {
    opcode: Opcode,
    tag: Tag,
    lsa: LsAddr,
    ea: EffectiveAddress,
}

impl SendSignal {
    /// The order within the tag group.
    pub const fn order(&self) -> Order {
        self.opcode.order()
    }
}

/// A command that moves nothing and orders others: [`Opcode::Barrier`] the whole queue but the
/// immediate atomics (CBEA s.7.9.3 p.72, p.308), [`Opcode::Mfcsync`] and [`Opcode::Mfceieio`] their
/// tag group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OrderingCommand {
    opcode: Opcode,
    tag: Tag,
}

/// An immediate atomic command on one 128-byte lock line: [`Opcode::Getllar`], [`Opcode::Putllc`]
/// or [`Opcode::Putlluc`].
///
/// The addresses are rounded down to their lines. Source: CBEA s.7.8 pp.65-68.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Atomic {
    opcode: Opcode,
    lsa: LsAddr,
    ea: EffectiveAddress,
}

/// `putqlluc`: a lock line stored unconditionally, in the queue, with an implied fence.
///
/// The addresses are rounded down to their lines. Source: CBEA s.7.8.4 p.68.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QueuedLinePut {
    tag: Tag,
    lsa: LsAddr,
    ea: EffectiveAddress,
}

/// A hint or an order to the atomic cache about a range of effective addresses; a barrier of its
/// tag group.
///
/// [`Opcode::Sdcrt`] and [`Opcode::Sdcrtst`] do nothing on this chip (Handbook s.6.2.2.4 p.151) and
/// may have any size. [`Opcode::Sdcrz`] zeroes every lock line that holds a byte of the range (CBEA
/// s.7.7.3 p.64).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StorageControl {
    opcode: Opcode,
    tag: Tag,
    ea: EffectiveAddress,
    bytes: u32,
}

getters! {
    Transfer { opcode: Opcode, tag: Tag, lsa: LsAddr, bytes: u32, ea: EffectiveAddress }
    ListTransfer { opcode: Opcode, tag: Tag, lsa: LsAddr }
    SendSignal { opcode: Opcode, tag: Tag, lsa: LsAddr, ea: EffectiveAddress }
    OrderingCommand { opcode: Opcode, tag: Tag }
    Atomic { opcode: Opcode, lsa: LsAddr, ea: EffectiveAddress }
    QueuedLinePut { tag: Tag, lsa: LsAddr, ea: EffectiveAddress }
    StorageControl { opcode: Opcode, tag: Tag, ea: EffectiveAddress, bytes: u32 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LOCAL_STORE_BYTES: u32 = 256 * 1024;
    const LSA: LsAddr = LsAddr(0x1000);
    const EA: EffectiveAddress = EffectiveAddress(0x3_0000_2000);
    const TAG: Tag = Tag::of::<5>();

    fn check(raw: RawCommand) -> Result<Command, MfcFault> {
        raw.check(LOCAL_STORE_BYTES)
    }

    fn misaligned(raw: RawCommand) -> Misalignment {
        match check(raw) {
            Err(MfcFault::DmaAlignment { why, .. }) => why,
            other => panic!("{raw:?} should be misaligned: {other:?}"),
        }
    }

    #[test]
    fn opcodes_have_the_architectures_numbers() {
        let numbers = |names: &[Opcode]| names.iter().map(|o| o.number()).collect::<Vec<_>>();
        use Opcode::*;
        assert_eq!(
            numbers(&[Put, Putb, Putf, Putl, Putlb, Putlf]),
            [0x20, 0x21, 0x22, 0x24, 0x25, 0x26]
        );
        assert_eq!(
            numbers(&[Get, Getb, Getf, Getl, Getlb, Getlf]),
            [0x40, 0x41, 0x42, 0x44, 0x45, 0x46]
        );
        assert_eq!(
            numbers(&[Puts, Putbs, Putfs, Gets, Getbs, Getfs]),
            [0x28, 0x29, 0x2A, 0x48, 0x49, 0x4A]
        );
        assert_eq!(
            numbers(&[Putr, Putrb, Putrf, Putrl, Putrlb, Putrlf]),
            [0x30, 0x31, 0x32, 0x34, 0x35, 0x36]
        );
        assert_eq!(numbers(&[Sndsig, Sndsigb, Sndsigf]), [0xA0, 0xA1, 0xA2]);
        assert_eq!(numbers(&[Barrier, Mfceieio, Mfcsync]), [0xC0, 0xC8, 0xCC]);
        assert_eq!(
            numbers(&[Getllar, Putllc, Putlluc, Putqlluc]),
            [0xD0, 0xB4, 0xB0, 0xB8]
        );
        assert_eq!(
            numbers(&[Sdcrt, Sdcrtst, Sdcrz, Sdcrst, Sdcrf]),
            [0x80, 0x81, 0x89, 0x8D, 0x8F]
        );
        assert_eq!(Opcode::ALL.len(), 39);
        for &opcode in Opcode::ALL {
            assert_eq!(Opcode::from_number(opcode.number()), Some(opcode));
        }
        assert_eq!(format!("{:>6}", Getlf), " getlf");
    }

    #[test]
    fn a_names_ending_tells_its_order() {
        for &opcode in Opcode::ALL {
            let stem = opcode.name().trim_end_matches('s');
            let moves = ["put", "get", "sndsig"]
                .iter()
                .any(|stem| opcode.name().starts_with(stem));
            let expected = match opcode {
                Opcode::Putqlluc => Order::Fence,
                Opcode::Getllar | Opcode::Putllc | Opcode::Putlluc => Order::None,
                _ if !moves || stem.ends_with('b') => Order::Barrier,
                _ if stem.ends_with('f') => Order::Fence,
                _ => Order::None,
            };
            assert_eq!(opcode.order(), expected, "{opcode}");
        }
    }

    #[test]
    fn a_checked_transfer_carries_what_was_asked() {
        let Ok(Command::Transfer(get)) = check(RawCommand::getf(LSA, EA, 16_384, TAG)) else {
            panic!()
        };
        assert_eq!(
            (get.direction(), get.order(), get.opcode()),
            (Direction::Get, Order::Fence, Opcode::Getf)
        );
        assert_eq!(
            (get.lsa(), get.ea(), get.bytes(), get.tag()),
            (LSA, EA, 16_384, TAG)
        );
        let Ok(Command::Transfer(put)) = check(RawCommand::putb(LSA, EA, 0, TAG)) else {
            panic!()
        };
        assert_eq!(
            (put.direction(), put.order(), put.bytes()),
            (Direction::Put, Order::Barrier, 0)
        );
    }

    #[test]
    fn result_hints_behave_as_the_plain_forms() {
        for (hint, plain) in [
            (Opcode::Putr, Opcode::Put),
            (Opcode::Putrb, Opcode::Putb),
            (Opcode::Putrf, Opcode::Putf),
        ] {
            let parts = |opcode| match check(RawCommand::new(opcode, LSA, EA, 16, TAG)) {
                Ok(Command::Transfer(t)) => (
                    t.direction(),
                    t.order(),
                    t.lsa(),
                    t.ea(),
                    t.bytes(),
                    t.tag(),
                ),
                other => panic!("{opcode}: {other:?}"),
            };
            assert_eq!(parts(hint), parts(plain));
        }
    }

    #[test]
    fn each_size_up_to_16_kb_is_legal_or_not() {
        for bytes in 0..=20_000 {
            let legal = matches!(bytes, 0 | 1 | 2 | 4 | 8) || (bytes % 16 == 0 && bytes <= 16_384);
            assert_eq!(
                check(RawCommand::put(LSA, EA, bytes, TAG)).is_ok(),
                legal,
                "{bytes} bytes"
            );
        }
        assert_eq!(
            misaligned(RawCommand::put(LSA, EA, 24, TAG)),
            Misalignment::Size
        );
        assert_eq!(
            misaligned(RawCommand::put(LSA, EA, 16_400, TAG)),
            Misalignment::TooLarge
        );
        assert_eq!(
            misaligned(RawCommand::put(LSA, EA, u32::MAX, TAG)),
            Misalignment::TooLarge
        );
    }

    #[test]
    fn the_local_store_address_is_naturally_aligned() {
        for (bytes, multiple_of) in [(0, 1), (1, 1), (2, 2), (4, 4), (8, 8), (16, 16), (48, 16)] {
            for offset in 0..16 {
                let lsa = LsAddr(LSA.0 + offset);
                let raw = RawCommand::get(lsa, EA + offset.into(), bytes, TAG);
                if offset % multiple_of == 0 {
                    assert!(check(raw).is_ok(), "{bytes} bytes at offset {offset}");
                } else {
                    assert_eq!(
                        misaligned(raw),
                        Misalignment::LocalStore { lsa, multiple_of }
                    );
                }
            }
        }
    }

    #[test]
    fn both_addresses_have_the_same_offset_in_their_blocks() {
        for bytes in [0, 1, 2, 4, 8, 16] {
            let raw = RawCommand::get(LSA, EA + 8, bytes, TAG);
            assert_eq!(
                misaligned(raw),
                Misalignment::Offset {
                    lsa: LSA,
                    ea: EA + 8
                }
            );
        }
        let raw = RawCommand::sndsig(LSA, EA + 4, TAG);
        assert_eq!(
            misaligned(raw),
            Misalignment::Offset {
                lsa: LSA,
                ea: EA + 4
            }
        );
    }

    #[test]
    fn a_signal_has_four_bytes() {
        let Ok(Command::SendSignal(signal)) = check(RawCommand::sndsigb(
            LsAddr(0x100C),
            EffectiveAddress(0x1400C),
            TAG,
        )) else {
            panic!()
        };
        assert_eq!(
            (signal.lsa(), signal.ea()),
            (LsAddr(0x100C), EffectiveAddress(0x1400C))
        );
        assert_eq!((signal.tag(), signal.order()), (TAG, Order::Barrier));
        for bytes in [0, 1, 8, 16] {
            assert_eq!(
                misaligned(RawCommand::new(Opcode::Sndsig, LSA, EA, bytes, TAG)),
                Misalignment::SignalSize
            );
        }
    }

    #[test]
    fn tags_end_at_31_also_for_ordering_and_storage_control() {
        use Opcode::*;
        for opcode in [
            Get, Putl, Sndsig, Barrier, Mfcsync, Mfceieio, Putqlluc, Sdcrz, Sdcrt,
        ] {
            for tag in [32, 0x100, u32::MAX] {
                let raw = RawCommand {
                    tag,
                    ..RawCommand::new(opcode, LSA, EA, 4, TAG)
                };
                assert_eq!(
                    check(raw),
                    Err(MfcFault::InvalidDmaCommand {
                        why: InvalidCommand::Tag { opcode, tag }
                    })
                );
            }
        }
    }

    #[test]
    fn atomics_have_neither_tag_nor_alignment() {
        for raw in [RawCommand::getllar, RawCommand::putllc, RawCommand::putlluc] {
            let raw = RawCommand {
                tag: 99,
                size: 3,
                ..raw(LsAddr(0x10FF), EA + 0x81)
            };
            let command = check(raw).unwrap();
            assert_eq!(command.tag(), None);
            let Command::Atomic(atomic) = command else {
                panic!()
            };
            assert_eq!((atomic.lsa(), atomic.ea()), (LsAddr(0x1080), EA + 0x80));
            assert_eq!(u32::from(atomic.opcode().number()), raw.opcode);
        }
        let Ok(Command::QueuedLinePut(put)) =
            check(RawCommand::putqlluc(LsAddr(0x10FF), EA + 0x81, TAG))
        else {
            panic!()
        };
        assert_eq!(
            (put.lsa(), put.ea(), put.tag()),
            (LsAddr(0x1080), EA + 0x80, TAG)
        );
        let last_line = RawCommand::getllar(LsAddr(LOCAL_STORE_BYTES - 1), EA);
        assert!(check(last_line).is_ok());
        let behind = RawCommand::getllar(LsAddr(LOCAL_STORE_BYTES), EA);
        assert!(matches!(
            check(behind),
            Err(MfcFault::LocalStoreRange { .. })
        ));
    }

    #[test]
    fn ordering_commands_ignore_the_other_parameters() {
        for raw in [
            RawCommand::barrier(TAG),
            RawCommand::mfcsync(TAG),
            RawCommand::mfceieio(TAG),
        ] {
            let raw = RawCommand {
                lsa: u32::MAX,
                ea: u64::MAX,
                size: u32::MAX,
                ..raw
            };
            let Ok(Command::Ordering(ordering)) = check(raw) else {
                panic!()
            };
            assert_eq!(
                (u32::from(ordering.opcode().number()), ordering.tag()),
                (raw.opcode, TAG)
            );
        }
    }

    #[test]
    fn storage_control_covers_16_kb_unless_it_is_a_touch() {
        use Opcode::*;
        for opcode in [Sdcrz, Sdcrst, Sdcrf, Sdcrt, Sdcrtst] {
            let raw = RawCommand::new(opcode, LsAddr(u32::MAX), EA, 16_384, TAG);
            let Ok(Command::StorageControl(control)) = check(raw) else {
                panic!()
            };
            assert_eq!(
                (
                    control.opcode(),
                    control.ea(),
                    control.bytes(),
                    control.tag()
                ),
                (opcode, EA, 16_384, TAG)
            );
            let larger = check(RawCommand {
                size: 16_385,
                ..raw
            });
            assert_eq!(
                larger.is_ok(),
                matches!(opcode, Sdcrt | Sdcrtst),
                "{opcode}"
            );
        }
    }

    #[test]
    fn class_ids_are_ignored() {
        let raw = RawCommand::get(LSA, EA, 16, TAG);
        assert_eq!(
            check(RawCommand {
                opcode: 0x0302_0000 | raw.opcode,
                ..raw
            }),
            check(raw)
        );
    }

    #[test]
    fn a_command_error_is_reported_ahead_of_an_alignment_error_and_both_ahead_of_a_range() {
        let bad_in_all = RawCommand {
            opcode: 0x27,
            lsa: LOCAL_STORE_BYTES + 1,
            ea: u64::MAX,
            size: 3,
            tag: 32,
        };
        let kind = |raw| match check(raw) {
            Err(MfcFault::InvalidDmaCommand {
                why: InvalidCommand::Tag { .. },
            }) => "tag",
            Err(MfcFault::InvalidDmaCommand { .. }) => "opcode",
            Err(MfcFault::DmaAlignment { .. }) => "alignment",
            Err(MfcFault::LocalStoreRange { .. }) => "local store",
            Err(MfcFault::DataSegment { .. }) => "segment",
            other => panic!("{other:?}"),
        };
        assert_eq!(kind(bad_in_all), "opcode");
        let raw = RawCommand {
            opcode: Opcode::Get.number().into(),
            ..bad_in_all
        };
        assert_eq!(kind(raw), "tag");
        let raw = RawCommand { tag: 0, ..raw };
        assert_eq!(kind(raw), "alignment");
        let raw = RawCommand {
            size: 16,
            lsa: LOCAL_STORE_BYTES,
            ea: u64::MAX - 15,
            ..raw
        };
        assert_eq!(kind(raw), "local store");
        let raw = RawCommand {
            size: 32,
            lsa: 0,
            ..raw
        };
        assert_eq!(kind(raw), "segment");
    }

    #[test]
    fn a_transfer_may_end_where_the_local_store_and_the_address_space_end() {
        let last = RawCommand::get(
            LsAddr(LOCAL_STORE_BYTES - 16),
            EffectiveAddress(u64::MAX - 15),
            16,
            TAG,
        );
        assert!(check(last).is_ok());
        let none_behind = RawCommand::get(LsAddr(LOCAL_STORE_BYTES), EA, 0, TAG);
        assert!(check(none_behind).is_ok(), "no byte leaves the local store");
    }

    #[test]
    fn a_list_is_whole_elements_up_to_2048() {
        let list = LsAddr(0x8008);
        let Ok(Command::ListTransfer(getl)) = check(RawCommand::getlf(LSA, 3, list, 16_384, TAG))
        else {
            panic!()
        };
        assert_eq!(
            (getl.direction(), getl.order(), getl.tag()),
            (Direction::Get, Order::Fence, TAG)
        );
        assert_eq!(
            (
                getl.list(),
                getl.list_bytes(),
                getl.elements(),
                getl.eah(),
                getl.lsa()
            ),
            (list, 16_384, 2_048, 3, LSA)
        );
        assert!(
            check(RawCommand::putl(LSA, 0, list, 0, TAG)).is_ok(),
            "an empty list"
        );
        let misaligned_list =
            |lsa, list, bytes| misaligned(RawCommand::putl(lsa, 0, list, bytes, TAG));
        assert_eq!(misaligned_list(LSA, list, 12), Misalignment::ListSize);
        assert_eq!(
            misaligned_list(LSA, list, 16_392),
            Misalignment::ListTooLong
        );
        assert_eq!(
            misaligned_list(LSA, LsAddr(0x8004), 8),
            Misalignment::ListAddress {
                list: LsAddr(0x8004)
            }
        );
        assert_eq!(
            misaligned_list(LsAddr(0x1004), list, 8),
            Misalignment::ListLocalStore {
                lsa: LsAddr(0x1004)
            }
        );
        let outside = check(RawCommand::getl(
            LSA,
            0,
            LsAddr(LOCAL_STORE_BYTES - 8),
            16,
            TAG,
        ));
        assert!(matches!(
            outside,
            Err(MfcFault::LocalStoreRange {
                lsa: LsAddr(0x3_FFF8),
                ..
            })
        ));
    }

    #[test]
    fn addresses_have_halves_and_lines() {
        let ea = EffectiveAddress::from_halves(0x12, 0x3456_78FF);
        assert_eq!(
            (ea.eah(), ea.eal(), ea.0),
            (0x12, 0x3456_78FF, 0x12_3456_78FF)
        );
        assert_eq!(ea.lock_line(), EffectiveAddress(0x12_3456_7880));
        assert_eq!((ea + 1).to_string(), "0x1234567900");
        assert_eq!(LsAddr(0x3_FFF0).to_string(), "0x3fff0");
    }

    #[test]
    #[should_panic(expected = "a local store of 100 bytes: its size is a multiple of 16")]
    fn a_local_store_has_whole_quadwords() {
        let _ = RawCommand::barrier(TAG).check(100);
    }

    /// Raw commands of which a good part is legal.
    fn raw_commands() -> impl Strategy<Value = RawCommand> {
        let opcode = prop_oneof![
            8 => prop::sample::select(Opcode::ALL).prop_map(|opcode| u32::from(opcode.number())),
            1 => any::<u32>(),
        ];
        let lsa = prop_oneof![
            (0u32..0x4100).prop_map(|n| n * 16),
            0u32..0x4_1000,
            any::<u32>()
        ];
        let ea = prop_oneof![any::<u32>().prop_map(|n| u64::from(n) * 16), any::<u64>()];
        let size = prop_oneof![
            Just(4),
            0u32..20,
            (0u32..1_100).prop_map(|n| n * 16),
            any::<u32>()
        ];
        let tag = prop_oneof![8 => 0u32..32, 1 => any::<u32>()];
        (opcode, lsa, ea, size, tag).prop_map(|(opcode, lsa, ea, size, tag)| RawCommand {
            opcode,
            lsa,
            ea,
            size,
            tag,
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// Every raw command is accepted or refused with a message; what is accepted obeys the
        /// rules.
        #[test]
        fn every_raw_command_is_checked(raw in raw_commands(), local_store_quadwords in 0u32..=0x1000_0000 - 1) {
            let local_store_bytes = local_store_quadwords * 16;
            match raw.check(local_store_bytes) {
                Err(fault) => prop_assert!(fault.to_string().len() > 40),
                Ok(command) => {
                    prop_assert_eq!(u32::from(command.opcode().number()), raw.opcode & 0xFFFF);
                    if let Command::Transfer(t) = command {
                        let bytes = t.bytes();
                        prop_assert!(bytes <= 16_384);
                        prop_assert!(matches!(bytes, 0 | 1 | 2 | 4 | 8) || bytes % 16 == 0);
                        prop_assert!(t.lsa().0 % bytes.clamp(1, 16) == 0);
                        prop_assert_eq!(u64::from(t.lsa().0 % 16), t.ea().0 % 16);
                        prop_assert!(bytes == 0 || t.lsa().0 + bytes <= local_store_bytes);
                        prop_assert!(u128::from(t.ea().0) + u128::from(bytes) <= 1 << 64);
                    }
                }
            }
        }
    }
}
