//! The Huffman code of strings (RFC 7541, section 5.2 and appendix B).
//!
//! It is canonical: in the order of their lengths, and of symbols where these are equal, codes are consecutive
//! numbers. So the lengths are all that has to be written down.

const LONGEST: usize = 30;

/// The end of a string, which never occurs in one; its first bits fill the last byte.
const EOS: usize = 256;

/// The bits of each symbol's code.
#[rustfmt::skip]
const LENGTHS: [u8; EOS + 1] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

/// What follows from the lengths.
struct Code {
    codes: [u32; EOS + 1],
    /// The symbols in the order of their codes.
    symbols: [u16; EOS + 1],
    /// For each length, the first code that is longer than those of this length or shorter ones, at the left of
    /// 32 bits, and what added to a code of this length is its place among the symbols.
    ends: [u64; LONGEST + 1],
    offsets: [i64; LONGEST + 1],
    /// By the first byte of what is left: the symbol and the length of its code, or 0 where that is longer.
    short: [(u8, u8); 256],
}

static CODE: Code = Code::new();

impl Code {
    const fn new() -> Self {
        let mut it = Self {
            codes: [0; EOS + 1],
            symbols: [0; EOS + 1],
            ends: [0; LONGEST + 1],
            offsets: [0; LONGEST + 1],
            short: [(0, 0); 256],
        };
        let (mut code, mut place, mut length) = (0u32, 0, 1);
        while length <= LONGEST {
            it.offsets[length] = place as i64 - code as i64;
            let mut symbol = 0;
            while symbol <= EOS {
                if LENGTHS[symbol] as usize == length {
                    it.codes[symbol] = code;
                    it.symbols[place] = symbol as u16;
                    if length <= 8 {
                        let begin = (code as usize) << (8 - length);
                        let mut byte = begin;
                        while byte < begin + (1 << (8 - length)) {
                            it.short[byte] = (symbol as u8, length as u8);
                            byte += 1;
                        }
                    }
                    (code, place) = (code + 1, place + 1);
                }
                symbol += 1;
            }
            it.ends[length] = (code as u64) << (32 - length);
            code <<= 1;
            length += 1;
        }
        it
    }

    /// The symbol with which these bits begin, and the length of its code.
    fn long(&self, bits: u32) -> (usize, u32) {
        let is_it = |length: &usize| u64::from(bits) < self.ends[*length];
        // Only EOS ends with 32 bits that are all set.
        let length = (9..LONGEST).find(is_it).unwrap_or(LONGEST);
        let code = i64::from(bits >> (32 - length));
        (usize::from(self.symbols[(code + self.offsets[length]) as usize]), length as u32)
    }
}

/// Appends the text of a string; `None` where it is no string of this code.
pub(super) fn decode(mut input: &[u8], out: &mut Vec<u8>) -> Option<()> {
    // The shortest code has 5 bits.
    out.reserve(input.len() * 8 / 5);
    // The bits that are not decoded are at the left, and so many.
    let (mut bits, mut count) = (0u64, 0);
    loop {
        if count < LONGEST as u32 {
            if let Some((four, rest)) = input.split_first_chunk() {
                bits |= u64::from(u32::from_be_bytes(*four)) << (32 - count);
                (input, count) = (rest, count + 32);
            } else {
                for byte in std::mem::take(&mut input) {
                    bits |= u64::from(*byte) << (56 - count);
                    count += 8;
                }
            }
        }
        let (symbol, length) = match CODE.short[(bits >> 56) as usize] {
            (_, 0) => CODE.long((bits >> 32) as u32),
            (symbol, length) => (usize::from(symbol), u32::from(length)),
        };
        if length > count {
            // Less than a byte is left over, and its bits are set.
            let is_padding = count < 8 && bits.leading_ones() == count;
            return is_padding.then_some(());
        }
        // EOS is no byte.
        out.push(u8::try_from(symbol).ok()?);
        bits <<= length;
        count -= length;
    }
}

/// The length of a text in this code.
pub(super) fn encoded_length(text: &[u8]) -> usize {
    let bits: usize = text.iter().map(|byte| usize::from(LENGTHS[usize::from(*byte)])).sum();
    bits.div_ceil(8)
}

/// Appends a text in this code.
pub(super) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut count) = (0u64, 0);
    for byte in text {
        let symbol = usize::from(*byte);
        bits = bits << LENGTHS[symbol] | u64::from(CODE.codes[symbol]);
        count += LENGTHS[symbol];
        while count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    if count > 0 {
        out.push((bits << (8 - count)) as u8 | 0xff >> count);
    }
}
