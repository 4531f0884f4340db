//! The form of a TLS 1.2 record with AES-128-CBC and HMAC, MAC first (RFC 5246, 6.2.3.2).
//!
//! The plaintext is an explicit IV of one block, the message, its MAC, and padding: as many bytes as
//! lack to whole blocks, each of which holds their number less one. The MAC is over 13 bytes
//! (sequence number, type, version, length) and the message.

pub(crate) const BLOCK: usize = 16;
/// Bytes of the IV that a record begins with.
pub(crate) const EXPLICIT_IV: usize = BLOCK;

/// Bytes of `bytes` of message and MAC with their padding, of which there is at least one.
pub(crate) fn padded_bytes(bytes: usize) -> usize {
    (bytes / BLOCK + 1) * BLOCK
}

/// What the MAC begins with: the associated data of a record of `bytes`.
pub(crate) fn associated_data(bytes: usize) -> [u8; 13] {
    let [.., high, low] = bytes.to_be_bytes();
    // Sequence number 1, application data, TLS 1.2.
    [0, 0, 0, 0, 0, 0, 0, 1, 23, 3, 3, high, low]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_always_padding() {
        assert_eq!(padded_bytes(0), 16);
        assert_eq!(padded_bytes(15), 16);
        assert_eq!(padded_bytes(16), 32);
        assert_eq!(associated_data(0x4012)[8..], [23, 3, 3, 0x40, 0x12]);
    }
}
