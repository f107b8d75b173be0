//! Compares private buffers with a shared buffer.

use super::points::{block, rate};
use super::value::{Compared, Gain, Value};
use super::words::{Recommendation, gained};
use crate::figures::{plain, size, time};
use crate::report::Measurement;

/// Bandwidths or times of blocks of one size, with a shared buffer and with private buffers.
pub(super) struct Pair {
    pub block_bytes: usize,
    shared: Value,
    private: Value,
    are_rates: bool,
    /// Whether private buffers are better than a shared buffer (`More`) or worse (`Less`).
    private_is: Compared,
}

impl Pair {
    pub(super) fn of(shared: &Measurement, private: &Measurement) -> Option<Self> {
        let block_bytes = block(shared)?;
        let rates = Value::bandwidth(shared).zip(Value::bandwidth(private));
        let are_rates = rates.is_some();
        let (shared, private) = match rates {
            Some(rates) => rates,
            None => (Value::time(shared)?, Value::time(private)?),
        };
        Some(Self {
            block_bytes,
            shared,
            private,
            are_rates,
            private_is: if are_rates {
                private.beside(shared)
            } else {
                shared.beside(private)
            },
        })
    }

    fn figures(&self) -> String {
        let (verb, number): (_, fn(Value) -> String) = if self.are_rates {
            ("reach", rate)
        } else {
            ("take", |value| time(value.is))
        };
        let (private, shared) = (number(self.private), number(self.shared));
        if self.private.is < self.shared.is {
            format!("{verb} {private} on private buffers and {shared} on a shared one")
        } else {
            format!("{verb} {shared} on a shared buffer and {private} on private ones")
        }
    }
}

/// Recommends private buffers or a shared buffer. If each is better for some sizes, one
/// recommendation names the sizes of both. `pairs` must be sorted by size.
pub(super) fn private_or_shared(
    pairs: &[Pair],
    what: &'static str,
    spes: usize,
) -> Vec<Recommendation> {
    let by_several = format!(" by {spes} SPEs");
    let by_size: Vec<_> = pairs
        .iter()
        .map(|p| (p.block_bytes, p.private_is))
        .collect();
    let private = better(pairs, &by_size, what, Compared::more);
    let shared = better(pairs, &by_size, what, Compared::less);
    let mut recommendations = Vec::new();
    match (private, shared) {
        (Some(private), Some(shared)) => recommendations.push(Recommendation {
            before: "Give each SPE a buffer of its own for ".to_owned(),
            what,
            after: format!(
                "{by_several} in blocks of {}, and let SPEs share one in blocks of {}",
                private.sizes, shared.sizes
            ),
            figures: format!("{}; {}", private.figures, shared.figures),
        }),
        (private, shared) => {
            let sides = [
                ("Give each SPE a buffer of its own for ", private),
                ("Let SPEs share a buffer for ", shared),
            ];
            let of_side = |(before, better): (&str, Option<Better>)| {
                better.map(|better| Recommendation {
                    before: before.to_owned(),
                    what,
                    after: format!("{by_several} in blocks of {}", better.sizes),
                    figures: better.figures,
                })
            };
            recommendations.extend(sides.into_iter().filter_map(of_side));
        }
    }
    let all_equal = pairs.iter().all(|p| p.private_is == Compared::Equal);
    if let (true, Some(largest)) = (all_equal, pairs.last()) {
        recommendations.push(Recommendation {
            before: "Private buffers gain nothing over a shared one for ".to_owned(),
            what,
            after: by_several,
            figures: format!(
                "{what} of {} {}",
                size(largest.block_bytes),
                largest.figures()
            ),
        });
    }
    recommendations
}

/// The sizes of blocks for which one kind of buffer is better.
struct Better {
    sizes: String,
    figures: String,
}

fn better(
    pairs: &[Pair],
    by_size: &[(usize, Compared)],
    what: &'static str,
    gain: Gain,
) -> Option<Better> {
    let (best, ratio, sizes) = gained(by_size, gain)?;
    let best = &pairs[best];
    let wins = |pair: &Pair| gain(pair.private_is).is_some();
    // If one kind of buffer is better at a single size, and this size is neither the smallest nor
    // the largest, the addresses of the buffers may be the reason, so there is no advice.
    let at_an_end = wins(&pairs[0]) || wins(&pairs[pairs.len() - 1]);
    if pairs.iter().filter(|pair| wins(pair)).count() == 1 && !at_an_end {
        return None;
    }
    let last = pairs.iter().rposition(wins);
    let larger = &pairs[last.map_or(pairs.len(), |last| last + 1)..];
    let larger_are_equal =
        !larger.is_empty() && larger.iter().all(|p| p.private_is == Compared::Equal);
    Some(Better {
        sizes,
        figures: format!(
            "{what} of {} {}, {} times as {}{}",
            size(best.block_bytes),
            best.figures(),
            plain(ratio),
            if best.are_rates { "much" } else { "long" },
            if larger_are_equal {
                " (larger blocks are as fast either way)"
            } else {
                ""
            }
        ),
    })
}
