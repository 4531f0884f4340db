//! Reading and writing the parts of handshake messages (RFC 8446, section 3; RFC 5246, section 4).

use crate::record::{HEADER, Header, content_type};

/// The content of a ChangeCipherSpec record.
pub(super) const CHANGE_CIPHER_SPEC: [u8; 1] = [1];

/// Reads one part after another; `None` where the bytes do not hold it.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.bytes(1).map(|bytes| bytes[0])
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.bytes(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    pub(super) fn u24(&mut self) -> Option<usize> {
        self.bytes(3).map(|bytes| u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]) as usize)
    }

    /// A vector after its length in one byte.
    pub(super) fn vector8(&mut self) -> Option<&'a [u8]> {
        let length = self.u8()?;
        self.bytes(length.into())
    }

    /// The same in two bytes.
    pub(super) fn vector16(&mut self) -> Option<&'a [u8]> {
        let length = self.u16()?;
        self.bytes(length.into())
    }

    /// The same in three bytes.
    pub(super) fn vector24(&mut self) -> Option<&'a [u8]> {
        let length = self.u24()?;
        self.bytes(length)
    }

    /// Two-byte numbers that fill the rest of the bytes, at least one.
    pub(super) fn numbers(self) -> Option<Vec<u16>> {
        let (pairs, rest) = self.0.as_chunks::<2>();
        let is_list = rest.is_empty() && !pairs.is_empty();
        is_list.then(|| pairs.iter().map(|pair| u16::from_be_bytes(*pair)).collect())
    }

    /// `value`, if nothing is left.
    pub(super) fn end<T>(&self, value: T) -> Option<T> {
        self.0.is_empty().then_some(value)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All extensions of a list that fills the rest of the bytes, by their types.
    pub(super) fn extensions(mut self) -> Option<Vec<(u16, &'a [u8])>> {
        let mut list = Reader(self.vector16()?);
        self.end(())?;
        let mut extensions = Vec::new();
        while !list.is_empty() {
            let kind = list.u16()?;
            if extensions.iter().any(|(other, _)| *other == kind) {
                return None;
            }
            extensions.push((kind, list.vector16()?));
        }
        Some(extensions)
    }
}

/// Appends a vector with its length in one byte.
pub(super) fn put_vector8(out: &mut Vec<u8>, content: &[u8]) {
    out.push(content.len() as u8);
    out.extend_from_slice(content);
}

/// The same in two bytes.
pub(super) fn put_vector16(out: &mut Vec<u8>, content: &[u8]) {
    out.extend_from_slice(&(content.len() as u16).to_be_bytes());
    out.extend_from_slice(content);
}

/// The same in three bytes.
pub(super) fn put_vector24(out: &mut Vec<u8>, content: &[u8]) {
    let [_, high, middle, low] = (content.len() as u32).to_be_bytes();
    out.extend_from_slice(&[high, middle, low]);
    out.extend_from_slice(content);
}

/// A vector after its length in two bytes.
pub(super) fn in_vector16(content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 + content.len());
    put_vector16(&mut out, content);
    out
}

/// Appends an extension.
pub(super) fn put_extension(out: &mut Vec<u8>, kind: u16, content: &[u8]) {
    out.extend_from_slice(&kind.to_be_bytes());
    put_vector16(out, content);
}

/// Appends a handshake message.
pub(super) fn put_message(out: &mut Vec<u8>, kind: u8, body: &[u8]) {
    out.push(kind);
    put_vector24(out, body);
}

/// A handshake message.
pub(super) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(4 + body.len());
    put_message(&mut message, kind, body);
    message
}

/// Appends records without protection that carry `content`.
pub(super) fn put_records(out: &mut Vec<u8>, content_type: u8, version: [u8; 2], content: &[u8]) {
    for fragment in content.chunks(1 << 14) {
        out.reserve(5 + fragment.len());
        out.push(content_type);
        out.extend_from_slice(&version);
        put_vector16(out, fragment);
    }
}

/// A record's header. An unprotected record may name any version of TLS.
pub(super) fn header_of(bytes: &[u8]) -> Option<Header> {
    let [content_type, 3, minor, high, low] = *bytes else { return None };
    let is_known = minor == 3 || content_type != content_type::APPLICATION_DATA;
    is_known.then(|| Header::parse([content_type, 3, 3, high, low]))?
}

/// Whether a server's bytes begin with a record of TLS.
pub(super) fn begins_with_record(bytes: &[u8]) -> bool {
    bytes.get(..HEADER).and_then(header_of).is_some()
}

/// The record at the beginning of these bytes, if it is whole; all of them where they are none.
pub(super) fn first_record(bytes: &[u8]) -> Option<&[u8]> {
    match header_of(bytes.get(..HEADER)?) {
        Some(header) => bytes.get(..HEADER + header.length),
        None => Some(bytes),
    }
}

/// The length of the message that begins here, if it is whole.
pub fn message_length(bytes: &[u8]) -> Option<usize> {
    let [_, high, middle, low, ..] = *bytes else { return None };
    let length = 4 + u32::from_be_bytes([0, high, middle, low]) as usize;
    (length <= bytes.len()).then_some(length)
}
