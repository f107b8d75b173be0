//! Bytes of WebAssembly objects, as the tool conventions lay them out.

/// Adds a section, or a subsection.
pub(crate) fn section(module: &mut Vec<u8>, id: u8, content: &[u8]) {
    module.push(id);
    module.extend(number(content.len() as u32));
    module.extend_from_slice(content);
}

/// Returns a name with its length.
pub(crate) fn name(text: &str) -> Vec<u8> {
    let mut bytes = number(text.len() as u32);
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

/// Returns a number in groups of 7 bits (LEB128).
pub(crate) fn number(mut value: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let group = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(group);
            return bytes;
        }
        bytes.push(group | 0x80);
    }
}

/// Returns a signed number in groups of 7 bits. The last group has the sign in its highest bit.
pub(crate) fn signed(mut value: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let group = (value & 0x7f) as u8;
        value >>= 7;
        let sign = group & 0x40 != 0;
        if (value == 0 && !sign) || (value == -1 && sign) {
            bytes.push(group);
            return bytes;
        }
        bytes.push(group | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_groups_of_seven_bits() {
        assert_eq!(number(0), [0]);
        assert_eq!(number(127), [0x7f]);
        assert_eq!(number(624_485), [0xe5, 0x8e, 0x26]);
        assert_eq!(signed(63), [0x3f]);
        assert_eq!(signed(64), [0xc0, 0]);
        assert_eq!(signed(-1), [0x7f]);
    }
}
