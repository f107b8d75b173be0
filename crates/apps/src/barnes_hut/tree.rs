//! The quad-tree of bodies, and the acceleration of bodies by a part of the tree.

use std::{array, iter};

use bytemuck::{Pod, Zeroable};
use multiversion::multiversion;

use super::{Body, SOFTENING};

/// A square of the plane with bodies in it: 24 bytes. The first child of a node directly follows
/// the node, so nodes are in depth-first order.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Node {
    /// The centre of mass of the bodies in the square.
    pub centre: [f32; 2],
    /// The mass of all bodies in the square.
    pub mass: f32,
    /// The side of the square, or 0 for a leaf. A leaf has one body, or several bodies that are
    /// closer together than 2^-32 times the side of the root's square.
    pub size: f32,
    /// The index of the first node that follows this node and all nodes inside this node.
    pub next: u32,
    /// The number of bodies in the square.
    pub bodies: u32,
}

/// The largest number of ancestors of a node, because squares are halved 32 times.
pub const ANCESTORS_MAX: usize = 32;

/// A quad-tree of bodies. Each position of a body has a leaf, and a square with bodies in at least
/// two of its quarters has an inner node. There are fewer than twice as many nodes as bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    nodes: Vec<Node>,
}

/// A contiguous part of the nodes of a tree, which acts upon bodies without the rest of the tree.
/// Sections may act in any order. Nodes inside a square far from a body do not act upon the body,
/// even if the section begins inside the square. So a section has the ancestors of its first node.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    /// The index of the section's first node in the tree.
    pub first: u32,
    /// The ancestors of the first node, from the root down, as from [`Tree::ancestors`].
    pub ancestors: &'a [Node],
    /// The nodes of the section.
    pub nodes: &'a [Node],
}

impl Tree {
    /// Makes the tree, and sorts the bodies in the order of its leaves. Bodies that are near in the
    /// plane are then usually near in the slice. Equal bodies in an equal order give an equal tree.
    ///
    /// # Panics
    ///
    /// Panics if there are more than 2^31 bodies.
    pub fn new(bodies: &mut [Body]) -> Self {
        assert!(bodies.len() <= 1 << 31, "indices of nodes have 32 bits");
        let square = Square::around(bodies);
        let mut keys: Vec<_> = (0_u32..)
            .zip(&*bodies)
            .map(|(at, body)| (square.key(body), at))
            .collect();
        keys.sort_unstable();
        let sorted: Vec<_> = keys.iter().map(|(_, at)| bodies[*at as usize]).collect();
        bodies.copy_from_slice(&sorted);
        let mut tree = Self {
            nodes: Vec::with_capacity(2 * bodies.len()),
        };
        if !bodies.is_empty() {
            tree.add(bodies, &keys, square.size);
        }
        tree
    }

    /// Adds a node for these bodies, and all nodes inside it.
    fn add(&mut self, bodies: &[Body], keys: &[(u64, u32)], size: f64) {
        let place = self.nodes.len();
        self.nodes.push(Node::zeroed());
        let [first, last] = [keys[0].0, keys[keys.len() - 1].0];
        // Each pair of leading bits that all keys share halves the square once.
        let halved = (first ^ last).leading_zeros() / 2;
        let node = if first == last {
            Node::of(bodies.iter().map(|body| (body.position, body.mass)), 0.0)
        } else {
            let quarter = |key: u64| key >> (62 - 2 * halved) & 3;
            let (mut bodies, mut keys) = (bodies, keys);
            while let Some((key, _)) = keys.first() {
                let length = keys.partition_point(|(other, _)| quarter(*other) == quarter(*key));
                self.add(&bodies[..length], &keys[..length], size);
                (bodies, keys) = (&bodies[length..], &keys[length..]);
            }
            let size = size / (1_u64 << halved) as f64;
            let children = self.siblings(place + 1, self.nodes.len());
            Node::of(children.map(|child| (child.centre, child.mass)), size)
        };
        self.nodes[place] = Node {
            next: self.nodes.len() as u32,
            bodies: bodies.len() as u32,
            ..node
        };
    }

    /// Returns all nodes, in depth-first order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    fn siblings(&self, first: usize, end: usize) -> impl Iterator<Item = &Node> {
        let mut at = first;
        iter::from_fn(move || {
            let sibling = self.nodes[..end].get(at)?;
            at = sibling.next as usize;
            Some(sibling)
        })
    }

    /// Returns the whole tree as one section.
    pub fn whole(&self) -> Section<'_> {
        Section {
            first: 0,
            ancestors: &[],
            nodes: &self.nodes,
        }
    }

    /// Returns the ancestors of a node, from the root down. There are at most [`ANCESTORS_MAX`].
    pub fn ancestors(&self, node: usize) -> Vec<Node> {
        let mut ancestors = Vec::new();
        let mut at = 0;
        while at < node {
            let other = self.nodes[at];
            if other.next as usize > node {
                ancestors.push(other);
                at += 1;
            } else {
                at = other.next as usize;
            }
        }
        ancestors
    }
}

impl Node {
    fn of(inside: impl Iterator<Item = ([f32; 2], f32)>, size: f64) -> Self {
        let (mut mass, mut moment) = (0.0, [0.0; 2]);
        for (place, part) in inside {
            mass += f64::from(part);
            for (sum, place) in moment.iter_mut().zip(place) {
                *sum += f64::from(part) * f64::from(place);
            }
        }
        Self {
            centre: moment.map(|sum| (sum / mass) as f32),
            mass: mass as f32,
            size: size as f32,
            ..Self::zeroed()
        }
    }
}

struct Square {
    corner: [f64; 2],
    size: f64,
}

impl Square {
    fn around(bodies: &[Body]) -> Self {
        let mut ranges = [[f32::INFINITY, f32::NEG_INFINITY]; 2];
        for body in bodies {
            for ([least, most], place) in ranges.iter_mut().zip(body.position) {
                *least = least.min(place);
                *most = most.max(place);
            }
        }
        let sides = ranges.map(|[least, most]| f64::from(most) - f64::from(least));
        Self {
            corner: ranges.map(|[least, _]| f64::from(least)),
            size: sides[0].max(sides[1]),
        }
    }

    /// Returns the Morton key of a body. The highest two bits choose a quarter of the square, the
    /// next two bits choose a quarter of this quarter, and so on.
    fn key(&self, body: &Body) -> u64 {
        let [x, y] = array::from_fn(|at| {
            let part = (f64::from(body.position[at]) - self.corner[at]) / self.size;
            spread((part * 2_f64.powi(32)) as u32)
        });
        x | y << 1
    }
}

/// Spreads the bits of a number to the even-numbered bits of the result.
fn spread(number: u32) -> u64 {
    let masks = [
        (16, 0x0000_ffff_0000_ffff),
        (8, 0x00ff_00ff_00ff_00ff),
        (4, 0x0f0f_0f0f_0f0f_0f0f),
        (2, 0x3333_3333_3333_3333),
        (1, 0x5555_5555_5555_5555),
    ];
    let spread = |bits: u64, (shift, mask): (u32, u64)| (bits | bits << shift) & mask;
    masks.into_iter().fold(u64::from(number), spread)
}

/// The work of [`accelerate`], summed over all bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of visits of bodies to nodes, including ancestors of the first node of a section.
    pub met: u64,
    /// The number of times that a node accelerated a body.
    pub interactions: u64,
}

/// The number of bodies that go through a section together: the elements of a vector of AVX-512.
const LANES: usize = 16;

/// Adds the pull of a section to the accelerations and potentials of bodies. When all sections of a
/// tree have acted upon a body, in any order, the whole tree has acted.
///
/// `theta` is the opening angle: a node acts as one mass if the distance to its centre of mass is
/// at least the node's size divided by `theta`. A leaf always acts, except upon a body at the same
/// position. If `theta` is 0, only leaves act.
///
/// # Panics
///
/// Panics if `theta` is not from 0 to 0.7. With a larger `theta`, a square could act upon a body
/// inside the square.
pub fn accelerate(bodies: &mut [Body], section: Section<'_>, theta: f32) -> Counts {
    assert!(
        (0.0..=0.7).contains(&theta),
        "theta is {theta}; use 0 to 0.7"
    );
    let mut counts = Counts::default();
    for bodies in bodies.chunks_mut(LANES) {
        let of = |part: fn(&Body) -> f32| array::from_fn(|at| bodies.get(at).map_or(0.0, part));
        let mut lanes = Lanes {
            x: of(|body| body.position[0]),
            y: of(|body| body.position[1]),
            // No section reaches the index `u32::MAX`, so a lane without a body visits no node.
            at: array::from_fn(|lane| {
                if lane < bodies.len() {
                    section.first
                } else {
                    u32::MAX
                }
            }),
            ..Lanes::default()
        };
        go_through(&mut lanes, section, theta * theta);
        for (at, body) in bodies.iter_mut().enumerate() {
            body.acceleration[0] += lanes.to_x[at];
            body.acceleration[1] += lanes.to_y[at];
            body.potential += lanes.potential[at];
            counts.met += u64::from(lanes.met[at]);
            counts.interactions += u64::from(lanes.interactions[at]);
        }
    }
    counts
}

/// Bodies that go through a section together, with their accelerations so far.
#[derive(Clone, Copy, Default)]
struct Lanes {
    x: [f32; LANES],
    y: [f32; LANES],
    /// The index of the node that the body visits next.
    at: [u32; LANES],
    to_x: [f32; LANES],
    to_y: [f32; LANES],
    potential: [f32; LANES],
    met: [u32; LANES],
    interactions: [u32; LANES],
}

/// Takes bodies through a section, node by node. A body near the node continues at its first child,
/// a body far away continues at `next`, and a body with a larger `at` does not visit the node. If
/// no body continues at the first child, the loop continues at `next`.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn go_through(lanes: &mut Lanes, section: Section<'_>, theta_squared: f32) {
    let mut inner = *lanes;
    for ancestor in section.ancestors {
        let Node {
            centre, size, next, ..
        } = *ancestor;
        let mut waiting = 0;
        for lane in 0..LANES {
            let (to_x, to_y) = (centre[0] - inner.x[lane], centre[1] - inner.y[lane]);
            let waits = inner.at[lane] == section.first;
            let is_far = size * size <= theta_squared * (to_x * to_x + to_y * to_y);
            inner.at[lane] = if waits & is_far { next } else { inner.at[lane] };
            inner.met[lane] += u32::from(waits);
            waiting |= u32::from(waits);
        }
        if waiting == 0 {
            break;
        }
    }
    let mut index = u32::MAX;
    for lane in 0..LANES {
        index = index.min(inner.at[lane]);
    }
    while let Some(node) = section.nodes.get((index - section.first) as usize) {
        let Node {
            centre,
            mass,
            size,
            next,
            ..
        } = *node;
        let inside = index + 1;
        let (mut some_act, mut some_open) = (0, 0);
        let mut acting = [0.0; LANES];
        let (mut to_x, mut to_y, mut squared) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            to_x[lane] = centre[0] - inner.x[lane];
            to_y[lane] = centre[1] - inner.y[lane];
            squared[lane] = to_x[lane] * to_x[lane] + to_y[lane] * to_y[lane];
            let meets = inner.at[lane] == index;
            let is_far = size * size <= theta_squared * squared[lane];
            let goes_on_at = if is_far { next } else { inside };
            inner.at[lane] = if meets { goes_on_at } else { inner.at[lane] };
            let is_pulled = meets & is_far & (squared[lane] > 0.0);
            acting[lane] = if is_pulled { mass } else { 0.0 };
            inner.met[lane] += u32::from(meets);
            inner.interactions[lane] += u32::from(meets & is_far);
            some_act |= u32::from(meets & is_far);
            some_open |= u32::from(meets & !is_far);
        }
        if some_act != 0 {
            for lane in 0..LANES {
                let inverse = 1.0 / (squared[lane] + SOFTENING * SOFTENING).sqrt();
                let potential = acting[lane] * inverse;
                let pull = potential * inverse * inverse;
                inner.to_x[lane] += pull * to_x[lane];
                inner.to_y[lane] += pull * to_y[lane];
                inner.potential[lane] -= potential;
            }
        }
        index = if some_open != 0 { inside } else { next };
    }
    *lanes = inner;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{accelerate_directly, disc};
    use super::*;

    /// Finds the nodes that act upon a body, by recursion from the node `at`.
    fn acting(tree: &Tree, body: &Body, theta: f32, at: usize, found: &mut Vec<usize>) {
        let node = &tree.nodes[at];
        let [x, y] = [0, 1].map(|axis| node.centre[axis] - body.position[axis]);
        if node.size * node.size <= theta * theta * (x * x + y * y) {
            return found.push(at);
        }
        let mut child = at + 1;
        while child < node.next as usize {
            acting(tree, body, theta, child, found);
            child = tree.nodes[child].next as usize;
        }
    }

    /// Some coordinates are whole numbers, so that several bodies are at the same place.
    fn some_bodies() -> impl Strategy<Value = Vec<Body>> {
        let part = prop_oneof![-1.0_f32..1.0, (-2_i8..3).prop_map(f32::from)];
        let body = ([part.clone(), part], 0.1_f32..1.0).prop_map(|(position, mass)| Body {
            position,
            mass,
            ..Body::zeroed()
        });
        prop::collection::vec(body, 1..80)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50))]

        /// There are usually more random cuts than nodes, so most sections have one node or none.
        #[test]
        fn sections_act_as_the_whole_tree(
            mut bodies in some_bodies(),
            theta in 0.0_f32..0.7,
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..500),
        ) {
            let tree = Tree::new(&mut bodies);
            let length = tree.nodes.len();
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(length)).collect();
            cuts.extend([0, length]);
            cuts.sort_unstable();
            let of_body = |body| {
                let mut found = Vec::new();
                acting(&tree, body, theta, 0, &mut found);
                found
            };
            let acting: Vec<_> = bodies.iter().map(of_body).collect();
            let mut whole = bodies.clone();
            accelerate(&mut whole, tree.whole(), theta);
            for cut in cuts.windows(2).rev() {
                let ancestors = tree.ancestors(cut[0]);
                prop_assert!(ancestors.len() <= ANCESTORS_MAX);
                let section = Section {
                    first: cut[0] as u32,
                    ancestors: &ancestors,
                    nodes: &tree.nodes[cut[0]..cut[1]],
                };
                let mut expected = 0;
                for (body, acting) in bodies.iter().zip(&acting) {
                    let inside = acting.iter().filter(|at| (cut[0]..cut[1]).contains(at)).count();
                    let alone = accelerate(&mut [*body], section, theta).interactions;
                    prop_assert_eq!(alone, inside as u64);
                    expected += alone;
                }
                prop_assert_eq!(accelerate(&mut bodies, section, theta).interactions, expected);
            }
            for (body, whole) in bodies.iter().zip(&whole) {
                // Forces may cancel each other, so errors are relative to the potential.
                let bound = 1e-4 * whole.potential.abs();
                prop_assert!((body.potential - whole.potential).abs() <= bound);
                for (part, of_whole) in body.acceleration.iter().zip(whole.acceleration) {
                    prop_assert!((part - of_whole).abs() <= bound / SOFTENING);
                }
            }
        }
    }

    /// The bodies are only reordered, and each node has the mass of the bodies inside it.
    #[test]
    fn a_tree_has_all_bodies_and_their_mass() {
        let before = disc(1000, 3);
        let mut bodies = before.clone();
        let tree = Tree::new(&mut bodies);
        assert_eq!(tree, Tree::new(&mut before.clone()));
        let sorted = |bodies: &[Body]| {
            let mut bytes: Vec<[u8; 32]> = bytemuck::cast_slice(bodies).to_vec();
            bytes.sort_unstable();
            bytes
        };
        assert_eq!(sorted(&bodies), sorted(&before));
        let root = tree.nodes[0];
        assert_eq!((root.bodies, root.next as usize), (1000, tree.nodes.len()));
        assert!((root.mass - 1.0).abs() < 1e-5);
        let mut leaf = 0;
        for (at, node) in tree.nodes.iter().enumerate() {
            if node.size == 0.0 {
                assert_eq!((node.next as usize, node.bodies), (at + 1, 1));
                assert_eq!(
                    (node.centre, node.mass),
                    (bodies[leaf].position, bodies[leaf].mass)
                );
                leaf += 1;
                continue;
            }
            let children = Vec::from_iter(tree.siblings(at + 1, node.next as usize));
            let mass: f32 = children.iter().map(|child| child.mass).sum();
            let count: u32 = children.iter().map(|child| child.bodies).sum();
            assert!((2..=4).contains(&children.len()));
            assert!(children.iter().all(|child| child.size <= node.size / 2.0));
            assert!((mass / node.mass - 1.0).abs() < 1e-5);
            assert_eq!(count, node.bodies);
        }
        assert_eq!(leaf, bodies.len());
    }

    #[test]
    fn no_bodies_and_bodies_without_places_have_a_tree() {
        assert_eq!(Tree::new(&mut []).nodes, []);
        assert_eq!(
            accelerate(&mut [], Tree::new(&mut []).whole(), 0.5),
            Counts::default()
        );
        let mut same = disc(1, 1).repeat(5);
        let tree = Tree::new(&mut same);
        assert_eq!(tree.nodes.len(), 1);
        assert_eq!(
            (tree.nodes[0].bodies, tree.nodes[0].centre),
            (5, same[0].position)
        );
        accelerate(&mut same, tree.whole(), 0.5);
        assert_eq!((same[0].acceleration, same[0].potential), ([0.0; 2], 0.0));
        let places = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e38, -1e38, 0.0];
        let mut lost = disc(6, 1);
        for (body, place) in lost.iter_mut().zip(places) {
            body.position[0] = place;
        }
        let tree = Tree::new(&mut lost);
        accelerate(&mut lost, tree.whole(), 0.5);
    }

    #[test]
    fn forces_are_near_those_by_direct_summation() {
        let mut bodies = disc(2000, 5);
        let tree = Tree::new(&mut bodies);
        let mut expected = bodies.clone();
        accelerate_directly(&mut expected, &bodies);
        // The root mean square error relative to the acceleration, and the number of interactions.
        let of = |theta: f32| {
            let mut found = bodies.clone();
            let counts = accelerate(&mut found, tree.whole(), theta);
            let (mut errors, mut squares) = (0.0, 0.0);
            for (found, expected) in found.iter().zip(&expected) {
                for (found, expected) in found.acceleration.iter().zip(expected.acceleration) {
                    errors += (found - expected).powi(2);
                    squares += expected.powi(2);
                }
            }
            ((errors / squares).sqrt(), counts.interactions)
        };
        let [exact, fine, usual] = [0.0, 0.25, 0.5].map(of);
        assert!(exact.0 < 1e-5, "{exact:?}");
        assert_eq!(exact.1, 2000 * 2000);
        assert!(fine.0 < usual.0 / 2.0, "{fine:?} {usual:?}");
        // The force of an evenly filled square differs from the force of a single mass by at most
        // an eighth of (size / distance)², and size / distance is at most `theta`.
        assert!(usual.0 < 0.5 * 0.5 / 8.0, "{usual:?}");
        assert!(usual.1 < exact.1 / 5, "{usual:?}");
    }
}
