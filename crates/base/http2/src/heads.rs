//! What the fields of a head may be (RFC 9113, section 8; RFC 9114, section 4.2 and 4.3 have the same rules), and
//! what they say of the message.

/// What the head of a response, or its trailers, say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResponseHead {
    /// `None` in trailers.
    pub status: Option<u16>,
    pub content_length: Option<u64>,
}

/// What the head of a request, or its trailers, say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestHead<'f> {
    /// `None` in trailers.
    pub method: Option<&'f [u8]>,
    /// `None` in trailers, and for CONNECT.
    pub path: Option<&'f [u8]>,
    pub content_length: Option<u64>,
}

/// Why fields are wrong.
type Wrong = &'static str;

impl ResponseHead {
    /// # Errors
    /// Which rule the fields break.
    pub fn of<'f>(fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> Result<Self, Wrong> {
        let (mut known, mut is_after_pseudo) = (Self::default(), false);
        for (name, value) in fields {
            check(name, value)?;
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
                b"content-length" => content_length(&mut known.content_length, value)?,
                _ => {}
            }
            is_after_pseudo |= name[0] != b':';
        }
        Ok(known)
    }
}

impl<'f> RequestHead<'f> {
    /// # Errors
    /// Which rule the fields break.
    pub fn of(fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> Result<Self, Wrong> {
        let (mut known, mut is_after_pseudo) = (Self::default(), false);
        let (mut scheme, mut authority, mut host) = (None, None, None);
        for (name, value) in fields {
            check(name, value)?;
            let pseudo = match name {
                b":method" => Some(&mut known.method),
                b":path" => Some(&mut known.path),
                b":scheme" => Some(&mut scheme),
                b":authority" => Some(&mut authority),
                [b':', ..] => return Err("a pseudo-header field that requests do not have"),
                b"te" if value != b"trailers" => return Err("te that is not trailers"),
                b"host" => {
                    host = Some(value);
                    None
                }
                b"content-length" => {
                    content_length(&mut known.content_length, value)?;
                    None
                }
                _ => None,
            };
            let Some(known) = pseudo else {
                is_after_pseudo = true;
                continue;
            };
            if is_after_pseudo {
                return Err("a pseudo-header field after others");
            }
            if known.replace(value).is_some() {
                return Err("a pseudo-header field twice");
            }
        }
        let is_empty = |value: Option<&[u8]>| value.is_none_or(<[u8]>::is_empty);
        match known.method {
            None if known.path.or(scheme).or(authority).is_some() => {
                Err("a request without :method")
            }
            None => Ok(known),
            Some(b"CONNECT") if known.path.or(scheme).is_some() || is_empty(authority) => {
                Err("CONNECT with :path or :scheme, or without :authority")
            }
            Some(b"CONNECT") => Ok(known),
            Some(_) if is_empty(known.path) || is_empty(scheme) => {
                Err("a request without :path or :scheme")
            }
            Some(_) if is_empty(authority.or(host)) => Err("a request without :authority and host"),
            Some(_) => Ok(known),
        }
    }
}

/// What every field must be, whoever sends it.
fn check(name: &[u8], value: &[u8]) -> Result<(), Wrong> {
    if name.is_empty()
        || name.iter().skip(1).any(|byte| *byte == b':')
        || !name.iter().all(is_of_name)
    {
        return Err("a field with a name that is not one in lower case");
    }
    if value.iter().any(|byte| matches!(byte, b'\0' | b'\r' | b'\n')) {
        return Err("a field with a line break or a zero byte in its value");
    }
    if value.first().is_some_and(is_white) || value.last().is_some_and(is_white) {
        return Err("a field with white space at an end of its value");
    }
    match name {
        b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade" => {
            Err("a field about the connection, which only HTTP/1.1 has")
        }
        _ => Ok(()),
    }
}

/// Whether a byte may be in a name (RFC 9113, section 8.2.1).
fn is_of_name(byte: &u8) -> bool {
    byte.is_ascii_graphic() && !byte.is_ascii_uppercase()
}

/// Space and tab, which no value begins or ends with (section 8.2.1).
fn is_white(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn content_length(known: &mut Option<u64>, value: &[u8]) -> Result<(), Wrong> {
    let length = number(value).ok_or("a content-length that is not a number")?;
    if known.replace(length).is_some() { Err("content-length twice") } else { Ok(()) }
}

fn number(digits: &[u8]) -> Option<u64> {
    let is_number = digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<'f>(fields: &'f [(&'f str, &'f str)]) -> impl Iterator<Item = (&'f [u8], &'f [u8])> {
        fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()))
    }

    #[test]
    fn fields_that_responses_may_not_have_are_named() {
        let of = |fields: &[(&str, &str)]| {
            ResponseHead::of(bytes(fields)).map(|known| (known.status, known.content_length))
        };
        let ok = (":status", "200");
        assert_eq!(
            of(&[ok, ("content-length", "7"), ("x", "a \t\u{e9}"), ("y", "")]),
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
            &[ok, ("x", " y")],
            &[ok, ("x", "y\t")],
            &[ok, ("x", " ")],
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

    #[test]
    fn fields_that_requests_may_not_have_are_named() {
        let (method, scheme) = ((":method", "GET"), (":scheme", "https"));
        let (path, authority) = ((":path", "/x"), (":authority", "a"));
        let whole = [method, scheme, path, authority, ("te", "trailers")];
        let known = RequestHead::of(bytes(&whole)).unwrap();
        assert_eq!((known.method, known.path), (Some(&b"GET"[..]), Some(&b"/x"[..])));
        let connect = (":method", "CONNECT");
        for right in [&[method, scheme, path, ("host", "a")][..], &[connect, authority], &[]] {
            assert!(RequestHead::of(bytes(right)).is_ok(), "{right:?}");
        }
        for wrong in [
            &[scheme, path, authority][..],
            &[method, path, authority],
            &[method, scheme, authority],
            &[method, scheme, path],
            &[method, scheme, (":path", ""), authority],
            &[method, method, scheme, path, authority],
            &[method, scheme, path, ("x", "y"), authority],
            &[method, scheme, path, authority, (":status", "200")],
            &[method, scheme, path, authority, ("te", "gzip")],
            &[method, scheme, path, authority, ("connection", "close")],
            &[connect, scheme, path, authority],
            &[connect],
        ] {
            assert!(RequestHead::of(bytes(wrong)).is_err(), "{wrong:?}");
        }
    }
}
