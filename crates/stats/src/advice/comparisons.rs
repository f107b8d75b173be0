//! A table of advice. Each row compares two times, and has one sentence for each result of the
//! comparison. Words in braces in a sentence are placeholders: `{first}` and `{second}` for the two
//! times, `{ratio}` for the longer time divided by the shorter time, and other words for the values
//! that [`Sides::with`] adds.

use cellworks_machine::SpeId;

use super::distance::by_distance;
use super::found::{RunResults, like, number};
use super::points::{Point, least, most};
use super::value::{Compared, DIFFERS, Value};
use super::words::range;
use crate::figures::{plain, time};
use crate::function::Function;
use crate::report::{Between, Buffers, Measurement, Parameters};

/// Two times, and the sentences about them. There is no advice if the comparison is unclear or the
/// sentence is empty.
pub(super) struct Comparison {
    /// Returns the times, or `None` if a time was not measured.
    sides: fn(&RunResults) -> Option<Sides>,
    /// The sentence if the first time is longer.
    longer: &'static str,
    shorter: &'static str,
    equal: &'static str,
}

struct Sides {
    first: Value,
    second: Value,
    values: Vec<(&'static str, String)>,
}

impl Sides {
    fn of(first: Value, second: Value) -> Self {
        let values = vec![("first", time(first.is)), ("second", time(second.is))];
        Self {
            first,
            second,
            values,
        }
    }

    fn with(mut self, name: &'static str, what: impl ToString) -> Self {
        self.values.push((name, what.to_string()));
        self
    }

    fn compared(&self) -> Compared {
        self.first.beside(self.second)
    }
}

impl Comparison {
    pub fn advice(&self, run: &RunResults) -> Option<String> {
        let sides = (self.sides)(run)?;
        let (sentence, ratio) = match sides.compared() {
            Compared::More(ratio) => (self.longer, ratio),
            Compared::Less(ratio) => (self.shorter, ratio),
            Compared::Equal => (self.equal, 1.0),
            Compared::Unclear => ("", 1.0),
        };
        let fill = |text: String, (name, what): &(&str, String)| {
            text.replace(&format!("{{{name}}}"), what)
        };
        let values = sides.with("ratio", plain(ratio)).values;
        (!sentence.is_empty()).then(|| values.iter().fold(sentence.to_owned(), fill))
    }
}

// The comparisons of each topic, in the order of their advice.

pub(super) const THREADS: &[Comparison] = &[START_OR_SEND, CREATE_OR_START];

pub(super) const MESSAGES: &[Comparison] = &[
    MAILBOX_OR_SIGNAL_OF_PPE,
    MAILBOX_OR_SIGNAL_OF_SPES,
    THROUGH_PPE_OR_DIRECT,
];

pub(super) const PLACEMENT: &[Comparison] = &[CELLS_FROM_PPE, CELLS_FROM_EACH_OTHER];

pub(super) const MISSES: &[Comparison] = &[ONE_OR_SEVERAL_MISSES, LOADED_OR_IDLE_MEMORY];

pub(super) const ATOMICS: &[Comparison] = &[SHARED_OR_ALONE, SHARED_OR_PRIVATE];

pub(super) const WAITING: &[Comparison] = &[WAKE_UP_OR_SPIN];

const WORDS: [Function; 2] = [Function::Mailbox, Function::Signal];

/// Advises whether to start one program for many tasks, or one for each task (section 5.1).
const START_OR_SEND: Comparison = Comparison {
    sides: |run| {
        let start = run.median(Function::MkThread, |p| p.spes == 1)?;
        let (word, exchange) = run.cells().find_map(|cell| {
            WORDS
                .into_iter()
                .find_map(|word| Some((word, run.exchange(word, Between::PpeSpe, cell)?)))
        })?;
        Some(Sides::of(start, exchange).with("word", word))
    },
    longer: "Starting a program on an SPE costs {first}, {ratio} times as long as a {word} exchange with the PPE \
             ({second}): start programs once, keep them until the end, and send them their tasks.",
    shorter: "Starting a program on an SPE costs {first}, less than a {word} exchange with the PPE ({second}): each \
              task may be a program of its own.",
    equal: "Starting a program on an SPE costs {first}, as long as a {word} exchange with the PPE ({second}): each \
            task may be a program of its own.",
};

const CREATE_OR_START: Comparison = Comparison {
    sides: |run| {
        let create = run.median(Function::OsThread, |_| true)?;
        let start = run.median(Function::MkThread, |p| p.spes == 1)?;
        Some(Sides::of(create, start))
    },
    longer: "Create no threads for short work: creating an OS thread and joining it takes {first}, {ratio} times as \
             long as starting a program on an SPE ({second}), whose OS thread waits for it.",
    shorter: "",
    equal: "",
};

/// Recommends mailboxes or signals for sending a word (section 5.2).
const MAILBOX_OR_SIGNAL: Comparison = Comparison {
    sides: |_| None,
    longer: "Between {whom} an exchange takes {second} by signal and {first} by mailbox, {ratio} times as long: use \
             signals where no more than one word is under way.",
    shorter: "Between {whom} an exchange takes {first} by mailbox and {second} by signal, {ratio} times as long: \
              use mailboxes unless bits from several senders are to be combined.",
    equal: "Between {whom} it makes no difference whether words travel by mailbox ({first} for an exchange) or by \
            signal ({second}).",
};

const MAILBOX_OR_SIGNAL_OF_PPE: Comparison = Comparison {
    sides: |run| Some(mailbox_and_signal(run, Between::PpeSpe)?.with("whom", "the PPE and an SPE")),
    ..MAILBOX_OR_SIGNAL
};

const MAILBOX_OR_SIGNAL_OF_SPES: Comparison = Comparison {
    sides: |run| Some(mailbox_and_signal(run, Between::SpeSpe)?.with("whom", "two SPEs")),
    ..MAILBOX_OR_SIGNAL
};

fn mailbox_and_signal(run: &RunResults, between: Between) -> Option<Sides> {
    run.cells().find_map(|cell| {
        let [mailbox, signal] = WORDS.map(|word| run.exchange(word, between, cell));
        Some(Sides::of(mailbox?, signal?))
    })
}

/// Advises whether messages between SPEs should go through the PPE (section 5.2). The PPE then has
/// an exchange with the sender and an exchange with the receiver.
const THROUGH_PPE_OR_DIRECT: Comparison = Comparison {
    sides: |run| {
        WORDS.into_iter().find_map(|word| {
            run.cells().find_map(|cell| {
                let direct = run.exchange(word, Between::SpeSpe, cell)?;
                let through = run.exchange(word, Between::PpeSpe, cell)?.times(2.0);
                Some(Sides::of(through, direct).with("word", word))
            })
        })
    },
    longer: "Let SPEs send to each other directly: by {word} an exchange takes {second}, and through the PPE it \
             would take two exchanges and {first}, {ratio} times as long.",
    shorter: "Let the PPE pass on what SPEs send to each other: that takes two {word} exchanges and {first}, and a \
              direct one takes {second}, {ratio} times as long.",
    equal: "",
};

/// Recommends the Cell that is near the PPE (sections 5.2 and 5.3).
const CELLS_FROM_PPE: Comparison = Comparison {
    sides: |run| {
        let (word, cells) = by_cell(run, Between::PpeSpe)?;
        let ((near, short), (far, long)) = (least(&cells), most(&cells));
        let times = range(time(short.is), &time(long.is));
        let sides = Sides::of(long, short).with("word", word);
        Some(
            sides
                .with("near", near)
                .with("far", far)
                .with("times", times),
        )
    },
    longer: "Give what talks to the PPE most to SPEs of Cell {near}: by {word} an exchange with the PPE takes \
             {second} there, and {first} in Cell {far}, {ratio} times as long.",
    shorter: "",
    equal: "To the PPE all Cells are equally near: by {word} an exchange takes {times}.",
};

/// Advises whether SPEs that communicate should be in one Cell (sections 5.2 and 5.3). This advice
/// is left out if there is advice from a matrix, which has more distances.
const CELLS_FROM_EACH_OTHER: Comparison = Comparison {
    sides: |run| {
        if !by_distance(run.matrices).is_empty() {
            return None;
        }
        let (word, cells) = by_cell(run, Between::SpeSpe)?;
        let home = run.topology.cell_of(SpeId::new(0)).index();
        let (inside, across): (Vec<Point>, Vec<Point>) =
            cells.into_iter().partition(|(cell, _)| *cell == home);
        let (_, inside) = *inside.first()?;
        let (far, across) = most(&across);
        let sides = Sides::of(across, inside).with("word", word);
        Some(sides.with("home", home).with("far", far))
    },
    longer: "Keep SPEs that talk to each other in one Cell: by {word} an exchange takes {second} within Cell \
             {home}, and {first} between Cells {home} and {far}, {ratio} times as long.",
    shorter: "",
    equal: "SPEs that talk to each other need not sit in one Cell: by {word} an exchange takes {second} within Cell \
            {home}, and {first} between Cells {home} and {far}.",
};

/// Returns a function (mailbox or signal) that was measured in several Cells, with the time of an
/// exchange in each Cell. Returns `None` if there is no such function.
fn by_cell(run: &RunResults, between: Between) -> Option<(Function, Vec<Point>)> {
    WORDS.into_iter().find_map(|word| {
        let exchange = |cell| Some((cell, run.exchange(word, between, cell)?));
        let cells: Vec<Point> = run.cells().filter_map(exchange).collect();
        (cells.len() > 1).then_some((word, cells))
    })
}

const ONE_OR_SEVERAL_MISSES: Comparison = Comparison {
    sides: |run| {
        let finding = ["misses_in_flight", "commands_in_flight"]
            .into_iter()
            .find_map(|name| run.findings_named(name).into_iter().next())?;
        let chains = number(finding, "chains")?;
        let table = number(finding, "table_bytes");
        let chase = |chains| {
            run.median(Function::Chase, |p| {
                p.settings.block_bytes == table
                    && p.settings.chains == Some(chains)
                    && p.settings.loading_spes == Some(0)
            })
        };
        let one = chase(1).or_else(|| Some(run.memory_latency()?.0))?;
        let each = like(chase(chains as u32), one.is / finding.value)?;
        Some(Sides::of(one, each).with("chains", chains))
    },
    longer: "Keep up to {chains} accesses to main memory under way on each SPE, for instance by following as many \
             independent chains of pointers: then one access ends every {second}. One after the other, accesses take \
             {first} each, {ratio} times as long.",
    shorter: "",
    equal: "Asking main memory for several things at once gains nothing: one after the other takes {first} each, \
            and at once {second}.",
};

const LOADED_OR_IDLE_MEMORY: Comparison = Comparison {
    sides: |run| {
        let (idle, loaded) = run.memory_latency()?;
        let (spes, loaded) = loaded?;
        let others = match spes {
            1 => "another SPE copies".to_owned(),
            _ => format!("{spes} others copy"),
        };
        Some(Sides::of(loaded, idle).with("others", others))
    },
    longer: "Ask for data at least {first} before they are needed. An access to main memory takes that long while \
             {others}, {ratio} times as long as the {second} of an idle machine.",
    shorter: "",
    equal: "",
};

/// Recommends how long SPEs should work between operations on a shared variable (section 5.4).
const SHARED_OR_ALONE: Comparison = Comparison {
    sides: |run| {
        let (variable, one, sides) = shared_variable(run)?;
        let spes = variable.parameters.spes;
        let how = match sides.compared() {
            Compared::More(slower) => {
                let proportional = slower / spes as f64;
                if (1.0 / DIFFERS..DIFFERS).contains(&proportional) {
                    "in proportion to their number".to_owned()
                } else {
                    format!("{} times as long", plain(slower))
                }
            }
            // If one SPE has the cache line most of the time, most operations are fast, so the
            // median is short. Only the mean shows that sharing takes longer.
            _ if variable.latency_ns.mean >= DIFFERS * one.latency_ns.mean => return None,
            _ => String::new(),
        };
        let work = time(10.0 * sides.first.is);
        Some(sides.with("how", how).with("work", work))
    },
    longer: "Where {spes} SPEs share a variable, let each work at least {work} between two operations on it. Then \
             the operations take less than 10 % of its time: {function} takes {second} with one SPE and {first} with \
             {spes}, {how}.",
    shorter: "",
    equal: "SPEs may share a variable: {function} takes {first} when {spes} SPEs use the same one, and {second} \
            when one SPE has it to itself.",
};

/// Recommends private variables if a shared variable is slow (section 5.4).
const SHARED_OR_PRIVATE: Comparison = Comparison {
    sides: |run| {
        let (variable, _, sides) = shared_variable(run)?;
        sides.compared().more()?;
        let p = &variable.parameters;
        let private = run.median(variable.function, |q| {
            q.buffers == Some(Buffers::Private)
                && (q.spes, q.settings.block_bytes, q.cell, q.module)
                    == (p.spes, p.settings.block_bytes, p.cell, p.module)
        })?;
        let shared_or_private = Sides::of(sides.first, private).with("spes", p.spes);
        Some(shared_or_private.with("function", variable.function))
    },
    longer: "Where SPEs do little else, give each a variable of its own and combine them at the end: {function} by \
             {spes} SPEs takes {second} on private variables and {first} on a shared one, {ratio} times as long.",
    shorter: "",
    equal: "Private variables gain nothing: {function} by {spes} SPEs takes {second} on them and {first} on a \
            shared one.",
};

/// Returns the measurement with the largest number of SPEs that share a variable, the measurement
/// of a single SPE, and the comparison of their times.
fn shared_variable<'a>(
    run: &'a RunResults<'_>,
) -> Option<(&'a Measurement, &'a Measurement, Sides)> {
    let by_several = |p: &Parameters| p.spes > 1 && p.buffers == Some(Buffers::Shared);
    let shared = Function::ALL
        .into_iter()
        .filter(|function| *function >= Function::FetchAdd && *function <= Function::FetchSet)
        .find_map(|function| {
            run.all(function, by_several)
                .max_by_key(|m| m.parameters.spes)
        })?;
    let (function, p) = (shared.function, &shared.parameters);
    let of_one = |q: &Parameters| q.spes == 1 && q.settings.block_bytes == p.settings.block_bytes;
    let (one, alone) = run
        .all(function, of_one)
        .find_map(|one| Some((one, Value::time(one)?)))?;
    let sides = Sides::of(Value::time(shared)?, alone).with("function", function);
    Some((shared, one, sides.with("spes", p.spes)))
}

const WAKE_UP_OR_SPIN: Comparison = Comparison {
    sides: |run| {
        run.findings_named("wake_up_ns")
            .into_iter()
            .find_map(|finding| {
                let between = finding.parameters.get("between")?.clone();
                let between = serde_json::from_value(between).ok()?;
                let cell = number(finding, "cell")?;
                let measured =
                    run.median(Function::WakeUp, |p| (p.between, p.cell) == (between, cell));
                let wake_up = like(measured, finding.value)?;
                WORDS.into_iter().find_map(|word| {
                    let exchange = run.exchange(word, between, cell)?;
                    Some(Sides::of(wake_up, exchange).with("word", word))
                })
            })
    },
    longer: "Spin where a wait is shorter than {first}, and sleep where it is longer. To wake an SPE takes {first}, \
             {ratio} times as long as a {word} exchange while both sides spin ({second}).",
    shorter: "Let SPEs wait, and do not spin: an SPE that has waited has its word after {first}, less than a {word} \
              exchange takes ({second}).",
    equal: "Let SPEs wait, and do not spin: an SPE that has waited has its word after {first}, as long as a {word} \
            exchange takes ({second}).",
};
