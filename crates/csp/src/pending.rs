//! Whom dropped ends have to wake, and through whom.
//!
//! An end can be dropped anywhere, in a destructor that has no process at hand. So who runs
//! processes on an OS thread says how a process is woken from there. The programs of an
//! [open network](crate::OpenNetwork) say nothing of the kind, and threads outside, which have come
//! through a [gate](crate::Gate), run no program: their networks say how a process is woken from
//! any OS thread. An end of another network that is dropped on an OS thread which runs nothing of
//! it wakes no process.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::sync::locked;
use crate::waker::{Waker, Woken};

type Wake<'a> = dyn Fn(Waker) + 'a;

thread_local! {
    /// For each program of a network that runs here, the network and how to wake its processes.
    static HERE: RefCell<Vec<(u32, *const Wake<'static>)>> = const { RefCell::new(Vec::new()) };
}

type RemoteWake = Arc<dyn Fn(Waker) + Send + Sync>;

/// What wakes the processes of each network that says so, by its number.
static REMOTE: Mutex<BTreeMap<u32, RemoteWake>> = Mutex::new(BTreeMap::new());

/// What has no other way to wake processes of this network does it by `wake` from now on.
pub(crate) fn wake_remotely(network: u32, wake: impl Fn(Waker) + Send + Sync + 'static) {
    locked(&REMOTE).insert(network, Arc::new(wake));
}

/// The network has no processes any more.
pub(crate) fn end_remote_wakes(network: u32) {
    locked(&REMOTE).remove(&network);
}

/// Wakes a process in the way that its network says, if it does.
pub(crate) fn wake_remote(process: Waker) {
    let wake = locked(&REMOTE).get(&process.network).cloned();
    if let Some(wake) = wake {
        wake(process);
    }
}

/// Runs a program of a network. Ends that are dropped on this OS thread meanwhile, by any program,
/// wake through `wake`.
pub(crate) fn with_wakes<R>(network: u32, wake: &Wake<'_>, program: impl FnOnce() -> R) -> R {
    struct Leaves(*const Wake<'static>);
    impl Drop for Leaves {
        fn drop(&mut self) {
            HERE.with_borrow_mut(|here| here.retain(|(_, wake)| !std::ptr::addr_eq(*wake, self.0)));
        }
    }
    // SAFETY: only the lifetime changes, and the pointer is forgotten before this returns or
    // unwinds.
    let wake = unsafe { std::mem::transmute::<*const Wake<'_>, *const Wake<'static>>(wake) };
    HERE.with_borrow_mut(|here| here.push((network, wake)));
    let _leaves = Leaves(wake);
    program()
}

/// The network of which a program runs on this OS thread, the innermost one.
pub(crate) fn network_here() -> Option<u32> {
    HERE.with_borrow(|here| here.last().map(|(network, _)| *network))
}

/// Wakes those that a dropped end gave a reason to go on.
pub(crate) fn wake(woken: Woken) {
    woken.for_each(|waker| {
        let wake = HERE.try_with(|here| {
            let here = here.borrow();
            let of_network = here
                .iter()
                .rev()
                .find(|(network, _)| *network == waker.network);
            of_network.map(|(_, wake)| *wake)
        });
        let Ok(Some(wake)) = wake else {
            return wake_remote(waker);
        };
        // SAFETY: the call of `with_wakes` that it was given to has not returned, as it is
        // still listed.
        unsafe { (*wake)(waker) };
    });
}
