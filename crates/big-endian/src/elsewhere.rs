//! Memory that a program reaches only by way of a cache: that of the pointers of address space 1,
//! which are `__ea` in C.
//!
//! A cache keeps some of this memory in the memory of the program, and says where a value is. So
//! each access asks it first, and no pointer of the space is left after that.

use std::borrow::Cow;

use crate::text::{Rest, Type, debug};

const SPACE: &str = " addrspace(1)";

/// Functions that say where the bytes at a pointer of the space are, to read them or to write them.
const FETCH: [&str; 2] = ["@__cell_fetch", "@__cell_fetch_dirty"];

/// Operations on many bytes, and the functions that carry them out.
const COPIES: &[(&str, &str)] = &[
    ("@llvm.memcpy.p0.p1.i32(", "@__cell_copy_from_ea("),
    ("@llvm.memcpy.p1.p0.i32(", "@__cell_copy_to_ea("),
    ("@llvm.memcpy.p1.p1.i32(", "@__cell_copy_within_ea("),
    ("@llvm.memset.p1.i32(", "@__cell_set_ea("),
];

/// The declarations of all these functions.
pub(crate) const DECLARATIONS: &[&str] = &[
    "declare ptr @__cell_fetch(ptr, i32)",
    "declare ptr @__cell_fetch_dirty(ptr, i32)",
    "declare void @__cell_copy_from_ea(ptr, ptr, i32, i1)",
    "declare void @__cell_copy_to_ea(ptr, ptr, i32, i1)",
    "declare void @__cell_copy_within_ea(ptr, ptr, i32, i1)",
    "declare void @__cell_set_ea(ptr, i8, i32, i1)",
];

/// Returns whether IR has pointers of the space.
pub(crate) fn is_used(ir: &str) -> bool {
    ir.contains(SPACE)
}

/// Returns the IR without the pointers of the space. What cannot be done by way of the cache stays,
/// and [`refused`] knows it.
pub(crate) fn fetched(ir: &str) -> Cow<'_, str> {
    if !is_used(ir) {
        return Cow::Borrowed(ir);
    }
    let (mut result, mut fetches) = (String::new(), 0);
    for line in ir.lines() {
        let is_copy = |(name, _): &&(&str, &str)| line.contains(name);
        match COPIES.iter().find(is_copy) {
            _ if !line.contains(SPACE) || stays(line) => result += line,
            // The module gets declarations of the functions that take its place.
            Some(_) if line.starts_with("declare ") => continue,
            Some((name, function)) => result += &common(line).replace(name, function),
            None => {
                let name = format!("%cellworks.fetched.{fetches}");
                match access(line, &name) {
                    Some(access) => {
                        fetches += 1;
                        result += &access;
                    }
                    None => result += &common(line),
                }
            }
        }
        result.push('\n');
    }
    Cow::Owned(result)
}

/// Whether the line has something that the cache cannot do.
fn stays(line: &str) -> bool {
    let words = ["addrspacecast", " atomic ", " atomicrmw ", " cmpxchg "];
    is_variable(line) || words.iter().any(|word| line.contains(word))
}

/// Whether the line is that of a variable in memory of the space.
fn is_variable(line: &str) -> bool {
    let kinds = ["addrspace(1) global ", "addrspace(1) constant "];
    line.starts_with('@') && kinds.iter().any(|kind| line.contains(kind))
}

/// Returns what a line does that [`fetched`] has left as it was, and what to do instead.
pub(crate) fn refused(line: &str) -> Option<&'static str> {
    line.contains(SPACE).then(|| {
        if is_variable(line) {
            "an SPU program cannot name a variable of the PPU (`extern __ea`); pass its address to the SPU program"
        } else if line.contains("addrspacecast") {
            "a pointer of __ea cannot become one of the local store, nor the other way; copy the data by memcpy_ea, \
             mfc_get or mfc_put"
        } else {
            "an atomic operation has no pointer of __ea; take those of libsync, or mfc_getllar and mfc_putllc"
        }
    })
}

/// Returns an access by a pointer of the space, with a question in front whose answer has the name
/// `name`; `None` if the line is none.
fn access(line: &str, name: &str) -> Option<String> {
    let mut rest = Rest(line);
    let (loads, ty) = rest.access()?;
    let bytes = bytes(&ty)?;
    rest.expect(",")?;
    let pointer = rest.operand();
    let known = pointer.strip_prefix("ptr addrspace(1) ")?;
    let start = line.len() - rest.0.len() - pointer.len();
    let function = FETCH[usize::from(!loads)];
    // As one call, several would have no line of their own, which an error needs.
    Some(format!(
        "  {name} = call ptr {function}(ptr {}, i32 {bytes}) nomerge{}\n{}ptr {name}{}",
        common(known),
        debug(rest.0),
        common(&line[..start]),
        common(rest.0)
    ))
}

/// Returns the bytes of a number, a pointer or a vector.
fn bytes(ty: &Type) -> Option<u64> {
    let (count, lane) = ty.lanes();
    let bits = match lane {
        Type::Other(pointer) if pointer.starts_with("ptr") => 32,
        lane => lane.bits()?,
    };
    Some(count.unwrap_or(1) * u64::from(bits) / 8)
}

fn common(text: &str) -> String {
    text.replace(SPACE, "")
}
