//! The content of buffers, which shows whether transfers arrived. The content repeats every 64 KB,
//! so all blocks that fill a window of 64 KB one after the other have the same bytes.

use crate::error::Untrusted;
use crate::plan::layout::WINDOW_BYTES;

pub(super) struct Pattern(Vec<u8>);

impl Pattern {
    /// Makes the content of the buffer with the index `buffer`, different for each buffer.
    pub fn of_buffer(buffer: u32) -> Self {
        // Multiplying by an odd number keeps all words different.
        let words = (0..WINDOW_BYTES as u32 / 4)
            .map(|word| (word + 1).wrapping_mul(0x9E37_79B1) ^ buffer.wrapping_mul(0x85EB_CA6B));
        Self(words.flat_map(u32::to_ne_bytes).collect())
    }

    /// Makes a content that differs from this content in every byte.
    pub fn opposite(&self) -> Self {
        Self(self.0.iter().map(|byte| !byte).collect())
    }

    /// Calls `write` with parts of the content `from..from + bytes` and their offsets in the
    /// buffer.
    #[inline]
    pub fn fill(&self, from: usize, bytes: usize, mut write: impl FnMut(usize, &[u8])) {
        let mut done = 0;
        while done < bytes {
            let within = (from + done) % WINDOW_BYTES;
            let step = (WINDOW_BYTES - within).min(bytes - done);
            write(from + done, &self.0[within..within + step]);
            done += step;
        }
    }

    /// Compares the content of the bytes `from..from + bytes` with the bytes that `read` returns.
    #[inline]
    pub fn verify(
        &self,
        from: usize,
        bytes: usize,
        place: &str,
        mut read: impl FnMut(usize, &mut [u8]),
    ) -> Result<(), Untrusted> {
        let mut found = vec![0; WINDOW_BYTES.min(bytes)];
        let mut verdict = Ok(());
        self.fill(from, bytes, |offset, expected| {
            let found = &mut found[..expected.len()];
            read(offset, found);
            // Most parts are equal, and slices are compared much faster than their bytes one by one.
            if expected == found {
                return;
            }
            let wrong = expected.iter().zip(&*found).position(|(a, b)| a != b);
            if let (Some(at), Ok(())) = (wrong, &verdict) {
                verdict = Err(Untrusted::new(format!(
                    "byte {} of a block in {place} is {:#04x}, and {:#04x} was moved there",
                    offset + at,
                    found[at],
                    expected[at]
                )));
            }
        });
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filled_bytes_verify_and_a_wrong_byte_is_named() {
        let pattern = Pattern::of_buffer(2);
        let mut memory = vec![0; 3 * WINDOW_BYTES + 16];
        let bytes = memory.len();
        pattern.fill(0, bytes, |at, from| {
            memory[at..at + from.len()].copy_from_slice(from)
        });
        let verify = |memory: &[u8]| {
            pattern.verify(0, bytes, "main memory", |at, into| {
                into.copy_from_slice(&memory[at..at + into.len()]);
            })
        };
        assert_eq!(verify(&memory), Ok(()));
        let right = memory[70_000];
        memory[70_000] = !right;
        assert_eq!(
            verify(&memory).unwrap_err().to_string(),
            format!(
                "the measurement cannot be trusted: byte 70000 of a block in main memory is \
                 {:#04x}, and {right:#04x} was moved there; the machine is at fault, please report it",
                !right
            )
        );
    }

    #[test]
    fn buffers_and_opposites_differ() {
        let (a, b) = (Pattern::of_buffer(0), Pattern::of_buffer(1));
        assert!(a.0.chunks(4).zip(b.0.chunks(4)).all(|(a, b)| a != b));
        assert!(a.0.iter().zip(&a.opposite().0).all(|(a, b)| a != b));
    }
}
