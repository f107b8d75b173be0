//! The SPE of a simulated machine, and the methods that SPE programs call.

// Rejected: a view that waits for its put when dropped. Instead, the MFC frees the buffer of a
// dropped view when the put is complete.

use std::cell::{Cell, OnceCell};
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::rc::Rc;

use cellworks_machine::mailbox::{MailboxFull, Outbound};
use cellworks_machine::mfc::{Direction, EffectiveAddress, LsAddr};
use cellworks_machine::{
    AtomicError, AtomicOp, CellSpe, Cycles, Decrementer, LocalBuffer, LocalStore, NewThread,
    ProblemStateRegister, Processor, RemoteWaker, RunId, SignalRegister, Sleeper, Spe, SpeCore,
    SpeId, StageError, StageRequest, StartThread, Time, Timebase, Topology, Wait, Wake,
};
use cellworks_threads as threads;

use crate::memory::{PAGE_BYTES, Used, Zeroed};
use crate::mfc::SimMfc;
use crate::observe::Cause;
use crate::processor::SimProcessor;
use crate::remote::remote_waker;
use crate::threads::OWNER;
use crate::time::{Femtoseconds, Moment};
use crate::words::{inbound_full, signal};
use crate::world::World;

/// The byte with which `stage_out` fills the buffer. A float of four such bytes is a NaN, which
/// shows that a program reads the float before writing it.
const UNWRITTEN: u8 = 0xff;

/// The alignment in bytes that DMA requires.
const QUADWORD_BYTES: usize = 16;

/// An SPE of a [`Sim`](crate::Sim).
pub struct SimSpe {
    id: SpeId,
    world: Rc<World>,
    processor: Rc<SimProcessor>,
    timebase: Timebase,
    local_store: LocalStore,
    mfc: SimMfc,
    decrementer: Cell<Decrementer>,
    /// The memory that holds the bytes of typed views, allocated for the first view. Raw DMA
    /// commands do not reach these bytes, although a view reserves addresses in `local_store`.
    views: OnceCell<Zeroed>,
}

/// The buffer of a view in the local store. When the view is dropped, the buffer is freed as soon
/// as its transfers are complete.
pub struct SimHold {
    world: Rc<World>,
    spe: SpeId,
    /// The buffer, which is `Some` until the `SimHold` is dropped.
    buffer: Option<LocalBuffer>,
    address: LsAddr,
    /// The id of the last transfer to or from the buffer.
    transfer: Cell<Option<u64>>,
}

impl Drop for SimHold {
    fn drop(&mut self) {
        if let (Some(buffer), Some(transfer)) = (self.buffer.take(), self.transfer.get()) {
            self.world.hold_buffer(self.spe, transfer, buffer);
        }
    }
}

impl SimSpe {
    pub(crate) fn new(
        id: SpeId,
        world: Rc<World>,
        timebase: Timebase,
        local_store: LocalStore,
    ) -> Self {
        let mfc = SimMfc::new(Rc::clone(&world), id, local_store.clone());
        let processor = Rc::clone(world.spe(id));
        let now = world.now_of(&processor);
        Self {
            id,
            world,
            processor,
            timebase,
            local_store,
            mfc,
            decrementer: Cell::new(Decrementer::set(0, now)),
            views: OnceCell::new(),
        }
    }

    /// Returns whether the SPE uses no local store and has no DMA command and no reservation.
    pub(crate) fn is_as_new(&self) -> bool {
        let mfc = self.world.mfcs.of(self.id).borrow();
        self.local_store.free_bytes() == self.local_store.bytes() && mfc.is_as_new()
    }

    fn processor(&self) -> &SimProcessor {
        &self.processor
    }

    fn views(&self) -> &Zeroed {
        self.views.get_or_init(|| {
            let bytes = self.local_store.bytes();
            let capacity = bytes.next_multiple_of(PAGE_BYTES);
            Zeroed::new(bytes, capacity, &Used::default()).unwrap_or_else(|error| {
                panic!(
                    "this computer has no memory for the views of {}: {error}",
                    self.id
                )
            })
        })
    }

    /// Waits until `take` returns a word, and spends the time of a channel access. `is_there` is
    /// true if `take` returns a word now.
    #[inline(always)]
    #[track_caller]
    fn receive(
        &self,
        cause: Cause,
        why: &dyn fmt::Display,
        is_there: bool,
        take: impl Fn(&Self) -> Option<u32>,
    ) -> u32 {
        let (world, processor, at) = (&self.world, self.processor(), Location::caller());
        let mut found = None;
        let mut ready = || {
            found = self.by_channel_in_condition(|| take(self), Option::is_some);
            found.is_some()
        };
        if is_there {
            world.wait_until(processor, cause, why, at, &mut ready);
        } else {
            world.wait_for_event(processor, cause, why, at, &mut ready);
        }
        found.unwrap_or_default()
    }

    /// Waits until `attempt` returns `Some`, and returns the value.
    #[track_caller]
    fn wait_for<R: Default>(
        &self,
        cause: Cause,
        why: &dyn fmt::Display,
        mut attempt: impl FnMut() -> Option<R>,
    ) -> R {
        let mut found = None;
        let at = Location::caller();
        self.world
            .wait_until(self.processor(), cause, why, at, &mut || {
                found = attempt();
                found.is_some()
            });
        found.unwrap_or_default()
    }

    /// Calls `act`, which accesses a channel, and spends the time of a channel access. In the
    /// `ready` closure of a wait, only an access that satisfies `came_true` takes time: the
    /// hardware stalls at the channel and accesses it once.
    fn by_channel<R>(&self, act: impl FnOnce() -> R, came_true: impl FnOnce(&R) -> bool) -> R {
        if !self.world.is_in_condition() {
            self.world.pass(self.processor(), self.world.costs.channel);
            return act();
        }
        self.by_channel_in_condition(act, came_true)
    }

    #[inline]
    fn by_channel_in_condition<R>(
        &self,
        act: impl FnOnce() -> R,
        came_true: impl FnOnce(&R) -> bool,
    ) -> R {
        let result = act();
        if came_true(&result) {
            self.world
                .add_lag(self.processor(), self.world.costs.channel);
        }
        result
    }

    #[inline]
    fn settle(&self) {
        self.world.settle(self.processor());
    }

    /// Writes to the inbound mailbox of `to`. Returns false if the mailbox is full.
    #[inline(always)]
    fn write_if_room(&self, to: &SimProcessor, word: u32) -> bool {
        self.settle();
        let has_room = to.words.keep_room();
        if has_room {
            self.send(to, ProblemStateRegister::InMbox, word);
        }
        has_room
    }

    /// Waits until the inbound mailbox of `to` has room, and writes to the mailbox.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn write_when_room(&self, to: &SimProcessor, word: u32) {
        let why = format_args!("room in the inbound mailbox of {}", to.id);
        let (processor, at) = (self.processor(), Location::caller());
        self.world
            .wait_until(processor, Cause::Mailbox, &why, at, &mut || {
                let written = self.write_if_room(to, word);
                if !written {
                    to.words.want_room(processor.index);
                }
                written
            });
    }

    /// Spends a cycle for a failed call, so that an endless loop ends at the time limit.
    fn refuse<E>(&self, error: E) -> E {
        self.world.compute(self.processor(), 1);
        error
    }

    /// Sends a word to a register of the SPE `to`. If `to` is the sender, the word arrives at once,
    /// because it does not use the bus.
    #[inline(always)]
    fn send(&self, to: &SimProcessor, register: ProblemStateRegister, word: u32) {
        let (world, processor) = (&self.world, self.processor());
        if to.index == processor.index && !world.is_in_condition() {
            return self.send_to_itself(register, word);
        }
        world.add_lag(processor, world.costs.issue);
        world.launch_word(processor, to, register, word, world.costs.start);
    }

    #[cold]
    #[inline(never)]
    fn send_to_itself(&self, register: ProblemStateRegister, word: u32) {
        let (world, processor) = (&self.world, self.processor());
        world.pass(processor, world.costs.issue);
        let resumed = world.deliver(processor, processor, register, word);
        world.resume_now(resumed);
    }

    /// Waits until the command queue of the MFC has room for a typed transfer. While a panic
    /// unwinds the thread, returns at once, so that the panic is reported without delay.
    fn wait_for_entry(&self, at: &'static Location<'static>) {
        if threads::is_unwinding() {
            return;
        }
        let world = &self.world;
        world.pass(self.processor(), world.costs.issue);
        if !world.has_free_entry(self.id) {
            let why = "a free entry in its MFC command queue";
            world.wait_until(self.processor(), Cause::Dma, &why, at, &mut || {
                world.has_free_entry(self.id)
            });
        }
    }

    fn line_of(&self, ea: EffectiveAddress) -> Result<EffectiveAddress, AtomicError> {
        if ea.0.is_multiple_of(4) {
            Ok(ea.lock_line())
        } else {
            Err(self.refuse(AtomicError::Misaligned { ea }))
        }
    }
}

impl Wait for SimSpe {
    #[track_caller]
    fn wait_until(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        let at = Location::caller();
        // A wait takes a cycle, so that an endless loop ends at the time limit.
        self.world.compute(self.processor(), 1);
        self.world
            .wait_until(self.processor(), Cause::Other, why, at, ready)
    }
}

impl Wake for SimSpe {
    fn run_id(&self) -> &RunId {
        &self.world.id
    }

    fn now(&self) -> Time {
        // Reading the clock takes a cycle, so that an endless loop ends at the time limit.
        self.world.compute(self.processor(), 1);
        self.world.now_of(self.processor())
    }

    fn set_task(&self, task: Option<String>) -> Option<String> {
        OWNER.set_task(task)
    }

    fn is_cancelled(&self) -> bool {
        threads::is_cancelled()
    }

    #[track_caller]
    fn notify(&self, to: Processor) {
        self.world.compute(self.processor(), 1);
        self.world.notify_by(self.processor(), self.world.named(to));
    }

    fn sleeper(&self) -> Sleeper {
        self.world.sleeper(self.processor())
    }

    fn outlast(&self, done: &mut dyn FnMut() -> bool) {
        OWNER.outlast(done);
    }

    fn wake_elsewhere(&self, sleeper: Sleeper) {
        let sleeper = self.world.named(sleeper.processor());
        self.world.notify_by(self.processor(), sleeper);
    }

    fn remote_waker(&self) -> RemoteWaker {
        remote_waker(&self.world)
    }

    #[track_caller]
    fn wait_until_deadline(
        &self,
        why: &dyn fmt::Display,
        deadline: Time,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        let at = Location::caller();
        let deadline = Moment::from(deadline);
        self.world.compute(self.processor(), 1);
        self.world
            .wait_until_deadline(self.processor(), why, at, deadline, ready)
    }
}

struct Starter<'scope, 'env> {
    spe: &'scope SimSpe,
    scope: &'scope threads::Scope<'scope, 'env>,
    left: &'scope Cell<usize>,
}

impl StartThread for Starter<'_, '_> {
    fn start(&self, thread: NewThread) {
        let (spe, left) = (self.spe, self.left);
        let (world, processor) = (&*spe.world, spe.processor());
        world.compute(processor, 1);
        if threads::is_cancelled() {
            // The thread is unwinding, and a destructor cannot start threads.
            return;
        }
        let NewThread { id, body, .. } = thread;
        left.set(left.get() + 1);
        let adopted = Rc::new(Cell::new(None));
        let adopts = Rc::clone(&adopted);
        let starter = OWNER.current();
        let named = self
            .scope
            .builder()
            .name(format!("{}, thread {}", spe.id, id.0));
        drop(named.spawn(move || {
            let me = world.adopt(processor, id.0 as u32 + 1);
            adopts.set(Some(me));
            OWNER.unpark_parked(starter);
            world.first_turn(me);
            let _end = EndOfThread {
                world,
                processor,
                left,
            };
            body();
        }));
        // The new thread runs until `first_turn` blocks it. The event loop wakes it later.
        OWNER.yield_now();
        while adopted.get().is_none() && !threads::is_cancelled() {
            // A yield in a destructor does not switch while a panic unwinds, but a wait does.
            OWNER.park(&"a new thread to begin");
        }
        adopted
            .get()
            .into_iter()
            .for_each(|new| world.make_ready(new));
    }
}

/// A guard that ends a cooperative thread of an SPE when dropped.
struct EndOfThread<'a> {
    world: &'a World,
    processor: &'a SimProcessor,
    left: &'a Cell<usize>,
}

impl Drop for EndOfThread<'_> {
    fn drop(&mut self) {
        self.left.set(self.left.get() - 1);
        if !threads::is_cancelled() {
            self.world.pass(self.processor, Femtoseconds::ZERO);
            self.world.end_thread(self.processor);
        }
    }
}

// SAFETY: `hold` returns a part of `views` that `local_store` has reserved for this hold alone. The
// bytes are initialised by `Zeroed` and live as long as the SPE, which views borrow. The methods
// copy the bytes before they return.
unsafe impl SpeCore for SimSpe {
    type Hold = SimHold;

    fn confined_to(&self) -> Option<&LocalStore> {
        Some(&self.local_store)
    }

    #[inline]
    fn activity_begins(&self, name: &str) {
        self.world.activity_begins(self.processor(), name);
    }

    fn set_place(&self, place: Option<&'static str>) -> Option<&'static str> {
        let processor = self.processor();
        let running = processor.running.get()?;
        processor.places.set((running.thread as usize, 0), place)
    }

    #[inline]
    fn activity_ends(&self) {
        self.world.activity_ends(self.processor());
    }

    fn window_begins(&self) {
        self.world.begin_window(self.processor());
    }

    fn window_ends(&self) {
        self.world.end_window(self.processor());
    }

    fn catch_up(&self) {
        self.settle();
    }

    fn run_threads(&self, at: &'static Location<'static>, main: &mut dyn FnMut(&dyn StartThread)) {
        let (world, processor) = (&*self.world, self.processor());
        // This comes first: if it panicked after threads have started, nothing would wait for them.
        world.assert_may_wait(processor);
        world.compute(processor, 1);
        let left = Cell::new(0);
        OWNER.scope_at(at, |scope| {
            let starter = Starter {
                spe: self,
                scope,
                left: &left,
            };
            // The end of the scope would block the SPE, so its threads could not end. Therefore
            // `wait_until`, which lets other threads of the SPE run, waits for the threads first.
            let ran = catch_unwind(AssertUnwindSafe(|| main(&starter)));
            let ended = catch_unwind(AssertUnwindSafe(|| {
                let why = ThreadsToEnd(&left);
                world.wait_until(processor, Cause::Other, &why, at, &mut || left.get() == 0);
            }));
            if let Err(panic) = ran.and(ended) {
                resume_unwind(panic);
            }
        });
    }

    unsafe fn hold(&self, request: StageRequest) -> Result<(NonNull<u8>, SimHold), StageError> {
        let StageRequest { memory, bytes, .. } = request;
        let align = request.align.max(QUADWORD_BYTES) as u32;
        let reserve = || {
            self.local_store
                .reserve_at(bytes, align, request.what, request.at)
        };
        let mut reserved = reserve();
        // The buffers of dropped views are freed when their transfers are complete.
        while reserved.is_err() && self.world.holds_buffers(self.id) {
            let before = self.local_store.free_bytes();
            let why = "room in its local store, of which views that were put back hold the rest";
            let waited =
                self.world
                    .wait_until(self.processor(), Cause::Dma, &why, request.at, &mut || {
                        self.local_store.free_bytes() > before
                    });
            if !waited {
                break;
            }
            reserved = reserve();
        }
        let buffer = reserved.map_err(|no_room| self.refuse(no_room))?;
        // SAFETY: `local_store` has reserved `bytes` bytes at the address of `buffer`, and `views`
        // has the size of the local store.
        let local = unsafe { self.views().base().add(buffer.address().0 as usize) };
        // SAFETY: the caller promises that `memory` is valid for reads of `bytes` bytes. `buffer`
        // reserves `bytes` bytes at `local`, which no other memory overlaps.
        unsafe {
            if request.fetch {
                local.copy_from_nonoverlapping(memory, bytes);
            } else {
                local.write_bytes(UNWRITTEN, bytes);
            }
        }
        let transfer = request.fetch.then(|| {
            self.wait_for_entry(request.at);
            self.world
                .begin_typed(self.id, Direction::Get, buffer.address(), bytes)
        });
        let hold = SimHold {
            world: Rc::clone(&self.world),
            spe: self.id,
            address: buffer.address(),
            buffer: Some(buffer),
            transfer: Cell::new(transfer),
        };
        Ok((local, hold))
    }

    #[track_caller]
    fn arrived(&self, hold: &SimHold) {
        if let Some(transfer) = hold.transfer.get() {
            let (world, at) = (&self.world, Location::caller());
            let why = "a view to arrive in its local store";
            world.wait_until(self.processor(), Cause::Dma, &why, at, &mut || {
                world.typed_is_complete(self.id, transfer)
            });
        }
    }

    #[track_caller]
    unsafe fn put_back(
        &self,
        hold: &SimHold,
        local: NonNull<u8>,
        memory: NonNull<u8>,
        bytes: usize,
    ) {
        // SAFETY: the caller promises that `memory` is valid for writes, and that `local` is the
        // buffer of this hold, which overlaps no other memory.
        unsafe { memory.copy_from_nonoverlapping(local, bytes) };
        if !threads::is_cancelled() {
            self.wait_for_entry(Location::caller());
            let (put, lsa) = (Direction::Put, hold.address);
            let transfer = self.world.begin_typed(self.id, put, lsa, bytes);
            hold.transfer.set(Some(transfer));
        }
    }

    #[track_caller]
    fn departed(&self) {
        let (world, at) = (&self.world, Location::caller());
        let why = "what it put back to leave its local store";
        world.wait_until(self.processor(), Cause::Dma, &why, at, &mut || {
            world.typed_puts_are_complete(self.id)
        });
    }
}

impl Spe for SimSpe {
    fn id(&self) -> SpeId {
        self.id
    }

    fn topology(&self) -> &Topology {
        &self.world.topology
    }

    fn compute(&self, cycles: Cycles) {
        // Even `compute(0)` takes a cycle, so that an endless loop ends at the time limit.
        let cycles = cycles.0.clamp(1, self.world.costs.spu_cycles_max);
        self.world.compute(self.processor(), cycles);
    }

    #[track_caller]
    fn yield_now(&self) {
        self.world.yield_now(self.processor(), Location::caller());
    }

    fn yield_ready(&self) {
        self.world.yield_ready(self.processor());
    }

    fn free_stack_bytes(&self) -> usize {
        threads::free_stack_bytes().expect("programs of SPEs have stacks of their own")
    }
}

impl CellSpe for SimSpe {
    type Mfc = SimMfc;

    fn timebase(&self) -> Timebase {
        self.timebase
    }

    fn decrementer(&self) -> u32 {
        self.by_channel(|| (), |()| true);
        let now = self.world.now_of(self.processor());
        self.decrementer.get().read(now, self.timebase)
    }

    fn set_decrementer(&self, value: u32) {
        self.by_channel(|| (), |()| true);
        let now = self.world.now_of(self.processor());
        self.decrementer.set(Decrementer::set(value, now));
    }

    fn mfc(&self) -> &SimMfc {
        &self.mfc
    }

    fn local_store(&self) -> &LocalStore {
        &self.local_store
    }

    fn fetch_update(&self, ea: EffectiveAddress, op: AtomicOp) -> Result<u32, AtomicError> {
        let line = self.line_of(ea)?;
        let within = (ea.0 - line.0) as usize;
        loop {
            if !self.world.is_line_mapped(self.id, line) {
                return Err(self.refuse(AtomicError::NotMapped { ea }));
            }
            let reserve = || self.world.reserve_line(self.id, line);
            let bytes = self.mfc.fetch_line(line, reserve);
            let mut bytes = bytes.ok_or(AtomicError::NotMapped { ea })?;
            let word = &mut bytes[within..within + 4];
            let before = u32::from_ne_bytes(word.try_into().expect("a word has 4 bytes"));
            if !op.stores(before) {
                return Ok(before);
            }
            word.copy_from_slice(&op.apply(before).to_ne_bytes());
            self.mfc.claim_line(line);
            if self.world.store_reserved_line(self.id, line, &bytes) == Some(true) {
                return Ok(before);
            }
        }
    }

    fn load_word(&self, ea: EffectiveAddress) -> Result<u32, AtomicError> {
        let line = self.line_of(ea)?;
        if !self.world.is_line_mapped(self.id, line) {
            return Err(self.refuse(AtomicError::NotMapped { ea }));
        }
        let load = || {
            let mfc = self.world.mfcs.of(self.id).borrow();
            mfc.translation
                .with(ea, 4, |block, offset, _| block.load_u32(offset))
        };
        self.mfc
            .fetch_line(line, load)
            .ok_or(AtomicError::NotMapped { ea })
    }

    fn in_mbox_count(&self) -> usize {
        self.by_channel(|| self.processor.words.inbound_count(), |_| false)
    }

    fn out_mbox_room(&self, mailbox: Outbound) -> usize {
        let room = || usize::from(!self.processor.words.has_outbound(mailbox));
        self.by_channel(room, |_| false)
    }

    fn has_signal(&self, register: SignalRegister) -> bool {
        self.by_channel(|| self.processor.words.has_signal(register), |_| false)
    }

    fn try_read_in_mbox(&self) -> Option<u32> {
        self.by_channel(|| self.world.take_inbound(&self.processor), Option::is_some)
    }

    fn try_write_out_mbox(&self, mailbox: Outbound, word: u32) -> Result<(), MailboxFull> {
        let put = || {
            if self.world.put_outbound(self.processor(), mailbox, word) {
                Ok(())
            } else {
                Err(MailboxFull {
                    spe: self.id,
                    mailbox: mailbox.name(),
                    word,
                })
            }
        };
        self.by_channel(put, Result::is_ok)
    }

    #[track_caller]
    fn try_write_in_mbox_of(&self, to: SpeId, word: u32) -> Result<(), MailboxFull> {
        if self.write_if_room(self.world.spe(to), word) {
            return Ok(());
        }
        Err(self.refuse(inbound_full(to, word)))
    }

    #[track_caller]
    fn write_in_mbox_of(&self, to: SpeId, word: u32) {
        let to = self.world.spe(to);
        if !self.write_if_room(to, word) {
            self.write_when_room(to, word);
        }
    }

    fn try_read_signal(&self, register: SignalRegister) -> Option<u32> {
        self.by_channel(
            || self.processor.words.take_signal(register),
            Option::is_some,
        )
    }

    #[track_caller]
    fn send_signal(&self, to: SpeId, register: SignalRegister, bits: u32) {
        let to = self.world.spe(to);
        self.settle();
        self.send(to, signal(register), bits);
    }

    #[track_caller]
    fn read_in_mbox(&self) -> u32 {
        let is_there = self.processor.words.inbound_count() > 0;
        let why = "a word in its inbound mailbox";
        let take = |spe: &Self| spe.world.take_inbound(spe.processor());
        self.receive(Cause::Mailbox, &why, is_there, take)
    }

    #[track_caller]
    fn write_out_mbox(&self, mailbox: Outbound, word: u32) {
        let why = format_args!("the PPE to empty its {}", mailbox.name());
        self.wait_for(Cause::Mailbox, &why, || {
            self.try_write_out_mbox(mailbox, word).ok()
        });
    }

    #[track_caller]
    fn read_signal(&self, register: SignalRegister) -> u32 {
        let why = format_args!("a signal in its {register}");
        let is_there = self.processor.words.has_signal(register);
        let take = |spe: &Self| spe.processor.words.take_signal(register);
        self.receive(Cause::Signal, &why, is_there, take)
    }
}

/// The text of a wait for child threads, with the number of those that have not ended.
struct ThreadsToEnd<'a>(&'a Cell<usize>);

impl fmt::Display for ThreadsToEnd<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.get() {
            1 => write!(f, "1 thread of its scope to end"),
            n => write!(f, "{n} threads of its scope to end"),
        }
    }
}
