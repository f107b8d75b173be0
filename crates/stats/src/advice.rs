//! What a programmer should make of the numbers, as section 5 of the paper does for a Cell blade.
//!
//! Each piece of advice compares numbers that were measured on this machine, and has them in it. A
//! comparison that lacks a side is left out, so a run of one function gets little advice.

use cellworks_machine::{SpeId, Topology};

use crate::figures::{bandwidth, plain, size, time};
use crate::{
    Advice, Between, Buffers, Finding, Function, Matrix, Measurement, Parameters, Primitive,
};

/// Times that are less than this factor apart count as equal: nobody should rearrange a program for
/// less, and two runs may differ by half of it.
const DIFFERS: f64 = 1.1;

/// The share of the best bandwidth that is near enough to it.
const NEARLY_BEST: f64 = 0.9;

/// Draws advice from what was measured on a machine; the order is that of section 5 of the paper.
///
/// Medians are compared, and bandwidths where there are some. Numbers that are not above 0 are passed
/// over.
///
/// The `topic` of advice is one of `threads`, `messages`, `placement`, `blocks`, `buffers`, `lists`,
/// `memory`, `tiles`, `misses`, `atomics` and `waiting`.
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
    let run = Run {
        topology,
        measurements,
        findings,
        matrices,
    };
    let by_topic = [
        ("threads", run.threads()),
        ("messages", run.messages()),
        ("placement", run.placement()),
        ("blocks", run.blocks()),
        ("buffers", run.buffers()),
        ("lists", run.lists()),
        ("memory", run.memory()),
        ("tiles", run.tiles()),
        ("misses", run.misses()),
        ("atomics", run.atomics()),
        ("waiting", run.waiting()),
    ];
    by_topic
        .into_iter()
        .flat_map(|(topic, texts)| {
            texts.into_iter().map(|text| Advice {
                topic: topic.to_owned(),
                text,
            })
        })
        .collect()
}

/// All that was found.
struct Run<'a> {
    topology: &'a Topology,
    measurements: &'a [Measurement],
    findings: &'a [Finding],
    matrices: &'a [Matrix],
}

/// A median in nanoseconds, or a bandwidth, at a size in bytes or at a number of something.
type Point = (usize, f64);

/// The two primitives that carry a word.
const WORDS: [Function; 2] = [Function::Mailbox, Function::Signal];

impl Run<'_> {
    /// Section 5.1: programs that stay and are sent their tasks.
    fn threads(&self) -> Vec<String> {
        let start = self.median(Function::MkThread, |p| p.spes == 1);
        let exchange = self.cells().find_map(|cell| {
            WORDS
                .into_iter()
                .find_map(|word| Some((word, self.exchange(word, Between::PpeSpe, cell)?)))
        });
        let (Some(start), Some((word, exchange))) = (start, exchange) else {
            return Vec::new();
        };
        let costs = format!("Starting a program on an SPE costs {}", time(start));
        vec![if start < 2.0 * exchange {
            format!(
                "{costs}, hardly more than the {} of a {word} exchange with the PPE: a task may well be a \
                 program of its own.",
                time(exchange)
            )
        } else {
            format!(
                "{costs}, as much as {} {word} exchanges with the PPE ({} each): start programs once, keep \
                 them until the end, and send them their tasks by {word}.",
                plain(start / exchange),
                time(exchange)
            )
        }]
    }

    /// Section 5.2: which primitive carries a word, and whether the PPE should pass it on.
    fn messages(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for (between, who) in [
            (Between::PpeSpe, "the PPE and an SPE"),
            (Between::SpeSpe, "two SPEs"),
        ] {
            let both = self.cells().find_map(|cell| {
                let by = |word| self.exchange(word, between, cell);
                Some((by(Function::Mailbox)?, by(Function::Signal)?))
            });
            let Some((mailbox, signal)) = both else {
                continue;
            };
            texts.push(if mailbox >= DIFFERS * signal {
                format!(
                    "Between {who} an exchange takes {} by signal and {} by mailbox, {} times as long: use \
                     signals where no more than one word is under way.",
                    time(signal),
                    time(mailbox),
                    plain(mailbox / signal)
                )
            } else if signal >= DIFFERS * mailbox {
                format!(
                    "Between {who} an exchange takes {} by mailbox and {} by signal, {} times as long: use \
                     mailboxes unless bits from several senders are to be combined.",
                    time(mailbox),
                    time(signal),
                    plain(signal / mailbox)
                )
            } else {
                format!(
                    "Between {who} it makes no difference whether words travel by mailbox ({} for an \
                     exchange) or by signal ({}).",
                    time(mailbox),
                    time(signal)
                )
            });
        }
        let routes = WORDS.into_iter().find_map(|word| {
            let routes = self.cells().find_map(|cell| {
                let direct = self.exchange(word, Between::SpeSpe, cell)?;
                Some((direct, self.exchange(word, Between::PpeSpe, cell)?))
            });
            routes.map(|(direct, leg)| (word, direct, leg))
        });
        // What the PPE passes on, it exchanges with the sender and with the receiver.
        if let Some((word, direct, through)) = routes.map(|(w, direct, leg)| (w, direct, 2.0 * leg))
        {
            if through >= DIFFERS * direct {
                texts.push(format!(
                    "Let SPEs send to each other directly: by {word} an exchange takes {}, and through the PPE \
                     it would take two exchanges and {}, {} times as long.",
                    time(direct),
                    time(through),
                    plain(through / direct)
                ));
            } else if direct >= DIFFERS * through {
                texts.push(format!(
                    "Let the PPE pass on what SPEs send to each other: that takes two {word} exchanges and {}, \
                     and a direct one takes {}, {} times as long.",
                    time(through),
                    time(direct),
                    plain(direct / through)
                ));
            }
        }
        texts
    }

    /// Section 5.2 and 5.3: what crosses from Cell to Cell is slower.
    fn placement(&self) -> Vec<String> {
        let mut texts = Vec::new();
        let by_word = |between| {
            WORDS.into_iter().find_map(|word| {
                let cells: Vec<Point> = self
                    .cells()
                    .filter_map(|cell| Some((cell, self.exchange(word, between, cell)?)))
                    .collect();
                (cells.len() > 1).then_some((word, cells))
            })
        };
        if let Some((word, cells)) = by_word(Between::PpeSpe) {
            let ((near, short), (far, long)) = (least(&cells), most(&cells));
            texts.push(if long >= DIFFERS * short {
                format!(
                    "Give what talks to the PPE most to SPEs of Cell {near}: by {word} an exchange with the PPE \
                     takes {} there, and {} in Cell {far}, {} times as long.",
                    time(short),
                    time(long),
                    plain(long / short)
                )
            } else {
                format!(
                    "To the PPE all Cells are equally near: by {word} an exchange takes {} to {}.",
                    time(short),
                    time(long)
                )
            });
        }
        if let Some((word, cells)) = by_word(Between::SpeSpe) {
            // The other side of each exchange is SPE 0.
            let home = self.topology.cell_of(SpeId::new(0)).index();
            let (inside, across): (Vec<Point>, Vec<Point>) =
                cells.into_iter().partition(|(cell, _)| *cell == home);
            if let [(_, inside)] = inside[..] {
                let (far, across) = most(&across);
                texts.push(if across >= DIFFERS * inside {
                    format!(
                        "Keep SPEs that talk to each other in one Cell: by {word} an exchange takes {} within \
                         Cell {home}, and {} between Cells {home} and {far}, {} times as long.",
                        time(inside),
                        time(across),
                        plain(across / inside)
                    )
                } else {
                    format!(
                        "SPEs that talk to each other need not sit in one Cell: by {word} an exchange takes {} \
                         within Cell {home}, and {} between Cells {home} and {far}.",
                        time(inside),
                        time(across)
                    )
                });
            }
        }
        texts.extend(self.matrices.iter().filter_map(of_classes));
        texts
    }

    /// Section 5.3: how much to move at a time.
    fn blocks(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for (function, verb) in [(Function::DmaGet, "Get"), (Function::DmaPut, "Put")] {
            let one = |p: &Parameters| p.between == Between::MemorySpe && p.spes == 1;
            let Some(first) = self.all(function, one).next() else {
                continue;
            };
            let same = with_other_block(&first.parameters);
            let sizes = by_size(
                self.all(function, same)
                    .filter_map(|m| Some((block(m)?, m.bandwidth_bytes_per_s? as f64))),
            );
            texts.extend(plateau(&sizes, verb, "one SPE"));
        }
        texts.extend(self.copies());
        texts
    }

    /// How many SPEs fill the path to main memory.
    fn copies(&self) -> Option<String> {
        let copies = self.findings_named("copy_bandwidth_bytes_per_s");
        let block = number(copies.first()?, "block_bytes")?;
        let by_spes = by_size(
            copies
                .iter()
                .filter(|copy| number(copy, "block_bytes") == Some(block))
                .filter_map(|copy| Some((number(copy, "spes")?, copy.value))),
        );
        if by_spes.len() < 2 {
            return None;
        }
        let (fewest, alone) = by_spes[0];
        let (best_at, best) = most(&by_spes);
        let (enough, reached) = *by_spes
            .iter()
            .find(|(_, rate)| *rate >= NEARLY_BEST * best)?;
        let rate = |bytes_per_s: f64| bandwidth(bytes_per_s as u64);
        let spes = |number: usize| match number {
            1 => "1 SPE".to_owned(),
            _ => format!("{number} SPEs"),
        };
        let block = size(block);
        Some(if enough == fewest {
            format!(
                "Let {} copy large blocks: that reaches {} with blocks of {block}, and more SPEs reach no more than \
                 {}.",
                spes(enough),
                rate(reached),
                rate(best)
            )
        } else {
            format!(
                "Spread copies of large blocks over {}: with blocks of {block} they reach {} together, where {} alone \
                 reaches {}, and the best is {} with {best_at}.",
                spes(enough),
                rate(reached),
                spes(fewest),
                rate(alone),
                rate(best)
            )
        })
    }

    /// Section 5.3: private buffers or a shared one.
    fn buffers(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for (function, operation) in [
            (Function::DmaGet, "gets from"),
            (Function::DmaPut, "puts to"),
        ] {
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
                            && q.block_bytes == shared.parameters.block_bytes
                            && place(q) == place(p)
                    });
                    Pair::of(shared, private.next()?)
                })
                .collect();
            pairs.sort_by_key(|pair| pair.block_bytes);
            let spes = p.spes;
            texts.extend(private_or_shared(&pairs, operation, spes));
        }
        texts
    }

    /// Section 5.3: the overhead of lists, and what they save.
    fn lists(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for (list, single, verb, noun) in [
            (Function::DmaListGet, Function::DmaGet, "gets", "gets"),
            (Function::DmaListPut, Function::DmaPut, "puts", "puts"),
        ] {
            let one = |p: &Parameters| p.between == Between::MemorySpe && p.spes == 1;
            let Some(first) = self.all(list, one).find(|m| total(&m.parameters).is_some()) else {
                continue;
            };
            let bytes = total(&first.parameters);
            let place = |p: &Parameters| (p.cell, p.module, p.between, p.spes);
            let like_first = |p: &Parameters| place(p) == place(&first.parameters);
            let lists = by_size(
                self.all(list, |p| like_first(p) && total(p) == bytes)
                    .filter_map(|m| Some((m.parameters.list_elements? as usize, p50(m)?))),
            );
            let bytes = bytes.unwrap_or_default();
            texts.extend(flat(&lists, bytes, verb));
            let against: Vec<(usize, usize, f64, f64)> = lists
                .into_iter()
                .filter(|(elements, _)| *elements > 1)
                .filter_map(|(elements, in_list)| {
                    let element = bytes / elements;
                    let each =
                        self.median(single, |p| like_first(p) && p.block_bytes == Some(element))?;
                    Some((elements, element, in_list, each * elements as f64))
                })
                .collect();
            texts.extend(list_or_singles(&against, noun));
        }
        texts
    }

    /// Section 5.3: memory near the SPEs that use it.
    fn memory(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for (function, verb) in [(Function::DmaGet, "get"), (Function::DmaPut, "put")] {
            let one = |p: &Parameters| {
                p.between == Between::MemorySpe && p.spes == 1 && p.module.is_some()
            };
            // The largest block that was measured with several modules.
            let mut best: Option<(usize, usize, Vec<Point>)> = None;
            for m in self.all(function, one) {
                let (cell, Some(bytes)) = (m.parameters.cell, block(m)) else {
                    continue;
                };
                let modules = by_size(
                    self.all(function, |p| {
                        one(p) && p.cell == cell && p.block_bytes == Some(bytes)
                    })
                    .filter_map(|m| Some((m.parameters.module?, p50(m)?))),
                );
                if modules.len() > 1 && best.as_ref().is_none_or(|(_, size, _)| bytes > *size) {
                    best = Some((cell, bytes, modules));
                }
            }
            let Some((cell, bytes, modules)) = best else {
                continue;
            };
            let ((near, short), (far, long)) = (least(&modules), most(&modules));
            let block = size(bytes);
            texts.push(if long >= DIFFERS * short {
                format!(
                    "Keep what SPEs of Cell {cell} {verb} in memory module {near}: a block of {block} takes {} \
                     there, and {} in module {far}, {} times as long.",
                    time(short),
                    time(long),
                    plain(long / short)
                )
            } else {
                format!(
                    "Which memory module holds what SPEs of Cell {cell} {verb} makes no difference: a block \
                     of {block} takes {} to {}.",
                    time(short),
                    time(long)
                )
            });
        }
        texts
    }

    /// How much to work on at a time.
    fn tiles(&self) -> Vec<String> {
        let latencies = self.findings_named("cache_latency_ns");
        let mut caches: Vec<Point> = self
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
        let Some((idle, _)) = self.memory_latency().filter(|_| !caches.is_empty()) else {
            return Vec::new();
        };
        let caches: Vec<String> = caches
            .into_iter()
            .map(|(bytes, ns)| format!("{} in tiles of up to {}", time(ns), size(bytes)))
            .collect();
        vec![format!(
            "Work on tiles that fit into a cache: what depends on the datum before takes {}, and {} in main memory.",
            caches.join(", "),
            time(idle)
        )]
    }

    /// How much to ask for ahead, and how early.
    fn misses(&self) -> Vec<String> {
        let mut texts = Vec::new();
        let Some((idle, loaded)) = self.memory_latency() else {
            return texts;
        };
        if let Some(finding) = self.findings_named("misses_in_flight").first() {
            let in_flight = finding.value;
            let chains = number(finding, "chains").unwrap_or(in_flight.ceil() as usize);
            texts.push(if in_flight >= 1.5 {
                format!(
                    "Have {chains} misses of the caches in flight on each SPE, by as many independent chains of \
                     pointers, or by staging as many blocks ahead: one comes every {} then, and one after the other \
                     takes {} each, {} times as long.",
                    time(idle / in_flight),
                    time(idle),
                    plain(in_flight)
                )
            } else {
                format!(
                    "Asking main memory for several things at once gains nothing: one after the other takes {} each, \
                     and at once {}.",
                    time(idle),
                    time(idle / in_flight)
                )
            });
        }
        if let Some((spes, loaded)) = loaded.filter(|(_, loaded)| *loaded >= DIFFERS * idle) {
            let others = if spes == 1 {
                "another SPE copies".to_owned()
            } else {
                format!("{spes} others copy")
            };
            texts.push(format!(
                "Ask for data at least {} before it is needed: so long main memory takes while {others}, {} times \
                 as long as the {} of an idle machine.",
                time(loaded),
                plain(loaded / idle),
                time(idle)
            ));
        }
        texts
    }

    /// Section 5.4: variables of one's own, or work between the operations.
    fn atomics(&self) -> Vec<String> {
        let shared_by_several = |p: &Parameters| p.spes > 1 && p.buffers == Some(Buffers::Shared);
        let most_spes = Function::ALL
            .into_iter()
            .filter(|function| *function >= Function::FetchAdd && *function <= Function::FetchSet)
            .find_map(|function| {
                self.all(function, shared_by_several)
                    .max_by_key(|m| m.parameters.spes)
            });
        let Some(most_spes) = most_spes else {
            return Vec::new();
        };
        let (function, p) = (most_spes.function, &most_spes.parameters);
        let (Some(shared), Some(alone)) = (
            p50(most_spes),
            self.median(function, |q| q.spes == 1 && q.block_bytes == p.block_bytes),
        ) else {
            return Vec::new();
        };
        let spes = p.spes;
        let slower = shared / alone;
        if slower < DIFFERS {
            return vec![format!(
                "SPEs may share a variable: {function} takes {} when {spes} SPEs use the same one, and {} when \
                 one SPE has it to itself.",
                time(shared),
                time(alone)
            )];
        }
        let proportional = slower / spes as f64;
        let how = if (0.75..=1.33).contains(&proportional) {
            "in proportion to their number".to_owned()
        } else {
            format!("{} times as long", plain(slower))
        };
        let mut texts = vec![format!(
            "On a variable that SPEs share, {function} takes {} with one SPE and {} with {spes}, {how}: where \
             each SPE works {} between two operations, as long as {} of them alone, waiting for the variable \
             costs less than 10 %.",
            time(alone),
            time(shared),
            time(10.0 * shared),
            plain(10.0 * slower)
        )];
        let private = self.median(function, |q| {
            q.buffers == Some(Buffers::Private)
                && (q.spes, q.block_bytes, q.cell, q.module)
                    == (p.spes, p.block_bytes, p.cell, p.module)
        });
        if let Some(private) = private {
            texts.push(if shared >= DIFFERS * private {
                format!(
                    "Where SPEs do little else, give each a variable of its own and combine them at the end: \
                     {function} by {spes} SPEs takes {} on private variables and {} on a shared one, {} times \
                     as long.",
                    time(private),
                    time(shared),
                    plain(shared / private)
                )
            } else {
                format!(
                    "Private variables gain nothing: {function} by {spes} SPEs takes {} on them and {} on a \
                     shared one.",
                    time(private),
                    time(shared)
                )
            });
        }
        texts
    }

    /// Sleep or spin.
    fn waiting(&self) -> Vec<String> {
        let both = self
            .findings_named("wake_up_ns")
            .into_iter()
            .find_map(|wake_up| {
                let between = wake_up.parameters.get("between")?.clone();
                let between = serde_json::from_value(between).ok()?;
                let cell = number(wake_up, "cell")?;
                let exchange = |word| Some((word, self.exchange(word, between, cell)?));
                Some((wake_up.value, WORDS.into_iter().find_map(exchange)?))
            });
        let Some((wake_up, (word, exchange))) = both else {
            return Vec::new();
        };
        vec![if wake_up >= DIFFERS * exchange {
            format!(
                "Sleep only where the wait is longer than {}: so long it takes to wake an SPE, {} times as long \
                 as a whole {word} exchange ({}) while both sides spin.",
                time(wake_up),
                plain(wake_up / exchange),
                time(exchange)
            )
        } else {
            format!(
                "Waiting may always sleep: waking an SPE takes {}, no longer than a {word} exchange ({}) while \
                 both sides spin.",
                time(wake_up),
                time(exchange)
            )
        }]
    }

    fn all<'s>(
        &'s self,
        function: Function,
        holds: impl Fn(&Parameters) -> bool + 's,
    ) -> impl Iterator<Item = &'s Measurement> {
        self.measurements
            .iter()
            .filter(move |m| m.function == function && holds(&m.parameters))
    }

    /// The median of the first measurement for which `holds` is true.
    fn median(&self, function: Function, holds: impl Fn(&Parameters) -> bool) -> Option<f64> {
        self.all(function, holds).find_map(p50)
    }

    /// An exchange of words with an SPE of a Cell.
    fn exchange(&self, word: Function, between: Between, cell: usize) -> Option<f64> {
        let spes = if between == Between::SpeSpe { 2 } else { 1 };
        self.median(word, |p| {
            (p.between, p.cell, p.spes) == (between, cell, spes)
        })
    }

    fn cells(&self) -> impl Iterator<Item = usize> {
        self.topology.cells().map(|cell| cell.index())
    }

    fn findings_named(&self, name: &str) -> Vec<&Finding> {
        self.findings
            .iter()
            .filter(|finding| finding.name == name && positive(finding.value).is_some())
            .collect()
    }

    /// How long main memory takes when no other SPE uses it; and with how many others that copy it takes
    /// longest, and how long.
    fn memory_latency(&self) -> Option<(f64, Option<Point>)> {
        let by_load = by_size(
            self.findings_named("memory_latency_ns")
                .into_iter()
                .filter_map(|finding| Some((number(finding, "loading_spes")?, finding.value))),
        );
        let (idle, loaded) = by_load.split_first()?;
        let (0, idle) = *idle else {
            return None;
        };
        Some((idle, (!loaded.is_empty()).then(|| most(loaded))))
    }
}

/// A parameter that is a number.
fn number(finding: &Finding, name: &str) -> Option<usize> {
    let number = finding.parameters.get(name)?.as_u64()?;
    usize::try_from(number).ok()
}

/// What the classes of a matrix have to say, if two of them were measured.
fn of_classes(matrix: &Matrix) -> Option<String> {
    let classes: Vec<(&str, f64)> = matrix
        .classes
        .iter()
        .filter_map(|class| Some((class.name.as_str(), class.p50_ns.and_then(positive)?)))
        .collect();
    if classes.len() < 2 {
        return None;
    }
    let by_time = |a: &&(&str, f64), b: &&(&str, f64)| a.1.total_cmp(&b.1);
    let short = classes.iter().min_by(by_time)?;
    let long = classes.iter().max_by(by_time)?;
    let what = match matrix.primitive {
        Primitive::Mailbox => "a mailbox word".to_owned(),
        Primitive::Signal => "a signal".to_owned(),
        Primitive::Atomic => "a change of an atomic variable".to_owned(),
        Primitive::Copy => match matrix.block_bytes {
            Some(bytes) => format!("a block of {}", size(bytes)),
            None => "a block".to_owned(),
        },
    };
    let times: Vec<String> = classes
        .iter()
        .map(|(name, ns)| format!("{} ({name})", time(*ns)))
        .collect();
    let times = listed(&times);
    let ratio = long.1 / short.1;
    Some(if ratio >= DIFFERS {
        format!(
            "Place neighbours by distance, `{}` first: {what} takes {times} one way, up to {} times as long.",
            short.0,
            plain(ratio)
        )
    } else {
        format!("How far apart neighbours sit makes no difference: {what} takes {times} one way.")
    })
}

/// From which size on, and up to which, bandwidth is near the best.
fn plateau(sizes: &[Point], verb: &str, who: &str) -> Option<String> {
    if sizes.len() < 2 {
        return None;
    }
    let (best_at, best) = most(sizes);
    let near = |point: &Point| point.1 >= NEARLY_BEST * best;
    let from = sizes.iter().position(near)?;
    let run = sizes[from..].iter().take_while(|p| near(p)).count();
    let (first, last) = (sizes[from], sizes[from + run - 1]);
    let rate = |bytes_per_s: f64| bandwidth(bytes_per_s as u64);
    let reaches = format!(
        "{who} reaches 90 % of the best bandwidth, {} with blocks of {}",
        rate(best),
        size(best_at)
    );
    let goes_on = from + run == sizes.len();
    let outside = |point: Point| format!("blocks of {} reach {}", size(point.0), rate(point.1));
    Some(match (from, goes_on) {
        (0, true) => format!(
            "{verb} blocks of any size: from {} to {} {reaches}.",
            size(first.0),
            size(last.0)
        ),
        (_, true) => format!(
            "{verb} at least {} at a time: from there on {reaches}; {}.",
            size(first.0),
            outside(sizes[0])
        ),
        (_, false) => {
            let range = if run == 1 {
                size(first.0)
            } else {
                format!("{} to {}", size(first.0), size(last.0))
            };
            format!(
                "{verb} {range} at a time: there {reaches}; {}.",
                outside(sizes[sizes.len() - 1])
            )
        }
    })
}

/// The same blocks moved with a shared buffer and with private ones.
struct Pair {
    block_bytes: usize,
    shared_ns: f64,
    private_ns: f64,
    /// Whether the intervals of the medians, if there are any, lie apart.
    apart: bool,
}

impl Pair {
    fn of(shared: &Measurement, private: &Measurement) -> Option<Self> {
        let overlap = shared
            .median_interval_ns
            .zip(private.median_interval_ns)
            .is_some_and(|(a, b)| a.low <= b.high && b.low <= a.high);
        Some(Self {
            block_bytes: block(shared)?,
            shared_ns: p50(shared)?,
            private_ns: p50(private)?,
            apart: !overlap,
        })
    }

    fn private_wins(&self) -> bool {
        self.apart && self.shared_ns >= DIFFERS * self.private_ns
    }

    fn shared_wins(&self) -> bool {
        self.apart && self.private_ns >= DIFFERS * self.shared_ns
    }

    /// The longer time divided by the shorter.
    fn gain(&self) -> f64 {
        (self.shared_ns / self.private_ns).max(self.private_ns / self.shared_ns)
    }
}

/// At which sizes private buffers or a shared one are better. The pairs are sorted by size.
fn private_or_shared(pairs: &[Pair], operation: &str, spes: usize) -> Option<String> {
    let most_gained = |wins: fn(&Pair) -> bool| {
        pairs
            .iter()
            .filter(|pair| wins(pair))
            .max_by(|a, b| a.gain().total_cmp(&b.gain()))
    };
    let sizes_where = |wins: fn(&Pair) -> bool| {
        let wins: Vec<bool> = pairs.iter().map(wins).collect();
        span_of(&wins, |at| size(pairs[at].block_bytes))
    };
    let best = most_gained(Pair::private_wins);
    let worst = most_gained(Pair::shared_wins);
    let whose = format!("{operation} main memory by {spes} SPEs");
    let mut sentences = Vec::new();
    if let Some(best) = best {
        sentences.push(format!(
            "Give each SPE a buffer of its own for {whose} in blocks {}: {} take {} on private buffers, and {} \
             on a shared one, {} times as long.",
            sizes_where(Pair::private_wins),
            size(best.block_bytes),
            time(best.private_ns),
            time(best.shared_ns),
            plain(best.gain())
        ));
        let largest_are_even = !pairs.last()?.private_wins();
        if worst.is_none() && largest_are_even {
            sentences.push("Larger blocks take as long either way.".to_owned());
        }
    }
    if let Some(worst) = worst {
        sentences.push(format!(
            "Let SPEs share a buffer for {whose} in blocks {}: {} take {} on a shared one, and {} on private \
             ones, {} times as long.",
            sizes_where(Pair::shared_wins),
            size(worst.block_bytes),
            time(worst.shared_ns),
            time(worst.private_ns),
            plain(worst.gain())
        ));
    }
    if sentences.is_empty() {
        let largest = pairs.last()?;
        sentences.push(format!(
            "Private buffers gain nothing over a shared one for {whose}: {} take {} and {}.",
            size(largest.block_bytes),
            time(largest.private_ns),
            time(largest.shared_ns)
        ));
    }
    Some(sentences.join(" "))
}

/// Up to how many elements a list of the same bytes takes as long; the points are numbers of elements.
fn flat(lists: &[Point], bytes: usize, verb: &str) -> Option<String> {
    let (few, base) = *lists.first()?;
    let (many, longest) = *lists.last()?;
    if few == many {
        return None;
    }
    let (flat, flat_ns) = *lists
        .iter()
        .take_while(|(_, ns)| *ns < DIFFERS * base)
        .last()?;
    let total = size(bytes);
    if flat == many {
        return Some(format!(
            "A list that {verb} {total} may have any number of elements: it takes {} with {few} and {} with \
             {many}.",
            time(base),
            time(longest)
        ));
    }
    let each = time((longest - flat_ns) / (many - flat) as f64);
    if flat == few {
        let noun = if few == 1 { "element" } else { "elements" };
        return Some(format!(
            "Make lists of as few elements as the data allow: a list that {verb} {total} takes {} with {few} \
             {noun} and {} with {many}, {each} for each further one.",
            time(base),
            time(longest)
        ));
    }
    let element = size(bytes / flat);
    Some(format!(
        "Make the elements of lists no smaller than {element}: a list that {verb} {total} takes {} with up to \
         {flat} elements and {} with {many}, {each} for each further one.",
        time(flat_ns),
        time(longest)
    ))
}

/// From which size of an element a list is better than single commands; of each list: its elements,
/// their size, its time, and that of as many single commands.
fn list_or_singles(lists: &[(usize, usize, f64, f64)], noun: &str) -> Option<String> {
    let gain = |list: &(usize, usize, f64, f64)| list.3 / list.2;
    let best = lists.iter().max_by(|a, b| gain(a).total_cmp(&gain(b)))?;
    let (elements, element, in_list, singly) = *best;
    let figures = format!(
        "{elements} {noun} of {} take {} in a list and {} one after the other",
        size(element),
        time(in_list),
        time(singly)
    );
    // By size of the element, from small to large.
    let wins: Vec<bool> = lists.iter().rev().map(|l| gain(l) >= DIFFERS).collect();
    let sizes = span_of(&wins, |at| size(lists[lists.len() - 1 - at].1));
    Some(if gain(best) >= DIFFERS {
        format!(
            "Use lists for elements {sizes}: {figures}, {} times as long.",
            plain(gain(best))
        )
    } else {
        format!("A list saves nothing over single {noun}: {figures}.")
    })
}

/// The places at which something is true, in words: a run of them from the first on or to the last, or
/// else each.
fn span_of(is_true: &[bool], name: impl Fn(usize) -> String) -> String {
    let places: Vec<usize> = (0..is_true.len()).filter(|at| is_true[*at]).collect();
    let (Some(&first), Some(&last)) = (places.first(), places.last()) else {
        return String::new();
    };
    let in_a_row = last - first + 1 == places.len();
    match (in_a_row, first == 0, last + 1 == is_true.len()) {
        (true, true, true) if first == last => format!("of {}", name(first)),
        (true, true, true) => format!("of {} to {}", name(first), name(last)),
        (true, true, false) => format!("of up to {}", name(last)),
        (true, false, true) => format!("of {} or more", name(first)),
        (true, false, false) if first < last => format!("of {} to {}", name(first), name(last)),
        _ => {
            let names: Vec<String> = places.into_iter().map(name).collect();
            format!("of {}", listed(&names))
        }
    }
}

/// Names with commas, and `and` before the last.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [name] => name.clone(),
        [names @ .., last] => format!("{} and {last}", names.join(", ")),
    }
}

/// Sorted, and of those with the same size the first.
fn by_size(points: impl Iterator<Item = Point>) -> Vec<Point> {
    let mut points: Vec<Point> = points.filter(|(_, value)| *value > 0.0).collect();
    points.sort_by_key(|(size, _)| *size);
    points.dedup_by_key(|(size, _)| *size);
    points
}

/// The first with the least value.
///
/// # Panics
///
/// If there is no point.
fn least(points: &[Point]) -> Point {
    *points
        .iter()
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .expect("at least one point")
}

/// The first with the greatest value.
///
/// # Panics
///
/// If there is no point.
fn most(points: &[Point]) -> Point {
    // `max_by` would take the last of equal ones.
    *points
        .iter()
        .rev()
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .expect("at least one point")
}

fn positive(value: f64) -> Option<f64> {
    (value.is_finite() && value > 0.0).then_some(value)
}

fn p50(measurement: &Measurement) -> Option<f64> {
    positive(measurement.latency_ns.p50)
}

fn block(measurement: &Measurement) -> Option<usize> {
    measurement.parameters.block_bytes
}

/// Whether parameters are these, except for the size of a block.
fn with_other_block(these: &Parameters) -> impl Fn(&Parameters) -> bool + use<> {
    let key = |p: &Parameters| (p.spes, p.cell, p.module, p.between, p.buffers);
    let these = key(these);
    move |p| key(p) == these
}

/// The bytes that a list moves.
fn total(list: &Parameters) -> Option<usize> {
    let elements = list.list_elements.filter(|elements| *elements > 0)?;
    list.block_bytes?.checked_mul(elements as usize)
}

#[cfg(test)]
mod tests;
