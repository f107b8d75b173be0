//! Derives advice for programmers from numbers measured on this machine, as section 5 of the paper
//! does. There is no advice if a number was not measured, or if it is unclear whether two numbers
//! differ ([`value`] has the rule).

mod buffers;
mod comparisons;
mod distance;
mod found;
mod lists;
mod points;
mod sizes;
mod value;
mod words;

use cellworks_machine::Topology;

use crate::figures::{plain, size, time};
use crate::findings;
use crate::function::Function;
use crate::report::{Advice, Between, Buffers, Finding, Matrix, Measurement, Parameters};
use buffers::{Pair, private_or_shared};
use comparisons::Comparison;
use distance::by_distance;
use found::{RunResults, by_size, like, number};
use lists::{Gathered, elements_worth_having, list_or_singles};
use points::{NEARLY_BEST, Point, block, least, most, rate, share};
use sizes::{COMMAND_BYTES_MAX, in_and_out, large_enough};
use value::{Compared, DIFFERS, Value};
use words::{Recommendation, counted, listed, merge_alike, range};

/// Derives advice from the results of a machine, in the order of section 5 of the paper.
///
/// Times are compared by their medians. Blocks of data are compared by bandwidth, because the
/// bandwidth includes slow blocks, and a median time may hide slow blocks. Two numbers differ if
/// they are more than 10 % apart, the intervals of their medians are disjoint, and neither interval
/// is wider than the difference of the numbers. Two numbers are equal if the upper limit of each
/// interval is less than 10 % above the lower limit of the other interval. Otherwise, there is no
/// advice about the two numbers. Numbers that are not above 0 are ignored.
///
/// If measurements or matrices have doubts, each sentence that does not also follow from the others
/// alone is marked as doubtful.
///
/// The `topic` of advice is one of `threads`, `messages`, `placement`, `blocks`, `copies`,
/// `buffers`, `lists`, `memory`, `tiles`, `misses`, `atomics` and `waiting`.
///
/// ```
/// use cellworks_machine::{CellId, ModuleId, SpeSite, Topology};
/// let site = SpeSite { cell: CellId::new(0), core: None, place: String::new() };
/// let machine = Topology::new("a machine", vec![ModuleId::new(0)], vec![site]);
/// assert!(cellworks_stats::advise(&machine, &[], &[], &[]).is_empty());
/// ```
pub fn advise(
    topology: &Topology,
    measurements: &[Measurement],
    findings: &[Finding],
    matrices: &[Matrix],
) -> Vec<Advice> {
    let all = texts(&RunResults {
        topology,
        measurements,
        findings,
        matrices,
    });
    let sound = without_doubts(topology, measurements, matrices);
    let advice = |(topic, text): (&str, String)| {
        let is_sound = |sound: &Vec<(&str, String)>| sound.iter().any(|(_, other)| *other == text);
        Advice {
            topic: topic.to_owned(),
            doubtful: sound.as_ref().is_some_and(|sound| !is_sound(sound)),
            text,
        }
    };
    all.into_iter().map(advice).collect()
}

/// Returns the advice that follows from measurements and matrices without doubts. `None` if there
/// are no doubts at all.
fn without_doubts(
    topology: &Topology,
    measurements: &[Measurement],
    matrices: &[Matrix],
) -> Option<Vec<(&'static str, String)>> {
    let sound: Vec<Measurement> = measurements
        .iter()
        .filter(|one| one.doubts.is_empty())
        .cloned()
        .collect();
    let sound_matrices: Vec<Matrix> = matrices
        .iter()
        .filter(|one| one.doubts.is_empty())
        .cloned()
        .collect();
    let has_doubts = sound.len() < measurements.len() || sound_matrices.len() < matrices.len();
    has_doubts.then(|| {
        texts(&RunResults {
            topology,
            findings: &findings::findings(&sound, topology),
            measurements: &sound,
            matrices: &sound_matrices,
        })
    })
}

/// Returns all sentences of advice with their topics.
fn texts(run: &RunResults<'_>) -> Vec<(&'static str, String)> {
    let compared = |comparisons: &[Comparison]| -> Vec<String> {
        let advice = comparisons.iter().map(|comparison| comparison.advice(run));
        advice.flatten().collect()
    };
    let by_topic = [
        ("threads", compared(comparisons::THREADS)),
        ("messages", compared(comparisons::MESSAGES)),
        ("placement", compared(comparisons::PLACEMENT)),
        ("placement", by_distance(run.matrices)),
        ("blocks", run.blocks()),
        ("copies", Vec::from_iter(run.copies())),
        ("buffers", run.buffers()),
        ("lists", run.lists()),
        ("memory", run.memory()),
        ("tiles", Vec::from_iter(run.tiles())),
        ("tiles", Vec::from_iter(run.smaller_cache())),
        ("misses", compared(comparisons::MISSES)),
        ("atomics", compared(comparisons::ATOMICS)),
        ("waiting", compared(comparisons::WAITING)),
        ("waiting", Vec::from_iter(run.waiting_in_hardware())),
    ];
    by_topic
        .into_iter()
        .flat_map(|(topic, texts)| texts.into_iter().map(move |text| (topic, text)))
        .collect()
}

const BLOCKS: [(Function, &str); 2] = [(Function::DmaGet, "gets"), (Function::DmaPut, "puts")];

impl RunResults<'_> {
    /// Recommends the number of bytes that one command should move (section 5.3).
    fn blocks(&self) -> Vec<String> {
        let commands = BLOCKS.into_iter().filter_map(|(function, what)| {
            let mut sizes = self.bandwidths_of_one(function);
            sizes.retain(|(bytes, _)| *bytes <= COMMAND_BYTES_MAX);
            large_enough(&sizes, what)
        });
        merge_alike(commands.collect())
    }

    fn bandwidths_of_one(&self, function: Function) -> Vec<Point> {
        let one = |p: &Parameters| p.between == Between::MemorySpe && p.spes == 1;
        let Some(first) = self.all(function, one).next() else {
            return Vec::new();
        };
        let same = with_other_block(&first.parameters);
        by_size(
            self.all(function, same)
                .filter_map(|m| Some((block(m)?, Value::bandwidth(m)?))),
        )
    }

    fn copies(&self) -> Option<String> {
        let copies = self.findings_named("copy_bandwidth_bytes_per_s");
        let block = number(copies.first()?, "block_bytes")?;
        let by_spes = by_size(
            copies
                .iter()
                .filter(|copy| number(copy, "block_bytes") == Some(block))
                .filter_map(|copy| {
                    let spes = number(copy, "spes")?;
                    let measured = self
                        .all(Function::Copy, |p| {
                            (p.spes, p.settings.block_bytes) == (spes, Some(block))
                        })
                        .find_map(Value::bandwidth);
                    Some((spes, like(measured, copy.value)?))
                }),
        );
        let ((fewest, alone), (many, all)) = (*by_spes.first()?, *by_spes.last()?);
        if fewest == many {
            return None;
        }
        let (best_at, best) = most(&by_spes);
        let (enough, reached) = *by_spes
            .iter()
            .find(|(_, rate)| rate.is >= NEARLY_BEST * best.is)?;
        let best_is = if enough == best_at || rate(reached) == rate(best) {
            String::new()
        } else {
            format!(
                " ({} of the best, {} with {best_at})",
                share(reached, best),
                rate(best)
            )
        };
        let (reached_is, block) = (rate(reached), size(block));
        let beyond =
            (many != enough && many != best_at).then(|| format!("{many} reach {}", rate(all)));
        let mut figures = Vec::new();
        let head = if enough == fewest {
            // There is no advice if it is unclear whether more SPEs help.
            if all.beside(alone) == Compared::Unclear {
                return None;
            }
            figures.push(format!("that reaches {reached_is}{best_is}"));
            format!("Leave large copies to {}", counted(enough, "SPE"))
        } else {
            let Compared::More(_) = reached.beside(alone) else {
                return None;
            };
            figures.push(format!("they reach {reached_is} together{best_is}"));
            figures.push(format!(
                "{} alone reaches {}",
                counted(fewest, "SPE"),
                rate(alone)
            ));
            format!("Spread large copies over {enough} SPEs")
        };
        figures.extend(beyond);
        let more_do_not_help = if enough < many {
            ", as more do not help"
        } else {
            ""
        };
        Some(format!(
            "{head}{more_do_not_help}: with blocks of {block} {}.",
            listed(&figures)
        ))
    }

    /// Recommends private buffers or a shared buffer (section 5.3).
    fn buffers(&self) -> Vec<String> {
        let mut recommendations = Vec::new();
        for (function, what) in BLOCKS {
            let several = |p: &Parameters| {
                p.between == Between::MemorySpe && p.spes > 1 && p.buffers == Some(Buffers::Shared)
            };
            let Some(most_spes) = self
                .all(function, several)
                .max_by_key(|m| m.parameters.spes)
            else {
                continue;
            };
            let same = with_other_block(&most_spes.parameters);
            let place = |p: &Parameters| (p.spes, p.cell, p.module, p.between);
            let p = &most_spes.parameters;
            let mut pairs: Vec<Pair> = self
                .all(function, same)
                .filter_map(|shared| {
                    let mut private = self.all(function, |q| {
                        q.buffers == Some(Buffers::Private)
                            && q.settings.block_bytes == shared.parameters.settings.block_bytes
                            && place(q) == place(p)
                    });
                    Pair::of(shared, private.next()?)
                })
                .collect();
            pairs.sort_by_key(|pair| pair.block_bytes);
            recommendations.extend(private_or_shared(&pairs, what, p.spes));
        }
        merge_alike(recommendations)
    }

    /// Describes the overhead of lists, and the time that lists save (section 5.3).
    fn lists(&self) -> Vec<String> {
        let (mut overhead, mut savings) = (Vec::new(), Vec::new());
        for (list, single, what) in [
            (Function::DmaListGet, Function::DmaGet, "gets"),
            (Function::DmaListPut, Function::DmaPut, "puts"),
        ] {
            let one = |p: &Parameters| p.between == Between::MemorySpe && p.spes == 1;
            let Some((first, bytes)) = self
                .all(list, one)
                .find_map(|m| Some((m, total(&m.parameters)?)))
            else {
                continue;
            };
            let place = |p: &Parameters| (p.cell, p.module, p.between, p.spes);
            let like_first = |p: &Parameters| place(p) == place(&first.parameters);
            let lists = by_size(
                self.all(list, |p| like_first(p) && total(p) == Some(bytes))
                    .filter_map(|m| {
                        Some((
                            m.parameters.settings.list_elements? as usize,
                            Value::time(m)?,
                        ))
                    }),
            );
            overhead.extend(elements_worth_having(&lists, bytes, what));
            let gathered: Vec<Gathered> = lists
                .into_iter()
                .rev()
                .filter(|(elements, _)| *elements > 1)
                .filter_map(|(elements, in_list)| {
                    let element_bytes = bytes / elements;
                    let each = self.median(single, |p| {
                        like_first(p) && p.settings.block_bytes == Some(element_bytes)
                    })?;
                    Some(Gathered {
                        elements,
                        element_bytes,
                        in_list,
                        singly: each.times(elements as f64),
                    })
                })
                .collect();
            savings.extend(list_or_singles(&gathered, what));
        }
        [merge_alike(overhead), merge_alike(savings)].concat()
    }

    /// Recommends the memory module in which the data of an SPE should lie (section 5.3).
    fn memory(&self) -> Vec<String> {
        let recommendations = BLOCKS
            .into_iter()
            .filter_map(|(function, what)| self.module_for(function, what));
        merge_alike(recommendations.collect())
    }

    fn module_for(&self, function: Function, what: &'static str) -> Option<Recommendation> {
        let one =
            |p: &Parameters| p.between == Between::MemorySpe && p.spes == 1 && p.module.is_some();
        // The advice comes from the largest block that was measured with several modules.
        let mut best: Option<(usize, usize, Vec<Point>)> = None;
        for m in self.all(function, one) {
            let (cell, Some(bytes)) = (m.parameters.cell, block(m)) else {
                continue;
            };
            let modules = by_size(
                self.all(function, |p| {
                    one(p) && p.cell == cell && p.settings.block_bytes == Some(bytes)
                })
                .filter_map(|m| Some((m.parameters.module?, Value::time(m)?))),
            );
            if modules.len() > 1 && best.as_ref().is_none_or(|(_, size, _)| bytes > *size) {
                best = Some((cell, bytes, modules));
            }
        }
        let (cell, bytes, modules) = best?;
        let ((near, short), (far, long)) = (least(&modules), most(&modules));
        let (block, short, ratio) = (size(bytes), time(short.is), long.beside(short));
        let long = time(long.is);
        match ratio {
            Compared::More(ratio) => Some(Recommendation {
                before: format!("Keep in memory module {near} the data for "),
                what,
                after: format!(" by SPEs of Cell {cell}"),
                figures: format!(
                    "{what} of {block} take {short} there, and {long} in module {far}, {} times as long",
                    plain(ratio)
                ),
            }),
            Compared::Equal => Some(Recommendation {
                before: "Which memory module holds the data for ".to_owned(),
                what,
                after: format!(" by SPEs of Cell {cell} makes no difference"),
                figures: format!("{what} of {block} take {}", range(short, &long)),
            }),
            Compared::Less(_) | Compared::Unclear => None,
        }
    }

    fn tiles(&self) -> Option<String> {
        let latencies = self.findings_named("cache_latency_ns");
        let mut caches: Vec<(usize, f64)> = self
            .findings_named("cache_bytes")
            .into_iter()
            .filter_map(|cache| {
                let level = number(cache, "level")?;
                let latency = latencies
                    .iter()
                    .find(|latency| number(latency, "level") == Some(level))?;
                Some((cache.value as usize, latency.value))
            })
            .collect();
        caches.sort_by_key(|(bytes, _)| *bytes);
        let (largest, slowest) = *caches.last()?;
        let (idle, _) = self.memory_latency()?;
        let Compared::More(_) = idle.beside(Value::exactly(slowest)?) else {
            return None;
        };
        let times: Vec<String> = caches
            .into_iter()
            .zip(1..)
            .map(|(cache, level)| self.in_a_cache(cache, level))
            .collect();
        let mut text = format!(
            "Work on tiles that fit into a cache: an access that depends on the one before takes {}, and {} in main \
             memory.",
            times.join(", "),
            time(idle.is)
        );
        let bandwidths: Vec<String> = BLOCKS
            .into_iter()
            .filter_map(|(function, what)| {
                in_and_out(&self.bandwidths_of_one(function), largest, what)
            })
            .collect();
        if !bandwidths.is_empty() {
            text.push_str(&format!(" By one SPE, {}.", bandwidths.join(", and ")));
        }
        Some(text)
    }

    /// Compares the size of the last-level cache that the system reports with the measured size.
    fn smaller_cache(&self) -> Option<String> {
        let reported = self.topology.last_level_cache_bytes()?;
        let found = self.findings_named("cache_bytes");
        // Other programs take a part of the caches, so sizes with doubts say nothing.
        if found.iter().any(|cache| cache.doubtful) {
            return None;
        }
        let measured = found.iter().map(|cache| cache.value as usize).max()?;
        (measured.saturating_mul(2) <= reported).then(|| {
            format!(
                "Count on {} of the last-level cache, not on the {} that the system reports: accesses in larger tables \
                 took longer. A virtual machine may use only the part that the hypervisor and its other virtual \
                 machines leave to it.",
                size(measured),
                size(reported)
            )
        })
    }

    /// Describes the time of an access in tiles of data that fit into a cache. If an access takes
    /// longer in the largest such tile, for example because other programs use the cache, the text
    /// also has the time in the largest tile.
    fn in_a_cache(&self, (bytes, ns): (usize, f64), level: usize) -> String {
        let of_largest = self.median(Function::Chase, |p| {
            let s = p.settings;
            (s.block_bytes, s.chains, s.loading_spes) == (Some(bytes), Some(1), Some(0))
        });
        match of_largest {
            Some(largest) if largest.is > ns * DIFFERS => format!(
                "{} where level {level} begins and {} in tiles of {} where it ends",
                time(ns),
                time(largest.is),
                size(bytes)
            ),
            _ => format!("{} in tiles of up to {}", time(ns), size(bytes)),
        }
    }

    fn waiting_in_hardware(&self) -> Option<String> {
        let found = self.findings_named("word_one_way_ns");
        let from = |between: &str| {
            found
                .iter()
                .find(|finding| {
                    finding
                        .parameters
                        .get("between")
                        .is_some_and(|b| b == between)
                })
                .map(|finding| time(finding.value))
        };
        let from_the_ppe = from("ppe-spe").map(|ns| format!("one from the PPE after {ns}"));
        let from_an_spe = from("spe-spe").map(|ns| format!("one from another SPE after {ns}"));
        let words: Vec<String> = from_the_ppe.into_iter().chain(from_an_spe).collect();
        (!words.is_empty()).then(|| {
            format!(
                "Let SPEs wait for words, and do not poll: an SPE waits in hardware and needs no wake-up. It \
                 has {}.",
                listed(&words)
            )
        })
    }
}

/// Returns a closure that compares all parameters with `these` except for `settings`.
fn with_other_block(these: &Parameters) -> impl Fn(&Parameters) -> bool + use<> {
    let key = |p: &Parameters| (p.spes, p.cell, p.module, p.between, p.buffers);
    let these = key(these);
    move |p| key(p) == these
}

fn total(list: &Parameters) -> Option<usize> {
    let elements = list
        .settings
        .list_elements
        .filter(|elements| *elements > 0)?;
    list.settings.block_bytes?.checked_mul(elements as usize)
}

#[cfg(test)]
mod tests;
