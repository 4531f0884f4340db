//! Integers of QUIC (RFC 9000, section 16).

/// The most bytes of one.
pub(crate) const LONGEST: usize = 8;

/// Appends an integer in its shortest form. It is less than 2^62.
pub fn put_varint(out: &mut Vec<u8>, value: u64) {
    match value {
        0..0x40 => out.push(value as u8),
        0x40..0x4000 => out.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => out.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => {
            debug_assert!(value < 1 << 62, "an integer that QUIC cannot carry");
            out.extend_from_slice(&(value | 0xc0 << 56).to_be_bytes());
        }
    }
}

/// Takes an integer from a slice; `None` where it does not end there.
pub(crate) fn take(input: &mut &[u8]) -> Option<u64> {
    let bytes = input.split_off(..length(*input.first()?))?;
    Some(value(bytes))
}

/// An integer that may come in pieces.
#[derive(Debug, Default)]
pub(crate) struct Partial {
    bytes: [u8; LONGEST],
    count: usize,
}

impl Partial {
    /// Takes an integer; `None` where it goes on in the next piece.
    pub(crate) fn take(&mut self, input: &mut &[u8]) -> Option<u64> {
        if self.count == 0
            && let Some(value) = take(input)
        {
            return Some(value);
        }
        while let Some(byte) = input.split_off_first() {
            self.bytes[self.count] = *byte;
            self.count += 1;
            if self.count == length(self.bytes[0]) {
                let count = std::mem::take(&mut self.count);
                return Some(value(&self.bytes[..count]));
            }
        }
        None
    }

    /// Whether a part of an integer has come.
    pub(crate) fn is_begun(&self) -> bool {
        self.count > 0
    }
}

fn length(first: u8) -> usize {
    1 << (first >> 6)
}

fn value(bytes: &[u8]) -> u64 {
    let all = bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    // The first two bits are the length.
    all & u64::MAX >> (64 - 8 * bytes.len() + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_those_of_the_rfc() {
        // RFC 9000, appendix A.1.
        let examples: [(u64, &[u8]); 4] = [
            (151_288_809_941_952_652, &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c]),
            (494_878_333, &[0x9d, 0x7f, 0x3e, 0x7d]),
            (15_293, &[0x7b, 0xbd]),
            (37, &[0x25]),
        ];
        for (value, bytes) in examples {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            assert_eq!(out, bytes);
            assert_eq!(take(&mut &*out), Some(value));
            assert_eq!(take(&mut &out[..out.len() - 1]), None);
        }
        assert_eq!(take(&mut &[0x40, 0x25][..]), Some(37));
    }

    #[test]
    fn integers_at_the_bounds_of_their_lengths_come_back_in_any_pieces() {
        for value in [0, 63, 64, 16_383, 16_384, (1 << 30) - 1, 1 << 30, (1 << 62) - 1] {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            let bytes = [&out[..], &out].concat();
            for piece in 1..=bytes.len() {
                let (mut partial, mut values) = (Partial::default(), Vec::new());
                for mut piece in bytes.chunks(piece) {
                    while let Some(value) = partial.take(&mut piece) {
                        values.push(value);
                    }
                }
                assert_eq!((values, partial.is_begun()), (vec![value, value], false));
            }
        }
    }
}
