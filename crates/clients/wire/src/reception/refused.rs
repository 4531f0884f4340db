//! A response with another status than was asked for, and what its server says about that.

use crate::Failure;

use super::http::status;

/// The most of a body that is read for its words.
const MOST_READ: usize = 4 << 10;

/// The most characters that are quoted.
const LONGEST: usize = 160;

/// What a person should see of such a response.
pub(super) struct Refused {
    /// Status and reason.
    status: String,
    /// Whether its body says more than its status: 400 is what a server answers to plain HTTP on a port
    /// of TLS, or without the certificate that it asked for.
    is_explained: bool,
    /// The beginning of the body, where that is so.
    body: Vec<u8>,
}

impl Refused {
    pub(super) fn new(code: u16, reason: &str) -> Self {
        let status = format!("{code} {reason}").trim_end().to_owned();
        Self { status, is_explained: code == 400, body: Vec::new() }
    }

    /// The status is right, but the answer says elsewhere that it is not.
    pub(super) fn because(failure: &Failure) -> Self {
        Self { status: failure.seen.clone(), is_explained: false, body: Vec::new() }
    }

    pub(super) fn is_explained(&self) -> bool {
        self.is_explained
    }

    pub(super) fn take(&mut self, body: &[u8]) {
        let room = MOST_READ.saturating_sub(self.body.len());
        if self.is_explained {
            self.body.extend_from_slice(&body[..room.min(body.len())]);
        }
    }

    pub(super) fn failure(&self) -> Failure {
        match words(&self.status, &String::from_utf8_lossy(&self.body)) {
            words if words.is_empty() => status(&self.status),
            words => status(&format!("{}: {words}", self.status)),
        }
    }
}

/// The first sentences of a page, or lines of a text, that say more than the status does.
fn words(status: &str, page: &str) -> String {
    let (mut seen, mut words) = (status.to_owned(), String::new());
    let code = status.split(' ').next().unwrap_or_default();
    for line in visible(page) {
        let line = line.trim_start_matches(code).trim();
        // A single word is a name, such as the server's.
        if !line.contains(' ') || seen.contains(line) {
            continue;
        }
        if !words.is_empty() && words.len() + line.len() > LONGEST {
            break;
        }
        seen.push_str(line);
        words.push_str(if words.is_empty() { "" } else { " " });
        words.push_str(line);
    }
    words.chars().take(LONGEST).collect()
}

/// The lines between the tags of a page.
fn visible(page: &str) -> impl Iterator<Item = &str> {
    let (before, tagged) = page.split_once('<').unwrap_or((page, ""));
    let after_tags = tagged.split('<').filter_map(|piece| {
        let (tag, text) = piece.split_once('>')?;
        let is =
            |name: &str| tag.get(..name.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(name));
        (!is("style") && !is("script")).then_some(text)
    });
    std::iter::once(before).chain(after_tags).flat_map(str::lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seen(page: &str) -> String {
        let mut refused = Refused::new(400, "Bad Request");
        refused.take(page.as_bytes());
        refused.failure().seen.clone()
    }

    /// As nginx, Apache httpd, Go and Tomcat say it.
    #[test]
    fn a_page_is_quoted_without_its_tags_and_what_the_status_says() {
        let nginx = "<html>\r\n<head><title>400 Plain HTTP was sent to TLS</title></head>\r\n<body>\r\n\
                     <center><h1>400 Bad Request</h1></center>\r\n<center>Plain HTTP was sent to TLS\
                     </center>\r\n<hr><center>nginx/1.22.1</center>\r\n</body>\r\n</html>\r\n";
        assert_eq!(seen(nginx), "400 Bad Request: Plain HTTP was sent to TLS");
        let apache = "<!DOCTYPE HTML PUBLIC \"-//IETF//DTD HTML 2.0//EN\">\n<html><head>\n<title>400 Bad \
                      Request</title>\n</head><body>\n<h1>Bad Request</h1>\n<p>It was not understood.\
                      <br />\nReason: no TLS here.<br />\n</p>\n<style>p { color: red }</style></body>";
        assert_eq!(seen(apache), "400 Bad Request: It was not understood. Reason: no TLS here.");
        assert_eq!(seen("Use https here, a > b.\n"), "400 Bad Request: Use https here, a > b.");
        assert_eq!(seen(""), "400 Bad Request");
        assert_eq!(seen("Bad Request"), "400 Bad Request");
    }

    #[test]
    fn a_quote_has_a_limit() {
        let long = seen(&"long words ".repeat(10_000));
        assert_eq!(long.chars().count(), "400 Bad Request: ".len() + LONGEST);
    }

    proptest! {
        #[test]
        fn no_page_panics(page in "[<>a-z \n/é]{0,80}") {
            let _ = seen(&page);
        }
    }
}
