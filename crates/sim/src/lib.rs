//! Simulated machines made of cells.

mod description;
mod fabric;
mod hazard;
mod observe;
mod queue;

pub use description::*;
pub use hazard::{Hazard, HazardWatch, MAX_HAZARDS};
pub use observe::{Cause, Counters, ResourceCounters, SpeCounters};

/// Reads traces back: for tests of programs that run on a simulated machine.
pub mod trace {
    pub use crate::observe::{ReadTraceError, Slice, read_slices};
}

#[cfg(test)]
mod tests {
    #[test]
    fn qs20_is_built_in() {
        let qs20 = crate::Description::built_in("qs20").unwrap();
        assert_eq!(qs20.cells.len(), 2);
    }
}
