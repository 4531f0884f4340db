//! What a record begins with.

/// Length of a record's header: type, version, length.
pub const HEADER: usize = 5;

/// The most plaintext that a record holds, 2^14 bytes.
pub const MOST_PLAINTEXT: usize = 1 << 14;

/// Content types of RFC 8446, section 5.1.
pub mod content_type {
    pub const CHANGE_CIPHER_SPEC: u8 = 20;
    pub const ALERT: u8 = 21;
    pub const HANDSHAKE: u8 = 22;
    pub const APPLICATION_DATA: u8 = 23;
}

/// The header of a protected record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    pub content_type: u8,
    /// Of the protected body that follows.
    pub length: usize,
}

impl Header {
    /// `None` where this is no header of a protected record of TLS 1.2 or 1.3.
    #[inline]
    pub fn parse(bytes: [u8; HEADER]) -> Option<Self> {
        let [content_type, 3, 3, high, low] = bytes else { return None };
        let length = usize::from(u16::from_be_bytes([high, low]));
        // RFC 5246 allows an expansion of 2048 bytes, the most of any version.
        let known = matches!(content_type, 20..=23) && length <= MOST_PLAINTEXT + 2048;
        known.then_some(Self { content_type, length })
    }

    pub(super) fn to_bytes(self) -> [u8; HEADER] {
        let [high, low] = (self.length as u16).to_be_bytes();
        [self.content_type, 3, 3, high, low]
    }
}

/// The additional data of TLS 1.2: sequence number, type, version, length of the plaintext (RFC
/// 5246, section 6.2.3.3); CBC's MAC covers the same before the plaintext.
pub(super) fn tls12_aad(sequence: u64, header: Header, plaintext: usize) -> [u8; 13] {
    let mut aad = [0; 13];
    aad[..8].copy_from_slice(&sequence.to_be_bytes());
    aad[8..].copy_from_slice(&Header { length: plaintext, ..header }.to_bytes());
    aad
}
