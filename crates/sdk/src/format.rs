//! What a module says of itself: the toolchain writes it, and the machine reads it.

/// The name of the section that says which side a module is for.
pub(crate) const SECTION: &str = "cellworks";

/// The name of the section that says which side an object is for, as `PPU` or `SPU`.
pub(crate) const OBJECT_SECTION: &str = "cellworks.object";

/// The name of the section with the stack of an SPU program, as two little-endian words: the bytes
/// that the heap leaves to it, and the address at which it begins and from which it grows down.
pub(crate) const STACK_SECTION: &str = "cellworks.stack";

/// The name of the variable whose address a module exports: no address below its value is of the
/// stack of an SPU program. Its bytes are little-endian.
pub(crate) const STACK_END: &str = "__cell_stack_end";

/// Returns the text of the section of a module for a side, `ppu` or `spu`.
pub(crate) fn sign(side: &str) -> String {
    format!("4 {side} big-endian")
}

/// The function with which a program of the PPU loads a volatile word. It writes nothing.
pub(crate) const LOAD_VOLATILE: &str = "__cell_load_volatile";
