//! Items of an iterator of `std` that workers take one by one.

use std::sync::atomic::{AtomicBool, Ordering};

use cellworks_machine::Spe;

use crate::iter::items::{Items, Source};
use crate::sync::{Mutex, locked};
use crate::worker::Worker;

/// The items of a sequential iterator: see [`Worker::par_bridge`].
pub struct Bridge<I> {
    /// Taken out while a worker calls it, so that nothing calls it again after a panic.
    iterator: Mutex<Option<I>>,
    has_ended: AtomicBool,
}

impl<I> Bridge<I> {
    pub(crate) fn new(iterator: I) -> Self {
        Self {
            iterator: Mutex::new(Some(iterator)),
            has_ended: AtomicBool::new(false),
        }
    }
}

impl<S: Spe, I: Iterator + Send> Source<S> for Bridge<I> {
    type Item = I::Item;
    type Items<'a>
        = Share<'a, I>
    where
        Self: 'a;
    const IS_INDEXED: bool = false;

    fn items(&mut self) -> Share<'_, I> {
        let most = usize::MAX;
        Share { bridge: self, most }
    }
}

/// A number of items of the iterator that no worker has taken yet, or all that are left.
#[doc(hidden)]
pub struct Share<'b, I> {
    bridge: &'b Bridge<I>,
    most: usize,
}

impl<'b, S: Spe, I: Iterator + Send> Items<S> for Share<'b, I> {
    type Item = I::Item;
    type Iter<'a>
        = Self
    where
        Self: 'a,
        S: 'a;

    fn units(&self) -> usize {
        if self.bridge.has_ended.load(Ordering::Relaxed) {
            0
        } else {
            self.most
        }
    }

    fn split_off_first(&mut self, count: usize) -> Self {
        self.most -= count;
        Self {
            bridge: self.bridge,
            most: count,
        }
    }

    fn in_order<'a>(self, _: &'a Worker<'a, S>) -> Self
    where
        Self: 'a,
    {
        self
    }
}

impl<I: Iterator> Iterator for Share<'_, I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.most = self.most.checked_sub(1)?;
        let mut place = locked(&self.bridge.iterator);
        let item = place.take().and_then(|mut iterator| {
            let item = iterator.next();
            *place = Some(iterator);
            item
        });
        if item.is_none() {
            *place = None;
            self.bridge.has_ended.store(true, Ordering::Relaxed);
        }
        item
    }
}
