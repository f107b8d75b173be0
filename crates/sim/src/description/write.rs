//! From a description to the text of a file.

use toml::{Table, Value};

use super::*;

impl Description {
    /// The description as TOML that [`from_toml`](Self::from_toml) reads back, with a line for each
    /// quantity.
    ///
    /// # Panics
    ///
    /// If a number is above 2^63 - 1; a description that was read has none.
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
}

fn section(heading: &str, table: &Table) -> String {
    let lines = table.iter().map(|(key, value)| line(key, value));
    format!("\n{heading}\n{}", lines.collect::<String>())
}

fn line(key: &str, value: &Value) -> String {
    match value {
        // A matrix is read by its rows.
        Value::Array(rows) if rows.iter().all(Value::is_array) => {
            let rows = rows.iter().map(|row| format!("  {row},\n"));
            format!("{key} = [\n{}]\n", rows.collect::<String>())
        }
        value => format!("{key} = {value}\n"),
    }
}
