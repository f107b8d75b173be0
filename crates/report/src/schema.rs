//! The schema of the JSON, made from the types of this crate. docs/schema/ contains it as a file.

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Value, json};

use crate::compare::Comparison;
use crate::envelope::SCHEMA_VERSION;
use crate::explanation::ExplanationReport;
use crate::machine::MachineReport;
use crate::machines::Machines;
use crate::placement::PlacementReport;
use crate::program::ProgramReport;
use crate::report::Report;
use crate::reproduction::Reproduction;
use crate::sweep::SweepReport;

/// Adds the schema of a type to those of the generator.
type AddSchema = fn(&mut SchemaGenerator) -> Schema;

/// The commands with their results, in the order of the schema. A result of another command is that
/// of `stats`.
const COMMANDS: [(&str, AddSchema); 8] = [
    ("compare", SchemaGenerator::subschema_for::<Comparison>),
    ("reproduce", SchemaGenerator::subschema_for::<Reproduction>),
    ("machines", SchemaGenerator::subschema_for::<Machines>),
    ("run", SchemaGenerator::subschema_for::<ProgramReport>),
    (
        "map solve",
        SchemaGenerator::subschema_for::<PlacementReport>,
    ),
    ("map ring", SchemaGenerator::subschema_for::<SweepReport>),
    (
        "map explain",
        SchemaGenerator::subschema_for::<ExplanationReport>,
    ),
    ("machine", SchemaGenerator::subschema_for::<MachineReport>),
];

/// Returns the JSON Schema (draft 2020-12) of the output of `--format json`, for every command. The
/// schema allows unknown fields: a later Cellworks may add fields to the same schema version.
///
/// ```
/// let schema = cellworks_report::schema::published();
/// assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
/// ```
pub fn published() -> Value {
    let mut generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let of_stats = json!(generator.subschema_for::<Report>());
    let mut schema = COMMANDS
        .iter()
        .rfold(of_stats, |others, (command, result)| {
            json!({
                "if": {"properties": {"command": {"const": command}}},
                "then": result(&mut generator),
                "else": others,
            })
        });
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["$id"] = json!(format!("urn:cellworks:schema:{SCHEMA_VERSION}"));
    schema["title"] = json!(format!("The JSON of cellworks, version {SCHEMA_VERSION}"));
    schema["description"] = json!(
        "What a command of cellworks prints with --format json. The field `command` has its name. A result of a \
         command that is not named below is one of `cellworks stats`. Units are in the names of fields. What has \
         no meaning or was not measured is null."
    );
    schema["type"] = json!("object");
    schema["required"] = json!(["schema_version", "command"]);
    schema["properties"] = json!({
        "schema_version": {"const": SCHEMA_VERSION},
        "command": {"type": "string"},
    });
    schema["$defs"] = generator.take_definitions(true).into();
    rewrite_for_json(&mut schema);
    schema
}

/// Replaces `None` by null in descriptions, and removes line breaks. Descriptions are Rust
/// comments, which use the word `None`.
fn rewrite_for_json(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == "description" => {
                        let paragraphs = text.split("\n\n").map(|text| text.replace('\n', " "));
                        *text = paragraphs.collect::<Vec<_>>().join("\n\n");
                        *text = text.replace("`None`", "null");
                    }
                    value => rewrite_for_json(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(rewrite_for_json),
        _ => {}
    }
}

/// Returns the published schema with unknown fields forbidden. Tests check the output of each
/// command against this schema. An undocumented field makes the test fail.
pub fn closed() -> Value {
    let mut schema = published();
    let definitions = schema["$defs"].as_object_mut();
    for (_, definition) in definitions.into_iter().flatten() {
        if definition["properties"].is_object() {
            definition["additionalProperties"] = json!(false);
        }
    }
    schema
}

/// Returns the published schema as the text of its file.
pub fn text() -> String {
    crate::json::render(&published())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jsonschema::Validator;

    use super::*;
    use crate::made_up;
    use crate::read::Measured;

    fn validator(schema: &Value) -> Validator {
        jsonschema::validator_for(schema).expect("the schema is one")
    }

    fn report() -> Value {
        json!(made_up::report())
    }

    fn comparison() -> Value {
        let (a, mut b) = (made_up::report(), made_up::bare());
        b.measurements[0].median_interval_ns = None;
        let comparison = Comparison::of(
            &Measured::Stats(a),
            &Measured::Stats(b),
            ["a.json", "b.json"],
        )
        .unwrap();
        json!(comparison)
    }

    /// Returns a result of each command that runs something, and at last the list of machines.
    fn results() -> [Value; 8] {
        [
            report(),
            comparison(),
            json!(made_up::reproduction()),
            json!(made_up::program()),
            json!(made_up::placement()),
            json!(made_up::explanation()),
            json!(made_up::sweep()),
            machines(),
        ]
    }

    fn machines() -> Value {
        json!(made_up::machines())
    }

    fn complaints(schema: &Value, object: &Value) -> Vec<String> {
        validator(schema)
            .iter_errors(object)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect()
    }

    #[test]
    fn the_committed_file_is_what_the_types_give() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let name = format!("docs/schema/cellworks-{SCHEMA_VERSION}.json");
        let committed = std::fs::read_to_string(root.join(&name)).unwrap_or_default();
        assert!(
            committed == text(),
            "{name} is not up to date; if a field was added, renew it:\n  \
             cargo run -p cellworks-report --example schema > {name}\n\
             If a field went or has another meaning, raise SCHEMA_VERSION first."
        );
    }

    #[test]
    fn what_commands_print_validates_and_is_documented() {
        let more = [json!(made_up::bare()), json!(made_up::memory_matrix())];
        for object in results().into_iter().chain(more) {
            assert_eq!(complaints(&published(), &object), [""; 0]);
            assert_eq!(complaints(&closed(), &object), [""; 0]);
        }
    }

    #[test]
    fn fields_that_are_not_documented_are_allowed_and_detected() {
        for mut object in results().into_iter().take(7) {
            object["machine"]["colour"] = json!("grey");
            assert_eq!(complaints(&published(), &object), [""; 0]);
            assert_eq!(
                complaints(&closed(), &object),
                ["/machine: Additional properties are not allowed ('colour' was unexpected)"]
            );
        }
    }

    #[test]
    fn what_lacks_a_field_or_has_a_wrong_one_does_not_validate() {
        type Break = fn(&mut Value);
        let broken: [(Break, &str); 6] = [
            (
                |o| drop(o.as_object_mut().unwrap().remove("trust")),
                ": \"trust\" is a required property",
            ),
            (
                |o| o["schema_version"] = json!(2),
                "/schema_version: 1 was expected",
            ),
            (
                |o| o["complete"] = json!("yes"),
                "/complete: \"yes\" is not of type \"boolean\"",
            ),
            (
                |o| o["machine"]["spes"] = json!(-1),
                "/machine/spes: -1 is less than the minimum of 0",
            ),
            (
                // JSON has no NaN, so serde writes null.
                |o| o["environment"]["host"] = json!({"clock_reading_ns": null}),
                "/environment/host: ",
            ),
            (
                |o| drop(o.as_object_mut().unwrap().remove("command")),
                ": \"command\" is a required property",
            ),
        ];
        for whole in results().into_iter().take(7) {
            for (break_it, expected) in broken {
                let mut object = whole.clone();
                break_it(&mut object);
                let complaints = complaints(&published(), &object);
                assert!(
                    complaints.iter().any(|text| text.starts_with(expected)),
                    "{expected}: {complaints:?}"
                );
            }
        }
        let mut report = report();
        report["measurements"][0]["function"] = json!("telepathy");
        assert!(!validator(&published()).is_valid(&report));
        let mut comparison = comparison();
        comparison["results"][0]["verdict"] = json!("better");
        assert!(!validator(&published()).is_valid(&comparison));
        comparison["command"] = json!("stats");
        assert!(!validator(&published()).is_valid(&comparison));
        let mut machines = machines();
        machines["machines"][0]["spes"] = json!("six");
        assert_eq!(
            complaints(&published(), &machines),
            ["/machines/0/spes: \"six\" is not of type \"integer\""]
        );
    }

    /// Field names are `.name` in quoted jq filters and `["name"]` in Python.
    #[test]
    fn the_document_names_fields_that_exist() {
        let document = include_str!("../../../docs/json.md");
        let schema = published();
        let definitions = schema["$defs"].as_object().unwrap();
        // These are names of parameters, not of fields.
        let is_field = |name: &str| {
            matches!(name, "loading_spes" | "buffering")
                || definitions
                    .values()
                    .any(|definition| definition["properties"].get(name).is_some())
        };
        let word = |text: &str| -> String {
            let is_part = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
            text.chars().take_while(is_part).collect()
        };
        let mut names = Vec::new();
        for block in document.split("```").skip(1).step_by(2) {
            if let Some(shell) = block.strip_prefix("sh\n") {
                let filters = shell.split('\'').skip(1).step_by(2);
                // A point after a digit is part of a number.
                for (before, after) in filters.flat_map(|filter| {
                    let dots = filter.match_indices('.');
                    dots.map(move |(at, _)| (&filter[..at], &filter[at + 1..]))
                }) {
                    if !before.ends_with(|c: char| c.is_ascii_digit()) {
                        names.push(word(after));
                    }
                }
            } else {
                names.extend(block.split("[\"").skip(1).map(word));
            }
        }
        assert!(names.len() > 40, "{names:?}");
        for name in names.iter().filter(|name| !name.is_empty()) {
            assert!(is_field(name), "docs/json.md names the field `{name}`");
        }
    }

    #[test]
    fn the_document_describes_every_field_at_the_top() {
        let document = include_str!("../../../docs/json.md");
        for object in results() {
            for field in object.as_object().unwrap().keys() {
                assert!(
                    document.contains(&format!("`{field}`")),
                    "docs/json.md does not mention `{field}`"
                );
            }
        }
    }
}
