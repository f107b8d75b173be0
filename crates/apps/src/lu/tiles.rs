//! A matrix in square tiles. Each tile is contiguous in memory.

use std::array;
use std::slice::ChunksExactMut;

use multiversion::multiversion;

use super::{Element, Matrix, factor};

/// The number of rows of a tile, and of columns. A tile of `f32` is 16 KB, one DMA transfer.
pub const TILE: usize = 64;

/// A tile, indexed by column and then by row.
pub type Tile<T> = [[T; TILE]; TILE];

/// A square matrix in tiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Tiles<T> {
    /// The number of rows of the matrix, without the rows that fill the last tiles.
    order: usize,
    /// The number of tiles in a column of tiles.
    count: usize,
    /// The columns of tiles, one after the other, each from the top down.
    pub(super) tiles: Vec<Tile<T>>,
}

impl<T: Element> Tiles<T> {
    /// Makes the tiles of a matrix. Outside of the matrix, tiles contain elements of the identity
    /// matrix.
    pub fn of(matrix: &Matrix<T>) -> Self {
        let order = matrix.order();
        let count = order.div_ceil(TILE);
        let element = |row: usize, column: usize| {
            if row < order && column < order {
                matrix.element(row, column)
            } else if row == column {
                T::ONE
            } else {
                T::zeroed()
            }
        };
        let tile = |at: usize| {
            let (row, column) = (at % count * TILE, at / count * TILE);
            array::from_fn(|right| array::from_fn(|down| element(row + down, column + right)))
        };
        Self {
            order,
            count,
            tiles: (0..count * count).map(tile).collect(),
        }
    }

    /// Returns the matrix of these tiles.
    pub fn to_matrix(&self) -> Matrix<T> {
        Matrix::from_fn(self.order, |row, column| {
            let tile = &self.tiles[column / TILE * self.count + row / TILE];
            tile[column % TILE][row % TILE]
        })
    }

    /// Returns the number of tiles in a row of tiles, and in a column of tiles.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns a mutable iterator over the columns of tiles, each from the top down.
    pub fn columns_mut(&mut self) -> ChunksExactMut<'_, Tile<T>> {
        self.tiles.chunks_exact_mut(self.count)
    }

    /// Factors the matrix in place, by tiles. Returns the number of floating-point operations.
    ///
    /// # Panics
    ///
    /// Never: each column of tiles has a tile on the diagonal.
    pub fn factor(&mut self) -> u64 {
        let mut operations = 0;
        for step in 0..self.count {
            let (done, others) = self.tiles.split_at_mut((step + 1) * self.count);
            let (diagonal, below) = done[step * (self.count + 1)..]
                .split_first_mut()
                .expect("the diagonal is a part of the column");
            operations += factor_tile(diagonal);
            for left in &mut *below {
                operations += solve_column(left, diagonal);
            }
            for column in others.chunks_exact_mut(self.count) {
                let (right, targets) = column[step..]
                    .split_first_mut()
                    .expect("a column has as many tiles as a row");
                operations += solve_row(right, diagonal);
                for (target, left) in targets.iter_mut().zip(&*below) {
                    operations += subtract_product(target, left, right);
                }
            }
        }
        operations
    }
}

const EDGE: u64 = TILE as u64;

/// Factors a tile on the diagonal. Returns the number of floating-point operations.
pub fn factor_tile<T: Element>(diagonal: &mut Tile<T>) -> u64 {
    factor(diagonal.as_flattened_mut(), TILE)
}

/// Solves LX = B for a tile B of the upper factor, and replaces B by X. L is from the diagonal tile
/// in the same row (TRSM of BLAS, left side). Returns the number of floating-point operations.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
pub fn solve_row<T: Element>(right: &mut Tile<T>, diagonal: &Tile<T>) -> u64 {
    for column in (0..TILE).step_by(COLUMNS) {
        for row in (0..TILE).step_by(ROWS) {
            let mut block = block_of(right, row, column);
            subtract(&mut block, &diagonal[..row], right, row, column);
            for step in 0..ROWS {
                let lower = &diagonal[row + step][row..row + ROWS];
                for at in step + 1..ROWS {
                    for column in &mut block {
                        column[at] = column[at] - lower[at] * column[step];
                    }
                }
            }
            put(right, row, column, &block);
        }
    }
    EDGE * EDGE * (EDGE - 1)
}

/// Divides a tile of the lower factor by the upper factor of the diagonal tile in the same column,
/// like TRSM of BLAS from the right. Returns the number of floating-point operations.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
pub fn solve_column<T: Element>(below: &mut Tile<T>, diagonal: &Tile<T>) -> u64 {
    for column in (0..TILE).step_by(COLUMNS) {
        for row in (0..TILE).step_by(ROWS) {
            let mut block = block_of(below, row, column);
            subtract(&mut block, &below[..column], diagonal, row, column);
            for at in 0..COLUMNS {
                let upper = &diagonal[column + at][column..column + COLUMNS];
                let (done, column) = block.split_at_mut(at);
                for element in 0..ROWS {
                    for step in 0..at {
                        column[0][element] = column[0][element] - done[step][element] * upper[step];
                    }
                    column[0][element] = column[0][element] / upper[at];
                }
            }
            put(below, row, column, &block);
        }
    }
    EDGE * EDGE * EDGE
}

/// Subtracts the product of the `lower` tile in the same row and the `upper` tile in the same
/// column, like GEMM of BLAS. Returns the number of floating-point operations.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
pub fn subtract_product<T: Element>(target: &mut Tile<T>, lower: &Tile<T>, upper: &Tile<T>) -> u64 {
    for column in (0..TILE).step_by(COLUMNS) {
        for row in (0..TILE).step_by(ROWS) {
            let mut block = block_of(target, row, column);
            subtract(&mut block, lower, upper, row, column);
            put(target, row, column, &block);
        }
    }
    2 * EDGE * EDGE * EDGE
}

/// A part of a tile that stays in registers. Loops over a block contain only calls that are always
/// inlined, because any other call would keep the block in memory and halve the speed.
type Block<T> = [[T; ROWS]; COLUMNS];

const ROWS: usize = 16;
const COLUMNS: usize = 4;

#[inline(always)]
fn block_of<T: Element>(tile: &Tile<T>, row: usize, column: usize) -> Block<T> {
    let mut block = [[T::zeroed(); ROWS]; COLUMNS];
    for (at, to) in block.iter_mut().enumerate() {
        *to = *part(&tile[column + at], row);
    }
    block
}

#[inline(always)]
fn put<T: Element>(tile: &mut Tile<T>, row: usize, column: usize, block: &Block<T>) {
    for (at, from) in block.iter().enumerate() {
        for (down, element) in from.iter().enumerate() {
            tile[column + at][row + down] = *element;
        }
    }
}

/// Returns an array of the elements of a column from `first` on.
#[inline(always)]
fn part<T, const LENGTH: usize>(column: &[T], first: usize) -> &[T; LENGTH] {
    let part = column[first..].first_chunk();
    part.expect("blocks divide a tile")
}

/// Subtracts the block's rows of `lower` times the block's columns of `upper` from the block.
#[inline(always)]
fn subtract<T: Element>(
    block: &mut Block<T>,
    lower: &[[T; TILE]],
    upper: &Tile<T>,
    row: usize,
    column: usize,
) {
    let mut differences = *block;
    let upper: &[_; COLUMNS] = part(upper, column);
    for (step, lower) in lower.iter().enumerate() {
        let lower: &[T; ROWS] = part(lower, row);
        // With this order of loops, the compiler puts several rows into one vector.
        for at in 0..ROWS {
            for column in 0..COLUMNS {
                differences[column][at] = differences[column][at] - lower[at] * upper[column][step];
            }
        }
    }
    *block = differences;
}

#[cfg(test)]
mod tests {
    use super::super::residual;
    use super::*;

    #[test]
    fn factors_in_tiles_are_as_good_as_their_precision() {
        fn check<T: Element>(order: usize, bound: f64) {
            let matrix = Matrix::<T>::random(order, 2);
            let mut tiles = Tiles::of(&matrix);
            assert_eq!(tiles.to_matrix(), matrix);
            let n = (tiles.count() * TILE) as u64;
            assert_eq!(tiles.factor(), (4 * n * n * n - 3 * n * n - n) / 6);
            let residual = residual(&matrix, &tiles.to_matrix());
            assert!(residual > 0.0, "{residual}");
            assert!(residual < bound, "{residual}");
        }
        check::<f32>(1 + TILE, 1e-6);
        check::<f32>(4 * TILE, 1e-6);
        check::<f64>(4 * TILE, 2e-15);
    }

    #[test]
    fn both_forms_find_the_same_factors() {
        let mut columns = Matrix::<f64>::random(150, 4);
        let mut tiles = Tiles::of(&columns);
        columns.factor();
        tiles.factor();
        assert_eq!(tiles.to_matrix(), columns);
    }
}
