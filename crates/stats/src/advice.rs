//! What a programmer should make of the numbers, as section 5 of the paper does for a Cell blade.
//!
//! Each piece of advice compares numbers that were measured on this machine, and has them in it. A
//! comparison that lacks a side is left out, so a run of one function gets little advice; and so is
//! one whose numbers cannot be told apart, though they differ ([`value`] says when).

mod buffers;
mod distance;
mod lists;
mod points;
mod sizes;
mod value;
mod words;

use cellworks_machine::{SpeId, Topology};

use crate::figures::{plain, size, time};
use crate::function::Function;
use crate::report::{Advice, Between, Buffers, Finding, Matrix, Measurement, Parameters};
use buffers::{Pair, private_or_shared};
use distance::by_distance;
use lists::{Gathered, elements_worth_having, list_or_singles};
use points::{NEARLY_BEST, Point, block, most, rate, share};
use sizes::{COMMAND_BYTES_MAX, in_and_out, large_enough};
use value::{Compared, DIFFERS, Value};
use words::{Said, counted, listed, range, together};

/// Draws advice from what was measured on a machine; the order is that of section 5 of the paper.
///
/// Times are medians. Blocks are compared by bandwidth, which tells more than a median if there are
/// fast and slow ones. Two numbers differ if they are more than 10 % apart, the intervals of their
/// medians are disjoint, and neither interval is wider than the difference; they are equal if not
/// even the ends of the intervals are 10 % apart. Otherwise nothing is said about them. Numbers
/// that are not above 0 are passed over.
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
    let run = Run {
        topology,
        measurements,
        findings,
        matrices,
    };
    let by_topic = [
        ("threads", run.threads().into_iter().collect()),
        ("messages", run.messages()),
        ("placement", run.placement()),
        ("blocks", run.blocks()),
        ("copies", run.copies().into_iter().collect()),
        ("buffers", run.buffers()),
        ("lists", run.lists()),
        ("memory", run.memory()),
        ("tiles", run.tiles().into_iter().collect()),
        ("misses", run.misses()),
        ("atomics", run.atomics()),
        (
            "waiting",
            run.waiting()
                .or(run.waiting_in_hardware())
                .into_iter()
                .collect(),
        ),
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

/// The two primitives that carry a word.
const WORDS: [Function; 2] = [Function::Mailbox, Function::Signal];

/// Blocks into and out of the local store, and what they are called.
const BLOCKS: [(Function, &str); 2] = [(Function::DmaGet, "gets"), (Function::DmaPut, "puts")];

impl Run<'_> {
    /// Section 5.1: programs that stay and are sent their tasks.
    fn threads(&self) -> Option<String> {
        let start = self.median(Function::MkThread, |p| p.spes == 1)?;
        let (word, exchange) = self.cells().find_map(|cell| {
            WORDS
                .into_iter()
                .find_map(|word| Some((word, self.exchange(word, Between::PpeSpe, cell)?)))
        })?;
        let costs = format!("Starting a program on an SPE costs {}", time(start.is));
        let of_exchange = format!("a {word} exchange with the PPE ({})", time(exchange.is));
        let may_start = "each task may be a program of its own";
        Some(match start.beside(exchange) {
            Compared::More(ratio) => format!(
                "{costs}, {} times as long as {of_exchange}: start programs once, keep them until the end, and \
                 send them their tasks.",
                plain(ratio)
            ),
            Compared::Equal => format!("{costs}, as long as {of_exchange}: {may_start}."),
            Compared::Less(_) => format!("{costs}, less than {of_exchange}: {may_start}."),
            Compared::Unclear => return None,
        })
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
            let (by_mailbox, by_signal) = (time(mailbox.is), time(signal.is));
            texts.extend(match mailbox.beside(signal) {
                Compared::More(ratio) => Some(format!(
                    "Between {who} an exchange takes {by_signal} by signal and {by_mailbox} by mailbox, {} times \
                     as long: use signals where no more than one word is under way.",
                    plain(ratio)
                )),
                Compared::Less(ratio) => Some(format!(
                    "Between {who} an exchange takes {by_mailbox} by mailbox and {by_signal} by signal, {} times \
                     as long: use mailboxes unless bits from several senders are to be combined.",
                    plain(ratio)
                )),
                Compared::Equal => Some(format!(
                    "Between {who} it makes no difference whether words travel by mailbox ({by_mailbox} for an \
                     exchange) or by signal ({by_signal})."
                )),
                Compared::Unclear => None,
            });
        }
        texts.extend(self.route());
        texts
    }

    /// Whether SPEs should send to each other directly.
    fn route(&self) -> Option<String> {
        let (word, direct, leg) = WORDS.into_iter().find_map(|word| {
            self.cells().find_map(|cell| {
                let direct = self.exchange(word, Between::SpeSpe, cell)?;
                Some((word, direct, self.exchange(word, Between::PpeSpe, cell)?))
            })
        })?;
        // What the PPE passes on, it exchanges with the sender and with the receiver.
        let through = leg.times(2.0);
        match through.beside(direct) {
            Compared::More(ratio) => Some(format!(
                "Let SPEs send to each other directly: by {word} an exchange takes {}, and through the PPE it would \
                 take two exchanges and {}, {} times as long.",
                time(direct.is),
                time(through.is),
                plain(ratio)
            )),
            Compared::Less(ratio) => Some(format!(
                "Let the PPE pass on what SPEs send to each other: that takes two {word} exchanges and {}, and a \
                 direct one takes {}, {} times as long.",
                time(through.is),
                time(direct.is),
                plain(ratio)
            )),
            Compared::Equal | Compared::Unclear => None,
        }
    }

    /// Section 5.2 and 5.3: what crosses from Cell to Cell is slower.
    fn placement(&self) -> Vec<String> {
        let mut texts = Vec::new();
        texts.extend(self.near_the_ppe());
        let of_matrices = by_distance(self.matrices);
        if of_matrices.is_empty() {
            texts.extend(self.near_each_other());
        }
        texts.extend(of_matrices);
        texts
    }

    /// Exchanges by the first word that was exchanged with SPEs of several Cells.
    fn by_cell(&self, between: Between) -> Option<(Function, Vec<Point>)> {
        WORDS.into_iter().find_map(|word| {
            let cells: Vec<Point> = self
                .cells()
                .filter_map(|cell| Some((cell, self.exchange(word, between, cell)?)))
                .collect();
            (cells.len() > 1).then_some((word, cells))
        })
    }

    fn near_the_ppe(&self) -> Option<String> {
        let (word, cells) = self.by_cell(Between::PpeSpe)?;
        let ((near, short), (far, long)) = (least(&cells), most(&cells));
        match long.beside(short) {
            Compared::More(ratio) => Some(format!(
                "Give what talks to the PPE most to SPEs of Cell {near}: by {word} an exchange with the PPE takes \
                 {} there, and {} in Cell {far}, {} times as long.",
                time(short.is),
                time(long.is),
                plain(ratio)
            )),
            Compared::Equal => Some(format!(
                "To the PPE all Cells are equally near: by {word} an exchange takes {}.",
                range(time(short.is), &time(long.is))
            )),
            Compared::Less(_) | Compared::Unclear => None,
        }
    }

    fn near_each_other(&self) -> Option<String> {
        let (word, cells) = self.by_cell(Between::SpeSpe)?;
        // The other side of each exchange is SPE 0.
        let home = self.topology.cell_of(SpeId::new(0)).index();
        let (inside, across): (Vec<Point>, Vec<Point>) =
            cells.into_iter().partition(|(cell, _)| *cell == home);
        let (_, inside) = *inside.first()?;
        let (far, across) = most(&across);
        match across.beside(inside) {
            Compared::More(ratio) => Some(format!(
                "Keep SPEs that talk to each other in one Cell: by {word} an exchange takes {} within Cell {home}, \
                 and {} between Cells {home} and {far}, {} times as long.",
                time(inside.is),
                time(across.is),
                plain(ratio)
            )),
            Compared::Equal => Some(format!(
                "SPEs that talk to each other need not sit in one Cell: by {word} an exchange takes {} within Cell \
                 {home}, and {} between Cells {home} and {far}.",
                time(inside.is),
                time(across.is)
            )),
            Compared::Less(_) | Compared::Unclear => None,
        }
    }

    /// Section 5.3: how much to move by one command. Larger blocks take several, and say nothing
    /// about it.
    fn blocks(&self) -> Vec<String> {
        let commands = BLOCKS.into_iter().filter_map(|(function, what)| {
            let mut sizes = self.bandwidths_of_one(function);
            sizes.retain(|(bytes, _)| *bytes <= COMMAND_BYTES_MAX);
            large_enough(&sizes, what)
        });
        together(commands.collect())
    }

    /// The bandwidths of blocks of main memory by one SPE, by size.
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

    /// How many SPEs fill the path to main memory.
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
            // That more do not help is something to tell as well.
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

    /// Section 5.3: private buffers or a shared one.
    fn buffers(&self) -> Vec<String> {
        let mut said = Vec::new();
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
            said.extend(private_or_shared(&pairs, what, p.spes));
        }
        together(said)
    }

    /// Section 5.3: the overhead of lists, and what they save.
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
            // By size of the element, from small to large.
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
        [together(overhead), together(savings)].concat()
    }

    /// Section 5.3: memory near the SPEs that use it.
    fn memory(&self) -> Vec<String> {
        let said = BLOCKS
            .into_iter()
            .filter_map(|(function, what)| self.module_for(function, what));
        together(said.collect())
    }

    fn module_for(&self, function: Function, what: &'static str) -> Option<Said> {
        let one =
            |p: &Parameters| p.between == Between::MemorySpe && p.spes == 1 && p.module.is_some();
        // The largest block that was measured with several modules.
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
            Compared::More(ratio) => Some(Said {
                before: format!("Keep in memory module {near} the data for "),
                what,
                after: format!(" by SPEs of Cell {cell}"),
                figures: format!(
                    "{what} of {block} take {short} there, and {long} in module {far}, {} times as long",
                    plain(ratio)
                ),
            }),
            Compared::Equal => Some(Said {
                before: "Which memory module holds the data for ".to_owned(),
                what,
                after: format!(" by SPEs of Cell {cell} makes no difference"),
                figures: format!("{what} of {block} take {}", range(short, &long)),
            }),
            Compared::Less(_) | Compared::Unclear => None,
        }
    }

    /// How much to work on at a time.
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
            .map(|(bytes, ns)| format!("{} in tiles of up to {}", time(ns), size(bytes)))
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

    /// How much to ask for ahead, and how early.
    fn misses(&self) -> Vec<String> {
        let mut texts = Vec::new();
        texts.extend(self.at_once());
        let Some((idle, Some((spes, loaded)))) = self.memory_latency() else {
            return texts;
        };
        if let Compared::More(ratio) = loaded.beside(idle) {
            let others = if spes == 1 {
                "another SPE copies".to_owned()
            } else {
                format!("{spes} others copy")
            };
            texts.push(format!(
                "Ask for data at least {} before they are needed: so long main memory takes while {others}, {} \
                 times as long as the {} of an idle machine.",
                time(loaded.is),
                plain(ratio),
                time(idle.is)
            ));
        }
        texts
    }

    /// Whether main memory answers several requests at once.
    fn at_once(&self) -> Option<String> {
        let finding = ["misses_in_flight", "commands_in_flight"]
            .into_iter()
            .find_map(|name| self.findings_named(name).into_iter().next())?;
        let chains = number(finding, "chains")?;
        let table = number(finding, "table_bytes");
        let chase = |chains| {
            self.median(Function::Chase, |p| {
                p.settings.block_bytes == table
                    && p.settings.chains == Some(chains)
                    && p.settings.loading_spes == Some(0)
            })
        };
        let one = chase(1).or_else(|| Some(self.memory_latency()?.0))?;
        let each = like(chase(chains as u32), one.is / finding.value)?;
        let (alone, together) = (time(one.is), time(each.is));
        match one.beside(each) {
            Compared::More(ratio) => Some(format!(
                "Keep up to {chains} accesses to main memory under way on each SPE, for instance by following as many \
                 independent chains of pointers: one ends every {together} then, and one after the other they take \
                 {alone} each, {} times as long.",
                plain(ratio)
            )),
            Compared::Equal => Some(format!(
                "Asking main memory for several things at once gains nothing: one after the other takes {alone} each, \
                 and at once {together}."
            )),
            Compared::Less(_) | Compared::Unclear => None,
        }
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
        let (Some(shared), Some((one, alone))) = (
            Value::time(most_spes),
            self.all(function, |q| {
                q.spes == 1 && q.settings.block_bytes == p.settings.block_bytes
            })
            .find_map(|one| Some((one, Value::time(one)?))),
        ) else {
            return Vec::new();
        };
        let spes = p.spes;
        let slower = match shared.beside(alone) {
            Compared::More(slower) => slower,
            // If one SPE has it most of the time, the median only says how fast that one is.
            Compared::Equal if most_spes.latency_ns.mean < DIFFERS * one.latency_ns.mean => {
                return vec![format!(
                    "SPEs may share a variable: {function} takes {} when {spes} SPEs use the same one, and {} when \
                     one SPE has it to itself.",
                    time(shared.is),
                    time(alone.is)
                )];
            }
            Compared::Equal | Compared::Less(_) | Compared::Unclear => return Vec::new(),
        };
        let proportional = slower / spes as f64;
        let how = if (1.0 / DIFFERS..DIFFERS).contains(&proportional) {
            "in proportion to their number".to_owned()
        } else {
            format!("{} times as long", plain(slower))
        };
        let mut texts = vec![format!(
            "Let {spes} SPEs that share a variable work at least {} between two operations on it, so that these take \
             less than 10 % of their time: {function} takes {} with one SPE and {} with {spes}, {how}.",
            time(10.0 * shared.is),
            time(alone.is),
            time(shared.is)
        )];
        let private = self.median(function, |q| {
            q.buffers == Some(Buffers::Private)
                && (q.spes, q.settings.block_bytes, q.cell, q.module)
                    == (p.spes, p.settings.block_bytes, p.cell, p.module)
        });
        let compared = private.map(|private| (private, shared.beside(private)));
        texts.extend(match compared {
            Some((private, Compared::More(ratio))) => Some(format!(
                "Where SPEs do little else, give each a variable of its own and combine them at the end: {function} \
                 by {spes} SPEs takes {} on private variables and {} on a shared one, {} times as long.",
                time(private.is),
                time(shared.is),
                plain(ratio)
            )),
            Some((private, Compared::Equal)) => Some(format!(
                "Private variables gain nothing: {function} by {spes} SPEs takes {} on them and {} on a shared one.",
                time(private.is),
                time(shared.is)
            )),
            Some((_, Compared::Less(_) | Compared::Unclear)) | None => None,
        });
        texts
    }

    /// Sleep or spin.
    fn waiting(&self) -> Option<String> {
        let (wake_up, word, exchange) =
            self.findings_named("wake_up_ns")
                .into_iter()
                .find_map(|finding| {
                    let between = finding.parameters.get("between")?.clone();
                    let between = serde_json::from_value(between).ok()?;
                    let cell = number(finding, "cell")?;
                    let measured =
                        self.median(Function::WakeUp, |p| (p.between, p.cell) == (between, cell));
                    let wake_up = like(measured, finding.value)?;
                    WORDS
                        .into_iter()
                        .find_map(|word| Some((wake_up, word, self.exchange(word, between, cell)?)))
                })?;
        let exchange_is = time(exchange.is);
        let need_not_spin = |how| {
            format!(
                "Let SPEs wait, and do not spin: an SPE that has waited has its word after {}, {how} a {word} \
                 exchange takes ({exchange_is}).",
                time(wake_up.is)
            )
        };
        match wake_up.beside(exchange) {
            Compared::More(ratio) => Some(format!(
                "Spin where a wait is shorter than {}, and sleep where it is longer: so long it takes to wake an \
                 SPE, {} times as long as a {word} exchange while both sides spin ({exchange_is}).",
                time(wake_up.is),
                plain(ratio)
            )),
            Compared::Equal => Some(need_not_spin("as long as")),
            Compared::Less(_) => Some(need_not_spin("less than")),
            Compared::Unclear => None,
        }
    }

    /// What waiting costs where SPEs do not sleep.
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
                "Let SPEs wait for words, and do not poll: an SPE waits in hardware, so nobody has to wake it, and \
                 has {}.",
                listed(&words)
            )
        })
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
    fn median(&self, function: Function, holds: impl Fn(&Parameters) -> bool) -> Option<Value> {
        self.all(function, holds).find_map(Value::time)
    }

    /// An exchange of words with an SPE of a Cell.
    fn exchange(&self, word: Function, between: Between, cell: usize) -> Option<Value> {
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
            .filter(|finding| finding.name == name && Value::exactly(finding.value).is_some())
            .collect()
    }

    /// How long main memory takes when no other SPE uses it; and with how many others that copy it
    /// takes longest, and how long.
    fn memory_latency(&self) -> Option<(Value, Option<Point>)> {
        let by_load = by_size(
            self.findings_named("memory_latency_ns")
                .into_iter()
                .filter_map(|finding| {
                    let loading_spes = number(finding, "loading_spes")?;
                    let table = number(finding, "table_bytes");
                    let measured = self.median(Function::Chase, |p| {
                        (
                            p.settings.block_bytes,
                            p.settings.chains,
                            p.settings.loading_spes,
                        ) == (table, Some(1), Some(loading_spes))
                    });
                    Some((loading_spes, like(measured, finding.value)?))
                }),
        );
        let (idle, loaded) = by_load.split_first()?;
        let (0, idle) = *idle else {
            return None;
        };
        Some((idle, (!loaded.is_empty()).then(|| most(loaded))))
    }
}

/// The value of a finding, with the interval of the measurement that it came from, if there is one.
fn like(measured: Option<Value>, finding: f64) -> Option<Value> {
    let exactly = Value::exactly(finding)?;
    Some(measured.map_or(exactly, |measured| Value {
        is: exactly.is,
        ..measured
    }))
}

/// A parameter that is a number.
fn number(finding: &Finding, name: &str) -> Option<usize> {
    let number = finding.parameters.get(name)?.as_u64()?;
    usize::try_from(number).ok()
}

/// Sorted, and of those with the same size the first.
fn by_size(points: impl Iterator<Item = Point>) -> Vec<Point> {
    let mut points: Vec<Point> = points.collect();
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
        .min_by(|a, b| a.1.is.total_cmp(&b.1.is))
        .expect("at least one point")
}

/// Whether parameters are these, except for the size of a block.
fn with_other_block(these: &Parameters) -> impl Fn(&Parameters) -> bool + use<> {
    let key = |p: &Parameters| (p.spes, p.cell, p.module, p.between, p.buffers);
    let these = key(these);
    move |p| key(p) == these
}

/// The bytes that a list moves.
fn total(list: &Parameters) -> Option<usize> {
    let elements = list
        .settings
        .list_elements
        .filter(|elements| *elements > 0)?;
    list.settings.block_bytes?.checked_mul(elements as usize)
}

#[cfg(test)]
mod tests;
