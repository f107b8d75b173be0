//! The check that the values of a description, each allowed by itself, fit together.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::allowed::{Digits, HZ_LEAST};
use super::file::File;
use super::*;

/// The maximum number of SPEs.
pub(super) const SPES_MAX: usize = 1_024;

/// How many times as fast as the other the clock of the bus or of the SPUs may be. The bus of a
/// Cell has half the clock of its SPUs, and the mesh of an SCC 1.5 times the clock of its cores.
const BUS_RATIO_MAX: u64 = 16;

/// Records all values that do not fit together as problems of `file`.
pub(super) fn check(machine: &Description, file: &File<'_>) {
    clocks(&machine.clock, file);
    cells(machine, file);
    modules(machine, file);
    if !file.is_there(&["interconnect.kind", "cell", "memory"]) {
        return;
    }
    match &machine.interconnect {
        Interconnect::Rings(rings) => on_rings(machine, rings, file),
        Interconnect::Mesh(mesh) => on_a_mesh(machine, mesh, file),
        Interconnect::Crossbar(_) => {}
        Interconnect::Matrix(matrix) => with_a_matrix(machine, matrix, file),
    }
}

/// Compares the clocks with that of the SPUs. The check finds a clock in another unit, such as MHz.
fn clocks(clock: &Clock, file: &File<'_>) {
    let spu_hz = clock.spu_hz.value;
    let fits = |key: &str, hz: u64, allowed: RangeInclusive<u64>, why: &str| {
        let path = format!("clock.{key}");
        if allowed.contains(&hz) || !file.is_sound(&[&path, "clock.spu_hz"]) {
            return;
        }
        let (least, most) = (Digits(*allowed.start()), Digits(*allowed.end()));
        let (hz, spu_hz) = (Digits(hz), Digits(spu_hz));
        let problem =
            format!("is {hz}; allowed: {least} to {most}, {why} spu_hz, which is {spu_hz}");
        file.problem(&path, problem);
    };
    let bus = spu_hz.div_ceil(BUS_RATIO_MAX)..=spu_hz.saturating_mul(BUS_RATIO_MAX);
    let why = "from a sixteenth to sixteen times";
    fits("bus_hz", clock.bus_hz.value, bus, why);
    let timebase = clock.timebase_hz.value;
    fits("timebase_hz", timebase, HZ_LEAST..=spu_hz, "at most");
}

fn cells(machine: &Description, file: &File<'_>) {
    let cells = machine.cells.len();
    let cells_max = match machine.interconnect {
        Interconnect::Rings(_) => 2,
        _ => 1,
    };
    let is_known = file.is_there(&["interconnect.kind", "cell"]);
    if cells > cells_max && is_known {
        let allowed = "two at the most with rings, one with a mesh, a crossbar or a matrix";
        let problem = format!("is one [[cell]] too many; allowed: {allowed}");
        file.problem(&format!("cell[{cells_max}]"), problem);
    }
    match (&machine.link, cells) {
        _ if !file.is_there(&["link", "cell"]) => {}
        (None, 2) => {
            let problem = "is missing; allowed: a [link], because there are two Cells";
            file.problem("link", problem);
        }
        (Some(_), 1) => {
            let problem = "is there, but there is one Cell; allowed: a [link] between two Cells";
            file.problem("link", problem);
        }
        _ => {}
    }
    for (index, cell) in machine.cells.iter().enumerate() {
        let path = format!("cell[{index}].spes");
        let is_known = file.is_there(&[&path]);
        for (place, spe) in cell.spes.iter().enumerate() {
            let path = format!("{path}[{place}]");
            if is_known && cell.spes[..place].contains(spe) && file.is_there(&[&path]) {
                let problem = format!("is {spe} again; allowed: each SPE of a Cell once");
                file.problem(&path, problem);
            }
        }
        let modules = machine.modules.len();
        let module = cell.nearest_module;
        let path = format!("cell[{index}].nearest_module");
        if usize::from(module) >= modules && file.is_there(&[&path, "memory"]) {
            let problem = format!("is {module}; allowed: {}", numbers(modules, "[[memory]]"));
            file.problem(&path, problem);
        }
    }
    let spes = machine.spes().count();
    if spes > SPES_MAX {
        let problem = format!("makes {spes} SPEs; allowed: {SPES_MAX} in all");
        file.problem(&format!("cell[{}].spes", cells - 1), problem);
    }
}

fn numbers(count: usize, of: &str) -> String {
    match count {
        1 => format!("0, because there is one {of}"),
        _ => format!("0 to {}, because there are {count} {of}", count - 1),
    }
}

fn modules(machine: &Description, file: &File<'_>) {
    let cells = machine.cells.len();
    let on_a_mesh = matches!(machine.interconnect, Interconnect::Mesh(_));
    for (index, module) in machine.modules.iter().enumerate() {
        let path = |key| format!("memory[{index}].{key}");
        let refused = |key, problem: &str| file.problem(&path(key), problem);
        if usize::from(module.cell) >= cells && file.is_there(&[&path("cell"), "cell"]) {
            let allowed = numbers(cells, "[[cell]]");
            refused("cell", &format!("is {}; allowed: {allowed}", module.cell));
        }
        match (on_a_mesh, module.tile) {
            _ if !file.is_there(&[&path("tile"), "interconnect.kind"]) => {}
            (true, None) => {
                let problem =
                    "is missing; allowed: the column and row where it is attached, such as [0, 2]";
                refused("tile", problem);
            }
            (false, Some(_)) => {
                refused(
                    "tile",
                    "is there, but there are no tiles; allowed: only with a mesh",
                );
            }
            _ => {}
        }
        let (refresh, interval) = (module.refresh_ps.value, module.refresh_interval_ps.value);
        let are_known = file.is_sound(&[&path("refresh_ps"), &path("refresh_interval_ps")]);
        if refresh >= interval && are_known {
            let problem = format!(
                "is {refresh}; allowed: less than refresh_interval_ps, which is {interval}"
            );
            refused("refresh_ps", &problem);
        }
    }
}

fn on_rings(machine: &Description, rings: &Rings, file: &File<'_>) {
    if !file.is_there(&["interconnect.elements"]) {
        return;
    }
    let mut wrong = BTreeSet::new();
    for (place, element) in rings.elements.iter().enumerate() {
        let path = format!("interconnect.elements[{place}]");
        if !file.is_there(&[&path]) {
            wrong.insert(place);
            continue;
        }
        let mut refused = |problem: String| {
            file.problem(&path, problem);
            wrong.insert(place);
        };
        if !is_element(element) {
            let allowed = "PPE, SPE0, SPE1 and so on, MIC, IOIF0, IOIF1";
            refused(format!("is {element:?}; allowed: {allowed}"));
        }
        if rings.elements[..place].contains(element) {
            refused(format!("is {element:?} again; allowed: each element once"));
        }
    }
    let mut missing: Vec<(String, String)> = Vec::new();
    let has = |element: &str| rings.elements.iter().any(|other| other == element);
    if !has("PPE") {
        missing.push(("PPE".to_owned(), "every Cell has a PPE".to_owned()));
    }
    let mut missed = BTreeSet::new();
    for (index, cell) in machine.cells.iter().enumerate() {
        let path = format!("cell[{index}].spes");
        for (place, spe) in cell.spes.iter().enumerate() {
            let is_known = file.is_there(&[&format!("{path}[{place}]")]);
            let element = format!("SPE{spe}");
            if is_known && !has(&element) && missed.insert(*spe) {
                missing.push((element, format!("cell[{index}].spes lists the SPE {spe}")));
            }
        }
    }
    for (index, module) in machine.modules.iter().enumerate() {
        if !has("MIC") && index == 0 {
            missing.push((
                "MIC".to_owned(),
                format!("memory[{index}] is attached there"),
            ));
        }
        let others = &machine.modules[..index];
        let is_known = file.is_there(&[&format!("memory[{index}].cell")]);
        if is_known && others.iter().any(|other| other.cell == module.cell) {
            let problem = format!(
                "is {} again; allowed: one [[memory]] for each Cell on rings",
                module.cell
            );
            file.problem(&format!("memory[{index}].cell"), problem);
        }
    }
    if machine.cells.len() == 2 && !has("IOIF0") {
        let why = "the link to the other Cell is there".to_owned();
        missing.push(("IOIF0".to_owned(), why));
    }
    // A wrong name may be meant for a missing element. So missing elements are reported only if
    // there are more of them than wrong names.
    if missing.len() > wrong.len() {
        for (element, why) in &missing {
            let problem = format!("misses {element:?}; allowed: with it, because {why}");
            file.problem("interconnect.elements", problem);
        }
    }
    let right = rings.elements.len() - wrong.len();
    reaches_every_element(rings, right + missing.len(), file)
}

fn is_element(name: &str) -> bool {
    let spe = name.strip_prefix("SPE");
    // The number must be in its shortest form, without a sign or leading zeros.
    let is_number = |spe: &str| {
        spe.parse()
            .is_ok_and(|number: u16| number.to_string() == spe)
    };
    let is_spe = spe.is_some_and(is_number);
    is_spe || matches!(name, "PPE" | "MIC" | "IOIF0" | "IOIF1")
}

/// Records a problem if a way between two of `elements` elements is longer than `hops_max`.
fn reaches_every_element(rings: &Rings, elements: usize, file: &File<'_>) {
    let numbers = ["clockwise", "counterclockwise", "hops_max"];
    let numbers = numbers.map(|key| format!("interconnect.{key}"));
    let [clockwise, counterclockwise, hops_max] = &numbers;
    if !file.is_sound(&[clockwise, counterclockwise, hops_max]) {
        return;
    }
    let (clockwise, counterclockwise) = (rings.clockwise.value, rings.counterclockwise.value);
    let elements = elements as u64;
    // If all rings have the same direction, the farthest element is the one just behind the sender.
    let farthest = match (clockwise, counterclockwise) {
        (0, 0) => {
            let problem = "is 0, and counterclockwise too; allowed: one ring or more in all";
            return file.problem("interconnect.clockwise", problem);
        }
        (0, _) | (_, 0) => elements - 1,
        _ => elements / 2,
    };
    let hops_max = rings.hops_max.value;
    if hops_max < farthest {
        let problem = format!(
            "is {hops_max}; allowed: {farthest} or more, because the farthest of {elements} \
             elements is {farthest} hops away"
        );
        file.problem("interconnect.hops_max", problem);
    }
}

fn on_a_mesh(machine: &Description, mesh: &Mesh, file: &File<'_>) {
    if !file.is_sound(&["interconnect.columns", "interconnect.rows"]) {
        return;
    }
    let (columns, rows) = (mesh.columns.value, mesh.rows.value);
    let tiles = columns * rows;
    let on_the_mesh = |path: &str, [column, row]: [u16; 2]| {
        let is_on = u64::from(column) < columns && u64::from(row) < rows;
        if is_on || !file.is_sound(&[path]) {
            return;
        }
        let problem = format!(
            "is [{column}, {row}]; allowed: columns 0 to {}, rows 0 to {}",
            columns - 1,
            rows - 1
        );
        file.problem(path, problem);
    };
    on_the_mesh("interconnect.ppe_tile", mesh.ppe_tile);
    for (index, module) in machine.modules.iter().enumerate() {
        if let Some(tile) = module.tile {
            on_the_mesh(&format!("memory[{index}].tile"), tile);
        }
    }
    for (place, spe) in machine.cells[0].spes.iter().enumerate() {
        let path = format!("cell[0].spes[{place}]");
        if u64::from(*spe) >= tiles && file.is_there(&[&path]) {
            let problem = format!(
                "is {spe}; allowed: 0 to {}, because {columns} x {rows} tiles hold {tiles} SPEs",
                tiles - 1
            );
            file.problem(&path, problem);
        }
    }
}

fn with_a_matrix(machine: &Description, matrix: &Matrix, file: &File<'_>) {
    let spes = machine.spes().count();
    let fits = |path: &str, what: &str, length: usize| {
        if length == spes || !file.is_there(&[path, "cell[0].spes"]) {
            return;
        }
        let problem = format!("has {length} {what}; allowed: {spes}, one for each SPE");
        file.problem(path, problem);
    };
    fits("interconnect.one_way_ps", "rows", matrix.one_way_ps.len());
    for (index, row) in matrix.one_way_ps.iter().enumerate() {
        fits(
            &format!("interconnect.one_way_ps[{index}]"),
            "times",
            row.len(),
        );
    }
}
