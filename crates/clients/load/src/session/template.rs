//! Texts with placeholders: `/item/{item}?bytes={page}`.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::form_urlencoded;

/// A text with placeholders.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Template(Vec<Piece>);

#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// The user's number.
    User,
    /// `load.page` in bytes.
    Page,
    /// The value with this number among those that pages take.
    Taken(usize),
}

/// What the placeholders stand for.
pub(super) struct Values<'a> {
    pub(super) user: &'a str,
    pub(super) page: &'a str,
    pub(super) taken: &'a [String],
}

/// The names of the placeholders that no page takes.
pub(super) const BUILT_IN: [&str; 2] = ["user", "page"];

impl Template {
    /// Braces around anything but a name stay as they are. `number_of` gives the number of a taken
    /// value.
    ///
    /// # Errors
    /// The name of a value that was not taken.
    pub(super) fn parse(
        text: &str,
        number_of: impl Fn(&str) -> Option<usize>,
    ) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(brace) = rest.find('{') {
            let (before, after) = rest.split_at(brace);
            plain.push_str(before);
            let name = after[1..].split('}').next().unwrap_or_default();
            if !is_name(name) || !after[1 + name.len()..].starts_with('}') {
                plain.push('{');
                rest = &after[1..];
                continue;
            }
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(match name {
                "user" => Piece::User,
                "page" => Piece::Page,
                _ => Piece::Taken(number_of(name).ok_or_else(|| name.to_owned())?),
            });
            rest = &after[name.len() + 2..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self(pieces))
    }

    /// The body of a form with these fields, whose values are to be written form-encoded.
    pub(super) fn form(fields: Vec<(String, Self)>) -> Self {
        let mut pieces = Vec::new();
        for (name, value) in fields {
            let mut text = if pieces.is_empty() { String::new() } else { "&".to_owned() };
            form_encoded(&name, &mut text);
            text.push('=');
            pieces.push(Piece::Text(text));
            pieces.extend(value.0.into_iter().map(|piece| match piece {
                Piece::Text(plain) => {
                    let mut text = String::new();
                    form_encoded(&plain, &mut text);
                    Piece::Text(text)
                }
                other => other,
            }));
        }
        Self(pieces)
    }

    /// Appends the text with each value written by `write`.
    pub(super) fn fill(&self, values: &Values<'_>, write: fn(&str, &mut String), out: &mut String) {
        for piece in &self.0 {
            match piece {
                Piece::Text(plain) => out.push_str(plain),
                Piece::User => out.push_str(values.user),
                Piece::Page => out.push_str(values.page),
                Piece::Taken(number) => write(&values.taken[*number], out),
            }
        }
    }
}

/// Whether a value can be taken by this name.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
}

/// As it is.
pub(super) fn as_is(value: &str, out: &mut String) {
    out.push_str(value);
}

/// Percent-encoded (RFC 3986, section 2.1): all but unreserved characters.
pub(super) fn percent_encoded(value: &str, out: &mut String) {
    const ENCODED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    out.extend(utf8_percent_encode(value, &ENCODED));
}

/// As `application/x-www-form-urlencoded` (WHATWG URL, section 5.2).
pub(super) fn form_encoded(value: &str, out: &mut String) {
    out.extend(form_urlencoded::byte_serialize(value.as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str, write: fn(&str, &mut String)) -> String {
        let number_of = |name: &str| ["token", "item"].iter().position(|known| *known == name);
        let taken = ["a/b c".to_owned(), "é&=".to_owned()];
        let values = Values { user: "7", page: "16384", taken: &taken };
        let mut out = String::new();
        Template::parse(text, number_of).unwrap().fill(&values, write, &mut out);
        out
    }

    #[test]
    fn a_form_is_encoded_whole() {
        let template = |text: &str| Template::parse(text, |_| Some(0)).unwrap();
        let fields = [("a b", "x&y {token}"), ("user", "{user}")];
        let form =
            Template::form(fields.map(|(name, text)| (name.to_owned(), template(text))).into());
        let values = Values { user: "7", page: "", taken: &["é=".to_owned()] };
        let mut out = "before ".to_owned();
        form.fill(&values, form_encoded, &mut out);
        assert_eq!(out, "before a+b=x%26y+%C3%A9%3D&user=7");
    }

    #[test]
    fn values_are_written_as_their_place_needs() {
        assert_eq!(
            filled("/x/{token}/{item}?bytes={page}&u={user}", percent_encoded),
            "/x/a%2Fb%20c/%C3%A9%26%3D?bytes=16384&u=7"
        );
        assert_eq!(filled("{token}{item}", form_encoded), "a%2Fb+c%C3%A9%26%3D");
        assert_eq!(filled("pet{user}: {token}", as_is), "pet7: a/b c");
    }

    #[test]
    fn braces_around_anything_else_are_text() {
        for text in ["", "{", "}", "{}", "{ token }", "a{b", "{token", "function() { return }"] {
            let piece = (!text.is_empty()).then(|| Piece::Text(text.to_owned()));
            let plain = Template(piece.into_iter().collect());
            assert_eq!(Template::parse(text, |_| None), Ok(plain));
        }
        assert_eq!(filled("{{token}}", as_is), "{a/b c}");
        assert_eq!(Template::parse("{{tokan}", |_| None), Err("tokan".to_owned()));
    }
}
