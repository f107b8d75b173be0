//! The error of a program whose closure uses a worker, or the main program, that runs elsewhere.

/// What a closure on another worker may use. No type implements this trait, so that the compiler
/// reports one error with this text. Otherwise it would report each field that is not `Sync`.
#[diagnostic::on_unimplemented(
    message = "a closure that runs elsewhere uses `{Self}`",
    label = "this closure may run on another worker",
    note = "use the worker that the closure is given, as in `|worker| ...`; the function of a parallel iterator is given one by `map_with_worker` and `for_each_with_worker`"
)]
pub trait UsableElsewhere {}
