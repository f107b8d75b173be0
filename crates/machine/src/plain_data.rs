//! The trait for types that can be staged.

use bytemuck::Pod;

/// A type that can be staged because its bytes mean the same in every local store. Every [`Pod`]
/// type is plain data: numbers, arrays, and structs that derive `Pod`.
///
/// ```
/// use cellworks_machine::bytemuck::{Pod, Zeroable};
/// use cellworks_machine::{Spe, StageError};
///
/// #[derive(Clone, Copy, Pod, Zeroable)]
/// # #[bytemuck(crate = "cellworks_machine::bytemuck")]
/// #[repr(C)]
/// struct Point {
///     x: f32,
///     y: f32,
/// }
///
/// fn sum_of_x<S: Spe>(spe: &S, points: &[Point]) -> Result<f32, StageError> {
///     Ok(spe.stage(points)?.iter().map(|point| point.x).sum())
/// }
/// ```
///
/// A program that uses only the `bytemuck` in `cellworks`, and does not depend on the crate itself,
/// must add `#[bytemuck(crate = "cellworks::bytemuck")]` to the struct.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no plain data, so it cannot be staged",
    label = "not `Pod`",
    note = "a struct is plain data with `#[derive(Clone, Copy, Pod, Zeroable)] #[repr(C)]`, if all of its fields are: see `cellworks::bytemuck`",
    note = "references, `bool`, `char`, enums, and what owns memory are not: an address means nothing in another local store, and some bytes are no value of these types"
)]
pub trait PlainData: Pod {}

#[diagnostic::do_not_recommend]
impl<T: Pod> PlainData for T {}
