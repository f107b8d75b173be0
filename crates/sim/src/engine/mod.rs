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
//! A *condition* is the closure `ready` of a wait. The event loop calls it to find out whether the
//! wait has ended.
//!
//! Time within a processor runs ahead of the clock: `compute` and other small costs add up to a
//! *lag*. Before its next interaction with another processor, a processor pays the lag: it lets
//! that time pass. Two kinds of interaction need no event for the payment, which halves the events
//! of an exchange of words. A sent word needs an event for its departure anyway, and that event can
//! be later by the lag. A thread that waits for another processor can pay while it waits.
//!
//! In simulated time one thread of an SPE runs. Its other threads are ready, or wait.
//!
//! All functions here are methods of [`World`](crate::world::World).

mod ending;
mod events;
mod passing;
mod switching;
mod waiting;
