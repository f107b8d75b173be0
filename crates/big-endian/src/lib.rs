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

mod assembler;
mod data;
mod elsewhere;
mod emit;
mod function;
mod labels;
mod link;
mod module;
mod refusal;
mod text;

/// The source of this crate. What was rewritten by other source is out of date, so the name of a
/// cache contains a hash of these texts.
pub const SOURCE: [&str; 11] = [
    include_str!("assembler.rs"),
    include_str!("data.rs"),
    include_str!("elsewhere.rs"),
    include_str!("emit.rs"),
    include_str!("function.rs"),
    include_str!("labels.rs"),
    include_str!("lib.rs"),
    include_str!("link.rs"),
    include_str!("module.rs"),
    include_str!("refusal.rs"),
    include_str!("text.rs"),
];

pub use function::FUNCTIONS_FROM;
pub use link::{LinkError, swap_pointers};
pub use module::{RewriteError, rewrite, rewrite_unoptimised, rewrite_with_registers};

#[cfg(test)]
mod tests {
    #[test]
    fn the_source_has_every_file() {
        let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).unwrap();
        let mut texts: Vec<String> = files
            .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
            .collect();
        texts.sort();
        let mut source = super::SOURCE;
        source.sort_unstable();
        assert_eq!(texts, source);
    }
}
