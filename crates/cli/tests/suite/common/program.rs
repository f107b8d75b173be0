//! Runs programs with `cellworks run`.

use serde_json::Value;

use super::{Run, cellworks};

/// Runs `cellworks run` with the given arguments.
pub fn run(arguments: &str) -> Run {
    let mut command = cellworks();
    command.arg("run").args(arguments.split_whitespace());
    Run::of(&mut command)
}

/// The output of a run on a simulated machine.
#[track_caller]
pub fn printed(arguments: &str) -> String {
    let run = run(arguments);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{}", run.out);
    run.out
}

/// The JSON of a run on a simulated machine. Asserts that the JSON fits the schema.
#[track_caller]
pub fn json(arguments: &str) -> Value {
    let object = serde_json::from_str(&printed(&format!("{arguments} --format json"))).unwrap();
    let schema = jsonschema::validator_for(&cellworks_report::schema::closed()).unwrap();
    let complaints: Vec<String> = schema
        .iter_errors(&object)
        .map(|error| error.to_string())
        .collect();
    assert_eq!(complaints, [""; 0]);
    object
}

/// The table that a program makes on this computer, as CSV.
#[track_caller]
pub fn measured_here(arguments: &str) -> String {
    let run = run(&format!("{arguments} --format csv --quiet"));
    // Other programs may disturb the times, but not the results.
    assert_eq!(run.measured(), "");
    assert!(
        run.out.starts_with("program,name,value,unit,"),
        "{}",
        run.out
    );
    run.out
}
