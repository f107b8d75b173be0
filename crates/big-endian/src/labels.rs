//! Labels whose addresses a program takes (`&&label`). Code of WebAssembly has no addresses, so
//! each such label is a number, and `goto *` chooses by it.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::text::{name_at, names};

const ADDRESS: &str = "blockaddress(";

/// Returns the IR with numbers in the place of addresses of labels. If it has none, nothing is
/// copied.
pub(crate) fn numbered(ir: &str) -> Cow<'_, str> {
    if !ir.contains(ADDRESS) {
        return Cow::Borrowed(ir);
    }
    let mut numbers = HashMap::new();
    for (_, function, label, _) in addresses(ir) {
        let next = numbers.len() + 1;
        numbers.entry((function, label)).or_insert(next);
    }
    let mut function = "";
    let mut result = String::new();
    for line in ir.lines() {
        if line.starts_with("define ") {
            function = names(line, '@').next().map_or("", |(_, name)| name);
        }
        match choice(line, function, &numbers) {
            Some(choice) => result += &choice,
            None => {
                let mut rest = 0;
                for (at, function, label, end) in addresses(line) {
                    let number = numbers[&(function, label)];
                    result += &line[rest..at];
                    result += &format!("inttoptr (i32 {number} to ptr)");
                    rest = end;
                }
                result += &line[rest..];
            }
        }
        result.push('\n');
    }
    Cow::Owned(result)
}

/// Returns where addresses of labels begin, their functions and labels, and where they end.
fn addresses(text: &str) -> impl Iterator<Item = (usize, &str, &str, usize)> {
    text.match_indices(ADDRESS).filter_map(|(at, _)| {
        let rest = &text[at + ADDRESS.len()..];
        let function = name_at(rest)?;
        let label = name_at(rest[function.len()..].strip_prefix(", ")?)?;
        let end = at + ADDRESS.len() + function.len() + 2 + label.len();
        text[end..]
            .starts_with(')')
            .then_some((at, function, label, end + 1))
    })
}

/// Returns a `switch` in the place of an `indirectbr`. There is one in a function of C at most.
fn choice(line: &str, function: &str, numbers: &HashMap<(&str, &str), usize>) -> Option<String> {
    let jump = line.trim_start().strip_prefix("indirectbr ptr ")?;
    let (target, labels) = jump.split_once(", [")?;
    let (labels, end) = labels.split_once(']')?;
    let mut cases: Vec<(usize, &str)> = labels
        .split(", ")
        .filter_map(|label| label.strip_prefix("label "))
        .filter_map(|label| Some((*numbers.get(&(function, label))?, label)))
        .collect();
    cases.sort_unstable();
    cases.dedup();
    let cases: String = cases
        .iter()
        .map(|(number, label)| format!("    i32 {number}, label {label}\n"))
        .collect();
    Some(format!(
        "  %label.number = ptrtoint ptr {target} to i32\n  switch i32 %label.number, label %no.label [\n{cases}  ]{end}\n\n\
         no.label:\n  unreachable"
    ))
}
