//! Heads and trailers of responses (RFC 9113, section 8): what their fields may be.
//!
//! Where a head is one that has come before (`crate::hpack`), so is what it means.

use super::breach::Breach;
use crate::hpack::{Fields, REMEMBERED, Repeats};

/// The fields of a head or of trailers.
#[derive(Debug, Clone, Copy)]
pub struct Head<'h> {
    fields: &'h Fields,
    meaning: Meaning,
}

/// What the codec needs of the fields; `Err` says which rule they break.
type Meaning = Result<Known, &'static str>;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Known {
    /// `None` in trailers.
    status: Option<u16>,
    content_length: Option<u64>,
}

impl<'h> Head<'h> {
    /// The fields in their order, pseudo-header fields among them.
    pub fn fields(self) -> impl Iterator<Item = (&'h [u8], &'h [u8])> {
        self.fields.iter()
    }

    /// How many fields there are.
    pub fn count(self) -> usize {
        self.fields.count()
    }

    /// The bytes of all names and values.
    pub fn length(self) -> usize {
        self.fields.length()
    }

    /// `None` in trailers.
    pub fn status(self) -> Option<u16> {
        self.meaning.ok()?.status
    }

    pub fn content_length(self) -> Option<u64> {
        self.meaning.ok()?.content_length
    }

    /// The status, or which rule the fields break.
    pub(super) fn known(self) -> Result<Option<u16>, &'static str> {
        self.meaning.map(|known| known.status)
    }
}

/// The heads that a server sends.
pub(super) struct Heads {
    repeats: Repeats,
    meanings: [Meaning; REMEMBERED],
}

impl Heads {
    pub(super) fn new(longest_head: usize) -> Self {
        let meanings = [Ok(Known::default()); REMEMBERED];
        Self { repeats: Repeats::new(longest_head), meanings }
    }

    /// Reads a whole block.
    #[inline]
    pub(super) fn read(&mut self, block: &[u8]) -> Result<Head<'_>, Breach> {
        let (place, is_new) = self.repeats.read(block)?;
        let fields = self.repeats.fields(place);
        if is_new {
            self.meanings[place] = meaning(fields);
        }
        Ok(Head { fields, meaning: self.meanings[place] })
    }
}

fn meaning(fields: &Fields) -> Meaning {
    let (mut known, mut is_after_pseudo) = (Known::default(), false);
    for (name, value) in fields.iter() {
        if name.is_empty()
            || name.iter().skip(1).any(|byte| *byte == b':')
            || !name.iter().all(is_of_name)
        {
            return Err("a field with a name that is not one in lower case");
        }
        if value.iter().any(|byte| matches!(byte, b'\0' | b'\r' | b'\n')) {
            return Err("a field with a line break or a zero byte in its value");
        }
        match name {
            b":status" if is_after_pseudo => return Err(":status after other fields"),
            b":status" if known.status.is_some() => return Err(":status twice"),
            b":status" => {
                let [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] = value else {
                    return Err(":status that is not a number of three digits");
                };
                let digit = |byte: &u8| u16::from(byte - b'0');
                known.status = Some(100 * digit(a) + 10 * digit(b) + digit(c));
            }
            [b':', ..] => return Err("a pseudo-header field that responses do not have"),
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding"
            | b"upgrade" => {
                return Err("a field about the connection, which HTTP/2 does not have");
            }
            b"content-length" => {
                let length = number(value).ok_or("a content-length that is not a number")?;
                if known.content_length.replace(length).is_some() {
                    return Err("content-length twice");
                }
            }
            _ => {}
        }
        is_after_pseudo |= name[0] != b':';
    }
    Ok(known)
}

/// Whether a byte may be in a name (RFC 9113, section 8.2.1).
fn is_of_name(byte: &u8) -> bool {
    byte.is_ascii_graphic() && !byte.is_ascii_uppercase()
}

fn number(digits: &[u8]) -> Option<u64> {
    let is_number = digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_responses_may_not_have_are_named() {
        let of = |fields: &[(&str, &str)]| {
            let mut all = Fields::default();
            fields.iter().for_each(|(name, value)| all.push((name.as_bytes(), value.as_bytes())));
            meaning(&all).map(|known| (known.status, known.content_length))
        };
        let ok = (":status", "200");
        assert_eq!(
            of(&[ok, ("content-length", "7"), ("x", " a\u{e9} ")]),
            Ok((Some(200), Some(7)))
        );
        assert_eq!(of(&[("grpc-status", "0")]), Ok((None, None)));
        for wrong in [
            &[("x", "y"), ok][..],
            &[ok, ok],
            &[(":status", "20")],
            &[(":status", "2000")],
            &[(":status", "+20")],
            &[(":status", "099")],
            &[ok, (":path", "/")],
            &[ok, ("X", "y")],
            &[ok, ("", "y")],
            &[ok, ("x:y", "z")],
            &[ok, ("x y", "z")],
            &[ok, ("x\u{e9}", "z")],
            &[ok, ("x", "y\r\nz")],
            &[ok, ("x", "\0")],
            &[ok, ("connection", "close")],
            &[ok, ("transfer-encoding", "chunked")],
            &[ok, ("content-length", "5"), ("content-length", "5")],
            &[ok, ("content-length", "-5")],
            &[ok, ("content-length", "")],
            &[ok, ("content-length", "99999999999999999999")],
        ] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
    }
}
