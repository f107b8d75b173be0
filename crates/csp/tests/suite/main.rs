//! What channels and networks promise, each written once and run on every machine.

mod alternation;
mod channels;
mod defects;
mod ends;
mod failures;
mod named;
mod networks;
#[path = "../../../../tests/plain_machine.rs"]
mod plain_machine;
mod processes;
mod ring;
mod schedules;
mod streams;
mod stress;
mod transports;

use std::cell::Cell;

use cellworks_csp::{Network, Transport};
use cellworks_host::Host;
use cellworks_machine::{Machine, SpeId};
use cellworks_sim::{Description, Sim};
use plain_machine::PlainMachine;

/// How many SPEs the machines of these tests have. Computers with fewer CPUs share them out.
const SPES: usize = 4;

fn host() -> Host {
    Host::builder().spes(SPES).build().unwrap()
}

fn strict_host() -> Host {
    Host::builder().spes(SPES).strict().build().unwrap()
}

/// A machine that is no Cell.
fn plain() -> PlainMachine {
    PlainMachine::new(SPES)
}

/// A QS22, simulated, with two SPEs of each Cell.
fn qs22() -> Sim {
    qs22_with_seed(0)
}

/// With events of the same instant in another order for each seed.
fn qs22_with_seed(seed: u64) -> Sim {
    let mut description = Description::built_in("qs22").unwrap();
    for cell in &mut description.cells {
        cell.spes.truncate(SPES / 2);
    }
    Sim::builder(description).seed(seed).build()
}

thread_local! {
    /// What the networks of the present case are to use; each has an OS thread of its own.
    static TRANSPORT: Cell<Transport> = const { Cell::new(Transport::Direct) };
}

/// Has the networks of the present case use `transport`.
fn by(transport: Transport) {
    TRANSPORT.set(transport);
}

/// A network that uses the transport of the present case.
fn network<M: Machine>(machine: &M) -> Network<'_, M> {
    let mut network = Network::on(machine);
    network.transport(TRANSPORT.get());
    network
}

/// Runs each case, a function generic over the machine, on every machine, with every transport
/// where there is a choice; those that need a Cell come last.
macro_rules! on_every_machine {
    ($($case:ident),* $(,)? $(; on Cells: $($on_cells:ident),* $(,)?)?) => {
        mod on_host {
            $(#[test] fn $case() { super::$case(&crate::host()); })*
            $($(#[test] fn $on_cells() { super::$on_cells(&crate::host()); })*)?
        }
        mod on_plain { $(#[test] fn $case() { super::$case(&crate::plain()); })* }
        $crate::with_every_transport![$($case,)* $($($on_cells),*)?];
    };
}

/// Runs each case where SPEs are confined to their local stores, with every transport.
macro_rules! with_every_transport {
    ($($case:ident),* $(,)?) => {
        $crate::with_every_transport!(@on on_qs22_direct, qs22, Direct, ($($case)*));
        $crate::with_every_transport!(@on on_qs22_coordinator, qs22, Coordinator, ($($case)*));
        $crate::with_every_transport!(@on on_strict_host_direct, strict_host, Direct, ($($case)*));
        $crate::with_every_transport!(@on on_strict_host_coordinator, strict_host, Coordinator, ($($case)*));
    };
    (@on $name:ident, $machine:ident, $transport:ident, ($($case:ident)*)) => {
        mod $name {
            $(#[test] fn $case() {
                crate::by(cellworks_csp::Transport::$transport);
                super::$case(&crate::$machine());
            })*
        }
    };
}
pub(crate) use {on_every_machine, with_every_transport};

fn spe(index: u16) -> SpeId {
    SpeId::new(index)
}
