//! Whom a step of the protocol has to wake.

use cellworks_machine::Sleeper;

/// A process that waits, as those who wake it know it.
// With room for vectors: it is copied whenever a process waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waker {
    pub sleeper: Sleeper,
    /// Its number in the network.
    pub process: u32,
    /// The number of its network.
    pub network: u32,
}

impl Waker {
    /// The same process, for a wait in which it polls or not: see
    /// [`Sleeper::polling`](cellworks_machine::Sleeper::polling).
    #[inline(always)]
    pub(crate) fn polling(self, polls: bool) -> Self {
        Self {
            sleeper: self.sleeper.polling(polls),
            ..self
        }
    }
}

/// The processes that a step has given a reason to go on. They are woken when the channel is no
/// longer locked.
#[derive(Debug, Default)]
#[must_use = "who is not woken waits for ever"]
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
