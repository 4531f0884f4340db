//! Integers with a prefix (RFC 7541, section 5.1).

/// The most bytes after the prefix: more than 2^28 is nothing that a head has a use for.
const MOST_BYTES: u32 = 4;

/// Takes an integer with a prefix of so many bits; `None` where it does not end, or is too large.
pub fn take(input: &mut &[u8], prefix: u32) -> Option<usize> {
    let most = (1 << prefix) - 1;
    let first = usize::from(*input.split_off_first()?) & most;
    if first < most {
        return Some(first);
    }
    let mut value = most;
    for place in 0..MOST_BYTES {
        let byte = usize::from(*input.split_off_first()?);
        value += (byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Appends an integer with a prefix of so many bits, in a byte that begins with this pattern.
pub fn put(out: &mut Vec<u8>, pattern: u8, prefix: u32, value: usize) {
    let most = (1 << prefix) - 1;
    if value < most {
        out.push(pattern | value as u8);
        return;
    }
    out.push(pattern | most as u8);
    let mut rest = value - most;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}
