//! The traits of an SPE, for machines and for programs.
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
use crate::place::At;
use crate::plain_data::PlainData;
use crate::spe::core::SpeCore;
use crate::staging::{Pending, PendingMut, Staged, StagedMut, Stream};
use crate::threads::{self, StackError, ThreadScope};
use crate::time::Cycles;
use crate::topology::Topology;

/// A core with its own local store. Each machine's SPEs have these methods, and the SPEs of a Cell
/// also have the methods of [`CellSpe`](crate::CellSpe).
///
/// To *get* a slice means to copy it from main memory into the local store. To *put* a slice means
/// to copy it back. If programs use main memory directly, gets and puts copy nothing. Methods:
///
/// - reading slices: [`stage`](Self::stage), [`stage_ahead`](Self::stage_ahead),
///   [`stream`](Self::stream)
/// - writing slices: [`stage_mut`](Self::stage_mut), [`stage_mut_ahead`](Self::stage_mut_ahead),
///   [`stage_out`](Self::stage_out)
/// - cooperative threads: [`threads`](Self::threads), [`thread_scope`](Self::thread_scope),
///   [`interleave`](Self::interleave)
/// - waiting, waking and time: [`Wait`](crate::Wait), [`Wake`](crate::Wake)
///
/// Every method that waits lets the other cooperative threads of the SPE run. An `Spe` belongs to
/// the core of its program, so programs can neither send nor share it.
pub trait Spe: SpeCore {
    /// Returns the SPE's number.
    fn id(&self) -> SpeId;

    /// Returns the parts of the SPE's machine.
    fn topology(&self) -> &Topology;

    /// Advances simulated time by `cycles` cycles of the SPU's clock. A real machine does nothing.
    fn compute(&self, cycles: Cycles);

    /// Lets every other ready thread of this SPE run once.
    ///
    /// A loop that polls an ordinary atomic or the local store must call this method. Otherwise no
    /// other thread of the core runs, and on a simulated machine no other SPE. If a program calls
    /// no method of a simulated machine for ten seconds, the machine prints one warning. A run on a
    /// simulated machine ends as a [deadlock](crate::RunError::Deadlock) if all its programs wait
    /// or only yield, no event is pending, and that lasts for some 33 million yields.
    ///
    /// On a host such a loop never ends: an OS thread outside the run may still change what the
    /// loop looks at, and programs may work for long without a call that the host sees. Therefore
    /// prefer [`wait_until`](crate::Wait::wait_until), whose deadlocks every machine reports.
    fn yield_now(&self);

    /// Does the same as [`yield_now`](Self::yield_now), but without a context switch if no other
    /// thread is ready, so loops that compute can call this method often.
    fn yield_ready(&self) {
        self.yield_now();
    }

    /// Names the activity of the calling thread, in traces of simulated machines, until the
    /// returned value is dropped. Activities can be nested. They take no simulated time.
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

    /// Names the place in foreign source where the calling thread is, such as `spu.c:12:3`, until
    /// the returned value is dropped. Reports of waits show it instead of the line of Rust, and
    /// simulated machines show it with the commands in reports of hazards, and as an
    /// [activity](Self::activity) in traces. Places can be nested. They take no simulated time.
    ///
    /// ```
    /// use cellworks_machine::{CellSpe, Spe};
    ///
    /// fn word_of_a_c_program<S: CellSpe>(spe: &S) -> u32 {
    ///     let _at = spe.at("spu.c:12:3");
    ///     spe.read_in_mbox()
    /// }
    /// ```
    #[inline]
    fn at(&self, place: &'static str) -> At<'_, Self> {
        At::begin(self, place)
    }

    /// Begins the window of the run: see [`Ppe::begin_window`](crate::Ppe::begin_window). If every
    /// program calls this method, the window begins when the last program calls it.
    #[inline(always)]
    fn begin_window(&self) {
        self.window_begins();
    }

    /// Ends the window of the run: see [`Ppe::end_window`](crate::Ppe::end_window).
    #[inline(always)]
    fn end_window(&self) {
        self.window_ends();
    }

    /// Returns the free bytes of the calling thread's real stack. On a simulated machine, the real
    /// stack is larger than the stack's part of the local store.
    fn free_stack_bytes(&self) -> usize;

    /// Returns whether programs can only use data in the local store, as on simulated machines and
    /// strict hosts. If so, the stacks of threads also use the local store.
    fn is_confined_to_local_store(&self) -> bool {
        self.confined_to().is_some()
    }

    /// Starts to get a slice. [`Pending::wait`] waits for the data and returns the view.
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

    /// Gets a slice, waits for the data, and returns the view.
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

    /// Starts to get a slice that will be put back, for instance while the program uses the
    /// previous block. [`PendingMut::wait`] waits for the data and returns the view.
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

    /// Returns a view that is put back when it is committed or dropped. The program must write the
    /// whole view, because its initial contents are unspecified.
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

    /// Runs `body` in `count` cooperative threads of this SPE with the ids 0 to `count - 1`, until
    /// all have ended. The threads may borrow the caller's values and need not be `Send`. They
    /// switch only where they wait or yield. The first panic of a thread is resumed at the end.
    ///
    /// A thread on a host starts in some tens of nanoseconds if it reuses a stack, or in some
    /// microseconds with a new stack of the operating system.
    ///
    /// # Errors
    ///
    /// Returns [`StackError`], and runs no thread, if the local store has no room for the stacks.
    #[track_caller]
    fn threads(&self, count: usize, body: impl Fn(ThreadId)) -> Result<(), StackError> {
        threads::threads(self, count, &body)
    }

    /// Calls `f` with a scope of cooperative threads on this SPE. Returns when all threads have
    /// ended. Threads may borrow values that outlive the call.
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
    /// Resumes the panic of `f`, or else the first panic of a thread that was not joined.
    #[track_caller]
    fn thread_scope<'env, R>(
        &'env self,
        f: impl for<'scope> FnOnce(&ThreadScope<'scope, 'env, Self>) -> R,
    ) -> R {
        threads::scope(self, f)
    }

    /// Calls `body` for several of the `inputs` at a time, in cooperative threads. While one thread
    /// waits for DMA on a Cell, or for a cache miss on a host, another thread computes.
    ///
    /// `body` [stages](InterleavedSpe::stage) the slices that it reads. `in_flight` is the number
    /// of inputs that are processed at the same time. The methods of the returned [`Interleave`] do
    /// the work. A closure in a variable must declare the type of its first argument:
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

    /// Gets a slice in tiles of `tile` elements, each while the program uses the previous tile.
    ///
    /// # Panics
    ///
    /// Panics if `tile` is 0.
    #[track_caller]
    fn stream<'a, T: PlainData>(&'a self, source: &'a [T], tile: usize) -> Stream<'a, T, Self> {
        Stream::new(self, source, tile, Location::caller())
    }
}
