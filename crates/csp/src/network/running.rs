//! The networks that run now, for errors that name them.

use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::Mutex;

use crate::process::Identity;
use crate::sync::locked;

/// The line of the source that runs each network, by network number.
static NETWORKS: Mutex<BTreeMap<u32, &'static Location<'static>>> = Mutex::new(BTreeMap::new());

pub(crate) struct Running(u32);

impl Running {
    pub(crate) fn new(network: u32, at: &'static Location<'static>) -> Self {
        locked(&NETWORKS).insert(network, at);
        Self(network)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        locked(&NETWORKS).remove(&self.0);
    }
}

pub(crate) fn location_of(network: u32) -> Option<&'static Location<'static>> {
    locked(&NETWORKS).get(&network).copied()
}

pub(crate) fn is_running(network: u32) -> bool {
    location_of(network).is_some()
}

#[cold]
pub(crate) fn refuse_second_network(identity: &Identity<'_>, channel: &str, other: u32) -> ! {
    let run_at = |network| match location_of(network) {
        Some(at) => format!("the network that was run at {at}"),
        None => "a network that has ended".to_owned(),
    };
    panic!(
        "the process `{}` of {} was going to use {channel}, which {} uses; all processes that use a channel have to belong to \
         one network: put them into one, or run the second network when the first one has ended",
        identity.name(),
        run_at(identity.network()),
        run_at(other)
    );
}
