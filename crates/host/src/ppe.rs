//! The PPE of a host: the thread that called `run`.

use std::cell::RefCell;
use std::fmt;
use std::panic::{Location, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use cellworks_machine::mailbox::{MailboxFull, Outbound};
use cellworks_machine::memory::Translation;
use cellworks_machine::mfc::EffectiveAddress;
use cellworks_machine::{
    AtomicError, AtomicOp, Cancelled, PpeCore, Processor, Program, SignalMode, SignalRegister,
    SpeId, Time, Topology, Wait, Waiting,
};

use crate::layout::{Layout, WorkerLayout};
use crate::parking::Woken;
use crate::run::{PPE_SEAT, Run, seat_of};
use crate::spe::{HostSpe, fetch_update};
use crate::worker::{Spin, Worker};

/// What a host does for its PPE.
pub struct HostPpe {
    run: Arc<Run>,
    workers: Vec<WorkerLayout>,
    worker_of: Vec<usize>,
    /// The OS threads that were started; a worker starts with its first program.
    started: RefCell<Vec<Option<JoinHandle<()>>>>,
    translation: Translation,
    /// The seat of the worker that has the same CPU, if one has.
    neighbour: Option<usize>,
}

impl HostPpe {
    pub(crate) fn new(run: Arc<Run>, layout: &Layout) -> Self {
        Self {
            translation: Translation::new(Arc::clone(&run.space)),
            run,
            workers: layout.workers.clone(),
            worker_of: layout.worker_of.clone(),
            started: RefCell::new(layout.workers.iter().map(|_| None).collect()),
            neighbour: layout.workers.iter().position(|w| w.with_ppe).map(seat_of),
        }
    }

    /// Waits until every program that was spawned has ended.
    pub(crate) fn wait_for_programs(&self, caller: &'static Location<'static>) {
        let programs = &self.run.programs;
        self.wait_at(&"the programs that it spawned to end", caller, &mut || {
            programs.load(Ordering::Acquire) == 0
        });
    }

    /// Waits until the workers, which were told that the run has ended, are gone.
    pub(crate) fn join_workers(&self) {
        for worker in self.started.borrow_mut().iter_mut() {
            if let Some(Err(payload)) = worker.take().map(JoinHandle::join) {
                // A worker catches the panics of programs: this one is ours.
                resume_unwind(payload);
            }
        }
    }

    fn wait_at(
        &self,
        why: &dyn fmt::Display,
        location: &'static Location<'static>,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        let run = &self.run;
        let spin = Spin::new(self.neighbour);
        loop {
            if ready() {
                return true;
            }
            if run.is_cancelled() {
                if std::thread::panicking() {
                    return false;
                }
                resume_unwind(Box::new(Cancelled));
            }
            if spin.again(&run.parking) {
                continue;
            }
            run.ppe_waits(Some(Waiting {
                who: Processor::Ppe.to_string(),
                what: why.to_string(),
                location,
            }));
            run.parking.prepare(PPE_SEAT);
            // `ready` may take what it finds, so it must not be asked again once it has said yes.
            let is_ready = ready();
            if is_ready || run.is_cancelled() {
                run.parking.resume(PPE_SEAT);
            } else if run.parking.park(PPE_SEAT) == Woken::EverybodySleeps {
                run.end_in_deadlock();
            }
            run.ppe_waits(None);
            if is_ready {
                return true;
            }
            spin.reset();
        }
    }
}

impl Wait for HostPpe {
    #[track_caller]
    fn wait_until(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        self.wait_at(why, Location::caller(), ready)
    }
}

impl PpeCore for HostPpe {
    type Spe = HostSpe;

    fn topology(&self) -> &Topology {
        &self.run.topology
    }

    fn now(&self) -> Time {
        self.run.now()
    }

    fn start(&self, at: SpeId, program: Program<HostSpe>) {
        let worker = self.worker_of[at.index()];
        let mut started = self.started.borrow_mut();
        if started[worker].is_none() {
            let layout = self.workers[worker].clone();
            let run = Arc::clone(&self.run);
            let thread = std::thread::Builder::new().name(format!("SPEs of CPU {}", layout.cpu));
            self.run.parking.admit();
            let handle = thread.spawn(move || Worker::live(run, seat_of(worker), layout));
            let handle = handle.unwrap_or_else(|error| {
                panic!("the system gives no thread for {at}: {error}; raise the limit (ulimit -u)")
            });
            started[worker] = Some(handle);
        }
        self.run.enqueue(at, program);
    }

    fn notify(&self, to: Processor) {
        self.run.notify(to);
    }

    fn try_write_in_mbox(&self, to: SpeId, word: u32) -> Result<(), MailboxFull> {
        self.run.write_in_mbox(to, word)
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

    fn send_signal(&self, to: SpeId, register: SignalRegister, bits: u32) {
        self.run.send_signal(to, register, bits);
    }

    fn set_signal_mode(&self, spe: SpeId, register: SignalRegister, mode: SignalMode) {
        self.run.words(spe).set_mode(register, mode);
    }

    fn fetch_update(&self, ea: EffectiveAddress, op: AtomicOp) -> Result<u32, AtomicError> {
        fetch_update(&self.translation, ea, op)
    }
}
