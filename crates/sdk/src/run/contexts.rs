//! The contexts of a run: SPE programs as `libspe2` knows them, each on an SPE of the machine.

use std::collections::HashMap;
use std::sync::Arc;

use cellworks_machine::mailbox::{INBOUND_WORDS, MailboxStatus, Outbound};
use cellworks_machine::mfc::{RawCommand, TagMask};
use cellworks_machine::{
    CellMachine, CellSpe, Handle, Machine, Ppe, SignalMode, SignalRegister, SpeId, TryIssueError,
};

use super::address::{PROBLEM_STATE_BYTES, Shown};
use super::code::Code;
use super::failure::Failure;
use super::guest::{Guest, Outside, element};
use super::imports::Question;
use super::memory::{PAGE_BYTES, SharedMemory};
use super::program::Program;
use super::spu::{self, Arguments, EXIT, Exception, Run, Stop};
use super::surroundings::Surroundings;

/// Error numbers of a C library of WASI, which `libspe2.c` stores in `errno`, negative.
mod errno {
    pub(super) const AGAIN: i32 = -6;
    pub(super) const INVAL: i32 = -28;
    pub(super) const NOEXEC: i32 = -45;
    pub(super) const SRCH: i32 = -71;
}

/// The flags of `spe_context_create` that matter here.
mod flag {
    pub(super) const SIGNAL_1_OR: u32 = 0x10;
    pub(super) const SIGNAL_2_OR: u32 = 0x20;
    pub(super) const EVENTS: u32 = 0x1000;
}

/// The events of `spe_event_wait`.
mod event {
    pub(super) const OUT_INTR_MBOX: u32 = 1;
    pub(super) const IN_MBOX: u32 = 2;
    pub(super) const TAG_GROUP: u32 = 4;
    pub(super) const SPE_STOPPED: u32 = 8;
}

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
    spe: SpeId,
    flags: u32,
    code: Option<Arc<Code<spu::State>>>,
    /// The program between two runs, after a stop after which it can go on.
    stopped: Option<Run>,
    running: Option<Handle<'scope, (Run, Stop), M>>,
    /// The words that another context has left in the inbound mailbox.
    stale: usize,
    /// The last stop, for `spe_stop_info_read`.
    info: Option<(u32, u32)>,
    /// The tag groups of proxy commands that were issued and not reported.
    proxy_tags: u32,
    local_store_at: Option<u32>,
    problem_state_at: Option<u32>,
}

/// All contexts of a run.
pub(super) struct Contexts<'scope, 'env, M: Machine> {
    surroundings: &'env Surroundings,
    local_stores: &'env [SharedMemory],
    guests: Vec<Guest>,
    contexts: Vec<Option<Context<'scope, M>>>,
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

    /// Returns the SPE of a context.
    pub(super) fn spe_of(&self, context: u32) -> Option<SpeId> {
        Some(self.contexts.get(context as usize)?.as_ref()?.spe)
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
                let used = |spe: SpeId| self.contexts.iter().flatten().any(|one| one.spe == spe);
                let spes = ppe.topology().spes();
                let count = spes.len();
                let Some(spe) = spes.into_iter().find(|spe| !used(*spe)) else {
                    return Err(Failure::TooManyContexts { spes: count });
                };
                for (register, bit) in [
                    (SignalRegister::One, flag::SIGNAL_1_OR),
                    (SignalRegister::Two, flag::SIGNAL_2_OR),
                ] {
                    let mode = if flags & bit != 0 {
                        SignalMode::Or
                    } else {
                        SignalMode::Overwrite
                    };
                    ppe.set_signal_mode(spe, register, mode);
                }
                let context = Context {
                    spe,
                    flags,
                    code: None,
                    stopped: None,
                    running: None,
                    stale: INBOUND_WORDS - ppe.mailbox_status(spe).inbound_room,
                    info: None,
                    proxy_tags: 0,
                    local_store_at: None,
                    problem_state_at: None,
                };
                let free = self.contexts.iter().position(Option::is_none);
                let index = free.unwrap_or_else(|| {
                    self.contexts.push(None);
                    self.contexts.len() - 1
                });
                self.contexts[index] = Some(context);
                done(index as i32)
            }
            Question::CpuInfo { what } => match what {
                1 => done(ppe.topology().cells().len() as i32),
                2 | 3 => done(ppe.topology().spes().len() as i32),
                _ => done(errno::INVAL),
            },
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
        let spe = context.spe;
        match question {
            Question::ContextDestroy { .. } => {
                if context.running.is_some() {
                    return done(errno::AGAIN);
                }
                for (at, bytes) in [
                    (
                        context.local_store_at,
                        self.local_stores[spe.index()].bytes(),
                    ),
                    (context.problem_state_at, PROBLEM_STATE_BYTES as usize),
                ] {
                    if let Some(at) = at {
                        surroundings.shared.addresses.hide(at);
                        let _ = memory.show_own(at as usize, bytes);
                    }
                }
                self.contexts[index as usize] = None;
                // The next context on this SPE must find its mailboxes empty.
                while ppe.try_read_out_mbox(spe, Outbound::Plain).is_some() {}
                while ppe.try_read_out_mbox(spe, Outbound::Interrupt).is_some() {}
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
                let code = match self.programs.get(&image) {
                    Some(code) => Arc::clone(code),
                    None => match surroundings.spu_code(&image) {
                        Ok(code) => {
                            let code = Arc::new(code);
                            self.programs.insert(image, Arc::clone(&code));
                            code
                        }
                        Err(error) => {
                            surroundings.say(&format!("spe_program_load failed: {error}"));
                            return done(errno::NOEXEC);
                        }
                    },
                };
                let context = self.contexts[index as usize].as_mut().expect("it is there");
                let local_store = &self.guests[spe.index()];
                let (wanted, there) = (code.program.memory_bytes(), local_store.0.bytes());
                if wanted != there {
                    surroundings.say(&format!(
                        "spe_program_load failed: the program was linked for a local store of {wanted} bytes, and this one \
                         has {there}"
                    ));
                    return done(errno::NOEXEC);
                }
                load(&code.program, local_store);
                (context.code, context.stopped) = (Some(code), None);
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
                let run = match context.stopped.take() {
                    Some(run) => run,
                    None => {
                        let Some(code) = &context.code else {
                            surroundings.say("spe_context_run failed: the context has no program (spe_program_load)");
                            return done(errno::INVAL);
                        };
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
                        Run::new(
                            code,
                            &self.local_stores[spe.index()],
                            self.guests[spe.index()].clone(),
                            &surroundings.shared,
                            arguments,
                        )
                    }
                };
                let stale = std::mem::take(&mut context.stale);
                let handle = ppe.spawn(spe, move |spe: &M::Spe| {
                    for _ in 0..stale {
                        spe.try_read_in_mbox();
                    }
                    let mut run = run;
                    let stop = run.go(spe);
                    (run, stop)
                });
                context.running = Some(handle);
                Ok(Ok(None))
            }
            Question::StopInfoRead { stop, .. } => {
                // Without events nothing is ever noted.
                if context.flags & flag::EVENTS == 0 {
                    return done(errno::INVAL);
                }
                let Some((reason, code)) = context.info.take() else {
                    return Ok(Ok(None));
                };
                Ok(guest
                    .set_u32(stop, reason)
                    .and_then(|()| guest.set_u32(stop.saturating_add(4), code))
                    .map(|()| Some(0)))
            }
            Question::MboxStatus { .. } => {
                let status = ppe.mailbox_status(spe);
                if status.outbound == 0 && status.outbound_interrupt == 0 {
                    // A program that polls must not keep its SPEs from running.
                    ppe.yield_now();
                }
                done(packed(status) as i32)
            }
            Question::InMboxWrite {
                words,
                count,
                behavior,
                ..
            } => Ok(self.write_in_mbox(spe, ppe, guest, words, count, behavior)),
            Question::OutMboxRead { words, count, .. } => Ok(Self::read(
                ppe,
                spe,
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
                spe,
                Outbound::Interrupt,
                guest,
                words,
                count,
                behavior,
            )),
            Question::SignalWrite { register, word, .. } => {
                let register = match register {
                    1 => SignalRegister::One,
                    2 => SignalRegister::Two,
                    _ => return done(errno::INVAL),
                };
                ppe.send_signal(spe, register, word);
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
                let addresses = &surroundings.shared.addresses;
                let local_store = &self.guests[spe.index()];
                let command = RawCommand {
                    opcode,
                    lsa,
                    ea: ea.into(),
                    size,
                    tag,
                };
                let checked = command.check_proxy(local_store.0.bytes() as u32);
                let translated = checked
                    .and_then(|checked| addresses.of_command(command, &checked, local_store));
                let issued = translated
                    .map_err(TryIssueError::Fault)
                    .and_then(|command| ppe.try_issue_proxy(spe, command));
                match issued {
                    Ok(()) => {
                        context.proxy_tags |= 1 << (tag & 31);
                        done(0)
                    }
                    Err(TryIssueError::Full) => Ok(Ok(None)),
                    Err(TryIssueError::Fault(fault)) => {
                        let fault = addresses.in_program(fault);
                        surroundings.say(&format!("spe_mfcio failed: {fault}"));
                        done(errno::INVAL)
                    }
                }
            }
            Question::MfcioStatus {
                mask,
                behavior,
                status,
                ..
            } => {
                let mask = if mask == 0 { context.proxy_tags } else { mask };
                let complete = mask & !ppe.incomplete_proxy_tags(spe).bits();
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
                let local_store = &self.local_stores[spe.index()];
                let is_new = context.local_store_at.is_none();
                if let Some(at) = context.local_store_at {
                    return done(at as i32);
                }
                if !at.is_multiple_of(PAGE_BYTES as u32)
                    || at as usize + local_store.bytes() > memory.bytes()
                    || !is_new
                    || memory.show(local_store, at as usize).is_err()
                {
                    return done(0);
                }
                let shown = Shown::LocalStore(surroundings.local_stores[spe.index()]);
                surroundings
                    .shared
                    .addresses
                    .show(at, local_store.bytes() as u32, shown);
                context.local_store_at = Some(at);
                done(at as i32)
            }
            Question::ShowProblemState { at, .. } => {
                if let Some(at) = context.problem_state_at {
                    return done(at as i32);
                }
                surroundings.shared.addresses.show(
                    at,
                    PROBLEM_STATE_BYTES,
                    Shown::ProblemState(spe),
                );
                context.problem_state_at = Some(at);
                done(at as i32)
            }
            other => unreachable!("{other:?} was answered before"),
        }
    }

    fn write_in_mbox(
        &mut self,
        spe: SpeId,
        ppe: &'scope Ppe<'scope, 'env, M>,
        guest: &Guest,
        words: u32,
        count: u32,
        behavior: u32,
    ) -> Result_ {
        // All words at once, or what there is room for, or wait.
        let room = ppe.mailbox_status(spe).inbound_room as u32;
        let now = match behavior {
            1 if room < count.min(INBOUND_WORDS as u32) => return Ok(None),
            2 if room == 0 => return Ok(None),
            1..=3 => count.min(room),
            _ => return Ok(Some(errno::INVAL)),
        };
        for index in 0..now {
            let word = guest.u32(element(words, 4, index))?;
            if ppe.try_write_in_mbox(spe, word).is_err() {
                return Ok(Some(index as i32));
            }
        }
        Ok(Some(now as i32))
    }

    fn read(
        ppe: &'scope Ppe<'scope, 'env, M>,
        spe: SpeId,
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
        match ppe.try_read_out_mbox(spe, mailbox) {
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
        run: Run,
        stop: Stop,
        at: u32,
        guest: &Guest,
    ) -> Result<Result_, Failure> {
        let surroundings = self.surroundings;
        let context = self.contexts[index as usize].as_mut().expect("it has run");
        let (spe, has_events) = (context.spe, context.flags & flag::EVENTS != 0);
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
            context.info = Some((reason, code));
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
            let mut found = 0;
            if let Some(context) = self.get(context) {
                if events & (event::OUT_INTR_MBOX | event::IN_MBOX) != 0 {
                    let status = ppe.mailbox_status(context.spe);
                    if status.outbound_interrupt > 0 {
                        found |= events & event::OUT_INTR_MBOX;
                    }
                    if status.inbound_room > 0 {
                        found |= events & event::IN_MBOX;
                    }
                }
                if events & event::TAG_GROUP != 0 && context.proxy_tags != 0 {
                    let incomplete = ppe.incomplete_proxy_tags(context.spe);
                    if (TagMask::from_bits(context.proxy_tags) & incomplete).is_empty() {
                        found |= event::TAG_GROUP;
                    }
                }
                if context.info.is_some() {
                    found |= events & event::SPE_STOPPED;
                }
            }
            guest.set_u32(at.saturating_add(8), found)?;
            ready += u32::from(found != 0);
        }
        Ok(ready)
    }
}

/// Returns the word of the mailbox status register (CBEA s.8.6.3).
pub(super) fn packed(status: MailboxStatus) -> u32 {
    (status.outbound | status.inbound_room << 8 | status.outbound_interrupt << 16) as u32
}

/// Puts the data of a program into a local store, and zeros into the rest.
fn load(program: &Program, local_store: &Guest) {
    let zeros = vec![0; program.memory_bytes()];
    local_store
        .set_bytes(0, &zeros)
        .expect("the program was linked for this local store");
    for (at, bytes) in program.data() {
        local_store
            .set_bytes(at as u32, bytes)
            .expect("`Program` has checked its data");
    }
}
