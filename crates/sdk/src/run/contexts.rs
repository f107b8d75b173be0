//! The contexts of a run: SPE programs as `libspe2` knows them, each on an SPE of the machine.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use cellworks_machine::mailbox::{INBOUND_WORDS, MailboxStatus, Outbound};
use cellworks_machine::mfc::{CommandFault, RawCommand, TagMask};
use cellworks_machine::{
    CellMachine, CellSpe, Handle, Machine, Ppe, SignalMode, SignalRegister, SpeId, TryIssueError,
};

use super::address::{PROBLEM_STATE_BYTES, Shown};
use super::code::Code;
use super::failure::Failure;
use super::guest::{Guest, Outside, element};
use super::imports::{Question, proxy};
use super::memory::{PAGE_BYTES, SharedMemory};
use super::program::Program;
use super::spu::{self, Arguments, EXIT, Exception, SpuRun, Stop};
use super::surroundings::Surroundings;

/// Error numbers of Linux, which `libspe2.c` stores in `errno`, negative.
mod errno {
    pub(super) const SRCH: i32 = -3;
    pub(super) const NOEXEC: i32 = -8;
    pub(super) const AGAIN: i32 = -11;
    pub(super) const NOMEM: i32 = -12;
    pub(super) const INVAL: i32 = -22;
    pub(super) const NOTSUP: i32 = -95;
}

/// The flags of `spe_context_create` that matter here.
mod flag {
    pub(super) const SIGNAL_1_OR: u32 = 0x10;
    pub(super) const SIGNAL_2_OR: u32 = 0x20;
    pub(super) const EVENTS: u32 = 0x1000;
}

/// The flag of `spe_context_run` in `libspe2.c` with which a stopped program begins again.
const FROM_THE_START: u32 = 0x1_0000;

/// The events of `spe_event_wait`.
mod event {
    pub(super) const OUT_INTR_MBOX: u32 = 1;
    pub(super) const IN_MBOX: u32 = 2;
    pub(super) const TAG_GROUP: u32 = 4;
    pub(super) const SPE_STOPPED: u32 = 8;
}

/// The context of a unit of `wait_events` that is a word of memory (`libspe2.c`).
pub(super) const A_WORD: u32 = u32::MAX;

/// The reasons of a stop, and the codes of two of them.
mod reason {
    pub(super) const EXIT: u32 = 1;
    pub(super) const STOP_AND_SIGNAL: u32 = 2;
    pub(super) const RUNTIME_ERROR: u32 = 3;
    pub(super) const RUNTIME_EXCEPTION: u32 = 4;
    pub(super) const HALT: u32 = 0x04;
    pub(super) const DMA_ALIGNMENT: u32 = 0x08;
    pub(super) const DMA_STORAGE: u32 = 0x40;
    pub(super) const INVALID_INSTRUCTION: u32 = 0x20;
}

/// An SPE program that is loaded, or runs, or has stopped.
struct Context<'scope, M: Machine> {
    /// Its SPE, if it has one. It keeps it until another context needs it to run.
    spe: Option<SpeId>,
    /// What it has of an SPE without having one.
    saved: Saved,
    /// When it was used last, as a number that grows.
    used: u64,
    flags: u32,
    code: Option<Arc<Code<spu::State>>>,
    /// The program between two runs, after a stop after which it can go on.
    stopped: Option<SpuRun>,
    running: Option<Handle<'scope, (SpuRun, Stop), M>>,
    /// The register `SPU_Status` while no program runs.
    status: u32,
    /// The stops that `spe_stop_info_read` has not returned, the first one first.
    stops: VecDeque<(u32, u32)>,
    /// The tag groups of proxy commands that were issued and not reported.
    proxy_tags: u32,
    /// What was stored to the registers of proxy commands.
    proxy: ProxyRegisters,
    local_store_at: Option<u32>,
    problem_state_at: Option<u32>,
}

/// The registers of the proxy command that comes next, and of the query for tag groups.
#[derive(Clone, Copy, Default)]
struct ProxyRegisters {
    lsa: u32,
    eal: u32,
    size: u32,
    tag: u32,
    query_mask: u32,
}

/// The state of a context that has no SPE, as an operating system saves it.
#[derive(Default)]
struct Saved {
    in_mbox: VecDeque<u32>,
    /// Words that the PPE has not read, of the outbound and the outbound interrupt mailbox. They
    /// stay here when the context has an SPE again.
    out: [VecDeque<u32>; 2],
    signals: [Option<u32>; 2],
    /// The local store, unless all of it is 0, or memory of the PPU has it (`spe_ls_area_get`).
    local_store: Option<Vec<u8>>,
    /// The only SPE on which its program can go on after a stop: the code knows the memory.
    home: Option<SpeId>,
}

/// The contexts that a program can have at one time. Each may need memory for its local store.
const CONTEXTS: usize = 1_024;

/// All contexts of a run.
pub(super) struct Contexts<'scope, 'env, M: Machine> {
    surroundings: &'env Surroundings,
    local_stores: &'env [SharedMemory],
    guests: Vec<Guest>,
    contexts: Vec<Option<Context<'scope, M>>>,
    /// The contexts that wait for an SPE to run on, the first one first.
    queue: Vec<u32>,
    /// The SPEs to which the PPE has sent signals that their programs may not have read.
    signaled: HashSet<SpeId>,
    /// The SPEs on which programs have run.
    used: BTreeSet<SpeId>,
    uses: u64,
    /// The addresses of all areas of registers that there were.
    registers: HashSet<u32>,
    /// Programs that were loaded already, by their bytes.
    programs: HashMap<Vec<u8>, Arc<Code<spu::State>>>,
}

/// The result of a question: a number, or nothing as long as it has to wait.
type Result_ = Result<Option<i32>, Outside>;

impl<'scope, 'env, M: CellMachine> Contexts<'scope, 'env, M> {
    pub(super) fn new(
        surroundings: &'env Surroundings,
        local_stores: &'env [SharedMemory],
        guests: Vec<Guest>,
    ) -> Self {
        Self {
            surroundings,
            local_stores,
            guests,
            contexts: Vec::new(),
            queue: Vec::new(),
            signaled: HashSet::new(),
            used: BTreeSet::new(),
            uses: 0,
            registers: HashSet::new(),
            programs: HashMap::new(),
        }
    }

    /// Returns whether a program of a context has not stopped.
    pub(super) fn are_running(&self) -> bool {
        self.contexts
            .iter()
            .flatten()
            .any(|context| context.running.is_some())
    }

    /// Returns the SPEs on which programs have run.
    pub(super) fn into_used(self) -> BTreeSet<SpeId> {
        self.used
    }

    /// Returns the SPE on which the program of a context runs.
    pub(super) fn runs_at(&self, context: u32) -> Option<SpeId> {
        let context = self.contexts.get(context as usize)?.as_ref()?;
        let running = context.running.as_ref()?;
        context.spe.filter(|_| !running.is_finished())
    }

    /// Returns the SPE of a context.
    pub(super) fn spe_of(&self, context: u32) -> Option<SpeId> {
        self.contexts.get(context as usize)?.as_ref()?.spe
    }

    /// Returns the SPEs, or the only one, that a context without an SPE can have, with the context
    /// that has it now. It is none that runs or has commands of the PPE in its queue.
    fn place_for(
        &self,
        context: u32,
        ppe: &'scope Ppe<'scope, 'env, M>,
    ) -> Option<(SpeId, Option<usize>)> {
        let home = self.contexts[context as usize].as_ref()?.saved.home;
        let spes = ppe.topology().spes();
        let holders = spes
            .filter(|spe| home.is_none_or(|home| home == *spe))
            .map(|spe| {
                let holds = |one: &Option<Context<'scope, M>>| {
                    one.as_ref().is_some_and(|one| one.spe == Some(spe))
                };
                (spe, self.contexts.iter().position(holds))
            });
        let idle = holders.filter_map(|(spe, holder)| {
            let Some(index) = holder else {
                return Some((0, spe, holder));
            };
            let context = self.contexts[index].as_ref()?;
            let is_idle = context.running.is_none() && ppe.incomplete_proxy_tags(spe).is_empty();
            is_idle.then_some((context.used, spe, holder))
        });
        // A free one, or the one that was not used for the longest time.
        let first = idle.min_by_key(|(used, ..)| *used);
        first.map(|(_, spe, holder)| (spe, holder))
    }

    /// Returns whether a question has to wait for an SPE, or nothing if it needs none or the
    /// context has one.
    pub(super) fn waits_for_spe(
        &self,
        question: Question,
        ppe: &'scope Ppe<'scope, 'env, M>,
    ) -> Option<bool> {
        let (Question::ContextRun { context, .. }
        | Question::Mfcio { context, .. }
        | Question::ProxyCommand { context, .. }) = question
        else {
            return None;
        };
        let one = self.contexts.get(context as usize)?.as_ref()?;
        one.spe
            .is_none()
            .then(|| self.place_for(context, ppe).is_none())
    }

    /// Gives a context an SPE to run on, and returns whether there is one. The contexts that wait
    /// for longer go first.
    fn acquire(
        &mut self,
        context: u32,
        ppe: &'scope Ppe<'scope, 'env, M>,
        memory: &SharedMemory,
        guest: &Guest,
    ) -> Result<bool, Failure> {
        let before = self.queue.iter().take_while(|one| **one != context);
        let is_next = !{ before }.any(|one| self.place_for(*one, ppe).is_some());
        if self.spe_of(context).is_some() {
            if is_next {
                self.queue.retain(|one| *one != context);
                return Ok(true);
            }
            self.release(context, ppe, memory, guest)?;
        }
        let place = is_next.then(|| self.place_for(context, ppe)).flatten();
        let Some((spe, holder)) = place else {
            if !self.queue.contains(&context) {
                self.queue.push(context);
            }
            return Ok(false);
        };
        if let Some(holder) = holder {
            self.release(holder as u32, ppe, memory, guest)?;
        }
        self.settle(context, spe, ppe, memory, guest)?;
        self.queue.retain(|one| *one != context);
        Ok(true)
    }

    /// Takes the words and signals that no program has read from an idle SPE.
    fn drained(
        &mut self,
        spe: SpeId,
        ppe: &'scope Ppe<'scope, 'env, M>,
    ) -> Result<(VecDeque<u32>, [Option<u32>; 2]), Failure> {
        self.signaled.remove(&spe);
        let name = "words that are left";
        let handle = ppe.spawn_named(spe, name, |spe: &M::Spe| {
            let words = std::iter::from_fn(|| spe.try_read_in_mbox()).collect();
            let registers = [SignalRegister::One, SignalRegister::Two];
            (
                words,
                registers.map(|register| spe.try_read_signal(register)),
            )
        });
        handle.join().map_err(Failure::Panic)
    }

    /// Takes the SPE of a context that does not run, and saves what the context has there.
    fn release(
        &mut self,
        index: u32,
        ppe: &'scope Ppe<'scope, 'env, M>,
        memory: &SharedMemory,
        guest: &Guest,
    ) -> Result<(), Failure> {
        let Some(spe) = self.spe_of(index) else {
            return Ok(());
        };
        let (in_mbox, signals) = self.drained(spe, ppe)?;
        let addresses = &self.surroundings.shared.addresses;
        let local_store = &self.guests[spe.index()];
        let bytes = local_store.0.bytes();
        let content = local_store.bytes(0, bytes).expect("it is all of it");
        let context = self.contexts[index as usize]
            .as_mut()
            .expect("it has an SPE");
        let saved = &mut context.saved;
        (saved.in_mbox, saved.signals) = (in_mbox, signals);
        for (mailbox, words) in [Outbound::Plain, Outbound::Interrupt]
            .into_iter()
            .zip(&mut saved.out)
        {
            words.extend(std::iter::from_fn(|| ppe.try_read_out_mbox(spe, mailbox)));
        }
        saved.local_store = match context.local_store_at {
            None => Some(content),
            Some(at) => {
                addresses.hide(at);
                let shown = memory.show_own(at as usize, bytes);
                shown.map_err(|error| Failure::Memory(error.to_string()))?;
                guest
                    .set_bytes(at, &content)
                    .expect("the window is in the memory");
                None
            }
        };
        if let Some(at) = context.problem_state_at {
            addresses.show(at, PROBLEM_STATE_BYTES, Shown::Nothing);
        }
        saved.home = context.stopped.is_some().then_some(spe);
        context.spe = None;
        Ok(())
    }

    /// Gives a context a free SPE, with what was saved.
    fn settle(
        &mut self,
        index: u32,
        spe: SpeId,
        ppe: &'scope Ppe<'scope, 'env, M>,
        memory: &SharedMemory,
        guest: &Guest,
    ) -> Result<(), Failure> {
        // Another context may have left words there.
        let status = ppe.mailbox_status(spe);
        if status.inbound_room < INBOUND_WORDS || self.signaled.contains(&spe) {
            self.drained(spe, ppe)?;
        }
        for (mailbox, words) in [
            (Outbound::Plain, status.outbound),
            (Outbound::Interrupt, status.outbound_interrupt),
        ] {
            for _ in 0..words {
                ppe.try_read_out_mbox(spe, mailbox);
            }
        }
        let addresses = &self.surroundings.shared.addresses;
        let local_store = &self.guests[spe.index()];
        let bytes = local_store.0.bytes();
        let context = self.contexts[index as usize].as_mut().expect("it is there");
        let saved = &mut context.saved;
        for (at, (register, bit)) in [
            (SignalRegister::One, flag::SIGNAL_1_OR),
            (SignalRegister::Two, flag::SIGNAL_2_OR),
        ]
        .into_iter()
        .enumerate()
        {
            let mode = if context.flags & bit != 0 {
                SignalMode::Or
            } else {
                SignalMode::Overwrite
            };
            ppe.set_signal_mode(spe, register, mode);
            if let Some(word) = saved.signals[at].take() {
                ppe.send_signal(spe, register, word);
                self.signaled.insert(spe);
            }
        }
        while let Some(word) = saved.in_mbox.pop_front() {
            if ppe.try_write_in_mbox(spe, word).is_err() {
                unreachable!("the mailbox was emptied, and no more words than its room are saved");
            }
        }
        let content = match context.local_store_at {
            Some(at) => guest.bytes(at, bytes).ok(),
            None => saved.local_store.take(),
        };
        // What was never written need not be cleared: `ProgramLoad` does it.
        if let Some(content) = content {
            local_store.set_bytes(0, &content).expect("it is all of it");
        }
        if let Some(at) = context.local_store_at {
            let shown = memory.show(&self.local_stores[spe.index()], at as usize);
            shown.map_err(|error| Failure::Memory(error.to_string()))?;
            let shown = Shown::LocalStore(self.surroundings.local_stores[spe.index()]);
            addresses.show(at, bytes as u32, shown);
        }
        if let Some(at) = context.problem_state_at {
            addresses.show(at, PROBLEM_STATE_BYTES, Shown::ProblemState(spe));
        }
        context.spe = Some(spe);
        Ok(())
    }

    /// Returns the state of the mailboxes of a context.
    fn status(context: &Context<'scope, M>, ppe: &'scope Ppe<'scope, 'env, M>) -> MailboxStatus {
        let Saved { in_mbox, out, .. } = &context.saved;
        let mut status = match context.spe {
            Some(spe) => ppe.mailbox_status(spe),
            None => MailboxStatus {
                inbound_room: INBOUND_WORDS - in_mbox.len(),
                outbound: 0,
                outbound_interrupt: 0,
            },
        };
        status.outbound += out[0].len();
        status.outbound_interrupt += out[1].len();
        status
    }

    /// Returns the status register that a question is about, if it is about one of a context.
    pub(super) fn status_word(
        &self,
        question: Question,
        ppe: &'scope Ppe<'scope, 'env, M>,
    ) -> Option<u32> {
        let (Question::MboxStatus { context } | Question::StatusLoad { context }) = question else {
            return None;
        };
        let context = self.contexts.get(context as usize)?.as_ref()?;
        Some(match question {
            Question::StatusLoad { .. } if context.running.is_some() => 1,
            Question::StatusLoad { .. } => context.status,
            _ => packed(Self::status(context, ppe)),
        })
    }

    /// Returns the question about a context that is meant by one about the address of a register.
    pub(super) fn meant(&self, question: Question) -> Question {
        let (at, word) = match question {
            Question::LoadRegister { at } => (at, None),
            Question::StoreRegister { at, word } => (at, Some(word)),
            other => return other,
        };
        let contexts = (0..).zip(&self.contexts);
        let found = contexts.filter_map(|(context, one)| {
            let offset = at.checked_sub(one.as_ref()?.problem_state_at?)?;
            (offset < PROBLEM_STATE_BYTES).then_some((context, offset))
        });
        let area = at & !(PROBLEM_STATE_BYTES - 1);
        match { found }.next() {
            Some((context, offset)) => Question::of_register(context, offset, word),
            None if self.registers.contains(&area) => Question::NoRegister {
                context: None,
                offset: at - area,
                stores: word.is_some(),
            },
            None => question,
        }
    }

    /// Returns whether a context has words that the PPE has not read.
    pub(super) fn has_words(&self, context: u32, ppe: &'scope Ppe<'scope, 'env, M>) -> bool {
        let context = self.contexts.get(context as usize).and_then(Option::as_ref);
        let status = context.map(|context| Self::status(context, ppe));
        status.is_some_and(|status| status.outbound + status.outbound_interrupt > 0)
    }

    fn get(&mut self, context: u32) -> Option<&mut Context<'scope, M>> {
        self.contexts.get_mut(context as usize)?.as_mut()
    }

    /// Answers a question about a context, if it can be answered now.
    pub(super) fn serve(
        &mut self,
        question: Question,
        ppe: &'scope Ppe<'scope, 'env, M>,
        memory: &SharedMemory,
        guest: &Guest,
    ) -> Result<Result_, Failure> {
        let done = |number: i32| Ok(Ok(Some(number)));
        match question {
            Question::ContextCreate { flags } => {
                let used = |spe: SpeId| {
                    self.contexts
                        .iter()
                        .flatten()
                        .any(|one| one.spe == Some(spe))
                };
                let free_spe = ppe.topology().spes().find(|spe| !used(*spe));
                let context = Context {
                    spe: None,
                    saved: Saved::default(),
                    used: 0,
                    flags,
                    code: None,
                    stopped: None,
                    running: None,
                    status: 0,
                    stops: VecDeque::new(),
                    proxy_tags: 0,
                    proxy: ProxyRegisters::default(),
                    local_store_at: None,
                    problem_state_at: None,
                };
                let free = self.contexts.iter().position(Option::is_none);
                if free.is_none() && self.contexts.len() == CONTEXTS {
                    return done(errno::NOMEM);
                }
                let index = free.unwrap_or_else(|| {
                    self.contexts.push(None);
                    self.contexts.len() - 1
                });
                self.contexts[index] = Some(context);
                if let Some(spe) = free_spe {
                    self.settle(index as u32, spe, ppe, memory, guest)?;
                }
                done(index as i32)
            }
            Question::CpuInfo { what, node } => {
                let topology = ppe.topology();
                let of = |node: usize| {
                    let cell = topology.cells().nth(node)?;
                    Some(topology.spes_of(cell).count())
                };
                let number = match (what, node) {
                    (1, -1) => Some(topology.cells().len()),
                    (2 | 3, -1) => Some(topology.spes().len()),
                    (2 | 3, 0..) => of(node as usize),
                    // A PowerXCell or a Cell. Descriptions of machines do not say it.
                    (4, -1..) => Some(1 + usize::from(topology.name() == "qs22")),
                    _ => None,
                };
                done(number.map_or(errno::INVAL, |number| number as i32))
            }
            Question::ProgramCheck { image, bytes } => {
                Ok(guest.bytes(image, bytes as usize).map(|image| {
                    Some(
                        self.code(image, "spe_image_open")
                            .map_or(errno::INVAL, |_| 0),
                    )
                }))
            }
            Question::ContextDestroy { context }
            | Question::ProgramLoad { context, .. }
            | Question::ContextRun { context, .. }
            | Question::StopInfoRead { context, .. }
            | Question::MboxStatus { context }
            | Question::InMboxWrite { context, .. }
            | Question::OutMboxRead { context, .. }
            | Question::OutIntrMboxRead { context, .. }
            | Question::SignalWrite { context, .. }
            | Question::Mfcio { context, .. }
            | Question::MfcioStatus { context, .. }
            | Question::ProxyStore { context, .. }
            | Question::ProxyCommand { context, .. }
            | Question::ProxyCommandStatus { context }
            | Question::ProxyTagStatus { context }
            | Question::OutMboxLoad { context }
            | Question::InMboxStore { context, .. }
            | Question::StatusLoad { context }
            | Question::ShowLocalStore { context, .. }
            | Question::ShowProblemState { context, .. } => {
                if self.get(context).is_none() {
                    return done(errno::SRCH);
                }
                self.of_context(context, question, ppe, memory, guest)
            }
            other => unreachable!("{other:?} is about no context"),
        }
    }

    /// Returns the program in `image`, or says that `function` failed.
    fn code(&mut self, image: Vec<u8>, function: &str) -> Option<Arc<Code<spu::State>>> {
        if let Some(code) = self.programs.get(&image) {
            return Some(Arc::clone(code));
        }
        match self.surroundings.spu_code(&image) {
            Ok(code) => {
                let code = Arc::new(code);
                self.programs.insert(image, Arc::clone(&code));
                Some(code)
            }
            Err(error) => {
                self.surroundings
                    .say(&format!("{function} failed: {error}"));
                None
            }
        }
    }

    fn of_context(
        &mut self,
        index: u32,
        question: Question,
        ppe: &'scope Ppe<'scope, 'env, M>,
        memory: &SharedMemory,
        guest: &Guest,
    ) -> Result<Result_, Failure> {
        let surroundings = self.surroundings;
        let done = |number: i32| Ok(Ok(Some(number)));
        let context = self.contexts[index as usize]
            .as_mut()
            .expect("the caller has looked");
        self.uses += 1;
        context.used = self.uses;
        let spe = context.spe;
        match question {
            Question::ContextDestroy { .. } => {
                if context.running.is_some() {
                    return done(errno::AGAIN);
                }
                let local_store = self.guests[0].0.bytes();
                for (at, bytes) in [
                    (context.local_store_at, local_store),
                    (context.problem_state_at, PROBLEM_STATE_BYTES as usize),
                ] {
                    if let Some(at) = at {
                        surroundings.shared.addresses.hide(at);
                        let _ = memory.show_own(at as usize, bytes);
                    }
                }
                self.contexts[index as usize] = None;
                self.queue.retain(|one| *one != index);
                done(0)
            }
            Question::ProgramLoad { image, bytes, .. } => {
                if context.running.is_some() {
                    return done(errno::AGAIN);
                }
                let image = match guest.bytes(image, bytes as usize) {
                    Ok(image) => image,
                    Err(outside) => return Ok(Err(outside)),
                };
                let Some(code) = self.code(image, "spe_program_load") else {
                    return done(errno::NOEXEC);
                };
                let context = self.contexts[index as usize].as_mut().expect("it is there");
                let (wanted, there) = (code.program.memory_bytes(), self.guests[0].0.bytes());
                if wanted != there {
                    surroundings.say(&format!(
                        "spe_program_load failed: the program was linked for a local store of {wanted} bytes, and this one \
                         has {there}"
                    ));
                    return done(errno::NOEXEC);
                }
                let content = loaded(&code.program);
                let written = match (spe, context.local_store_at) {
                    (Some(spe), _) => self.guests[spe.index()].set_bytes(0, &content),
                    (None, Some(at)) => guest.set_bytes(at, &content),
                    (None, None) => {
                        context.saved.local_store = Some(content);
                        Ok(())
                    }
                };
                written.expect("the program was linked for this local store");
                (context.code, context.stopped, context.saved.home) = (Some(code), None, None);
                done(0)
            }
            Question::ContextRun {
                flags,
                argument,
                environment,
                stop,
                ..
            } => {
                if let Some(handle) = &context.running {
                    if !handle.is_finished() {
                        return Ok(Ok(None));
                    }
                    let handle = context.running.take().expect("it was there");
                    let (run, stop_) = handle.join().map_err(Failure::Panic)?;
                    return self.stopped(index, run, stop_, stop, guest);
                }
                if context.stopped.is_none() && context.code.is_none() {
                    surroundings.say(
                        "spe_context_run failed: the context has no program (spe_program_load)",
                    );
                    return done(errno::INVAL);
                }
                if !self.acquire(index, ppe, memory, guest)? {
                    return Ok(Ok(None));
                }
                let context = self.contexts[index as usize].as_mut().expect("it is there");
                let spe = context.spe.expect("it has one now");
                if flags & FROM_THE_START != 0 {
                    context.stopped = None;
                }
                let run = match context.stopped.take() {
                    Some(run) => run,
                    None => {
                        let code = context.code.as_ref().expect("it was there");
                        let numbers = |flags: u32| -> Result<Arguments, Outside> {
                            if flags & 1 == 0 {
                                let id = 0x1000 + u64::from(index);
                                return Ok(Arguments::Numbers([
                                    id,
                                    argument.into(),
                                    environment.into(),
                                ]));
                            }
                            let register = |at: u32| -> Result<u128, Outside> {
                                let (high, low) =
                                    (guest.u64(at)?, guest.u64(at.saturating_add(8))?);
                                Ok(u128::from(high) << 64 | u128::from(low))
                            };
                            let registers = [
                                register(argument)?,
                                register(argument.saturating_add(16))?,
                                register(argument.saturating_add(32))?,
                            ];
                            Ok(Arguments::Registers(registers))
                        };
                        let arguments = match numbers(flags) {
                            Ok(arguments) => arguments,
                            Err(outside) => return Ok(Err(outside)),
                        };
                        SpuRun::new(
                            code,
                            &self.local_stores[spe.index()],
                            self.guests[spe.index()].clone(),
                            &surroundings.shared,
                            arguments,
                        )
                    }
                };
                let name = "program of a context";
                let handle = ppe.spawn_named(spe, name, move |spe: &M::Spe| {
                    let mut run = run;
                    let stop = run.go(spe);
                    (run, stop)
                });
                context.running = Some(handle);
                self.used.insert(spe);
                Ok(Ok(None))
            }
            Question::StopInfoRead { stop, .. } => {
                // Without events nothing is ever noted.
                if context.flags & flag::EVENTS == 0 {
                    return done(errno::NOTSUP);
                }
                let Some((reason, code)) = context.stops.pop_front() else {
                    return done(errno::AGAIN);
                };
                Ok(guest
                    .set_u32(stop, reason)
                    .and_then(|()| guest.set_u32(stop.saturating_add(4), code))
                    .map(|()| Some(0)))
            }
            Question::MboxStatus { .. } => {
                let status = Self::status(context, ppe);
                if status.outbound == 0 && status.outbound_interrupt == 0 {
                    // A program that polls must not keep its SPEs from running.
                    ppe.yield_now();
                }
                done(packed(status) as i32)
            }
            Question::StatusLoad { .. } => {
                if context.running.is_some() {
                    ppe.yield_now();
                }
                let status = self.status_word(question, ppe);
                done(status.expect("it is about a status") as i32)
            }
            Question::OutMboxLoad { .. } => {
                let word = Self::next_word(ppe, context, Outbound::Plain);
                if word.is_none() {
                    ppe.yield_now();
                }
                done(word.unwrap_or(0) as i32)
            }
            // On a Cell a word in the full mailbox would be lost.
            Question::InMboxStore { word, .. } => {
                let is_written = Self::put_word(ppe, context, word);
                Ok(Ok(is_written.then_some(0)))
            }
            Question::InMboxWrite {
                words,
                count,
                behavior,
                ..
            } => Ok(Self::write_in_mbox(
                context, ppe, guest, words, count, behavior,
            )),
            Question::OutMboxRead { words, count, .. } => Ok(Self::read(
                ppe,
                context,
                Outbound::Plain,
                guest,
                words,
                count,
                3,
            )),
            Question::OutIntrMboxRead {
                words,
                count,
                behavior,
                ..
            } => Ok(Self::read(
                ppe,
                context,
                Outbound::Interrupt,
                guest,
                words,
                count,
                behavior,
            )),
            Question::SignalWrite { register, word, .. } => {
                let (at, register, mode) = match register {
                    1 => (0, SignalRegister::One, flag::SIGNAL_1_OR),
                    2 => (1, SignalRegister::Two, flag::SIGNAL_2_OR),
                    _ => return done(errno::INVAL),
                };
                match spe {
                    Some(spe) => {
                        ppe.send_signal(spe, register, word);
                        self.signaled.insert(spe);
                    }
                    None => {
                        let before = context.saved.signals[at].unwrap_or(0);
                        let kept = if context.flags & mode != 0 { before } else { 0 };
                        context.saved.signals[at] = Some(kept | word);
                    }
                }
                done(0)
            }
            Question::Mfcio {
                opcode,
                lsa,
                ea,
                size,
                tag,
                ..
            } => {
                let command = RawCommand {
                    opcode,
                    lsa,
                    ea: ea.into(),
                    size,
                    tag,
                };
                self.issue_proxy(index, command, "spe_mfcio failed", ppe, memory, guest)
            }
            Question::ProxyStore { offset, word, .. } => {
                let proxy = &mut context.proxy;
                match offset {
                    proxy::LSA => proxy.lsa = word,
                    proxy::EAL => proxy.eal = word,
                    proxy::SIZE_TAG => (proxy.size, proxy.tag) = (word >> 16, word & 0xffff),
                    proxy::QUERY_MASK => proxy.query_mask = word,
                    // Whether an interrupt comes, which the program does not see.
                    _ => {}
                }
                done(0)
            }
            Question::ProxyCommand { command, .. } => {
                let proxy = context.proxy;
                let command = RawCommand {
                    opcode: command & 0xffff,
                    lsa: proxy.lsa,
                    ea: proxy.eal.into(),
                    size: proxy.size,
                    tag: proxy.tag,
                };
                self.issue_proxy(index, command, "MFC_ClassID_CMD", ppe, memory, guest)
            }
            // A command waits for room in the queue.
            Question::ProxyCommandStatus { .. } => done(0),
            Question::ProxyTagStatus { .. } => {
                let incomplete = spe.map_or(0, |spe| ppe.incomplete_proxy_tags(spe).bits());
                let complete = context.proxy.query_mask & !incomplete;
                context.proxy_tags &= !complete;
                done(complete as i32)
            }
            Question::MfcioStatus {
                mask,
                behavior,
                status,
                ..
            } => {
                let mask = if mask == 0 { context.proxy_tags } else { mask };
                let incomplete = spe.map_or(0, |spe| ppe.incomplete_proxy_tags(spe).bits());
                let complete = mask & !incomplete;
                let is_enough = match behavior {
                    1 => complete == mask,
                    2 => complete != 0 || mask == 0,
                    3 => true,
                    _ => return done(errno::INVAL),
                };
                if !is_enough {
                    return Ok(Ok(None));
                }
                context.proxy_tags &= !complete;
                Ok(guest.set_u32(status, complete).map(|()| Some(0)))
            }
            Question::ShowLocalStore { at, .. } => {
                if let Some(at) = context.local_store_at {
                    return done(at as i32);
                }
                let bytes = self.guests[0].0.bytes();
                if !at.is_multiple_of(PAGE_BYTES as u32) || at as usize + bytes > memory.bytes() {
                    return done(0);
                }
                match spe {
                    Some(spe) => {
                        let local_store = &self.local_stores[spe.index()];
                        if memory.show(local_store, at as usize).is_err() {
                            return done(0);
                        }
                        let shown = Shown::LocalStore(surroundings.local_stores[spe.index()]);
                        let addresses = &surroundings.shared.addresses;
                        addresses.show(at, bytes as u32, shown);
                    }
                    None => {
                        let content = context.saved.local_store.take();
                        let content = content.unwrap_or_else(|| vec![0; bytes]);
                        guest
                            .set_bytes(at, &content)
                            .expect("the window is in the memory");
                    }
                }
                context.local_store_at = Some(at);
                done(at as i32)
            }
            Question::ShowProblemState { at, .. } => {
                if let Some(at) = context.problem_state_at {
                    return done(at as i32);
                }
                let end = u64::from(at) + u64::from(PROBLEM_STATE_BYTES);
                if !at.is_multiple_of(PROBLEM_STATE_BYTES) || end > memory.bytes() as u64 {
                    return done(0);
                }
                let shown = spe.map_or(Shown::Nothing, Shown::ProblemState);
                let addresses = &surroundings.shared.addresses;
                addresses.show(at, PROBLEM_STATE_BYTES, shown);
                context.problem_state_at = Some(at);
                self.registers.insert(at);
                done(at as i32)
            }
            other => unreachable!("{other:?} was answered before"),
        }
    }

    /// Issues a proxy command when the context has an SPE and there is room for it. If it is
    /// refused, a message says so, which begins with `what`.
    fn issue_proxy(
        &mut self,
        index: u32,
        command: RawCommand,
        what: &str,
        ppe: &'scope Ppe<'scope, 'env, M>,
        memory: &SharedMemory,
        guest: &Guest,
    ) -> Result<Result_, Failure> {
        if self.spe_of(index).is_none() && !self.acquire(index, ppe, memory, guest)? {
            return Ok(Ok(None));
        }
        let context = self.contexts[index as usize].as_mut().expect("it is there");
        let spe = context.spe.expect("it has one now");
        let addresses = &self.surroundings.shared.addresses;
        let local_store = &self.guests[spe.index()];
        let checked = command.check_proxy(local_store.0.bytes() as u32);
        let translated =
            checked.and_then(|checked| addresses.of_command(command, &checked, local_store));
        let issued = translated
            .map_err(|fault| {
                TryIssueError::Fault(CommandFault {
                    spe,
                    command,
                    fault,
                })
            })
            .and_then(|command| ppe.try_issue_proxy(spe, command));
        Ok(Ok(match issued {
            Ok(()) => {
                context.proxy_tags |= 1 << (command.tag & 31);
                Some(0)
            }
            Err(TryIssueError::Full) => None,
            Err(TryIssueError::Fault(refused)) => {
                let refused = addresses.in_program(refused);
                self.surroundings.say(&format!("{what}: {refused}"));
                Some(errno::INVAL)
            }
        }))
    }

    fn write_in_mbox(
        context: &mut Context<'scope, M>,
        ppe: &'scope Ppe<'scope, 'env, M>,
        guest: &Guest,
        words: u32,
        count: u32,
        behavior: u32,
    ) -> Result_ {
        // What there is room for: `libspe2.c` asks again for the rest. The machine wakes a program
        // that waits for room in a full mailbox, and not one that waits for more room.
        let room = Self::status(context, ppe).inbound_room as u32;
        let now = match behavior {
            1 | 2 if room == 0 => return Ok(None),
            1..=3 => count.min(room),
            _ => return Ok(Some(errno::INVAL)),
        };
        for index in 0..now {
            let word = guest.u32(element(words, 4, index))?;
            if !Self::put_word(ppe, context, word) {
                return Ok(Some(index as i32));
            }
        }
        Ok(Some(now as i32))
    }

    /// Puts a word in the inbound mailbox, and returns whether there was room.
    fn put_word(
        ppe: &'scope Ppe<'scope, 'env, M>,
        context: &mut Context<'scope, M>,
        word: u32,
    ) -> bool {
        match context.spe {
            Some(spe) => ppe.try_write_in_mbox(spe, word).is_ok(),
            None if context.saved.in_mbox.len() == INBOUND_WORDS => false,
            None => {
                context.saved.in_mbox.push_back(word);
                true
            }
        }
    }

    /// Takes the next word of an outbound mailbox.
    fn next_word(
        ppe: &'scope Ppe<'scope, 'env, M>,
        context: &mut Context<'scope, M>,
        mailbox: Outbound,
    ) -> Option<u32> {
        let saved = match mailbox {
            Outbound::Plain => &mut context.saved.out[0],
            Outbound::Interrupt => &mut context.saved.out[1],
        };
        let there = || ppe.try_read_out_mbox(context.spe?, mailbox);
        saved.pop_front().or_else(there)
    }

    fn read(
        ppe: &'scope Ppe<'scope, 'env, M>,
        context: &mut Context<'scope, M>,
        mailbox: Outbound,
        guest: &Guest,
        words: u32,
        count: u32,
        behavior: u32,
    ) -> Result_ {
        if !(1..=3).contains(&behavior) || count == 0 {
            return Ok(Some(errno::INVAL));
        }
        // The address is checked before the word is taken.
        guest.u32(words)?;
        match Self::next_word(ppe, context, mailbox) {
            Some(word) => guest.set_u32(words, word).map(|()| Some(1)),
            None if behavior == 3 => {
                ppe.yield_now();
                Ok(Some(0))
            }
            None => Ok(None),
        }
    }

    /// Notes the stop of a program, and returns the result of `spe_context_run`.
    fn stopped(
        &mut self,
        index: u32,
        run: SpuRun,
        stop: Stop,
        at: u32,
        guest: &Guest,
    ) -> Result<Result_, Failure> {
        let surroundings = self.surroundings;
        let context = self.contexts[index as usize].as_mut().expect("it has run");
        let spe = context.spe.expect("it has run on it");
        let has_events = context.flags & flag::EVENTS != 0;
        // CBEA s.8, SPU status register.
        context.status = match &stop {
            Stop::Code(code) => code << 16 | 0x2,
            Stop::Halt => 0x4,
            Stop::Fault { .. } => 0x20,
            Stop::Cancelled => 0,
        };
        let (result, reason, code) = match stop {
            Stop::Code(code) if code & 0x3f00 == EXIT => (0, reason::EXIT, code & 0xff),
            Stop::Code(code) => {
                context.stopped = Some(run);
                (code as i32, reason::STOP_AND_SIGNAL, code)
            }
            Stop::Halt => {
                context.stopped = Some(run);
                (-1, reason::RUNTIME_ERROR, reason::HALT)
            }
            // The machine unwinds the program of the PPE, too.
            Stop::Cancelled => return Ok(Ok(None)),
            Stop::Fault {
                why,
                place,
                exception,
            } => {
                let who = format!("{spe} (context {index})");
                let failure = Failure::Program { who, why, place };
                if !has_events {
                    return Err(failure);
                }
                surroundings.say(&failure.to_string());
                match exception {
                    Exception::DmaAlignment => {
                        (-1, reason::RUNTIME_EXCEPTION, reason::DMA_ALIGNMENT)
                    }
                    Exception::DmaStorage => (-1, reason::RUNTIME_EXCEPTION, reason::DMA_STORAGE),
                    Exception::Program => (-1, reason::RUNTIME_ERROR, reason::INVALID_INSTRUCTION),
                }
            }
        };
        let context = self.contexts[index as usize].as_mut().expect("it has run");
        if has_events {
            context.stops.push_back((reason, code));
        }
        if at != 0 {
            let written = guest
                .set_u32(at, reason)
                .and_then(|()| guest.set_u32(at.saturating_add(4), code));
            if let Err(outside) = written {
                return Ok(Err(outside));
            }
        }
        Ok(Ok(Some(result)))
    }

    /// Writes to each unit which of its events are there, and returns how many units have one.
    pub(super) fn events(
        &mut self,
        ppe: &'scope Ppe<'scope, 'env, M>,
        guest: &Guest,
        units: u32,
        count: u32,
    ) -> Result<u32, Outside> {
        let mut ready = 0;
        for unit in 0..count {
            let at = element(units, 12, unit);
            let (context, events) = (guest.u32(at)?, guest.u32(at.saturating_add(4))?);
            let found_at = at.saturating_add(8);
            if context == A_WORD {
                ready += u32::from(guest.u32(events)? != guest.u32(found_at)?);
                continue;
            }
            let mut found = 0;
            if let Some(context) = self.get(context) {
                if events & (event::OUT_INTR_MBOX | event::IN_MBOX) != 0 {
                    let status = Self::status(context, ppe);
                    if status.outbound_interrupt > 0 {
                        found |= events & event::OUT_INTR_MBOX;
                    }
                    if status.inbound_room > 0 {
                        found |= events & event::IN_MBOX;
                    }
                }
                if events & event::TAG_GROUP != 0 && context.proxy_tags != 0 {
                    let incomplete = context.spe.map(|spe| ppe.incomplete_proxy_tags(spe));
                    let mine = TagMask::from_bits(context.proxy_tags);
                    if incomplete.is_none_or(|incomplete| (mine & incomplete).is_empty()) {
                        found |= event::TAG_GROUP;
                    }
                }
                if !context.stops.is_empty() {
                    found |= events & event::SPE_STOPPED;
                }
            }
            guest.set_u32(found_at, found)?;
            ready += u32::from(found != 0);
        }
        Ok(ready)
    }
}

/// Returns the word of the mailbox status register (CBEA s.8.6.3).
fn packed(status: MailboxStatus) -> u32 {
    (status.outbound | status.inbound_room << 8 | status.outbound_interrupt << 16) as u32
}

/// Returns a local store with the data of a program, and zeros in the rest.
fn loaded(program: &Program) -> Vec<u8> {
    let mut content = vec![0; program.memory_bytes()];
    for (at, bytes) in program.data() {
        // `Program` has checked its data.
        content[at..at + bytes.len()].copy_from_slice(bytes);
    }
    content
}
