//! Advice about the size of blocks.

use cellworks_machine::mfc::MAX_TRANSFER_BYTES;

use super::points::{NEARLY_BEST, Point, most, rate, share};
use super::value::Compared;
use super::words::{Recommendation, listed};
use crate::figures::size;

pub(super) const COMMAND_BYTES_MAX: usize = MAX_TRANSFER_BYTES as usize;

/// Recommends the sizes at which the bandwidth of one command is near the best bandwidth.
pub(super) fn large_enough(sizes: &[Point], what: &'static str) -> Option<Recommendation> {
    if sizes.len() < 2 {
        return None;
    }
    let (best_at, best) = most(sizes);
    let from = sizes
        .iter()
        .position(|(_, rate)| rate.is >= NEARLY_BEST * best.is)?;
    let clearly_slower = |(_, rate): &Point| best.beside(*rate).more().is_some();
    let slower_from = sizes[from..].iter().position(clearly_slower);
    let (first, first_rate) = sizes[from];
    let (smallest, largest) = (sizes[0], sizes[sizes.len() - 1]);
    let at = |point: &Point| format!("{} with {}", rate(point.1), size(point.0));
    let mut reached = vec![if first == best_at {
        at(&sizes[from])
    } else {
        format!(
            "{} ({} of the best, {})",
            at(&sizes[from]),
            share(first_rate, best),
            at(&(best_at, best))
        )
    }];
    if from > 0 {
        if !clearly_slower(&smallest) {
            return None;
        }
        // The size below the recommended sizes, for comparison.
        reached.extend(sizes[1..from].last().map(at));
        reached.push(at(&smallest));
    }
    let after = match (from, slower_from) {
        (0, None) => {
            let equal = |(_, rate): &Point| best.beside(*rate) == Compared::Equal;
            return sizes.iter().all(equal).then(|| Recommendation {
                before: "Make ".to_owned(),
                what,
                after: " of any size".to_owned(),
                figures: format!(
                    "{what} by one SPE reach {} and {}",
                    at(&smallest),
                    at(&largest)
                ),
            });
        }
        (_, None) if first == COMMAND_BYTES_MAX => {
            format!(" of {}, the most that one command moves", size(first))
        }
        (_, None) => format!(" of at least {}", size(first)),
        (_, Some(run)) => {
            reached.push(at(&largest));
            match sizes[from + run - 1].0 {
                last if last == first => format!(" of {}", size(first)),
                last => format!(" of {} to {}", size(first), size(last)),
            }
        }
    };
    Some(Recommendation {
        before: "Make ".to_owned(),
        what,
        after,
        figures: format!("{what} by one SPE reach {}", listed(&reached)),
    })
}

/// Compares the bandwidth of blocks in a cache with the bandwidth of blocks in main memory.
pub(super) fn in_and_out(
    sizes: &[Point],
    largest_cache_bytes: usize,
    what: &str,
) -> Option<String> {
    let (inside, outside): (Vec<Point>, Vec<Point>) = sizes
        .iter()
        .partition(|(bytes, _)| *bytes <= largest_cache_bytes);
    let (in_bytes, in_cache) = *(!inside.is_empty()).then(|| most(&inside)).as_ref()?;
    let (out_bytes, in_memory) = *outside.last()?;
    // A cache still holds a part of a block that is not much larger than the cache.
    if out_bytes < 2 * largest_cache_bytes {
        return None;
    }
    in_cache.beside(in_memory).more().map(|_| {
        format!(
            "{what} reach {} with {} in a cache and {} with {} in main memory",
            rate(in_cache),
            size(in_bytes),
            rate(in_memory),
            size(out_bytes)
        )
    })
}
