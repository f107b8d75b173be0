//! Placing communicating tasks on cores.
//!
//! How much each pair of tasks communicates ([`Volumes`]) and what a unit of communication costs
//! between each pair of places ([`Costs`]) make a [`Problem`]: give each task a place so that the
//! sum of volume times cost is least. That is the quadratic assignment problem of Koopmans and
//! Beckmann (Assignment problems and the location of economic activities, Econometrica 25, 1957).
//! Places may take several tasks, stay empty or be forbidden, and tasks may be fixed to a place.
//! [`read`] has the files that hold a problem, [`Search`] finds a [`Placement`] that costs little,
//! [`Problem::lower_bound`] proves how little it can be at best, and [`Binding`] tells other tools.
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
mod error;
pub mod experiment;
mod explain;
mod ids;
mod pattern;
mod placement;
mod problem;
pub mod read;
mod search;
mod slots;
mod volumes;
pub mod write;

pub use binding::Binding;
pub use costs::Costs;
pub use error::ProblemError;
pub use explain::PairCosts;
pub use ids::{Place, Task};
pub use pattern::Pattern;
pub use placement::Placement;
pub use problem::{Problem, ProblemBuilder};
pub use search::{Limit, Progress, Search, Solution};
pub use volumes::Volumes;
