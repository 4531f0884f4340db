//! The cookies of one walk (RFC 6265), all of one origin. Path and Domain are not looked at: each
//! cookie goes with every request.

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

/// Names with their values, in the order in which they were set.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Cookies(Vec<(String, String)>);

impl Cookies {
    /// Takes a Set-Cookie field. One that breaks the grammar of section 4.1.1 is ignored; one that
    /// has expired deletes.
    pub(super) fn set(&mut self, field: &[u8]) {
        let Ok(field) = std::str::from_utf8(field) else { return };
        let mut parts = field.split(';').map(str::trim);
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else {
            return;
        };
        let unquoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        let is_token =
            |byte: u8| byte.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?={}".contains(&byte);
        let is_octet = |byte: u8| byte.is_ascii_graphic() && !b"\",;\\".contains(&byte);
        if name.is_empty()
            || !name.bytes().all(is_token)
            || !unquoted.unwrap_or(value).bytes().all(is_octet)
        {
            return;
        }
        self.0.retain(|(known, _)| known != name);
        if !has_expired(parts) {
            self.0.push((name.to_owned(), value.to_owned()));
        }
    }

    /// Appends the Cookie field, if there are any.
    pub(super) fn write_to(&self, out: &mut String) {
        for (index, (name, value)) in self.0.iter().enumerate() {
            out.push_str(if index == 0 { "Cookie: " } else { "; " });
            out.push_str(name);
            out.push('=');
            out.push_str(value);
        }
        if !self.0.is_empty() {
            out.push_str("\r\n");
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Max-Age counts before Expires (section 4.1.2.2).
fn has_expired<'a>(attributes: impl Iterator<Item = &'a str>) -> bool {
    let (mut age, mut date) = (None, None);
    for (name, value) in attributes.filter_map(|attribute| attribute.split_once('=')) {
        if name.eq_ignore_ascii_case("max-age") {
            age = value.parse::<i64>().ok();
        } else if name.eq_ignore_ascii_case("expires") {
            // Old servers write dashes in the date.
            date = DateTimeParser::new().parse_timestamp(value.replace('-', " ")).ok();
        }
    }
    age.map_or_else(|| date.is_some_and(|date| date <= Timestamp::now()), |age| age <= 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(fields: &[&str]) -> Option<String> {
        let (mut cookies, mut out) = (Cookies::default(), String::new());
        fields.iter().for_each(|field| cookies.set(field.as_bytes()));
        cookies.write_to(&mut out);
        Some(out.strip_prefix("Cookie: ")?.strip_suffix("\r\n").unwrap().to_owned())
    }

    #[test]
    fn a_cookie_replaces_the_one_of_its_name() {
        let fields = ["a=1; Path=/; HttpOnly", "b=\"x y\"", "b=\"2\"", "a=3; Secure", "c="];
        assert_eq!(after(&fields).unwrap(), "b=\"2\"; a=3; c=");
        assert_eq!(after(&[]), None);
    }

    #[test]
    fn an_expired_cookie_is_deleted() {
        for end in [
            "Max-Age=0",
            "max-age=-1",
            "Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            "expires=Thu, 01-Jan-1970 00:00:10 GMT; Path=/",
            "Expires=Thu, 01 Jan 2099 00:00:00 GMT; Max-Age=0",
        ] {
            assert_eq!(after(&["a=1", &format!("a=gone; {end}")]), None, "{end}");
        }
        for end in ["Max-Age=60", "Expires=Thu, 01 Jan 2099 00:00:00 GMT", "Expires=never"] {
            assert_eq!(after(&[&format!("a=1; {end}")]).unwrap(), "a=1", "{end}");
        }
    }

    #[test]
    fn what_is_no_cookie_is_ignored() {
        for field in ["", "a", "=1", "a b=1", "a=1\r\nX: y", "a=1 2", "a=1,2", "a=\"", "a=\\"] {
            assert_eq!(after(&[field]), None, "{field}");
        }
        let mut cookies = Cookies::default();
        cookies.set(b"a=\xff");
        assert_eq!(cookies, Cookies::default());
    }
}
