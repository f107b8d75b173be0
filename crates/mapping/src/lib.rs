//! Placing communicating tasks on cores.
//!
//! A [`Problem`] has the volume of communication between each pair of tasks ([`Volumes`]) and the
//! cost of a unit of volume between each pair of places ([`Costs`]). A solution gives each task a
//! place so that the sum of volume times cost is least. This is the quadratic assignment problem of
//! Koopmans and Beckmann (Assignment problems and the location of economic activities, Econometrica
//! 25, 1957). A place can take several tasks or be forbidden, and a task can be fixed to a place.
//!
//! [`read`] reads problems from files. [`Search`] finds a [`Placement`] with a low cost. No cost is
//! below [`Problem::lower_bound`]. [`Binding`] and [`JobBinding`]
//! write a placement for other tools.
//!
//! ```
//! use std::ops::ControlFlow;
//! use std::time::Duration;
//!
//! use cellworks_mapping::{Costs, Limit, Problem, Search, Volumes};
//!
//! # fn main() -> Result<(), cellworks_mapping::ProblemError> {
//! // Three tasks in a chain, on four cores in a row.
//! let volumes = Volumes::from_edges(3, [(0, 1, 10.0), (1, 2, 10.0)])?;
//! let costs = Costs::from_fn(4, |from, to| from.0.abs_diff(to.0) as f64)?;
//! let problem = Problem::builder(volumes, costs).build()?;
//!
//! let spread = problem.placement([0, 3, 1])?;
//! assert_eq!(problem.cost(&spread), 50.0);
//!
//! let search = Search::new(Limit::Time(Duration::from_secs(1)));
//! let solution = search.run(&problem, |_| ControlFlow::Continue(()));
//! assert!(solution.optimal);
//! assert_eq!(solution.cost, 20.0);
//! # Ok(())
//! # }
//! ```

mod average;
mod binding;
mod bound;
mod costs;
mod cuts;
mod error;
mod explain;
mod gaps;
mod grid;
mod ids;
mod job;
mod level;
mod levels;
mod pattern;
mod placement;
mod problem;
pub mod read;
mod search;
mod slots;
mod sparse;
mod volumes;
pub mod write;

pub use binding::Binding;
pub use costs::Costs;
pub use error::ProblemError;
pub use explain::PairCosts;
pub use ids::{Place, Task};
pub use job::JobBinding;
pub use level::Level;
pub use levels::{Machine, MachineError};
pub use pattern::Pattern;
pub use placement::Placement;
pub use problem::{Problem, ProblemBuilder};
pub use search::{Limit, Progress, Search, Solution};
pub use volumes::Volumes;
