//! Waking from wherever a program of a run is.
//!
//! A run has one OS thread, and its world stays there. What is handed out may go elsewhere, so it
//! has the name of a world only, which this OS thread knows.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use cellworks_machine::RemoteWaker;

use crate::world::World;

thread_local! {
    /// The worlds of this OS thread that programs may wake threads of, by their addresses: which
    /// no other world has as long as it is here.
    static WORLDS: RefCell<BTreeMap<usize, Weak<World>>> = const { RefCell::new(BTreeMap::new()) };
}

/// See [`Wake::remote_waker`](cellworks_machine::Wake::remote_waker).
pub(crate) fn remote_waker(world: &Rc<World>) -> RemoteWaker {
    let address = Rc::as_ptr(world).addr();
    WORLDS.with_borrow_mut(|worlds| {
        worlds.retain(|_, world| world.strong_count() > 0);
        worlds.insert(address, Rc::downgrade(world));
    });
    RemoteWaker::new(move |sleeper| {
        let world = WORLDS.try_with(|worlds| worlds.borrow().get(&address)?.upgrade());
        if let Ok(Some(world)) = world {
            world.notify(world.named(sleeper.processor()));
        }
    })
}
