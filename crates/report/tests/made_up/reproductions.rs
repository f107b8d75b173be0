//! Published numbers beside simulated ones.

use std::collections::BTreeMap;

use cellworks_report::reproduction::{
    Curve, CurvePoint, PaperInfo, Published, Relation, Reproduced, ReproducedFigure,
    ReproducedPanel, Reproduction, ReproductionSummary, ShapeRange,
};
use cellworks_report::{Envelope, MachineInfo, Reason, ReasonKind};
use serde_json::json;

use super::{PROCESSOR, environment, machine};

/// A reproduction of one paper, with a number of every kind.
pub fn reproduction() -> Reproduction {
    let mailbox = Reproduced {
        published: Some(158.1),
        error_percent: Some(1.2),
        ..fitted(reproduced("mailbox", Some(160.0)))
    };
    let word = Reproduced {
        published: Some(155.0),
        error_percent: Some(3.2),
        relation: Some(Relation::Derived),
        follows_from: Some("mailbox, which it is".to_owned()),
        ..reproduced("word", Some(160.0))
    };
    let get = Reproduced {
        published: Some(300.0),
        reading: Published::About,
        error_percent: Some(-7.0),
        ..independent(reproduced("get", Some(279.0)))
    };
    let flat = Reproduced {
        unit: "times".to_owned(),
        shape: Some(ShapeRange {
            rule: "longest divided by shortest".to_owned(),
            at_least: None,
            at_most: Some(1.05),
        }),
        holds: Some(false),
        ..fitted(reproduced("flat", Some(1.2)))
    };
    let barrier = Reproduced {
        kept_back: true,
        ..reproduced("barrier", Some(3_456.7))
    };
    let elsewhere = Reproduced {
        published: Some(63.0),
        reading: Published::AtMost,
        not_simulated: Some("it is another program, which has not been \"ported\"".to_owned()),
        ..reproduced("elsewhere", None)
    };
    let failed = Reproduced {
        published: Some(2.5),
        reading: Published::AtLeast,
        failed: Some("it needs 32 SPEs, and the blade has 16".to_owned()),
        ..independent(reproduced("failed", None))
    };
    let results = vec![mailbox, word, get, flat, barrier, elsewhere, failed];
    let reasons = vec![Reason {
        kind: ReasonKind::Failed,
        text: "failed: it needs 32 SPEs, and the blade has 16".to_owned(),
    }];
    Reproduction {
        envelope: Envelope::new(
            "reproduce",
            simulated(machine("a blade", 16, 16)),
            environment(),
            reasons,
            false,
        ),
        other_machines: vec![machine("a console", 6, 6)],
        papers: vec![PaperInfo {
            name: "mine".to_owned(),
            title: "What Primitives Cost".to_owned(),
            authors: "Somebody, 2009".to_owned(),
        }],
        summary: ReproductionSummary::of(&results),
        results,
        figures: vec![ReproducedFigure {
            paper: "mine".to_owned(),
            number: "4".to_owned(),
            title: "GETs of shared buffers".to_owned(),
            against: "block_bytes".to_owned(),
            panels: vec![ReproducedPanel {
                title: "XDRAM0".to_owned(),
                curves: vec![curve("1 SPE", 1.0), curve("8 SPEs", 3.0)],
            }],
        }],
    }
}

/// A reproduction with a figure of speed-ups.
pub fn speed_ups() -> Reproduction {
    let point = |spes: u64| CurvePoint {
        x: spes,
        latency_ns: 2e6 / spes as f64,
        bandwidth_bytes_per_s: None,
        speed_up: Some(0.75 * spes as f64),
    };
    let mut shown = reproduction();
    let figure = &mut shown.figures[0];
    figure.against = "spes".to_owned();
    figure.panels[0].curves = vec![Curve {
        name: "2 threads".to_owned(),
        points: [4, 16].map(point).to_vec(),
    }];
    shown
}

fn curve(name: &str, factor: f64) -> Curve {
    let point = |x: u64| CurvePoint {
        x,
        latency_ns: 300.0 * factor,
        bandwidth_bytes_per_s: Some(x as f64 * 1e9 / 300.0),
        speed_up: None,
    };
    Curve {
        name: name.to_owned(),
        points: [16, 128, 1_024].map(point).to_vec(),
    }
}

fn reproduced(name: &str, value: Option<f64>) -> Reproduced {
    let parameter = |name: &str, value: &str| (name.to_owned(), json!(value));
    Reproduced {
        name: name.to_owned(),
        value,
        unit: "ns".to_owned(),
        parameters: BTreeMap::from([
            parameter("paper", "mine"),
            parameter("machine", "qs20"),
            parameter("conditions", "2 SPEs, of one Cell"),
        ]),
        quantity: format!("what {name} takes"),
        source: "table 1".to_owned(),
        published: None,
        reading: Published::Exact,
        kept_back: false,
        shape: None,
        holds: None,
        served_for_calibration: false,
        error_percent: None,
        not_simulated: None,
        failed: None,
        relation: None,
        follows_from: None,
    }
}

/// The number with a parameter that was fitted to it.
fn fitted(number: Reproduced) -> Reproduced {
    Reproduced {
        served_for_calibration: true,
        relation: Some(Relation::Fitted),
        follows_from: Some("registers.write_cycles".to_owned()),
        ..number
    }
}

/// The number as an independent number, to which no parameter was fitted.
fn independent(number: Reproduced) -> Reproduced {
    Reproduced {
        relation: Some(Relation::Independent),
        ..number
    }
}

/// A reproduction of two papers, with long numbers and figures with the largest number of curves.
pub fn two_papers() -> Reproduction {
    let reasons = vec![Reason {
        kind: ReasonKind::Failed,
        text: "a pair: it needs 32 SPEs, and the blade has 16".to_owned(),
    }];
    let conditions = "16 SPEs, large blocks, shared buffer in the module of the other Cell";
    let number = |name: &str, value| {
        let mut number = Reproduced {
            quantity: format!("what {name} takes where everything else is as it was"),
            source: "section 4.5.1, figure 12".to_owned(),
            ..reproduced(name, value)
        };
        let parameters = &mut number.parameters;
        parameters.insert("conditions".to_owned(), conditions.into());
        number
    };
    let compared = |name: &str, relation: fn(Reproduced) -> Reproduced| Reproduced {
        published: Some(1_678.2),
        error_percent: Some(-2.2),
        ..relation(number(name, Some(1_641.0)))
    };
    let shape = |name: &str, holds, relation: fn(Reproduced) -> Reproduced| Reproduced {
        unit: "times".to_owned(),
        shape: Some(ShapeRange {
            rule: "longest of all divided by the shortest".to_owned(),
            at_least: Some(0.8),
            at_most: Some(1.25),
        }),
        holds: Some(holds),
        ..relation(number(name, Some(1.292)))
    };
    let results = vec![
        compared("a mailbox", fitted),
        shape("a list", true, fitted),
        compared("a GET", independent),
        shape("a PUT", false, independent),
        Reproduced {
            kept_back: true,
            ..number("a barrier", Some(674.1))
        },
        Reproduced {
            published: Some(204.8),
            not_simulated: Some("the machine's description states it".to_owned()),
            ..number("a peak", None)
        },
        Reproduced {
            published: Some(2.5),
            failed: Some("it needs 32 SPEs, and the blade has 16".to_owned()),
            ..independent(number("a pair", None))
        },
    ];
    let paper = |name: &str, title: &str| PaperInfo {
        name: name.to_owned(),
        title: title.to_owned(),
        authors: "Somebody, Somebody Else, Journal of Measurements 2009".to_owned(),
    };
    Reproduction {
        envelope: Envelope::new(
            "reproduce",
            simulated(machine(PROCESSOR, 16, 8)),
            environment(),
            reasons,
            false,
        ),
        other_machines: vec![machine(PROCESSOR, 6, 6)],
        papers: vec![
            paper("mine", "What the Primitives of a Blade with Two Cells Cost"),
            paper("other", "What Others Found"),
        ],
        summary: ReproductionSummary::of(&results),
        results,
        figures: vec![
            figure("4", "block_bytes", &[4, 16, 128, 1_024, 16_384]),
            figure("10 and 11", "list_elements", &[1, 8, 64, 1_024]),
            figure("12", "spes", &[1, 2, 4, 8, 12, 16]),
        ],
    }
}

/// A figure of two panels, with curves that are up to 1,000 times apart.
fn figure(number: &str, against: &str, at: &[u64]) -> ReproducedFigure {
    let curve = |name: &str, factor: f64| Curve {
        name: name.to_owned(),
        points: at
            .iter()
            .map(|&x| CurvePoint {
                x,
                latency_ns: 110.0 * factor * (1.0 + x as f64),
                bandwidth_bytes_per_s: (against != "spes").then_some(1e9 * x as f64 / factor),
                speed_up: None,
            })
            .collect(),
    };
    let panel = |title: &str| ReproducedPanel {
        title: title.to_owned(),
        curves: vec![
            curve("Private-CX-MX", 1.0),
            curve("Shared-C0-M0", 2.0),
            curve("Shared-C0-M1", 2.1),
            curve("Shared-C1-M0", 3.0),
            curve("Shared-C1-M1", 5.0),
        ],
    };
    ReproducedFigure {
        paper: "mine".to_owned(),
        number: number.to_owned(),
        title: "Operations on buffers in main memory".to_owned(),
        against: against.to_owned(),
        panels: vec![panel("XDRAM0"), panel("XDRAM1")],
    }
}

/// The machine as a simulated machine, like the machines of papers.
fn simulated(machine: MachineInfo) -> MachineInfo {
    MachineInfo {
        kind: "simulated".to_owned(),
        ..machine
    }
}
