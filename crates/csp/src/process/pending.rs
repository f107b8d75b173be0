//! How dropping an end of a channel wakes the processes that wait at the channel.
//!
//! An end can be dropped in any destructor, where no [`Process`](crate::Process) is known.
//! Therefore each program of a network registers a function that wakes processes from the program's
//! OS thread. [Open networks](crate::OpenNetwork) and networks with [outside
//! threads](crate::outside) register a function that wakes processes from any OS thread. In other
//! networks, an end that is dropped on another OS thread wakes no process.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex};

use crate::channel::waker::{Waker, Woken};
use crate::sync::locked;

type Wake<'a> = dyn Fn(Waker) + 'a;

thread_local! {
    /// For each program on this OS thread: its network, and the function that wakes processes.
    ///
    /// Without a destructor, so that a network may run in the destructor of another thread-local.
    static HERE: RefCell<ManuallyDrop<Vec<(u32, *const Wake<'static>)>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
}

type RemoteWake = Arc<dyn Fn(Waker) + Send + Sync>;

/// The functions that wake processes from any OS thread, by network number.
static REMOTE: Mutex<BTreeMap<u32, RemoteWake>> = Mutex::new(BTreeMap::new());

pub(crate) fn wake_remotely(network: u32, wake: impl Fn(Waker) + Send + Sync + 'static) {
    locked(&REMOTE).insert(network, Arc::new(wake));
}

pub(crate) fn end_remote_wakes(network: u32) {
    locked(&REMOTE).remove(&network);
}

/// Wakes a process by the function of [`wake_remotely`], if there is one.
pub(crate) fn wake_remote(process: Waker) {
    let wake = locked(&REMOTE).get(&process.network).cloned();
    if let Some(wake) = wake {
        wake(process);
    }
}

/// Runs a program. Meanwhile, dropping an end on this OS thread wakes processes by `wake`.
pub(crate) fn with_wakes<R>(network: u32, wake: &Wake<'_>, program: impl FnOnce() -> R) -> R {
    struct Leaves(*const Wake<'static>);
    impl Drop for Leaves {
        fn drop(&mut self) {
            HERE.with_borrow_mut(|here| {
                here.retain(|(_, wake)| !std::ptr::addr_eq(*wake, self.0));
                if here.is_empty() {
                    drop(std::mem::take(&mut **here));
                }
            });
        }
    }
    // SAFETY: only the lifetime changes, and the pointer is removed before this function ends.
    let wake = unsafe { std::mem::transmute::<*const Wake<'_>, *const Wake<'static>>(wake) };
    HERE.with_borrow_mut(|here| here.push((network, wake)));
    let _leaves = Leaves(wake);
    program()
}

/// Returns the network of the innermost program that runs on this OS thread.
pub(crate) fn network_here() -> Option<u32> {
    HERE.with_borrow(|here| here.last().map(|&(network, _)| network))
}

pub(crate) fn wake(woken: Woken) {
    woken.for_each(|waker| {
        let wake = HERE.with_borrow(|here| {
            let of_network = here
                .iter()
                .rev()
                .find(|(network, _)| *network == waker.network);
            of_network.map(|(_, wake)| *wake)
        });
        let Some(wake) = wake else {
            return wake_remote(waker);
        };
        // SAFETY: the pointer is still in the list, so its call of `with_wakes` has not returned.
        unsafe { (*wake)(waker) };
    });
}
