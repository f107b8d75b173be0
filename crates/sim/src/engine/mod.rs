//! Which program runs when: the event loop, and the threads of each processor.
//!
//! All programs of a simulated machine are cooperative threads of one OS thread, and one of them
//! runs at a time. No separate thread runs the event loop. A thread that has to wait runs the loop
//! on its own stack until some thread may go on, and then switches directly to that thread. Often
//! the thread that may go on is the waiting thread itself.
//!
//! ```text
//!   a program calls            suspend(me): loop
//!   pass(cycles) ─────────►      next event ─► fabric, MFC, words ... ─► check the conditions of
//!   wait_until(ready) ────►                                              the processor's threads
//!   yield_now() ──────────►      a thread may go on ─► me? return : switch to it
//!                                no event is left    ─► deadlock: list the waits, cancel all
//! ```
//!
//! A *condition* is the closure `ready` of a wait, which tells the event loop whether the wait is
//! over.
//!
//! Time within a processor runs ahead of the clock: `compute` and other small costs add up to a
//! *lag*. Before its next interaction with another processor, a processor pays the lag: it lets
//! that time pass. Two kinds of interaction need no extra event for this, which halves the events
//! of an exchange of words. First, the departure of a word is an event anyway, which is then
//! planned later by the lag. Second, a thread that waits for another processor lets its lag pass
//! while it waits.
//!
//! Of the threads of an SPE, only one runs in simulated time. The others are ready, or wait.
//!
//! All functions here are methods of [`World`](crate::world::World).

mod ending;
mod events;
mod passing;
mod switching;
mod waiting;
