//! The SPU side: a program of C as a program of an SPE, whose channels are those of the machine.
//!
//! | channel | what it is here |
//! |---|---|
//! | 0 to 2, 11 | events: computed from the state of the SPE when they are read |
//! | 3, 4 | signals |
//! | 7, 8 | the decrementer |
//! | 16 to 21 | the six parts of a command; the last one issues it |
//! | 12, 22 to 24 | tag groups |
//! | 25, 26 | lists that stall |
//! | 27 | the result of an atomic command |
//! | 28 to 30 | mailboxes |
//!
//! Source: CBEA s.9, SPU Channel Map.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use cellworks_machine::mailbox::Outbound;
use cellworks_machine::mfc::{
    CommandFault, EffectiveAddress, LsAddr, MfcFault, Opcode, RawCommand, Tag, TagMask,
};
use cellworks_machine::{
    CellSpe, Cycles, LateFault, Mfc, SignalRegister, Time, TryIssueError, Wait,
};
use wasmtime::{Caller, Instance, Linker, Store, Val, ValType, WasmBacktrace};

use crate::format::STACK_END;

use super::address::Addresses;
use super::code::{Code, SLICE, Stack, describe};
use super::direct::{self, Used};
use super::engine::Pace;
use super::event;
use super::guest::Guest;
use super::link::{Answer, Link, Linked, ask};
use super::memory::{SharedMemory, next_instance_has};
use super::patience::{Deeds, Patience, note};
use super::shared::{LineWaits, Shared};
use super::slice::Slice;
use super::spin::Spin;
use super::turns;
use super::wasi::{self, Clock, HasWasi, Wasi};

/// What a program of an SPU asks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Question {
    Clock(Clock),
    /// Polls memory, in the loop that has this number.
    Poll(u32),
    Read(u32),
    Write(u32, u32),
    Count(u32),
    Command(RawCommand),
    /// Which of the tag groups are complete? Waits as the word for channel 23 says.
    Tags {
        mask: u32,
        update: u32,
    },
    Stop(u32),
    Halt,
}

impl From<Clock> for Question {
    fn from(clock: Clock) -> Self {
        Self::Clock(clock)
    }
}

/// The data of an instance.
pub(crate) struct State {
    link: Link<Question>,
    slice: Slice,
    wasi: Arc<Mutex<Wasi>>,
    memory: Guest,
    addresses: Arc<Addresses>,
    command: RawCommand,
    /// The last command that was issued without a question.
    last: Option<RawCommand>,
}

impl Linked for State {
    type Question = Question;
    fn poll(begun: u32) -> Question {
        Question::Poll(begun)
    }
    fn link(&self) -> &Link<Question> {
        &self.link
    }
    fn slice(&mut self) -> &mut Slice {
        &mut self.slice
    }
}

impl HasWasi for State {
    fn wasi(&self) -> &Mutex<Wasi> {
        &self.wasi
    }
    fn memory(&self) -> &Guest {
        &self.memory
    }
}

impl State {
    /// Writes to a channel that only this program sees, and returns true, if it is one.
    fn write_here(&mut self, channel: u32, word: u32) -> bool {
        match channel {
            16 => self.command.lsa = word,
            17 => self.command.ea = u64::from(word) << 32 | self.command.ea & 0xffff_ffff,
            18 => self.command.ea = self.command.ea & !0xffff_ffff | u64::from(word),
            19 => self.command.size = word,
            20 => self.command.tag = word,
            _ => return false,
        }
        true
    }
}

/// The words of a command, as an import is given them: the local store address, the high and the
/// low word of the effective address, the size, the tag and the opcode.
type CommandWords = (u32, u32, u32, u32, u32, u32);

fn command((lsa, eah, eal, size, tag, opcode): CommandWords) -> RawCommand {
    RawCommand {
        opcode,
        lsa,
        ea: u64::from(eah) << 32 | u64::from(eal),
        size,
        tag,
    }
}

/// Asks a question whose answer is a word.
async fn ask_word(caller: &mut Caller<'_, State>, question: Question) -> wasmtime::Result<u32> {
    ask(caller, question).await.map(|word| word as u32)
}

/// Adds the imports of the SPU side to a linker.
pub(crate) fn add_to(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wasi::add_to(linker)?;
    turns::add_to(linker, "spu")?;
    linker.func_wrap_async("spu", "rdch", |mut caller: Caller<'_, State>, (channel,): (u32,)| {
        Box::new(async move {
            // The program reads it here only if it has not written to channel 23.
            if channel == 24 {
                let why = "it reads the status of tag groups (channel 24), and no update was asked for \
                           (`mfc_write_tag_update`, channel 23), so the SPU would wait forever";
                return Err(super::link::Fault(why.to_owned()).into());
            }
            match direct::read(channel) {
                Some(word) => Ok(word),
                None => ask_word(&mut caller, Question::Read(channel)).await,
            }
        })
    })?;
    linker.func_wrap_async(
        "spu",
        "tags",
        |mut caller: Caller<'_, State>, (mask, update): (u32, u32)| {
            Box::new(async move {
                match direct::tags(mask, update) {
                    Some(complete) => Ok(complete),
                    None => ask_word(&mut caller, Question::Tags { mask, update }).await,
                }
            })
        },
    )?;
    linker.func_wrap_async(
        "spu",
        "tags_there",
        |mut caller: Caller<'_, State>, (mask, update): (u32, u32)| {
            Box::new(async move {
                let complete = ask_word(&mut caller, Question::Tags { mask, update: 0 }).await?;
                let is_there = match update {
                    1 => mask == 0 || complete != 0,
                    2 => complete == mask,
                    _ => true,
                };
                Ok(u32::from(is_there))
            })
        },
    )?;
    linker.func_wrap_async(
        "spu",
        "wrch",
        |mut caller: Caller<'_, State>, (channel, word): (u32, u32)| {
            Box::new(async move {
                if caller.data_mut().write_here(channel, word) {
                    return Ok(());
                }
                if channel == 21 {
                    let opcode = word;
                    let command = RawCommand {
                        opcode,
                        ..caller.data().command
                    };
                    return ask(&mut caller, Question::Command(command)).await.map(drop);
                }
                if direct::write(channel, word) {
                    Ok(())
                } else {
                    ask(&mut caller, Question::Write(channel, word))
                        .await
                        .map(drop)
                }
            })
        },
    )?;
    linker.func_wrap_async(
        "spu",
        "rchcnt",
        |mut caller: Caller<'_, State>, (channel,): (u32,)| {
            Box::new(async move {
                match direct::count(channel) {
                    Some(count) => Ok(count),
                    None => ask_word(&mut caller, Question::Count(channel)).await,
                }
            })
        },
    )?;
    linker.func_wrap(
        "spu",
        "dma",
        |mut caller: Caller<'_, State>,
         lsa: u32,
         eah: u32,
         eal: u32,
         size: u32,
         tag: u32,
         opcode: u32| {
            let command = command((lsa, eah, eal, size, tag, opcode));
            match issued(&mut caller, command) {
                Some(true) => 0,
                Some(false) => 1,
                None => 2,
            }
        },
    )?;
    linker.func_wrap_async(
        "spu",
        "command",
        |mut caller: Caller<'_, State>, words: CommandWords| {
            let question = Question::Command(command(words));
            Box::new(async move { ask_word(&mut caller, question).await })
        },
    )?;
    linker.func_wrap_async(
        "spu",
        "stop",
        |mut caller: Caller<'_, State>, (code,): (u32,)| {
            Box::new(async move {
                ask(&mut caller, Question::Stop(code & 0x3fff))
                    .await
                    .map(drop)
            })
        },
    )?;
    linker.func_wrap_async("spu", "halt", |mut caller: Caller<'_, State>, (): ()| {
        Box::new(async move { ask(&mut caller, Question::Halt).await.map(drop) })
    })?;
    linker.func_wrap_async(
        "wasi_snapshot_preview1",
        "proc_exit",
        |mut caller: Caller<'_, State>, (code,): (u32,)| {
            Box::new(async move {
                ask(&mut caller, Question::Stop(EXIT | code & 0xff)).await?;
                let why = "it was started again after its end, without a new load";
                Err::<(), _>(super::link::Fault(why.to_owned()).into())
            })
        },
    )?;
    Ok(())
}

/// Issues a command of a program, if that is possible without the machine around it. Returns
/// whether the command is complete then.
fn issued(caller: &mut Caller<'_, State>, command: RawCommand) -> Option<bool> {
    /// Commands that have a result, which the program reads from another channel.
    const ATOMIC: [Opcode; 3] = [Opcode::Getllar, Opcode::Putllc, Opcode::Putlluc];
    let number = command.opcode & 0xffff;
    if ATOMIC.iter().any(|atomic| *atomic as u32 == number) {
        return None;
    }
    let state = caller.data_mut();
    let plain = state.addresses.of_plain(command)?;
    let is_complete = direct::issue(plain, fetches_again(command, state.last))?;
    state.last = Some(command);
    Some(is_complete)
}

/// What a program polls that fetches the same data again.
const BY_DMA: &str = "memory by DMA (mfc_get, mfc_getllar)";

/// Returns whether a command fetches the same few bytes as the last one: the program polls memory.
fn fetches_again(command: RawCommand, last: Option<RawCommand>) -> bool {
    /// What programs poll is in one line of the cache. More is data, perhaps of a measurement.
    const LINE: u32 = 128;
    let opcode = Opcode::from_number(command.opcode as u16);
    let fetches = matches!(
        opcode,
        Some(Opcode::Get | Opcode::Getb | Opcode::Getf | Opcode::Getllar)
    );
    fetches && command.size <= LINE && last == Some(command)
}

/// What is added to the fault of a command to registers of an SPE.
const REGISTERS: &str = "; at this address is a register of an SPE (spe_ps_area_get): by DMA of 4 bytes, SPU_In_Mbox, \
     SPU_Sig_Notify_1 and SPU_Sig_Notify_2 can be stored to, and no register can be loaded";

/// The stop codes by which a program exits; the low byte is the exit code.
pub(crate) const EXIT: u32 = 0x2000;

/// Why a program stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It executed a stop with this code. After another code than [`EXIT`], it can go on.
    Code(u32),
    /// It executed a halt (`spu_hcmpeq`).
    Halt,
    /// It was wrong, at a place in its source.
    Fault {
        why: String,
        place: &'static str,
        exception: Exception,
    },
    /// The run has ended.
    Cancelled,
}

/// The kinds of faults that `spe_context_run` tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exception {
    /// A command with a wrong address, size or tag.
    DmaAlignment,
    /// A command to memory that does not exist.
    DmaStorage,
    /// Any other fault of the program.
    Program,
}

/// The three first arguments of a program: of `main`, or the registers 3 to 5.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arguments {
    Numbers([u64; 3]),
    Registers([u128; 3]),
}

/// The run of a program on an SPE, from its start to its exit, over any number of stops.
pub(crate) struct SpuRun {
    code: Arc<Code<State>>,
    link: Link<Question>,
    future: Pin<Box<dyn Future<Output = wasmtime::Result<()>> + Send>>,
    addresses: Arc<Addresses>,
    memory: Guest,
    channels: Channels,
    spin: Spin,
    patience: Patience,
    /// The last command that the program has asked for.
    last: Option<RawCommand>,
    deeds: Arc<Deeds>,
    line_waits: Arc<LineWaits>,
    is_stopped: bool,
    charged: u64,
    yields: u64,
    exception: Exception,
    /// The fault of a command that became illegal, which the program has not been told.
    late: Option<LateFault>,
}

/// The channels of an SPU that the machine does not have.
#[derive(Default)]
struct Channels {
    event_mask: u32,
    /// The events that were acknowledged and whose cause is still there.
    acknowledged: u32,
    /// The events whose causes the program has used up since it read channel 0. If a cause is
    /// there, it has come again.
    used: u32,
    tags: TagUpdate,
    stalled: u32,
    atomic_status: Option<u32>,
    save_restore: u32,
}

/// An update of the tag status that the program has asked for, as far as the event of it matters.
#[derive(Default)]
struct TagUpdate {
    mask: u32,
    /// The word for channel 23, until the event was acknowledged.
    asked: Option<u32>,
    /// Whether the program has read of the event.
    is_seen: bool,
}

impl TagUpdate {
    /// Whether the update is due: the status can be read, which is the cause of the event.
    fn is_due<S: CellSpe>(&self, spe: &S) -> bool {
        let tags = TagMask::from_bits(self.mask);
        let complete = tags & !spe.mfc().incomplete_tags();
        match self.asked {
            None => false,
            Some(1) => self.mask == 0 || !complete.is_empty(),
            Some(2) => complete == tags,
            Some(_) => true,
        }
    }
}

impl Channels {
    /// Notes that the program has used up the causes of events: read a word, or issued a command.
    fn uses(&mut self, events: u32) {
        self.acknowledged &= !events;
        self.used |= events;
    }
}

impl SpuRun {
    /// Prepares the run of a loaded program. The data is in the local store already.
    pub(crate) fn new(
        code: &Arc<Code<State>>,
        local_store: &SharedMemory,
        memory: Guest,
        shared: &Shared,
        arguments: Arguments,
    ) -> Self {
        let Shared {
            wasi,
            addresses,
            deeds,
            slices,
            line_waits,
        } = shared;
        let link = Link::default();
        let state = State {
            link: link.clone(),
            slice: Slice::of(slices),
            wasi: Arc::clone(wasi),
            memory: memory.clone(),
            addresses: Arc::clone(addresses),
            command: RawCommand {
                opcode: 0,
                lsa: 0,
                ea: 0,
                size: 0,
                tag: 0,
            },
            last: None,
        };
        let future = main(Arc::clone(code), local_store.clone(), state, arguments);
        Self {
            code: Arc::clone(code),
            link,
            future: Box::pin(future),
            addresses: Arc::clone(addresses),
            memory,
            channels: Channels::default(),
            spin: Spin::default(),
            patience: Patience::new(deeds),
            last: None,
            deeds: Arc::clone(deeds),
            line_waits: Arc::clone(line_waits),
            is_stopped: false,
            charged: 0,
            yields: 0,
            exception: Exception::Program,
            late: None,
        }
    }

    /// Runs the program on `spe` until it stops.
    pub(crate) fn go<S: CellSpe>(&mut self, spe: &S) -> Stop {
        if std::mem::take(&mut self.is_stopped) {
            self.link.answer(Answer::Value(0));
        }
        // From now on, a command that becomes illegal is a fault here, instead of a panic.
        self.take_late_fault(spe);
        loop {
            // Between two polls no code of WebAssembly is on this stack: here, and only here, the
            // machine may switch to another program.
            let (polled, used) = match self.code.pace {
                Pace::Clock => direct::with(spe, || self.poll()),
                Pace::Instructions => (self.poll(), Used::default()),
            };
            self.channels.uses(used.events);
            self.late = self.late.or(used.late);
            if used.has_acted {
                self.patience.acts();
            }
            if let Some(end) = polled {
                self.charge(spe);
                self.line_waits.tell(spe);
                return match end {
                    Ok(()) => Stop::Code(EXIT),
                    Err(error) => {
                        let (why, place) = describe(&error, &self.code.program);
                        Stop::Fault {
                            why,
                            place,
                            exception: self.exception,
                        }
                    }
                };
            }
            let question = self.link.take_question();
            match question {
                None => {
                    self.yields += 1;
                    if !used.has_polled || used.has_acted {
                        self.patience.computes();
                    } else if self.patience.polls() {
                        self.note_polls_of_memory(BY_DMA, true);
                    }
                }
                Some(Question::Poll(begun)) => {
                    if self.patience.polls_in(begun) {
                        self.note_polls_of_memory("memory", true);
                    }
                }
                Some(Question::Count(_)) => {}
                Some(Question::Command(command)) => {
                    if !fetches_again(command, self.last.replace(command)) {
                        self.patience.acts();
                    } else if self.patience.polls() {
                        self.note_polls_of_memory(BY_DMA, false);
                    }
                }
                // What belongs to a command that fetches.
                Some(Question::Tags { .. } | Question::Read(27)) => {}
                Some(_) => self.patience.acts(),
            }
            self.charge(spe);
            self.line_waits.tell(spe);
            let is_late = self.take_late_fault(spe);
            let answer = match question {
                None | Some(Question::Poll(_)) => {
                    // It has computed for long.
                    if spe.is_cancelled() {
                        return Stop::Cancelled;
                    }
                    spe.yield_now();
                    if question.is_none() {
                        continue;
                    }
                    Answer::Value(0)
                }
                Some(_) if is_late => Answer::Value(0),
                Some(Question::Stop(code)) => {
                    if code & !0xff == EXIT {
                        self.note_dma(spe);
                    }
                    self.is_stopped = true;
                    return Stop::Code(code);
                }
                Some(Question::Halt) => {
                    self.is_stopped = true;
                    return Stop::Halt;
                }
                Some(question) => self.carry_out(spe, question),
            };
            self.take_late_fault(spe);
            let answer = match self.late.take() {
                Some(late) => self.late_fault(late),
                None => answer,
            };
            self.link.answer(answer);
        }
    }

    /// Says that the program polls `what`, and nothing else has happened for long. It is in the
    /// check of a loop, or has asked a question.
    fn note_polls_of_memory(&mut self, what: &str, is_check: bool) {
        let Some(backtrace) = self.backtrace() else {
            return;
        };
        let program = &self.code.program;
        let in_loop = if is_check {
            program.place_of_check(&backtrace)
        } else {
            None
        };
        let what = match program.called(&backtrace) {
            Some(called) if in_loop.is_none() => format!("{what}, calling {called},"),
            _ => what.to_owned(),
        };
        let place = in_loop.unwrap_or_else(|| program.place(&backtrace));
        eprintln!("cellworks: {}", note("an SPE program", &what, place));
    }

    /// Says that the program ends while commands are under way, for the first one of a run.
    fn note_dma<S: CellSpe>(&mut self, spe: &S) {
        let tags = spe.mfc().incomplete_tags();
        if !tags.is_empty() && self.deeds.is_first_with_dma() {
            eprintln!(
                "cellworks: an SPE program has ended at {} while DMA of the tag groups {tags} was under way, so who reads \
                 the data after its end may find the old one; wait for it first (mfc_read_tag_status_all)",
                self.place()
            );
        }
    }

    /// Takes the fault of a command that became illegal, and returns whether there is one.
    fn take_late_fault<S: CellSpe>(&mut self, spe: &S) -> bool {
        if self.late.is_none() {
            self.late = spe.mfc().take_late_fault();
        }
        self.late.is_some()
    }

    fn poll(&mut self) -> Option<wasmtime::Result<()>> {
        match self
            .future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(end) => Some(end),
            Poll::Pending => None,
        }
    }

    /// Lets the simulated time pass that the instructions since the last call take.
    fn charge<S: CellSpe>(&mut self, spe: &S) {
        let executed = self.link.instructions().max(self.yields * SLICE);
        if let Some(new) = executed.checked_sub(self.charged).filter(|new| *new > 0) {
            self.charged = executed;
            spe.compute(Cycles(new));
        }
    }

    /// Returns where in its source the program has asked the question that is not answered yet, or
    /// lets others run.
    fn place(&mut self) -> &'static str {
        if self.code.pace == Pace::Instructions {
            self.link.answer(Answer::From);
            let _ = self.poll();
            let noted = self.link.take_from();
            if let Some(line) = noted.and_then(|noted| self.code.program.line_of_call(noted)) {
                return line;
            }
        }
        match self.backtrace() {
            Some(backtrace) => self.code.program.place(&backtrace),
            None => "a place that is not known",
        }
    }

    fn backtrace(&mut self) -> Option<WasmBacktrace> {
        self.link.answer(Answer::Where);
        let _ = self.poll();
        self.link.take_place()
    }

    /// Calls `attempt` until it returns something, and waits meanwhile, at the place in the source.
    /// A command that becomes illegal ends the wait. Counters say what the program waits for by
    /// `waits`: the MFC, or the SPE for anything else.
    fn wait_for<S: CellSpe, R>(
        &mut self,
        spe: &S,
        waits: &dyn Wait,
        why: &dyn fmt::Display,
        mut attempt: impl FnMut(&mut Self, &S) -> Option<R>,
    ) -> Result<R, Answer> {
        if let Some(found) = attempt(self, spe) {
            return Ok(found);
        }
        let _at = spe.at(self.place());
        let mut found = None;
        waits.wait_until(why, &mut || {
            if !self.take_late_fault(spe) {
                found = attempt(self, spe);
            }
            self.late.is_some() || found.is_some()
        });
        // Without a result, a command is illegal or the run is cancelled: the answer does not
        // matter.
        found.ok_or(Answer::Value(0))
    }

    /// Waits for a word of a mailbox or a signal, by `wait` if no command can become illegal
    /// meanwhile: the machine then counts what the program waits for.
    fn wait_for_word<S: CellSpe, R>(
        &mut self,
        spe: &S,
        why: &dyn fmt::Display,
        attempt: impl Fn(&S) -> Option<R>,
        wait: impl FnOnce(&S) -> R,
    ) -> Result<R, Answer> {
        if let Some(found) = attempt(spe) {
            return Ok(found);
        }
        if spe.mfc().incomplete_tags().is_empty() {
            let _at = spe.at(self.place());
            return Ok(wait(spe));
        }
        self.wait_for(spe, spe, why, |_, spe| attempt(spe))
    }

    fn carry_out<S: CellSpe>(&mut self, spe: &S, question: Question) -> Answer {
        if !matches!(question, Question::Count(_)) {
            self.spin.other();
        }
        let value = match question {
            Question::Clock(clock) => match clock.until(spe.now()) {
                None => nanoseconds(spe.now()),
                Some(until) if until <= spe.now() => {
                    spe.yield_now();
                    0
                }
                Some(until) => {
                    let _at = spe.at(self.place());
                    spe.wait_until_deadline(&"the end of its sleep", until, &mut || false);
                    0
                }
            },
            Question::Command(command) => return self.issue(spe, command),
            Question::Tags { mask, update } => {
                let tags = TagMask::from_bits(mask);
                let complete = |spe: &S| tags & !spe.mfc().incomplete_tags();
                let waited = match update {
                    0 => Ok(complete(spe)),
                    1 => self.wait_for(
                        spe,
                        spe.mfc(),
                        &format_args!("DMA of any tag group in {tags}"),
                        |_, spe| Some(complete(spe)).filter(|done| !done.is_empty() || mask == 0),
                    ),
                    2 => self.wait_for(
                        spe,
                        spe.mfc(),
                        &format_args!("DMA of all tag groups in {tags}"),
                        |_, spe| Some(complete(spe)).filter(|done| *done == tags),
                    ),
                    other => Err(Answer::Fault(format!(
                        "it asks for the update {other} of the tag status (channel 23): 0 is at once, 1 when any, \
                         and 2 when all groups are complete"
                    ))),
                };
                match waited {
                    Ok(complete) => complete.bits().into(),
                    Err(answer) => return answer,
                }
            }
            Question::Read(channel) => match self.read(spe, channel) {
                Ok(word) => {
                    self.channels.uses(match channel {
                        3 => event::SIGNAL_1,
                        4 => event::SIGNAL_2,
                        25 => event::LIST_STALL,
                        29 => event::IN_MBOX,
                        _ => 0,
                    });
                    word.into()
                }
                Err(answer) => return answer,
            },
            Question::Write(channel, word) => return self.write(spe, channel, word),
            Question::Count(channel) => {
                let Some(mut count) = self.count(spe, channel) else {
                    return Answer::Fault(no_channel(channel, "counted"));
                };
                if count == 0 && self.patience.polls() {
                    let what = format!("the count of {}", named(channel));
                    let said = note("an SPE program", &what, self.place());
                    eprintln!("cellworks: {said}");
                }
                let polls = self.code.pace == Pace::Instructions && count == 0;
                let wait =
                    polls.then(|| self.spin.polled((channel, 0), 0, self.charged, spe.now()));
                if let Some(wait) = wait.flatten() {
                    let place = self.spin.place.unwrap_or_else(|| self.place());
                    self.spin.place = Some(place);
                    let _at = spe.at(place);
                    let why = format_args!("a change of the count of {}", named(channel));
                    let until = spe.now() + wait;
                    spe.wait_until_deadline(&why, until, &mut || {
                        count = self.count(spe, channel).unwrap_or_default();
                        count > 0
                    });
                    self.spin.waited(spe.now());
                }
                count as u64
            }
            Question::Poll(_) | Question::Stop(_) | Question::Halt => {
                unreachable!("`go` has answered")
            }
        };
        Answer::Value(value)
    }

    fn fault(&mut self, refused: CommandFault) -> Answer {
        self.exception = match refused.fault {
            MfcFault::DataSegment { .. } | MfcFault::DataStorage { .. } => Exception::DmaStorage,
            _ => Exception::DmaAlignment,
        };
        let refused = self.addresses.in_program(refused);
        let mut why = refused.to_string();
        if let MfcFault::DataSegment { ea, .. } | MfcFault::DataStorage { ea, .. } = refused.fault
            && self.addresses.is_in_registers(ea)
        {
            why += REGISTERS;
        }
        Answer::Fault(why)
    }

    fn late_fault(&mut self, late: LateFault) -> Answer {
        let Answer::Fault(why) = self.fault(late.fault) else {
            unreachable!("a fault has a text");
        };
        match late.place {
            Some(place) => Answer::FaultAt(why, place),
            None => Answer::Fault(format!("a command that it issued before was wrong: {why}")),
        }
    }

    fn issue<S: CellSpe>(&mut self, spe: &S, command: RawCommand) -> Answer {
        let checked = command.check(self.memory.0.bytes() as u32);
        let translated =
            checked.and_then(|checked| self.addresses.of_command(command, &checked, &self.memory));
        let command = match translated {
            Ok(command) => command,
            Err(fault) => {
                let spe = spe.id();
                return self.fault(CommandFault {
                    spe,
                    command,
                    fault,
                });
            }
        };
        let (lsa, ea) = (LsAddr(command.lsa), EffectiveAddress(command.ea));
        let opcode = Opcode::from_number(command.opcode as u16);
        let result = match opcode {
            Some(Opcode::Getllar) => spe.mfc().getllar(lsa, ea).map(|()| Some(4)),
            Some(Opcode::Putllc) => spe
                .mfc()
                .putllc(lsa, ea)
                .map(|stored| Some(u32::from(!stored))),
            Some(Opcode::Putlluc) => spe.mfc().putlluc(lsa, ea).map(|()| Some(2)),
            _ => {
                let _at = spe.at(self.place());
                let why = "a free entry in its MFC command queue";
                let issued = self.wait_for(spe, spe.mfc(), &why, |_, spe| {
                    match spe.mfc().try_issue(command) {
                        Ok(()) => Some(Ok(None)),
                        Err(TryIssueError::Fault(fault)) => Some(Err(fault)),
                        Err(TryIssueError::Full) => None,
                    }
                });
                match issued {
                    Ok(result) => result,
                    Err(answer) => return answer,
                }
            }
        };
        match result {
            Ok(status) => {
                self.channels.uses(match opcode {
                    Some(Opcode::Getllar) => event::RESERVATION_LOST,
                    _ if status.is_some() => 0,
                    _ => event::COMMAND_QUEUE,
                });
                if status.is_some() {
                    self.channels.atomic_status = status;
                }
                // On a simulated machine, to look takes time.
                let is_busy =
                    self.code.pace == Pace::Instructions || !spe.mfc().incomplete_tags().is_empty();
                Answer::Value(is_busy.into())
            }
            Err(refused) => self.fault(refused),
        }
    }

    fn read<S: CellSpe>(&mut self, spe: &S, channel: u32) -> Result<u32, Answer> {
        Ok(match channel {
            0 => loop {
                let events = self.events(spe);
                if events != 0 {
                    self.channels.used = 0;
                    self.channels.tags.is_seen |= events & event::TAG_STATUS != 0;
                }
                if events != 0 || self.late.is_some() {
                    break events;
                }
                if self.channels.event_mask == 0 {
                    let why = "it waits for an event (channel 0), and its event mask has none (channel 1)";
                    return Err(Answer::Fault(why.to_owned()));
                }
                let _at = spe.at(self.place());
                self.wait_for_events(spe);
            },
            3 | 4 => {
                let register = register_of(channel);
                self.wait_for_word(
                    spe,
                    &format_args!("a signal in its {register}"),
                    |spe| spe.try_read_signal(register),
                    |spe| spe.read_signal(register),
                )?
            }
            8 => spe.decrementer(),
            11 => self.channels.event_mask,
            13 => 0,
            15 => self.channels.save_restore,
            25 => {
                let stalled = std::mem::take(&mut self.channels.stalled);
                if stalled != 0 {
                    stalled
                } else {
                    self.wait_for(spe, spe.mfc(), &"a list to stop at stall-and-notify", |_, spe| {
                        let stalled = spe.mfc().take_stall_notifications().bits();
                        (stalled != 0).then_some(stalled)
                    })?
                }
            }
            27 => self.channels.atomic_status.take().ok_or_else(|| {
                let why = "it reads the status of an atomic command (channel 27), and there is none since the last \
                           one was read, so the SPU would wait forever";
                Answer::Fault(why.to_owned())
            })?,
            29 => self.wait_for_word(
                spe,
                &"a word in its inbound mailbox",
                S::try_read_in_mbox,
                S::read_in_mbox,
            )?,
            _ => return Err(Answer::Fault(no_channel(channel, "read"))),
        })
    }

    fn write<S: CellSpe>(&mut self, spe: &S, channel: u32, word: u32) -> Answer {
        let kind = match channel {
            28 => Some(Outbound::Plain),
            30 => Some(Outbound::Interrupt),
            _ => None,
        };
        match channel {
            1 => self.channels.event_mask = word,
            2 => {
                let there = word & self.levels(spe) & !self.channels.used;
                self.channels.acknowledged |= there & !event::TAG_STATUS;
                self.channels.used &= !word;
                // An update that the program asked for since it read of the event comes again.
                let tags = &mut self.channels.tags;
                if word & event::TAG_STATUS != 0 && tags.is_seen {
                    tags.asked = None;
                }
            }
            22 => self.channels.tags.mask = word,
            23 => {
                self.channels.tags.asked = Some(word);
                self.channels.tags.is_seen = false;
            }
            7 => {
                self.channels.uses(event::DECREMENTER);
                spe.set_decrementer(word);
            }
            // A synchronisation of several sources: transfers are complete when their tags are.
            9 => {}
            14 => self.channels.save_restore = word,
            26 => {
                let Some(tag) = Tag::new(word) else {
                    return Answer::Fault(format!(
                        "it acknowledges the stall of tag {word} (channel 26): tags are 0 to 31"
                    ));
                };
                if let Err(late) = spe.mfc().acknowledge_stall(tag) {
                    return self.late_fault(late);
                }
            }
            28 | 30 => {
                let kind = kind.expect("these are the two mailboxes");
                let why = format_args!("the PPE to empty its {}", kind.name());
                let written = self.wait_for_word(
                    spe,
                    &why,
                    |spe| spe.try_write_out_mbox(kind, word).ok(),
                    |spe| spe.write_out_mbox(kind, word),
                );
                if let Err(answer) = written {
                    return answer;
                }
                self.channels.uses(match kind {
                    Outbound::Plain => event::OUT_MBOX,
                    Outbound::Interrupt => event::OUT_INTR_MBOX,
                });
            }
            _ => return Answer::Fault(no_channel(channel, "written")),
        }
        Answer::Value(0)
    }

    fn count<S: CellSpe>(&mut self, spe: &S, channel: u32) -> Option<usize> {
        Some(match channel {
            0 => usize::from(self.events(spe) != 0),
            3 | 4 => usize::from(spe.has_signal(register_of(channel))),
            1 | 2 | 7 | 8 | 9 | 11..=20 | 22 | 23 | 26 => 1,
            21 => spe.mfc().free_entries(),
            25 => {
                self.channels.stalled |= spe.mfc().take_stall_notifications().bits();
                usize::from(self.channels.stalled != 0)
            }
            27 => usize::from(self.channels.atomic_status.is_some()),
            28 => spe.out_mbox_room(Outbound::Plain),
            29 => spe.in_mbox_count(),
            30 => spe.out_mbox_room(Outbound::Interrupt),
            _ => return None,
        })
    }

    /// Returns the causes of events that are there now, acknowledged or not.
    fn levels<S: CellSpe>(&mut self, spe: &S) -> u32 {
        let mask = self.channels.event_mask;
        let mut levels = 0;
        let mut look = |bit: u32, is_there: &mut dyn FnMut() -> bool| {
            if mask & bit != 0 && is_there() {
                levels |= bit;
            }
        };
        let stalled = &mut self.channels.stalled;
        let tags = &self.channels.tags;
        look(event::TAG_STATUS, &mut || tags.is_due(spe));
        look(event::LIST_STALL, &mut || {
            *stalled |= spe.mfc().take_stall_notifications().bits();
            *stalled != 0
        });
        look(event::COMMAND_QUEUE, &mut || spe.mfc().free_entries() > 0);
        look(event::IN_MBOX, &mut || spe.in_mbox_count() > 0);
        look(event::DECREMENTER, &mut || spe.decrementer() >> 31 != 0);
        look(event::OUT_INTR_MBOX, &mut || {
            spe.out_mbox_room(Outbound::Interrupt) > 0
        });
        look(event::OUT_MBOX, &mut || {
            spe.out_mbox_room(Outbound::Plain) > 0
        });
        look(event::SIGNAL_1, &mut || spe.has_signal(SignalRegister::One));
        look(event::SIGNAL_2, &mut || spe.has_signal(SignalRegister::Two));
        look(event::RESERVATION_LOST, &mut || {
            spe.mfc().reservation_lost()
        });
        levels
    }

    /// Returns the events that the program has enabled and not acknowledged.
    fn events<S: CellSpe>(&mut self, spe: &S) -> u32 {
        let levels = self.levels(spe);
        self.channels.acknowledged &= levels;
        levels & !self.channels.acknowledged
    }

    fn wait_for_events<S: CellSpe>(&mut self, spe: &S) {
        let why = Events(self.channels.event_mask);
        let watches_line = self.channels.event_mask & event::RESERVATION_LOST != 0;
        let line_waits = Arc::clone(&self.line_waits);
        if watches_line {
            line_waits.begin(spe.id());
        }
        // The decrementer counts without a wake, so the wait ends when it will be negative.
        if self.channels.event_mask & event::DECREMENTER != 0 && spe.decrementer() >> 31 == 0 {
            let ticks = u64::from(spe.decrementer()) + 1;
            let span = spe.timebase().span_of(ticks);
            spe.wait_until_deadline(&why, spe.now() + span, &mut || {
                self.take_late_fault(spe) || self.events(spe) != 0
            });
        } else {
            spe.wait_until(&why, &mut || {
                self.take_late_fault(spe) || self.events(spe) != 0
            });
        }
        if watches_line {
            line_waits.end(spe.id());
        }
    }
}

/// The events for which a program waits, for the report of a deadlock.
struct Events(u32);

impl fmt::Display for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an event of its mask {:#x}", self.0)
    }
}

fn register_of(channel: u32) -> SignalRegister {
    if channel == 3 {
        SignalRegister::One
    } else {
        SignalRegister::Two
    }
}

fn no_channel(channel: u32, how: &str) -> String {
    format!(
        "channel {channel} cannot be {how}: an SPU has no such channel, or it goes the other way"
    )
}

/// Returns what a channel whose count is polled is called.
fn named(channel: u32) -> String {
    let name = match channel {
        0 => "its events",
        3 => "its signal 1",
        4 => "its signal 2",
        24 => "its status of tag groups",
        28 => "its outbound mailbox",
        29 => "its inbound mailbox",
        30 => "its outbound interrupt mailbox",
        _ => return format!("its channel {channel}"),
    };
    format!("{name} (channel {channel})")
}

/// Returns the nanoseconds since the start of the run.
pub(super) fn nanoseconds(time: Time) -> u64 {
    (time.as_femtoseconds() / 1_000_000) as u64
}

/// The bytes above the stack of `main`, as the start of an SPU program takes them. Programs read a
/// few words past their local variables: `__send_to_ppe` does, for `errno`.
const FIRST_FRAMES: u32 = 64;

/// The whole program, as a future that asks the machine for what only it can do.
async fn main(
    code: Arc<Code<State>>,
    local_store: SharedMemory,
    state: State,
    arguments: Arguments,
) -> wasmtime::Result<()> {
    let mut store = Store::new(code.linker.engine(), state);
    code.pace(&mut store)?;
    next_instance_has(&local_store);
    let instance = code
        .linker
        .instantiate_async(&mut store, &code.program.module)
        .await?;
    let (Some(room), Some(end)) = (
        code.program.stack(),
        instance.get_global(&mut store, STACK_END),
    ) else {
        wasmtime::bail!("it has no stack");
    };
    let mut stack = Stack::of(&instance, &mut store, Some((0, room.top - FIRST_FRAMES)))?;
    let ended = call(&mut store, &instance, room.bytes, arguments).await;
    ended.map_err(|error| {
        let end_at = end.get(&mut store).i32().unwrap_or(0).cast_unsigned();
        // The machine's own check reads this word, in the order of WebAssembly.
        stack.bottom = store.data().memory.u32(end_at).unwrap_or(0).swap_bytes();
        stack.explain(&mut store, error)
    })
}

/// Returns a register as a vector of words, whose first one is the lowest lane.
fn vector(register: u128) -> Val {
    let words = register.to_be_bytes();
    let mut lanes = [0; 16];
    for (to, from) in lanes.chunks_mut(4).zip(words.chunks(4)) {
        to.copy_from_slice(&[from[3], from[2], from[1], from[0]]);
    }
    Val::V128(u128::from_le_bytes(lanes).into())
}

/// Calls the functions of a program, from its start to its exit. The heap leaves `stack` bytes to
/// the stack.
async fn call(
    mut store: &mut Store<State>,
    instance: &Instance,
    stack: u32,
    arguments: Arguments,
) -> wasmtime::Result<()> {
    let init = instance.get_typed_func::<u32, u32>(&mut store, "__cell_init")?;
    init.call_async(&mut store, stack).await?;
    let main = instance
        .get_func(&mut store, "__cell_main")
        .ok_or_else(|| wasmtime::format_err!("it has no function `main`"))?;
    let types = main.ty(&store);
    let values = types
        .params()
        .enumerate()
        .map(|(index, kind)| match (arguments, kind) {
            (Arguments::Numbers(numbers), kind) => {
                let number = numbers.get(index).copied().unwrap_or(0);
                match kind {
                    ValType::I64 => Val::I64(number as i64),
                    ValType::V128 => vector(u128::from(number) << 64),
                    _ => Val::I32(number as i32),
                }
            }
            // The first word of a register is its preferred slot.
            (Arguments::Registers(registers), kind) => {
                let register = registers.get(index).copied().unwrap_or(0);
                match kind {
                    ValType::I64 => Val::I64((register >> 64) as i64),
                    ValType::V128 => vector(register),
                    _ => Val::I32((register >> 96) as i32),
                }
            }
        });
    let values: Vec<Val> = values.collect();
    let mut results = vec![Val::I32(0); types.results().len()];
    main.call_async(&mut store, &values, &mut results).await?;
    let status = results.first().and_then(Val::i32).unwrap_or(0);
    let exit = instance.get_typed_func::<i32, ()>(&mut store, "__cell_exit")?;
    exit.call_async(&mut store, status).await
}
