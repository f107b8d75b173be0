//! What holds of problems, files, the search, the bound and written placements.

mod binding;
mod problem;
mod read;
mod search;
