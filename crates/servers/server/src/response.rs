//! The heads of responses: as few fields as a measurement needs.

/// The status codes that this server answers with (RFC 9110, section 15; RFC 6585).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    BadRequest,
    NotFound,
    MethodNotAllowed,
    RequestTimeout,
    TargetTooLong,
    HeadTooLarge,
    Unavailable,
    VersionNotSupported,
}

impl Status {
    /// The code and the reason, which is the whole content of an error's response too.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::BadRequest => "400 Bad Request",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::RequestTimeout => "408 Request Timeout",
            Self::TargetTooLong => "414 URI Too Long",
            Self::HeadTooLarge => "431 Request Header Fields Too Large",
            Self::Unavailable => "503 Service Unavailable",
            Self::VersionNotSupported => "505 HTTP Version Not Supported",
        }
    }
}

impl Status {
    /// The code alone.
    pub(crate) fn code(self) -> &'static str {
        self.text().split_at(3).0
    }

    /// The type of its content, and the methods that it names.
    pub(crate) fn fields(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Ok => ("application/octet-stream", None),
            Self::MethodNotAllowed => ("text/plain", Some("GET, HEAD")),
            _ => ("text/plain", None),
        }
    }
}

/// Whether the connection is kept after the response, and whether that has to be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Persistence {
    /// Kept, as is usual in HTTP/1.1.
    Keep,
    /// Kept because a client of HTTP/1.0 asked for it, which the response must say.
    KeepAndSay,
    /// Closed.
    Close,
}

/// Writes the head of a response whose content has `length` bytes in place of what was there.
pub(crate) fn write_head(
    head: &mut Vec<u8>,
    status: Status,
    length: u64,
    persistence: Persistence,
) {
    let (kind, allow) = status.fields();
    let (allow, methods, end) = allow.map_or(("", "", ""), |allow| ("Allow: ", allow, "\r\n"));
    let connection = match persistence {
        Persistence::Keep => "",
        Persistence::KeepAndSay => "Connection: keep-alive\r\n",
        Persistence::Close => "Connection: close\r\n",
    };
    let mut digits = itoa::Buffer::new();
    head.clear();
    for part in [
        "HTTP/1.1 ",
        status.text(),
        "\r\nContent-Length: ",
        digits.format(length),
        "\r\nContent-Type: ",
        kind,
        "\r\n",
        allow,
        methods,
        end,
        connection,
        "\r\n",
    ] {
        head.extend_from_slice(part.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Status; 9] = [
        Status::Ok,
        Status::BadRequest,
        Status::NotFound,
        Status::MethodNotAllowed,
        Status::RequestTimeout,
        Status::TargetTooLong,
        Status::HeadTooLarge,
        Status::Unavailable,
        Status::VersionNotSupported,
    ];

    #[test]
    fn every_head_is_what_another_parser_reads() {
        for status in ALL {
            for persistence in [Persistence::Keep, Persistence::KeepAndSay, Persistence::Close] {
                let mut head = b"what was there".to_vec();
                write_head(&mut head, status, u64::MAX, persistence);
                let mut fields = [httparse::EMPTY_HEADER; 8];
                let mut response = httparse::Response::new(&mut fields);
                assert_eq!(response.parse(&head), Ok(httparse::Status::Complete(head.len())));
                let code = response.code.unwrap().to_string();
                assert!(status.text().starts_with(&code));
                let field = |name: &str| {
                    response.headers.iter().find(|field| field.name == name).map(|f| f.value)
                };
                assert_eq!(field("Content-Length"), Some(&b"18446744073709551615"[..]));
                assert_eq!(field("Allow").is_some(), status == Status::MethodNotAllowed);
                let said: Option<&[u8]> = match persistence {
                    Persistence::Keep => None,
                    Persistence::KeepAndSay => Some(b"keep-alive"),
                    Persistence::Close => Some(b"close"),
                };
                assert_eq!(field("Connection"), said);
            }
        }
    }
}
