//! Pipelines for look-ups, written by hand as in programs that have no interleaved work. A look-up
//! has `L` dependent misses, and `N` look-ups are in flight. Entries are prefetched into the cache
//! of level `LEVEL`.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use crate::{follow, key};

/// Prefetches an entry into the first-level cache, or only into the second-level one.
#[inline(always)]
fn prefetch<const LEVEL: u8>(table: &[u64], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        let line = (&raw const table[at]).cast();
        // SAFETY: a prefetch only has an effect on the cache.
        unsafe {
            match LEVEL {
                1 => _mm_prefetch::<_MM_HINT_T0>(line),
                _ => _mm_prefetch::<_MM_HINT_T1>(line),
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, at);
}

/// Group prefetching (Chen et al., "Improving hash join performance through prefetching", 2004):
/// all look-ups of a group go through a stage before the next stage begins.
pub fn group<const L: usize, const N: usize, const LEVEL: u8>(table: &[u64], probes: usize) -> u64 {
    let mask = table.len() - 1;
    let mut sum = 0_u64;
    for begin in (0..probes).step_by(N) {
        let count = N.min(probes - begin);
        let (mut keys, mut at, mut words) = ([0; N], [0; N], [0; N]);
        for lane in 0..count {
            keys[lane] = key(begin + lane);
            at[lane] = keys[lane] as usize & mask;
            prefetch::<LEVEL>(table, at[lane]);
        }
        for step in 0..L {
            for lane in 0..count {
                words[lane] = table[at[lane]];
                at[lane] = follow(words[lane], keys[lane], mask);
                if step + 1 < L {
                    prefetch::<LEVEL>(table, at[lane]);
                }
            }
        }
        for word in &words[..count] {
            sum = sum.wrapping_add(*word);
        }
    }
    sum
}

/// AMAC (Kocberber et al., "Asynchronous memory access chaining", 2015): each place in the pipeline
/// has its own state, and begins the next look-up when its last one is done.
pub fn amac<const L: usize, const N: usize, const LEVEL: u8>(table: &[u64], probes: usize) -> u64 {
    #[derive(Clone, Copy, Default)]
    struct State {
        key: u64,
        at: usize,
        steps_left: usize,
    }
    let mask = table.len() - 1;
    let (mut sum, mut next, mut under_way) = (0_u64, 0, 0);
    let mut states = [State::default(); N];
    let begin = |state: &mut State, next: &mut usize| {
        let key = key(*next);
        *next += 1;
        *state = State {
            key,
            at: key as usize & mask,
            steps_left: L,
        };
        prefetch::<LEVEL>(table, state.at);
    };
    for state in &mut states {
        if next < probes {
            begin(state, &mut next);
            under_way += 1;
        }
    }
    while under_way > 0 {
        for state in &mut states {
            if state.steps_left == 0 {
                continue;
            }
            let word = table[state.at];
            state.steps_left -= 1;
            if state.steps_left > 0 {
                state.at = follow(word, state.key, mask);
                prefetch::<LEVEL>(table, state.at);
                continue;
            }
            sum = sum.wrapping_add(word);
            if next < probes {
                begin(state, &mut next);
            } else {
                under_way -= 1;
            }
        }
    }
    sum
}

/// A future that is pending once.
struct Later(bool);

impl Future for Later {
    type Output = ();

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

/// A ring of futures of one type, polled in turn. When a future is done, a new one replaces it.
pub fn futures<const L: usize, const N: usize, const LEVEL: u8>(
    table: &[u64],
    probes: usize,
) -> u64 {
    let mask = table.len() - 1;
    let look_up = |key: u64| async move {
        let mut at = key as usize & mask;
        let mut word = 0;
        for _ in 0..L {
            prefetch::<LEVEL>(table, at);
            Later(false).await;
            word = table[at];
            at = follow(word, key, mask);
        }
        word
    };
    let mut ring: Vec<_> = (0..N).map(|_| None).collect();
    let mut ring = pin!(ring.as_mut_slice());
    let mut context = Context::from_waker(Waker::noop());
    let (mut sum, mut next, mut under_way) = (0_u64, 0, 0);
    for place in ring.iter_mut() {
        if next < probes {
            *place = Some(look_up(key(next)));
            next += 1;
            under_way += 1;
        }
    }
    while under_way > 0 {
        for place in ring.iter_mut() {
            let Some(future) = place else { continue };
            // SAFETY: the vector does not move, and a future is dropped in its place.
            let future = unsafe { Pin::new_unchecked(future) };
            let Poll::Ready(word) = future.poll(&mut context) else {
                continue;
            };
            sum = sum.wrapping_add(word);
            *place = (next < probes).then(|| look_up(key(next)));
            next += 1;
            under_way -= usize::from(place.is_none());
        }
    }
    sum
}
