//! Remote wakers, which wake a thread of a run from any OS thread.
//!
//! A `World` must stay on its OS thread. Therefore a remote waker holds the address of the `World`,
//! and looks the address up on the OS thread of the run.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use cellworks_machine::RemoteWaker;

use crate::world::World;

thread_local! {
    /// The `World`s of this OS thread that have remote wakers, by address. A `Weak` keeps an
    /// address from being used again.
    static WORLDS: RefCell<BTreeMap<usize, Weak<World>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Makes a waker for [`Wake::remote_waker`](cellworks_machine::Wake::remote_waker).
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
