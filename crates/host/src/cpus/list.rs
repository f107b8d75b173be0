//! Linux's notation for sets of CPUs and nodes.

use std::collections::BTreeSet;

/// One more than the highest number that is accepted. The kernel is built for at most 8192 CPUs and
/// 1024 nodes; the bound keeps a damaged range from filling the memory.
const END: u32 = 65536;

/// Parses a list such as `0-3,8,10-11`; an empty list is an empty set. `None` if it is malformed.
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

/// Writes a set as the kernel does.
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

/// Digits only: `parse` alone would accept a plus sign.
fn number(digits: &str) -> Option<u32> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|&number| plain && number < END)
}

/// `CPU 3`, or `CPUs 0-3,8`.
pub(crate) fn name_cpus(cpus: &BTreeSet<u32>) -> String {
    let noun = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    format!("{noun} {}", write_list(cpus))
}
