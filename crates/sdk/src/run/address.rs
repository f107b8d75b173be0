//! Addresses: from those of a C program, which have 32 bits, to those of the machine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use cellworks_machine::mfc::{
    Command, CommandFault, EffectiveAddress, LIST_ELEMENT_BYTES, ListElement, ListTransfer,
    MfcFault, Misalignment, Opcode, Operation, RawCommand,
};
use cellworks_machine::{ProblemStateRegister, SpeId};

use super::guest::{Guest, element};
use super::memory::PAGE_BYTES;

/// What a range of the PPU's addresses shows instead of main memory.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shown {
    /// A local store, at this address of the machine.
    LocalStore(EffectiveAddress),
    /// The registers of an SPE that others may use.
    ProblemState(SpeId),
    /// Nothing: no SPE has the context whose registers are shown there.
    Nothing,
}

impl Shown {
    /// Returns the machine's address of the first byte, if something is there.
    fn at(self) -> Option<u64> {
        match self {
            Self::LocalStore(local_store) => Some(local_store.0),
            Self::ProblemState(spe) => {
                let bytes = u64::from(PROBLEM_STATE_BYTES);
                Some(ProblemStateRegister::InMbox.of(spe).0 & !(bytes - 1))
            }
            Self::Nothing => None,
        }
    }
}

struct Window {
    at: u32,
    bytes: u32,
    shown: Shown,
}

impl Window {
    /// Returns whether some of the bytes are in the window.
    fn meets(&self, ea: u64, bytes: u32) -> bool {
        let (at, end) = (u64::from(self.at), ea + u64::from(bytes.max(1)));
        ea < at + u64::from(self.bytes) && at < end
    }

    /// Returns whether all bytes are in the window.
    fn holds(&self, ea: u64, bytes: u32) -> bool {
        let at = u64::from(self.at);
        at <= ea && ea + u64::from(bytes) <= at + u64::from(self.bytes)
    }
}

/// The bytes of an SPE's problem-state area (CBEA s.8, Problem State Memory-Mapped Registers).
pub(super) const PROBLEM_STATE_BYTES: u32 = 2 * PAGE_BYTES as u32;

/// The addresses of a run.
pub(crate) struct Addresses {
    /// Where the PPU's memory begins on the machine: a multiple of 4 GiB.
    base: EffectiveAddress,
    windows: RwLock<Vec<Window>>,
    /// Whether a window was ever shown. Without one, commands take no lock.
    had_windows: AtomicBool,
}

impl Addresses {
    pub(super) fn new(base: EffectiveAddress) -> Self {
        Self {
            base,
            windows: RwLock::default(),
            had_windows: AtomicBool::new(false),
        }
    }

    /// Makes `bytes` bytes at `at` show something else than main memory.
    pub(super) fn show(&self, at: u32, bytes: u32, shown: Shown) {
        self.hide(at);
        let mut windows = self.windows.write().unwrap_or_else(PoisonError::into_inner);
        windows.push(Window { at, bytes, shown });
        self.had_windows.store(true, Ordering::Release);
    }

    /// Ends what [`show`](Self::show) has begun at `at`.
    pub(super) fn hide(&self, at: u32) {
        let mut windows = self.windows.write().unwrap_or_else(PoisonError::into_inner);
        windows.retain(|window| window.at != at);
    }

    /// Returns what `found` finds among the windows, if there may be one.
    fn in_windows<R>(&self, found: impl FnMut(&Window) -> Option<R>) -> Option<R> {
        if !self.had_windows.load(Ordering::Acquire) {
            return None;
        }
        let windows = self.windows.read().unwrap_or_else(PoisonError::into_inner);
        windows.iter().find_map(found)
    }

    /// Returns the machine's address of `bytes` bytes at the program's address `ea`. Returns `None`
    /// if the program has no such address, or if only a part of the bytes is in a window.
    pub(super) fn translate(&self, ea: u64, bytes: u32) -> Option<EffectiveAddress> {
        u32::try_from(ea).ok()?;
        let in_window = self.in_windows(|window| {
            let within = |first: u64| first + (ea - u64::from(window.at));
            let is_met = window.meets(ea, bytes);
            is_met.then(|| {
                let first = window.shown.at().filter(|_| window.holds(ea, bytes));
                first.map(within)
            })
        });
        let ea = in_window.unwrap_or(Some(self.base.0 + ea))?;
        Some(EffectiveAddress(ea))
    }

    /// Returns whether no element of a list needs [`check_list`](Self::check_list).
    fn lists_are_plain(&self, eah: u32) -> bool {
        eah == 0 && !self.had_windows.load(Ordering::Acquire)
    }

    /// Checks the elements of a list at its issue: the machine reads them later, with no windows
    /// but those of local stores, which are in the PPU's memory, too.
    fn check_list(&self, list: &ListTransfer, local_store: &Guest) -> Result<(), MfcFault> {
        if self.lists_are_plain(list.eah()) {
            return Ok(());
        }
        for index in 0..list.elements() {
            let at = element(list.list().0, LIST_ELEMENT_BYTES, index.into());
            let words = [at, at + 4].map(|at| local_store.u32(at).unwrap_or_default());
            let ListElement { bytes, eal, .. } = ListElement::from_words(words);
            let meets_registers = |window: &Window| {
                let is_met = window.meets(eal.into(), bytes);
                (is_met && !matches!(window.shown, Shown::LocalStore(_))).then_some(())
            };
            if bytes > 0 && (list.eah() != 0 || self.in_windows(meets_registers).is_some()) {
                return Err(MfcFault::DataStorage {
                    operation: Operation {
                        opcode: list.opcode(),
                        element: Some(index),
                        bytes,
                    },
                    ea: EffectiveAddress::from_halves(list.eah(), eal),
                });
            }
        }
        Ok(())
    }

    /// Returns a command with the machine's address, if it is plain: no list that has to be read.
    pub(super) fn of_plain(&self, command: RawCommand) -> Option<RawCommand> {
        let is_list = || Opcode::from_number(command.opcode as u16).is_some_and(Opcode::is_list);
        let ea = if self.lists_are_plain((command.ea >> 32) as u32) {
            // Without windows, an address of a list has the same place as one of data.
            self.base.0 | command.ea
        } else if is_list() {
            return None;
        } else {
            self.translate(command.ea, command.size)?.0
        };
        Some(RawCommand { ea, ..command })
    }

    /// Returns a command with the machine's address. `checked` is the same command, and
    /// `local_store` has its list.
    ///
    /// # Errors
    ///
    /// Returns the fault of an address that the program does not have.
    pub(super) fn of_command(
        &self,
        command: RawCommand,
        checked: &Command,
        local_store: &Guest,
    ) -> Result<RawCommand, MfcFault> {
        let ea = match checked {
            Command::ListTransfer(list) => {
                self.check_list(list, local_store)?;
                Some(EffectiveAddress(self.base.0 | u64::from(list.list().0)))
            }
            // The machine rounds the address down to a line.
            Command::Atomic(_) | Command::QueuedLinePut(_) => self.translate(command.ea, 1),
            _ => self.translate(command.ea, command.size),
        };
        let ea = ea.ok_or_else(|| MfcFault::DataStorage {
            operation: checked.into(),
            ea: EffectiveAddress(command.ea),
        })?;
        Ok(RawCommand {
            ea: ea.0,
            ..command
        })
    }

    /// Returns the program's own address of an address of the machine.
    fn own(&self, ea: EffectiveAddress) -> EffectiveAddress {
        let own = match ea.0.checked_sub(self.base.0) {
            Some(within) if within < 1 << 32 => Some(within),
            _ => self.in_windows(|window| {
                let within = ea.0.checked_sub(window.shown.at()?)?;
                (within < u64::from(window.bytes)).then(|| u64::from(window.at) + within)
            }),
        };
        own.map_or(ea, EffectiveAddress)
    }

    /// Returns whether a byte of the program is in the registers of a context.
    pub(super) fn is_in_registers(&self, ea: EffectiveAddress) -> bool {
        let is_there = |window: &Window| {
            let is_met = window.meets(ea.0, 1);
            (is_met && !matches!(window.shown, Shown::LocalStore(_))).then_some(())
        };
        self.in_windows(is_there).is_some()
    }

    /// Returns the fault with the program's own addresses.
    pub(super) fn in_program(&self, mut refused: CommandFault) -> CommandFault {
        let ea = &mut refused.command.ea;
        *ea = self.own(EffectiveAddress(*ea)).0;
        match &mut refused.fault {
            MfcFault::DataSegment { ea, .. }
            | MfcFault::DataStorage { ea, .. }
            | MfcFault::ListCrosses4GiB { ea, .. }
            | MfcFault::DmaAlignment {
                why: Misalignment::Offset { ea, .. },
                ..
            } => *ea = self.own(*ea),
            MfcFault::DmaAlignment { .. }
            | MfcFault::InvalidDmaCommand { .. }
            | MfcFault::LocalStoreRange { .. } => {}
        }
        refused
    }
}

#[cfg(test)]
mod tests {
    use cellworks_machine::ModuleId;
    use cellworks_machine::memory::AddressSpace;
    use cellworks_machine::mfc::{LsAddr, Tag};

    use super::super::memory::SharedMemory;
    use super::*;

    const BASE: u64 = 5 << 32;
    const LOCAL_STORE: EffectiveAddress = EffectiveAddress(1 << 62);
    const AREA: u32 = 0x0020_0000;
    const REGISTERS: u32 = 0x0030_0000;

    /// A local store at 0x200000, and the registers of SPE 3 at 0x300000.
    fn addresses() -> Addresses {
        let addresses = Addresses::new(EffectiveAddress(BASE));
        addresses.show(AREA, 256 << 10, Shown::LocalStore(LOCAL_STORE));
        let registers = Shown::ProblemState(SpeId::new(3));
        addresses.show(REGISTERS, PROBLEM_STATE_BYTES, registers);
        addresses
    }

    fn local_store() -> Guest {
        let memory = SharedMemory::new(256 << 10).unwrap();
        let home = ModuleId::new(0);
        let space = AddressSpace::new();
        Guest(space.map_lent(EffectiveAddress(0), Box::new(memory), home))
    }

    /// Returns a command with the machine's address, or its fault.
    fn of(addresses: &Addresses, raw: RawCommand, local_store: &Guest) -> Result<u64, String> {
        let checked = raw.check(256 << 10).unwrap();
        let translated = addresses.of_command(raw, &checked, local_store);
        translated
            .map(|command| command.ea)
            .map_err(|fault| fault.to_string())
    }

    #[test]
    fn an_address_is_in_main_memory_or_in_a_window() {
        let addresses = addresses();
        let register = ProblemStateRegister::SigNotify1.of(SpeId::new(3)).0;
        let within = (register & 0x1_ffff) as u32;
        for (ea, bytes, there) in [
            (0x1000, 16, Some(BASE + 0x1000)),
            (AREA, 16, Some(LOCAL_STORE.0)),
            (AREA + 0x3_fff0, 16, Some(LOCAL_STORE.0 + 0x3_fff0)),
            (REGISTERS + within, 4, Some(register)),
            // Bytes on both sides of an end of a window.
            (AREA - 16, 32, None),
            (AREA + 0x3_fff0, 32, None),
            (AREA - 16, 16, Some(BASE + u64::from(AREA) - 16)),
            (AREA + 0x4_0000, 16, Some(BASE + u64::from(AREA) + 0x4_0000)),
            (0xffff_fff0, 32, Some(BASE + 0xffff_fff0)),
        ] {
            let found = addresses.translate(ea.into(), bytes);
            assert_eq!(found, there.map(EffectiveAddress), "{ea:#x}, {bytes}");
        }
        for high in [1 << 32, 1 << 61, 1 << 63, u64::MAX - 15] {
            assert_eq!(addresses.translate(high | 0x1000, 16), None, "{high:#x}");
        }
        addresses.hide(AREA);
        let ea = addresses.translate(AREA.into(), 16);
        assert_eq!(ea, Some(EffectiveAddress(BASE + u64::from(AREA))));
    }

    #[test]
    fn a_fault_has_the_address_that_the_program_used() {
        let addresses = addresses();
        let store = local_store();
        let get = |ea: u64| RawCommand::get(LsAddr(0), EffectiveAddress(ea), 32, Tag::of::<1>());
        let ea = (7 << 61) | 0x1000;
        let said = of(&addresses, get(ea), &store).unwrap_err();
        assert!(said.contains("at effective address 0xe000000000001000"));
        let said = of(&addresses, get(AREA as u64 - 16), &store).unwrap_err();
        assert!(said.contains("at effective address 0x1ffff0"), "{said}");

        let spe = SpeId::new(3);
        let operation = (&get(0x1000).check(256 << 10).unwrap()).into();
        for (machine, own) in [
            (BASE + 0x1234, 0x1234),
            (LOCAL_STORE.0 + 0x40, u64::from(AREA) + 0x40),
            (
                ProblemStateRegister::InMbox.of(spe).0,
                u64::from(REGISTERS) + 0x400c,
            ),
        ] {
            let (ea, lsa) = (EffectiveAddress(machine), LsAddr(8));
            let why = Misalignment::Offset { lsa, ea };
            for fault in [
                MfcFault::DataStorage { operation, ea },
                MfcFault::DataSegment { operation, ea },
                MfcFault::ListCrosses4GiB { operation, ea },
                MfcFault::DmaAlignment { operation, why },
            ] {
                let refused = CommandFault {
                    spe,
                    command: get(machine),
                    fault,
                };
                let said = addresses.in_program(refused).to_string();
                let named = format!("effective address {own:#x}");
                assert_eq!(said.matches(&named).count(), 2, "{said}");
            }
        }
    }

    #[test]
    fn the_elements_of_a_list_are_in_the_memory_of_the_program() {
        let (addresses, store) = (addresses(), local_store());
        let list = |eah| RawCommand::getl(LsAddr(0x1000), eah, LsAddr(0x100), 16, Tag::of::<1>());
        let set = |elements: [[u32; 2]; 2]| {
            for (word, at) in elements.as_flattened().iter().zip((0x100..).step_by(4)) {
                store.set_u32(at, *word).unwrap();
            }
        };
        let plain = Ok(BASE | 0x100);
        set([[16, 0x4000], [16, AREA]]);
        assert_eq!(of(&addresses, list(0), &store), plain);
        // Elements of 0 bytes have no address.
        set([[0, REGISTERS], [0, 0]]);
        assert_eq!(of(&addresses, list(9), &store), plain);
        set([[0, 0], [16, REGISTERS]]);
        let said = of(&addresses, list(0), &store).unwrap_err();
        let named = "element 1 (16 bytes) of a getl at effective address 0x300000";
        assert!(said.starts_with(named), "{said}");
        let said = of(&addresses, list(9), &store).unwrap_err();
        let named = "element 1 (16 bytes) of a getl at effective address 0x900300000";
        assert!(said.starts_with(named), "{said}");
        // What the way through the machine's code around the program must look at.
        assert_eq!(addresses.of_plain(list(0)), None);
        let without = Addresses::new(EffectiveAddress(BASE));
        let plain = without.of_plain(list(0)).unwrap();
        assert_eq!(plain.ea, BASE | 0x100);
        assert_eq!(without.of_plain(list(9)), None);
    }
}
