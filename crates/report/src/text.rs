//! The text of names, sizes and times, which is the same in tables, pages and messages.

use anstyle::Style;
pub use cellworks_stats::figures::{bandwidth, size, time};
use cellworks_stats::figures::{plain, thousands};
use cellworks_stats::{
    Advice, Between, Buffers, Choice, Doubt, Finding, Function, Interval, Matrix, Measurement,
    PairTime, Parameters, Polling, Primitive, Setting, Storage,
};
use serde::Serialize;
use serde_json::Value;

use crate::envelope::{Conditions, CpuLeftOut, Envelope};
use crate::machine_info::{MachineInfo, Simulation};
use crate::report::Report;

const TITLE: Style = Style::new().bold();

/// The width, in columns, at which tables have all of their columns. Narrower tables leave some out.
pub const WIDTH: usize = 100;

/// Breaks a paragraph into lines of at most `width` columns. All lines except the first start with
/// `indent`. Words are never broken, because they may be flags or paths.
pub fn wrapped(paragraph: &str, indent: &str, width: usize) -> String {
    let options = textwrap::Options::new(width)
        .subsequent_indent(indent)
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::fill(paragraph, options) + "\n"
}

pub(crate) fn bold(text: &str) -> String {
    format!("{}{text}{}", TITLE.render(), TITLE.render_reset())
}

pub(crate) fn trimmed(text: &str) -> String {
    text.lines()
        .fold(String::new(), |all, line| all + line.trim_end() + "\n")
}

/// Returns the name of a measurement in a few words, for progress and errors.
pub fn title(function: Function, parameters: &Parameters) -> String {
    let Parameters {
        spes,
        cell,
        module,
        between,
        buffers,
        settings,
    } = parameters;
    let block = settings
        .block_bytes
        .map(|bytes| format!(" {}", size(bytes)));
    let others = Setting::shown().map(|(setting, shown)| {
        let text = (setting.get)(settings).and_then(shown.in_title);
        text.map(|text| format!(", {text}"))
    });
    // Shared buffers are the default, so only private buffers are named.
    let private = buffers.filter(|buffers| *spes > 1 && *buffers == Buffers::Private);
    let private = private.map(|_| ", private".to_owned());
    let between = (*between == Between::SpeSpe).then(|| ", between SPEs".to_owned());
    let cell = (*cell > 0).then(|| format!(", Cell {cell}"));
    let module = module.filter(|module| *module > 0);
    let module = module.map(|module| format!(", module {module}"));
    let parts = [
        block,
        Some(format!(", {}", count(*spes, "SPE"))),
        private,
        between,
        cell,
        module,
    ];
    parts
        .into_iter()
        .chain(others)
        .flatten()
        .fold(function.to_string(), |title, part| title + &part)
}

/// Returns the name of a value in JSON. The value is that of an `enum` without fields.
pub(crate) fn name_in_json(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        other => unreachable!("{other:?} is no name"),
    }
}

/// Returns the two ends of a communication, as tables name them. If the data is in a cache, the
/// name is `cache-spe`, and not `memory-spe` as in JSON.
pub(crate) fn ends(measurement: &Measurement) -> String {
    match place(measurement.lies_in) {
        Some(ends) => ends.to_owned(),
        None => name_in_json(measurement.parameters.between),
    }
}

/// Returns how tables name `memory-spe` if the data is in a cache or partly so, else `None`.
pub(crate) const fn place(lies_in: Option<Storage>) -> Option<&'static str> {
    match lies_in {
        Some(Storage::Cache) => Some("cache-spe"),
        Some(Storage::Partly) => Some("partly-spe"),
        Some(Storage::Memory) | None => None,
    }
}

/// Returns the time that the library adds to the processor's atomic instruction.
pub(crate) fn added_ns(measurement: &Measurement) -> Option<f64> {
    let bare_ns = measurement.bare_ns?;
    Some((measurement.latency_ns.p50 - bare_ns).max(0.0))
}

pub(crate) fn notes_of(group: &[Measurement], machine: &MachineInfo) -> Vec<String> {
    let mut notes = Vec::new();
    if machine.is_this_computer() && group[0].function == Function::MkThread {
        notes.push(
            "Each SPE has an OS thread that waits for programs: this is a start on a waiting worker. What it takes \
             to create an OS thread is measured by osthread."
                .to_owned(),
        );
    }
    if group.iter().any(|m| m.lies_in == Some(Storage::Partly)) {
        notes.push("partly: the last-level cache may hold a part of the data.".to_owned());
    }
    if group.iter().any(|m| m.bare_ns.is_some()) {
        notes.push(
            "bare: the median of the same by one instruction of the processor, without the library; the library \
             adds the rest of the median."
                .to_owned(),
        );
    }
    for (is_shown, note) in [
        (
            varies(group, |m| m.parameters.buffers),
            "shared: all SPEs use the same buffer; private: each has its own.",
        ),
        (
            varies(group, |m| m.parameters.settings.list_elements),
            "list: the number of blocks in a list.",
        ),
        (
            varies(group, |m| m.parameters.settings.chains),
            "chains: the pointers that are followed at once.",
        ),
        (
            varies(group, |m| m.parameters.settings.loading_spes),
            "loading: the other SPEs that copy memory meanwhile.",
        ),
    ] {
        notes.extend(is_shown.then(|| note.to_owned()));
    }
    notes.extend(group.iter().filter_map(shared_cpu));
    notes.dedup();
    notes
}

/// Returns whether measurements have different values.
fn varies<T: PartialEq>(group: &[Measurement], value: impl Fn(&Measurement) -> Option<T>) -> bool {
    let mut values = group.iter().filter_map(value);
    let first = values.next();
    values.any(|other| Some(other) != first)
}

/// Returns a note if the two ends of an exchange share a CPU.
fn shared_cpu(measurement: &Measurement) -> Option<String> {
    let spes: Vec<String> = measurement
        .shared_cpu
        .iter()
        .map(usize::to_string)
        .collect();
    let other = match measurement.parameters.between {
        Between::SpeSpe => "SPE 0",
        _ => "the PPE",
    };
    (!spes.is_empty()).then(|| {
        format!(
            "{}, {}: {other} and SPE {} share one CPU and take turns on it, so the time is not one between CPUs.",
            title(measurement.function, &measurement.parameters),
            name_in_json(measurement.parameters.between),
            spes.join(", ")
        )
    })
}

/// Returns the parts of a machine with their counts: `64 SPEs, 1 Cell, 2 memory modules`.
pub(crate) fn parts_of(machine: &MachineInfo) -> String {
    format!(
        "{}, {}, {}",
        count(machine.spes, "SPE"),
        count(machine.cells.len(), "Cell"),
        count(machine.memory_modules, "memory module"),
    )
}

/// If there are at most this many CPUs, they are listed in the order of their use, else as ranges.
const IN_ORDER: usize = 8;

/// Returns the CPUs of the PPE and of the SPEs, or `None` if the place of the PPE has no name.
pub(crate) fn seats(machine: &MachineInfo) -> Option<String> {
    let main = machine.ppe_place.as_ref()?;
    let places = &machine.spe_places;
    let others = match cpus(places).filter(|_| places.len() > IN_ORDER) {
        Some(cpus) => format!("CPU {}", ranges(cpus)),
        None => format!("{}, taken in this order", places.join(", ")),
    };
    Some(format!("main thread on {main}; the others on {others}"))
}

/// Returns the numbers of the CPUs at the given places, or `None` if a place is not a CPU.
pub(crate) fn cpus(places: &[String]) -> Option<Vec<u32>> {
    let number = |place: &String| place.strip_prefix("CPU ")?.parse().ok();
    places.iter().map(number).collect()
}

pub(crate) fn simulation(simulation: &Simulation) -> String {
    let Simulation {
        description,
        seed,
        system_calls,
    } = simulation;
    let access = if *system_calls {
        ", the PPE reaches SPEs by system calls"
    } else {
        ""
    };
    format!("simulated by the description {description}, seed {seed}{access}")
}

pub(crate) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

pub(crate) fn matrix_title(matrix: &Matrix) -> String {
    let carrier = match matrix.primitive {
        Primitive::Atomic => "atomic variable",
        other => other.name(),
    };
    let block = matrix
        .block_bytes
        .map(|bytes| format!(" of {}", size(bytes)));
    let polling = matrix
        .polling
        .map(|by| format!(", polled by {}", by.name()));
    format!(
        "From SPE to SPE by {carrier}{}{}",
        block.unwrap_or_default(),
        polling.unwrap_or_default()
    )
}

/// Returns sentences about the number of measured pairs, how receivers wait, and where the data is.
pub(crate) fn matrix_notes(matrix: &Matrix) -> String {
    let mut notes = format!(
        "Measured: {} of {} pairs.",
        whole(matrix.pairs_measured),
        whole(matrix.pairs)
    );
    notes += match matrix.polling {
        None => "",
        Some(Polling::Reads) => {
            " Receivers read until they see the new value, as programs that wait do; \
             core-to-core-latency tries to swap it instead (--polling compare-and-swap)."
        }
        Some(Polling::CompareAndSwap) => {
            " Receivers try to swap the value until that succeeds, as core-to-core-latency does; \
             programs that wait read it instead (--polling reads)."
        }
    };
    if let Some(home) = matrix.home {
        let place = match home.module {
            Some(module) => format!("in memory module {module}"),
            None => "in the memory module nearest to the SPE that sends".to_owned(),
        };
        notes += &match home.verified {
            Some(true) => format!(" The data lay {place}; the machine confirmed it."),
            Some(false) => {
                format!(" The data should have been {place}, and the machine has them elsewhere.")
            }
            None => format!(" The data lay {place}; the machine cannot confirm it."),
        };
    }
    if let Some(doubts) = doubts_of(&matrix.doubts, ", ") {
        notes += &format!(" Doubt: {doubts}.");
    }
    notes
}

/// Returns sentences about the nearest and the farthest pair of SPEs in a matrix, and the average
/// of all pairs if all were measured, which is what a choice by chance costs. `None` if the times
/// of the two pairs differ by less than 5 %, or if only one pair was measured.
pub(crate) fn nearest_and_farthest(matrix: &Matrix, machine: &MachineInfo) -> Option<String> {
    let Choice {
        nearest,
        farthest,
        by_chance_ns,
    } = matrix.choice.as_ref()?;
    let ends = |pair: &PairTime| {
        let (from, to) = (pair.from_spe, pair.to_spe);
        [from.min(to), from.max(to)]
    };
    let times = farthest.one_way_ns / nearest.one_way_ns;
    if ends(nearest) == ends(farthest) || !times.is_finite() || times < 1.05 {
        return None;
    }
    let said = |pair| {
        let [a, b] = ends(pair).map(|spe| spe_in_short(machine, spe));
        format!("{a} and {b}, {}", time(pair.one_way_ns))
    };
    let mut text = format!(
        "Nearest: {}. Farthest: {}, {} times as long.",
        said(nearest),
        said(farthest),
        plain(times)
    );
    // A sample of the pairs may have more near ones than there are.
    if let Some(average) = by_chance_ns {
        text += &format!(
            " By chance: {} on average, {} times as long.",
            self::time(*average),
            plain(average / nearest.one_way_ns)
        );
    }
    Some(text)
}

/// Returns the page size of a block. `huge_share` is the part of the block in huge pages, 0 to 1.
/// The ends of a block may be in pages of the other size, so the text is `4 KB` below 0.05 and `2
/// MB` from 0.95 on. Between these, the text contains the share.
pub(crate) fn pages(huge_share: f64) -> String {
    match huge_share {
        ..0.05 => "4 KB".to_owned(),
        0.95.. => "2 MB".to_owned(),
        share => format!("{:.0} % 2 MB", share * 100.0),
    }
}

/// Returns the name of an SPE with its place: `SPE 3 (core 5)`, or on a computer `CPU 5`.
pub(crate) fn spe(machine: &MachineInfo, spe: usize) -> String {
    match machine.spe_places.get(spe) {
        Some(place) if !place.is_empty() && machine.is_this_computer() => place.clone(),
        Some(place) if !place.is_empty() => format!("SPE {spe} ({place})"),
        _ => format!("SPE {spe}"),
    }
}

/// Returns the name of an SPE without its place: `SPE 3`, or on a computer `CPU 5`.
pub(crate) fn spe_in_short(machine: &MachineInfo, spe: usize) -> String {
    if machine.is_this_computer() {
        self::spe(machine, spe)
    } else {
        format!("SPE {spe}")
    }
}

/// Returns half the width of the interval of the median, in per cent of the median.
pub(crate) fn interval_percent(measurement: &Measurement) -> Option<String> {
    let Interval { low, high } = measurement.median_interval_ns?;
    let percent = (high - low) / 2.0 / measurement.latency_ns.p50 * 100.0;
    percent.is_finite().then(|| format!("{percent:.1}"))
}

pub(crate) fn finding_name(finding: &Finding) -> String {
    in_words(without_unit(&finding.name))
}

pub(crate) fn without_unit(name: &str) -> &str {
    ["_bytes_per_s", "_bytes", "_ns"]
        .into_iter()
        .find_map(|unit| name.strip_suffix(unit))
        .unwrap_or(name)
}

pub(crate) fn in_words(name: &str) -> String {
    let words = name.split('_').map(|word| match word {
        "spe" => "SPE",
        "spes" => "SPEs",
        "ppe" => "PPE",
        "cell" => "Cell",
        word => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Formats the value of a finding with its unit.
pub(crate) fn in_unit(value: f64, unit: &str) -> String {
    match unit {
        "ns" => time(value),
        "bytes" if value >= 0.0 && value.fract() == 0.0 => size(value as usize),
        "bytes/s" if value >= 0.0 => bandwidth(value as u64),
        "1" | "" => figures(value),
        unit => format!("{} {unit}", figures(value)),
    }
}

/// Returns the parameters of a finding, such as `block 64 KB, 8 SPEs`.
pub(crate) fn finding_parameters(finding: &Finding) -> String {
    let pairs = finding.parameters.iter().map(|(name, value)| {
        let (name, value) = match (name.strip_suffix("_bytes"), value) {
            (Some(name), Value::Number(bytes)) if bytes.as_u64().is_some() => {
                (name, size(bytes.as_u64().unwrap_or_default() as usize))
            }
            (_, Value::String(text)) => (name.as_str(), text.clone()),
            (_, value) => (name.as_str(), value.to_string()),
        };
        match (name, value.parse()) {
            ("spes", Ok(spes)) => count(spes, "SPE"),
            ("loading_spes", Ok(spes)) => count(spes, "loading SPE"),
            _ => format!("{} {value}", in_words(name)),
        }
    });
    pairs.collect::<Vec<_>>().join(", ")
}

pub(crate) fn quota(cpus: f64) -> String {
    format!("{} CPUs", (cpus * 100.0).round() / 100.0)
}

/// Returns the CPUs that are not used, grouped by reason: `CPU 1, 4-7 (offline)`.
pub(crate) fn left_out(host: &Conditions) -> Vec<String> {
    let mut by_reason: Vec<(&str, Vec<u32>)> = Vec::new();
    for CpuLeftOut { cpu, why } in &host.cpus_left_out {
        match by_reason.iter_mut().find(|(reason, _)| reason == why) {
            Some((_, cpus)) => cpus.push(*cpu),
            None => by_reason.push((why, vec![*cpu])),
        }
    }
    by_reason
        .into_iter()
        .map(|(why, cpus)| format!("CPU {} ({why})", ranges(cpus)))
        .collect()
}

/// Sorts numbers, and joins neighbouring numbers to ranges: `1, 4-7`.
pub(crate) fn ranges(mut numbers: Vec<u32>) -> String {
    numbers.sort_unstable();
    numbers.dedup();
    let ranges = numbers.chunk_by(|one, next| one + 1 == *next);
    let ranges = ranges.map(|range| match range {
        [first, .., last] => format!("{first}-{last}"),
        one => one[0].to_string(),
    });
    ranges.collect::<Vec<_>>().join(", ")
}

/// Returns the reasons why a result may be wrong or incomplete: headings with sentences.
pub(crate) fn doubts(envelope: &Envelope) -> Vec<(&'static str, Vec<String>)> {
    let mut doubts = Vec::new();
    if !envelope.trust.trustworthy {
        let mut reasons = envelope.trust.reasons.clone();
        if reasons.is_empty() {
            reasons.push("The run does not say why.".to_owned());
        }
        doubts.push(("Not trustworthy", reasons));
    }
    if !envelope.complete {
        let sentence = "The run ended early: what is shown was measured, but more was meant to be.";
        doubts.push(("Not complete", vec![sentence.to_owned()]));
    }
    doubts
}

/// Returns the names of doubts with `separator` between them, or `None` without doubts.
pub(crate) fn doubts_of(doubts: &[Doubt], separator: &str) -> Option<String> {
    let names: Vec<&str> = doubts.iter().map(|doubt| doubt.name()).collect();
    (!names.is_empty()).then(|| names.join(separator))
}

/// Returns the number of measurements and matrices without doubts, and of all.
fn sound(report: &Report) -> (usize, usize) {
    let measurements = report.measurements.iter().map(|one| &one.doubts);
    let doubts = measurements.chain(report.matrices.iter().map(|one| &one.doubts));
    let all = doubts.clone().count();
    (doubts.filter(|of| of.is_empty()).count(), all)
}

/// Returns a sentence about what can be trusted in a run that is not trustworthy as a whole, or
/// `None` if the run is trustworthy, or if all measurements or none have doubts.
pub(crate) fn still_trusted(report: &Report) -> Option<String> {
    let (sound, all) = sound(report);
    (!report.envelope.trust.trustworthy && sound > 0 && sound < all).then(|| {
        format!(
            "{sound} of {all} measurements and matrices: those without a word in the column `doubt`, or after \
             `Doubt:`. `cellworks compare` and `cellworks export` leave out \
             what is disturbed or unsteady, and also what is uncertain if most of the run is."
        )
    })
}

/// Returns a sentence about a complete run of a computer that can be trusted. `None` for others.
pub(crate) fn trusted(report: &Report) -> Option<String> {
    let envelope = &report.envelope;
    let is_good = envelope.trust.trustworthy && envelope.complete;
    let (sound, all) = sound(report);
    (envelope.machine.is_this_computer() && is_good && all > 0).then(|| match all - sound {
        0 => "No measurement has a doubt.".to_owned(),
        _ => format!(
            "{sound} of {all} measurements and matrices have no doubt; the others have a word in the column `doubt`, or \
             after `Doubt:`."
        ),
    })
}

/// The mark of a result that rests on measurements that have doubts.
pub(crate) const DOUBTFUL: &str = "(doubtful)";

/// What is said once, if all advice is doubtful.
pub(crate) const ALL_DOUBTFUL: &str = "all of it is doubtful: it rests on numbers that have doubts";

pub(crate) fn is_all_doubtful(advice: &[Advice]) -> bool {
    advice.len() > 1 && advice.iter().all(|one| one.doubtful)
}

/// Returns the texts of advice. Doubtful advice has a mark at its end, unless all advice is
/// doubtful.
pub(crate) fn advice(advice: &[Advice]) -> Vec<String> {
    let is_all = is_all_doubtful(advice);
    let text = |one: &Advice| {
        if one.doubtful && !is_all {
            let text = &one.text;
            format!("{text} (Doubtful: it rests on numbers that have doubts.)")
        } else {
            one.text.clone()
        }
    };
    advice.iter().map(text).collect()
}

/// Returns sentences about measurements with samples from two states of the computer.
pub(crate) fn two_states(measurements: &[Measurement]) -> Vec<String> {
    let both = |measurement: &Measurement| match &measurement.states[..] {
        [fast, slow] => Some(format!(
            "{} took {} in {:.0} % of the samples and {} in {:.0} %.",
            title(measurement.function, &measurement.parameters),
            time(fast.ns),
            100.0 * fast.share,
            time(slow.ns),
            100.0 * slow.share,
        )),
        _ => None,
    };
    measurements.iter().filter_map(both).collect()
}

/// Formats a number with three significant digits, and with commas between thousands.
pub(crate) fn figures(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    // 9.996 is rounded to 10.0, so it is printed with one decimal, like 10.
    let power = (value.abs() * 1.0005).log10().floor() as i32;
    if power >= 3 {
        let last = 10f64.powi(power - 2);
        return thousands(&format!("{:.0}", (value / last).round() * last));
    }
    let decimals = (2 - power).clamp(0, 9) as usize;
    format!("{value:.decimals$}")
}

pub(crate) fn whole(count: usize) -> String {
    thousands(&count.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up;
    use cellworks_stats::Settings;

    #[test]
    fn a_number_of_spes_is_no_number_of_an_spe() {
        let finding = |loading_spes: usize| Finding {
            name: "memory_latency_ns".to_owned(),
            value: 168.0,
            unit: "ns".to_owned(),
            parameters: [
                ("loading_spes", loading_spes.into()),
                ("module", 1.into()),
                ("spes", 1.into()),
            ]
            .map(|(name, value): (&str, Value)| (name.to_owned(), value))
            .into(),
            doubtful: false,
        };
        assert_eq!(
            [0, 1].map(|loading| finding_parameters(&finding(loading))),
            [
                "0 loading SPEs, module 1, 1 SPE",
                "1 loading SPE, module 1, 1 SPE"
            ]
        );
    }

    #[test]
    fn doubtful_advice_has_a_mark_and_if_all_is_doubtful_one_for_all() {
        let mut all = [made_up::report().advice, made_up::report().advice].concat();
        let sound = all[0].text.clone();
        let marked = format!("{sound} (Doubtful: it rests on numbers that have doubts.)");
        let shown = |all: &[Advice]| {
            let mut report = made_up::report();
            report.advice = all.to_vec();
            let table = crate::table::render(&report, 80);
            let heading = "Advice (all of it is doubtful: it rests on numbers that have doubts)";
            let page = crate::html::render(&report);
            let is_said =
                page.contains("Note: all of it is doubtful: it rests on numbers that have doubts.");
            assert_eq!(table.contains(heading), is_said);
            (advice(all), is_said)
        };
        all[1].doubtful = true;
        let one = (vec![sound.clone(), marked], false);
        assert_eq!(shown(&all), one);
        all[0].doubtful = true;
        assert_eq!(shown(&all), (vec![sound.clone(), sound], true));
    }

    #[test]
    fn titles_contain_what_differs_between_measurements() {
        let all = made_up::report().measurements;
        let titles: Vec<String> = all
            .iter()
            .map(|m| title(m.function, &m.parameters))
            .collect();
        assert_eq!(
            titles,
            [
                "mailbox, 2 SPEs, between SPEs",
                "dmaget 1 KB, 1 SPE",
                "dmalistget 1 KB, 2 SPEs, private, 4 chains, 1 SPE loading"
            ]
        );
        let parameters = Parameters {
            settings: Settings {
                loading_spes: Some(0),
                ..all[2].parameters.settings
            },
            ..all[2].parameters.clone()
        };
        assert_eq!(
            title(Function::DmaListGet, &parameters),
            "dmalistget 1 KB, 2 SPEs, private, 4 chains"
        );
    }

    #[test]
    fn cpus_with_one_reason_are_named_together() {
        let mut host = made_up::report().envelope.environment.host.unwrap();
        let left_out = |cpu, why: &str| CpuLeftOut {
            cpu,
            why: why.to_owned(),
        };
        host.cpus_left_out = [7, 1, 4, 5, 6].map(|cpu| left_out(cpu, "offline")).into();
        host.cpus_left_out.insert(2, left_out(2, "not allowed"));
        assert_eq!(
            super::left_out(&host),
            ["CPU 1, 4-7 (offline)", "CPU 2 (not allowed)"]
        );
        host.cpus_left_out.clear();
        assert_eq!(super::left_out(&host), [""; 0]);
    }

    #[test]
    fn numbers_have_three_figures() {
        assert_eq!(
            [
                0.0, 0.001234, 0.9999, 1.0, 9.996, 21.74, 99.96, 1_234.4, 1e6, -2.0
            ]
            .map(figures),
            [
                "0",
                "0.00123",
                "1.00",
                "1.00",
                "10.0",
                "21.7",
                "100",
                "1,230",
                "1,000,000",
                "-2.00"
            ]
        );
    }
}
