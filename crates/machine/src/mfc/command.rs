//! The kinds of commands, and the check that converts a [`RawCommand`] to a [`Command`].

use super::address::{EffectiveAddress, LsAddr};
use super::check::{check_effective_range, check_line, check_list, check_local_store, check_shape};
use super::fault::{InvalidCommand, MfcFault, Misalignment, Operation};
use super::limits::{LIST_ELEMENT_BYTES, LOCK_LINE_BYTES, MAX_TRANSFER_BYTES, SIGNAL_BYTES};
use super::opcode::{Class, Direction, Opcode, Order, direction_of};
use super::raw::RawCommand;
use super::tag::Tag;

#[cfg(all(test, not(loom)))]
mod tests;

impl RawCommand {
    /// Checks the command for an SPU's queue and a local store of `local_store_bytes` bytes.
    ///
    /// Looks for command errors first, then alignment errors, then range errors (CBEA p.57 table
    /// 7-6 note 2). Commands of zero bytes and empty lists are legal. A
    /// [`ListCursor`](super::ListCursor) checks the elements of a list later. Transfers past the
    /// end of the local store are refused, whereas the hardware wraps to 0 (CBEA s.15.6 p.221).
    ///
    /// # Errors
    ///
    /// - Returns [`MfcFault::InvalidDmaCommand`] for an illegal or reserved opcode, an `s` form
    ///   (which starts the SPU), or a tag above 31.
    /// - Returns [`MfcFault::DmaAlignment`] for an illegal size, a misaligned address, addresses at
    ///   different offsets in their 16-byte blocks, a signal that is not 4 bytes long, or a
    ///   malformed list. Ordering and atomic commands have no such rules (same table, note 1).
    /// - Returns [`MfcFault::LocalStoreRange`] if the bytes, or the list, leave the local store.
    /// - Returns [`MfcFault::DataSegment`] if the bytes leave the effective address space at 2^64.
    ///
    /// # Panics
    ///
    /// Panics if `local_store_bytes` is not a multiple of 16.
    #[inline]
    pub fn check(&self, local_store_bytes: u32) -> Result<Command, MfcFault> {
        self.check_for(self.check_spu_opcode()?, local_store_bytes)
    }

    /// Checks a command for the PPE's proxy queue, as [`check`](Self::check) does.
    ///
    /// This queue accepts no lists (CBEA s.7.4 p.59) and no atomic commands (s.7.8 p.65). The `s`
    /// forms, which also start the SPU, are refused: use [`Ppe::spawn`](crate::Ppe::spawn).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`check`](Self::check), and [`MfcFault::InvalidDmaCommand`] for a
    /// list, an atomic command or an `s` form.
    ///
    /// # Panics
    ///
    /// Panics as [`check`](Self::check) does.
    #[inline]
    pub fn check_proxy(&self, local_store_bytes: u32) -> Result<Command, MfcFault> {
        self.check_for(self.check_proxy_opcode()?, local_store_bytes)
    }

    /// Checks all rules that are the same for both queues.
    #[inline]
    fn check_for(&self, opcode: Opcode, local_store_bytes: u32) -> Result<Command, MfcFault> {
        assert!(
            local_store_bytes.is_multiple_of(16),
            "a local store of {local_store_bytes} bytes: its size is a multiple of 16"
        );
        let class = opcode.class();
        if class == Class::Atomic {
            // The immediate atomics have no tag (CBEA s.7.8 p.65).
            let (lsa, ea) = self.check_lock_line(opcode, local_store_bytes)?;
            return Ok(Command::Atomic(Atomic { opcode, lsa, ea }));
        }
        let tag = self.check_tag(opcode)?;
        match class {
            Class::Transfer(_) => self.check_transfer(opcode, tag, local_store_bytes),
            Class::SendSignal => self.check_send_signal(opcode, tag, local_store_bytes),
            Class::List(_) => self.check_list_transfer(opcode, tag, local_store_bytes),
            Class::Ordering => Ok(Command::Ordering(OrderingCommand { opcode, tag })),
            Class::QueuedLinePut => {
                let (lsa, ea) = self.check_lock_line(opcode, local_store_bytes)?;
                Ok(Command::QueuedLinePut(QueuedLinePut { tag, lsa, ea }))
            }
            Class::StorageControl => {
                self.check_range(opcode)?;
                Ok(self.storage_control(opcode, tag))
            }
            Class::Touch => Ok(self.storage_control(opcode, tag)),
            Class::Atomic | Class::StartSpu { .. } => {
                unreachable!("atomics are done above, and the s forms were refused")
            }
        }
    }

    #[inline]
    fn operation(&self, opcode: Opcode) -> Operation {
        Operation {
            opcode,
            element: None,
            bytes: self.size,
        }
    }

    #[inline]
    fn check_tag(&self, opcode: Opcode) -> Result<Tag, MfcFault> {
        Tag::new(self.tag).ok_or(MfcFault::InvalidDmaCommand {
            why: InvalidCommand::Tag {
                opcode,
                tag: self.tag,
            },
        })
    }

    #[inline]
    fn check_transfer(
        &self,
        opcode: Opcode,
        tag: Tag,
        local_store_bytes: u32,
    ) -> Result<Command, MfcFault> {
        let (lsa, ea) = self.check_addresses(opcode, local_store_bytes)?;
        Ok(Command::Transfer(Transfer {
            opcode,
            tag,
            lsa,
            bytes: self.size,
            ea,
        }))
    }

    #[inline]
    fn check_send_signal(
        &self,
        opcode: Opcode,
        tag: Tag,
        local_store_bytes: u32,
    ) -> Result<Command, MfcFault> {
        if self.size != SIGNAL_BYTES {
            return Err(MfcFault::DmaAlignment {
                operation: self.operation(opcode),
                why: Misalignment::SignalSize,
            });
        }
        let (lsa, ea) = self.check_addresses(opcode, local_store_bytes)?;
        Ok(Command::SendSignal(SendSignal {
            opcode,
            tag,
            lsa,
            ea,
        }))
    }

    /// Checks the size and the two addresses of a transfer or a signal.
    #[inline]
    fn check_addresses(
        &self,
        opcode: Opcode,
        local_store_bytes: u32,
    ) -> Result<(LsAddr, EffectiveAddress), MfcFault> {
        let (lsa, ea) = (LsAddr(self.lsa), EffectiveAddress(self.ea));
        let operation = self.operation(opcode);
        check_shape(operation, lsa, ea)?;
        check_local_store(operation, lsa, local_store_bytes)?;
        check_effective_range(operation, ea)?;
        Ok((lsa, ea))
    }

    #[inline]
    fn check_list_transfer(
        &self,
        opcode: Opcode,
        tag: Tag,
        local_store_bytes: u32,
    ) -> Result<Command, MfcFault> {
        let (lsa, ea) = (LsAddr(self.lsa), EffectiveAddress(self.ea));
        let operation = self.operation(opcode);
        let list = LsAddr(ea.eal());
        check_list(operation, lsa, list)?;
        check_local_store(operation, list, local_store_bytes)?;
        Ok(Command::ListTransfer(ListTransfer {
            opcode,
            tag,
            lsa,
            list,
            list_bytes: self.size,
            eah: ea.eah(),
            local_store_bytes,
        }))
    }

    /// Checks the addresses of a command on a lock line, and rounds them down to a line.
    #[inline]
    fn check_lock_line(
        &self,
        opcode: Opcode,
        local_store_bytes: u32,
    ) -> Result<(LsAddr, EffectiveAddress), MfcFault> {
        let lsa = check_line(opcode, LsAddr(self.lsa), local_store_bytes)?;
        Ok((lsa, EffectiveAddress(self.ea).lock_line()))
    }

    /// Checks the range of a storage control command.
    #[inline]
    fn check_range(&self, opcode: Opcode) -> Result<(), MfcFault> {
        let operation = self.operation(opcode);
        if self.size > MAX_TRANSFER_BYTES {
            return Err(MfcFault::DmaAlignment {
                operation,
                why: Misalignment::TooLarge,
            });
        }
        check_effective_range(operation, EffectiveAddress(self.ea))
    }

    #[inline]
    fn storage_control(&self, opcode: Opcode, tag: Tag) -> Command {
        Command::StorageControl(StorageControl {
            opcode,
            tag,
            ea: EffectiveAddress(self.ea),
            bytes: self.size,
        })
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
        // The upper half of the command word contains class ids (CBEA p.114).
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

/// A command that has passed [`RawCommand::check`] or [`RawCommand::check_proxy`]. The machine
/// checks the mapping of the effective address when it moves the bytes.
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
    /// `getllar`, `putllc`, `putlluc`: immediate atomics without a tag.
    Atomic(Atomic),
    /// `putqlluc`.
    QueuedLinePut(QueuedLinePut),
    /// `sdcrt`, `sdcrtst`, `sdcrz`, `sdcrst`, `sdcrf`.
    StorageControl(StorageControl),
}

impl Command {
    /// Returns the opcode.
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

    /// Returns the tag group, or `None` for the immediate atomics, which have no tag.
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

/// Returns the values of the channel writes, with the addresses of lines rounded down.
impl From<&Command> for RawCommand {
    fn from(command: &Command) -> RawCommand {
        let (lsa, ea) = match command {
            Command::Transfer(c) => (c.lsa, c.ea),
            Command::ListTransfer(c) => (c.lsa, EffectiveAddress::from_halves(c.eah, c.list.0)),
            Command::SendSignal(c) => (c.lsa, c.ea),
            Command::Ordering(_) => (LsAddr(0), EffectiveAddress(0)),
            Command::Atomic(c) => (c.lsa, c.ea),
            Command::QueuedLinePut(c) => (c.lsa, c.ea),
            Command::StorageControl(c) => (LsAddr(0), c.ea),
        };
        let tag = command.tag().unwrap_or(Tag::of::<0>());
        let size = Operation::from(command).bytes;
        RawCommand::new(command.opcode(), lsa, ea, size, tag)
    }
}

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

macro_rules! getters {
    ($($command:ident { $($field:ident: $type:ty),* })*) => {$(
        impl $command { $(getters!(@ $field $type);)* }
    )*};
    (@ opcode $type:ty) => {
        /// Returns the opcode.
        pub const fn opcode(&self) -> $type { self.opcode }
    };
    (@ tag $type:ty) => {
        /// Returns the tag group.
        pub const fn tag(&self) -> $type { self.tag }
    };
    (@ lsa $type:ty) => {
        /// Returns the local-store address of the data.
        pub const fn lsa(&self) -> $type { self.lsa }
    };
    (@ ea $type:ty) => {
        /// Returns the effective address of the data.
        pub const fn ea(&self) -> $type { self.ea }
    };
    (@ bytes $type:ty) => {
        /// Returns the number of bytes.
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
    /// Returns the direction of the transfer.
    pub const fn direction(&self) -> Direction {
        direction_of(self.opcode)
    }

    /// Returns the order within the tag group.
    pub const fn order(&self) -> Order {
        self.opcode.order()
    }
}

/// A list of up to 2,048 transfers, which share the tag group, the queue entry and the upper half
/// of the address. A [`ListCursor`](super::ListCursor) reads it (CBEA s.7.4 p.59, s.7.5.3 p.60).
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
    /// Returns the direction of the transfers.
    pub const fn direction(&self) -> Direction {
        direction_of(self.opcode)
    }

    /// Returns the order of the whole list within the tag group.
    pub const fn order(&self) -> Order {
        self.opcode.order()
    }

    /// Returns the local-store address of the list, a multiple of 8.
    pub const fn list(&self) -> LsAddr {
        self.list
    }

    /// Returns the size of the list in bytes, 8 for each element.
    pub const fn list_bytes(&self) -> u32 {
        self.list_bytes
    }

    /// Returns the number of elements, 0 to 2,048.
    pub const fn elements(&self) -> u16 {
        // A list has at most 16 KB, so the number fits.
        (self.list_bytes / LIST_ELEMENT_BYTES) as u16
    }

    /// Returns the upper 32 bits of all elements' effective addresses.
    pub const fn eah(&self) -> u32 {
        self.eah
    }

    /// Returns the size of the local store for which the command was checked.
    pub(super) const fn local_store_bytes(&self) -> u32 {
        self.local_store_bytes
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
    /// Returns the order within the tag group.
    pub const fn order(&self) -> Order {
        self.opcode.order()
    }
}

/// A command that moves no data and orders other commands. [`Opcode::Barrier`] orders the whole
/// queue except the immediate atomics (CBEA s.7.9.3 p.72, p.308). [`Opcode::Mfcsync`] and
/// [`Opcode::Mfceieio`] order their tag group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OrderingCommand {
    opcode: Opcode,
    tag: Tag,
}

/// An immediate atomic command on a 128-byte lock line: [`Opcode::Getllar`], [`Opcode::Putllc`] or
/// [`Opcode::Putlluc`]. Both addresses are rounded down to a line (CBEA s.7.8 pp.65-68).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Atomic {
    opcode: Opcode,
    lsa: LsAddr,
    ea: EffectiveAddress,
}

/// `putqlluc`: stores a lock line unconditionally, through the queue, with an implied fence. Both
/// addresses are rounded down to a line (CBEA s.7.8.4 p.68).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QueuedLinePut {
    tag: Tag,
    lsa: LsAddr,
    ea: EffectiveAddress,
}

/// A command to the atomic cache for a range of addresses. It is a barrier of its tag group.
///
/// [`Opcode::Sdcrt`] and [`Opcode::Sdcrtst`] do nothing on a Cell (Handbook s.6.2.2.4 p.151) and
/// take any size. [`Opcode::Sdcrz`] zeroes the lock lines of the range (CBEA s.7.7.3 p.64).
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
