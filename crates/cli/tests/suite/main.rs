//! The behaviour of the command as users see it.
//!
//! All tests are in one program, because each test program takes time to link.

mod common;
mod compare;
mod everything;
mod explain;
mod guides;
mod hostile;
mod labels;
mod launchers;
mod machine;
mod machines;
mod manual;
mod map;
mod messages;
mod networks;
mod other_computers;
mod output_files;
mod page;
mod pages;
mod pools;
mod python;
mod regressions;
mod reproduce;
mod ring;
mod run;
mod sdk;
mod simulated;
mod stats;
mod sweeps;
mod terminal;
mod trust;
mod words;
