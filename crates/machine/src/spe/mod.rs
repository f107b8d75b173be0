//! The traits of an SPE, for machines and for the programs that run on the SPE.
//!
//! ```text
//!   wake::Wake      waiting, waking, the time, cancellation           every program may call it
//!   spe::SpeCore    the basis of views and threads                    a machine implements it
//!   spe::Spe        identity, staging, threads, interleaved work      every program may call it
//!   spe::CellSpe    MFC, local store, mailboxes, signals, ...         programs of a Cell
//! ```

pub(crate) mod cell;
pub(crate) mod core;
pub(crate) mod mfc;

use std::panic::Location;

use crate::activity::Activity;
use crate::id::{SpeId, ThreadId};
use crate::interleave::{InFlight, Interleave, InterleavedSpe};
use crate::local_store::StageError;
use crate::plain_data::PlainData;
use crate::spe::core::SpeCore;
use crate::staging::{Pending, PendingMut, Staged, StagedMut, Stream};
use crate::threads::{self, StackError, ThreadScope};
use crate::time::Cycles;
use crate::topology::Topology;

/// A core with a local store of its own, as its programs see it. The SPEs of all machines have the
/// operations of this trait. The SPEs of a Cell also have those of [`CellSpe`](crate::CellSpe).
///
/// To *get* a slice is to copy it from main memory into the local store. To *put* a slice is to
/// copy it back. Where programs use main memory directly, gets and puts copy nothing.
///
/// A program calls
///
/// - to know where it runs: [`id`](Self::id), [`topology`](Self::topology),
///   [`is_confined_to_local_store`](Self::is_confined_to_local_store),
///   [`free_stack_bytes`](Self::free_stack_bytes);
/// - to read a slice: [`stage`](Self::stage), [`stage_ahead`](Self::stage_ahead),
///   [`stream`](Self::stream);
/// - to change or write a slice: [`stage_mut`](Self::stage_mut),
///   [`stage_mut_ahead`](Self::stage_mut_ahead), [`stage_out`](Self::stage_out);
/// - to compute, and let other threads run: [`compute`](Self::compute),
///   [`yield_now`](Self::yield_now), [`yield_ready`](Self::yield_ready);
/// - to run several cooperative threads: [`threads`](Self::threads),
///   [`thread_scope`](Self::thread_scope), [`interleave`](Self::interleave);
/// - to name its activities, for a trace: [`activity`](Self::activity);
/// - to wait, wake other threads and read the clock: the methods of [`Wait`](crate::Wait) and
///   [`Wake`](crate::Wake).
///
/// Every method that waits lets the other cooperative threads of the SPE run. An `Spe` stands for
/// the core that its program runs on, so programs can neither send nor share an `Spe`.
pub trait Spe: SpeCore {
    /// The SPE's number.
    fn id(&self) -> SpeId;

    /// The machine to which the SPE belongs.
    fn topology(&self) -> &Topology;

    /// Declares that the program computes for `cycles` cycles of the SPU's clock. A simulated
    /// machine lets these cycles pass. A real machine does nothing.
    fn compute(&self, cycles: Cycles);

    /// Lets every other ready thread of this SPE run once.
    ///
    /// A loop that spins on an ordinary atomic, or on bytes of the local store, must call this
    /// method. Otherwise no other thread of the core can run, and on a simulated machine no other
    /// SPE either. If a program calls no method of a simulated machine for ten seconds, the machine
    /// writes a warning to standard error, once in a run.
    fn yield_now(&self);

    /// Lets every other ready thread of this SPE run once, as [`yield_now`](Self::yield_now) does.
    /// If no other thread is ready, this method does no context switch, so loops that compute can
    /// call it often.
    fn yield_ready(&self) {
        self.yield_now();
    }

    /// Names the activity of the calling thread until the returned value is dropped. A simulated
    /// machine that writes a trace shows the name in the thread's track. Activities of a thread may
    /// be nested. An activity takes no simulated time, and on other machines it compiles to
    /// nothing.
    ///
    /// ```
    /// use cellworks_machine::Spe;
    ///
    /// fn step<S: Spe>(spe: &S, table: &[u32]) -> u32 {
    ///     let _step = spe.activity("step");
    ///     let table = {
    ///         let _staging = spe.activity("staging");
    ///         spe.stage(table).unwrap()
    ///     };
    ///     table.iter().sum()
    /// }
    /// ```
    #[inline(always)]
    fn activity(&self, name: &str) -> Activity<'_, Self> {
        Activity::begin(self, name)
    }

    /// The number of bytes that are left on the stack of the calling thread. On a simulated machine
    /// the bytes are those of the real stack, which is larger than the stack's room in the local
    /// store.
    fn free_stack_bytes(&self) -> usize;

    /// Whether programs can use only data in the local store, as on simulated machines and on
    /// strict hosts. On these machines the stacks of cooperative threads take room in the local
    /// store. On other machines programs use main memory directly.
    fn is_confined_to_local_store(&self) -> bool {
        self.confined_to().is_some()
    }

    /// Starts to get a slice. [`Pending::wait`] waits for the slice and returns the view.
    ///
    /// # Errors
    ///
    /// Returns [`StageError`] if the local store has no room.
    #[track_caller]
    #[inline(always)]
    fn stage_ahead<'a, T: PlainData>(
        &'a self,
        source: &'a [T],
    ) -> Result<Pending<'a, T, Self>, StageError> {
        Pending::new(self, source, Location::caller())
    }

    /// Gets a slice, waits until the slice has arrived, and returns the view.
    ///
    /// # Errors
    ///
    /// Returns [`StageError`] if the local store has no room.
    #[track_caller]
    #[inline(always)]
    fn stage<'a, T: PlainData>(
        &'a self,
        source: &'a [T],
    ) -> Result<Staged<'a, T, Self>, StageError> {
        Staged::get(self, source, Location::caller())
    }

    /// Starts to get a slice that will be put back. [`PendingMut::wait`] waits for the slice and
    /// returns the view. The next block can arrive while the program uses the current block (double
    /// buffering).
    ///
    /// ```
    /// use cellworks_machine::{Spe, StageError};
    ///
    /// fn negate<S: Spe>(spe: &S, numbers: &mut [i32]) -> Result<(), StageError> {
    ///     let mut ahead = None;
    ///     for block in numbers.chunks_mut(1_024).map(Some).chain([None]) {
    ///         let next = block.map(|block| spe.stage_mut_ahead(block)).transpose()?;
    ///         if let Some(arriving) = std::mem::replace(&mut ahead, next) {
    ///             arriving.wait().iter_mut().for_each(|number| *number = -*number);
    ///         }
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`StageError`] if the local store has no room.
    #[track_caller]
    fn stage_mut_ahead<'a, T: PlainData>(
        &'a self,
        target: &'a mut [T],
    ) -> Result<PendingMut<'a, T, Self>, StageError> {
        PendingMut::new(self, target, true, Location::caller())
    }

    /// Gets a slice and waits for it. Committing or dropping the view puts the slice back.
    ///
    /// # Errors
    ///
    /// Returns [`StageError`] if the local store has no room.
    #[track_caller]
    fn stage_mut<'a, T: PlainData>(
        &'a self,
        target: &'a mut [T],
    ) -> Result<StagedMut<'a, T, Self>, StageError> {
        Ok(PendingMut::new(self, target, true, Location::caller())?.wait())
    }

    /// Makes room for a slice in the local store. Committing or dropping the view puts the slice
    /// back. The program must write the whole view, because its contents are unspecified at first.
    ///
    /// # Errors
    ///
    /// Returns [`StageError`] if the local store has no room.
    #[track_caller]
    fn stage_out<'a, T: PlainData>(
        &'a self,
        target: &'a mut [T],
    ) -> Result<StagedMut<'a, T, Self>, StageError> {
        Ok(PendingMut::new(self, target, false, Location::caller())?.into_view())
    }

    /// Runs `body` in `count` cooperative threads of this SPE, with the ids 0 to `count - 1`, and
    /// returns when all of these threads have ended.
    ///
    /// The threads may borrow all values that the caller can borrow, and need not be `Send`. The
    /// threads switch only where they wait or yield. If threads panic, this method resumes the
    /// first panic after all threads have ended.
    ///
    /// On a host, a thread that needs a new stack takes some microseconds to start, because the
    /// operating system provides the stack. Other threads reuse a stack and take some tens of
    /// nanoseconds.
    ///
    /// # Errors
    ///
    /// Returns [`StackError`] if the local store has no room for all stacks. In this case no thread
    /// has run. Only simulated machines and strict hosts keep stacks in the local store.
    #[track_caller]
    fn threads(&self, count: usize, body: impl Fn(ThreadId)) -> Result<(), StackError> {
        threads::threads(self, count, &body)
    }

    /// Calls `f` with a scope, by which `f` may start cooperative threads on this SPE. Returns when
    /// all of these threads have ended. The threads may borrow values that live longer than the
    /// call.
    ///
    /// ```
    /// use cellworks_machine::{Spe, StackError};
    ///
    /// fn sum_of_squares<S: Spe>(spe: &S, numbers: &[u64]) -> Result<u64, StackError> {
    ///     spe.thread_scope(|scope| {
    ///         let (left, right) = numbers.split_at(numbers.len() / 2);
    ///         let squares = |numbers: &[u64]| numbers.iter().map(|n| n * n).sum::<u64>();
    ///         let left = scope.spawn(move |_| squares(left))?;
    ///         let right = scope.builder().stack_bytes(8 << 10).spawn(move |_| squares(right))?;
    ///         Ok(left.join().unwrap() + right.join().unwrap())
    ///     })
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// If `f` panics, resumes that panic. Otherwise, if a thread that was not joined has panicked,
    /// resumes the first such panic.
    #[track_caller]
    fn thread_scope<'env, R>(
        &'env self,
        f: impl for<'scope> FnOnce(&ThreadScope<'scope, 'env, Self>) -> R,
    ) -> R {
        threads::scope(self, f)
    }

    /// Calls `body` for each of `inputs`, for several inputs at a time in cooperative threads.
    /// While one thread waits for its data, by DMA on a Cell or for a cache miss on a host, another
    /// thread computes.
    ///
    /// `body` is ordinary code that [stages](InterleavedSpe::stage) the slices that it reads.
    /// `in_flight` is the number of inputs that are worked on at once, or [`InFlight::Automatic`].
    /// The methods of the returned [`Interleave`] run the work and deliver the results. A closure
    /// that is not written directly in the call has to name the type of its first argument, as
    /// here:
    ///
    /// ```
    /// use cellworks_machine::{InFlight, InterleaveError, InterleavedSpe, Spe};
    ///
    /// /// The values of `keys` in a table where each entry may lead to the next one. If the table
    /// /// is large, this takes a fraction of the time of a plain loop.
    /// fn look_up<S: Spe>(
    ///     spe: &S,
    ///     table: &[[u64; 3]],
    ///     keys: &[u64],
    /// ) -> Result<Vec<u64>, InterleaveError> {
    ///     let find = |spe: InterleavedSpe<'_, S>, key: &u64| {
    ///         let mut at = *key as usize % table.len();
    ///         loop {
    ///             let entry = spe.stage(&table[at..=at]).expect("room for an entry");
    ///             let [found, value, next] = entry[0];
    ///             if found == *key {
    ///                 return value;
    ///             }
    ///             at = next as usize;
    ///         }
    ///     };
    ///     spe.interleave(InFlight::Automatic, keys, find).collect()
    /// }
    /// ```
    fn interleave<I, R, F>(
        &self,
        in_flight: impl Into<InFlight>,
        inputs: I,
        body: F,
    ) -> Interleave<'_, Self, I::IntoIter, F>
    where
        I: IntoIterator,
        F: Fn(InterleavedSpe<'_, Self>, I::Item) -> R,
    {
        Interleave::new(self, in_flight.into(), inputs.into_iter(), body)
    }

    /// Gets a long slice in tiles of `tile` elements: the next tile arrives while the program uses
    /// the current tile.
    ///
    /// # Panics
    ///
    /// Panics if `tile` is 0.
    #[track_caller]
    fn stream<'a, T: PlainData>(&'a self, source: &'a [T], tile: usize) -> Stream<'a, T, Self> {
        Stream::new(self, source, tile, Location::caller())
    }
}
