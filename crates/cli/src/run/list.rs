//! Lists and ranges of values.

use std::any::TypeId;
use std::ffi::OsStr;

use clap::builder::{
    PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser, ValueParser,
};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command};
use serde_json::Value;

use crate::args::{count, order, size};

/// The values of a flag, in the order in which the user gave them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct List(pub Vec<Value>);

/// The largest number of values of a list. A longer list is most likely a mistake.
const VALUES_MAX: usize = 1_000;

/// The notation of the values of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    /// Whole numbers: `1,2,4-8` means 1, 2, 4, 5, 6, 7 and 8.
    Counts,
    /// Orders of matrices: `1k-4k` means 1,024, 2,048 and 4,096.
    Orders,
    /// Bytes: `8-16k` means 8 and its doubles up to 16k.
    Sizes,
    /// Cycles: `0.1-100` means 0.1, 0.2, 0.5, 1 and so on up to 100.
    Cycles,
    /// Other values, separated by commas.
    Texts,
}

impl Values {
    /// Returns the notation of a flag.
    fn of(flag: &Arg) -> Self {
        let name = flag.get_id().as_str();
        let parser = flag.get_value_parser();
        if parser.type_id() == TypeId::of::<f64>() {
            Self::Cycles
        } else if parser.possible_values().is_some() || parser.type_id() == TypeId::of::<String>() {
            Self::Texts
        } else if name == "size" {
            Self::Orders
        } else if name == "bytes" || name.ends_with("_bytes") {
            Self::Sizes
        } else {
            Self::Counts
        }
    }

    fn parse(self, text: &str) -> Result<Vec<Value>, String> {
        match self {
            Self::Counts => counts(text).map(values),
            Self::Orders => orders(text).map(values),
            Self::Sizes => sizes(text).map(values),
            Self::Cycles => cycles(text).map(values),
            Self::Texts => Ok(text.split(',').map(Value::from).collect()),
        }
    }
}

/// Turns a flag that takes one value into a flag that takes a list.
pub(super) fn listed(flag: Arg) -> Arg {
    let values = Values::of(&flag);
    let list = move |text: &str| values.parse(text).map(List);
    let possible: Vec<_> = flag.get_possible_values();
    let flag = flag.value_name("LIST").allow_negative_numbers(true);
    if values != Values::Texts {
        return flag.value_parser(ValueParser::new(list));
    }
    let one = |text: String| List(vec![text.into()]);
    flag.value_delimiter(',')
        .action(ArgAction::Append)
        .value_parser(if possible.is_empty() {
            ValueParser::new(StringValueParser::new().map(one))
        } else {
            ValueParser::new(OneOf::of(possible).map(one))
        })
}

/// A parser of one word of a list. Its error messages show the syntax of lists.
#[derive(Clone)]
struct OneOf {
    words: PossibleValuesParser,
    example: String,
}

impl OneOf {
    fn of(possible: Vec<PossibleValue>) -> Self {
        let first: Vec<&str> = possible
            .iter()
            .map(PossibleValue::get_name)
            .take(2)
            .collect();
        Self {
            example: first.join(","),
            words: PossibleValuesParser::new(possible),
        }
    }
}

impl TypedValueParser for OneOf {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        flag: Option<&Arg>,
        text: &OsStr,
    ) -> Result<String, clap::Error> {
        self.words
            .parse_ref(command, flag, text)
            .map_err(|mut error| {
                let syntax = format!(
                    "a list has values with commas between, such as {}",
                    self.example
                );
                let tips = ContextValue::StyledStrs(vec![syntax.into()]);
                error.insert(ContextKind::Suggested, tips);
                error
            })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.words.possible_values()
    }
}

/// Parses a list of values of `flag`.
pub(super) fn parsed(flag: &Arg, text: &str) -> Result<Vec<Value>, String> {
    Values::of(flag).parse(text)
}

fn values<T: Into<Value>>(all: Vec<T>) -> Vec<Value> {
    all.into_iter().map(T::into).collect()
}

/// Parses sizes in bytes: `8-16k` means 8, 16, 32 and so on, up to 16k.
pub(crate) fn sizes(text: &str) -> Result<Vec<u64>, String> {
    doubled(text, size, "128,1k-16k")
}

fn orders(text: &str) -> Result<Vec<u64>, String> {
    doubled(text, order, "512,1k-4k")
}

fn counts(text: &str) -> Result<Vec<u64>, String> {
    split(text, count, "1,2,4-8", |first, last, all| {
        all.extend((first..=last).take(VALUES_MAX + 1));
    })
}

/// Parses a list in which a range means its first value and the doubles of this value.
fn doubled(
    text: &str,
    one: impl Fn(&str) -> Result<u64, String>,
    example: &str,
) -> Result<Vec<u64>, String> {
    split(text, one, example, |first, last, all| {
        let doubled = |size: &u64| size.checked_mul(2);
        let sizes = std::iter::successors(Some(first), doubled);
        all.extend(
            sizes
                .take_while(|size| *size <= last && *size > 0)
                .take(VALUES_MAX),
        );
        if first == 0 {
            all.push(0);
        }
    })
}

fn cycles(text: &str) -> Result<Vec<f64>, String> {
    let one = |text: &str| {
        let number: Result<f64, _> = text.parse();
        number
            .ok()
            .filter(|number| number.is_finite() && *number >= 0.0)
            .ok_or("cycles are numbers from 0 on".to_owned())
    };
    split(text, one, "0.1-10,11.7", |first, last, all| {
        // The steps begin at the power of 10 below the first value.
        let lowest = if first > 0.0 {
            first.log10().floor() as i32
        } else {
            -3
        };
        all.push(first);
        let steps = (lowest..lowest + 20).flat_map(|power| [1, 2, 5].map(|step| (step, power)));
        // The steps are parsed from text, because 2 * 0.1 is not the same number as 0.2.
        let steps = steps.map(|(step, power)| format!("{step}e{power}").parse().unwrap_or(0.0));
        all.extend(steps.filter(|step| *step > first && *step < last));
        if last > first {
            all.push(last);
        }
    })
}

/// Parses a list. `between` adds the values of a range. Error messages show `example`, a valid
/// list.
fn split<T: Copy + PartialOrd>(
    text: &str,
    one: impl Fn(&str) -> Result<T, String>,
    example: &str,
    between: impl Fn(T, T, &mut Vec<T>),
) -> Result<Vec<T>, String> {
    let syntax = format!("a list has values and ranges with commas between, such as {example}");
    let one = |part: &str| one(part).map_err(|why| format!("{why}; {syntax}"));
    let mut all = Vec::new();
    for part in text.split(',') {
        match part.split_once('-') {
            // A part that begins with a minus is a negative number. The function `one` refuses it.
            Some((first, last)) if !first.is_empty() => {
                let (from, to) = (one(first)?, one(last)?);
                if from > to {
                    return Err(format!(
                        "{part} is a range from more to less; use {last}-{first}"
                    ));
                }
                between(from, to, &mut all);
            }
            _ => all.push(one(part)?),
        }
        if all.len() > VALUES_MAX {
            return Err(format!(
                "{text} are more than {VALUES_MAX} values; use fewer"
            ));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_of_every_count_of_doubled_sizes_and_of_1_2_5() {
        assert_eq!(counts("1,2,4-8").unwrap(), [1, 2, 4, 5, 6, 7, 8]);
        assert_eq!(counts("1k").unwrap(), [1_000]);
        assert_eq!(sizes("8-64,3").unwrap(), [8, 16, 32, 64, 3]);
        assert_eq!(sizes("8k-16k").unwrap(), [8_192, 16_384]);
        assert_eq!(orders("1k-4k").unwrap(), [1_024, 2_048, 4_096]);
        assert_eq!(
            cycles("0.1-5,11.7").unwrap(),
            [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 11.7]
        );
        assert_eq!(cycles("0").unwrap(), [0.0]);
    }

    #[test]
    fn a_wrong_list_gets_an_example_of_a_right_one() {
        let refused = |text: &str| counts(text).unwrap_err();
        assert_eq!(refused("8-4"), "8-4 is a range from more to less; use 4-8");
        assert_eq!(
            refused("1-1000000000000"),
            "1-1000000000000 are more than 1000 values; use fewer"
        );
        for text in ["", "1,", "1-", "-1", "x", "1--2"] {
            assert!(
                refused(text).starts_with("counts are whole numbers"),
                "{text:?}"
            );
        }
        assert_eq!(
            orders("1.5k").unwrap_err(),
            "orders are whole numbers, with k for 1,024; a list has values and ranges with commas between, such as \
             512,1k-4k"
        );
        assert_eq!(
            cycles("-1").unwrap_err(),
            "cycles are numbers from 0 on; a list has values and ranges with commas between, such as 0.1-10,11.7"
        );
    }
}
