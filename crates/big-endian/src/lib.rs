//! Programs for a big-endian processor, such as the Cell, as WebAssembly.
//!
//! The memory of WebAssembly is little-endian. A program that joins bytes to words by a union, a
//! cast or a shuffle, or that reads a file made for a big-endian machine, computes something else
//! there. [`rewrite`] takes the LLVM IR of such a program as the front end of a big-endian
//! processor writes it, before any optimisation, and turns round the bytes of every value that goes
//! to memory or comes from it. So each byte lies where it lies on the big-endian machine.
//! [`swap_pointers`] does the same for the addresses that the linker writes into data.
//!
//! ```text
//! clang --target=powerpc ... -O2 -Xclang -disable-llvm-passes -emit-llvm -S prog.c -o prog.ll
//! (rewrite)
//! clang --target=wasm32-wasip1 -O2 -c big.ll -o prog.o
//! wasm-ld --emit-relocs prog.o ... -o prog.wasm
//! (swap_pointers)
//! ```
//!
//! The order must be this one: the optimiser folds unions and constants for the order of its
//! target.
//!
//! The IR is that of clang 19 to 22. What is not known is refused with its line, never passed on.

mod data;
mod emit;
mod function;
mod link;
mod module;
mod text;

pub use link::{LinkError, swap_pointers};
pub use module::{RewriteError, rewrite};
