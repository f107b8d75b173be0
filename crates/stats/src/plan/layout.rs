//! The number of bytes of an operation, and the addresses of the SPEs' buffers.

use cellworks_machine::memory::LINE_BYTES;
use cellworks_machine::mfc::LIST_ELEMENT_BYTES;
use cellworks_machine::sizes::{in_flags, in_words, rounded};

use crate::error::RequestError;
use crate::function::Function;
use crate::request::{Count, Limits, Request};
use crate::settings::{HUGE_PAGE_BYTES, Setting};

/// The size of the window in a local store through which blocks of more than 16 KB move.
pub(crate) const WINDOW_BYTES: usize = 64 * 1024;

/// The unit of the size of copies, a quadword.
pub(super) const COPY_UNIT_BYTES: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Block { bytes: usize },
    List { elements: u32, element_bytes: u32 },
}

/// The offsets of the SPEs' buffers, relative to the first buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The number of buffers, which is 1 if all SPEs share a buffer.
    pub buffers: usize,
    pub bytes: usize,
    pub stride: usize,
}

impl Shape {
    pub const fn bytes(self) -> usize {
        match self {
            Self::Block { bytes } => bytes,
            Self::List {
                elements,
                element_bytes,
            } => elements as usize * element_bytes as usize,
        }
    }

    /// Returns the number of bytes of data that an SPE has in its local store at the same time.
    pub fn local_bytes(self) -> usize {
        match self {
            Self::Block { bytes } => bytes.min(WINDOW_BYTES),
            // Each element starts at a separate multiple of 16 (CBEA section 7.4).
            Self::List {
                elements,
                element_bytes,
            } => elements as usize * element_bytes.max(16) as usize,
        }
    }

    pub const fn list_bytes(self) -> usize {
        match self {
            Self::Block { .. } => 0,
            Self::List { elements, .. } => elements as usize * LIST_ELEMENT_BYTES as usize,
        }
    }
}

impl Layout {
    /// Lays out buffers of `bytes` bytes, each at a multiple of `align`, for `spes` SPEs.
    pub(super) fn of(
        request: &Request,
        bytes: usize,
        spes: usize,
        align: usize,
    ) -> Result<Self, RequestError> {
        let number = request.spes.number();
        let example = if request.between_spes { "2k" } else { "16k" };
        let refused =
            |instead, why| Err(RequestError::new(Setting::STRIDE_BYTES.flag, instead, why));
        let buffers = match (request.spes, request.settings.stride_bytes) {
            (Count::Shared(_), Some(stride)) => {
                return refused(
                    format!("-N {number} -t {example}"),
                    format!(
                        "a stride of {}: the buffer is shared, and a stride is the \
                         distance between private ones; ask for private buffers (-N), or leave it out",
                        in_words(stride)
                    ),
                );
            }
            (Count::Shared(_), None) => 1,
            (Count::Private(_), _) => spes,
        };
        let usual = bytes.next_multiple_of(LINE_BYTES);
        let stride = request.settings.stride_bytes.unwrap_or(usual);
        let instead = format!("-N {number} -b 128 -t {example}");
        if stride < bytes {
            let why = format!(
                "a stride of {}: private buffers of {} would overlap; use {} or more",
                in_words(stride),
                in_words(bytes),
                in_flags(bytes)
            );
            return refused(instead, why);
        }
        if !stride.is_multiple_of(align) {
            let why = format!(
                "a stride of {}: it must be a multiple of {align}, so that every buffer is aligned; use {}",
                in_words(stride),
                in_flags(stride.next_multiple_of(align))
            );
            return refused(instead, why);
        }
        Ok(Self {
            buffers,
            bytes,
            stride,
        })
    }

    pub(super) const fn packed(buffers: usize, bytes: usize) -> Self {
        Self {
            buffers,
            bytes,
            stride: bytes,
        }
    }

    pub const fn offset(&self, position: usize) -> usize {
        self.stride * self.buffer_of(position)
    }

    pub const fn buffer_of(&self, position: usize) -> usize {
        if self.buffers == 1 { 0 } else { position }
    }

    pub const fn span_bytes(&self) -> usize {
        self.stride * (self.buffers - 1) + self.bytes
    }

    pub(super) fn check_fits(
        &self,
        request: &Request,
        room: usize,
        where_to: &str,
    ) -> Result<(), RequestError> {
        let Self {
            buffers,
            bytes,
            stride,
        } = self;
        let need = stride.checked_mul(buffers - 1);
        let need = need.and_then(|before| before.checked_add(*bytes));
        if request.settings.page_bytes == Some(HUGE_PAGE_BYTES) && *bytes < 2 * HUGE_PAGE_BYTES {
            return Err(RequestError::new(
                Setting::PAGE_BYTES.flag,
                "--pages 2m -b 64m",
                format!(
                    "a buffer of {} in pages of {}: it takes at least two of them; use a larger one (-b), or pages \
                     of 4k",
                    in_words(*bytes),
                    in_words(HUGE_PAGE_BYTES)
                ),
            ));
        }
        if *bytes > room {
            return Err(RequestError::block(format!(
                "a buffer of {}: it may take {} of {where_to}; use a smaller one",
                in_words(*bytes),
                rounded(room)
            )));
        }
        if need.is_none_or(|need| need > room) {
            return Err(self.too_large(request, room, where_to));
        }
        Ok(())
    }

    pub(super) fn too_large(&self, request: &Request, room: usize, where_to: &str) -> RequestError {
        let Self {
            buffers,
            bytes,
            stride,
        } = self;
        let (flag, number) = (request.spes.flag(), request.spes.number());
        RequestError::new(
            flag,
            format!("{flag} {number} -b 128"),
            format!(
                "{buffers} buffers of {}, {} apart: together they may take {} of {where_to}; use fewer, smaller \
                 or closer ones",
                in_words(*bytes),
                in_words(*stride),
                rounded(room)
            ),
        )
    }
}

pub(super) fn check_multiple(
    function: Function,
    bytes: usize,
    unit: usize,
) -> Result<(), RequestError> {
    if bytes > 0 && bytes.is_multiple_of(unit) {
        return Ok(());
    }
    let next = match bytes / unit * unit {
        0 => unit.to_string(),
        below => format!(
            "{} or {}",
            in_flags(below),
            in_flags(below.saturating_add(unit))
        ),
    };
    Err(RequestError::block(format!(
        "{function} of {}: it takes a multiple of {unit}; use {next}",
        in_words(bytes)
    )))
}

/// Returns the number of bytes that an SPE stages at once, which is at most `max`.
pub(super) fn tile_bytes(limits: &Limits, max: usize) -> usize {
    let most = limits.staging_bytes_max.unwrap_or(max).min(max);
    (most / COPY_UNIT_BYTES).max(1) * COPY_UNIT_BYTES
}
