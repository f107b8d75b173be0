//! Why an instruction is refused.

/// Each becomes an error with the function and the line.
pub(crate) enum Refusal {
    Form,
    Intrinsic(String),
    Assembler(String),
    Rounding,
}
