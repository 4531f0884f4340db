//! Where a session's redirects lead.

use wire::{ErrorKind, Failure};

/// The path that the value of a `Location` field leads to from a page at `path` of the
/// server at `origin`, which is `https://host:port`.
///
/// # Errors
/// Where it leads to another server, or is no address.
pub(super) fn redirected(origin: &str, location: &[u8], path: &str) -> Result<String, Failure> {
    let wrong = |why: &str| {
        let location = String::from_utf8_lossy(location);
        Failure::new(ErrorKind::Redirect, format!("a redirect to {location}, {why}"))
    };
    let text = std::str::from_utf8(location).map_err(|_| wrong("which is not text"))?;
    // A browser would leave out what no address may hold.
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(wrong("which is not an address"));
    }
    let from = url::Url::parse(&format!("{origin}{path}"));
    let to = from.and_then(|from| Ok((from.join(text)?, from)));
    let (to, from) = to.map_err(|_| wrong("which is not an address"))?;
    if to.origin() != from.origin() || !to.username().is_empty() {
        return Err(wrong("which is another server and is not followed"));
    }
    Ok(to[url::Position::BeforePath..url::Position::AfterQuery].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(url: &str, location: &str) -> Result<String, String> {
        let origin = url.parse::<objects::Url>().unwrap().with_path("").to_string();
        let from = "/cart/add?bytes=9";
        redirected(&origin, location.as_bytes(), from).map_err(|failure| {
            assert_eq!(failure.kind, ErrorKind::Redirect);
            failure.seen.clone()
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
            ("/x/../a", "/a"),
            ("https:/x", "/x"),
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
            "/a b",
            "/a\r\nX: y",
            "/é",
        ] {
            let seen = path("https://localhost:8443/", location).unwrap_err();
            assert!(seen.contains("a redirect to"), "{location}: {seen}");
        }
    }
}
