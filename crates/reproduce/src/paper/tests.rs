use cellworks_sim::Description;
use cellworks_stats::Setting;

use super::*;
use crate::quantities::fitted;

/// Parses a paper with one number, which has these lines.
fn paper(lines: &str) -> Result<Paper, PaperError> {
    Paper::parse(&format!(
        "name = 'mine'\ntitle = 't'\nauthors = 'a'\nmachine = 'qs20'\n[[number]]\n\
         quantity = 'q'\nsource = 's'\n{lines}"
    ))
}

const TICK: &str = "experiment = { kind = 'tick' }\nrelation = 'independent'";

#[track_caller]
fn refused(lines: &str, what: &str) {
    let error = paper(lines).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("paper `mine`, number `n`: {what}")
    );
}

#[test]
fn the_built_in_papers_are_valid_and_have_names_of_their_own() {
    let papers = Paper::all();
    let names: Vec<&str> = papers.iter().map(|paper| paper.name.as_str()).collect();
    assert_eq!(names, Paper::names());
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    for paper in &papers {
        assert!(!paper.numbers.is_empty(), "{}", paper.name);
    }
}

#[test]
fn every_file_of_a_paper_is_built_in() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/papers");
    let files = std::fs::read_dir(folder).unwrap();
    let files: BTreeSet<_> = files.map(|file| file.unwrap().file_name()).collect();
    let built_in = Paper::names().into_iter();
    let built_in = built_in.map(|name| format!("{name}.toml").into());
    assert_eq!(files, built_in.collect());
}

#[test]
fn cellstats_has_its_calibrated_numbers_and_its_figures() {
    let papers = Paper::all();
    let cellstats = &papers[0];
    let calibrated = |is: fn(&Number) -> bool| {
        let numbers = cellstats.numbers.iter();
        numbers
            .filter(|n| matches!(n.relation, Some(Relation::Fitted(_))) && is(n))
            .count()
    };
    assert_eq!(calibrated(|number| number.source.starts_with("table")), 12);
    assert!(calibrated(|number| number.shape.is_some()) >= 4);
    let figures: Vec<&str> = cellstats
        .figures
        .iter()
        .map(|f| f.number.as_str())
        .collect();
    assert_eq!(figures, ["4", "5", "6", "7", "8", "9", "10 and 11", "12"]);
}

/// The texts of `Relation::Fitted` that are not the name of a quantity of a machine.
const FITTED_ELSEWHERE: [&str; 17] = [
    "CYCLES_PER_ITERATION of mandelbrot, and the number of rows",
    "CYCLES_PER_UPDATE of lu, and WAIT_FOR_TRANSFERS of its workers",
    "FITTED of barnes-hut",
    "PPE_CYCLES_PER_UPDATE_TASK of lu",
    "THREAD_WAKE of the channels",
    "how the SPE handler of the channels reads mailboxes",
    "that building the tree of barnes-hut takes no time",
    "the form of the model",
    "the form of the model: a packet holds all of its way until it has arrived",
    "the form of the model: an element of a list leaves when the command of the one before is answered",
    "the form of the model: a line comes from the cache that got it last, and commands to a line that is being claimed are refused",
    "the form of the model: adjacent writes become one write",
    "the meaning of an iteration, which was chosen when the result was known",
    "the number of rows",
    "the number of tasks",
    "the program, which waits until a signal has left",
    "the rule, which was written when the result was known",
];

#[test]
fn what_is_fitted_and_what_it_was_fitted_to_name_each_other() {
    let mut named = BTreeSet::new();
    for paper in Paper::all() {
        for number in &paper.numbers {
            if let Some(Relation::Fitted(to)) = &number.relation
                && !FITTED_ELSEWHERE.contains(&to.as_str())
            {
                named.insert(to.clone());
            }
        }
    }
    let machines = Description::built_in_names().filter_map(Description::built_in);
    let fitted: BTreeSet<String> = machines
        .flat_map(|machine| fitted(&machine))
        .map(|(quantity, _)| quantity)
        .collect();
    assert_eq!(
        named, fitted,
        "left: named by numbers, right: fitted in descriptions"
    );
}

#[test]
fn what_is_kept_back_has_no_value_and_serves_for_nothing() {
    let papers = Paper::all();
    let kept: Vec<&Number> = papers
        .iter()
        .flat_map(|paper| &paper.numbers)
        .filter(|number| number.kept_back)
        .collect();
    assert!(kept.len() > 20);
    for number in kept {
        assert_eq!(number.value, None, "{}", number.id);
        assert_eq!(number.relation, None, "{}", number.id);
    }
}

#[test]
fn numbers_that_contradict_themselves_are_refused() {
    let one_of = "it has to have exactly one of `value`, `kept_back = true` and `shape`";
    refused(&format!("id = 'n'\nunit = 'ns'\n{TICK}"), one_of);
    refused(
        &format!("id = 'n'\nunit = 'ns'\nvalue = 1\nkept_back = true\n{TICK}"),
        one_of,
    );
    refused(
        &format!("id = 'n'\nunit = 'ns'\nvalue = -1\n{TICK}"),
        "its value has to be above 0",
    );
    refused(
        &format!("id = 'n'\nunit = 'ns'\nshape = {{ rule = 'r' }}\n{TICK}"),
        "its shape has no end: give `at_least`, `at_most` or both",
    );
    refused(
        &format!(
            "id = 'n'\nunit = 'ns'\nshape = {{ rule = 'r', at_least = 2.0, at_most = 1.0 }}\n{TICK}"
        ),
        "nothing is at least 2 and at most 1; exchange them",
    );
    let either = "it has to have either an `experiment` or the reason why it is `not_simulated`";
    refused("id = 'n'\nunit = 'ns'\nvalue = 1", either);
    refused(
        &format!("id = 'n'\nunit = 'ns'\nvalue = 1\nnot_simulated = 'r'\n{TICK}"),
        either,
    );
    let compared = "it is compared with its simulation, so it has to have a `relation`: \
        `{ fitted = \"to what\" }`, `{ derived = \"from what\" }` or `\"independent\"`";
    refused(
        "id = 'n'\nunit = 'ns'\nvalue = 1\nexperiment = { kind = 'tick' }",
        compared,
    );
    let not_compared = "it is not compared with a simulation, because it was kept back or is not \
        simulated; remove `relation`";
    refused(
        "id = 'n'\nunit = 'ns'\nvalue = 1\nnot_simulated = 'r'\nrelation = 'independent'",
        not_compared,
    );
    refused(
        &format!("id = 'n'\nunit = 'ns'\nkept_back = true\n{TICK}"),
        not_compared,
    );
    refused(
        &format!("id = 'n'\nunit = 'GB/s'\nvalue = 1\n{TICK}"),
        "its unit is `GB/s`, but its experiment gives a time; change one of them",
    );
    refused(
        &format!("id = 'n'\nunit = 'ns'\nvalue = 1\ntakes_long = true\n{TICK}"),
        "it takes long; state how long in `long_minutes` of the paper",
    );
    refused(
        "id = 'n'\nunit = 'GB/s'\nvalue = 1\nrelation = 'independent'\nexperiment = { kind = 'stream', spes = [], block_bytes = 16, in_flight = 1 }",
        "its stream has no SPEs; name at least one",
    );
}

#[test]
fn names_and_ids_are_checked() {
    let error = paper(&format!("id = 'A b'\nunit = 'ns'\nvalue = 1\n{TICK}")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "paper `mine`, number `A b`: an id is made of lower-case letters, digits and dashes"
    );
    let number = format!("id = 'n'\nunit = 'ns'\nvalue = 1\n{TICK}\n");
    let twice = format!("{number}[[number]]\nquantity = 'q'\nsource = 's'\n{number}");
    refused(
        &twice,
        "there is another number with this id; give each its own",
    );
    let error = Paper::parse("name = 'My'\ntitle = 't'\nauthors = 'a'\nmachine = 'm'\nnumber = []");
    assert_eq!(
        error.unwrap_err().to_string(),
        "`My` is no name of a paper; use lower-case letters, digits and dashes, such as `cellstats`"
    );
}

#[test]
fn what_toml_refuses_is_shown_with_its_line() {
    let error = paper("id = 'n'\nunit = 'furlongs'\nvalue = 1").unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("the paper cannot be read: TOML parse error at line 9"),
        "{text}"
    );
    assert!(text.contains("unknown variant `furlongs`"), "{text}");
    let error = paper("id = 'n'\nunit = 'ns'\nvalue = 1\ncolour = 'grey'").unwrap_err();
    assert!(
        error.to_string().contains("unknown field `colour`"),
        "{error}"
    );
}

/// Parses a paper with a measurement of `cellworks stats` that has these fields.
fn stats(fields: &str) -> Result<Paper, PaperError> {
    paper(&format!(
        "id = 'n'\nunit = 'ns'\nvalue = 1\nrelation = 'independent'\n\
         experiment = {{ kind = 'stats', {fields} }}"
    ))
}

#[test]
fn a_measurement_can_have_every_number_of_stats_and_no_unknown_field() {
    for setting in &Setting::ALL {
        let paper = stats(&format!("function = 'chase', {} = 4", setting.name)).unwrap();
        let Some(Experiment::Stats(stats)) = &paper.numbers[0].experiment else {
            panic!("{paper:?}");
        };
        assert_eq!((setting.get)(&stats.settings), Some(4), "{}", setting.name);
    }
    let unknown = format!(
        "unknown field `colour`, expected one of `function`, `spes`, `buffers`, `cell`, `module`, `between_spes`, \
         `ppe_access`, `gives`, `{}`",
        Setting::ALL.map(|setting| setting.name).join("`, `")
    );
    for (fields, what) in [
        ("colour = 1", unknown.as_str()),
        ("spes = 1", "missing field `function`"),
        (
            "function = 'dmaget', spes = 'two'",
            "invalid type: string \"two\", expected usize",
        ),
        (
            "function = 'dmaget', list_elements = 99999999999",
            "invalid value: integer `99999999999`, expected u32",
        ),
    ] {
        let error = stats(fields).unwrap_err().to_string();
        let (place, message) = error.trim_end().rsplit_once('\n').unwrap();
        assert!(place.contains("TOML parse error at line 12"), "{place}");
        assert_eq!(message, what);
    }
}

#[test]
fn figures_are_checked() {
    let number = format!("id = 'n'\nunit = 'ns'\nvalue = 1\n{TICK}\n");
    let figure = |at: &str, panel: &str| {
        let text = format!(
            "{number}[[figure]]\nnumber = '4'\ntitle = 't'\nx = 'list_elements'\nat = {at}\n\
             [[figure.panel]]\ntitle = 'p'\nof = {{ kind = 'stats', function = 'dmalistget' }}\n{panel}"
        );
        paper(&text).map_err(|error| error.to_string())
    };
    assert!(figure("[1, 2]", "spes = [1]").is_ok());
    for (at, panel, what) in [
        ("[]", "spes = [1]", "`at` has to name numbers above 0"),
        (
            "[3]",
            "spes = [1]",
            "3 elements do not share 16384 bytes evenly; use powers of 2",
        ),
        (
            "[1]",
            "",
            "panel `p` has to have either `spes`, a curve for each, or `lines`",
        ),
    ] {
        let expected = format!("paper `mine`, figure 4: {what}");
        assert_eq!(figure(at, panel).unwrap_err(), expected);
    }
    let line = |x: &str, with: &str| {
        let text = format!(
            "{number}[[figure]]\nnumber = '3'\ntitle = 't'\nx = '{x}'\nat = [1]\n\
             [[figure.panel]]\ntitle = 'p'\nlines = [{{ name = 'l', of = {{ kind = 'run', \
             program = 'switch', with = {{ {with} }}, gives = 'switch' }} }}]"
        );
        paper(&text).map_err(|error| error.to_string())
    };
    assert!(line("threads", "threads = 1, yields = 16").is_ok());
    for (x, with, what) in [
        (
            "threads",
            "threads = 1",
            "curve `l` of panel `p`: program `switch`: missing field `yields`",
        ),
        (
            "sps",
            "threads = 1, yields = 16",
            "curve `l` of panel `p` cannot be drawn against sps: its experiment has none",
        ),
    ] {
        let expected = format!("paper `mine`, figure 3: {what}");
        assert_eq!(line(x, with).unwrap_err(), expected);
    }
}

#[test]
fn outcomes_are_in_the_unit_of_the_paper() {
    let time = |unit: Unit| unit.in_it(312.5, Dimension::Time).unwrap();
    assert_eq!(time(Unit::Nanoseconds), 312.5);
    assert_eq!(time(Unit::Microseconds), 0.3125);
    assert!((time(Unit::Cycles) - 1_000.0).abs() < 1e-9);
    assert!((time(Unit::Ticks) - 4.474).abs() < 1e-3);
    assert_eq!(
        Unit::GigabytesPerSecond.in_it(24.6e9, Dimension::Bandwidth),
        Some(24.6)
    );
    assert_eq!(Unit::PercentMore.in_it(1.25, Dimension::Ratio), Some(25.0));
    assert_eq!(Unit::PercentLess.in_it(0.75, Dimension::Ratio), Some(25.0));
    assert_eq!(
        Unit::FramesPerSecond.in_it(4e7, Dimension::Time),
        Some(25.0)
    );
    assert_eq!(Unit::Times.in_it(1.25, Dimension::Time), None);
}

#[test]
fn errors_are_relative_to_what_was_published_and_only_where_the_text_says_so() {
    assert_eq!(Reading::Exact.error_percent(100.0, 110.0).round(), 10.0);
    assert_eq!(Reading::About.error_percent(100.0, 90.0).round(), -10.0);
    assert_eq!(Reading::AtLeast.error_percent(100.0, 200.0), 0.0);
    assert_eq!(Reading::AtLeast.error_percent(100.0, 50.0), -50.0);
    assert_eq!(Reading::AtMost.error_percent(100.0, 50.0), 0.0);
    assert_eq!(Reading::AtMost.error_percent(100.0, 150.0), 50.0);
}
