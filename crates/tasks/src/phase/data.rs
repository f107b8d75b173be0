//! The data of tasks. The pool copies the data of a task to the local store before the task runs,
//! and copies written data back. This is called *staging*.

use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;

use bytemuck::Pod;
use cellworks_machine::{Pending, PendingMut, Spe, StageError, Staged, StagedMut};

use crate::phase::block_use::BlockUse;

/// Data that the body of a task receives.
pub trait Viewed {
    /// The type that the body receives: a slice in the local store, or a copy.
    type View<'v>;
}

/// Data that a task reads or writes. The types that implement this trait are:
///
/// | kind | the body receives | before the body runs | after it has run |
/// |---|---|---|---|
/// | [`Read`] | `&[T]` | the slice is staged | |
/// | [`Update`] | `&mut [T]` | the slice is staged | the slice is put back |
/// | [`Write`] | `&mut [T]` | room is reserved | the slice is put back |
/// | [`Part`] | `Range<usize>` | | |
/// | [`Value`] | a copy | | |
/// | a tuple of these | a tuple | | |
///
/// [`Read`] borrows its slice as long as the task may run. [`Update`] and [`Write`] borrow
/// exclusively. [Blocks](crate::Blocks) are data that tasks change one after the other.
///
/// # Safety
///
/// If two calls of [`part`](Self::part) are given different pieces, their results share no element
/// that a task writes.
pub unsafe trait Data: Viewed + Send + Sized {
    /// The transfers that [`begin`](Self::begin) has started.
    #[doc(hidden)]
    type Ahead<'s, S: Spe>
    where
        Self: 's;
    /// The data in the local store. Dropping this value puts written data back.
    #[doc(hidden)]
    type Staged<'s, S: Spe>
    where
        Self: 's;

    /// Returns the number of bytes of local store that the data takes.
    fn bytes(&self) -> usize;

    /// Calls `named` with the number of pieces into which the data can be split. A piece is a row,
    /// an element of a slice, or an integer of a range. If each part of a task needs all of the
    /// data, does not call `named`.
    fn pieces(&self, named: &mut dyn FnMut(usize));

    /// Returns the part with these pieces, or all of the data if the data is not split.
    ///
    /// # Safety
    ///
    /// `self` and parts of `self` that are used at the same time do not overlap.
    unsafe fn part(&self, pieces: Range<usize>) -> Self;

    /// Starts the transfers of the data that the task reads.
    ///
    /// # Safety
    ///
    /// Earlier results were dropped. While the result lives, no other task uses the written data.
    #[doc(hidden)]
    unsafe fn begin<'s, S: Spe>(&self, spe: &'s S) -> Result<Self::Ahead<'s, S>, StageError>
    where
        Self: 's;

    /// Waits until all data has arrived.
    #[doc(hidden)]
    fn arrive<'s, S: Spe>(ahead: Self::Ahead<'s, S>) -> Self::Staged<'s, S>
    where
        Self: 's;

    #[doc(hidden)]
    fn view<'v, 's: 'v, S: Spe>(staged: &'v mut Self::Staged<'s, S>) -> Self::View<'v>
    where
        Self: 's;

    #[doc(hidden)]
    fn blocks(&self, _named: &mut dyn FnMut(BlockUse)) {}
}

/// Data that tasks do not change: [`Read`], [`Part`], [`Value`], and tuples of them. The dice of
/// [`Phase::task_with_dice`](crate::Phase::task_with_dice) may be given such data.
///
/// # Safety
///
/// No task changes the data through a value of this type.
#[diagnostic::on_unimplemented(
    message = "a dice may not be given `{Self}`, which tasks change",
    note = "it could keep the data; `Phase::task_with_cuts` asks only where the task is split"
)]
pub unsafe trait SharedData: Data {
    /// Returns a second value for the same data.
    #[doc(hidden)]
    fn copy(&self) -> Self;

    /// Calls `named` with the range of each [`Part`].
    #[doc(hidden)]
    fn ranges(&self, _named: &mut dyn FnMut(Range<usize>)) {}
}

// SAFETY: the value is like a shared reference.
unsafe impl<T: Pod + Sync> SharedData for Read<'_, T> {
    fn copy(&self) -> Self {
        Self::of(self.rows)
    }
}

// SAFETY: the value is a range.
unsafe impl SharedData for Part {
    fn copy(&self) -> Self {
        self.clone()
    }

    fn ranges(&self, named: &mut dyn FnMut(Range<usize>)) {
        named(self.0.clone());
    }
}

// SAFETY: each task is given a copy.
unsafe impl<T: Copy + Send> SharedData for Value<T> {
    fn copy(&self) -> Self {
        *self
    }
}

/// The rows of a slice or of a block that a task uses.
///
/// `slice` is a pointer, because several tasks that use the same block exist at the same time.
struct Rows<T> {
    slice: NonNull<[T]>,
    /// The number of elements of a row. Rows are not split.
    row: usize,
    /// The use of the block, if the slice is a block of [`Blocks`](crate::Blocks).
    usage: Option<BlockUse>,
}

impl<T> Clone for Rows<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Rows<T> {}

impl<T> Rows<T> {
    fn of_block(block: NonNull<[T]>, usage: BlockUse) -> Self {
        Self {
            slice: block,
            row: block.len(),
            usage: Some(usage),
        }
    }

    fn of_slice(slice: NonNull<[T]>, row: usize) -> Self {
        assert!(
            row > 0 && slice.len().is_multiple_of(row),
            "a slice of {} elements has no rows of {row}",
            slice.len()
        );
        Self {
            slice,
            row,
            usage: None,
        }
    }

    fn count(&self) -> usize {
        self.slice.len() / self.row
    }

    fn part(&self, rows: Range<usize>) -> Self {
        assert!(rows.start <= rows.end && rows.end <= self.count());
        // SAFETY: the check above has ensured that the part is inside of the slice.
        let first = unsafe { self.slice.cast::<T>().add(rows.start * self.row) };
        Self {
            slice: NonNull::slice_from_raw_parts(first, rows.len() * self.row),
            ..*self
        }
    }
}

/// A slice, or a [block](crate::Blocks::read), that a task reads.
pub struct Read<'d, T> {
    rows: Rows<T>,
    borrow: PhantomData<&'d [T]>,
}

// SAFETY: the value is like a shared reference, which can be sent if `T` is `Sync`.
unsafe impl<T: Sync> Send for Read<'_, T> {}

impl<'d, T: Pod> Read<'d, T> {
    /// Returns a slice that is not split: each part of a task is given the whole slice.
    pub fn new(slice: &'d [T]) -> Self {
        Self::of(Rows::of_slice(NonNull::from_ref(slice), 1))
    }

    pub(crate) fn of_block(block: NonNull<[T]>, usage: BlockUse) -> Self {
        Self::of(Rows::of_block(block, usage))
    }
}

/// A slice, or a [block](crate::Blocks::update), that a task changes.
pub struct Update<'d, T> {
    rows: Rows<T>,
    borrow: PhantomData<&'d mut [T]>,
}

/// A slice that a task overwrites completely. Its contents are unspecified when the body begins.
pub struct Write<'d, T> {
    rows: Rows<T>,
    borrow: PhantomData<&'d mut [T]>,
}

impl<T: Pod> Update<'_, T> {
    pub(crate) fn of_block(block: NonNull<[T]>, usage: BlockUse) -> Self {
        Self::of(Rows::of_block(block, usage))
    }
}

macro_rules! new_by_rows {
    ($kind:ident) => {
        // SAFETY: the value is like an exclusive reference, which can be sent if `T` is `Send`.
        unsafe impl<T: Send> Send for $kind<'_, T> {}

        impl<'d, T: Pod> $kind<'d, T> {
            /// Returns a slice that may be split between any two elements.
            pub fn new(slice: &'d mut [T]) -> Self {
                Self::rows(slice, 1)
            }

            /// Returns a slice that may be split between rows of `row` elements.
            ///
            /// # Panics
            ///
            /// Panics if the slice does not consist of whole rows.
            pub fn rows(slice: &'d mut [T], row: usize) -> Self {
                Self::of(Rows::of_slice(NonNull::from_mut(slice), row))
            }
        }
    };
}

new_by_rows!(Update);
new_by_rows!(Write);

/// Implements [`Data`] for slices. If `splits` is true, parts of a task use parts of the slice.
macro_rules! data_of_slice {
    (
        $kind:ident where T: $bound:ident; viewed as $view:ty; splits: $splits:literal;
        begin: |$slice:ident, $spe:ident| $begin:expr => $ahead:ident;
        arrive: |$arriving:ident| $arrive:expr => $staged:ident
    ) => {
        impl<T> $kind<'_, T> {
            fn of(rows: Rows<T>) -> Self {
                Self {
                    rows,
                    borrow: PhantomData,
                }
            }
        }

        impl<T: Pod> Viewed for $kind<'_, T> {
            type View<'v> = $view;
        }

        // SAFETY: parts are different rows of the slice. A slice that is not split is only read.
        unsafe impl<'d, T: Pod + $bound> Data for $kind<'d, T> {
            type Ahead<'s, S: Spe>
                = $ahead<'s, T, S>
            where
                Self: 's;
            type Staged<'s, S: Spe>
                = $staged<'s, T, S>
            where
                Self: 's;

            fn bytes(&self) -> usize {
                self.rows.slice.len() * size_of::<T>()
            }

            fn pieces(&self, named: &mut dyn FnMut(usize)) {
                if $splits {
                    named(self.rows.count());
                }
            }

            unsafe fn part(&self, pieces: Range<usize>) -> Self {
                Self::of(if $splits {
                    self.rows.part(pieces)
                } else {
                    self.rows
                })
            }

            unsafe fn begin<'s, S: Spe>(
                &self,
                $spe: &'s S,
            ) -> Result<Self::Ahead<'s, S>, StageError>
            where
                Self: 's,
            {
                let $slice = self.rows.slice;
                $begin
            }

            fn arrive<'s, S: Spe>($arriving: Self::Ahead<'s, S>) -> Self::Staged<'s, S>
            where
                Self: 's,
            {
                $arrive
            }

            fn view<'v, 's: 'v, S: Spe>(staged: &'v mut Self::Staged<'s, S>) -> Self::View<'v>
            where
                Self: 's,
            {
                staged
            }

            fn blocks(&self, named: &mut dyn FnMut(BlockUse)) {
                self.rows.usage.into_iter().for_each(named);
            }
        }
    };
}

data_of_slice! {
    Read where T: Sync; viewed as &'v [T]; splits: false;
    // SAFETY: the slice is borrowed for `'d`, which outlives `'s`. By the contract of `begin` no
    // task changes the slice during `'s`.
    begin: |slice, spe| spe.stage_ahead::<T>(unsafe { &*slice.as_ptr() }) => Pending;
    arrive: |arriving| arriving.wait() => Staged
}

data_of_slice! {
    Update where T: Send; viewed as &'v mut [T]; splits: true;
    // SAFETY: the slice is borrowed exclusively for `'d`, which outlives `'s`. By the contract of
    // `begin` no other task uses the slice during `'s`.
    begin: |slice, spe| spe.stage_mut_ahead(unsafe { &mut *slice.as_ptr() }) => PendingMut;
    arrive: |arriving| arriving.wait() => StagedMut
}

data_of_slice! {
    Write where T: Send; viewed as &'v mut [T]; splits: true;
    // SAFETY: as for `Update`.
    begin: |slice, spe| spe.stage_out(unsafe { &mut *slice.as_ptr() }) => StagedMut;
    arrive: |room| room => StagedMut
}

/// A range that is split with the task, such as the rows of a table that the task works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part(pub Range<usize>);

/// A number, or another small value. The body receives a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<T>(pub T);

macro_rules! without_transfer {
    (
        [$($generics:tt)*] $kind:ty, $view:ty;
        copied by |$same:ident| $copy:expr;
        split by |$me:ident, $pieces:ident| $count:expr, $part:expr
    ) => {
        impl<$($generics)*> Viewed for $kind {
            type View<'v> = $view;
        }

        // SAFETY: tasks do not write this data.
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

            unsafe fn begin<'s, S: Spe>(&self, _: &'s S) -> Result<Self, StageError>
            where
                Self: 's,
            {
                let $same = self;
                Ok($copy)
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
                let $same = staged;
                $copy.0
            }
        }
    };
}

without_transfer! {
    [] Part, Range<usize>;
    copied by |part| part.clone();
    split by |me, pieces| Some(me.0.len()), {
        assert!(pieces.end <= me.0.len());
        Part(me.0.start + pieces.start..me.0.start + pieces.end)
    }
}
without_transfer! {
    [T: Copy + Send] Value<T>, T;
    // Not `clone`, which is code of the program, and may panic.
    copied by |value| *value;
    split by |me, _pieces| { let _ = me; None }, *me
}

macro_rules! tuple {
    ($($name:ident $field:tt),+) => {
        // SAFETY: no task changes an element of the tuple.
        unsafe impl<$($name: SharedData),+> SharedData for ($($name,)+) {
            fn copy(&self) -> Self {
                ($(self.$field.copy(),)+)
            }

            fn ranges(&self, named: &mut dyn FnMut(Range<usize>)) {
                $(self.$field.ranges(named);)+
            }
        }

        impl<$($name: Viewed),+> Viewed for ($($name,)+) {
            type View<'v> = ($($name::View<'v>,)+);
        }

        // SAFETY: the parts of a tuple consist of parts of its elements.
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
                // Several elements may read the same slice.
                [$(self.$field.bytes()),+].into_iter().fold(0, usize::saturating_add)
            }

            fn pieces(&self, named: &mut dyn FnMut(usize)) {
                $(self.$field.pieces(named);)+
            }

            unsafe fn part(&self, pieces: Range<usize>) -> Self {
                // SAFETY: by the contract of this function.
                ($(unsafe { self.$field.part(pieces.clone()) },)+)
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
