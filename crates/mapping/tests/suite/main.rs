//! Tests of problems, files, the search, the lower bound and bindings.

mod binding;
mod formats;
mod job;
mod levels;
mod problem;
mod read;
mod search;
