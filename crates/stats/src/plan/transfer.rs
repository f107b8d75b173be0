//! The plan of blocks and lists that SPEs move by DMA.

use cellworks_machine::SpeId;
use cellworks_machine::memory::LINE_BYTES;
use cellworks_machine::mfc::{Direction, MAX_TRANSFER_BYTES};
use cellworks_machine::sizes::{in_flags, in_words};

use super::layout::{Layout, Shape, WINDOW_BYTES};
use crate::error::RequestError;
use crate::request::{Limits, Request};
use crate::settings::{Setting, Settings};

/// The task in which each of `spes` moves its buffer. The buffers are in the local store of
/// `lender` or, without a `lender`, in main memory.
#[derive(Clone, Debug)]
pub(crate) struct TransferTask {
    pub direction: Direction,
    pub shape: Shape,
    pub spes: Vec<SpeId>,
    pub lender: Option<SpeId>,
    pub layout: Layout,
}

/// The bytes of a local store for the control block and for alignment.
const LOCAL_STORE_OVERHEAD_BYTES: usize = 256;

/// The maximum size of all buffers of lists together. All elements of a list share the upper half
/// of their effective addresses, so the elements must lie between two successive multiples of 4
/// GiB. A machine allocates buffers of up to this size between two such multiples.
const LIST_BUFFERS_BYTES_MAX: usize = u32::MAX as usize;

const DEFAULT_BLOCK_BYTES: usize = 1024;
const DEFAULT_ELEMENT_BYTES: usize = 64;
const DEFAULT_LIST_ELEMENTS: u32 = 16;

impl TransferTask {
    pub fn plan(
        request: &Request,
        limits: &Limits,
        (direction, is_list): (Direction, bool),
        spes: Vec<SpeId>,
        lender: Option<SpeId>,
    ) -> Result<Self, RequestError> {
        let shape = if is_list {
            list(request, limits)?
        } else {
            block(request, limits)?
        };
        let layout = Layout::of(request, shape.bytes(), spes.len(), 16)?;
        let (room, where_to) = match lender {
            Some(spe) => (
                room_in(limits.local_store_bytes),
                format!("the local store of {spe}"),
            ),
            None if is_list => (
                limits.memory_bytes_max.min(LIST_BUFFERS_BYTES_MAX),
                "main memory".to_owned(),
            ),
            None => (limits.memory_bytes_max, "main memory".to_owned()),
        };
        layout.check_fits(request, room, &where_to)?;
        Ok(Self {
            direction,
            shape,
            spes,
            lender,
            layout,
        })
    }

    pub fn settings(&self) -> Settings {
        let (bytes, list_elements) = match self.shape {
            Shape::Block { bytes } => (bytes, None),
            Shape::List {
                elements,
                element_bytes,
            } => (element_bytes as usize, Some(elements)),
        };
        Settings {
            block_bytes: Some(bytes),
            list_elements,
            ..Settings::default()
        }
    }
}

fn room_in(local_store_bytes: usize) -> usize {
    local_store_bytes.saturating_sub(LOCAL_STORE_OVERHEAD_BYTES)
}

fn block(request: &Request, limits: &Limits) -> Result<Shape, RequestError> {
    let bytes = request.settings.block_bytes.unwrap_or(DEFAULT_BLOCK_BYTES);
    // With room for the window, through which large blocks move, a block may have any size.
    let room = room_in(limits.local_store_bytes);
    let local_max = if room >= WINDOW_BYTES {
        usize::MAX
    } else {
        room / LINE_BYTES * LINE_BYTES
    };
    check_dma_size(bytes, limits.block_bytes_max.min(local_max))?;
    Ok(Shape::Block { bytes })
}

fn list(request: &Request, limits: &Limits) -> Result<Shape, RequestError> {
    let settings = request.settings;
    let element_bytes = settings.block_bytes.unwrap_or(DEFAULT_ELEMENT_BYTES);
    check_dma_size(element_bytes, MAX_TRANSFER_BYTES as usize)?;
    let elements = settings.list_elements.unwrap_or(DEFAULT_LIST_ELEMENTS);
    let shape = Shape::List {
        elements,
        element_bytes: element_bytes as u32,
    };
    let need = shape.local_bytes() + shape.list_bytes() + LOCAL_STORE_OVERHEAD_BYTES;
    let has = limits.local_store_bytes;
    if need > has {
        return Err(RequestError::new(
            Setting::LIST_ELEMENTS.flag,
            "-l 16 -b 1k",
            format!(
                "a list of {elements} elements of {}: with the list itself it takes {} of a local store of {}; use \
                 fewer elements, or smaller ones",
                in_words(element_bytes),
                in_words(need),
                in_words(has)
            ),
        ));
    }
    Ok(shape)
}

fn check_dma_size(bytes: usize, max: usize) -> Result<(), RequestError> {
    if bytes > max {
        return Err(RequestError::block(format!(
            "a block of {}: here a block has at most {}; use {}",
            in_words(bytes),
            in_words(max),
            in_flags(max)
        )));
    }
    if matches!(bytes, 1 | 2 | 4 | 8) || (bytes > 0 && bytes.is_multiple_of(16)) {
        return Ok(());
    }
    let below = bytes - bytes % 16;
    let legal = match bytes {
        0 => "1".to_owned(),
        1..16 => format!("{} or {}", 1 << bytes.ilog2(), bytes.next_power_of_two()),
        _ if below + 16 > max => in_flags(below),
        _ => format!("{} or {}", in_flags(below), in_flags(below + 16)),
    };
    Err(RequestError::block(format!(
        "a block of {}: a DMA command moves 1, 2, 4, 8 or a multiple of 16 bytes; use {legal}",
        in_words(bytes)
    )))
}
