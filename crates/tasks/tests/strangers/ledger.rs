//! What has happened in a run: which parts ran, failed and ended, and which values were dropped.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cellworks_machine::Payload;

#[derive(Default)]
pub struct Ledger {
    parts: Vec<Seen>,
    values: Mutex<Vec<State>>,
    problems: Mutex<Vec<String>>,
    /// Waits that began although they may never end.
    pub risky: AtomicUsize,
    /// Waits that never end.
    pub never: AtomicUsize,
    /// Whether a part failed or a task was cancelled: then other parts need not run.
    pub has_trouble: AtomicBool,
}

#[derive(Default)]
struct Seen {
    runs: AtomicUsize,
    ended: AtomicUsize,
    /// Whether a panic with the number of this part was thrown.
    threw: AtomicBool,
    /// Whether a panic has left this part.
    escaped: AtomicBool,
    /// Whether the destructor of a value of this part has panicked.
    exploded: AtomicBool,
    may_run_again: AtomicBool,
    was_cancelled: AtomicBool,
}

/// Where a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Captured,
    Result,
    /// May be forgotten: of several panics, one is passed on.
    Payload,
}

#[derive(Clone, Copy, Debug)]
struct State {
    role: Role,
    part: usize,
    drops: usize,
}

impl Ledger {
    pub fn new(parts: usize) -> Arc<Self> {
        Arc::new(Self {
            parts: (0..parts).map(|_| Seen::default()).collect(),
            ..Self::default()
        })
    }

    pub fn problem(&self, text: String) {
        self.problems.lock().unwrap().push(text);
    }

    pub fn problems(&self) -> Vec<String> {
        self.problems.lock().unwrap().clone()
    }

    pub fn trouble(&self) {
        self.has_trouble.store(true, Ordering::SeqCst);
    }

    pub fn may_run_again(&self, part: usize) {
        self.parts[part].may_run_again.store(true, Ordering::SeqCst);
    }

    /// Records that a part begins. The part has ended after `Running::ended`.
    pub fn begin(&self, part: usize) -> Running<'_> {
        let seen = &self.parts[part];
        let before = seen.runs.fetch_add(1, Ordering::SeqCst);
        if before > 0 && !seen.may_run_again.load(Ordering::SeqCst) {
            self.problem(format!("part {part} ran twice"));
        }
        Running { ledger: self, part }
    }

    pub fn runs(&self, part: usize) -> usize {
        self.parts[part].runs.load(Ordering::SeqCst)
    }

    pub fn has_failed(&self, part: usize) -> bool {
        let seen = &self.parts[part];
        seen.escaped.load(Ordering::SeqCst) || seen.exploded.load(Ordering::SeqCst)
    }

    pub fn has_thrown(&self, part: usize) -> bool {
        self.parts[part].threw.load(Ordering::SeqCst)
    }

    pub fn was_cancelled(&self, part: usize) {
        self.trouble();
        self.parts[part].was_cancelled.store(true, Ordering::SeqCst);
    }

    /// Checks that a part has run and has not failed.
    pub fn expect_success(&self, part: usize, whose: &str) {
        let seen = &self.parts[part];
        let (runs, ended) = (self.runs(part), seen.ended.load(Ordering::SeqCst));
        if runs == 0 || ended != runs {
            self.problem(format!(
                "{whose} returned, but part {part} began {runs} times and ended {ended} times"
            ));
        }
        if self.has_failed(part) {
            self.problem(format!("{whose} has lost the panic of part {part}"));
        }
    }

    /// Throws a panic of a part.
    pub fn throw(self: &Arc<Self>, part: usize, bomb: bool) -> ! {
        self.trouble();
        self.parts[part].threw.store(true, Ordering::SeqCst);
        let value = Value::new(self, Role::Payload, part, bomb);
        resume_unwind(Box::new(Thrown { part, value }))
    }

    /// Checks what cannot be known before the end of the run.
    pub fn check_end(&self) {
        for (part, seen) in self.parts.iter().enumerate() {
            let runs = seen.runs.load(Ordering::SeqCst);
            if seen.was_cancelled.load(Ordering::SeqCst) && runs > 0 {
                self.problem(format!(
                    "part {part} ran, but `cancel` has returned true for it"
                ));
            }
        }
        for State { role, part, drops } in self.values.lock().unwrap().iter() {
            let is_right = *drops == 1 || *drops == 0 && *role == Role::Payload;
            if !is_right {
                self.problem(format!(
                    "a value of part {part} ({role:?}) was dropped {drops} times"
                ));
            }
        }
    }
}

/// A part that runs.
pub struct Running<'a> {
    ledger: &'a Ledger,
    part: usize,
}

impl Running<'_> {
    pub fn ended(self) {
        let seen = &self.ledger.parts[self.part];
        seen.ended.fetch_add(1, Ordering::SeqCst);
        std::mem::forget(self);
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.ledger.trouble();
        self.ledger.parts[self.part]
            .escaped
            .store(true, Ordering::SeqCst);
    }
}

/// The payload of a panic.
pub struct Thrown {
    pub part: usize,
    value: Value,
}

/// Drops a payload, whose destructor must not panic any more.
pub fn dispose(payload: Payload) {
    if let Ok(mut thrown) = payload.downcast::<Thrown>() {
        thrown.value.bomb = false;
    }
}

/// A value that must be dropped once. If it was dropped before, the allocator fails, too.
pub struct Value {
    ledger: Arc<Ledger>,
    number: Box<usize>,
    /// Whether the destructor panics, unless its thread unwinds already.
    bomb: bool,
}

impl Value {
    pub fn new(ledger: &Arc<Ledger>, role: Role, part: usize, bomb: bool) -> Self {
        let mut values = ledger.values.lock().unwrap();
        values.push(State {
            role,
            part,
            drops: 0,
        });
        Self {
            ledger: Arc::clone(ledger),
            number: Box::new(values.len() - 1),
            bomb,
        }
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        let number = *self.number;
        let mut values = self.ledger.values.lock().unwrap();
        let state = &mut values[number];
        state.drops += 1;
        let State { role, part, drops } = *state;
        drop(values);
        if drops > 1 {
            let text = format!("a value of part {part} ({role:?}) was dropped twice");
            self.ledger.problem(text);
        }
        if self.bomb && !std::thread::panicking() {
            if role != Role::Payload {
                self.ledger.parts[part]
                    .exploded
                    .store(true, Ordering::SeqCst);
            }
            self.ledger.throw(part, false);
        }
    }
}
