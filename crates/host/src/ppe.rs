//! The PPE of a host: the thread that called `run`.

// Rejected: spinning with `sched_yield` whenever the PPE shares a CPU with a worker, even if the
// worker is idle. An exchange between two other SPEs then took 1.5 us instead of 0.13 us.

use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cellworks_machine::mailbox::{MailboxFull, MailboxStatus, Outbound};
use cellworks_machine::memory::Translation;
use cellworks_machine::mfc::{EffectiveAddress, PROXY_QUEUE_ENTRIES, RawCommand, TagMask};
use cellworks_machine::{
    AtomicError, AtomicOp, Cancelled, CellPpeCore, Cycles, LocalStore, Outside, PpeCore, Processor,
    Program, RemoteWaker, RunId, SignalMode, SignalRegister, Sleeper, Span, SpeId, Time, Timebase,
    Topology, TryIssueError, Wait, Waiting, Wake, barrier,
};
use cellworks_threads::Patience;

use crate::crew::{Crew, Working};
use crate::engine::Engine;
use crate::layout::{Layout, WorkerLayout};
use crate::parking::{Parking, Woken};
use crate::programs::Programs;
use crate::run::{PPE_SEAT, Run, seat_of};
use crate::serve;
use crate::spe::{HostSpe, TIMEBASE, fetch_update};
use crate::worker::{OWNER, Spin};

/// The PPE of a host.
pub struct HostPpe {
    run: Arc<Run>,
    programs: Arc<Programs>,
    workers: Vec<WorkerLayout>,
    worker_of: Vec<usize>,
    crew: Arc<Crew>,
    /// The OS threads of the workers. Each begins when the first program is spawned on the worker.
    working: RefCell<Vec<Option<Working>>>,
    translation: Translation,
    /// The proxy queues of the SPEs' MFCs, each made when its first command is issued.
    proxies: Vec<OnceCell<Engine<PROXY_QUEUE_ENTRIES>>>,
    with_proxy: RefCell<Vec<SpeId>>,
    /// The SPEs that wake the PPE when their inbound mailbox has room, during a wait whose
    /// condition has looked at a full one.
    wanting_room: RefCell<Vec<SpeId>>,
    /// Whether the PPE waits. A condition for which the PPE waits must not call a waiting method.
    waiting: Cell<bool>,
    /// Measures how long the main program takes to end after a cancellation.
    patience: Patience,
    spin: Spin,
}

impl HostPpe {
    pub(crate) fn new(programs: Arc<Programs>, layout: &Layout, crew: Arc<Crew>) -> Self {
        let run = Arc::clone(programs.run());
        Self {
            programs,
            translation: Translation::new(Arc::clone(&run.space)),
            proxies: run.local_stores.iter().map(|_| OnceCell::new()).collect(),
            with_proxy: RefCell::default(),
            run,
            wanting_room: RefCell::default(),
            waiting: Cell::new(false),
            patience: Patience::new(),
            workers: layout.workers.clone(),
            worker_of: layout.worker_of.clone(),
            crew,
            working: RefCell::new(layout.workers.iter().map(|_| None).collect()),
            spin: Spin::new(layout.workers.iter().position(|w| w.with_ppe).map(seat_of)),
        }
    }

    #[track_caller]
    fn proxy(&self, spe: SpeId) -> &Engine<PROXY_QUEUE_ENTRIES> {
        self.run.of_spe(&self.proxies, spe).get_or_init(|| {
            let local_store = LocalStore::new(spe, self.run.local_stores[spe.index()].clone());
            self.with_proxy.borrow_mut().push(spe);
            Engine::new(Arc::clone(&self.run), "the MFC proxy queue", local_store)
        })
    }

    /// Retries the commands in the proxy queues that wait for room in a mailbox.
    fn advance_proxies(&self) {
        for &spe in &*self.with_proxy.borrow() {
            self.proxy(spe).advance();
        }
    }

    /// Waits until all programs have ended.
    pub(crate) fn wait_for_programs(&self, caller: &'static Location<'static>) {
        let programs = &self.run.programs;
        self.wait_at(
            &"the programs that it spawned to end",
            caller,
            None,
            &mut || programs.load(Ordering::Acquire) == 0,
        );
    }

    /// Waits until the workers have ended. Call [`Run::end`] before.
    pub(crate) fn join_workers(&self) {
        for (worker, working) in self.working.borrow_mut().iter_mut().enumerate() {
            if let Some(working) = working.take() {
                self.crew.end(worker, working);
            }
        }
    }

    fn wait_at(
        &self,
        why: &dyn fmt::Display,
        location: &'static Location<'static>,
        deadline: Option<Time>,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        let run = &self.run;
        self.spin.reset();
        let _waits = Waits::begin(self);
        let mut ready = || {
            self.advance_proxies();
            ready()
        };
        loop {
            // This check comes before `ready`, because unwinding programs may make the condition
            // true, and the main program must not continue then.
            if run.is_cancelled() {
                let who = "the main program on the PPE";
                if cellworks_threads::is_unwinding() {
                    self.patience.waits(&who, &|| run.running());
                    return ready();
                }
                self.patience.unwinds(&who, &|| run.running());
                resume_unwind(Box::new(Cancelled));
            }
            if ready() {
                return true;
            }
            let left = deadline.map(|deadline| deadline.since(run.now()));
            if left.is_some_and(|left| left == Span::default()) {
                return false;
            }
            if self.spin.again(&run.parking) {
                continue;
            }
            run.ppe_waits(Some(Waiting {
                who: Processor::Ppe.to_string(),
                thread: self.sleeper().thread(),
                what: why.to_string(),
                location,
                place: None,
                since: None,
            }));
            let prepared = Prepared::to_sleep(&run.parking);
            // `ready` must not be called again after it has returned true.
            let is_ready = ready();
            if is_ready || run.is_cancelled() {
                drop(prepared);
            } else if let Some(left) = left {
                prepared.sleep_for(left);
            } else if prepared.sleep() == Woken::AllSleep {
                run.end_in_deadlock();
            }
            run.ppe_waits(None);
            if is_ready {
                return true;
            }
            self.spin.reset();
        }
    }
}

/// Marks the PPE as waiting until this value is dropped.
struct Waits<'a>(&'a HostPpe);

impl<'a> Waits<'a> {
    fn begin(ppe: &'a HostPpe) -> Self {
        assert!(
            !ppe.waiting.replace(true),
            "the PPE waits within the condition of another wait; conditions must not wait"
        );
        Self(ppe)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let Self(ppe) = self;
        for spe in ppe.wanting_room.take() {
            ppe.run.words(spe).withdraw_writer();
        }
        ppe.waiting.set(false);
    }
}

/// A guard for the time after [`Parking::prepare`]. `drop` calls [`Parking::resume`], even if a
/// check panics.
struct Prepared<'a>(&'a Parking);

impl<'a> Prepared<'a> {
    fn to_sleep(parking: &'a Parking) -> Self {
        parking.prepare(PPE_SEAT);
        Self(parking)
    }

    fn sleep(self) -> Woken {
        std::mem::ManuallyDrop::new(self).0.park(PPE_SEAT)
    }

    fn sleep_for(self, time: Span) {
        std::mem::ManuallyDrop::new(self)
            .0
            .park_for(PPE_SEAT, time.into());
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        self.0.resume(PPE_SEAT);
    }
}

impl Wait for HostPpe {
    #[track_caller]
    fn wait_until(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        self.wait_at(why, Location::caller(), None, ready)
    }
}

impl Wake for HostPpe {
    fn run_id(&self) -> &RunId {
        &self.run.id
    }

    fn now(&self) -> Time {
        self.run.now()
    }

    fn is_cancelled(&self) -> bool {
        self.run.is_cancelled()
    }

    fn notify(&self, to: Processor) {
        self.run.notify(to);
    }

    fn sleeper(&self) -> Sleeper {
        // SAFETY: the PPE is no cooperative thread, so `Processor::Ppe` identifies the PPE.
        unsafe { Sleeper::new(Processor::Ppe, (0, 0)) }
    }

    fn would_poll(&self) -> bool {
        true
    }

    fn wait_briefly(&self) -> bool {
        self.spin.wait_briefly(&self.run.parking)
    }

    fn outlast(&self, done: &mut dyn FnMut() -> bool) {
        OWNER.outlast(done);
    }

    fn wake_elsewhere(&self, sleeper: Sleeper) {
        self.run.wake(sleeper);
    }

    fn remote_waker(&self) -> RemoteWaker {
        let run = Arc::clone(&self.run);
        RemoteWaker::new(move |sleeper| run.wake(sleeper))
    }

    #[track_caller]
    fn wait_until_deadline(
        &self,
        why: &dyn fmt::Display,
        deadline: Time,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        self.wait_at(why, Location::caller(), Some(deadline), ready)
    }
}

impl PpeCore for HostPpe {
    type Spe = HostSpe;

    fn topology(&self) -> &Topology {
        &self.run.topology
    }

    fn compute(&self, _: Cycles) {}

    fn are_spes_confined_to_local_store(&self) -> bool {
        self.run.strict
    }

    fn yield_now(&self) {
        self.spin.let_neighbour_run(&self.run.parking);
    }

    fn outside(&self) -> Option<Arc<dyn Outside>> {
        let run = Arc::clone(&self.run);
        (!run.strict).then_some(run as Arc<dyn Outside>)
    }

    fn start(&self, at: SpeId, program: Program<HostSpe>) {
        let worker = self.worker_of[at.index()];
        let mut working = self.working.borrow_mut();
        if working[worker].is_none() {
            let layout = self.workers[worker].clone();
            let programs = Arc::clone(&self.programs);
            let name = format!("SPEs of CPU {}", layout.cpu);
            let first_spe = layout.spes[0];
            let work = move || {
                let lived = catch_unwind(AssertUnwindSafe(|| {
                    serve::run_worker(&programs, seat_of(worker), layout);
                }));
                programs.run().worker_ended(first_spe, lived.err());
            };
            self.run.parking.admit();
            match self.crew.begin(worker, name, Box::new(work)) {
                Ok(begun) => working[worker] = Some(begun),
                Err(error) => {
                    self.run.parking.dismiss();
                    self.run.end_without_thread(at, error);
                }
            }
        }
        self.programs.enqueue(at, program);
    }
}

impl CellPpeCore for HostPpe {
    fn try_write_in_mbox(&self, to: SpeId, word: u32) -> Result<(), MailboxFull> {
        let written = self.run.write_in_mbox(to, word);
        // A condition that writes waits for room.
        if written.is_err() && self.mailbox_status(to).inbound_room > 0 {
            return self.run.write_in_mbox(to, word);
        }
        written
    }

    #[track_caller]
    fn write_in_mbox(&self, to: SpeId, word: u32) {
        self.run.wait_to_write_in_mbox(self, to, word);
    }

    fn try_read_out_mbox(&self, from: SpeId, mailbox: Outbound) -> Option<u32> {
        let word = self.run.words(from).read_out(mailbox);
        if word.is_some() {
            self.run.notify(Processor::Spe(from));
        }
        word
    }

    fn mailbox_status(&self, spe: SpeId) -> MailboxStatus {
        let words = self.run.words(spe);
        let mut inbound_room = words.in_room();
        let mut wanting_room = self.wanting_room.borrow_mut();
        if inbound_room == 0 && self.waiting.get() && !wanting_room.contains(&spe) {
            // From now on the SPE wakes the PPE when it reads a word. It may have read one before.
            words.announce_writer();
            barrier::heavy();
            wanting_room.push(spe);
            inbound_room = words.in_room();
        }
        MailboxStatus {
            outbound: words.has_out(Outbound::Plain).into(),
            inbound_room,
            outbound_interrupt: words.has_out(Outbound::Interrupt).into(),
        }
    }

    fn timebase(&self) -> Timebase {
        TIMEBASE
    }

    fn send_signal(&self, to: SpeId, register: SignalRegister, bits: u32) {
        self.run.send_signal(to, register, bits);
    }

    fn set_signal_mode(&self, spe: SpeId, register: SignalRegister, mode: SignalMode) {
        self.run.words(spe).set_mode(register, mode);
    }

    fn fetch_update(&self, ea: EffectiveAddress, op: AtomicOp) -> Result<u32, AtomicError> {
        fetch_update(&self.translation, ea, op)
    }

    #[track_caller]
    fn try_issue_proxy(&self, spe: SpeId, command: RawCommand) -> Result<(), TryIssueError> {
        let proxy = self.proxy(spe);
        let checked = command.check_proxy(proxy.local_store.bytes() as u32);
        match &checked {
            Ok(checked) => proxy.try_issue(checked, || None),
            Err(fault) => Err(proxy.refused(command, *fault).into()),
        }
    }

    #[track_caller]
    fn incomplete_proxy_tags(&self, spe: SpeId) -> TagMask {
        self.proxy(spe).incomplete_tags()
    }
}
