//! What the threads wait for or do, for the report of a deadlock or of a time limit.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cellworks_machine::{Running, Waiting};

use crate::index::PPE;
use crate::processor::{ProcessorThread, SimProcessor};
use crate::world::World;

impl World {
    /// Returns the waiting threads of all processors, with the text `why` of each wait, and the
    /// threads that do nothing but yield.
    #[cold]
    pub(super) fn waits(&self) -> Vec<Waiting> {
        // `why.to_string()` below may run code of the program, which must not wait here.
        let _in_condition = self.threads.begin_condition();
        let mut waits = Vec::new();
        for processor in self.spes_then_ppe() {
            let mut waiting = processor.threads.borrow().waiting.clone();
            waiting.sort_by_key(|waiter| waiter.who.thread);
            for waiter in waiting.iter().filter(|waiter| !waiter.is_idle) {
                // SAFETY: the thread waits, so its call of `wait` still borrows `why`.
                let why = unsafe { &*waiter.why };
                let what = catch_unwind(AssertUnwindSafe(|| why.to_string()));
                let ProcessorThread { thread, number } = waiter.who;
                waits.push(Waiting {
                    who: processor.name_of(number),
                    thread: (thread as usize, 0),
                    what: what
                        .unwrap_or_else(|_| "something whose description panicked".to_owned()),
                    location: waiter.location,
                    place: processor.places.of((thread as usize, 0)),
                    since: Some(waiter.since.into()),
                });
            }
            for thread in processor.able() {
                let Some((location, since)) = self.yields.of(thread) else {
                    continue;
                };
                waits.push(Waiting {
                    who: processor.name_of(self.threads.number_of(thread)),
                    thread: (thread as usize, 0),
                    what: "what another program does, in a loop of yields".to_owned(),
                    location,
                    place: processor.places.of((thread as usize, 0)),
                    since: Some(since.into()),
                });
            }
        }
        waits
    }

    /// Returns the other threads that have not ended.
    #[cold]
    pub(super) fn running(&self) -> Vec<Running> {
        let mut running = Vec::new();
        for processor in self.spes_then_ppe() {
            let Some((program, began_at)) = self.observers.pulse.program_of(processor.index) else {
                continue;
            };
            let able = processor.able().into_iter();
            let able = able.filter(|thread| self.yields.of(*thread).is_none());
            let starts = self.observers.observer.borrow().starts();
            let program = match starts.filter(|_| processor.index == PPE) {
                Some(spe) => format!("{program} (it starts a program on {spe})"),
                None => program.to_owned(),
            };
            running.extend(able.map(|thread| Running {
                who: processor.name_of(self.threads.number_of(thread)),
                program: program.clone(),
                began_at,
                place: processor.places.of((thread as usize, 0)),
            }));
        }
        running
    }

    /// Returns all processors, the PPE last, because it usually waits for the SPEs.
    fn spes_then_ppe(&self) -> impl Iterator<Item = &SimProcessor> {
        let (ppe, spes) = self.processors.split_at(PPE + 1);
        spes.iter().chain(ppe).map(|processor| &**processor)
    }
}
