//! The plan of a chase: the table of pointers, and the blocks that loading SPEs copy.

use cellworks_machine::SpeId;
use cellworks_machine::sizes::{in_flags, in_words};

use super::copy::CopyTask;
use super::layout::{Layout, check_multiple, tile_bytes};
use crate::error::RequestError;
use crate::request::{Limits, Request};
use crate::settings::{Setting, Settings};

#[derive(Clone, Debug)]
pub(crate) struct ChaseTask {
    /// The number of nodes of the table.
    pub nodes: u32,
    pub chains: u32,
    /// Whether the SPE loads the nodes of the table directly from memory, without staging them.
    pub in_one_view: bool,
    pub spes: [SpeId; 1],
    pub load: CopyTask,
}

/// The size of a node of a table of pointers: a cache line of most computers.
pub(crate) const NODE_BYTES: usize = 64;

const DEFAULT_TABLE_BYTES: usize = 64 << 20;

/// The size of the block that a loading SPE copies if there is room, far larger than a cache.
const LOAD_BLOCK_BYTES: usize = 64 << 20;

/// The bytes that a loading SPE copies before it checks whether its program shall end. Copying
/// these bytes takes some ten microseconds.
const LOAD_TILE_BYTES: usize = 256 << 10;

impl ChaseTask {
    /// Plans a chase in which the first of `spes` follows pointers, and the others copy.
    pub fn plan(request: &Request, limits: &Limits, spes: &[SpeId]) -> Result<Self, RequestError> {
        let bytes = request.settings.block_bytes.unwrap_or(DEFAULT_TABLE_BYTES);
        check_multiple(request.function, bytes, NODE_BYTES)?;
        let memory_bytes = limits.memory_bytes_max;
        Layout::packed(1, bytes).check_fits(request, memory_bytes, "main memory")?;
        let nodes = u32::try_from(bytes / NODE_BYTES).map_err(|_| {
            let most = NODE_BYTES << 31;
            RequestError::block(format!(
                "a table of {}: the number of a node has 32 bits, so a table is smaller than {}; use {}",
                in_words(bytes),
                in_words(2 * most),
                in_flags(most)
            ))
        })?;
        let chains = request.settings.chains.unwrap_or(1);
        if nodes < chains {
            return Err(RequestError::new(
                Setting::CHAINS.flag,
                "-k 8 -b 64m",
                format!(
                    "{chains} chains through a table of {}: each starts at another node of {NODE_BYTES} bytes; use a \
                     table of {} or more",
                    in_words(bytes),
                    in_flags(chains as usize * NODE_BYTES)
                ),
            ));
        }
        let loading = spes[1..].to_vec();
        let left = memory_bytes - bytes;
        let room = left / (2 * loading.len()).max(1);
        let tile_bytes = tile_bytes(limits, LOAD_TILE_BYTES);
        let load_bytes = room.min(LOAD_BLOCK_BYTES) / tile_bytes * tile_bytes;
        if load_bytes == 0 && !loading.is_empty() {
            let tiles = Layout::packed(2 * loading.len(), tile_bytes);
            return Err(tiles.too_large(request, left, "main memory beside the table"));
        }
        Ok(Self {
            nodes,
            chains,
            in_one_view: limits.staging_bytes_max.is_none(),
            spes: [spes[0]],
            load: CopyTask {
                bytes: load_bytes,
                tile_bytes,
                spes: loading,
            },
        })
    }

    pub fn table_bytes(&self) -> usize {
        self.nodes as usize * NODE_BYTES
    }

    pub fn settings(&self) -> Settings {
        Settings {
            block_bytes: Some(self.table_bytes()),
            chains: Some(self.chains),
            loading_spes: Some(self.load.spes.len()),
            ..Settings::default()
        }
    }
}
