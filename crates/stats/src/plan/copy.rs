//! The plan of copies from main memory to main memory.

use cellworks_machine::SpeId;

use super::layout::{COPY_UNIT_BYTES, Layout, check_multiple, tile_bytes};
use crate::error::RequestError;
use crate::request::{Limits, Request};
use crate::settings::Settings;

#[derive(Clone, Debug)]
pub(crate) struct CopyTask {
    pub bytes: usize,
    pub tile_bytes: usize,
    pub spes: Vec<SpeId>,
}

const DEFAULT_BLOCK_BYTES: usize = 1024;

impl CopyTask {
    pub fn plan(
        request: &Request,
        limits: &Limits,
        spes: Vec<SpeId>,
    ) -> Result<Self, RequestError> {
        let bytes = request.settings.block_bytes.unwrap_or(DEFAULT_BLOCK_BYTES);
        check_multiple(request.function, bytes, COPY_UNIT_BYTES)?;
        let copies = Layout::packed(2 * spes.len(), bytes);
        copies.check_fits(request, limits.memory_bytes_max, "main memory")?;
        Ok(Self {
            bytes,
            tile_bytes: tile_bytes(limits, bytes),
            spes,
        })
    }

    pub fn settings(&self) -> Settings {
        Settings {
            block_bytes: Some(self.bytes),
            ..Settings::default()
        }
    }
}
