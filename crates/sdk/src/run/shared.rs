//! What the programs of both sides share.

use std::sync::{Arc, Mutex};

use super::address::Addresses;
use super::patience::Deeds;
use super::slice::Slices;
use super::wasi::Wasi;

/// What the programs of both sides share.
pub(crate) struct Shared {
    pub(super) wasi: Arc<Mutex<Wasi>>,
    pub(super) addresses: Arc<Addresses>,
    pub(super) deeds: Arc<Deeds>,
    pub(super) slices: Slices,
}
