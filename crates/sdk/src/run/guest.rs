//! The bytes of a program's memory, by its own 32-bit addresses and in its own byte order.

use cellworks_machine::memory::Region;

/// An address that leaves the memory, or is that of a null pointer of the PPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outside {
    pub(crate) at: u32,
    pub(crate) bytes: usize,
}

/// Returns the address of an element of an array. An address that does not exist becomes one that
/// is in no memory.
pub(crate) fn element(array: u32, bytes: u32, index: u32) -> u32 {
    array.saturating_add(bytes.saturating_mul(index))
}

/// The memory of a program: that of the PPU, or a local store. Numbers in it are big-endian.
#[derive(Clone)]
pub(crate) struct Guest(pub(crate) Region);

impl Guest {
    /// Returns the offset of `bytes` bytes at `at`, if they are in the memory.
    fn range(&self, at: u32, bytes: usize) -> Result<usize, Outside> {
        let offset = at as usize;
        match offset.checked_add(bytes) {
            Some(end) if offset >= self.0.null_bytes() && end <= self.0.bytes() => Ok(offset),
            _ => Err(Outside { at, bytes }),
        }
    }

    /// Returns a copy of `bytes` bytes. Of no bytes, the address does not matter.
    pub(crate) fn bytes(&self, at: u32, bytes: usize) -> Result<Vec<u8>, Outside> {
        if bytes == 0 {
            return Ok(Vec::new());
        }
        let offset = self.range(at, bytes)?;
        let mut copy = vec![0; bytes];
        self.0.read(offset, &mut copy);
        Ok(copy)
    }

    /// Returns `N` bytes.
    fn array<const N: usize>(&self, at: u32) -> Result<[u8; N], Outside> {
        let offset = self.range(at, N)?;
        let mut copy = [0; N];
        self.0.read(offset, &mut copy);
        Ok(copy)
    }

    pub(crate) fn u8(&self, at: u32) -> Result<u8, Outside> {
        Ok(self.array::<1>(at)?[0])
    }

    pub(crate) fn u16(&self, at: u32) -> Result<u16, Outside> {
        Ok(u16::from_be_bytes(self.array(at)?))
    }

    pub(crate) fn u32(&self, at: u32) -> Result<u32, Outside> {
        Ok(u32::from_be_bytes(self.array(at)?))
    }

    pub(crate) fn u64(&self, at: u32) -> Result<u64, Outside> {
        Ok(u64::from_be_bytes(self.array(at)?))
    }

    pub(crate) fn set_bytes(&self, at: u32, bytes: &[u8]) -> Result<(), Outside> {
        if bytes.is_empty() {
            return Ok(());
        }
        let offset = self.range(at, bytes.len())?;
        self.0.write(offset, bytes);
        Ok(())
    }

    pub(crate) fn set_u8(&self, at: u32, value: u8) -> Result<(), Outside> {
        self.set_bytes(at, &[value])
    }

    pub(crate) fn set_u32(&self, at: u32, value: u32) -> Result<(), Outside> {
        self.set_bytes(at, &value.to_be_bytes())
    }

    pub(crate) fn set_u64(&self, at: u32, value: u64) -> Result<(), Outside> {
        self.set_bytes(at, &value.to_be_bytes())
    }
}

#[cfg(test)]
mod tests {
    use cellworks_machine::ModuleId;
    use cellworks_machine::memory::AddressSpace;
    use cellworks_machine::mfc::EffectiveAddress;

    use super::super::memory::{MainMemory, SharedMemory};
    use super::*;

    const BYTES: u32 = 64 << 10;

    fn guest() -> Guest {
        let memory = Box::new(SharedMemory::new(BYTES as usize).unwrap());
        let space = AddressSpace::new();
        Guest(space.map_lent(EffectiveAddress(0), memory, ModuleId::new(0)))
    }

    #[test]
    fn numbers_are_big_endian() {
        let guest = guest();
        guest.set_u64(8, 0x0102_0304_0506_0708).unwrap();
        assert_eq!(guest.bytes(8, 8).unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(guest.u8(9), Ok(2));
        assert_eq!(guest.u16(9), Ok(0x0203));
        assert_eq!(guest.u32(9), Ok(0x0203_0405));
        assert_eq!(guest.u64(8), Ok(0x0102_0304_0506_0708));
        guest.set_u32(3, 0xa1b2_c3d4).unwrap();
        guest.set_u8(7, 0xe5).unwrap();
        assert_eq!(guest.bytes(3, 5).unwrap(), [0xa1, 0xb2, 0xc3, 0xd4, 0xe5]);
    }

    #[test]
    fn what_leaves_the_memory_is_not_accessed() {
        let guest = guest();
        guest.set_u32(BYTES - 4, 7).unwrap();
        for at in [BYTES - 3, BYTES, u32::MAX] {
            let outside = Outside { at, bytes: 4 };
            assert_eq!(guest.u32(at), Err(outside));
            assert_eq!(guest.set_u32(at, 9), Err(outside));
        }
        assert_eq!(guest.u32(BYTES - 4), Ok(7));
        for at in [BYTES, u32::MAX] {
            assert_eq!(guest.bytes(at, 0), Ok(Vec::new()));
            assert_eq!(guest.set_bytes(at, &[]), Ok(()));
        }
        assert!(guest.bytes(1, BYTES as usize).is_err());
        assert!(guest.bytes(0, usize::MAX).is_err());
    }

    #[test]
    fn what_a_null_pointer_points_to_is_not_accessed() {
        let memory = Box::new(MainMemory::new(2 * BYTES as usize).unwrap());
        let guest =
            Guest(AddressSpace::new().map_lent(EffectiveAddress(0), memory, ModuleId::new(0)));
        for at in [0, 8, BYTES - 1] {
            let outside = Outside { at, bytes: 4 };
            assert_eq!(guest.u32(at), Err(outside));
            assert_eq!(guest.set_u32(at, 9), Err(outside));
        }
        assert_eq!(guest.bytes(0, 0), Ok(Vec::new()));
        assert_eq!(guest.set_u32(BYTES, 9), Ok(()));
    }

    #[test]
    fn the_address_of_an_element_does_not_wrap_around() {
        assert_eq!(element(0x1000, 8, 3), 0x1018);
        assert_eq!(element(0xffff_fff0, 8, 3), u32::MAX);
        assert_eq!(element(0x1000, 8, u32::MAX), u32::MAX);
    }
}
