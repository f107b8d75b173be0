//! Linux's notation for sets of CPUs and memory nodes.

use std::collections::BTreeSet;

/// The smallest number that is not accepted, so that a damaged range cannot fill the memory.
/// Kernels have at most 8192 CPUs.
const END: u32 = 65536;

/// Parses a list in Linux's notation, such as `0-3,8,10-11`. The list may be empty.
pub fn parse_list(text: &str) -> Option<BTreeSet<u32>> {
    let text = text.trim();
    let mut set = BTreeSet::new();
    if text.is_empty() {
        return Some(set);
    }
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return None;
        }
        set.extend(first..=last);
    }
    Some(set)
}

/// Parses a map such as `0000,0000000f`: hexadecimal words of 32 bits, the highest first.
pub fn parse_map(text: &str) -> Option<BTreeSet<u32>> {
    let mut set = BTreeSet::new();
    for (at, digits) in text.trim().rsplit(',').enumerate() {
        let first = u32::try_from(at).ok()? * u32::BITS;
        // `from_str_radix` would also accept a plus sign.
        let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let word = u32::from_str_radix(digits, 16).ok()?;
        if !plain || first >= END {
            return None;
        }
        set.extend(
            (first..)
                .take(32)
                .filter(|number| word >> (number - first) & 1 == 1),
        );
    }
    Some(set)
}

pub fn write_list(set: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in set {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let parts = ranges.into_iter().map(|(first, last)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    });
    parts.collect::<Vec<_>>().join(",")
}

/// Parses digits. `parse` would also accept a plus sign.
fn number(digits: &str) -> Option<u32> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|&number| plain && number < END)
}

/// Returns `CPU 3`, or `CPUs 0-3,8`.
pub(crate) fn name_cpus(cpus: &BTreeSet<u32>) -> String {
    name_set("CPU", cpus)
}

/// Returns `NUMA node 3`, or `NUMA nodes 0-3,8`.
pub(crate) fn name_nodes(nodes: &BTreeSet<u32>) -> String {
    name_set("NUMA node", nodes)
}

fn name_set(noun: &str, numbers: &BTreeSet<u32>) -> String {
    let plural = if numbers.len() == 1 { "" } else { "s" };
    format!("{noun}{plural} {}", write_list(numbers))
}
