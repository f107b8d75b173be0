//! The quantities of a machine's description, by name, such as `link.latency_ps`. Every TOML table
//! with the keys `value` and `source` counts as a quantity.

use cellworks_sim::Description;
use toml::{Table, Value};

/// Returns the names of the fitted quantities of a description, each with the published numbers to
/// which it was fitted. Quantities with the same name, in several modules or Cells, count as one.
///
/// # Panics
///
/// Never panics, because every description can be written as TOML.
pub fn fitted(description: &Description) -> Vec<(String, String)> {
    let mut found = Vec::new();
    walk(&mut table_of(description), "", &mut |name, quantity| {
        let fitted_to = quantity.get("fitted_to").and_then(Value::as_str);
        if let Some(fitted_to) = fitted_to
            && !found.iter().any(|(other, _)| other == name)
        {
            found.push((name.to_owned(), fitted_to.to_owned()));
        }
    });
    found
}

/// Returns the machine with `change(value)` as the value of all quantities with this name, or
/// `None` if there is no such quantity.
///
/// ```
/// let qs20 = cellworks_sim::Description::built_in("qs20").unwrap();
/// let slower = cellworks_reproduce::with_quantity(&qs20, "link.latency_ps", |value| 2 * value).unwrap();
/// let latency = |machine: &cellworks_sim::Description| machine.link.as_ref().unwrap().latency_ps.value;
/// assert_eq!(latency(&slower), 2 * latency(&qs20));
/// ```
///
/// # Panics
///
/// Panics if the new value does not fit into the number type of the quantity.
pub fn with_quantity(
    description: &Description,
    name: &str,
    change: impl Fn(u64) -> u64,
) -> Option<Description> {
    let mut table = table_of(description);
    let mut changed = false;
    walk(&mut table, "", &mut |found, quantity| {
        if found == name
            && let Some(Value::Integer(value)) = quantity.get_mut("value")
        {
            let number = u64::try_from(*value).expect("quantities are not below 0");
            *value = i64::try_from(change(number)).expect("quantities are below 2^63");
            changed = true;
        }
    });
    let description = || table.try_into().expect("only a number has changed");
    changed.then(description)
}

fn table_of(description: &Description) -> Table {
    Table::try_from(description).expect("a description can be written as TOML")
}

/// Calls `visit` for each quantity below `table`.
fn walk(table: &mut Table, path: &str, visit: &mut impl FnMut(&str, &mut Table)) {
    for (key, value) in table.iter_mut() {
        let name = match path {
            "" => key.clone(),
            path => format!("{path}.{key}"),
        };
        let parts = match value {
            Value::Table(part) => std::slice::from_mut(part).iter_mut().collect(),
            Value::Array(parts) => parts
                .iter_mut()
                .filter_map(Value::as_table_mut)
                .collect::<Vec<_>>(),
            _ => continue,
        };
        for part in parts {
            if part.contains_key("value") && part.contains_key("source") {
                visit(&name, part);
            } else {
                walk(part, &name, visit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fitted_quantities_are_found_once_and_changed_everywhere() {
        let qs20 = Description::built_in("qs20").unwrap();
        let fitted = fitted(&qs20);
        let names: Vec<&str> = fitted.iter().map(|(name, _)| name.as_str()).collect();
        assert!(names.contains(&"link.latency_ps"), "{names:?}");
        assert_eq!(
            names
                .iter()
                .filter(|name| name.starts_with("memory.refresh_ps"))
                .count(),
            1
        );
        let doubled = with_quantity(&qs20, "memory.refresh_ps", |value| 2 * value).unwrap();
        for (before, after) in qs20.modules.iter().zip(&doubled.modules) {
            assert_eq!(after.refresh_ps.value, 2 * before.refresh_ps.value);
            assert_eq!(after.access_ps, before.access_ps);
        }
    }

    #[test]
    fn a_quantity_that_is_not_there_changes_nothing() {
        let qs20 = Description::built_in("qs20").unwrap();
        for name in ["link", "link.colour", "name", ""] {
            assert_eq!(
                with_quantity(&qs20, name, |value| value + 1),
                None,
                "{name}"
            );
        }
    }

    fn all(machine: &str) -> Vec<(String, Table)> {
        let mut found = Vec::new();
        let description = Description::built_in(machine).unwrap();
        walk(&mut table_of(&description), "", &mut |name, quantity| {
            found.push((name.to_owned(), quantity.clone()));
        });
        found
    }

    #[test]
    fn what_is_marked_as_in_the_qs20_has_its_values() {
        let qs20 = all("qs20");
        let mut compared = 0;
        for machine in Description::built_in_names() {
            for (name, quantity) in all(machine) {
                if !quantity["source"].as_str().unwrap().contains("as the QS20") {
                    continue;
                }
                let (_, same) = qs20.iter().find(|(other, _)| *other == name).unwrap();
                assert_eq!(quantity["value"], same["value"], "{machine}: {name}");
                compared += 1;
            }
        }
        assert!(compared > 5, "{compared}");
    }

    #[test]
    fn what_is_recalled_is_not_called_stated() {
        for machine in Description::built_in_names() {
            for (name, quantity) in all(machine) {
                let is_recalled = quantity["source"].as_str().unwrap().contains("(recalled)");
                let sure = quantity["sure"].as_str().unwrap();
                assert!(
                    !is_recalled || ["uncertain", "fitted"].contains(&sure),
                    "{machine}: {name} is {sure}"
                );
            }
        }
    }
}
