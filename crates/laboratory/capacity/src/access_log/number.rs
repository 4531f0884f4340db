//! Numbers as a log writes them.

/// A number of 1 to 19 digits, which `u64` holds.
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    if !matches!(digits.len(), 1..=19) {
        return None;
    }
    let mut number = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + u64::from(digit);
    }
    Some(number)
}
