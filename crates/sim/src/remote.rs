//! Remote wakers, which wake a thread of a run from any OS thread.
//!
//! A run and its world stay on one OS thread. A remote waker may move to another OS thread, so the
//! waker holds only the address of the world. Only the OS thread of the run can find the world by
//! this address.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use cellworks_machine::RemoteWaker;

use crate::world::World;

thread_local! {
    /// The worlds of this OS thread that have remote wakers, by address. A reference in this table
    /// keeps the memory of a world, so no other world gets its address.
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
