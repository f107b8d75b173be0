//! Sources: ranges, slices, pieces of slices, vectors and collections.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::ops::{Range, RangeInclusive};
use std::slice;

use cellworks_machine::Spe;

use crate::iter::adaptors::Chain;
use crate::iter::items::{Indexed, IntoSource, Items, Source};
use crate::iter::owned::Owned;
use crate::worker::Worker;

/// The integers of ranges.
pub trait Number: Copy + Send {
    /// Returns how many numbers there are from this one to before `end`.
    #[doc(hidden)]
    fn numbers_to(self, end: Self) -> usize;

    #[doc(hidden)]
    fn plus(self, count: usize) -> Self;
}

macro_rules! numbers {
    ($($number:ty: $unsigned:ty),+) => {$(
        impl Number for $number {
            #[inline]
            fn numbers_to(self, end: Self) -> usize {
                if self < end {
                    // The difference of two signed numbers may be too large for a signed number.
                    end.wrapping_sub(self) as $unsigned as usize
                } else {
                    0
                }
            }

            #[inline]
            fn plus(self, count: usize) -> Self {
                self.wrapping_add(count as Self)
            }
        }
    )+};
}

numbers!(
    u8: u8, u16: u16, u32: u32, u64: u64, usize: usize,
    i8: u8, i16: u16, i32: u32, i64: u64, isize: usize
);

impl<S: Spe, T: Number> Items<S> for Range<T>
where
    Self: Iterator<Item = T>,
{
    type Item = T;
    type Iter<'a>
        = Self
    where
        Self: 'a,
        S: 'a;

    #[inline]
    fn units(&self) -> usize {
        self.start.numbers_to(self.end)
    }

    #[inline]
    fn split_off_first(&mut self, count: usize) -> Self {
        let middle = self.start.plus(count);
        let first = self.start..middle;
        self.start = middle;
        first
    }

    #[inline]
    fn in_order<'a>(self, _: &'a Worker<'a, S>) -> Self
    where
        Self: 'a,
    {
        self
    }
}

impl<S: Spe, T: Number> Source<S> for Range<T>
where
    Self: Iterator<Item = T>,
{
    type Item = T;
    type Items<'a>
        = Self
    where
        Self: 'a;
    const IS_INDEXED: bool = true;

    fn items(&mut self) -> Self {
        self.start..self.end
    }
}

impl<S: Spe, T: Number> Indexed<S> for Range<T> where Self: Iterator<Item = T> {}

impl<S: Spe, T: Number> IntoSource<S> for Range<T>
where
    Self: Iterator<Item = T>,
{
    type Item = T;
    type Source = Self;

    fn into_source(self) -> Self {
        self
    }
}

impl<S: Spe, T: Number> IntoSource<S> for RangeInclusive<T>
where
    Self: Iterator<Item = T>,
    Range<T>: Iterator<Item = T>,
{
    type Item = T;
    type Source = Chain<Range<T>, Owned<T>>;

    /// Adds the last number by itself, because the number after it may not exist.
    fn into_source(mut self) -> Self::Source {
        let (first, end) = (*self.start(), *self.end());
        let last = self.next().map(|_| end);
        Chain(first..end, Owned::new(Vec::from_iter(last)))
    }
}

/// A source whose items are `$items`, which is taken out of the source `$source`.
macro_rules! slices {
    ($(<$($life:lifetime,)? $type:ident> [$($bound:tt)*] $items:ty, $item:ty;)+) => {$(
        impl<$($life,)? S: Spe, $type: $($bound)*> Source<S> for $items {
            type Item = $item;
            type Items<'a> = Self where Self: 'a;
            const IS_INDEXED: bool = true;

            fn items(&mut self) -> Self {
                Items::<S>::split_off_first(self, Items::<S>::units(self))
            }
        }

        impl<$($life,)? S: Spe, $type: $($bound)*> Indexed<S> for $items {}
    )+};
}

slices! {
    <'s, T> [Sync] &'s [T], &'s T;
    <'s, T> [Send] &'s mut [T], &'s mut T;
    <'s, T> [Sync] Chunks<'s, T>, &'s [T];
    <'s, T> [Send] ChunksMut<'s, T>, &'s mut [T];
    <'s, T> [Sync] Windows<'s, T>, &'s [T];
}

impl<'s, S: Spe, T: Sync> Items<S> for &'s [T] {
    type Item = &'s T;
    type Iter<'a>
        = slice::Iter<'s, T>
    where
        Self: 'a,
        S: 'a;

    #[inline]
    fn units(&self) -> usize {
        <[T]>::len(self)
    }

    #[inline]
    fn split_off_first(&mut self, count: usize) -> Self {
        let (first, rest) = self.split_at(count);
        *self = rest;
        first
    }

    #[inline]
    fn in_order<'a>(self, _: &'a Worker<'a, S>) -> Self::Iter<'a>
    where
        Self: 'a,
    {
        <[T]>::iter(self)
    }
}

impl<'s, S: Spe, T: Send> Items<S> for &'s mut [T] {
    type Item = &'s mut T;
    type Iter<'a>
        = slice::IterMut<'s, T>
    where
        Self: 'a,
        S: 'a;

    #[inline]
    fn units(&self) -> usize {
        <[T]>::len(self)
    }

    #[inline]
    fn split_off_first(&mut self, count: usize) -> Self {
        let (first, rest) = std::mem::take(self).split_at_mut(count);
        *self = rest;
        first
    }

    #[inline]
    fn in_order<'a>(self, _: &'a Worker<'a, S>) -> Self::Iter<'a>
    where
        Self: 'a,
    {
        self.iter_mut()
    }
}

/// The pieces of a slice: see [`Worker::par_chunks`].
pub struct Chunks<'s, T> {
    items: &'s [T],
    size: usize,
}

impl<'s, S: Spe, T: Sync> Items<S> for Chunks<'s, T> {
    type Item = &'s [T];
    type Iter<'a>
        = slice::Chunks<'s, T>
    where
        Self: 'a,
        S: 'a;

    #[inline]
    fn units(&self) -> usize {
        self.items.len().div_ceil(self.size)
    }

    #[inline]
    fn split_off_first(&mut self, count: usize) -> Self {
        let count = count.saturating_mul(self.size).min(self.items.len());
        let (items, rest) = self.items.split_at(count);
        self.items = rest;
        Self { items, ..*self }
    }

    #[inline]
    fn in_order<'a>(self, _: &'a Worker<'a, S>) -> Self::Iter<'a>
    where
        Self: 'a,
    {
        self.items.chunks(self.size)
    }
}

/// The pieces of a slice that can be changed: see [`Worker::par_chunks_mut`].
pub struct ChunksMut<'s, T> {
    items: &'s mut [T],
    size: usize,
}

impl<'s, S: Spe, T: Send> Items<S> for ChunksMut<'s, T> {
    type Item = &'s mut [T];
    type Iter<'a>
        = slice::ChunksMut<'s, T>
    where
        Self: 'a,
        S: 'a;

    #[inline]
    fn units(&self) -> usize {
        self.items.len().div_ceil(self.size)
    }

    #[inline]
    fn split_off_first(&mut self, count: usize) -> Self {
        let count = count.saturating_mul(self.size).min(self.items.len());
        let (items, rest) = std::mem::take(&mut self.items).split_at_mut(count);
        self.items = rest;
        let size = self.size;
        Self { items, size }
    }

    #[inline]
    fn in_order<'a>(self, _: &'a Worker<'a, S>) -> Self::Iter<'a>
    where
        Self: 'a,
    {
        self.items.chunks_mut(self.size)
    }
}

/// The overlapping pieces of a slice: see [`Worker::par_windows`].
pub struct Windows<'s, T> {
    items: &'s [T],
    size: usize,
}

impl<'s, S: Spe, T: Sync> Items<S> for Windows<'s, T> {
    type Item = &'s [T];
    type Iter<'a>
        = slice::Windows<'s, T>
    where
        Self: 'a,
        S: 'a;

    #[inline]
    fn units(&self) -> usize {
        self.items.len().saturating_sub(self.size - 1)
    }

    #[inline]
    fn split_off_first(&mut self, count: usize) -> Self {
        // The pieces on both sides of the cut share items.
        let end = match count {
            0 => 0,
            count => count + (self.size - 1),
        };
        let items = &self.items[..end];
        self.items = &self.items[count..];
        Self { items, ..*self }
    }

    #[inline]
    fn in_order<'a>(self, _: &'a Worker<'a, S>) -> Self::Iter<'a>
    where
        Self: 'a,
    {
        self.items.windows(self.size)
    }
}

#[track_caller]
pub(crate) fn chunks<T>(items: &[T], size: usize) -> Chunks<'_, T> {
    check("par_chunks", size);
    Chunks { items, size }
}

#[track_caller]
pub(crate) fn chunks_mut<T>(items: &mut [T], size: usize) -> ChunksMut<'_, T> {
    check("par_chunks_mut", size);
    ChunksMut { items, size }
}

#[track_caller]
pub(crate) fn windows<T>(items: &[T], size: usize) -> Windows<'_, T> {
    check("par_windows", size);
    Windows { items, size }
}

#[track_caller]
pub(super) fn check(what: &str, size: usize) {
    assert!(
        size > 0,
        "`{what}` was asked for pieces of 0 items: a piece has at least 1"
    );
}

/// Sources that are made from a value by an expression.
macro_rules! into_source {
    ($([$($generic:tt)*] $from:ty, $item:ty, $source:ty, |$value:ident| $expression:expr;)+) => {$(
        impl<$($generic)*, S: Spe> IntoSource<S> for $from {
            type Item = $item;
            type Source = $source;

            fn into_source(self) -> Self::Source {
                let $value = self;
                $expression
            }
        }
    )+};
}

into_source! {
    ['s, T: Sync] &'s [T], &'s T, &'s [T], |items| items;
    ['s, T: Sync] &'s Vec<T>, &'s T, &'s [T], |items| items;
    ['s, T: Sync, const N: usize] &'s [T; N], &'s T, &'s [T], |items| items;
    ['s, T: Send] &'s mut [T], &'s mut T, &'s mut [T], |items| items;
    ['s, T: Send] &'s mut Vec<T>, &'s mut T, &'s mut [T], |items| items;
    ['s, T: Send, const N: usize] &'s mut [T; N], &'s mut T, &'s mut [T], |items| items;
    ['s, T: Sync] &'s VecDeque<T>, &'s T, Chain<&'s [T], &'s [T]>, |items| {
        let (first, second) = items.as_slices();
        Chain(first, second)
    };
    ['s, T: Send] &'s mut VecDeque<T>, &'s mut T, Chain<&'s mut [T], &'s mut [T]>, |items| {
        let (first, second) = items.as_mut_slices();
        Chain(first, second)
    };
    [T: Send] Vec<T>, T, Owned<T>, |items| Owned::new(items);
    [T: Send] Box<[T]>, T, Owned<T>, |items| Owned::new(items.into_vec());
    [T: Send, const N: usize] [T; N], T, Owned<T>, |items| Owned::new(items.into());
    [T: Send] VecDeque<T>, T, Owned<T>, |items| Owned::new(items.into());
    [T: Send] BinaryHeap<T>, T, Owned<T>, |items| Owned::new(items.into_vec());
    [T: Send] Option<T>, T, Owned<T>, |items| Owned::new(Vec::from_iter(items));
}

/// Collections without an order by index: their items, or references to them, go into a vector.
macro_rules! collections {
    ($([$($generic:tt)*] $from:ty, $item:ty;)+) => {
        into_source! {
            $([$($generic)*] $from, $item, Owned<$item>, |items| {
                Owned::new(items.into_iter().collect())
            };)+
        }
    };
}

collections! {
    ['s, T: Sync] &'s Option<T>, &'s T;
    ['s, K: Sync, V: Sync, H] &'s HashMap<K, V, H>, (&'s K, &'s V);
    ['s, K: Sync, V: Send, H] &'s mut HashMap<K, V, H>, (&'s K, &'s mut V);
    [K: Send, V: Send, H] HashMap<K, V, H>, (K, V);
    ['s, T: Sync, H] &'s HashSet<T, H>, &'s T;
    [T: Send, H] HashSet<T, H>, T;
    ['s, K: Sync, V: Sync] &'s BTreeMap<K, V>, (&'s K, &'s V);
    ['s, K: Sync, V: Send] &'s mut BTreeMap<K, V>, (&'s K, &'s mut V);
    [K: Send, V: Send] BTreeMap<K, V>, (K, V);
    ['s, T: Sync] &'s BTreeSet<T>, &'s T;
    [T: Send] BTreeSet<T>, T;
    ['s, T: Sync] &'s BinaryHeap<T>, &'s T;
    ['s, T: Sync] &'s LinkedList<T>, &'s T;
    [T: Send] LinkedList<T>, T;
}
