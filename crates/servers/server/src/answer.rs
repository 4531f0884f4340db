//! What a request over HTTP/2 or HTTP/3 is answered with: its fields come one by one, and so do the response's.

use crate::content::{Content, Contents};
use crate::input::HEAD_LIMIT;
use crate::request;
use crate::response::Status;

/// How many requests a client may have open at once on a connection.
pub(crate) const MAX_STREAMS: u32 = 1024;

/// See the module.
pub(crate) struct Answer {
    status: Status,
    pub(crate) content: Content,
    head_only: bool,
}

/// All that the head of an answer depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AnswerKind {
    status: Status,
    size: u64,
    head_only: bool,
}

impl Answer {
    pub(crate) fn kind(&self) -> AnswerKind {
        let Self { status, ref content, head_only } = *self;
        AnswerKind { status, size: content.size(), head_only }
    }

    /// The answer to a request whose fields have `head` bytes.
    pub(crate) fn of(method: &[u8], path: &[u8], head: usize, contents: &Contents) -> Self {
        let head_only = method == b"HEAD";
        let found = if head > HEAD_LIMIT {
            Err(Status::HeadTooLarge)
        } else if !head_only && method != b"GET" {
            Err(Status::MethodNotAllowed)
        } else {
            let path = std::str::from_utf8(path).ok().and_then(request::path);
            path.ok_or(Status::BadRequest).and_then(|path| contents.find(&path))
        };
        let (status, content) = match found {
            Ok(content) => (Status::Ok, content),
            Err(status) => (status, Content::Text(status.text())),
        };
        Self { status, content, head_only }
    }

    /// How much of the content is sent.
    pub(crate) fn body_size(&self) -> u64 {
        if self.head_only { 0 } else { self.content.size() }
    }

    /// Lends the fields of the response's head.
    pub(crate) fn with_fields<R>(&self, take: impl FnOnce(&[(&[u8], &[u8])]) -> R) -> R {
        let mut digits = itoa::Buffer::new();
        let (kind, allow) = self.status.fields();
        let fields: [(&[u8], &[u8]); 4] = [
            (b":status", self.status.code().as_bytes()),
            (b"content-length", digits.format(self.content.size()).as_bytes()),
            (b"content-type", kind.as_bytes()),
            (b"allow", allow.unwrap_or_default().as_bytes()),
        ];
        take(&fields[..fields.len() - usize::from(allow.is_none())])
    }
}
