//! The opcodes of MFC commands, with their numbers, names and rules.

use std::fmt;

/// The direction in which a transfer moves bytes, seen from the SPE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the effective address into the local store.
    Get,
    /// From the local store to the effective address.
    Put,
}

/// The order of a command among the commands of its tag group in the same queue (CBEA s.7.9 p.69).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// In any order (Handbook s.19 p.509).
    None,
    /// After every earlier command of the tag group (the `f` forms).
    Fence,
    /// After every earlier and before every later command of the tag group (the `b` forms).
    Barrier,
}

/// The kind of a command, which determines the rules of the check.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Transfer(Direction),
    List(Direction),
    /// A transfer that also starts the SPU, for the hardware's proxy queue only.
    StartSpu {
        use_instead: Opcode,
    },
    SendSignal,
    Ordering,
    Atomic,
    QueuedLinePut,
    /// A storage control command that has an effect. Its size is checked.
    StorageControl,
    /// A touch hint, which does nothing on this chip. Only the tag is checked.
    Touch,
}

/// Generates the enum and its methods from one list of the opcodes.
macro_rules! opcodes {
    ($($variant:ident = $number:literal, $name:literal, $class:expr, $order:ident, $what:literal;)*) => {
        /// The commands of the MFC, by the architecture's names (CBEA pp.54-72, pp.306-308).
        ///
        /// The last letters of a name mean: `f` a fence, `b` a barrier (see [`Order`]), `l` a list,
        /// `s` a start of the SPU after the transfer (in the hardware's proxy queue only), `r` a
        /// hint that the result will be read soon (a Cell ignores the hint: CBEA s.7.6.5 p.62).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Opcode {
            $(#[doc = concat!("`", $name, "`: ", $what, ".")] $variant = $number,)*
        }

        impl Opcode {
            /// All opcodes.
            pub const ALL: &[Opcode] = &[$(Opcode::$variant),*];

            /// Returns the opcode with this number, or `None` if there is none.
            pub const fn from_number(number: u16) -> Option<Opcode> {
                match number {
                    $($number => Some(Opcode::$variant),)*
                    _ => None,
                }
            }

            /// Returns the architecture's name, in lower case.
            pub const fn name(self) -> &'static str {
                match self { $(Opcode::$variant => $name,)* }
            }

            #[inline]
            pub(super) const fn class(self) -> Class {
                match self { $(Opcode::$variant => $class,)* }
            }

            /// Returns the command's order within its tag group.
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
    // `barrier` orders the whole queue, for all tags: CBEA s.7.9.3 p.72.
    Barrier = 0xC0, "barrier", Class::Ordering, Barrier, "order all commands of the queue";
    // Tag-specific barriers: CBEA s.7.9.1 p.71 and s.7.9.2 p.72.
    Mfceieio = 0xC8, "mfceieio", Class::Ordering, Barrier, "order the storage accesses of a tag group";
    Mfcsync = 0xCC, "mfcsync", Class::Ordering, Barrier, "order a tag group for all processors and devices";
    Getllar = 0xD0, "getllar", Class::Atomic, None, "get a lock line and reserve it";
}

impl Opcode {
    /// Returns the number of the opcode, the low half of the command word.
    pub const fn number(self) -> u16 {
        self as u16
    }

    /// Returns whether the command is a list command.
    pub const fn is_list(self) -> bool {
        matches!(self.class(), Class::List(_))
    }

    /// Returns the direction of a command that moves bytes, or `None` for other commands.
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

/// Returns the direction of a command that moves bytes. Panics for other commands.
pub(super) const fn direction_of(opcode: Opcode) -> Direction {
    match opcode.direction() {
        Some(direction) => direction,
        None => unreachable!(),
    }
}
