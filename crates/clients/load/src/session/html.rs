//! The value of a field in a page's HTML.

use memchr::memchr;

/// The value of the first `<input>` with this name; `None` where there is none, or it has no value
/// that is text.
pub(super) fn field(html: &[u8], name: &str) -> Option<String> {
    let mut rest = html;
    while let Some(at) = memchr(b'<', rest) {
        rest = &rest[at + 1..];
        let is_input = rest.get(..5).is_some_and(|tag| tag.eq_ignore_ascii_case(b"input"));
        if !is_input || !rest.get(5).is_some_and(|b| b.is_ascii_whitespace() || *b == b'/') {
            continue;
        }
        rest = &rest[5..];
        let (mut is_named, mut value) = (false, None);
        while let Some((attribute, text)) = attribute(&mut rest) {
            if attribute.eq_ignore_ascii_case(b"name") {
                is_named = unescaped(text).is_some_and(|text| text == name);
            } else if attribute.eq_ignore_ascii_case(b"value") {
                value = Some(text);
            }
        }
        if is_named {
            return unescaped(value?);
        }
    }
    None
}

/// Takes the next attribute of a tag; `None` at the tag's end.
fn attribute<'a>(rest: &mut &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let take = |rest: &mut &'a [u8], ends: fn(u8) -> bool| {
        let end = rest.iter().position(|b| ends(*b)).unwrap_or(rest.len());
        let (taken, after) = rest.split_at(end);
        *rest = after;
        taken
    };
    take(rest, |b| !b.is_ascii_whitespace() && b != b'/');
    let name = take(rest, |b| b.is_ascii_whitespace() || b"=>/".contains(&b));
    take(rest, |b| !b.is_ascii_whitespace());
    let Some(after) = rest.strip_prefix(b"=") else {
        return (!name.is_empty()).then_some((name, b""));
    };
    *rest = after;
    take(rest, |b| !b.is_ascii_whitespace());
    let value = match rest.split_first() {
        Some((b'"', after)) => {
            *rest = after;
            take(rest, |b| b == b'"')
        }
        Some((b'\'', after)) => {
            *rest = after;
            take(rest, |b| b == b'\'')
        }
        _ => return Some((name, take(rest, |b| b.is_ascii_whitespace() || b == b'>'))),
    };
    *rest = rest.get(1..).unwrap_or_default();
    Some((name, value))
}

/// With the character references that servers write in values; `None` where it is no UTF-8.
fn unescaped(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    let mut parts = text.split('&');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let referred = part.split_once(';').and_then(|(name, after)| Some((refers(name)?, after)));
        match referred {
            Some((character, after)) => {
                plain.push(character);
                plain.push_str(after);
            }
            None => {
                plain.push('&');
                plain.push_str(part);
            }
        }
    }
    Some(plain)
}

fn refers(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let number = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(number.ok()?)?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_value_is_found_however_the_tag_is_written() {
        for html in [
            r#"<form><input type="hidden" name="token" value="a&amp;b"></form>"#,
            r"<INPUT VALUE='a&#38;b' NAME=token disabled/>",
            "<p>1 < 2</p><input\n name = \"token\"\n value = a&#x26;b>",
            r#"<inputs name="token" value="x"><input name="other" value="y"><input name=token value="a&amp;b">"#,
            r#"<input name="token" value="a&b""#,
        ] {
            assert_eq!(field(html.as_bytes(), "token").as_deref(), Some("a&b"), "{html}");
        }
        assert_eq!(field(br#"<input name="token" value="">"#, "token").as_deref(), Some(""));
    }

    #[test]
    fn without_the_field_or_its_value_there_is_none() {
        for html in [
            "",
            "<input",
            "<input name=\"tok",
            r#"<input name="token">"#,
            r#"<a name="token" value="x">"#,
            r#"<input name="tokens" value="x">"#,
        ] {
            assert_eq!(field(html.as_bytes(), "token"), None, "{html}");
        }
        assert_eq!(field(b"<input name=token value=\xff>", "token"), None);
    }

    proptest! {
        #[test]
        fn no_page_makes_it_panic_or_loop(html in "[<>=/\"' inputnamevalue&#;x0-9é]{0,200}") {
            field(html.as_bytes(), "name");
        }
    }
}
