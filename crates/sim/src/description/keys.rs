//! A test that docs/machines.md, the page of all keys, agrees with the types and their comments.
//! This command renews the page:
//!
//! ```text
//! RENEW_KEYS=1 cargo test -p cellworks-sim the_page_of_keys
//! ```

use std::path::Path;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::*;

const HEAD: &str = "\
# Descriptions of machines

A TOML file describes a simulated machine. `cellworks machines qs20 > mine.toml` writes a file to start from, and `cellworks
machines mine.toml` checks a file and lists all its errors. `cellworks machines new --spes 12 > mine.toml` writes one Cell with 12 SPEs.
`cellworks machines diff qs20 mine.toml` lists the differences between two machines with their effect, and `cellworks machine mine.toml --html mine.html` draws a machine.

A quantity is a table such as `{ value = 8, source = \"Krolak 2005\", sure = \"stated\" }`, or only a number such as `8`. `source`
names the origin of the number. `sure` is `stated`, `derived`, `uncertain` or `fitted`. A fitted number also has `fitted_to`, the
published number to which it was fitted. The name of a key ends with the unit: `ps` is picoseconds, `cycles` is cycles of the
clock `spu_hz`, `bus_cycles` is cycles of the clock `bus_hz`, `hz` is hertz, and `bytes_per_s` is bytes per second. A number
without a unit is a count.

This page is generated from the code that reads descriptions.
";

/// Returns the tables of a description: the heading in a file, the path to the keys, and the keys.
fn tables() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("At the top", "", keys_of::<Description>()),
        ("`[clock]`", "clock", keys_of::<Clock>()),
        ("`[[cell]]`", "cell[0]", keys_of::<Cell>()),
        ("`[[memory]]`", "memory[0]", keys_of::<MemoryModule>()),
        (
            "`[interconnect]` with `kind = \"rings\"`",
            "interconnect",
            keys_of::<Rings>(),
        ),
        (
            "`[interconnect]` with `kind = \"mesh\"`",
            "interconnect",
            keys_of::<Mesh>(),
        ),
        (
            "`[interconnect]` with `kind = \"crossbar\"`",
            "interconnect",
            keys_of::<Crossbar>(),
        ),
        (
            "`[interconnect]` with `kind = \"matrix\"`",
            "interconnect",
            keys_of::<Matrix>(),
        ),
        ("`[command]`", "command", keys_of::<CommandBus>()),
        ("`[link]`", "link", keys_of::<Link>()),
        ("`[mfc]`", "mfc", keys_of::<Mfc>()),
        ("`[local_store]`", "local_store", keys_of::<LocalStore>()),
        ("`[registers]`", "registers", keys_of::<Registers>()),
        ("`[atomic]`", "atomic", keys_of::<Atomic>()),
        ("`[spu]`", "spu", keys_of::<Spu>()),
        ("`[ppe]`", "ppe", keys_of::<Ppe>()),
    ]
}

fn keys_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<T>();
    schema.to_value()["properties"].clone()
}

fn unit(key: &str) -> &'static str {
    let units = [
        "bytes_per_s",
        "bus_cycles",
        "cycles",
        "bytes",
        "lines",
        "hz",
        "ps",
    ];
    let is_unit = |unit: &&str| key == *unit || key.ends_with(&format!("_{unit}"));
    units.into_iter().find(is_unit).unwrap_or_default()
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    for (heading, path, keys) in tables() {
        page +=
            &format!("\n## {heading}\n\n| key | unit | allowed | meaning |\n|---|---|---|---|\n");
        for (key, schema) in keys.as_object().expect("a table has keys") {
            let path = match path {
                "" => key.clone(),
                path => format!("{path}.{key}"),
            };
            let meaning = schema["description"].as_str().expect("a key has a comment");
            // A line break in a comment is a space on the page.
            let meaning = meaning.replace('\n', " ");
            let allowed = allowed::at(&path);
            page += &format!("| `{key}` | {} | {allowed} | {meaning} |\n", unit(key));
        }
    }
    page
}

#[test]
fn the_page_of_keys_is_that_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/machines.md");
    if std::env::var_os("RENEW_KEYS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page(),
        "docs/machines.md differs from the code; renew it:\n  RENEW_KEYS=1 cargo test -p cellworks-sim the_page_of_keys"
    );
}
