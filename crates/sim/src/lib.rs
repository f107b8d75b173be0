//! Simulated machines made of cells.

mod description;
mod fabric;
mod observe;
mod queue;

pub use description::*;
pub use observe::{Cause, Counters, ResourceCounters, SpeCounters};

#[cfg(test)]
mod tests {
    #[test]
    fn qs20_is_built_in() {
        let qs20 = crate::Description::built_in("qs20").unwrap();
        assert_eq!(qs20.cells.len(), 2);
    }
}
