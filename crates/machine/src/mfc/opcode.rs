//! The opcodes of MFC commands: their numbers, their names, and the rules that they follow.

use std::fmt;

/// The direction in which a transfer moves bytes, seen from the SPE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the effective address into the local store.
    Get,
    /// From the local store to the effective address.
    Put,
}

/// The order of a command among the other commands of its tag group in the same queue. Commands
/// without an order may run in any order (Handbook s.19 p.509). Source: CBEA s.7.9 p.69.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Not ordered.
    None,
    /// Runs after every earlier command of its tag group (the `f` forms).
    Fence,
    /// Runs after every earlier command of its tag group, and before every later command of the
    /// group (the `b` forms).
    Barrier,
}

/// The kind of command that an opcode names, which decides the rules of the check.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Transfer(Direction),
    List(Direction),
    /// A transfer that also starts the SPU. Only the hardware's proxy queue takes such a command.
    StartSpu {
        use_instead: Opcode,
    },
    SendSignal,
    Ordering,
    Atomic,
    QueuedLinePut,
    /// Storage control that may have an effect: the size is checked.
    StorageControl,
    /// The touch hints, which do nothing on this chip: only the tag is checked.
    Touch,
}

/// Generates the enum, its numbers, names, classes and orders from one list of the opcodes.
macro_rules! opcodes {
    ($($variant:ident = $number:literal, $name:literal, $class:expr, $order:ident, $what:literal;)*) => {
        /// The commands of the MFC, by the architecture's names and numbers.
        ///
        /// The letters at the end of a name say what the command adds: `f` a fence, `b` a barrier
        /// (see [`Order`]), `l` a list. `r` is a hint that the result will be read soon, which a
        /// Cell ignores (CBEA s.7.6.5 p.62). `s` starts the SPU after the transfer: only the
        /// hardware's proxy queue takes the `s` forms. Source: CBEA pp.54-72 and pp.306-308.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Opcode {
            $(#[doc = concat!("`", $name, "`: ", $what, ".")] $variant = $number,)*
        }

        impl Opcode {
            /// Every opcode.
            pub const ALL: &[Opcode] = &[$(Opcode::$variant),*];

            /// The opcode of this number, or `None` if the architecture has no such opcode.
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
            pub(super) const fn class(self) -> Class {
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
    // `barrier` orders the whole queue, for every tag: CBEA s.7.9.3 p.72.
    Barrier = 0xC0, "barrier", Class::Ordering, Barrier, "order all commands of the queue";
    // Tag-specific barriers: CBEA s.7.9.1 p.71 and s.7.9.2 p.72.
    Mfceieio = 0xC8, "mfceieio", Class::Ordering, Barrier, "order the storage accesses of a tag group";
    Mfcsync = 0xCC, "mfcsync", Class::Ordering, Barrier, "order a tag group for all processors and devices";
    Getllar = 0xD0, "getllar", Class::Atomic, None, "get a lock line and reserve it";
}

impl Opcode {
    /// The number of the opcode, which is the low half of the command word.
    pub const fn number(self) -> u16 {
        self as u16
    }

    /// Whether the command is a list command.
    pub const fn is_list(self) -> bool {
        matches!(self.class(), Class::List(_))
    }

    /// The direction in which the command moves bytes, or `None` if the command moves none.
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

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The direction in which a command moves bytes. The command must move bytes.
pub(super) const fn direction_of(opcode: Opcode) -> Direction {
    match opcode.direction() {
        Some(direction) => direction,
        None => unreachable!(),
    }
}
