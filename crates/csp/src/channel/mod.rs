//! The raw channel, which its ends and alternations share.
//!
//! ```text
//!   Writer's ChannelEnd ─┐                                                  ┌─ Reader's ChannelEnd
//!                        ▼                                                  ▼
//!   RawChannel   lock: the word at which one writer and one reader meet without the lock
//!                reader, writer: the nodes of the only reader and the only writer
//!                state, under the lock: buffer, queues of nodes, guards of alternations
//! ```
//!
//! Read `node` first (what a waiting process leaves at a channel), then `lock` (the word, and the
//! lock in it), `queue` (several waiting nodes), `party` (what an alternation leaves) and
//! `protocol` (the steps under the lock). `partner` is what an end knows of the other side. `waker`
//! has the processes that a step wakes. `link` is a channel for reports and transports. How an item
//! goes is in [`way`](crate::way).

pub(crate) mod link;
pub(crate) mod lock;
pub(crate) mod node;
pub(crate) mod partner;
pub(crate) mod party;
pub(crate) mod protocol;
pub(crate) mod queue;
pub(crate) mod waker;

use std::panic::Location;
use std::sync::{Mutex, OnceLock};
// Models use these atomics of std, too, because reports are no part of the protocol.
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use self::link::{Carried, Link, Side, Waiting};
use self::lock::{AcrossSpes, Lock, Word};
use self::node::{InLine, Node};
use self::partner::Partner;
use self::protocol::State;
use crate::network::running;
use crate::process::Identity;
use crate::sync::{self, UnsafeCell};
use crate::way::ring::Ring;

// The fields that steps of the protocol change come first, at the start of a cache line.
#[repr(C, align(64))]
pub(crate) struct RawChannel<T, L> {
    pub(crate) lock: L,
    /// The [`Identity::user`] number of the process that read last, or [`NONE`].
    last_reader: AtomicU64,
    /// The node of the only reader. With a small item it is in the cache line of the lock, so that a
    /// writer that finds a waiting reader takes one line from the reader's core.
    reader: Node<T>,
    last_writer: AtomicU64,
    state: UnsafeCell<State<T>>,
    /// The node of the only writer, in cache lines of its own.
    writer: InLine<T>,
    /// The number of the network that uses the channel, or [`NO_NETWORK`].
    network: AtomicU32,
    /// The id of the channel, if it was [created](crate::Process::create) in a network.
    pub(crate) id: OnceLock<u64>,
    carried: Carried,
    name: Option<String>,
    made_at: &'static Location<'static>,
}

const NONE: u64 = u64::MAX;

const NO_NETWORK: u32 = u32::MAX;

// SAFETY: the state is accessed only under the lock. A lock that is `AcrossSpes` excludes other
// threads. Items are `Send`. Nodes are in the frames of waiting processes, and are accessed under
// the lock, after removal from the word, or as described at `Node`. All other fields are `Sync`.
unsafe impl<T: Send, L: AcrossSpes> Sync for RawChannel<T, L> {}
// SAFETY: as above.
unsafe impl<T: Send, L: Send> Send for RawChannel<T, L> {}

impl<T, L: Lock> RawChannel<T, L> {
    /// Makes a channel. `is_one_to_one` means that there is never a second reader or writer.
    pub(crate) fn new(
        capacity: usize,
        is_one_to_one: bool,
        name: Option<String>,
        made_at: &'static Location<'static>,
    ) -> Self {
        Self {
            lock: L::default(),
            last_reader: AtomicU64::new(NONE),
            reader: Node::new(false),
            last_writer: AtomicU64::new(NONE),
            writer: InLine(Node::new(false)),
            network: AtomicU32::new(NO_NETWORK),
            state: UnsafeCell::new(State::new(capacity, is_one_to_one)),
            id: OnceLock::new(),
            carried: Carried {
                is_one_to_one,
                users: Mutex::default(),
            },
            name,
            made_at,
        }
    }

    #[inline]
    pub(crate) fn lock(&self) -> Locked<'_, T, L> {
        let word = self.lock.lock();
        let mut locked = Locked(self);
        if word != Word::GENERAL {
            locked.queue_up(word);
        }
        locked
    }

    /// Prefetches what a meeting with `partner` will write, if it may be in another core's cache.
    #[inline(always)]
    pub(crate) fn prefetch(&self, partner: Partner) {
        if L::IS_SHARED {
            prefetch_to_write(partner.0);
            prefetch_to_write(std::ptr::from_ref(self).addr());
        }
    }

    /// Prefetches the node at an address, if it may be in another core's cache.
    #[inline(always)]
    pub(crate) fn prefetch_node(&self, address: usize) {
        if L::IS_SHARED {
            prefetch_to_write(address);
        }
    }

    /// Prefetches what a step under the lock will write, so that its lines come at the same time.
    #[inline(always)]
    pub(crate) fn prefetch_state(&self) {
        if L::IS_SHARED {
            prefetch_to_write(std::ptr::from_ref(self).addr());
            prefetch_to_write(std::ptr::from_ref(&self.state).addr());
        }
    }

    /// Records that a process will use an end of this side. The CPU need not wait for the store.
    #[inline(always)]
    pub(crate) fn record_user(&self, side: Side, identity: &Identity<'_>) {
        self.last_user(side)
            .store(identity.user(), Ordering::Relaxed);
    }

    /// Records that the process of an alternation uses this side. If the process is a new user,
    /// calls [`join_network`](Self::join_network), and returns true. The caller has the lock.
    #[inline(always)]
    pub(crate) fn record_user_under_lock(&self, side: Side, identity: &Identity<'_>) -> bool {
        let last = self.last_user(side);
        let is_new = last.load(Ordering::Relaxed) != identity.user();
        if is_new {
            self.join_network(identity);
            last.store(identity.user(), Ordering::Relaxed);
        }
        is_new
    }

    fn last_user(&self, side: Side) -> &AtomicU64 {
        match side {
            Side::Reader => &self.last_reader,
            Side::Writer => &self.last_writer,
        }
    }

    /// Records the network of a process that is going to use the channel. Panics if the channel
    /// belongs to another network that still runs.
    #[cold]
    #[inline(never)]
    pub(crate) fn join_network(&self, identity: &Identity<'_>) {
        let network = identity.network();
        let joined = self
            .network
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |other| {
                (other == network || !running::is_running(other)).then_some(network)
            });
        if let Err(other) = joined {
            running::refuse_second_network(identity, &self.name(), other);
        }
    }

    /// Returns the node of the only process that uses this side.
    #[inline(always)]
    pub(crate) fn node(&self, side: Side) -> &Node<T> {
        match side {
            Side::Reader => &self.reader,
            Side::Writer => &self.writer.0,
        }
    }

    pub(crate) fn waiting(&self, side: Side) -> Waiting<'_> {
        match side {
            Side::Reader => Waiting::Read(self),
            Side::Writer => Waiting::Write(self),
        }
    }
}

impl<T, L: Lock> Link for RawChannel<T, L> {
    fn name(&self) -> String {
        match (self.id.get(), &self.name) {
            (Some(id), Some(name)) => format!("the channel {id}, `{name}`"),
            (Some(id), None) => format!("the channel {id}"),
            (None, Some(name)) => format!("the channel `{name}`"),
            (None, None) => format!("the channel made at {}", self.made_at),
        }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn last_users(&self) -> (Option<u32>, Option<u32>) {
        let known = |side| {
            let user = self.last_user(side).load(Ordering::Relaxed);
            (user != NONE).then(|| Identity::number_of(user))
        };
        (known(Side::Reader), known(Side::Writer))
    }

    fn carried(&self) -> Option<&Carried> {
        L::IS_SHARED.then_some(&self.carried)
    }
}

/// The state of a channel, which is locked as long as this value lives.
pub(crate) struct Locked<'a, T, L: Lock>(&'a RawChannel<T, L>);

impl<T, L: Lock> Locked<'_, T, L> {
    #[inline(never)]
    fn queue_up(&mut self, word: Word) {
        for side in [Side::Reader, Side::Writer] {
            if let Some(node) = word.waiting(side) {
                // SAFETY: a node in the word belongs to a waiting process, and is in no queue.
                unsafe { self.queue(side).append(node) };
            }
        }
    }
}

impl<T, L: Lock> Drop for Locked<'_, T, L> {
    #[inline]
    fn drop(&mut self) {
        let word = self.rest();
        self.0.lock.unlock(word);
    }
}

impl<T, L: Lock> std::ops::Deref for Locked<'_, T, L> {
    type Target = State<T>;
    #[inline]
    fn deref(&self) -> &State<T> {
        // SAFETY: a `Locked` has the lock.
        self.0.state.with_mut(|state| unsafe { &*state })
    }
}

impl<T, L: Lock> std::ops::DerefMut for Locked<'_, T, L> {
    #[inline]
    fn deref_mut(&mut self) -> &mut State<T> {
        // SAFETY: a `Locked` has the lock.
        self.0.state.with_mut(|state| unsafe { &mut *state })
    }
}

pub(crate) struct ChannelEnd<T, L> {
    pub channel: std::sync::Arc<RawChannel<T, L>>,
    /// The channel's ring buffer, if the channel has one.
    pub ring: Option<sync::Arc<Ring<T>>>,
    pub partner: Partner,
    /// Whether this is the only end of its side, and ends may be on several processors. Then a
    /// process that waits uses the channel's [node](RawChannel::node).
    pub has_node: bool,
    /// The number of the network that has last used the end, or [`NO_NETWORK`].
    network: u32,
}

impl<T, L: Lock> ChannelEnd<T, L> {
    pub(crate) fn new(channel: std::sync::Arc<RawChannel<T, L>>) -> Self {
        let ring = channel.lock().ring().cloned();
        let has_node = L::IS_SHARED && channel.carried.is_one_to_one;
        Self {
            channel,
            ring,
            has_node,
            partner: Partner::default(),
            network: NO_NETWORK,
        }
    }

    /// Called before a process uses the end. Calls [`RawChannel::join_network`] only if the network
    /// of the process is new to this end, because `RawChannel::join_network` accesses a cache line
    /// that may be in the cache of another core. Local ends need no check.
    #[inline(always)]
    pub(crate) fn join_network(&mut self, identity: &Identity<'_>) {
        if L::IS_SHARED && self.network != identity.network() {
            self.channel.join_network(identity);
            self.network = identity.network();
        }
    }
}

/// Prefetches a cache line for writing, which removes the line from other cores' caches. A prefetch
/// accesses no memory, so any address is allowed.
#[inline(always)]
fn prefetch_to_write(address: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch accesses no memory.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
