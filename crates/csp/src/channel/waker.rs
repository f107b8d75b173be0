//! The processes that a step of the protocol has to wake.

use cellworks_machine::Sleeper;

/// The handle by which other processes wake a process.
// The fields fill whole vector registers, so that each wait can copy a waker fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waker {
    pub sleeper: Sleeper,
    /// The number of the process in its network.
    pub process: u32,
    pub network: u32,
}

impl Waker {
    /// Returns a handle to the same process. `polls` says whether the process polls: see
    /// [`Sleeper::polling`](cellworks_machine::Sleeper::polling).
    #[inline(always)]
    pub(crate) fn polling(self, polls: bool) -> Self {
        Self {
            sleeper: self.sleeper.polling(polls),
            ..self
        }
    }
}

/// The processes that can go on after a step, and are woken after the channel's lock is released.
#[derive(Debug, Default)]
#[must_use = "a process that is not woken waits for ever"]
pub(crate) enum Woken {
    #[default]
    None,
    One(Waker),
    Several(Vec<Waker>),
}

impl Woken {
    #[inline(always)]
    pub(crate) fn add(&mut self, waker: Waker) {
        *self = match std::mem::take(self) {
            Self::None => Self::One(waker),
            Self::One(first) => Self::Several(vec![first, waker]),
            Self::Several(mut all) => {
                all.push(waker);
                Self::Several(all)
            }
        };
    }

    #[inline(always)]
    pub(crate) fn for_each(self, mut wake: impl FnMut(Waker)) {
        match self {
            Self::None => {}
            Self::One(waker) => wake(waker),
            Self::Several(all) => all.into_iter().for_each(wake),
        }
    }
}
