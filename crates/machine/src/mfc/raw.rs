//! Commands as the values of six channel writes.

// Rejected: `unsafe fn` for raw commands. Callers would have to prove a condition that a table
// look-up checks in at most 3 ns (the check and an atomic operation together).

use std::fmt;

use super::address::{EffectiveAddress, LsAddr};
use super::limits::{LOCK_LINE_BYTES, SIGNAL_BYTES};
use super::opcode::{Class, Opcode};
use super::tag::Tag;

/// The values of the six channel writes of a command, legal or illegal.
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
    /// The word for `MFC_Cmd`, with the opcode in the low 16 bits. The class ids in the high bits
    /// are ignored, because they only change the speed (Handbook p.457, CBEA p.114).
    pub opcode: u32,
    /// `MFC_LSA`: the local-store address of the data.
    pub lsa: u32,
    /// `MFC_EAH` and `MFC_EAL`: the effective address. For a list command, the low half is the
    /// local-store address of the list. The high half is the high half of all elements' effective
    /// addresses.
    pub ea: u64,
    /// `MFC_Size`: the number of bytes to move, or the size of the list in bytes.
    pub size: u32,
    /// `MFC_TagID`: the tag.
    pub tag: u32,
}

/// Generates the constructors of one kind of command: transfers, lists or signals.
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

impl RawCommand {
    /// Returns the command with these values, without a check.
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

    /// Returns a `putqlluc`, which stores the lock line at `lsa` to `ea` through the queue.
    pub const fn putqlluc(lsa: LsAddr, ea: EffectiveAddress, tag: Tag) -> RawCommand {
        RawCommand::new(Opcode::Putqlluc, lsa, ea, LOCK_LINE_BYTES, tag)
    }
}

/// As `get (local store address 0x1000, effective address 0x20000000, 16 bytes, tag 3)`.
impl fmt::Display for RawCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RawCommand {
            opcode: word,
            size,
            tag,
            ..
        } = *self;
        let (lsa, ea) = (LsAddr(self.lsa), EffectiveAddress(self.ea));
        let opcode = Opcode::from_number(word as u16);
        match opcode {
            Some(opcode) => write!(f, "{opcode} (")?,
            None => write!(f, "the command word {word:#010x} (")?,
        }
        let class = opcode.map(Opcode::class);
        if class == Some(Class::Ordering) {
            return write!(f, "tag {tag})");
        }
        write!(f, "local store address {lsa}, ")?;
        if opcode.is_some_and(Opcode::is_list) {
            let (list, eah) = (LsAddr(ea.eal()), ea.eah());
            write!(
                f,
                "list of {size} bytes at local store address {list}, EAH {eah:#x}, "
            )?;
        } else {
            write!(f, "effective address {ea}, {size} bytes")?;
            if class == Some(Class::Atomic) {
                return f.write_str(")");
            }
            f.write_str(", ")?;
        }
        write!(f, "tag {tag})")
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn commands_in_words() {
        const LSA: LsAddr = LsAddr(0x1000);
        const EA: EffectiveAddress = EffectiveAddress(0x1_0000_2000);
        const TAG: Tag = Tag::of::<5>();
        let get = RawCommand::get(LSA, EA, 16, TAG);
        for (command, words) in [
            (
                get,
                "get (local store address 0x1000, effective address 0x100002000, 16 bytes, tag 5)",
            ),
            (
                RawCommand { opcode: 0x7, ..get },
                "the command word 0x00000007 (local store address 0x1000, effective address 0x100002000, 16 bytes, tag 5)",
            ),
            (
                RawCommand { tag: 40, ..get },
                "get (local store address 0x1000, effective address 0x100002000, 16 bytes, tag 40)",
            ),
            (
                RawCommand::getl(LSA, 1, LsAddr(0x800), 8, TAG),
                "getl (local store address 0x1000, list of 8 bytes at local store address 0x800, EAH 0x1, tag 5)",
            ),
            (
                RawCommand::sndsig(LSA, EA, TAG),
                "sndsig (local store address 0x1000, effective address 0x100002000, 4 bytes, tag 5)",
            ),
            (
                RawCommand::putllc(LSA, EA),
                "putllc (local store address 0x1000, effective address 0x100002000, 128 bytes)",
            ),
            (RawCommand::barrier(TAG), "barrier (tag 5)"),
        ] {
            assert_eq!(command.to_string(), words);
        }
    }
}
