//! The main loop of a worker, which runs the programs of its SPEs.

// Rejected: the same `HostSpe` for all programs of an SPE in a run. A program could find stalled
// lists and leaked buffers of the previous program. (`HostSpe::is_as_new` looks for such remains.)

use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

use cellworks_machine::{SpeId, Wait};
use cellworks_threads as threads;

use crate::cpu_time::cpu_time_of_this_thread;
use crate::layout::WorkerLayout;
use crate::pin::Pinned;
use crate::programs::Programs;
use crate::spe::HostSpe;
use crate::worker::{NO_PROGRAM, OWNER, Worker};

/// Runs a worker on its OS thread until the run ends.
pub(crate) fn run_worker(programs: &Arc<Programs>, seat: usize, layout: WorkerLayout) {
    let run = programs.run();
    let before_ns = cpu_time_of_this_thread();
    // The host has already reported a failure to pin threads.
    let is_pinned = Pinned::to(layout.cpu).map(Pinned::for_good).is_ok();
    run.parking.take_seat(seat);
    let config = threads::Config {
        stack_bytes: run.stack_bytes,
        larger_stacks: "HostBuilder::stack_bytes, or, for one process of a network or one thread, with \
                        process_with_stack or ThreadBuilder::stack_bytes; or keep large values in a Box or Vec",
    };
    let worker = Worker::at(seat, Arc::clone(run), &layout);
    let served = OWNER.run(&config, &*worker, || {
        OWNER.scope_at(Location::caller(), |scope| {
            for spe in layout.spes {
                let worker = Rc::clone(&worker);
                let server = scope.builder().name(spe.to_string());
                drop(server.spawn(move || serve(programs, &worker, spe)));
            }
        });
    });
    // The error is ignored, because the run reports the cancelled threads.
    drop(served);
    if is_pinned {
        run.cpu_time.add(seat, before_ns);
    }
}

fn serve(programs: &Programs, worker: &Rc<Worker>, id: SpeId) {
    let run = programs.run();
    let mut spe = HostSpe::new(id, Rc::clone(worker));
    let mut next = None;
    loop {
        let came = worker.wait_until(&NO_PROGRAM, &mut || {
            if !run.is_cancelled() {
                next = programs.next(id);
            }
            next.is_some() || run.has_ended()
        });
        match next.take() {
            Some(program) if came => programs.execute(&spe, id, program),
            _ => return,
        }
        if !spe.is_as_new() {
            spe = HostSpe::new(id, Rc::clone(worker));
        }
    }
}
