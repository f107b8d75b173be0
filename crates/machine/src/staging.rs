//! Typed staging: moving slices between main memory and an SPE.
//!
//! ```text
//!              get                                    put
//!   &[T] ─── stage_ahead ──► Pending ── wait ──► Staged        (a view to read)
//!   &[T] ─── stage ─────────────────────────────► Staged
//!   &mut [T] ─ stage_mut_ahead ► PendingMut ─ wait ► StagedMut ── commit, or drop ──► &mut [T]
//!   &mut [T] ─ stage_mut ───────────────────────► StagedMut ── commit, or drop ──► &mut [T]
//!   &mut [T] ─ stage_out ───────────────────────► StagedMut ── commit, or drop ──► &mut [T]
//! ```
//!
//! A *get* copies a slice into the local store, and a *put* copies it back when the view is
//! committed or dropped. A view for reading borrows the slice like `&`, and a view for writing like
//! `&mut`. Leaking a view wastes room in the local store but is memory-safe.
//!
//! Simulated machines and *strict* hosts copy slices through local stores, and lose the writes of a
//! leaked `StagedMut`. On other hosts the view *is* the slice in main memory.

// Rejected: destructors that wait for transfers, because a leaked view is never dropped. Instead,
// the machine accesses a slice only in calls during which the slice is borrowed.
// Rejected: a `Deref` that waits, because the switch of threads would be invisible. In
// `cell.borrow_mut().push(f(&tile))` another thread could run while the cell is borrowed.
// Rejected: `stream` as an `Iterator`. A program could keep items until the local store is full,
// and `next` could not return an error. A stream lends its items instead.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::ptr::NonNull;

use bytemuck::Pod;

use crate::local_store::StageError;
use crate::spe::core::{SpeCore, StageRequest};

/// A get in progress. [`wait`](Self::wait) returns the view of the data.
#[must_use = "the data can be used once `wait` has handed it over"]
pub struct Pending<'a, T, S: SpeCore> {
    staged: Staged<'a, T, S>,
    spe: &'a S,
}

// Inlined, because the CPU mispredicts the return of a function in which threads were switched.
impl<'a, T: Pod, S: SpeCore> Pending<'a, T, S> {
    #[inline(always)]
    pub(crate) fn new(
        spe: &'a S,
        source: &'a [T],
        at: &'static Location<'static>,
    ) -> Result<Self, StageError> {
        let memory = NonNull::from_ref(source).cast::<T>();
        // SAFETY: the bytes are those of `source`, which is borrowed for 'a, longer than this call.
        let held = unsafe { spe.hold(StageRequest::new(memory, source.len(), true, at)) }?;
        Ok(Self {
            staged: Staged::new(source, held),
            spe,
        })
    }

    /// Waits for the data and returns the view. Other threads of the SPE run meanwhile.
    #[inline(always)]
    pub fn wait(self) -> Staged<'a, T, S> {
        self.spe.arrived(&self.staged._hold);
        self.staged
    }
}

/// A get in progress for a slice that will be put back. Dropping this value without
/// [`wait`](Self::wait) puts nothing back. The local bytes are freed after the get.
#[must_use = "the data can be changed once `wait` has handed it over"]
pub struct PendingMut<'a, T, S: SpeCore> {
    view: NonNull<[T]>,
    hold: S::Hold,
    memory: NonNull<T>,
    spe: &'a S,
    _target: PhantomData<&'a mut [T]>,
}

impl<'a, T: Pod, S: SpeCore> PendingMut<'a, T, S> {
    /// Reserves memory for a slice in the local store, and starts its get if `fetch` is true.
    pub(crate) fn new(
        spe: &'a S,
        target: &'a mut [T],
        fetch: bool,
        at: &'static Location<'static>,
    ) -> Result<Self, StageError> {
        let len = target.len();
        let memory = NonNull::from_mut(target).cast::<T>();
        // SAFETY: the bytes are those of `target`, which is borrowed for 'a, longer than this call.
        let (local, hold) = unsafe { spe.hold(StageRequest::new(memory, len, fetch, at)) }?;
        Ok(Self {
            view: NonNull::slice_from_raw_parts(local.cast(), len),
            hold,
            memory,
            spe,
            _target: PhantomData,
        })
    }

    /// Waits for the data and returns the view. Other threads of the SPE run meanwhile.
    pub fn wait(self) -> StagedMut<'a, T, S> {
        self.spe.arrived(&self.hold);
        self.into_view()
    }

    /// Returns the view without waiting for the data.
    pub(crate) fn into_view(self) -> StagedMut<'a, T, S> {
        StagedMut {
            view: self.view,
            hold: self.hold,
            memory: self.memory,
            spe: self.spe,
            _target: PhantomData,
        }
    }
}

/// A view of a slice in the local store, for reading. The type is covariant and has no destructor,
/// so a variable that is declared before the slice, and dropped after it, can hold a view.
pub struct Staged<'a, T, S: SpeCore> {
    view: NonNull<[T]>,
    _hold: S::Hold,
    _source: PhantomData<&'a [T]>,
}

impl<'a, T: Pod, S: SpeCore> Staged<'a, T, S> {
    #[inline(always)]
    fn new(source: &'a [T], (local, hold): (NonNull<u8>, S::Hold)) -> Self {
        Self {
            view: NonNull::slice_from_raw_parts(local.cast(), source.len()),
            _hold: hold,
            _source: PhantomData,
        }
    }

    /// Gets `source` and waits for the data.
    #[inline(always)]
    pub(crate) fn get(
        spe: &S,
        source: &'a [T],
        at: &'static Location<'static>,
    ) -> Result<Self, StageError> {
        let memory = NonNull::from_ref(source).cast::<T>();
        let request = StageRequest::new(memory, source.len(), true, at);
        // SAFETY: the bytes are those of `source`, which is borrowed for 'a, longer than this call.
        let held = unsafe { spe.hold_until_arrived(request) }?;
        Ok(Self::new(source, held))
    }

    /// Gets `source` without waiting, on a machine that reads staged data in place.
    ///
    /// # Safety
    ///
    /// [`SpeCore::uninterrupted_span`] must have returned a time in the present program.
    #[inline(always)]
    pub(crate) unsafe fn get_in_place(
        spe: &S,
        source: &'a [T],
        at: &'static Location<'static>,
    ) -> Result<Self, StageError> {
        let memory = NonNull::from_ref(source).cast::<T>();
        let request = StageRequest::new(memory, source.len(), true, at);
        // SAFETY: the bytes are those of `source`, which is borrowed for 'a, longer than this call.
        // The caller guarantees the other condition of `hold_in_place`.
        let held = unsafe { spe.hold_in_place(request) }?;
        Ok(Self::new(source, held))
    }
}

impl<T: Pod, S: SpeCore> Deref for Staged<'_, T, S> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `SpeCore::hold` returned a pointer to initialised bytes, aligned for T, that is
        // valid while hold and borrow live. Both outlive `self`. Any bytes are a `T` (`Pod`).
        unsafe { self.view.as_ref() }
    }
}

/// A view of a slice in the local store, for reading and writing. Dropping the view puts the slice
/// back without waiting, and [`commit`](Self::commit) also waits.
#[must_use = "a view that is dropped at once puts back what it got"]
pub struct StagedMut<'a, T: Pod, S: SpeCore> {
    view: NonNull<[T]>,
    hold: S::Hold,
    memory: NonNull<T>,
    spe: &'a S,
    // Because the view has a destructor, the compiler keeps the target alive until the view is
    // dropped. If only the hold had a destructor, the put could write to freed memory.
    _target: PhantomData<&'a mut [T]>,
}

impl<T: Pod, S: SpeCore> StagedMut<'_, T, S> {
    /// Puts the data back and waits for the put. Other threads of the SPE run meanwhile.
    pub fn commit(self) {
        let spe = self.spe;
        drop(self);
        spe.departed();
    }
}

impl<T: Pod, S: SpeCore> Deref for StagedMut<'_, T, S> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: as in the `Deref` of `Staged`.
        unsafe { self.view.as_ref() }
    }
}

impl<T: Pod, S: SpeCore> DerefMut for StagedMut<'_, T, S> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `Deref` of `Staged`. The target is borrowed exclusively for 'a, only the
        // hold uses a local buffer, and `&mut self` excludes other uses of this view.
        unsafe { self.view.as_mut() }
    }
}

impl<T: Pod, S: SpeCore> Drop for StagedMut<'_, T, S> {
    fn drop(&mut self) {
        let bytes = self.view.len() * size_of::<T>();
        // SAFETY: `SpeCore::hold` returned `view` with `hold` for `memory`. The view is not used
        // again, and the target is still borrowed exclusively, because 'a outlives `self`.
        unsafe {
            self.spe
                .put_back(&self.hold, self.view.cast(), self.memory.cast(), bytes);
        }
    }
}

/// A slice staged in tiles. The next tile is fetched while the program uses the current tile. A
/// tile can be used until the next call of [`next`](Self::next), so room for two is enough.
pub struct Stream<'a, T, S: SpeCore> {
    spe: &'a S,
    tiles: std::slice::Chunks<'a, T>,
    ahead: Option<Pending<'a, T, S>>,
    current: Option<Staged<'a, T, S>>,
    at: &'static Location<'static>,
}

impl<'a, T: Pod, S: SpeCore> Stream<'a, T, S> {
    pub(crate) fn new(
        spe: &'a S,
        source: &'a [T],
        tile: usize,
        at: &'static Location<'static>,
    ) -> Self {
        assert!(tile > 0, "a stream's tile has at least 1 element");
        Self {
            spe,
            tiles: source.chunks(tile),
            ahead: None,
            current: None,
            at,
        }
    }

    /// Waits for the next tile and returns it, or `None` at the end. Other threads of the SPE run
    /// meanwhile. Only the last tile may be shorter than the chosen length.
    ///
    /// # Errors
    ///
    /// Returns [`StageError`] if the local store has no room for this tile and the next one.
    /// Another call tries the same tile again.
    #[expect(
        clippy::should_implement_trait,
        reason = "it lends: an iterator's items could be hoarded until the local store is full"
    )]
    pub fn next(&mut self) -> Result<Option<&[T]>, StageError> {
        self.current = None;
        if self.ahead.is_none() {
            self.ahead = self.begin_next()?;
        }
        let Some(arriving) = self.ahead.take() else {
            return Ok(None);
        };
        match self.begin_next() {
            Ok(ahead) => self.ahead = ahead,
            Err(error) => {
                self.ahead = Some(arriving);
                return Err(error);
            }
        }
        Ok(Some(self.current.insert(arriving.wait())))
    }

    /// Starts the get of the next tile. After an error, a later call tries the same tile again.
    fn begin_next(&mut self) -> Result<Option<Pending<'a, T, S>>, StageError> {
        let mut tiles = self.tiles.clone();
        let Some(tile) = tiles.next() else {
            return Ok(None);
        };
        let pending = Pending::new(self.spe, tile, self.at)?;
        self.tiles = tiles;
        Ok(Some(pending))
    }
}

impl<T: fmt::Debug + Pod, S: SpeCore> fmt::Debug for Staged<'_, T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: fmt::Debug + Pod, S: SpeCore> fmt::Debug for StagedMut<'_, T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
