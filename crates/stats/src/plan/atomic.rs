//! The plan of atomic operations on variables.

use cellworks_machine::SpeId;
use cellworks_machine::memory::LINE_BYTES;
use cellworks_machine::sizes::{in_flags, in_words};

use super::layout::Layout;
use crate::error::RequestError;
use crate::request::{Limits, Request};
use crate::settings::{Setting, Settings};

/// The task in which each of `spes` changes its variable.
#[derive(Clone, Debug)]
pub(crate) struct AtomicTask {
    pub words: usize,
    pub spes: Vec<SpeId>,
    pub layout: Layout,
}

const DEFAULT_VARIABLE_BYTES: usize = 4;

impl AtomicTask {
    pub fn plan(
        request: &Request,
        limits: &Limits,
        spes: Vec<SpeId>,
    ) -> Result<Self, RequestError> {
        let bytes = request.settings.block_bytes;
        let bytes = bytes.unwrap_or(DEFAULT_VARIABLE_BYTES);
        if bytes == 0 || !bytes.is_multiple_of(4) || bytes > LINE_BYTES {
            return Err(RequestError::new(
                Setting::BLOCK_BYTES.flag,
                "-b 128",
                format!(
                    "a variable of {}: an atomic operation takes a multiple of 4 bytes up to {LINE_BYTES}, a reserved \
                     line; use 4 or {LINE_BYTES}",
                    in_words(bytes)
                ),
            ));
        }
        let layout = Layout::of(request, bytes, spes.len(), 4)?;
        check_lines(request, &layout)?;
        layout.check_fits(request, limits.memory_bytes_max, "main memory")?;
        Ok(Self {
            words: bytes / 4,
            spes,
            layout,
        })
    }

    pub fn settings(&self) -> Settings {
        Settings {
            block_bytes: Some(4 * self.words),
            ..Settings::default()
        }
    }
}

/// Refuses a layout in which a variable crosses from one cache line to the next, because a
/// reservation covers only one cache line.
fn check_lines(request: &Request, layout: &Layout) -> Result<(), RequestError> {
    let (stride, bytes) = (layout.stride, layout.bytes);
    // Strides are multiples of 4, so offsets within a line repeat after at most 32 variables.
    let crossing = (0..layout.buffers.min(LINE_BYTES / 4))
        .find(|index| stride.wrapping_mul(*index) % LINE_BYTES + bytes > LINE_BYTES);
    let Some(variable) = crossing else {
        return Ok(());
    };
    Err(RequestError::new(
        Setting::STRIDE_BYTES.flag,
        format!("-N {} -b 128 -t 16k", request.spes.number()),
        format!(
            "a stride of {}: variable {variable}, of {bytes} bytes, would lie in two lines, and an atomic operation \
             covers one of {LINE_BYTES} bytes; use {}",
            in_words(stride),
            in_flags(stride.next_multiple_of(LINE_BYTES))
        ),
    ))
}
