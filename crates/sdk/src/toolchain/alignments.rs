//! Types whose alignment is larger than the distance of the elements of their arrays.
//!
//! After `typedef struct { ... } T __attribute__((aligned(128)));` the size of `T` is no multiple
//! of 128: the attribute is of the name, and not of the structure. gcc lets `T` have arrays all the
//! same, and their elements are as far from each other as `T` is large. clang refuses them. So such
//! a source is compiled with the largest alignment that all elements have: nothing lies elsewhere
//! then, but variables that are no arrays may be aligned less.

use std::collections::BTreeMap;

/// What clang says of such an array, around the name of the type, its size and its alignment.
const SAID: [&str; 3] = [
    "size of array element of type '",
    " bytes) isn't a multiple of its alignment (",
    " bytes)",
];

/// Types, with the alignment that each has instead.
#[derive(Default)]
pub(super) struct Lowered(BTreeMap<String, u64>);

impl Lowered {
    /// Adds the types that clang has refused, and returns a sentence about each new one.
    pub(super) fn add(&mut self, said: &str) -> Vec<String> {
        let mut new = Vec::new();
        for text in said.lines().filter_map(|line| line.split_once(SAID[0])) {
            let Some((name, size, alignment)) = refused(text.1) else {
                continue;
            };
            let lower = 1 << size.trailing_zeros();
            if self.0.insert(name.to_owned(), lower).is_none() {
                new.push(format!(
                    "{name} has {size} bytes and an alignment of {alignment}, and arrays, whose elements have an \
                     alignment of {lower}; so it has here"
                ));
            }
        }
        new
    }

    /// Returns a preprocessed source in which the definitions of the types have their alignments.
    pub(super) fn in_text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, alignment) in &self.0 {
            let mut from = 0;
            while let Some(at) = text[from..].find(name.as_str()).map(|at| from + at) {
                from = at + name.len();
                let is_part = |c: char| c.is_alphanumeric() || c == '_';
                if !text[..at].ends_with(is_part)
                    && let Some((start, end)) = defined_alignment(&text[from..])
                {
                    text.replace_range(from + start..from + end, &alignment.to_string());
                }
            }
        }
        text
    }
}

/// Returns the name, size and alignment of a type after the first words of the message.
fn refused(text: &str) -> Option<(&str, u64, u64)> {
    let (before, after) = text.split_once(SAID[1])?;
    let (name, _) = before.split_once('\'')?;
    let (_, size) = before.rsplit_once('(')?;
    let (alignment, _) = after.split_once(SAID[2])?;
    let size = size.parse().ok().filter(|size| *size > 0)?;
    Some((name, size, alignment.parse().ok()?))
}

/// Returns where the alignment is in ` __attribute__((aligned(128)));`, if the text begins so.
fn defined_alignment(text: &str) -> Option<(usize, usize)> {
    let mut rest = text;
    for word in ["__attribute__", "(", "("] {
        rest = rest.trim_start().strip_prefix(word)?;
    }
    rest = rest.trim_start();
    rest = ["__aligned__", "aligned"]
        .iter()
        .find_map(|word| rest.strip_prefix(word))?;
    let inner = rest.trim_start().strip_prefix('(')?;
    let mut depth = 0_usize;
    let end = inner.find(|c| {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return true,
            ')' => depth -= 1,
            _ => {}
        }
        false
    })?;
    let mut rest = &inner[end + 1..];
    for word in [")", ")"] {
        rest = rest.trim_start().strip_prefix(word)?;
    }
    // Otherwise it is the type of a variable, whose name follows.
    let is_end = rest.trim_start().starts_with([';', ',']);
    let start = text.len() - inner.len();
    is_end.then_some((start, start + end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_definition_of_the_type_gets_another_alignment() {
        let mut lowered = Lowered::default();
        let said = "a.c:54:25: error: size of array element of type 'T' (aka 'struct t') (160 bytes) isn't a multiple of \
                    its alignment (128 bytes)\n";
        assert_eq!(
            lowered.add(said),
            [
                "T has 160 bytes and an alignment of 128, and arrays, whose elements have an alignment of 32; so it has \
                 here"
            ]
        );
        assert!(lowered.add(said).is_empty());
        assert!(lowered.add("a.c:1:1: error: expected ')'\n").is_empty());
        let text = |alignment: &str| {
            format!(
                "typedef struct {{ int a; }} T\n  __attribute__ ((__aligned__ ({alignment})));\n\
                 T __attribute__((aligned(128))) one; T all[3] __attribute__((aligned(128))); typedef int TT \
                 __attribute__((aligned(128)));\n"
            )
        };
        assert_eq!(lowered.in_text(&text("(64) * 2")), text("32"));
    }
}
