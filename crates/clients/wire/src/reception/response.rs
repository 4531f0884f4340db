use crate::{ErrorKind, Failure};

use super::answers::Answers;
use super::chunks::Chunks;
use super::given::Completed;
use super::http::{
    BodyEnd, PartialHead, REQUEST_TIMEOUT, body_end, grpc_failure, is_bodyless, is_timeout,
    read_head, too_long,
};
use super::kept::{self, KeptResponse};
use super::last_head::{Head, LastHead};
use super::refused::Refused;

/// What the body of a response must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// The generated object of this size.
    Object(u64),
    /// `size` bytes of the stream of all generated objects, from `start` on.
    File { size: u64, start: u64 },
    /// Whatever the server sends.
    Anything,
    /// A page: whatever its status, it is opened and kept whole.
    Page,
}

impl Expectation {
    /// The length of the body, where that is known.
    #[inline]
    pub fn size(self) -> Option<u64> {
        match self {
            Self::Object(size) | Self::File { size, .. } => Some(size),
            Self::Anything | Self::Page => None,
        }
    }

    /// Where the body begins in the stream of all generated objects.
    pub fn starts(self) -> Option<u64> {
        match self {
            Self::Object(_) => Some(0),
            Self::File { start, .. } => Some(start),
            Self::Anything | Self::Page => None,
        }
    }
}

/// A response that is arriving. Its body is counted, compared with the generated object, or kept.
pub(super) struct Response {
    expectation: Expectation,
    answers: Answers,
    status: u16,
    /// What is kept of a page.
    kept: Option<Box<KeptResponse>>,
    /// The beginning of a head that came in pieces.
    head: PartialHead,
    begun: bool,
    phase: Phase,
    body: u64,
    closes: bool,
    /// Length of the head with all that came before it; 0 until it is known.
    head_length: usize,
    /// What it is instead of what was asked for, where it is received to its end.
    refused: Option<Box<Refused>>,
}

enum Phase {
    Head,
    Length {
        left: u64,
    },
    /// Apart, because it is long: a response is moved for each record that is peeked into.
    Chunked(Box<Chunks>),
    UntilClose,
    Done,
}

impl Response {
    #[inline]
    pub(super) fn new(expectation: Expectation, answers: Answers) -> Self {
        Self {
            expectation,
            answers,
            status: 0,
            kept: (expectation == Expectation::Page).then(Box::default),
            head: PartialHead::default(),
            begun: false,
            phase: Phase::Head,
            body: 0,
            closes: false,
            head_length: 0,
            refused: None,
        }
    }

    /// Whether it is a response to something else, such as 503, that is received to its end.
    #[inline]
    pub(super) fn is_refusal(&self) -> bool {
        self.refused.is_some()
    }

    /// Whether its server says that it waited too long for a request.
    pub(super) fn is_timeout(&self) -> bool {
        self.status == REQUEST_TIMEOUT
    }

    /// Whether it is kept, so that each of its bytes was opened.
    #[inline]
    pub(super) fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// What is left of it once it is complete: why it is not what was asked for, or what was kept.
    #[inline]
    pub(super) fn into_parts(self) -> (Option<Failure>, Option<Box<KeptResponse>>) {
        (self.refused.map(|refused| refused.failure()), self.kept)
    }

    /// The response after this beginning, if that holds a whole head and promises more than is in
    /// `content`.
    #[inline]
    pub(super) fn peeked(&self, content: &[u8], last: &LastHead) -> Option<Self> {
        let mut peeked = Self::new(self.expectation, self.answers);
        peeked.take(content, last).ok()?;
        // A failure is reported only where it is authentic.
        let is_usable = !self.begun && !peeked.is_refusal();
        (is_usable && peeked.left().is_some_and(|left| left > 0)).then_some(peeked)
    }

    /// Whether the body of a generated object continues with `content` and does not end with it.
    pub(super) fn knows(&self, content: &[u8]) -> bool {
        self.expectation.starts().is_some_and(|start| {
            self.left().is_some_and(|left| left > content.len() as u64)
                && objects::matches(start + self.body, content)
        })
    }

    /// The length of the head, once it has come.
    #[inline]
    pub(super) fn head_length(&self) -> Option<usize> {
        (self.head_length > 0).then_some(self.head_length)
    }

    #[inline]
    pub(super) fn body(&self) -> u64 {
        self.body
    }

    /// The length that its body must have, where that is known.
    #[inline]
    pub(super) fn size(&self) -> Option<u64> {
        self.expectation.size()
    }

    #[inline]
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    #[inline]
    pub(super) fn left(&self) -> Option<u64> {
        match self.phase {
            Phase::Length { left } => Some(left),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn completed(&self) -> Option<Completed> {
        matches!(self.phase, Phase::Done).then_some(Completed {
            status: self.status,
            body: self.body,
            opened: self.body,
            compared: self.expectation.size().is_some(),
            peeked: false,
            closes: self.closes,
        })
    }

    /// Counts dropped body bytes; at most as many as are left.
    #[inline]
    pub(super) fn drop_body(&mut self, count: u64) {
        if let Phase::Length { left } = &mut self.phase {
            let count = count.min(*left);
            *left -= count;
            self.body += count;
            if *left == 0 {
                self.phase = Phase::Done;
            }
        }
    }

    /// Takes the next content. Whatever is wrong after a refusal, the refusal is what failed.
    #[inline]
    pub(super) fn take(&mut self, content: &[u8], last: &LastHead) -> Result<(), Failure> {
        self.take_next(content, last)
            .map_err(|failure| self.refused.as_ref().map_or(failure, |refused| refused.failure()))
    }

    #[inline]
    fn take_next(&mut self, content: &[u8], last: &LastHead) -> Result<(), Failure> {
        self.begun = true;
        if !matches!(self.phase, Phase::Head) {
            return self.take_body(content);
        }
        let mut head = std::mem::take(&mut self.head);
        match head.take(content, |bytes| self.take_head(bytes, last))? {
            Some(body) => self.take_body(body),
            None => {
                self.head = head;
                Ok(())
            }
        }
    }

    /// The stream ended; `authentic` where only the server can have ended it.
    pub(super) fn end(&mut self, authentic: bool) -> Result<(), Failure> {
        if let Some(refused) = &self.refused {
            return Err(refused.failure());
        }
        match &self.phase {
            Phase::Done => Ok(()),
            Phase::Head if !self.begun => {
                Err(Failure::new(ErrorKind::EarlyClose, "closed before a response"))
            }
            Phase::Head => Err(Failure::new(ErrorKind::EarlyClose, "closed within the head")),
            Phase::UntilClose if authentic => self.finish(),
            Phase::UntilClose => Err(Failure::new(
                ErrorKind::ShortBody,
                "closed without close_notify where the close is the body's end",
            )),
            Phase::Length { left } => Err(Failure::new(
                ErrorKind::ShortBody,
                format!("closed after {} of {} body bytes", self.body, self.body + left),
            )),
            Phase::Chunked(_) => Err(Failure::new(
                ErrorKind::ShortBody,
                format!("closed after {} body bytes, before the last chunk", self.body),
            )),
        }
    }

    /// The length of the head, if `bytes` hold all of it.
    #[inline]
    fn take_head(&mut self, bytes: &[u8], last: &LastHead) -> Result<Option<usize>, Failure> {
        if !self.is_kept()
            && let Some(head) = last.find(bytes, &self.answers)
        {
            return self.begin_body(head).map(Some);
        }
        self.parse_head(bytes, last)
    }

    fn parse_head(&mut self, bytes: &[u8], last: &LastHead) -> Result<Option<usize>, Failure> {
        let (kept, answers) = (self.kept.as_mut(), self.answers);
        let read = read_head(bytes, |head| {
            let code = head.code.unwrap_or(0);
            if let Some(kept) = kept {
                return Ok((code, kept.take_head(head)?, None));
            }
            // toll requests no ranges.
            let has_no_body = answers.is_empty(code);
            let refused = match answers.admit(code) {
                true => head
                    .headers
                    .iter()
                    .find_map(|field| grpc_failure(field.name.as_bytes(), field.value))
                    .map(|failure| Refused::because(&failure)),
                false => Some(Refused::new(code, head.reason.unwrap_or_default())),
            };
            let Some(refused) = refused else {
                return Ok((code, body_end(head, has_no_body)?, None));
            };
            let end = match body_end(head, has_no_body) {
                // Another request can follow, but for the codes without a body, which may announce one.
                Ok((end @ (BodyEnd::Length(_) | BodyEnd::Chunked), closes))
                    if !is_bodyless(code) && (!closes || refused.is_explained()) =>
                {
                    (end, closes)
                }
                _ => (BodyEnd::Close, true),
            };
            Ok((code, end, Some(refused)))
        })?;
        let Some((length, (status, (end, closes), refused))) = read else { return Ok(None) };
        let head = Head { length, status, end, closes };
        if let Some(mut refused) = refused {
            if end == BodyEnd::Close {
                refused.take(&bytes[length..]);
                self.status = status;
                return Err(refused.failure());
            }
            (self.refused, self.expectation) = (Some(Box::new(refused)), Expectation::Anything);
        } else if !self.is_kept() {
            last.keep(&bytes[..length], answers, head);
        }
        self.begin_body(head).map(Some)
    }

    /// The body begins after a head that says this; returns the head's length.
    #[inline]
    fn begin_body(&mut self, head: Head) -> Result<usize, Failure> {
        self.status = head.status;
        self.closes = head.closes;
        match head.end {
            BodyEnd::Chunked => self.phase = Phase::Chunked(Box::default()),
            BodyEnd::Close => self.phase = Phase::UntilClose,
            BodyEnd::Length(promised) => {
                self.check_length(promised)?;
                self.phase = Phase::Length { left: promised };
                if promised == 0 {
                    self.finish()?;
                }
            }
        }
        self.head_length = head.length;
        Ok(head.length)
    }

    fn take_body(&mut self, content: &[u8]) -> Result<(), Failure> {
        match &mut self.phase {
            Phase::Length { left } => {
                let here = content.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= here as u64;
                let is_done = *left == 0;
                self.take_bytes(&content[..here])?;
                if is_done { self.finish_before(&content[here..]) } else { Ok(()) }
            }
            Phase::Chunked(_) => self.take_chunks(content),
            Phase::UntilClose => self.take_bytes(content),
            Phase::Done if content.is_empty() => Ok(()),
            Phase::Head | Phase::Done => Err(too_long()),
        }
    }

    fn take_chunks(&mut self, mut rest: &[u8]) -> Result<(), Failure> {
        let Phase::Chunked(mut chunks) = std::mem::replace(&mut self.phase, Phase::Done) else {
            return Ok(());
        };
        while !rest.is_empty() && !chunks.is_done() {
            let (used, data) = chunks.take(rest)?;
            self.take_bytes(&rest[data])?;
            rest = &rest[used..];
        }
        let is_done = chunks.is_done();
        if let Some(failure) = chunks.refusal() {
            self.refused.get_or_insert_with(|| Box::new(Refused::because(&failure)));
        }
        self.phase = Phase::Chunked(chunks);
        if is_done { self.finish_before(rest) } else { Ok(()) }
    }

    /// Compares or keeps body bytes, and counts them.
    #[inline]
    fn take_bytes(&mut self, content: &[u8]) -> Result<(), Failure> {
        if let Some(kept) = &mut self.kept {
            kept.take_body(content)?;
        } else if let Some(refused) = &mut self.refused {
            refused.take(content);
        } else if let (Some(size), Some(start)) =
            (self.expectation.size(), self.expectation.starts())
        {
            // The first difference is reported before the excess, wherever the bytes are cut.
            let left = usize::try_from(size - self.body).unwrap_or(usize::MAX);
            if !objects::matches(start + self.body, &content[..left.min(content.len())]) {
                return Err(Failure::new(
                    ErrorKind::Content,
                    format!("the object differs after byte {}", self.body),
                ));
            }
            if content.len() > left {
                return Err(too_long());
            }
        }
        self.body += content.len() as u64;
        Ok(())
    }

    /// The body has ended, and `rest` comes after it. A wrong end is reported first, as it would be
    /// if the rest came later.
    #[inline]
    fn finish_before(&mut self, rest: &[u8]) -> Result<(), Failure> {
        self.finish()?;
        // The client has read so late that its server waits for no further request.
        self.closes |= is_timeout(rest);
        if rest.is_empty() || is_timeout(rest) { Ok(()) } else { Err(too_long()) }
    }

    #[inline]
    fn finish(&mut self) -> Result<(), Failure> {
        self.check_length(self.body)?;
        self.phase = Phase::Done;
        Ok(())
    }

    #[inline(always)]
    fn check_length(&self, length: u64) -> Result<(), Failure> {
        if self.is_kept() && length > kept::LONGEST_BODY {
            return Err(kept::too_large());
        }
        let Some(size) = self.expectation.size() else { return Ok(()) };
        let seen = || format!("a body of {length} bytes for an object of {size}");
        match length.cmp(&size) {
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Less => Err(Failure::new(ErrorKind::ShortBody, seen())),
            std::cmp::Ordering::Greater => Err(Failure::new(ErrorKind::LongBody, seen())),
        }
    }
}
