//! Allocates the main memory of measurements.

use cellworks_machine::memory::Region;
use cellworks_machine::{CellMachine, ModuleId};

use crate::error::MeasureError;

pub(super) fn allocate<M: CellMachine>(
    machine: &M,
    module: ModuleId,
    bytes: usize,
    page_bytes: Option<usize>,
) -> Result<Region, MeasureError> {
    Ok(match page_bytes {
        None => machine.allocate(module, bytes)?,
        Some(page_bytes) => machine.allocate_in_pages(module, bytes, page_bytes)?,
    })
}

/// The most memory that a [`Room`] holds. More is allocated anew for each transfer.
const HELD_BYTES_MAX: usize = 512 << 20;

/// Memory that transfers of one visit share if they need the same size in the same module, because
/// a system takes longer to hand out large memory than the transfers take. Each visit has memory of
/// its own, since times depend on its addresses.
#[derive(Debug, Default)]
pub(super) struct Room {
    visit: usize,
    held: Vec<(ModuleId, usize, Region)>,
}

impl Room {
    /// Returns memory for a transfer in the visit with this number.
    pub fn region<M: CellMachine>(
        &mut self,
        machine: &M,
        module: ModuleId,
        bytes: usize,
        visit: usize,
    ) -> Result<Region, MeasureError> {
        if visit != self.visit {
            self.clear();
            self.visit = visit;
        }
        let mut held = self.held.iter();
        if let Some((.., region)) = held.find(|(of, size, _)| (*of, *size) == (module, bytes)) {
            return Ok(region.clone());
        }
        let sum = self.held.iter().map(|(_, bytes, _)| bytes).sum::<usize>();
        if bytes.saturating_add(sum) > HELD_BYTES_MAX {
            self.clear();
        }
        let region = machine.allocate(module, bytes)?;
        if bytes <= HELD_BYTES_MAX {
            self.held.push((module, bytes, region.clone()));
        }
        Ok(region)
    }

    /// Frees the memory. A measurement of another kind may need all there is.
    pub fn clear(&mut self) {
        self.held.clear();
    }
}

#[cfg(test)]
mod tests {
    use cellworks_host::Host;

    use super::*;

    #[test]
    fn transfers_share_memory_of_one_size_module_and_visit() {
        let host = Host::builder().spes(1).build().unwrap();
        let mut room = Room::default();
        let mut region = |bytes, visit| {
            let region = room.region(&host, ModuleId::new(0), bytes, visit).unwrap();
            (region.at(0), room.held.len())
        };
        let (first, _) = region(1 << 20, 0);
        assert_eq!(region(1 << 20, 0), (first, 1));
        assert_ne!(region(2 << 20, 0), (first, 2));
        assert_eq!(region(1 << 20, 0), (first, 2));
        // The memory of the visit before is free, and may be handed out again.
        assert_eq!(region(4096, 1).1, 1);
        // It holds as much as it may, and no more.
        assert_eq!(region(HELD_BYTES_MAX - 4096, 1).1, 2);
        assert_eq!(region(16, 1).1, 1);
        assert_eq!(region(HELD_BYTES_MAX + 4096, 1).1, 0);
        room.clear();
        assert!(room.held.is_empty());
    }
}
