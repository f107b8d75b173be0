//! The event loop, and the threads of each processor, which decide when each program runs.
//!
//! All programs of a simulated machine are cooperative threads of one OS thread, so one program
//! runs at a time. There is no separate thread for the event loop. A thread that has to wait runs
//! the loop on its own stack until some thread can continue, and then switches directly to that
//! thread. Often the waiting thread itself is the next thread that can continue.
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
//! The time of a processor runs ahead of the clock, by its *lag*: the sum of the times of `compute`
//! and other calls. Before its next interaction with another processor, a processor *pays* the lag:
//! it lets that time pass. Two kinds of interaction pay the lag without an extra event, which
//! halves the events of an exchange of words. First, the departure of a word is an event anyway,
//! and is planned for a time that includes the lag. Second, a waiting thread lets its lag pass
//! while it waits.
//!
//! Only one thread of an SPE runs in simulated time. The others are ready, or wait.
//!
//! All functions of this module are methods of [`World`](crate::world::World).

mod ending;
mod events;
mod passing;
mod switching;
mod waiting;
