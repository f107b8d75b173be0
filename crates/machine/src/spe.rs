//! What an SPE offers to the programs that run on it.

use std::fmt;
use std::panic::Location;

use bytemuck::Pod;

use crate::interleave::{InFlight, Interleave, InterleavedSpe};
use crate::mailbox::{MailboxFull, Outbound};
use crate::mfc::{EffectiveAddress, LsAddr, MfcFault, RawCommand, Tag, TagMask};
use crate::staging::{Pending, PendingMut, StageError, StageRequest, Staged, StagedMut, Stream};
use crate::threads::{StackError, StartThread, ThreadScope};
use crate::{
    AtomicError, AtomicOp, Cycles, LocalStore, Processor, SignalRegister, Span, SpeId, ThreadId,
    Time, Timebase, Topology, Wake,
};

/// Waiting, as everything that blocks on a machine does it.
pub trait Wait {
    /// Waits until `ready` says true; other cooperative threads run meanwhile.
    ///
    /// `ready` is asked again and again while this thread waits, at least once after every
    /// [`notify`](Spe::notify) of this processor, always on the thread's own core, and never again
    /// once it has said true; it must not block or panic. `why` completes "waits for", for the report that a deadlock gets.
    ///
    /// A condition that comes true by itself, such as a time on a clock, or by somebody who does not
    /// notify, such as a plain OS thread, must not be waited for here: when all others wait, the run
    /// is ended as a deadlock. For a time there is [`wait_until_deadline`](Wake::wait_until_deadline); for others, ask
    /// in a loop with [`yield_now`](Spe::yield_now).
    ///
    /// Returns true, with one exception. When the run is cancelled, because everybody waits for
    /// somebody else or the main program panicked, the waiting thread is unwound. A call that is
    /// made *during* that unwinding, from a destructor, returns false instead if it would have to
    /// wait.
    #[track_caller]
    fn wait_until(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool;
}

/// A core with a local store of its own, as its programs see it.
///
/// Every method that waits lets the other cooperative threads of the SPE run.
///
/// An `Spe` speaks for the core that its program runs on, so it can be neither sent to nor shared
/// with other cores.
///
/// # Safety
///
/// [`hold`](Self::hold) and [`put_back`](Self::put_back) do what they promise: typed views rely
/// on it. [`run_threads`](Self::run_threads) returns, or unwinds, only when every body that was
/// started has been run to its end or dropped: they borrow what their scope can.
pub unsafe trait Spe: Wake + Sized + 'static {
    /// Its Memory Flow Controller: the raw level.
    type Mfc: Mfc;
    /// What keeps a view's bytes in the local store; dropping it gives the room back.
    type Hold;

    /// Which SPE this is.
    fn id(&self) -> SpeId;

    /// The machine that it belongs to.
    fn topology(&self) -> &Topology;

    /// The time since the start of the run.
    fn now(&self) -> Time;

    /// How fast the decrementer counts.
    fn timebase(&self) -> Timebase;

    /// Reads the decrementer, which counts down by one each tick of the
    /// [`timebase`](Self::timebase) and wraps (channel 8).
    fn decrementer(&self) -> u32;

    /// Sets the decrementer (channel 7).
    fn set_decrementer(&self, value: u32);

    /// Says that the program computes for `cycles` cycles of the SPU's clock: simulated machines
    /// charge the time, real ones do nothing, since they spend it anyway.
    fn compute(&self, cycles: Cycles);

    /// Lets every other ready thread of this SPE run once.
    ///
    /// A loop that spins on an ordinary atomic, or on bytes of the local store, must call this: without
    /// it no other thread of the core can run, and on a simulated machine no other SPE either. That warns on
    /// standard error, once in a run, of a program that has not called anything for ten seconds.
    fn yield_now(&self);

    /// As [`yield_now`](Self::yield_now), for loops that compute: if no other thread of this SPE is ready it costs a look
    /// and no switch.
    ///
    /// A thread that yields alone on a Cell is saved and restored by the library as every other; asking first spares that.
    fn yield_ready(&self) {
        self.yield_now();
    }

    /// For [`thread_scope`](Self::thread_scope): runs `main`, which may start cooperative threads with what it is
    /// handed, and returns when all of them have ended.
    ///
    /// If `main` or a thread panics, the panic is resumed after that. `at` is who waits for the threads, for the report
    /// that a deadlock gets.
    fn run_threads(&self, at: &'static Location<'static>, main: &mut dyn FnMut(&dyn StartThread));

    /// Whether programs can use only what is in the local store, as on simulated machines and strict hosts: data has to be
    /// moved there, and the stacks of cooperative threads take room in it. Elsewhere main memory is as good.
    fn is_confined_to_local_store(&self) -> bool;

    /// Whether the run has been cancelled, so that what waits is unwound.
    fn is_cancelled(&self) -> bool;

    /// How many bytes of stack the calling thread has left: of the stack that its frames really lie on, which
    /// is larger than what a simulated machine takes from the local store for it.
    fn free_stack_bytes(&self) -> usize;

    /// The raw level: the commands of the MFC, exactly as the architecture defines them.
    fn mfc(&self) -> &Self::Mfc;

    /// The local store, for the raw level.
    fn local_store(&self) -> &LocalStore;

    /// Applies `op` to the 32-bit word of main memory at `ea`, as one indivisible step, and
    /// returns what it was before. On the Cell it is a loop of `getllar` and `putllc`, on the host
    /// one instruction.
    ///
    /// # Errors
    ///
    /// [`AtomicError`] if `ea` is not a multiple of 4, or no region covers the word.
    fn fetch_update(&self, ea: EffectiveAddress, op: AtomicOp) -> Result<u32, AtomicError>;

    /// Reads the 32-bit word of main memory at `ea`, in one piece, as a loop does that polls it. On
    /// the Cell it is `getllar` and a look at the line, on the host one load. It does not wait: such
    /// a loop calls [`yield_now`](Self::yield_now).
    ///
    /// What the writer wrote before the word is seen after it.
    ///
    /// # Errors
    ///
    /// As [`fetch_update`](Self::fetch_update).
    fn load_word(&self, ea: EffectiveAddress) -> Result<u32, AtomicError>;

    /// Has the threads of `to` ask again what they wait for. Whoever changes ordinary memory for
    /// which another processor [waits](Wait::wait_until) calls it afterwards; mailboxes, signals
    /// and the MFC do so themselves.
    ///
    /// # Panics
    ///
    /// If the machine has no such SPE.
    #[track_caller]
    fn notify(&self, to: Processor);

    /// How many words the inbound mailbox holds, 0 to 4.
    fn in_mbox_count(&self) -> usize;

    /// Takes the oldest word of the inbound mailbox, or `None` if it is empty.
    fn try_read_in_mbox(&self) -> Option<u32>;

    /// Puts a word into one of this SPE's own outbound mailboxes, for the PPE.
    ///
    /// # Errors
    ///
    /// [`MailboxFull`] if the PPE has not read the last one.
    fn try_write_out_mbox(&self, mailbox: Outbound, word: u32) -> Result<(), MailboxFull>;

    /// Puts a word into the inbound mailbox of another SPE, or of this one.
    ///
    /// To wait for room, use [`write_in_mbox_of`](Self::write_in_mbox_of): a reader does not notify
    /// writers who did not say that they wait.
    ///
    /// # Errors
    ///
    /// [`MailboxFull`] if it holds four words.
    ///
    /// # Panics
    ///
    /// If the machine has no SPE `to`.
    fn try_write_in_mbox_of(&self, to: SpeId, word: u32) -> Result<(), MailboxFull>;

    /// Puts a word into the inbound mailbox of another SPE, or of this one; waits while it is
    /// full.
    ///
    /// # Panics
    ///
    /// If the machine has no SPE `to`.
    #[track_caller]
    fn write_in_mbox_of(&self, to: SpeId, word: u32);

    /// Takes what a signal register holds, or `None` if nothing was signalled since the last read.
    fn try_read_signal(&self, register: SignalRegister) -> Option<u32>;

    /// Sends a signal; what it does to one that was not read yet is for the register's
    /// [mode](crate::SignalMode) to say. Never waits.
    ///
    /// # Panics
    ///
    /// If the machine has no SPE `to`.
    fn send_signal(&self, to: SpeId, register: SignalRegister, bits: u32);

    /// For typed views: brings bytes of main memory to where this SPE can use them.
    ///
    /// The pointer that it returns is aligned to `request.align` and valid for `request.bytes`
    /// initialised bytes as long as the hold lives and the memory is borrowed. They are either the
    /// memory itself or a buffer that belongs to the hold alone; with `request.fetch`, a buffer
    /// has the memory's bytes once [`arrived`](Self::arrived) has returned, and the memory is not
    /// touched after this call returned.
    ///
    /// # Errors
    ///
    /// [`StageError`] if the local store has no room.
    ///
    /// # Safety
    ///
    /// The memory is valid for reads of `request.bytes` initialised bytes during the call.
    unsafe fn hold(
        &self,
        request: StageRequest,
    ) -> Result<(std::ptr::NonNull<u8>, Self::Hold), StageError>;

    /// For typed views: waits until what `hold` holds has arrived.
    fn arrived(&self, hold: &Self::Hold);

    /// For typed views: [`hold`](Self::hold) and [`arrived`](Self::arrived) in one, for machines on which that is worth
    /// having.
    ///
    /// # Errors
    ///
    /// As [`hold`](Self::hold).
    ///
    /// # Safety
    ///
    /// As [`hold`](Self::hold).
    #[inline(always)]
    unsafe fn hold_until_arrived(
        &self,
        request: StageRequest,
    ) -> Result<(std::ptr::NonNull<u8>, Self::Hold), StageError> {
        // SAFETY: the caller's promise.
        let held = unsafe { self.hold(request) }?;
        self.arrived(&held.1);
        Ok(held)
    }

    /// For interleaved work, which may go on for long without a call that waits: lets those of this core go on who wait for
    /// something from outside that is there by now, and ends the program if the run was cancelled. It does nothing on a
    /// machine whose calls all do that.
    fn look_outside(&self) {}

    /// For interleaved work: for about how long a slice that is staged needs nothing done, because it is read where it lies
    /// and no other thread of this SPE wants to run in the meantime. `None` if it does.
    ///
    /// The first does not change in the course of a program. The second may, so it is asked again after that time.
    fn stages_in_place_for(&self) -> Option<Span> {
        None
    }

    /// For typed views: [`hold_until_arrived`](Self::hold_until_arrived), if a slice that is staged is read where it lies.
    /// It waits for nobody, and does nothing else where that can be spared.
    ///
    /// # Errors
    ///
    /// As [`hold`](Self::hold).
    ///
    /// # Safety
    ///
    /// As [`hold`](Self::hold), and [`stages_in_place_for`](Self::stages_in_place_for) has named a time in the present program.
    #[inline(always)]
    unsafe fn hold_in_place(
        &self,
        request: StageRequest,
    ) -> Result<(std::ptr::NonNull<u8>, Self::Hold), StageError> {
        // SAFETY: the caller's promise.
        unsafe { self.hold_until_arrived(request) }
    }

    /// For typed views: copies the bytes of a hold back to main memory, before it returns.
    ///
    /// # Safety
    ///
    /// `local` is what [`hold`](Self::hold) returned with `hold`, for `memory` and `bytes`, and
    /// nobody else accesses the memory during the call.
    unsafe fn put_back(
        &self,
        hold: &Self::Hold,
        local: std::ptr::NonNull<u8>,
        memory: std::ptr::NonNull<u8>,
        bytes: usize,
    );

    /// For typed views: waits until everything that was put back has left.
    fn departed(&self);

    /// Begins to get a slice; [`Pending::wait`] hands it over.
    ///
    /// # Errors
    ///
    /// [`StageError`] if the local store has no room.
    #[track_caller]
    #[inline(always)]
    fn stage_ahead<'a, T: Pod>(
        &'a self,
        source: &'a [T],
    ) -> Result<Pending<'a, T, Self>, StageError> {
        Pending::new(self, source, Location::caller())
    }

    /// Gets a slice and waits for it.
    ///
    /// # Errors
    ///
    /// [`StageError`] if the local store has no room.
    #[track_caller]
    #[inline(always)]
    fn stage<'a, T: Pod>(&'a self, source: &'a [T]) -> Result<Staged<'a, T, Self>, StageError> {
        Staged::get(self, source, Location::caller())
    }

    /// Begins to get a slice that will be put back; [`PendingMut::wait`] hands it over. So the next
    /// block arrives while the present one is worked on: double buffering.
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
    /// [`StageError`] if the local store has no room.
    #[track_caller]
    fn stage_mut_ahead<'a, T: Pod>(
        &'a self,
        target: &'a mut [T],
    ) -> Result<PendingMut<'a, T, Self>, StageError> {
        PendingMut::new(self, target, true, Location::caller())
    }

    /// Gets a slice, waits for it, and puts it back when the view is committed or dropped.
    ///
    /// # Errors
    ///
    /// [`StageError`] if the local store has no room.
    #[track_caller]
    fn stage_mut<'a, T: Pod>(
        &'a self,
        target: &'a mut [T],
    ) -> Result<StagedMut<'a, T, Self>, StageError> {
        Ok(PendingMut::new(self, target, true, Location::caller())?.wait())
    }

    /// Makes room for a slice, and puts it back when the view is committed or dropped. What the
    /// view holds before it is written is unspecified: the program must write all of it.
    ///
    /// # Errors
    ///
    /// [`StageError`] if the local store has no room.
    #[track_caller]
    fn stage_out<'a, T: Pod>(
        &'a self,
        target: &'a mut [T],
    ) -> Result<StagedMut<'a, T, Self>, StageError> {
        Ok(PendingMut::new(self, target, false, Location::caller())?.into_view())
    }

    /// Runs `body` in `count` cooperative threads of this SPE, each with an id from 0 on, and returns
    /// when all have ended.
    ///
    /// They may borrow what the caller can, need not be `Send`, and switch only where they wait
    /// or yield. The first panic of a thread is resumed here after all have ended.
    ///
    /// # Errors
    ///
    /// [`StackError`] if the local store has no room for so many stacks; no thread has run then. Only
    /// where stacks take local store: simulated machines, and hosts that are strict.
    #[track_caller]
    fn threads(&self, count: usize, body: impl Fn(ThreadId)) -> Result<(), StackError> {
        crate::threads::threads(self, count, &body)
    }

    /// Calls `f`, which may start cooperative threads on this SPE with the scope that it is handed,
    /// and returns when all have ended. They may borrow what lives longer than the call.
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
    /// With the panic of `f`, else with the first panic of a thread that was not joined.
    #[track_caller]
    fn thread_scope<'env, R>(
        &'env self,
        f: impl for<'scope> FnOnce(&ThreadScope<'scope, 'env, Self>) -> R,
    ) -> R {
        crate::threads::scope(self, f)
    }

    /// Works on all `inputs` with `body`, several at a time in cooperative threads, so that one computes while
    /// others wait for their data: DMA on a Cell, cache misses on a host.
    ///
    /// `body` is ordinary code that [stages](InterleavedSpe::stage) what it reads, by means of the SPE that it is handed;
    /// `in_flight` is how many inputs are worked on at once, or [`InFlight::Automatic`]. What happens to the results is for
    /// the [`Interleave`] to be told. A closure that is not written into this call has to name the type of its first
    /// argument, as here:
    ///
    /// ```
    /// use cellworks_machine::{InFlight, InterleaveError, InterleavedSpe, Spe};
    ///
    /// /// The values of `keys` in a table where each entry may lead to the next one: at a fraction of the time that a
    /// /// plain loop takes, if the table is large.
    /// fn look_up<S: Spe>(spe: &S, table: &[[u64; 3]], keys: &[u64]) -> Result<Vec<u64>, InterleaveError> {
    ///     let find = |spe: InterleavedSpe<'_, S>, key: &u64| {
    ///         let mut at = *key as usize % table.len();
    ///         loop {
    ///             let [found, value, next] = spe.stage(&table[at..=at]).expect("room for an entry")[0];
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

    /// Gets a long slice in tiles of `tile` elements, the next one while the current one is used.
    ///
    /// # Panics
    ///
    /// If `tile` is 0.
    #[track_caller]
    fn stream<'a, T: Pod>(&'a self, source: &'a [T], tile: usize) -> Stream<'a, T, Self> {
        Stream::new(self, source, tile, Location::caller())
    }

    /// Takes the oldest word of the inbound mailbox; waits while it is empty. In a destructor that
    /// runs because the run was cancelled it does not wait, and returns 0.
    #[track_caller]
    fn read_in_mbox(&self) -> u32 {
        wait_for_some(self, &"a word in its inbound mailbox", || {
            self.try_read_in_mbox()
        })
    }

    /// Puts a word into one of this SPE's outbound mailboxes; waits while it is full.
    #[track_caller]
    fn write_out_mbox(&self, mailbox: Outbound, word: u32) {
        let why = format_args!("the PPE to empty its {}", mailbox.name());
        wait_for_some(self, &why, || self.try_write_out_mbox(mailbox, word).ok());
    }

    /// Takes what a signal register holds; waits while there is nothing. In a destructor that runs
    /// because the run was cancelled it does not wait, and returns 0.
    #[track_caller]
    fn read_signal(&self, register: SignalRegister) -> u32 {
        wait_for_some(self, &format_args!("a signal in its {register}"), || {
            self.try_read_signal(register)
        })
    }
}

/// Asks `attempt` until it gives something; the type's default if the run was cancelled while the
/// caller already unwinds.
#[track_caller]
#[inline]
pub(crate) fn wait_for_some<W: Wait + ?Sized, R: Default>(
    waiter: &W,
    why: &dyn fmt::Display,
    mut attempt: impl FnMut() -> Option<R>,
) -> R {
    if let Some(result) = attempt() {
        return result;
    }
    let mut result = None;
    waiter.wait_until(why, &mut || {
        result = attempt();
        result.is_some()
    });
    result.unwrap_or_default()
}

/// Asks `attempt` until the queue is not full.
#[track_caller]
#[inline]
pub(crate) fn issue_when_there_is_room<W: Wait + ?Sized>(
    waiter: &W,
    why: &dyn fmt::Display,
    mut attempt: impl FnMut() -> Result<(), TryIssueError>,
) -> Result<(), MfcFault> {
    let mut outcome = Ok(());
    let mut is_done = || match attempt() {
        Err(TryIssueError::Full) => false,
        Err(TryIssueError::Fault(fault)) => {
            outcome = Err(fault);
            true
        }
        Ok(()) => true,
    };
    if !is_done() {
        waiter.wait_until(why, &mut is_done);
    }
    outcome
}

/// The Memory Flow Controller of an SPE: the raw level, as its program uses it.
///
/// Commands name local-store addresses and effective addresses. Both are checked against what the
/// machine allocated, so that a wrong address is an [`MfcFault`] and never an access. A command
/// that is refused has no effect and takes no queue entry, where the hardware would suspend the
/// queue.
pub trait Mfc: Wait {
    /// Enqueues a command.
    ///
    /// # Errors
    ///
    /// [`TryIssueError::Full`] if the queue has no free entry, [`TryIssueError::Fault`] if the
    /// command is not legal.
    ///
    /// # Panics
    ///
    /// If a command that had to wait in the queue turns out to be illegal. So do all calls below
    /// that ask or wait for the queue.
    fn try_issue(&self, command: RawCommand) -> Result<(), TryIssueError>;

    /// How many commands the queue can take, 0 to 16 (the count of channel 21).
    fn free_entries(&self) -> usize;

    /// The tag groups that have commands under way.
    fn incomplete_tags(&self) -> TagMask;

    /// The tag groups in which a list stopped at an element with stall-and-notify since the last
    /// call: what a read of channel 25 returns and clears.
    fn take_stall_notifications(&self) -> TagMask;

    /// Lets the stalled lists of a tag group go on (channel 26).
    ///
    /// # Errors
    ///
    /// [`MfcFault`] if this machine performs the rest at once, and an element of it, or a command
    /// that was ordered after it, turns out to be illegal.
    fn acknowledge_stall(&self, tag: Tag) -> Result<(), MfcFault>;

    /// Reads the 128-byte line at `ea` into the local store and reserves it; an earlier
    /// reservation of this SPE is gone.
    ///
    /// # Errors
    ///
    /// [`MfcFault`] if no region covers the line.
    fn getllar(&self, lsa: LsAddr, ea: EffectiveAddress) -> Result<(), MfcFault>;

    /// Stores the line if this SPE has it reserved and nobody has stored to it since, and says
    /// whether it did. The reservation is gone either way.
    ///
    /// # Errors
    ///
    /// [`MfcFault`] if no region covers the line.
    fn putllc(&self, lsa: LsAddr, ea: EffectiveAddress) -> Result<bool, MfcFault>;

    /// Stores the line, whoever has it reserved.
    ///
    /// # Errors
    ///
    /// [`MfcFault`] if no region covers the line.
    fn putlluc(&self, lsa: LsAddr, ea: EffectiveAddress) -> Result<(), MfcFault>;

    /// Whether this SPE's reservation is lost, or it never had one (the LR event, CBEA page 148).
    fn reservation_lost(&self) -> bool;

    /// Enqueues a command; waits while the queue is full.
    ///
    /// # Errors
    ///
    /// [`MfcFault`] if the command is not legal.
    #[track_caller]
    fn issue(&self, command: RawCommand) -> Result<(), MfcFault> {
        let why = "a free entry in its MFC command queue";
        issue_when_there_is_room(self, &why, || self.try_issue(command))
    }

    /// Waits until every command of the tag groups in `tags` is complete.
    #[track_caller]
    fn wait_all(&self, tags: TagMask) {
        let mut complete = || (self.incomplete_tags() & tags).is_empty();
        if !complete() {
            self.wait_until(
                &format_args!("DMA of all tag groups in {tags}"),
                &mut complete,
            );
        }
    }

    /// Waits until at least one of the tag groups in `tags` is complete, and returns those that
    /// are.
    #[track_caller]
    fn wait_any(&self, tags: TagMask) -> TagMask {
        wait_for_some(
            self,
            &format_args!("DMA of any tag group in {tags}"),
            || {
                let complete = tags & !self.incomplete_tags();
                (!complete.is_empty() || tags.is_empty()).then_some(complete)
            },
        )
    }

    /// Waits until a list stalls, and returns the tag groups in which one did (channel 25).
    #[track_caller]
    fn wait_stalled(&self) -> TagMask {
        wait_for_some(self, &"a list to stop at stall-and-notify", || {
            let stalled = self.take_stall_notifications();
            (!stalled.is_empty()).then_some(stalled)
        })
    }
}

/// A command was not enqueued.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TryIssueError {
    /// The queue has no free entry. Waiting can help.
    #[error(
        "the MFC command queue is full; wait for a tag group, or use `issue` (for the PPE, `issue_proxy`), which waits \
         for an entry"
    )]
    Full,
    /// The command is not legal. Waiting cannot help.
    #[error(transparent)]
    Fault(#[from] MfcFault),
}
