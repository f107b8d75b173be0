//! Tests of channels and networks. Each test is written once and runs on every machine.

mod alternation;
mod asynchronous;
mod channels;
mod classics;
mod defects;
mod ends;
mod failures;
mod gate;
mod items;
#[path = "../../../../tests/machines.rs"]
mod machines;
mod named;
mod networks;
mod open;
mod patience;
mod processes;
#[path = "../../examples/ring/mod.rs"]
mod ring;
mod schedules;
mod shares;
mod starts;
mod streams;
mod stress;
mod transports;
mod volumes;

use std::cell::Cell;

use cellworks_csp::{Network, Transport};
use cellworks_machine::{Machine, SpeId};
use machines::{host, plain, qs22, qs22_with_seed, strict_host};

thread_local! {
    /// The transport of the networks in the case that runs. Each case has an OS thread of its own.
    static TRANSPORT: Cell<Transport> = const { Cell::new(Transport::Direct) };
}

/// Makes the networks of this case use `transport`.
fn by(transport: Transport) {
    TRANSPORT.set(transport);
}

/// Makes a network that uses the transport of this case.
fn network<M: Machine>(machine: &M) -> Network<'_, M> {
    let mut network = Network::on(machine);
    network.transport(TRANSPORT.get());
    network
}

/// Runs each case on every machine, and with every transport if transports matter. A case is a
/// function that is generic over the machine. Cases that need a Cell come last. The plain machine
/// shows what channels ask of a machine, which does not depend on optimisation: it has no part in
/// release, because a release build of the suite would have a sixth more code for it.
macro_rules! on_every_machine {
    ($($case:ident),* $(,)? $(; on Cells: $($on_cells:ident),* $(,)?)?) => {
        mod on_host {
            $(#[test] fn $case() { super::$case(&crate::host()); })*
            $($(#[test] fn $on_cells() { super::$on_cells(&crate::host()); })*)?
        }
        #[cfg(debug_assertions)]
        mod on_plain { $(#[test] fn $case() { super::$case(&crate::plain()); })* }
        $crate::with_every_transport![$($case,)* $($($on_cells),*)?];
    };
}

/// Runs each case with every transport, on machines whose SPEs are confined to their local stores.
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
