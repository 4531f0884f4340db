//! Strings (RFC 7541, section 5.2), which QPACK has too, with shorter prefixes (RFC 9204, section 4.1.2).

use super::error::{HpackError, WRONG};
use super::{huffman, integer};

/// The longest name or value. Servers take some 8 to 64 KiB for a whole head.
const LONGEST: usize = 64 << 10;

/// Reads a string, and appends its text; its length is an integer with a prefix of `prefix` bits.
///
/// # Errors
/// It does not end, is not in the Huffman code that it claims, or has more than 64 KiB.
pub fn take(input: &mut &[u8], prefix: u32, out: &mut Vec<u8>) -> Result<(), HpackError> {
    let is_huffman = input.first().is_some_and(|first| first & 1 << prefix != 0);
    let length = integer::take(input, prefix).ok_or(WRONG)?;
    if length > LONGEST {
        return Err(HpackError::LongField);
    }
    let text = input.split_off(..length).ok_or(WRONG)?;
    if !is_huffman {
        out.extend_from_slice(text);
        return Ok(());
    }
    let begin = out.len();
    huffman::decode(text, out)
        .ok_or(HpackError::Wrong("a text that is not in HPACK's Huffman code"))?;
    if out.len() - begin > LONGEST { Err(HpackError::LongField) } else { Ok(()) }
}

/// Appends a string in the shorter of its two forms, after a byte that begins with this pattern.
pub fn put(out: &mut Vec<u8>, pattern: u8, prefix: u32, text: &[u8]) {
    let length = huffman::encoded_length(text);
    if length < text.len() {
        integer::put(out, pattern | 1 << prefix, prefix, length);
        huffman::encode(text, out);
    } else {
        integer::put(out, pattern, prefix, text.len());
        out.extend_from_slice(text);
    }
}
