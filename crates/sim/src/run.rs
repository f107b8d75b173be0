//! A run of a simulated machine, from its first program to its last.

use std::cell::RefCell;
use std::io;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use cellworks_machine::memory::Translation;
use cellworks_machine::{LocalStore, Machine, Ppe, RunEnd, RunError, SpeId};
use cellworks_threads as threads;

use crate::atomic::AtomicCaches;
use crate::clock::Clock;
use crate::costs::Costs;
use crate::fabric::Fabric;
use crate::hazard::Hazards;
use crate::index::PPE;
use crate::mfc::{MfcState, Mfcs};
use crate::observe::{Counters, Observer};
use crate::observers::Observers;
use crate::part::Part;
use crate::ppe::SimPpe;
use crate::programs::{Programs, is_cancellation};
use crate::setup::Setup;
use crate::spe::SimSpe;
use crate::threads::OWNER;
use crate::watchdog::{self, Pulse};
use crate::world::{Failure, World};

type Trace = Box<dyn io::Write + Send>;

pub(crate) type Main<'a, 'env, M> = Box<dyn for<'scope> FnOnce(&'scope Ppe<'scope, 'env, M>) + 'a>;

/// Runs `main` on a machine. Returns how the run ended, and its counters or the error of writing
/// its trace. `main` is a trait object, so that this function is compiled only once.
#[track_caller]
pub(crate) fn run<'env, M: Machine<Spe = SimSpe, Core = SimPpe>>(
    setup: &'env Setup,
    trace: Option<Trace>,
    main: Main<'_, 'env, M>,
) -> (Result<(), RunError>, io::Result<Counters>) {
    let caller = Location::caller();
    let world = Rc::new(world_of(setup, trace, caller));
    let spes = setup.topology.spes();
    let programs = Rc::new(Programs::new(Rc::clone(&world), setup.options.ppe_access));
    let translation = Translation::new(Arc::clone(&setup.space));
    let ppe = Ppe::new(SimPpe::new(
        Rc::clone(&programs),
        translation,
        setup.timebase(),
    ));
    let config = threads::Config {
        stack_bytes: setup.options.stack_bytes,
        larger_stacks: "SimBuilder::stack_bytes, or keep large values in a Box or Vec",
    };
    let mut result = None;
    let mut was_cancelled = false;
    let mut panic_before = None;
    let watching = watchdog::watch(&world.observers.pulse);
    let _ = OWNER.run(&config, &*world, || {
        OWNER.scope_at(caller, |scope| {
            for spe in spes {
                let programs = &programs;
                let server = scope.builder().name(spe.to_string());
                drop(server.spawn(move || programs.serve(setup, spe)));
            }
            let me = world.adopt(world.processor(PPE), 0);
            world.take_processor(me);
            // Each SPE runs until its first wait.
            OWNER.yield_now();
            result = Some(catch_unwind(AssertUnwindSafe(|| {
                OWNER.run_main(|| main(&ppe));
                ppe.core().wait_for_programs(caller);
            })));
            // This comes before the cancellation, because cancelled programs may panic too.
            panic_before = programs.first_panic();
            was_cancelled = threads::is_cancelled();
            if result.as_ref().is_some_and(Result::is_err) {
                world.cancel_all();
            } else {
                world.leave(world.processor(PPE));
                programs.end();
            }
        });
    });
    drop(watching);
    programs.drop_queued();
    let counters = world.finish();
    let main = result.expect("the main program was run");
    let end = RunEnd {
        main_was_cancelled: main.as_ref().is_err_and(is_cancellation),
        main,
        was_cancelled,
        panic_before,
        panic_after: programs.first_panic(),
        cancelled_for: world.take_failure().map(|failure| match failure {
            Failure::TimeLimit(running, programs) => RunError::TimeLimit {
                limit: setup.options.limit,
                running,
                programs,
            },
            Failure::Deadlock(waits) => RunError::Deadlock { waits },
        }),
    };
    (end.conclude(), counters)
}

fn world_of(setup: &Setup, trace: Option<Trace>, began_at: &'static Location<'static>) -> World {
    let Setup {
        description,
        topology,
        options,
        space,
        local_stores,
    } = setup;
    let spes = topology.spes();
    let mut costs = Costs::of(description);
    let mut fabric = Fabric::new(description);
    match options.free {
        Some(Part::Ports) => fabric.free_ports(),
        Some(Part::Spus) => costs.spu_cycles_max = 1,
        Some(Part::Ppe) => costs.ppe_cycles_max = 1,
        _ => {}
    }
    let mfc = |spe: SpeId| {
        let local_store = LocalStore::new(spe, local_stores[spe.index()].clone());
        let lines = costs.outstanding_requests;
        RefCell::new(MfcState::new(spe, space, local_store, lines))
    };
    let caches = AtomicCaches::new(spes.len(), description.atomic.cache_lines.value as usize);
    let mfcs = Mfcs::new(spes.clone().map(mfc).collect(), caches);
    let addresses = local_stores
        .iter()
        .map(|region| region.at(0).0..region.at(region.bytes()).0);
    let observers = Observers::new(
        Observer::new(topology.name(), spes.len(), trace),
        Hazards::new(options.hazards, addresses.collect()),
        Pulse::new(topology.name(), spes.len(), began_at),
        options.window,
    );
    World::new(
        topology.clone(),
        costs,
        mfcs,
        observers,
        fabric,
        Clock::new(options.seed, setup.limit()),
    )
}
