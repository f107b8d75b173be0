//! The bytes of a program's memory, by its own 32-bit addresses and in its own byte order.

use cellworks_machine::memory::Region;

/// An address that leaves the memory.
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
            Some(end) if end <= self.0.bytes() => Ok(offset),
            _ => Err(Outside { at, bytes }),
        }
    }

    /// Returns a copy of `bytes` bytes.
    pub(crate) fn bytes(&self, at: u32, bytes: usize) -> Result<Vec<u8>, Outside> {
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
