//! The picture of a placement: the tasks in order, and as the search has placed them.

use std::collections::BTreeMap;
use std::sync::Arc;

use cellworks_mapping::{Place, Placement, Problem, Task};
use cellworks_report::{DRAWN_MAX, PictureDrawing, PictureLine, PlacementPicture};

use super::costs::Places;

/// The largest number of kinds of groups that are drawn, the outermost ones.
const RINGS_MAX: usize = 3;

/// The places of a picture, and their groups.
pub(super) struct Scene {
    /// For each place of the problem, its place in the picture.
    unit_of: Vec<usize>,
    names: Vec<String>,
    rings: Vec<Vec<(String, usize)>>,
}

impl Scene {
    /// Returns the places. If there are too many for a picture, the parts of a level stand for
    /// them.
    pub fn of(places: &Places) -> Self {
        let count = places.costs.places();
        let levels = places.costs.levels();
        // For each level, the number of places in a part of it.
        let mut size = count;
        let sizes = levels.iter().map(|level| {
            size /= level.parts;
            size
        });
        let sizes: Vec<usize> = sizes.collect();
        let drawn = |size: &usize| count.div_ceil(*size) <= DRAWN_MAX;
        let unit = if count <= DRAWN_MAX {
            1
        } else {
            sizes.iter().copied().filter(drawn).min().unwrap_or(1)
        };
        if let (1, true, Some(cells)) = (unit, levels.is_empty(), cells(places)) {
            return cells;
        }
        let nodes = places.cpus.as_ref().map_or(&[][..], |cpus| &cpus.nodes);
        let named = |size: usize, number: usize| {
            let level = sizes.iter().position(|other| *other == size);
            match level.map(|level| &levels[level].name[..]) {
                Some("node") if nodes.len() == count / size => nodes[number].clone(),
                None | Some("") => format!("group {number}"),
                Some(name) => format!("{name} {number}"),
            }
        };
        let mut rings = Vec::new();
        for (size, level) in sizes.iter().zip(levels) {
            if *size > unit && level.parts > 1 {
                let groups = (0..count / size).map(|group| (named(*size, group), size / unit));
                rings.push(groups.collect());
            }
        }
        rings.truncate(RINGS_MAX);
        rings.reverse();
        Self {
            unit_of: (0..count).map(|place| place / unit).collect(),
            names: (0..count.div_ceil(unit))
                .map(|number| match unit {
                    1 => places.name(number).to_owned(),
                    _ => named(unit, number),
                })
                .collect(),
            rings,
        }
    }
}

/// Returns the places of a machine with several Cells, in the order of Cells and cores.
fn cells(places: &Places) -> Option<Scene> {
    let machine = &places.machine;
    let count = places.costs.places();
    let mut cell_of = vec![None; count];
    for (cell, spes) in machine.cells.iter().enumerate() {
        for spe in spes.spes.iter().filter(|spe| **spe < count) {
            cell_of[*spe] = Some(cell);
        }
    }
    let cell_of: Vec<usize> = cell_of.into_iter().collect::<Option<_>>()?;
    let core = |place: usize| machine.spe_cores.get(place).copied().unwrap_or(place);
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|place| (cell_of[*place], core(*place)));
    let ring = |name: &str, group: &dyn Fn(usize) -> usize| {
        let groups = order.chunk_by(|one, other| group(*one) == group(*other));
        groups
            .map(|places| (format!("{name} {}", group(places[0])), places.len()))
            .collect()
    };
    let cores: Vec<(String, usize)> = ring("core", &core);
    let group = if machine.is_this_computer() {
        "cache group"
    } else {
        "Cell"
    };
    let cells: Vec<(String, usize)> = ring(group, &|place| cell_of[place]);
    let mut rings = Vec::new();
    if cores.len() < count {
        rings.push(cores);
    }
    if cells.len() > 1 {
        rings.push(cells);
    }
    let mut unit_of = vec![0; count];
    for (unit, place) in order.iter().enumerate() {
        unit_of[*place] = unit;
    }
    Some(Scene {
        unit_of,
        names: order
            .iter()
            .map(|place| places.name(*place).to_owned())
            .collect(),
        rings,
    })
}

/// A problem whose placements can be drawn.
pub(super) struct Drawn {
    pub scene: Scene,
    pub problem: Arc<Problem>,
}

impl Drawn {
    /// Draws the tasks in the order of the places, and as they are placed.
    pub fn picture(&self, placement: &Placement) -> PlacementPicture {
        let in_order = self.in_order();
        let [before, after] = [&in_order, placement].map(|one| self.problem.cost(one));
        let drawn = [
            ("in the order of the places", &in_order, before),
            ("as it was found", placement, after),
        ];
        PlacementPicture {
            places: self.scene.names.clone(),
            rings: self.scene.rings.clone(),
            drawings: drawn
                .map(|(title, placement, cost)| self.drawing(title, placement, cost))
                .to_vec(),
        }
    }

    /// Returns the cost of the tasks in the order of the places.
    pub fn cost_in_order(&self) -> f64 {
        self.problem.cost(&self.in_order())
    }

    /// Places each task that is not fixed at the first place with room.
    fn in_order(&self) -> Placement {
        let problem = &self.problem;
        let tasks = problem.volumes().tasks();
        let mut room: Vec<usize> = (0..problem.costs().places())
            .map(|place| problem.capacity(Place(place)))
            .collect();
        let fixed = (0..tasks).filter_map(|task| problem.fixed(Task(task)));
        fixed.for_each(|place| room[place.0] -= 1);
        let mut at = 0;
        let places = (0..tasks).map(|task| {
            if let Some(place) = problem.fixed(Task(task)) {
                return place.0;
            }
            while room[at] == 0 {
                at += 1;
            }
            room[at] -= 1;
            at
        });
        let placed = problem.placement(places.collect::<Vec<_>>());
        placed.expect("the problem has room for all tasks")
    }

    fn drawing(&self, title: &str, placement: &Placement, cost: f64) -> PictureDrawing {
        let unit_of = |task: Task| self.scene.unit_of[placement.place_of(task).0];
        let mut tasks = vec![Vec::new(); self.scene.names.len()];
        for task in 0..placement.places().len() {
            tasks[unit_of(Task(task))].push(task);
        }
        let mut lines: BTreeMap<_, PictureLine> = BTreeMap::new();
        for (from, to, volume) in self.problem.volumes().pairs() {
            let [one, other] = [from, to].map(unit_of);
            if one != other && self.scene.names.len() <= DRAWN_MAX {
                let [from, to] = [from, to].map(|task| placement.place_of(task));
                let places = [one.min(other), one.max(other)];
                let line = lines.entry(places).or_default();
                line.places = places;
                line.volume += volume;
                line.cost += volume * self.problem.costs().between(from, to);
            }
        }
        PictureDrawing {
            title: title.to_owned(),
            cost: Some(cost),
            tasks,
            lines: lines.into_values().collect(),
        }
    }
}
