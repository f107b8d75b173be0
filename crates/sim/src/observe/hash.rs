//! A hash of the calls to the observer. Two runs are compared by their hashes.

/// An FNV-1a hash over words of 64 bits. The upper bits are also shifted down, because a
/// multiplication moves bits only up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hash(u64);

impl Hash {
    pub const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    #[inline]
    pub fn word(&mut self, word: u64) {
        let product = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        self.0 = product ^ product >> 32;
    }

    /// Adds a text as 64-bit words. A word has up to seven bytes of the text, and their count.
    #[inline]
    pub fn text(&mut self, text: &str) {
        let mut rest = text.as_bytes();
        loop {
            let bytes = rest.len().min(7);
            let mut word = [0; 8];
            word[..bytes].copy_from_slice(&rest[..bytes]);
            word[7] = bytes as u8;
            self.word(u64::from_le_bytes(word));
            rest = &rest[bytes..];
            if bytes < 7 {
                return;
            }
        }
    }

    pub const fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[u64]) -> u64 {
        let mut hash = Hash::new();
        words.iter().for_each(|&word| hash.word(word));
        hash.value()
    }

    #[test]
    fn every_bit_and_the_order_of_words_count() {
        let plain = of(&[1, 2]);
        assert_ne!(plain, of(&[2, 1]));
        for bit in 0..64 {
            assert_ne!(plain, of(&[1 ^ 1 << bit, 2]), "bit {bit} of the first word");
            assert_ne!(
                plain,
                of(&[1, 2 ^ 1 << bit]),
                "bit {bit} of the second word"
            );
        }
    }

    #[test]
    fn texts_differ_by_length_and_content() {
        let of = |texts: &[&str]| {
            let mut hash = Hash::new();
            texts.iter().for_each(|text| hash.text(text));
            hash.value()
        };
        assert_ne!(of(&["get"]), of(&["put"]));
        assert_ne!(of(&["get", ""]), of(&["", "get"]));
        assert_ne!(of(&["a long name, part 1"]), of(&["a long name, part 2"]));
        assert_ne!(of(&["get"]), of(&["get\0"]));
        assert_ne!(of(&["putllc1", "get"]), of(&["putllc1get"]));
    }
}
