//! What a task reads and writes: declared as a value, so that the pool can stage it.

use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;

use bytemuck::Pod;
use cellworks_machine::{Pending, PendingMut, Spe, StageError, Staged, StagedMut};

use crate::block_use::BlockUse;

/// What the body of a task is handed for data that was declared as this type.
pub trait Viewed {
    /// A slice in the local store, or a copy.
    type View<'v>;
}

/// What a task reads and writes: one of these kinds, or several in a tuple.
///
/// | kind | the body is handed | before the body runs | after it |
/// |---|---|---|---|
/// | [`Read`] | `&[T]` | the slice is got | |
/// | [`Update`] | `&mut [T]` | the slice is got | it is put back |
/// | [`Write`] | `&mut [T]` | there is room for it | it is put back |
/// | [`Part`] | `Range<usize>` | | |
/// | [`Value`] | a copy | | |
/// | a tuple of these | a tuple | | |
///
/// Slices are borrowed as long as the task may run, shared for [`Read`] and exclusively for the
/// others. So tasks that run at once cannot reach each other's data. Tasks that use the same data
/// one after the other name it by [blocks](crate::Blocks).
///
/// # Safety
///
/// Of two values of which each says that it is part of the same data ([`part`](Self::part), of
/// ranges that do not overlap), nothing that is written is in both.
pub unsafe trait Data: Viewed + Send + Sized {
    /// Transfers that have begun.
    #[doc(hidden)]
    type Ahead<'s, S: Spe>
    where
        Self: 's;
    /// What has arrived. Written data is put back when it is dropped.
    #[doc(hidden)]
    type Staged<'s, S: Spe>
    where
        Self: 's;

    /// Bytes of local store that it takes.
    fn bytes(&self) -> usize;

    /// Names the number of pieces that it can be split into: rows, elements or numbers. Nothing if
    /// each part of a task needs all of it.
    fn pieces(&self, named: &mut dyn FnMut(usize));

    /// The part that has these pieces, or all of it if each part needs all.
    ///
    /// # Safety
    ///
    /// Of this value and of parts of it, those that are used at once do not overlap.
    unsafe fn part(&self, pieces: Range<usize>) -> Self;

    /// The same once more.
    ///
    /// # Safety
    ///
    /// One of the two is not used any more.
    #[doc(hidden)]
    unsafe fn whole(&self) -> Self;

    /// Begins to get what is read.
    ///
    /// # Safety
    ///
    /// It is called once, or again after what it returned was dropped, and while no other task uses
    /// what it writes.
    #[doc(hidden)]
    unsafe fn begin<'s, S: Spe>(&self, spe: &'s S) -> Result<Self::Ahead<'s, S>, StageError>
    where
        Self: 's;

    /// Waits until all has arrived.
    #[doc(hidden)]
    fn arrive<'s, S: Spe>(ahead: Self::Ahead<'s, S>) -> Self::Staged<'s, S>
    where
        Self: 's;

    /// What the body is handed.
    #[doc(hidden)]
    fn view<'v, 's: 'v, S: Spe>(staged: &'v mut Self::Staged<'s, S>) -> Self::View<'v>
    where
        Self: 's;

    /// Names the blocks that it uses.
    #[doc(hidden)]
    fn blocks(&self, _named: &mut dyn FnMut(BlockUse)) {}
}

/// A slice that a task reads.
#[derive(Clone, Copy, Debug)]
pub struct Read<'d, T>(pub &'d [T]);

impl<T: Pod> Viewed for Read<'_, T> {
    type View<'v> = &'v [T];
}

// SAFETY: nothing is written.
unsafe impl<'d, T: Pod + Sync> Data for Read<'d, T> {
    type Ahead<'s, S: Spe>
        = Pending<'s, T, S>
    where
        Self: 's;
    type Staged<'s, S: Spe>
        = Staged<'s, T, S>
    where
        Self: 's;

    fn bytes(&self) -> usize {
        size_of_val(self.0)
    }

    fn pieces(&self, _: &mut dyn FnMut(usize)) {}

    unsafe fn part(&self, _: Range<usize>) -> Self {
        *self
    }

    unsafe fn whole(&self) -> Self {
        *self
    }

    unsafe fn begin<'s, S: Spe>(&self, spe: &'s S) -> Result<Self::Ahead<'s, S>, StageError>
    where
        Self: 's,
    {
        spe.stage_ahead::<T>(self.0)
    }

    fn arrive<'s, S: Spe>(ahead: Self::Ahead<'s, S>) -> Self::Staged<'s, S>
    where
        Self: 's,
    {
        ahead.wait()
    }

    fn view<'v, 's: 'v, S: Spe>(staged: &'v mut Self::Staged<'s, S>) -> Self::View<'v>
    where
        Self: 's,
    {
        staged
    }
}

/// A slice in memory that one task at a time changes.
#[derive(Debug)]
pub(crate) struct Target<'d, T> {
    slice: NonNull<[T]>,
    row: usize,
    borrow: PhantomData<&'d mut [T]>,
}

// SAFETY: as for the exclusive reference that it stands for.
unsafe impl<T: Send> Send for Target<'_, T> {}

impl<'d, T: Pod> Target<'d, T> {
    pub(crate) fn new(slice: &'d mut [T], row: usize) -> Self {
        assert!(
            row > 0 && slice.len().is_multiple_of(row),
            "a slice of {} elements has no rows of {row}",
            slice.len()
        );
        Self {
            slice: NonNull::from_mut(slice),
            row,
            borrow: PhantomData,
        }
    }

    /// A block of a slice that is borrowed for 'd; it is not split.
    pub(crate) fn of_block(block: NonNull<[T]>) -> Self {
        Self {
            slice: block,
            row: block.len(),
            borrow: PhantomData,
        }
    }

    fn bytes(&self) -> usize {
        self.slice.len() * size_of::<T>()
    }

    fn rows(&self) -> usize {
        self.slice.len() / self.row
    }

    fn part(&self, rows: Range<usize>) -> Self {
        assert!(rows.start <= rows.end && rows.end <= self.rows());
        // SAFETY: the part is inside of the slice, as was just checked.
        let first = unsafe { self.slice.cast::<T>().add(rows.start * self.row) };
        Self {
            slice: NonNull::slice_from_raw_parts(first, rows.len() * self.row),
            row: self.row,
            borrow: PhantomData,
        }
    }

    /// # Safety
    ///
    /// No other reference to the slice is in use as long as this one is.
    unsafe fn get<'s>(&self) -> &'s mut [T]
    where
        'd: 's,
    {
        let mut slice = self.slice;
        // SAFETY: it was made of an exclusive reference for 'd, which outlives 's.
        unsafe { slice.as_mut() }
    }
}

/// A slice that a task changes: it is got before the body runs, and put back after it.
#[derive(Debug)]
pub struct Update<'d, T>(pub(crate) Target<'d, T>);

/// A slice that a task writes as a whole: it is put back after the body has run. What the body
/// finds in it is unspecified.
#[derive(Debug)]
pub struct Write<'d, T>(pub(crate) Target<'d, T>);

macro_rules! target_kind {
    ($kind:ident, $ahead:ident, $begin:ident, $arrive:expr) => {
        impl<'d, T: Pod> $kind<'d, T> {
            /// A slice that may be split at each element.
            pub fn new(slice: &'d mut [T]) -> Self {
                Self::rows(slice, 1)
            }

            /// A slice that may be split between rows of `row` elements.
            ///
            /// # Panics
            ///
            /// If the slice does not consist of whole rows.
            pub fn rows(slice: &'d mut [T], row: usize) -> Self {
                Self(Target::new(slice, row))
            }
        }

        impl<T: Pod> Viewed for $kind<'_, T> {
            type View<'v> = &'v mut [T];
        }

        // SAFETY: parts are those of the target, which has the rows that are asked for.
        unsafe impl<'d, T: Pod + Send> Data for $kind<'d, T> {
            type Ahead<'s, S: Spe>
                = $ahead<'s, T, S>
            where
                Self: 's;
            type Staged<'s, S: Spe>
                = StagedMut<'s, T, S>
            where
                Self: 's;

            fn bytes(&self) -> usize {
                self.0.bytes()
            }

            fn pieces(&self, named: &mut dyn FnMut(usize)) {
                named(self.0.rows());
            }

            unsafe fn part(&self, pieces: Range<usize>) -> Self {
                Self(self.0.part(pieces))
            }

            unsafe fn whole(&self) -> Self {
                Self(self.0.part(0..self.0.rows()))
            }

            unsafe fn begin<'s, S: Spe>(&self, spe: &'s S) -> Result<Self::Ahead<'s, S>, StageError>
            where
                Self: 's,
            {
                // SAFETY: by the contract of this function.
                spe.$begin(unsafe { self.0.get() })
            }

            fn arrive<'s, S: Spe>(ahead: Self::Ahead<'s, S>) -> Self::Staged<'s, S>
            where
                Self: 's,
            {
                let arrive: fn(Self::Ahead<'s, S>) -> Self::Staged<'s, S> = $arrive;
                arrive(ahead)
            }

            fn view<'v, 's: 'v, S: Spe>(staged: &'v mut Self::Staged<'s, S>) -> Self::View<'v>
            where
                Self: 's,
            {
                staged
            }
        }
    };
}

target_kind!(Update, PendingMut, stage_mut_ahead, |ahead| ahead.wait());
target_kind!(Write, StagedMut, stage_out, |room| room);

/// A range of numbers: which rows, bodies or columns a task is about. It can be split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part(pub Range<usize>);

/// A number, or another small value, that a task is handed as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<T>(pub T);

macro_rules! without_transfer {
    ([$($generics:tt)*] $kind:ty, $view:ty, |$me:ident, $pieces:ident| $count:expr, $part:expr) => {
        impl<$($generics)*> Viewed for $kind {
            type View<'v> = $view;
        }

        // SAFETY: nothing is written.
        unsafe impl<$($generics)*> Data for $kind {
            type Ahead<'s, S: Spe>
                = Self
            where
                Self: 's;
            type Staged<'s, S: Spe>
                = Self
            where
                Self: 's;

            fn bytes(&self) -> usize {
                0
            }

            fn pieces(&self, named: &mut dyn FnMut(usize)) {
                let $me = self;
                let count: Option<usize> = $count;
                count.into_iter().for_each(named);
            }

            unsafe fn part(&self, $pieces: Range<usize>) -> Self {
                let $me = self;
                $part
            }

            unsafe fn whole(&self) -> Self {
                self.clone()
            }

            unsafe fn begin<'s, S: Spe>(&self, _: &'s S) -> Result<Self, StageError>
            where
                Self: 's,
            {
                Ok(self.clone())
            }

            fn arrive<'s, S: Spe>(ahead: Self) -> Self
            where
                Self: 's,
            {
                ahead
            }

            fn view<'v, 's: 'v, S: Spe>(staged: &'v mut Self) -> Self::View<'v>
            where
                Self: 's,
            {
                staged.0.clone()
            }
        }
    };
}

without_transfer!([] Part, Range<usize>, |me, pieces| Some(me.0.len()), {
    assert!(pieces.end <= me.0.len());
    Part(me.0.start + pieces.start..me.0.start + pieces.end)
});
without_transfer!([T: Copy + Send] Value<T>, T, |me, _pieces| { let _ = me; None }, *me);

macro_rules! tuple {
    ($($name:ident $field:tt),+) => {
        impl<$($name: Viewed),+> Viewed for ($($name,)+) {
            type View<'v> = ($($name::View<'v>,)+);
        }

        // SAFETY: parts are made of the parts of the elements.
        unsafe impl<$($name: Data),+> Data for ($($name,)+) {
            type Ahead<'s, S: Spe>
                = ($($name::Ahead<'s, S>,)+)
            where
                Self: 's;
            type Staged<'s, S: Spe>
                = ($($name::Staged<'s, S>,)+)
            where
                Self: 's;

            fn bytes(&self) -> usize {
                0 $(+ self.$field.bytes())+
            }

            fn pieces(&self, named: &mut dyn FnMut(usize)) {
                $(self.$field.pieces(named);)+
            }

            unsafe fn part(&self, pieces: Range<usize>) -> Self {
                // SAFETY: by the contract of this function.
                ($(unsafe { self.$field.part(pieces.clone()) },)+)
            }

            unsafe fn whole(&self) -> Self {
                // SAFETY: by the contract of this function.
                ($(unsafe { self.$field.whole() },)+)
            }

            unsafe fn begin<'s, S: Spe>(
                &self,
                spe: &'s S,
            ) -> Result<Self::Ahead<'s, S>, StageError>
            where
                Self: 's,
            {
                // SAFETY: by the contract of this function.
                Ok(($(unsafe { self.$field.begin(spe) }?,)+))
            }

            fn arrive<'s, S: Spe>(ahead: Self::Ahead<'s, S>) -> Self::Staged<'s, S>
            where
                Self: 's,
            {
                ($($name::arrive::<S>(ahead.$field),)+)
            }

            fn view<'v, 's: 'v, S: Spe>(staged: &'v mut Self::Staged<'s, S>) -> Self::View<'v>
            where
                Self: 's,
            {
                ($($name::view::<S>(&mut staged.$field),)+)
            }

            fn blocks(&self, named: &mut dyn FnMut(BlockUse)) {
                $(self.$field.blocks(named);)+
            }
        }
    };
}

tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);
