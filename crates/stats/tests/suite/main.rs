//! Tests measurements as users of the library request them.
//!
//! All tests are in one program, because each program of tests takes time to link.

mod beyond_the_paper;
mod host;
mod matrix;
mod planning;
#[path = "../../../../tests/skipped.rs"]
mod skipped;

use cellworks_machine::{CellId, LOCAL_STORE_BYTES, SpeSite};
use cellworks_stats::Limits;

/// The limits of a machine without local stores.
const LIMITS: Limits = Limits {
    block_bytes_max: 64 << 20,
    local_store_bytes: LOCAL_STORE_BYTES,
    memory_bytes_max: 1 << 30,
    staging_bytes_max: None,
    bandwidth_bytes_per_s_max: None,
};

fn site(cell: u16) -> SpeSite {
    SpeSite {
        cell: CellId::new(cell),
        core: None,
        place: String::new(),
    }
}
