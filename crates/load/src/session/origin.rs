//! The server of a session, and where its redirects lead.

use objects::Url;

use wire::{ErrorKind, Failure};

/// Scheme, host and port (RFC 6454).
#[derive(Debug)]
pub(super) struct Origin {
    is_tls: bool,
    /// As in the `Host` field.
    pub(super) authority: String,
}

impl Origin {
    pub(super) fn of(url: &Url) -> Self {
        Self { is_tls: url.is_tls(), authority: url.authority() }
    }

    /// The path that the value of a `Location` field leads to from a page at `path` (RFC 3986,
    /// section 5.2, without dot segments).
    ///
    /// # Errors
    /// Where it leads to another server, or is no address.
    pub(super) fn redirected(&self, location: &[u8], path: &str) -> Result<String, Failure> {
        let wrong = |why: &str| {
            let location = String::from_utf8_lossy(location);
            Failure::new(ErrorKind::Redirect, format!("a redirect to {location}, {why}"))
        };
        let text = std::str::from_utf8(location).map_err(|_| wrong("which is not text"))?;
        // It goes into the next request's first line.
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(wrong("which is not an address"));
        }
        let text = text.split('#').next().unwrap_or_default();
        let (scheme, after) = match text.split_once(':') {
            Some((scheme, after)) if is_scheme(scheme) => (Some(scheme), after),
            _ => (None, text),
        };
        let own = if self.is_tls { "https" } else { "http" };
        if scheme.is_some_and(|scheme| !scheme.eq_ignore_ascii_case(own)) {
            return Err(wrong("which has another scheme and is not followed"));
        }
        if let Some(after) = after.strip_prefix("//") {
            let end = after.find(['/', '?']).unwrap_or(after.len());
            let (authority, path) = after.split_at(end);
            if !self.is_own(authority) {
                return Err(wrong("which is another server and is not followed"));
            }
            return Ok(if path.starts_with('/') { path.to_owned() } else { format!("/{path}") });
        }
        if scheme.is_some() {
            return Err(wrong("which is not an address"));
        }
        let base = path.split('?').next().unwrap_or_default();
        Ok(match after.bytes().next() {
            None => path.to_owned(),
            Some(b'/') => after.to_owned(),
            Some(b'?') => format!("{base}{after}"),
            Some(_) => format!("{}{after}", &base[..base.rfind('/').map_or(0, |slash| slash + 1)]),
        })
    }

    fn is_own(&self, authority: &str) -> bool {
        let port = if self.is_tls { ":443" } else { ":80" };
        let bare = |authority: &'_ str| {
            let authority = authority.to_ascii_lowercase();
            authority.strip_suffix(port).map(str::to_owned).unwrap_or(authority)
        };
        bare(authority) == bare(&self.authority)
    }
}

/// RFC 3986, section 3.1.
fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(url: &str, location: &str) -> Result<String, String> {
        let origin = Origin::of(&url.parse().unwrap());
        let from = "/cart/add?bytes=9";
        origin.redirected(location.as_bytes(), from).map_err(|failure| {
            assert_eq!(failure.kind, ErrorKind::Redirect);
            failure.seen
        })
    }

    #[test]
    fn a_redirect_within_the_server_is_followed() {
        let url = "https://localhost:8443/";
        for (location, expected) in [
            ("/cart?x=1#top", "/cart?x=1"),
            ("view", "/cart/view"),
            ("?bytes=1", "/cart/add?bytes=1"),
            ("", "/cart/add?bytes=9"),
            ("//localhost:8443/a", "/a"),
            ("https://LOCALHOST:8443/a?b=c:d", "/a?b=c:d"),
            ("HTTPS://localhost:8443", "/"),
            ("https://localhost:8443?a", "/?a"),
            ("/a:b", "/a:b"),
        ] {
            assert_eq!(path(url, location).as_deref(), Ok(expected), "{location}");
        }
        assert_eq!(path("http://h/", "http://h:80/x").as_deref(), Ok("/x"));
        assert_eq!(path("https://h:443/", "https://h/x").as_deref(), Ok("/x"));
    }

    #[test]
    fn a_redirect_elsewhere_is_refused() {
        for location in [
            "http://localhost:8443/",
            "https://localhost/",
            "https://localhost:8444/",
            "https://localhost.evil:8443/",
            "https://user@localhost:8443/",
            "//other:8443/",
            "javascript:alert(1)",
            "https:/x",
            "/a b",
            "/a\r\nX: y",
            "/é",
        ] {
            let seen = path("https://localhost:8443/", location).unwrap_err();
            assert!(seen.contains("a redirect to"), "{location}: {seen}");
        }
    }
}
