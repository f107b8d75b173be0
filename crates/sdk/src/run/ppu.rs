//! The PPU side: a program of C with its threads, as the main program of a machine.
//!
//! The PPE of a machine has one thread of the system. The threads of a C program take turns on it:
//! each runs until it waits, or for a slice of time.
//!
//! ```text
//!   thread 0 ─ asks: spe_context_run ──┐
//!   thread 1 ─ asks: pthread_join ─────┤   serve: can it be answered now?
//!   thread 2 ─ computes ───────────────┘   if no thread can go on, the PPE waits until one can
//! ```

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};

use cellworks_machine::{AtomicOp, CellMachine, Cycles, Ppe, Span, Time, Wake};
use wasmtime::{Instance, Store, Val, ValType, WasmBacktrace};

use super::code::{Code, SLICE, STACK_IS_FULL, Stack, describe, has_aborted, has_used_null};
use super::contexts::{A_WORD, Contexts};
use super::engine::Pace;
use super::failure::Failure;
use super::guest::{Guest, Outside, element};
use super::imports::{Question, State, ThreadExit};
use super::jump::Thrown;
use super::link::{Answer, Link};
use super::memory::{NULL_BYTES, SharedMemory, next_instance_has};
use super::patience::{Patience, note};
use super::slice::Slice;
use super::spin::Spin;
use super::spu::nanoseconds;
use super::surroundings::Surroundings;
use super::wasi::Clock;

/// What a wait for a word is for, as `wait_word` numbers it.
const WHATS: [&str; 6] = [
    "a mutex",
    "a condition",
    "a barrier",
    "a semaphore",
    "the end of an initialisation (pthread_once)",
    "a lock for readers and writers",
];

/// A thread of the program.
struct Thread {
    link: Link<Question>,
    future: Pin<Box<dyn Future<Output = wasmtime::Result<u32>> + Send>>,
    /// What it asks, and until when it waits for an answer.
    question: Option<(Question, Option<Time>)>,
    /// Where it waits, once that was looked up.
    place: Option<&'static str>,
    /// Where it was started, for waits in functions that our library has started as a thread.
    begun: Option<WasmBacktrace>,
    charged: u64,
    yields: u64,
    spin: Spin,
    patience: Patience,
    /// What it has returned.
    end: Option<u32>,
    is_detached: bool,
    is_free: bool,
    /// Whether its wait, or its next one, ends early: it was cancelled.
    is_woken: bool,
    /// The words about the running thread, while another one runs.
    turn: [u32; 2],
    /// The lowest address of its stack, unless it is that of `main`. As long as the stack has not
    /// been full, [`UNUSED`] is there.
    stack_bottom: Option<u32>,
    /// The address and size of the number that it has reserved, and the number.
    reservation: Option<(u32, u32, u64)>,
}

impl Thread {
    /// Gives an answer after which the question stays.
    fn answer_and_poll(&mut self, answer: Answer) {
        self.link.answer(answer);
        let _ = self
            .future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
    }
}

/// The PPU side of a run.
pub(super) struct Ppu<'p> {
    code: &'p Arc<Code<State>>,
    surroundings: &'p Surroundings,
    memory: &'p SharedMemory,
    guest: &'p Guest,
    threads: Vec<Thread>,
    /// The numbers of threads whose end needs no more be known, for new threads.
    free: Vec<usize>,
    /// Where the program has its words about the running thread.
    turn_at: Arc<OnceLock<u32>>,
    /// The thread whose words are there.
    running: Option<usize>,
    /// The bytes of the last allocation for which the heap had no room, or 0.
    not_allocated: Arc<AtomicU32>,
    exit: Option<u32>,
}

/// How a question was served.
enum Served {
    Value(u64),
    /// It has to wait, until this time if there is one.
    Waits(Option<Time>),
    Fault(String),
}

impl From<Outside> for Served {
    fn from(outside: Outside) -> Self {
        let Outside { at, bytes } = outside;
        let is_null = (at as usize) < NULL_BYTES;
        let why = if is_null {
            "through a null pointer"
        } else {
            "which leave its memory"
        };
        Self::Fault(format!(
            "it passes {bytes} bytes at the address {at:#x}, {why}"
        ))
    }
}

impl<'p> Ppu<'p> {
    pub(super) fn new(
        code: &'p Arc<Code<State>>,
        surroundings: &'p Surroundings,
        memory: &'p SharedMemory,
        guest: &'p Guest,
    ) -> Self {
        Self {
            code,
            surroundings,
            memory,
            guest,
            threads: Vec::new(),
            free: Vec::new(),
            turn_at: Arc::default(),
            not_allocated: Arc::default(),
            running: None,
            exit: None,
        }
    }

    fn start(&mut self, begin: Begin) -> Result<u32, Outside> {
        let stack_bottom = match begin {
            Begin::Thread { stack_bottom, .. } => Some(stack_bottom),
            _ => None,
        };
        if let Some(at) = stack_bottom {
            self.guest.set_u32(at, UNUSED)?;
        }
        let link = Link::default();
        let state = State {
            link: link.clone(),
            slice: Slice::of(&self.surroundings.shared.slices),
            wasi: Arc::clone(&self.surroundings.shared.wasi),
            memory: self.guest.clone(),
            turn_at: Arc::clone(&self.turn_at),
            not_allocated: Arc::clone(&self.not_allocated),
        };
        let future = begin.run(Arc::clone(self.code), self.memory.clone(), state);
        let thread = Thread {
            link,
            future: Box::pin(future),
            question: None,
            place: None,
            begun: None,
            charged: 0,
            yields: 0,
            spin: Spin::default(),
            patience: Patience::new(&self.surroundings.shared.deeds),
            end: None,
            is_detached: false,
            is_free: false,
            is_woken: false,
            turn: [0; 2],
            stack_bottom,
            reservation: None,
        };
        let number = match self.free.pop() {
            Some(number) => {
                self.threads[number] = thread;
                number
            }
            None => {
                self.threads.push(thread);
                self.threads.len() - 1
            }
        };
        Ok(number as u32)
    }

    /// Frees the number of a thread whose end needs no more be known.
    fn free(&mut self, number: usize) {
        self.threads[number].is_free = true;
        self.free.push(number);
    }

    /// Gives the program the words about a thread, which runs next.
    fn switch_to(&mut self, index: usize) {
        let before = self.running.replace(index);
        let Some(&at) = self.turn_at.get().filter(|_| before != Some(index)) else {
            return;
        };
        let words = [at, at.saturating_add(4)];
        if let Some(before) = before {
            self.threads[before].turn = words.map(|at| self.guest.u32(at).unwrap_or(0));
        }
        for (at, word) in words.into_iter().zip(self.threads[index].turn) {
            // Only a damaged program has these words outside of its memory. Then nothing is held.
            let _ = self.guest.set_u32(at, word);
        }
    }

    /// Returns whether the running thread keeps its turn (`lib/libc/turn.h`).
    fn keeps_turn(&self) -> bool {
        let held = self.turn_at.get().map(|at| self.guest.u32(*at));
        held.is_some_and(|held| held.is_ok_and(|held| held != 0))
    }

    /// Runs the program, and returns its exit code.
    pub(super) fn run<'scope, 'env, M: CellMachine>(
        mut self,
        ppe: &'scope Ppe<'scope, 'env, M>,
        contexts: &mut Contexts<'scope, 'env, M>,
    ) -> Result<u32, Failure> {
        self.start(Begin::Main).expect("it has no stack of its own");
        loop {
            let mut has_run = false;
            for index in 0..self.threads.len() {
                has_run |= self.turn(index, ppe, contexts)?;
                if let Some(code) = self.exit {
                    self.note_running(contexts);
                    return Ok(code);
                }
            }
            if !has_run {
                self.wait(ppe, contexts)?;
            }
        }
    }

    /// Lets a thread run until it waits or its slice ends. Returns whether it has run.
    fn turn<'scope, 'env, M: CellMachine>(
        &mut self,
        index: usize,
        ppe: &'scope Ppe<'scope, 'env, M>,
        contexts: &mut Contexts<'scope, 'env, M>,
    ) -> Result<bool, Failure> {
        /// The questions in a row that a thread may ask before others have their turn, unless it
        /// keeps it.
        const IN_A_ROW: usize = 64;
        if self.threads[index].end.is_some() {
            return Ok(false);
        }
        for turn in 0.. {
            if turn > 0 && turn % IN_A_ROW == 0 {
                ppe.yield_now();
                if !self.keeps_turn() {
                    break;
                }
            }
            if let Some((question, until)) = self.threads[index].question {
                let answer = match self.serve(index, question, ppe, contexts)? {
                    Served::Value(value) => Answer::Value(value),
                    Served::Fault(why) => Answer::Fault(why),
                    Served::Waits(limit) => {
                        let until = until.or(limit);
                        if until.is_none_or(|until| ppe.now() < until) {
                            self.threads[index].question = Some((question, until));
                            return Ok(turn > 0);
                        }
                        Answer::Value(question.timed_out())
                    }
                };
                let thread = &mut self.threads[index];
                (thread.question, thread.place) = (None, None);
                thread.link.answer(answer);
            }
            self.switch_to(index);
            let thread = &mut self.threads[index];
            let polled = thread
                .future
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()));
            let question = thread.link.take_question();
            if let Some(Question::Poll { begun }) = question {
                self.polls_memory(index, Some(begun));
                self.threads[index].link.answer(Answer::Value(0));
            }
            let thread = &mut self.threads[index];
            let polls = matches!(question, Some(Question::Poll { .. }));
            let question = question.filter(|_| !polls);
            thread.question = question.map(|question| (contexts.meant(question), None));
            let is_slice = polled.is_pending() && thread.question.is_none();
            match thread.question {
                None if polls => {}
                None if is_slice => thread.patience.computes(),
                None => thread.patience.acts(),
                Some((question, _)) if polled_context(question).is_some() => {}
                Some((question, _)) if lets_others_run(question) => {}
                Some((Question::Clock(Clock::Now) | Question::LoadReserved { .. }, _)) => {}
                Some(_) => thread.patience.acts(),
            }
            thread.yields += u64::from(is_slice && !polls);
            let executed = thread.link.instructions().max(thread.yields * SLICE);
            if let Some(new) = executed.checked_sub(thread.charged).filter(|new| *new > 0) {
                thread.charged = executed;
                ppe.compute(Cycles(new));
            }
            self.surroundings.shared.line_waits.tell(ppe.core());
            if polled.is_pending() {
                self.check_stack(index)?;
            }
            match polled {
                Poll::Pending if is_slice => {
                    ppe.yield_now();
                    if self.keeps_turn() {
                        continue;
                    }
                    return Ok(true);
                }
                Poll::Pending => {}
                Poll::Ready(end) => {
                    self.end(index, end)?;
                    return Ok(true);
                }
            }
            if let Some((Question::Exit { code }, _)) = self.threads[index].question {
                self.exit = Some(code);
                return Ok(true);
            }
        }
        Ok(true)
    }

    /// Checks that a thread's stack has not grown into the memory below it.
    fn check_stack(&mut self, index: usize) -> Result<(), Failure> {
        let bottom = self.threads[index].stack_bottom;
        if bottom.is_none_or(|at| self.guest.u32(at) == Ok(UNUSED)) {
            return Ok(());
        }
        let place = match self.threads[index].question {
            Some(_) => self.place(index),
            None => None,
        };
        Err(Failure::Program {
            who: who(index),
            why: STACK_IS_FULL.to_owned(),
            place: place.unwrap_or("a place that is not known"),
        })
    }

    /// Says that an allocation had failed, if one has.
    fn failed_allocation(&self) -> String {
        match self.not_allocated.load(Ordering::Relaxed) {
            0 => String::new(),
            bytes => format!(
                "; an allocation of about {} KB had failed before, because the variables, stacks and heap of the \
                 program have {} KB in all",
                bytes >> 10,
                self.memory.bytes() >> 10
            ),
        }
    }

    /// Says which programs of SPEs end with the program of the PPU.
    fn note_running<'scope, 'env, M: CellMachine>(&mut self, contexts: &Contexts<'scope, 'env, M>) {
        for index in 0..self.threads.len() {
            let Some((Question::ContextRun { context, .. }, _)) = self.threads[index].question
            else {
                continue;
            };
            if let Some(spe) = contexts.runs_at(context) {
                let place = self.place(index).unwrap_or("a place that is not known");
                self.surroundings.say(&format!(
                    "the program has ended while {spe} ran the program that {} has started at {place}, which ends \
                     with it; wait for it first (pthread_join)",
                    who(index)
                ));
            }
        }
    }

    /// Returns where a thread has asked what is not answered yet.
    fn place(&mut self, index: usize) -> Option<&'static str> {
        let line = self.noted_line(index);
        if line.is_some() {
            return line;
        }
        let backtrace = self.backtrace(index)?;
        let program = &self.code.program;
        let line = program.line(&backtrace);
        let begun = || program.line(self.threads[index].begun.as_ref()?);
        Some(
            line.or_else(begun)
                .unwrap_or_else(|| program.place(&backtrace)),
        )
    }

    /// Returns the line of the user from which a thread says that it has asked, if it notes that.
    fn noted_line(&mut self, index: usize) -> Option<&'static str> {
        let thread = &mut self.threads[index];
        if self.code.pace != Pace::Instructions || thread.question.is_none() {
            return None;
        }
        thread.answer_and_poll(Answer::From);
        let noted = thread.link.take_from()?;
        self.code.program.line_of_call(noted)
    }

    /// Returns the calls that led to a question which is not answered yet.
    fn backtrace(&mut self, index: usize) -> Option<WasmBacktrace> {
        let thread = &mut self.threads[index];
        thread.answer_and_poll(Answer::Where);
        thread.link.take_place()
    }

    fn end(&mut self, index: usize, end: wasmtime::Result<u32>) -> Result<(), Failure> {
        let value = match end {
            Ok(value) => value,
            Err(error) => match error.downcast_ref::<ThreadExit>() {
                Some(ThreadExit(value)) => *value,
                None => {
                    let who = who(index);
                    if let Some(Thrown { said, place }) = error.downcast_ref::<Thrown>() {
                        let (said, place) = (said.clone(), self.code.program.place(place));
                        return Err(Failure::Exception { who, said, place });
                    }
                    let (mut why, place) = describe(&error, &self.code.program);
                    if has_used_null(&error) {
                        why += &self.failed_allocation();
                    }
                    return Err(if has_aborted(&error) {
                        Failure::Abort { who, place }
                    } else {
                        Failure::Program { who, why, place }
                    });
                }
            },
        };
        let thread = &mut self.threads[index];
        thread.end = Some(value);
        // What its instance needs is freed.
        thread.future = Box::pin(std::future::pending());
        self.running = None;
        if self.threads[index].is_detached {
            self.free(index);
        }
        // As in C, a program ends when `main` returns, and `pthread_exit` in `main` lets the other
        // threads end first.
        if self.threads.iter().all(|thread| thread.end.is_some()) {
            self.start(Begin::Exit).expect("it has no stack of its own");
        }
        Ok(())
    }

    /// Waits until a thread can go on.
    fn wait<'scope, 'env, M: CellMachine>(
        &mut self,
        ppe: &'scope Ppe<'scope, 'env, M>,
        contexts: &mut Contexts<'scope, 'env, M>,
    ) -> Result<(), Failure> {
        // The report of a deadlock has the place of each wait.
        for index in 0..self.threads.len() {
            if self.threads[index].end.is_none() && self.threads[index].place.is_none() {
                self.threads[index].place = self.place(index);
            }
        }
        let why = Waits::of(&self.threads, self.guest, contexts).to_string();
        let until = self.threads.iter().filter(|thread| thread.end.is_none());
        let until = until.filter_map(|thread| thread.question?.1).min();
        let mut failure = None;
        let mut ready = || {
            for index in 0..self.threads.len() {
                let Some((question, until)) = self.threads[index].question else {
                    continue;
                };
                if self.threads[index].end.is_some() {
                    continue;
                }
                if until.is_some_and(|until| until <= ppe.now()) {
                    return true;
                }
                // `turn` gives the context an SPE, which may need a program there.
                match contexts.waits_for_spe(question, ppe) {
                    Some(true) => continue,
                    Some(false) => return true,
                    None => {}
                }
                match self.serve(index, question, ppe, contexts) {
                    Ok(Served::Waits(_)) => continue,
                    // `turn` takes the answer from the thread's link.
                    Ok(Served::Value(value)) => {
                        self.threads[index].link.answer(Answer::Value(value))
                    }
                    Ok(Served::Fault(why)) => self.threads[index].link.answer(Answer::Fault(why)),
                    Err(why) => failure = Some(why),
                }
                let thread = &mut self.threads[index];
                (thread.question, thread.place) = (None, None);
                return true;
            }
            false
        };
        match until {
            Some(until) => {
                ppe.core().wait_until_deadline(&why, until, &mut ready);
            }
            None => ppe.wait_until(&why, &mut ready),
        }
        failure.map_or(Ok(()), Err)
    }

    /// Whether a thread polls on a simulated machine while all others wait.
    fn polls_alone(&self, index: usize) -> bool {
        let mut others = self.threads.iter().enumerate();
        self.code.pace == Pace::Instructions
            && others.all(|(other, thread)| {
                other == index || thread.end.is_some() || thread.question.is_some()
            })
    }

    /// Lets others run, as a thread asks in a loop that looks at memory.
    fn yields<'scope, 'env, M: CellMachine>(
        &mut self,
        index: usize,
        ppe: &'scope Ppe<'scope, 'env, M>,
    ) {
        /// Stands for memory where the polled contexts have their numbers.
        const MEMORY: u32 = u32::MAX;
        self.polls_memory(index, None);
        ppe.yield_now();
        if !self.polls_alone(index) {
            return;
        }
        let thread = &mut self.threads[index];
        let wait = thread
            .spin
            .polled((MEMORY, 0), 0, thread.charged, ppe.now());
        if let Some(wait) = wait {
            let why = "a change of memory that it polls";
            let until = ppe.now() + wait;
            ppe.core().wait_until_deadline(&why, until, &mut || false);
            self.threads[index].spin.waited(ppe.now());
        }
    }

    /// Notes that a thread polls memory: it lets others run, reads the same again, or is in the
    /// loop with the number `begun`. Says so if nothing else has happened for long.
    fn polls_memory(&mut self, index: usize, begun: Option<u32>) {
        // A thread that sleeps for a time goes on by itself.
        let sleeps = |(other, thread): (usize, &Thread)| {
            other != index && matches!(thread.question, Some((_, Some(_))))
        };
        let is_alone = !self.threads.iter().enumerate().any(sleeps);
        let patience = &mut self.threads[index].patience;
        let is_long = match begun {
            _ if !is_alone => {
                patience.acts();
                false
            }
            Some(begun) => patience.polls_in(begun),
            None => patience.polls(),
        };
        if is_long && let Some(backtrace) = self.backtrace(index) {
            let program = &self.code.program;
            let in_loop = begun.and_then(|_| program.place_of_check(&backtrace));
            let what = match program.called(&backtrace) {
                Some(called) if in_loop.is_none() => format!("memory, calling {called},"),
                _ => "memory".to_owned(),
            };
            let place = in_loop.or_else(|| self.place(index));
            let place = place.unwrap_or("a place that is not known");
            self.surroundings.say(&note(&who(index), &what, place));
        }
    }

    /// Waits, if a thread polls a status of a context and all other threads wait.
    fn poll<'scope, 'env, M: CellMachine>(
        &mut self,
        index: usize,
        (question, status): (Question, u32),
        ppe: &'scope Ppe<'scope, 'env, M>,
        contexts: &Contexts<'scope, 'env, M>,
    ) {
        if !self.polls_alone(index) {
            return;
        }
        let thread = &mut self.threads[index];
        let now = ppe.now();
        let (context, is_of_program) = match question {
            Question::StatusLoad { context } => (context, 1),
            other => (polled_context(other).unwrap_or_default(), 0),
        };
        let asked = (context, is_of_program);
        let wait = thread.spin.polled(asked, status, thread.charged, now);
        if let Some(wait) = wait {
            let why = format_args!("a change of a status of context {context}");
            let is_new = || contexts.status_word(question, ppe) != Some(status);
            ppe.core()
                .wait_until_deadline(&why, now + wait, &mut { is_new });
            self.threads[index].spin.waited(ppe.now());
        }
    }

    /// Answers a question, if it can be answered now.
    fn serve<'scope, 'env, M: CellMachine>(
        &mut self,
        index: usize,
        question: Question,
        ppe: &'scope Ppe<'scope, 'env, M>,
        contexts: &mut Contexts<'scope, 'env, M>,
    ) -> Result<Served, Failure> {
        let after = |span: Span| Some(ppe.now() + span);
        let is_status = matches!(
            question,
            Question::MboxStatus { .. } | Question::StatusLoad { .. }
        );
        let is_load = matches!(question, Question::LoadReserved { .. });
        if !is_status && !is_load && !lets_others_run(question) {
            self.threads[index].spin.other();
        }
        let wakes = match question {
            Question::ThreadJoin { .. } => Some(INTERRUPTED),
            Question::WaitWord { .. } | Question::Clock(Clock::Sleep(_) | Clock::SleepFor(_)) => {
                Some(0)
            }
            _ => None,
        };
        if let Some(value) = wakes
            && std::mem::take(&mut self.threads[index].is_woken)
        {
            return Ok(Served::Value(value));
        }
        let has_deadline = self.threads[index]
            .question
            .is_some_and(|(_, until)| until.is_some());
        Ok(match question {
            Question::Clock(clock) => match clock.until(ppe.now()) {
                None => Served::Value(nanoseconds(ppe.now())),
                Some(_) if has_deadline => Served::Waits(None),
                Some(until) if until <= ppe.now() => {
                    self.yields(index, ppe);
                    Served::Value(0)
                }
                Some(until) => {
                    self.polls_memory(index, None);
                    Served::Waits(Some(until))
                }
            },
            Question::Exit { .. } => unreachable!("`turn` has ended the program"),
            Question::Poll { .. } => unreachable!("`turn` has answered"),
            Question::Timebase {} => {
                let since = ppe.now().since(Time::default());
                Served::Value(ppe.timebase().ticks_in(since) as u64)
            }
            Question::TimebaseHertz {} => Served::Value(ppe.timebase().hertz()),
            Question::LoadReserved { at, bytes } => match self.reserved(at, bytes) {
                Ok(value) => {
                    let read = Some((at, bytes, value));
                    if std::mem::replace(&mut self.threads[index].reservation, read) == read {
                        self.polls_memory(index, None);
                    }
                    Served::Value(value)
                }
                Err(why) => Served::Fault(why),
            },
            Question::StoreConditional { at, bytes, value } => {
                match self.threads[index].reservation.take() {
                    Some((place, size, old)) if (place, size) == (at, bytes) => {
                        self.store_conditional(ppe, at, bytes, old, value)
                    }
                    _ => Served::Value(0),
                }
            }
            Question::ThreadYield {} => {
                self.yields(index, ppe);
                Served::Value(0)
            }
            Question::ThreadCreate {
                start,
                stack_bottom,
                stack_top,
            } => match self.start(Begin::Thread {
                start,
                stack_bottom,
                stack_top,
            }) {
                Ok(thread) => {
                    self.threads[thread as usize].begun = self.backtrace(index);
                    Served::Value(thread.into())
                }
                Err(outside) => outside.into(),
            },
            Question::ThreadWake { thread } => {
                if let Some(thread) = self.threads.get_mut(thread as usize) {
                    thread.is_woken = true;
                }
                Served::Value(0)
            }
            Question::ThreadDetach { thread } => {
                let number = thread as usize;
                match self.threads.get_mut(number) {
                    Some(thread) if !thread.is_free => {
                        thread.is_detached = true;
                        if thread.end.is_some() {
                            self.free(number);
                        }
                        Served::Value(0)
                    }
                    _ => Served::Value(NO_SUCH),
                }
            }
            Question::ThreadJoin { thread, value } => {
                let number = thread as usize;
                let joined = self.threads.get(number);
                let Some(joined) = joined.filter(|joined| !joined.is_free) else {
                    return Ok(Served::Value(NO_SUCH));
                };
                match joined.end {
                    None if number == index => Served::Value(ITSELF),
                    None => Served::Waits(None),
                    Some(end) => {
                        self.free(number);
                        match value {
                            0 => Served::Value(0),
                            at => match self.guest.set_u32(at, end) {
                                Ok(()) => Served::Value(0),
                                Err(outside) => outside.into(),
                            },
                        }
                    }
                }
            }
            Question::WaitWord {
                at,
                word,
                timeout_ns,
                ..
            } => match self.guest.u32(at) {
                Err(outside) => outside.into(),
                Ok(found) if found != word => Served::Value(0),
                Ok(_) if has_deadline || timeout_ns < 0 => Served::Waits(None),
                Ok(_) => Served::Waits(after(Span::from_nanoseconds(timeout_ns as u64))),
            },
            Question::WaitEvents {
                units,
                count,
                timeout_ms,
            } => match contexts.events(ppe, self.guest, units, count) {
                Err(outside) => outside.into(),
                Ok(ready) if ready > 0 || timeout_ms == 0 => Served::Value(ready.into()),
                Ok(_) if has_deadline || timeout_ms < 0 => Served::Waits(None),
                Ok(_) => {
                    let nanoseconds = timeout_ms as u64 * 1_000_000;
                    Served::Waits(after(Span::from_nanoseconds(nanoseconds)))
                }
            },
            Question::NoRegister {
                context,
                offset,
                stores,
            } => Served::Fault(no_register(context, offset, stores)),
            // Memory between the registers of two contexts.
            Question::LoadRegister { at } => match self.guest.u32(at) {
                Ok(word) => Served::Value(word.into()),
                Err(outside) => outside.into(),
            },
            Question::StoreRegister { at, word } => match self.guest.set_u32(at, word) {
                Ok(()) => Served::Value(0),
                Err(outside) => outside.into(),
            },
            other => match contexts.serve(other, ppe, self.memory, self.guest)? {
                // A word for which there is no room would be lost. But an SPE with words for this
                // side may wait until they are read.
                Ok(Some(0))
                    if let Question::InMboxWrite { context, .. } = other
                        && !contexts.has_words(context, ppe) =>
                {
                    Served::Waits(if has_deadline {
                        None
                    } else {
                        after(self.longest_write())
                    })
                }
                Ok(Some(value))
                    if let Question::ProxyCommand { context, .. } = other
                        && value != 0 =>
                {
                    Served::Fault(format!(
                        "it stores to MFC_ClassID_CMD of context {context} and so issues a command that is refused"
                    ))
                }
                Ok(Some(value)) => {
                    let patience = &mut self.threads[index].patience;
                    match polled_context(other) {
                        Some(_) if !is_status && value != 0 => patience.acts(),
                        Some(context) if patience.polls() => {
                            let place = self.place(index).unwrap_or("a place that is not known");
                            let what = match other {
                                Question::StatusLoad { .. } => {
                                    format!("the status of context {context}")
                                }
                                _ => format!("the mailboxes of context {context}"),
                            };
                            self.surroundings.say(&note(&who(index), &what, place));
                        }
                        _ => {}
                    }
                    if is_status {
                        self.poll(index, (other, value as u32), ppe, contexts);
                    }
                    Served::Value(value as u32 as u64)
                }
                Ok(None) => Served::Waits(None),
                Err(outside) => outside.into(),
            },
        })
    }

    /// Returns how long a write that does not block waits for room in a full mailbox.
    ///
    /// On a Cell it is a call of Linux: a round trip takes 10 us (CellStats, table 1). Meanwhile an
    /// SPE that polls has taken its words, and a thread that was started has begun. So programs
    /// write more words than there is room for, and do not look at the result. A thread of this
    /// computer may wait for a processor for long.
    fn longest_write(&self) -> Span {
        match self.code.pace {
            Pace::Clock => Span::from_nanoseconds(100_000_000),
            _ => Span::from_nanoseconds(10_000),
        }
    }

    /// Reads a number that a thread reserves.
    fn reserved(&self, at: u32, bytes: u32) -> Result<u64, String> {
        let value = match bytes {
            _ if !at.is_multiple_of(bytes.max(1)) => None,
            4 => self.guest.u32(at).ok().map(u64::from),
            8 => self.guest.u64(at).ok(),
            _ => None,
        };
        let why = || {
            format!(
                "it reserves {bytes} bytes at {at:#x}: a reservation is of 4 or 8 bytes in its memory, at a multiple \
                 of their number (__lwarx, __ldarx)"
            )
        };
        value.ok_or_else(why)
    }

    /// Writes a number if `old` is still there, and returns whether it was.
    fn store_conditional<'scope, 'env, M: CellMachine>(
        &self,
        ppe: &'scope Ppe<'scope, 'env, M>,
        at: u32,
        bytes: u32,
        old: u64,
        new: u64,
    ) -> Served {
        if bytes == 8 {
            // The machine changes words. Threads of the PPU take turns, so it is right among them.
            let is_old = self.guest.u64(at) == Ok(old);
            if is_old && let Err(outside) = self.guest.set_u64(at, new) {
                return outside.into();
            }
            return Served::Value(is_old.into());
        }
        let big_endian = |value: u64| u32::from_ne_bytes((value as u32).to_be_bytes());
        let (expected, new) = (big_endian(old), big_endian(new));
        let addresses = &self.surroundings.shared.addresses;
        let Some(ea) = addresses.translate(at.into(), bytes) else {
            return Served::Fault(format!("it stores at {at:#x}, where nothing is"));
        };
        match ppe.fetch_update(ea, AtomicOp::CompareAndSwap { expected, new }) {
            Ok(found) => Served::Value((found == expected).into()),
            Err(error) => Served::Fault(error.to_string()),
        }
    }
}

/// The error numbers of threads on Linux, negative: ESRCH, EINTR and EDEADLK.
const NO_SUCH: u64 = -3i32 as u32 as u64;
const INTERRUPTED: u64 = -4i32 as u32 as u64;
const ITSELF: u64 = -35i32 as u32 as u64;

/// The word at the end of a stack that has never been full.
const UNUSED: u32 = 0x5cf1_22a7;

/// Returns the context whose mailboxes a question looks at, if programs ask it in loops.
fn polled_context(question: Question) -> Option<u32> {
    match question {
        Question::MboxStatus { context }
        | Question::StatusLoad { context }
        | Question::OutMboxLoad { context }
        | Question::OutMboxRead { context, .. }
        | Question::OutIntrMboxRead { context, .. } => Some(context),
        _ => None,
    }
}

/// Returns why a register cannot be loaded or stored.
fn no_register(context: Option<u32>, offset: u32, stores: bool) -> String {
    let (does, can) = if stores {
        (
            "stores to",
            "SPU_In_Mbox, SPU_Sig_Notify_1, SPU_Sig_Notify_2 and those of proxy commands (MFC_EAH is 0) can be stored to",
        )
    } else {
        (
            "loads",
            "SPU_Out_Mbox, SPU_Mbox_Stat, SPU_Status, MFC_CMDStatus and Prxy_TagStatus can be loaded",
        )
    };
    let Some(context) = context else {
        return format!(
            "it {does} the word at the offset {offset:#x} of the registers of a context that was destroyed \
             (spe_ps_area_get, spe_context_destroy)"
        );
    };
    format!(
        "it {does} the word at the offset {offset:#x} of the registers of context {context} (spe_ps_area_get), of which \
         only {can}; spe_context_run runs a program"
    )
}

/// Returns whether a question only lets others run, for a while or once.
fn lets_others_run(question: Question) -> bool {
    matches!(
        question,
        Question::ThreadYield {} | Question::Clock(Clock::Sleep(_) | Clock::SleepFor(_))
    )
}

/// Names a thread in messages.
fn who(thread: usize) -> String {
    match thread {
        0 => "the PPU program".to_owned(),
        thread => format!("thread {thread} of the PPU program"),
    }
}

/// What the threads of a program wait for, one after the other.
struct Waits(Vec<String>);

impl Waits {
    fn of<M: CellMachine>(
        threads: &[Thread],
        guest: &Guest,
        contexts: &Contexts<'_, '_, M>,
    ) -> Self {
        let waits = threads
            .iter()
            .enumerate()
            .filter(|(_, thread)| thread.end.is_none());
        let waits = waits.filter_map(|(index, thread)| {
            let (question, _) = thread.question?;
            let what = match question {
                Question::WaitWord { at, what, .. } => {
                    let what = WHATS.get(what as usize).copied().unwrap_or("a word");
                    format!("{what} at {at:#x}")
                }
                Question::ThreadJoin { thread, .. } => format!("thread {thread} to end"),
                Question::ContextRun { context, .. } if contexts.spe_of(context).is_none() => {
                    format!("a free SPE for the program of context {context} (spe_context_run)")
                }
                Question::ContextRun { context, .. } => {
                    format!("the program of context {context} to stop (spe_context_run)")
                }
                Question::InMboxWrite { context, .. } | Question::InMboxStore { context, .. } => {
                    format!("room in the inbound mailbox of context {context}")
                }
                Question::OutIntrMboxRead { context, .. } => {
                    format!("a word in the outbound interrupt mailbox of context {context}")
                }
                Question::WaitEvents { units, count, .. } => {
                    let contexts =
                        (0..count).filter_map(|unit| guest.u32(element(units, 12, unit)).ok());
                    let contexts = contexts.filter(|context| *context != A_WORD);
                    let contexts: Vec<_> = contexts.map(|context| context.to_string()).collect();
                    if contexts.is_empty() {
                        "an event (spe_get_event)".to_owned()
                    } else {
                        format!(
                            "an event of the contexts {} (spe_event_wait, spe_get_event)",
                            contexts.join(", ")
                        )
                    }
                }
                other => other.name().to_owned(),
            };
            let place = thread.place.unwrap_or("a place that is not known");
            Some(format!("thread {index} waits for {what} at {place}"))
        });
        Self(waits.collect())
    }
}

impl fmt::Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "one of its threads to go on:\n    {}",
            self.0.join("\n    ")
        )
    }
}

/// Where a thread begins.
enum Begin {
    Main,
    /// The end of a program whose threads have all ended.
    Exit,
    Thread {
        start: u32,
        stack_bottom: u32,
        stack_top: u32,
    },
}

impl Begin {
    /// Runs the thread, and returns its value.
    async fn run(
        self,
        code: Arc<Code<State>>,
        memory: SharedMemory,
        state: State,
    ) -> wasmtime::Result<u32> {
        let guest = state.memory.clone();
        let turn_at = Arc::clone(&state.turn_at);
        let mut store = Store::new(code.linker.engine(), state);
        code.pace(&mut store)?;
        next_instance_has(&memory);
        let instance = code
            .linker
            .instantiate_async(&mut store, &code.program.module)
            .await?;
        let at = instance.get_global(&mut store, "__cw_turn");
        if let Some(at) = at.and_then(|at| at.get(&mut store).i32()) {
            turn_at.get_or_init(|| at as u32);
        }
        let stack = Stack::of(&instance, &mut store, self.own_stack())?;
        let end = self.call(&mut store, &instance, &guest).await;
        end.map_err(|error| stack.explain(&mut store, error))
    }

    /// Returns the addresses of the stack of a thread that `main` has not started.
    fn own_stack(&self) -> Option<(u32, u32)> {
        match self {
            Self::Thread {
                stack_bottom,
                stack_top,
                ..
            } => Some((*stack_bottom, *stack_top)),
            _ => None,
        }
    }

    /// Calls the functions of the thread, and returns its value.
    async fn call(
        self,
        mut store: &mut Store<State>,
        instance: &Instance,
        guest: &Guest,
    ) -> wasmtime::Result<u32> {
        match self {
            Self::Main => {
                let init = instance.get_typed_func::<(), u32>(&mut store, "__cell_init")?;
                let at = init.call_async(&mut store, ()).await?;
                let word = |index: u32| guest.u32(element(at, 4, index)).unwrap_or(0);
                // `main` takes as many of them as it likes.
                let arguments = [word(0), word(1), word(2)];
                let main = instance
                    .get_func(&mut store, "__cell_main")
                    .ok_or_else(|| wasmtime::format_err!("it has no function `main`"))?;
                let types = main.ty(&store);
                let values = types.params().enumerate().map(|(index, kind)| {
                    let word = arguments.get(index).copied().unwrap_or(0);
                    match kind {
                        ValType::I64 => Val::I64(word.into()),
                        _ => Val::I32(word as i32),
                    }
                });
                let values: Vec<Val> = values.collect();
                let mut results = vec![Val::I32(0); types.results().len()];
                main.call_async(&mut store, &values, &mut results).await?;
                let status = results.first().and_then(Val::i32).unwrap_or(0);
                let exit = instance.get_typed_func::<i32, ()>(&mut store, "__cell_exit")?;
                exit.call_async(&mut store, status).await?;
                Ok(0)
            }
            Self::Exit => {
                let exit = instance.get_typed_func::<i32, ()>(&mut store, "__cell_exit")?;
                exit.call_async(&mut store, 0).await?;
                Ok(0)
            }
            Self::Thread { start, .. } => {
                let thread = instance.get_typed_func::<u32, u32>(&mut store, "__cell_thread")?;
                thread.call_async(&mut store, start).await
            }
        }
    }
}
