//! A field of each request's header, as its user writes it.

use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

/// `Name: value` (RFC 9110, section 5).
#[derive(Debug, Clone, PartialEq, Eq, DeserializeFromStr, SerializeDisplay, derive_more::Display)]
#[display("{name}: {value}")]
pub struct Header {
    name: String,
    value: String,
}

/// What toll decides itself, and why: each of these would make an answer another one than the one
/// that is counted.
const REFUSED: [(&str, &str); 12] = [
    ("accept-encoding", "a compressed body is not the object, and could not be compared with it"),
    ("connection", "whether connections are kept is what --operation says"),
    ("content-length", "it follows from --body"),
    ("expect", "bodies are sent without waiting for an answer to it"),
    ("host", "it follows from the URL"),
    ("if-range", "a part of an object is not the object"),
    ("keep-alive", "whether connections are kept is what --operation says"),
    ("range", "a part of an object is not the object"),
    ("te", "it may only ask for trailers, over HTTP/2"),
    ("trailer", "bodies are sent with their length"),
    ("transfer-encoding", "bodies are sent with their length"),
    ("upgrade", "which protocol is spoken is what --http says"),
];

impl Header {
    /// Whether it has this name, in any case.
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Whether it is what servers of gRPC want (RFC 9110, section 10.1.4). Over HTTP/1.1 it would have to be
    /// named in `Connection`.
    pub(crate) fn asks_for_trailers(&self) -> bool {
        self.is("te") && self.value.eq_ignore_ascii_case("trailers")
    }

    /// `extra` fields after those of toll, each with its line end. A `User-Agent` replaces toll's.
    pub(crate) fn fields(extra: &[Self]) -> String {
        let own = concat!("User-Agent: toll/", env!("CARGO_PKG_VERSION"), "\r\n");
        let is_replaced = extra.iter().any(|header| header.is("user-agent"));
        let extra = extra.iter().map(|header| format!("{header}\r\n"));
        [if is_replaced { "" } else { own }].into_iter().map(str::to_owned).chain(extra).collect()
    }
}

impl FromStr for Header {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write one such as 'X-Request-Id: 7'";
        let shown = text.escape_debug();
        let Some((name, value)) = text.split_once(':') else {
            return Err(format!("`{shown}` has no colon; {FORM}"));
        };
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(format!("`{shown}` has no name that is a token (RFC 9110, 5.6.2); {FORM}"));
        }
        let value = value.trim_matches([' ', '\t']);
        if value.bytes().any(|byte| (byte < b' ' && byte != b'\t') || byte == 0x7f) {
            let why = "has a line end or another control character in its value";
            return Err(format!("`{shown}` {why} (RFC 9110, 5.5); {FORM}"));
        }
        let header = Self { name: name.to_owned(), value: value.to_owned() };
        let refused = REFUSED.iter().find(|(refused, _)| header.is(refused));
        match refused.filter(|_| !header.asks_for_trailers()) {
            Some((_, why)) => Err(format!("`{shown}` is not sent: {why}; leave it out")),
            None => Ok(header),
        }
    }
}

/// RFC 9110, section 5.6.2: `tchar`.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(text: &str) -> String {
        text.parse::<Header>().unwrap_err()
    }

    #[test]
    fn a_header_is_written_as_it_is_sent() {
        for (text, sent) in [
            ("X-Request-Id:7", "X-Request-Id: 7"),
            ("Accept:  text/html, */*;q=0.1\t", "Accept: text/html, */*;q=0.1"),
            ("X-Empty:", "X-Empty: "),
            ("X-Colon: a:b", "X-Colon: a:b"),
        ] {
            assert_eq!(text.parse::<Header>().unwrap().to_string(), sent);
        }
        let extra = ["A: 1", "user-agent: other", "A: 2"].map(|text| text.parse().unwrap());
        assert_eq!(Header::fields(&extra), "A: 1\r\nuser-agent: other\r\nA: 2\r\n");
        let own = Header::fields(&extra[..1]);
        assert!(own.starts_with("User-Agent: toll/") && own.ends_with("\r\nA: 1\r\n"), "{own}");
    }

    #[test]
    fn what_would_break_a_request_is_refused() {
        let names = ["", " ", "X Y", "X\r\nY", "(X)", "Ä", "X-Y ", "\"X\""];
        let values = ["a\r\nHost: b", "a\nb", "a\rb", "a\0b", "a\x7fb", "\x1b[1m"];
        let refused = names
            .map(|name| format!("{name}: 1"))
            .into_iter()
            .chain(values.map(|value| format!("X: {value}")))
            .chain(["X-Request-Id", "Range: bytes=0-9"].map(str::to_owned))
            .chain(REFUSED.iter().map(|(name, _)| format!("{}: x", name.to_uppercase())));
        let refused: Vec<_> =
            refused.map(|text| (text.escape_debug().to_string(), why(&text))).collect();
        assert!(refused.iter().all(|(_, why)| !why.contains(['\r', '\n', '\x1b'])));
        support::assert_golden!(refused);
    }
}
