use std::collections::BTreeMap;

use toml::{Table, Value};

use super::*;

impl Description {
    /// Returns the description as TOML, with a line for each quantity, for
    /// [`from_toml`](Self::from_toml).
    ///
    /// # Panics
    ///
    /// Panics if a number is above 2^63 - 1, which is above all allowed numbers.
    ///
    /// ```
    /// # use cellworks_sim::Description;
    /// let ps3 = Description::built_in("ps3").unwrap();
    /// assert_eq!(Description::from_toml(&ps3.to_toml(), "ps3.toml"), Ok(ps3));
    /// ```
    pub fn to_toml(&self) -> String {
        let root = Table::try_from(self).expect("TOML can hold every description");
        let (sections, mut text) = root.iter().fold(
            (String::new(), String::new()),
            |(sections, text), (key, value)| match value {
                Value::Table(table) => (sections + &section(&format!("[{key}]"), table), text),
                Value::Array(tables) => {
                    let tables = tables.iter().filter_map(Value::as_table);
                    let tables = tables.map(|table| section(&format!("[[{key}]]"), table));
                    (sections + &tables.collect::<String>(), text)
                }
                value => (sections, text + &line(key, value)),
            },
        );
        text += &sections;
        text
    }

    /// Returns the keys, such as `memory[0].banks`, that have different values in this machine and
    /// in `other`. Each key is followed by its value in this machine and its value in `other`. A
    /// value is `None` if the key is missing. Sources are not compared.
    ///
    /// ```
    /// # use cellworks_sim::Description;
    /// let [qs20, qs22] = ["qs20", "qs22"].map(|name| Description::built_in(name).unwrap());
    /// let differences = qs20.differences(&qs22);
    /// let name = differences.iter().find(|(key, ..)| key == "name").unwrap();
    /// assert_eq!((name.1.as_deref(), name.2.as_deref()), (Some("qs20"), Some("qs22")));
    /// assert!(qs20.differences(&qs20).is_empty());
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if a number is above 2^63 - 1, which is above all allowed numbers.
    pub fn differences(&self, other: &Self) -> Vec<(String, Option<String>, Option<String>)> {
        let leaves = |machine: &Self| {
            let root = Table::try_from(machine).expect("TOML can hold every description");
            let mut leaves = Vec::new();
            take_leaves("", &Value::Table(root), &mut leaves);
            leaves
        };
        let (mine, others) = (leaves(self), leaves(other));
        let (of_mine, of_others): (BTreeMap<_, _>, BTreeMap<_, _>) = (
            mine.iter().cloned().collect(),
            others.iter().cloned().collect(),
        );
        let only_there = others.iter().filter(|(key, _)| !of_mine.contains_key(key));
        let keys = mine.iter().chain(only_there).map(|(key, _)| key);
        keys.filter(|key| of_mine.get(*key) != of_others.get(*key))
            .map(|key| {
                (
                    key.clone(),
                    of_mine.get(key).cloned(),
                    of_others.get(key).cloned(),
                )
            })
            .collect()
    }
}

/// Collects the paths and values of a machine. The value of a quantity is its number.
fn take_leaves(path: &str, value: &Value, leaves: &mut Vec<(String, String)>) {
    match value {
        Value::Table(table) => match table.get("value") {
            Some(number) => leaves.push((path.to_owned(), number.to_string())),
            None => {
                for (key, value) in table.iter().filter(|(key, _)| !key.ends_with("_source")) {
                    let path = match path {
                        "" => key.clone(),
                        _ => format!("{path}.{key}"),
                    };
                    take_leaves(&path, value, leaves);
                }
            }
        },
        Value::Array(elements) if elements.iter().all(|one| one.is_table() || one.is_array()) => {
            for (index, element) in elements.iter().enumerate() {
                take_leaves(&format!("{path}[{index}]"), element, leaves);
            }
        }
        Value::String(text) => leaves.push((path.to_owned(), text.clone())),
        value => leaves.push((path.to_owned(), value.to_string())),
    }
}

fn section(heading: &str, table: &Table) -> String {
    let lines = table.iter().map(|(key, value)| line(key, value));
    format!("\n{heading}\n{}", lines.collect::<String>())
}

fn line(key: &str, value: &Value) -> String {
    match value {
        // A matrix has a line for each row.
        Value::Array(rows) if rows.iter().all(Value::is_array) => {
            let rows = rows.iter().map(|row| format!("  {row},\n"));
            format!("{key} = [\n{}]\n", rows.collect::<String>())
        }
        value => format!("{key} = {value}\n"),
    }
}
