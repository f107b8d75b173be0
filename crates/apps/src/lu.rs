//! LU factorization without pivoting (Jack Rabbit, section 5.1). A matrix is the product of two
//! factors. The lower factor is a lower triangular matrix with ones on its diagonal, and the upper
//! factor is an upper triangular matrix.
//!
//! ```text
//!   by columns, step k                        in tiles, step k
//!
//!     k                                         k
//!     u u u u u                                 factor_tile   solve_row ...
//!   k l u x x x    multipliers: column k        solve_column  subtract_product ...
//!     l l x x x    update: each column x        ...           ...
//! ```
//!
//! In the form by columns, as in the paper, each update of a column is a task. In the form by
//! tiles, each loaded element is used in [`TILE`] multiplications. Both forms find the same factors
//! to the last bit. The factors replace the matrix. The upper factor is on the diagonal and above,
//! and the lower factor, without its ones, is below the diagonal.
//!
//! Programs on SPEs use `f32`, because SPEs are fast only in single precision. Programs on hosts
//! use `f64`. The paper does not state the type of its elements.

mod program;
mod tiles;

use std::fmt::Debug;
use std::iter;
use std::ops::{Div, Mul, Sub};
use std::slice::{ChunksExact, ChunksExactMut};

use bytemuck::Pod;
use fastrand::Rng;
use multiversion::multiversion;

pub use self::program::{Lu, factor_tiles};
pub use self::tiles::{TILE, Tile, Tiles, factor_tile, solve_column, solve_row, subtract_product};

/// An element of a matrix, `f32` or `f64`.
pub trait Element:
    Pod
    + Debug
    + PartialEq
    + Send
    + Sync
    + Into<f64>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    /// The number 1.
    const ONE: Self;

    /// Returns the element that is nearest to `number`.
    fn nearest(number: f64) -> Self;
}

macro_rules! elements {
    ($($element:ident),*) => {$(
        impl Element for $element {
            const ONE: Self = 1.0;

            #[inline]
            fn nearest(number: f64) -> Self {
                number as Self
            }
        }
    )*};
}

elements![f32, f64];

/// A square matrix, which is stored column by column.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix<T> {
    order: usize,
    elements: Vec<T>,
}

impl<T: Element> Matrix<T> {
    /// Makes a matrix. `element` returns the element in a row and a column.
    ///
    /// # Panics
    ///
    /// Panics if the order is 0.
    pub fn from_fn(order: usize, element: impl Fn(usize, usize) -> T) -> Self {
        assert!(order > 0, "a matrix has at least one element");
        let element = |at| element(at % order, at / order);
        Self {
            order,
            elements: (0..order * order).map(element).collect(),
        }
    }

    /// Returns a random matrix that can be factored without pivoting. Elements are from -1 to 1,
    /// except on the diagonal. The element on the diagonal is 1 plus the sum of the absolute values
    /// of the other elements in its column. The same seed gives the same matrix.
    ///
    /// # Panics
    ///
    /// Panics if the order is 0.
    pub fn random(order: usize, seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        let mut matrix = Self::from_fn(order, |_, _| T::zeroed());
        for (diagonal, column) in matrix.columns_mut().enumerate() {
            let mut sum = 1.0;
            for (row, element) in column.iter_mut().enumerate() {
                if row != diagonal {
                    let number: f64 = random.f64() * 2.0 - 1.0;
                    sum += number.abs();
                    *element = T::nearest(number);
                }
            }
            column[diagonal] = T::nearest(sum);
        }
        matrix
    }

    /// Returns the number of rows, which is also the number of columns.
    pub fn order(&self) -> usize {
        self.order
    }

    /// Returns an iterator over the columns.
    pub fn columns(&self) -> ChunksExact<'_, T> {
        self.elements.chunks_exact(self.order)
    }

    /// Returns a mutable iterator over the columns.
    pub fn columns_mut(&mut self) -> ChunksExactMut<'_, T> {
        self.elements.chunks_exact_mut(self.order)
    }

    /// Factors the matrix in place, by columns. Returns the number of floating-point operations.
    pub fn factor(&mut self) -> u64 {
        factor(&mut self.elements, self.order)
    }

    fn element(&self, row: usize, column: usize) -> T {
        self.elements[column * self.order + row]
    }
}

fn factor<T: Element>(elements: &mut [T], order: usize) -> u64 {
    let mut operations = 0;
    for step in 0..order {
        let (done, others) = elements.split_at_mut((step + 1) * order);
        let (pivot, below) = done[step * order + step..]
            .split_first_mut()
            .expect("the diagonal is a part of the column");
        operations += multipliers(below, *pivot);
        for column in others.chunks_exact_mut(order) {
            let (factor, column) = column[step..]
                .split_first_mut()
                .expect("a column has as many rows as the matrix has columns");
            operations += update(column, below, *factor);
        }
    }
    operations
}

/// Divides elements below the diagonal by `pivot`, which is the element on the diagonal of their
/// column. The results are the multipliers. Returns the number of floating-point operations.
pub fn multipliers<T: Element>(column_part: &mut [T], pivot: T) -> u64 {
    for element in &mut *column_part {
        *element = *element / pivot;
    }
    column_part.len() as u64
}

/// Updates a part of a column below row k, in step k. Subtracts each multiplier times `factor`,
/// which is the column's element in row k. Returns the number of floating-point operations.
///
/// # Panics
///
/// Panics if the number of multipliers is not the number of elements.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
pub fn update<T: Element>(column: &mut [T], multipliers: &[T], factor: T) -> u64 {
    assert_eq!(column.len(), multipliers.len(), "one multiplier a row");
    for (element, multiplier) in column.iter_mut().zip(multipliers) {
        *element = *element - *multiplier * factor;
    }
    2 * column.len() as u64
}

/// The largest order for which [`residual`] multiplies the factors. Multiplying takes as many
/// operations as factoring, and always in double precision, so it is too slow for a larger matrix.
const MULTIPLIED_ORDER_MAX: usize = 512;

/// The number of random vectors for the residual of a larger matrix.
const VECTORS: usize = 4;

/// Returns the Frobenius norm of A - LU divided by the norm of A, for the matrix A and its factors
/// L and U. The result is 0 for exact factors, and NaN if an element of the factors is NaN.
///
/// Above an order of 512, the norm of A - LU is estimated. Its square is the expected squared
/// length of (A - LU)x for a vector x of random signs, and the estimate is the mean of 4 vectors.
///
/// # Panics
///
/// Panics if the matrices have different orders.
pub fn residual<T: Element>(matrix: &Matrix<T>, factors: &Matrix<T>) -> f64 {
    let order = matrix.order;
    assert_eq!(order, factors.order, "factors are as large as their matrix");
    let squared = if order <= MULTIPLIED_ORDER_MAX {
        squared_difference(matrix, factors)
    } else {
        estimated_squared_difference(matrix, factors)
    };
    (squared / sum_of_squares(matrix.elements.iter().map(|element| (*element).into()))).sqrt()
}

/// Returns the exact square of the Frobenius norm of A - LU.
fn squared_difference<T: Element>(matrix: &Matrix<T>, factors: &Matrix<T>) -> f64 {
    let mut vector = vec![0.0; matrix.order];
    let of_column = |column: usize| {
        vector.fill(0.0);
        vector[column] = 1.0;
        squared_difference_of(&vector, matrix, factors)
    };
    (0..matrix.order).map(of_column).sum()
}

fn estimated_squared_difference<T: Element>(matrix: &Matrix<T>, factors: &Matrix<T>) -> f64 {
    let mut random = Rng::with_seed(0);
    let of_signs = |_| {
        let signs = iter::repeat_with(|| if random.bool() { 1.0 } else { -1.0 });
        let signs: Vec<_> = signs.take(matrix.order).collect();
        squared_difference_of(&signs, matrix, factors)
    };
    (0..VECTORS).map(of_signs).sum::<f64>() / VECTORS as f64
}

/// Returns the square of the length of (A - LU)x.
fn squared_difference_of<T: Element>(x: &[f64], matrix: &Matrix<T>, factors: &Matrix<T>) -> f64 {
    let mut difference = vec![0.0; x.len()];
    let mut by_upper = vec![0.0; x.len()];
    let columns = matrix.columns().zip(factors.columns());
    for (diagonal, ((column, upper), x)) in columns.zip(x).enumerate() {
        add(&mut difference, column, *x);
        add(&mut by_upper, &upper[..=diagonal], *x);
    }
    for (row, (lower, by_upper)) in factors.columns().zip(by_upper).enumerate() {
        difference[row] -= by_upper;
        add(&mut difference[row + 1..], &lower[row + 1..], -by_upper);
    }
    sum_of_squares(difference.into_iter())
}

fn add<T: Element>(sums: &mut [f64], column: &[T], factor: f64) {
    if factor != 0.0 {
        for (sum, element) in sums.iter_mut().zip(column) {
            *sum += (*element).into() * factor;
        }
    }
}

fn sum_of_squares(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.map(|number| number * number).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// matrix  2 1 1    lower factor  1        upper factor  2 1 1
    ///         4 3 3                  2 1                      1 1
    ///         8 7 9                  4 3 1                      2
    fn by_hand() -> (Matrix<f32>, Matrix<f32>) {
        let matrix = [[2.0, 1.0, 1.0], [4.0, 3.0, 3.0], [8.0, 7.0, 9.0]];
        let factors = [[2.0, 1.0, 1.0], [2.0, 1.0, 1.0], [4.0, 3.0, 2.0]];
        let of = |rows: [[f32; 3]; 3]| Matrix::from_fn(3, |row, column| rows[row][column]);
        (of(matrix), of(factors))
    }

    #[test]
    fn a_small_matrix_has_the_factors_found_by_hand() {
        let (matrix, factors) = by_hand();
        let mut factored = matrix.clone();
        // 3 divisions, 5 multiplications and 5 subtractions.
        assert_eq!(factored.factor(), 13);
        assert_eq!(factored, factors);
        assert_eq!(residual(&matrix, &factors), 0.0);
    }

    #[test]
    fn the_residual_is_the_relative_distance_of_the_product() {
        let (matrix, mut factors) = by_hand();
        // `elements[2]` is in row 2, column 0. Half of the first row of the upper factor is added.
        factors.elements[2] += 0.5;
        let squares: f32 = matrix
            .elements
            .iter()
            .map(|element| element * element)
            .sum();
        let distance = (0.5_f32 * 0.5 * (2.0 * 2.0 + 1.0 + 1.0)).sqrt();
        let expected = f64::from(distance) / f64::from(squares).sqrt();
        assert!((residual(&matrix, &factors) - expected).abs() < 1e-7);
        factors.elements[2] = f32::NAN;
        assert!(residual(&matrix, &factors).is_nan());
    }

    #[test]
    fn the_estimated_residual_is_near_the_exact_one() {
        let matrix = Matrix::<f64>::random(300, 3);
        let mut factors = matrix.clone();
        factors.factor();
        for (scale, at) in [(1.0, 17), (1e-3, 100), (1e-6, 299)] {
            factors.elements[at * 300 + at] += scale;
            factors.elements[at] -= scale;
            let exact = squared_difference(&matrix, &factors).sqrt();
            let estimated = estimated_squared_difference(&matrix, &factors).sqrt();
            assert!(
                (0.5..2.0).contains(&(estimated / exact)),
                "{estimated} {exact}"
            );
        }
    }

    #[test]
    fn random_matrices_are_dominated_by_their_diagonals_and_repeat() {
        let matrix = Matrix::<f32>::random(50, 7);
        for (diagonal, column) in matrix.columns().enumerate() {
            let all: f32 = column.iter().map(|element| element.abs()).sum();
            assert!(column[diagonal] > all - column[diagonal]);
        }
        assert_eq!(matrix, Matrix::random(50, 7));
        assert_ne!(matrix, Matrix::random(50, 8));
    }

    #[test]
    fn factors_by_columns_are_as_good_as_their_precision() {
        fn check<T: Element>(order: usize, bound: f64) {
            let matrix = Matrix::<T>::random(order, 1);
            let mut factors = matrix.clone();
            let n = order as u64;
            assert_eq!(factors.factor(), (4 * n * n * n - 3 * n * n - n) / 6);
            let residual = residual(&matrix, &factors);
            assert!(residual < bound, "{residual}");
            assert!(residual > 0.0, "{residual}");
        }
        check::<f32>(257, 1e-6);
        check::<f64>(257, 2e-15);
        check::<f32>(600, 1e-6);
    }
}
