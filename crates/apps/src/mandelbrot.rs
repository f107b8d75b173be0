//! The Mandelbrot set (Jack Rabbit, section 5.3). The count of a pixel with the complex number c is
//! the number of iterations of z² + c, from z = 0, until z leaves the circle of radius 2.
//!
//! Rows are independent of each other, but rows that cross the set take much longer than others.
//! All operations are rounded to `f32`, so every processor finds the same counts. Unlike in the
//! paper, tasks make no gray picture.

mod program;

use std::array;

use multiversion::multiversion;

pub use self::program::Mandelbrot;
use crate::picture::Picture;

/// A view of the whole set. Real parts are from -2 to 1, and pixels are square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The number of pixels in a row.
    pub width: usize,
    /// The number of rows. Rows at equal distances from the middle have equal counts.
    pub height: usize,
    /// The largest number of iterations of a point.
    pub iterations: u16,
}

impl View {
    /// The size and the iterations of the paper. The paper does not name the part of the plane.
    pub const PAPER: Self = Self {
        width: 640,
        height: 480,
        iterations: 1000,
    };

    /// Counts the iterations of each pixel of a row, from 0 to `iterations`. Returns the sum of the
    /// counts, to which the time of the row is proportional.
    ///
    /// # Panics
    ///
    /// Panics if `counts` does not have one count for each pixel of a row.
    pub fn row(&self, row: usize, counts: &mut [u16]) -> u64 {
        assert_eq!(
            counts.len(),
            self.width,
            "one count for each pixel of a row"
        );
        let imaginary = self.imaginary(row);
        let mut sum = 0;
        for (group, counts) in counts.chunks_mut(LANES).enumerate() {
            let real = array::from_fn(|lane| self.real(group * LANES + lane));
            let found = iterate(&real, imaginary, self.iterations);
            counts.copy_from_slice(&found[..counts.len()]);
            sum += counts.iter().copied().map(u64::from).sum::<u64>();
        }
        sum
    }

    fn real(&self, column: usize) -> f32 {
        (column as f32 + 0.5) * self.pixel() - 2.0
    }

    fn imaginary(&self, row: usize) -> f32 {
        (self.height as f32 / 2.0 - (row as f32 + 0.5)) * self.pixel()
    }

    fn pixel(&self) -> f32 {
        3.0 / self.width as f32
    }

    /// Returns a picture of the counts of all pixels, row by row. The set is black, and other
    /// points are lighter if they are nearer to the set.
    ///
    /// # Panics
    ///
    /// Panics if the picture has more than 2^32 rows, or more than 2^32 pixels in a row.
    pub fn picture(&self, counts: &[u16]) -> Picture {
        let side = |pixels: usize| u32::try_from(pixels).expect("a picture fits into memory");
        let full = f64::from(self.iterations).ln_1p();
        let shade = |count: &u16| {
            if *count == self.iterations {
                0
            } else {
                (f64::from(*count).ln_1p() / full * 255.0) as u8
            }
        };
        Picture {
            width: side(self.width),
            height: side(self.height),
            shades: counts.iter().map(shade).collect(),
        }
    }
}

/// The number of points that are iterated together: two independent vectors of AVX-512.
const LANES: usize = 32;

/// The number of iterations between two checks whether any point is still inside the circle.
const AT_ONCE: u16 = 8;

#[multiversion(targets("x86_64+avx512f", "x86_64+avx2"))]
fn iterate(real: &[f32; LANES], imaginary: f32, iterations: u16) -> [u16; LANES] {
    let real = *real;
    let (mut x, mut y) = ([0.0; LANES], [0.0; LANES]);
    let mut counts = [0_u32; LANES];
    // All bits of a lane are set while the lane's point is inside the circle.
    let mut inside = [u32::MAX; LANES];
    let mut done = 0;
    while done < iterations {
        let steps = AT_ONCE.min(iterations - done);
        for _ in 0..steps {
            for lane in 0..LANES {
                let (x_squared, y_squared) = (x[lane] * x[lane], y[lane] * y[lane]);
                let is_inside = x_squared + y_squared <= 4.0;
                inside[lane] &= if is_inside { u32::MAX } else { 0 };
                counts[lane] += inside[lane] & 1;
                y[lane] = 2.0 * x[lane] * y[lane] + imaginary;
                x[lane] = x_squared - y_squared + real[lane];
            }
        }
        done += steps;
        let mut some = 0;
        for inside in inside {
            some |= inside;
        }
        if some == 0 {
            break;
        }
    }
    counts.map(|count| count as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: View = View {
        width: 150,
        height: 100,
        iterations: 203,
    };

    fn all(view: &View) -> (Vec<u16>, Vec<u64>) {
        let mut counts = vec![0; view.width * view.height];
        let rows = counts.chunks_mut(view.width).enumerate();
        let sums = rows.map(|(row, counts)| view.row(row, counts)).collect();
        (counts, sums)
    }

    fn plainly(view: &View, row: usize, column: usize) -> u16 {
        let (real, imaginary) = (view.real(column), view.imaginary(row));
        let (mut x, mut y, mut count) = (0.0_f32, 0.0, 0);
        while count < view.iterations && x * x + y * y <= 4.0 {
            (x, y) = (x * x - y * y + real, 2.0 * x * y + imaginary);
            count += 1;
        }
        count
    }

    /// The width is no multiple of [`LANES`], and the iterations are no multiple of [`AT_ONCE`].
    #[test]
    fn points_side_by_side_have_the_counts_of_single_ones() {
        let (counts, sums) = all(&SMALL);
        for (at, count) in counts.iter().enumerate() {
            let (row, column) = (at / SMALL.width, at % SMALL.width);
            assert_eq!(*count, plainly(&SMALL, row, column), "{column}, {row}");
        }
        for (row, sum) in counts.chunks(SMALL.width).zip(sums) {
            assert_eq!(row.iter().copied().map(u64::from).sum::<u64>(), sum);
        }
    }

    #[test]
    fn known_points_have_known_counts() {
        let counts = |real: f32, imaginary| iterate(&[real; LANES], imaginary, 1000)[0];
        // The first two points are inside the set. The other three points are at the rim of the
        // set: -2 and i end in cycles, and 0.25 approaches 0.5.
        for (real, imaginary) in [
            (0.0, 0.0),
            (-1.0, 0.1),
            (-2.0, 0.0),
            (0.0, 1.0),
            (0.25, 0.0),
        ] {
            assert_eq!(counts(real, imaginary), 1000, "{real} {imaginary}");
        }
        // z is 0, and then c, which is outside of the circle.
        assert_eq!(counts(2.0, 2.0), 1);
        // z is 0, 1 and 2, and then 5, which is outside of the circle.
        assert_eq!(counts(1.0, 0.0), 3);
    }

    #[test]
    fn the_load_is_symmetrical_and_skewed() {
        let (counts, sums) = all(&SMALL);
        let mirrored: Vec<_> = counts.chunks(SMALL.width).rev().collect();
        assert_eq!(mirrored.concat(), counts);
        let (most, least) = (sums.iter().max(), sums.iter().min());
        assert!(most.unwrap() > &(20 * least.unwrap()));
    }

    #[test]
    fn the_set_is_black_and_its_surroundings_are_not() {
        let (counts, _) = all(&SMALL);
        let picture = SMALL.picture(&counts);
        assert_eq!((picture.width, picture.height), (150, 100));
        let at = |column: usize, row: usize| picture.shades[row * SMALL.width + column];
        let (set, near, far) = (at(100, 50), at(100, 5), at(0, 0));
        assert!(set == 0 && near > far && far > 0, "{set} {near} {far}");
        picture.write_png(std::io::sink()).unwrap();
    }
}
