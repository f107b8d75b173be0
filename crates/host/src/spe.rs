//! An SPE of a host, as programs use it.

// Rejected: views in the part of a local store that DMA can reach, where a put of another SPE would
// race with the view. On a strict host the bytes of a view lie in other memory.
// Rejected: a `HostHold` that contains the `LocalBuffer` itself, not in a box. Staging moves the
// hold through several `Result`s, and each move copies the buffer.

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

use cellworks_machine::mailbox::{MailboxFull, Outbound};
use cellworks_machine::memory::Translation;
use cellworks_machine::mfc::EffectiveAddress;
use cellworks_machine::{
    AtomicError, AtomicOp, Cancelled, CellSpe, Cycles, Decrementer, LocalBuffer, LocalStore,
    NewThread, Processor, RemoteWaker, RunId, SignalRegister, Sleeper, Span, Spe, SpeCore, SpeId,
    StageError, StageRequest, StartThread, Time, Timebase, Topology, Wait, Wake,
};
use cellworks_threads as threads;

use crate::memory::Pages;
use crate::mfc::HostMfc;
use crate::run::Run;
use crate::worker::{OWNER, Worker};

pub(crate) const TIMEBASE: Timebase = Timebase::from_hertz(1_000_000_000);

/// The largest number of bytes that `hold` prefetches. The hardware prefetches the rest.
const PREFETCH_BYTES: usize = 4096;

/// The alignment of buffers in a local store.
const QUADWORD_BYTES: usize = 16;

/// The byte with which `stage_out` fills buffers on a strict host. Floats of these bytes are NaN,
/// so a program that reads before it writes computes wrong results.
const UNWRITTEN: u8 = 0xff;

/// An SPE of a [`Host`](crate::Host).
///
/// A type cannot be staged if its alignment is larger than 128 bytes, a line of the local store:
///
/// ```compile_fail,E0080
/// use cellworks_host::Host;
/// use cellworks_machine::{Machine, Spe, SpeId};
///
/// #[derive(Clone, Copy)]
/// #[repr(C, align(256))]
/// struct Page([u8; 256]);
/// unsafe impl bytemuck::Zeroable for Page {}
/// unsafe impl bytemuck::Pod for Page {}
///
/// let pages = [Page([0; 256]); 2];
/// Host::new().unwrap().run(|ppe| {
///     ppe.spawn(SpeId::new(0), |spe| spe.stage(&pages).unwrap().len()).join().unwrap()
/// });
/// ```
pub struct HostSpe {
    id: SpeId,
    worker: Rc<Worker>,
    local_store: LocalStore,
    mfc: HostMfc,
    decrementer: Cell<Decrementer>,
    /// The bytes of views on a strict host. DMA cannot reach this memory.
    views: Option<Pages>,
}

/// Reserves the bytes of a view in the local store of a strict host. Empty on other hosts.
#[derive(Debug)]
pub struct HostHold(
    /// The buffer is boxed to make a view small.
    Option<Box<LocalBuffer>>,
);

// On a host that is not strict, holds are empty, and a call to drop them would slow down staging.
impl Drop for HostHold {
    #[inline(always)]
    fn drop(&mut self) {
        #[cold]
        fn release(buffer: Option<Box<LocalBuffer>>) {
            drop(buffer);
        }
        if self.0.is_some() {
            release(self.0.take());
        }
    }
}

/// Changes a word atomically, under a lock if a processor has reserved the word's line.
#[inline]
pub(crate) fn fetch_update(
    translation: &Translation,
    ea: EffectiveAddress,
    op: AtomicOp,
) -> Result<u32, AtomicError> {
    if !ea.0.is_multiple_of(4) {
        return Err(AtomicError::Misaligned { ea });
    }
    translation
        .with(ea, 4, |block, offset, in_flight| {
            block.fetch_update(offset, op, in_flight)
        })
        .ok_or(AtomicError::NotMapped { ea })
}

impl HostSpe {
    pub(crate) fn new(id: SpeId, worker: Rc<Worker>) -> Self {
        let run = &worker.run;
        let local_store = LocalStore::new(id, run.local_stores[id.index()].clone());
        let views = run.strict.then(|| {
            Pages::new(local_store.bytes(), None).unwrap_or_else(|error| {
                panic!("the system gives no memory for the local store of {id}: {error}")
            })
        });
        Self {
            id,
            mfc: HostMfc::new(Rc::clone(&worker), local_store.clone()),
            decrementer: Cell::new(Decrementer::set(0, run.now())),
            worker,
            local_store,
            views,
        }
    }

    /// Returns whether the local store is unused, and the MFC has no command and no reservation.
    pub(crate) fn is_as_new(&self) -> bool {
        self.local_store.free_bytes() == self.local_store.bytes() && self.mfc.is_as_new()
    }

    fn run(&self) -> &Arc<Run> {
        &self.worker.run
    }

    /// Does the work of [`SpeCore::hold`] on a strict host. The fields of the request are separate
    /// arguments, so that hosts that are not strict do not write the request to memory.
    ///
    /// # Safety
    ///
    /// As for [`SpeCore::hold`].
    #[cold]
    #[inline(never)]
    unsafe fn hold_copy(
        &self,
        memory: NonNull<u8>,
        bytes: usize,
        align: usize,
        fetch: bool,
        what: &'static str,
        at: &'static Location<'static>,
    ) -> Result<(NonNull<u8>, HostHold), StageError> {
        let views = self.views.as_ref().expect("only a strict host copies");
        let align = align.max(QUADWORD_BYTES) as u32;
        let buffer = self.local_store.reserve_at(bytes, align, what, at)?;
        // SAFETY: `buffer` lies within the local store, and `views` is as large as the local store.
        let local = unsafe { views.base().add(buffer.address().0 as usize) };
        // SAFETY: `memory` is valid for reads of `bytes` bytes by the caller's promise. `local`
        // points to `bytes` bytes that are reserved for `buffer` and overlap no other memory.
        unsafe {
            if fetch {
                local.copy_from_nonoverlapping(memory, bytes);
            } else {
                local.write_bytes(UNWRITTEN, bytes);
            }
        }
        Ok((local, HostHold(Some(Box::new(buffer)))))
    }

    /// Does the work of [`SpeCore::hold_until_arrived`] if `take_turn_after` returns false.
    ///
    /// # Safety
    ///
    /// As for [`SpeCore::hold`].
    #[cold]
    #[inline(never)]
    unsafe fn hold_out_of_turn(
        &self,
        memory: NonNull<u8>,
        bytes: usize,
        align: usize,
        fetch: bool,
        what: &'static str,
        at: &'static Location<'static>,
    ) -> Result<(NonNull<u8>, HostHold), StageError> {
        let request = StageRequest {
            memory,
            bytes,
            align,
            fetch,
            what,
            at,
        };
        // SAFETY: the caller's promise.
        let held = unsafe { self.hold(request) }?;
        self.arrived_out_of_turn(&held.1);
        Ok(held)
    }

    /// Does the work of [`SpeCore::arrived`] if `take_turn` returns false.
    #[inline(always)]
    fn arrived_out_of_turn(&self, hold: &HostHold) {
        // Other threads run while the prefetched cache lines arrive.
        match hold.0 {
            None => OWNER.begin_turns(),
            // This branch is separate, so that the branch for `None` has no code to drop a buffer.
            Some(_) => self.worker.yield_now(),
        }
    }
}

struct Starter<'scope, 'env> {
    spe: &'scope HostSpe,
    scope: &'scope threads::Scope<'scope, 'env>,
}

impl StartThread for Starter<'_, '_> {
    fn start(&self, thread: NewThread) {
        let NewThread {
            id,
            stack_bytes,
            body,
        } = thread;
        let mut named = self
            .scope
            .builder()
            .name(format!("{}, thread {}", self.spe.id, id.0));
        if let Some(bytes) = stack_bytes {
            named = named.stack_bytes(bytes);
        }
        // If the system has no memory for a stack, the threads of the program may wait for what the
        // new one would have done. They are cancelled, because the program ends after them.
        let spawned = catch_unwind(AssertUnwindSafe(|| drop(named.spawn(body))));
        if let Err(panic) = spawned {
            self.spe.run().end_without_stack(self.spe.id, panic);
            resume_unwind(Box::new(Cancelled));
        }
    }
}

impl Wait for HostSpe {
    // This method is inlined, because the CPU mispredicts a return after a switch of stacks.
    #[track_caller]
    #[inline(always)]
    fn wait_until(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        if self.mfc.has_unsent() {
            return self.worker.wait_until(why, &mut || {
                self.mfc.advance();
                ready()
            });
        }
        self.worker.wait_until(why, ready)
    }
}

impl Wake for HostSpe {
    fn run_id(&self) -> &RunId {
        &self.run().id
    }

    fn now(&self) -> Time {
        self.run().now()
    }

    fn set_task(&self, task: Option<String>) -> Option<String> {
        OWNER.set_task(task)
    }

    fn is_cancelled(&self) -> bool {
        threads::is_cancelled()
    }

    #[track_caller]
    fn notify(&self, to: Processor) {
        self.run().notify(to);
    }

    #[inline(always)]
    fn sleeper(&self) -> Sleeper {
        self.worker.sleeper(self.id)
    }

    #[track_caller]
    #[inline(always)]
    fn wait_until_woken(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        if self.mfc.has_unsent() {
            return self.worker.wait_until_woken(why, &mut || {
                self.mfc.advance();
                ready()
            });
        }
        self.worker.wait_until_woken(why, ready)
    }

    #[inline(always)]
    fn would_poll(&self) -> bool {
        self.worker.would_poll()
    }

    #[inline(always)]
    fn would_poll_elsewhere(&self) -> bool {
        self.worker.has_few_pollers()
    }

    #[inline(always)]
    fn is_calling(&self, sleeper: Sleeper) -> bool {
        // SAFETY: as in `Worker::wake_here`.
        unsafe { threads::Thread::from_raw(sleeper.thread()) }.runs()
    }

    #[inline(always)]
    fn wake_here(&self, sleeper: Sleeper) -> bool {
        self.worker.wake_here(sleeper)
    }

    #[inline(always)]
    fn outlast(&self, done: &mut dyn FnMut() -> bool) {
        OWNER.outlast(done);
    }

    #[inline(always)]
    fn wake_elsewhere(&self, sleeper: Sleeper) {
        self.run().wake(sleeper);
    }

    fn remote_waker(&self) -> RemoteWaker {
        let run = Arc::clone(&self.worker.run);
        RemoteWaker::new(move |sleeper| run.wake(sleeper))
    }

    #[inline(always)]
    fn wait_briefly(&self) -> bool {
        self.worker.wait_briefly()
    }

    #[inline]
    fn is_last_check(&self) -> Option<bool> {
        Some(self.worker.is_prepared())
    }

    #[track_caller]
    fn wait_until_deadline(
        &self,
        why: &dyn fmt::Display,
        deadline: Time,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        if self.mfc.has_unsent() {
            return self.worker.wait_until_deadline(why, deadline, &mut || {
                self.mfc.advance();
                ready()
            });
        }
        self.worker.wait_until_deadline(why, deadline, ready)
    }
}

// SAFETY: on a host that is not strict, `hold` returns the memory of the request, which the
// caller's view borrows. On a strict host `hold` returns a part of `views` that is reserved only
// for this hold and lives as long as the SPE. This memory is initialised: by the caller's promise,
// or by the kernel. `run_threads` returns or unwinds only when all its threads have ended.
unsafe impl SpeCore for HostSpe {
    type Hold = HostHold;

    fn confined_to(&self) -> Option<&LocalStore> {
        self.views.is_some().then_some(&self.local_store)
    }

    fn run_threads(&self, at: &'static Location<'static>, main: &mut dyn FnMut(&dyn StartThread)) {
        OWNER.scope_at(at, |scope| {
            main(&Starter { spe: self, scope });
        });
    }

    #[inline(always)]
    unsafe fn hold(&self, request: StageRequest) -> Result<(NonNull<u8>, HostHold), StageError> {
        let StageRequest {
            memory,
            bytes,
            align,
            fetch,
            what,
            at,
        } = request;
        if self.views.is_some() {
            // SAFETY: the caller's promise.
            return unsafe { self.hold_copy(memory, bytes, align, fetch, what, at) };
        }
        if fetch {
            prefetch(memory, bytes);
        }
        Ok((memory, HostHold(None)))
    }

    #[inline(always)]
    fn arrived(&self, hold: &HostHold) {
        if !OWNER.take_turn() {
            self.arrived_out_of_turn(hold);
        }
    }

    #[inline(always)]
    unsafe fn hold_until_arrived(
        &self,
        request: StageRequest,
    ) -> Result<(NonNull<u8>, HostHold), StageError> {
        let StageRequest {
            memory,
            bytes,
            align,
            fetch,
            what,
            at,
        } = request;
        // Threads take turns (the rotating mode of cellworks-threads) only on hosts that are not
        // strict. If this call returns true, the host is not strict: the data stay in `memory`.
        // SAFETY: a prefetch calls no function of cellworks-threads.
        if unsafe { OWNER.take_turn_after(|| prefetch(memory, bytes)) } {
            return Ok((memory, HostHold(None)));
        }
        // SAFETY: the caller's promise.
        unsafe { self.hold_out_of_turn(memory, bytes, align, fetch, what, at) }
    }

    fn set_place(&self, place: Option<&'static str>) -> Option<&'static str> {
        self.worker.places.set(self.sleeper().thread(), place)
    }

    fn look_outside(&self) {
        self.worker.look_outside();
        OWNER.yield_now();
    }

    fn uninterrupted_span(&self) -> Option<Span> {
        if self.views.is_some() || threads::others_ready() || threads::is_cancelled() {
            return None;
        }
        // A worker with one busy SPE has two threads: the SPE's own, and the waiting main thread.
        let is_alone = threads::alive() == 2;
        Some(if is_alone { TURN_ALONE } else { TURN })
    }

    #[inline(always)]
    unsafe fn hold_in_place(
        &self,
        request: StageRequest,
    ) -> Result<(NonNull<u8>, HostHold), StageError> {
        Ok((request.memory, HostHold(None)))
    }

    #[inline]
    unsafe fn put_back(
        &self,
        hold: &HostHold,
        local: NonNull<u8>,
        memory: NonNull<u8>,
        bytes: usize,
    ) {
        if hold.0.is_some() {
            // SAFETY: by the caller's promise, `memory` may be written, and `local` is the buffer
            // of this hold, which overlaps no other memory.
            unsafe { memory.copy_from_nonoverlapping(local, bytes) };
        }
    }

    #[inline]
    fn departed(&self) {
        OWNER.yield_now();
    }
}

impl Spe for HostSpe {
    fn id(&self) -> SpeId {
        self.id
    }

    fn topology(&self) -> &Topology {
        &self.run().topology
    }

    fn compute(&self, _cycles: Cycles) {}

    #[inline]
    fn yield_now(&self) {
        self.worker.yield_now();
    }

    fn free_stack_bytes(&self) -> usize {
        threads::free_stack_bytes().expect("programs of SPEs have stacks of their own")
    }
}

impl CellSpe for HostSpe {
    type Mfc = HostMfc;

    fn timebase(&self) -> Timebase {
        TIMEBASE
    }

    fn decrementer(&self) -> u32 {
        self.decrementer.get().read(self.now(), TIMEBASE)
    }

    fn set_decrementer(&self, value: u32) {
        self.decrementer.set(Decrementer::set(value, self.now()));
    }

    #[inline]
    fn mfc(&self) -> &HostMfc {
        &self.mfc
    }

    fn local_store(&self) -> &LocalStore {
        &self.local_store
    }

    #[inline]
    fn fetch_update(&self, ea: EffectiveAddress, op: AtomicOp) -> Result<u32, AtomicError> {
        fetch_update(self.mfc.translation(), ea, op)
    }

    #[inline]
    fn load_word(&self, ea: EffectiveAddress) -> Result<u32, AtomicError> {
        if !ea.0.is_multiple_of(4) {
            return Err(AtomicError::Misaligned { ea });
        }
        self.mfc
            .translation()
            .with(ea, 4, |block, offset, _| block.load_u32(offset))
            .ok_or(AtomicError::NotMapped { ea })
    }

    fn in_mbox_count(&self) -> usize {
        self.run().words(self.id).in_count()
    }

    fn out_mbox_room(&self, mailbox: Outbound) -> usize {
        (!self.run().words(self.id).has_out(mailbox)).into()
    }

    fn has_signal(&self, register: SignalRegister) -> bool {
        self.run().words(self.id).has_signal(register)
    }

    #[inline]
    fn try_read_in_mbox(&self) -> Option<u32> {
        let words = self.run().words(self.id);
        let word = words.read_in();
        if word.is_some() && words.room_is_wanted() {
            self.run().parking.notify_all();
        }
        word
    }

    #[inline]
    fn try_write_out_mbox(&self, mailbox: Outbound, word: u32) -> Result<(), MailboxFull> {
        if self.run().words(self.id).write_out(mailbox, word) {
            self.run().notify(Processor::Ppe);
            Ok(())
        } else {
            Err(MailboxFull {
                spe: self.id,
                mailbox: mailbox.name(),
                word,
            })
        }
    }

    #[inline]
    fn try_write_in_mbox_of(&self, to: SpeId, word: u32) -> Result<(), MailboxFull> {
        self.run().write_in_mbox(to, word)
    }

    #[track_caller]
    #[inline]
    fn write_in_mbox_of(&self, to: SpeId, word: u32) {
        self.run().wait_to_write_in_mbox(self, to, word);
    }

    #[inline]
    fn try_read_signal(&self, register: SignalRegister) -> Option<u32> {
        self.run().words(self.id).read_signal(register)
    }

    #[inline]
    fn send_signal(&self, to: SpeId, register: SignalRegister, bits: u32) {
        self.run().send_signal(to, register, bits);
    }
}

const LINE_BYTES: usize = 64;

/// The longest time between two calls of [`Worker::look_outside`] in interleaved work.
const TURN: Span = Span::from_nanoseconds(100_000);
const TURN_ALONE: Span = Span::from_nanoseconds(100_000_000);

#[inline(always)]
fn prefetch(memory: NonNull<u8>, bytes: usize) {
    for line in (0..bytes.min(PREFETCH_BYTES)).step_by(LINE_BYTES) {
        prefetch_line(memory.as_ptr().wrapping_add(line));
    }
}

#[inline(always)]
fn prefetch_line(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch only affects the cache, whatever the address is.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}
