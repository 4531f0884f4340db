//! An operation on a stream, over HTTP/2 or HTTP/3: what of its response has come, and whether that is right.

use http2::ResponseHead;
use wire::reception::{
    Answers, Completed, Expectation, HEAD_TOO_LONG, LONGEST_HEAD, MOST_FIELDS, TOO_MANY_FIELDS,
    grpc_failure,
};
use wire::{ErrorKind, Failure};

use crate::ended::{Ended, is_close};
use crate::recorder::Begun;
use crate::retry::Unanswered;

/// The longest body of a response with another status that is received to its end.
const LONGEST_REFUSAL: u64 = 1 << 20;

/// An operation under way, with what its codec keeps of it.
pub(crate) struct Exchange<S> {
    pub(crate) begun: Begun,
    pub(crate) own: S,
    /// Since when it waits for a stream that the server does not allow, and when its request was sent, if it was.
    pub(super) no_stream_since: Option<u64>,
    pub(super) opened: Option<u64>,
    /// When something of it was last sent or received.
    pub(super) progress: u64,
    /// Body bytes that arrived within the window, and those of them that were dropped unread.
    pub(super) window_body: u64,
    pub(super) window_dropped: u64,
    expectation: Expectation,
    answers: Answers,
    /// Whether its body is compared with the object.
    pub(super) is_compared: bool,
    /// How much of the request's body is still to be given to the session.
    pub(super) body_left: usize,
    /// Whether its request has waited for a window, and since when it does.
    pub(super) was_held_up: bool,
    pub(super) held_up_since: Option<u64>,
    pub(super) has_begun: bool,
    pub(super) status: Option<u16>,
    pub(super) promised: Option<u64>,
    /// The bytes of all heads.
    head: usize,
    pub(super) body: u64,
    /// The part of it that was dropped unread, and is proven.
    pub(super) dropped: u64,
    pub(super) is_whole: bool,
    pub(super) wrong: Option<Failure>,
    /// What the server says of a call of gRPC that failed.
    grpc: Option<Failure>,
}

impl<S> Exchange<S> {
    pub(crate) fn new(
        begun: Begun,
        own: S,
        expectation: Expectation,
        answers: Answers,
        is_compared: bool,
    ) -> Self {
        Self {
            begun,
            own,
            no_stream_since: None,
            opened: None,
            progress: 0,
            window_body: 0,
            window_dropped: 0,
            expectation,
            answers,
            is_compared,
            body_left: 0,
            was_held_up: false,
            held_up_since: None,
            has_begun: false,
            status: None,
            promised: None,
            head: 0,
            body: 0,
            dropped: 0,
            is_whole: false,
            wrong: None,
            grpc: None,
        }
    }

    /// It is given to its connection, with a body of this length.
    pub(super) fn given(&mut self, body: usize, now: u64) {
        (self.body_left, self.progress) = (body, now);
    }

    /// It has ended at this place.
    pub(crate) fn ended(
        self,
        place: usize,
        at: u64,
        result: Result<Option<Completed>, Failure>,
        unanswered: Option<Unanswered>,
    ) -> Ended {
        let (bytes, is_early) = (self.window_bytes(), self.body_left > 0);
        Ended { place, begun: self.begun, at, bytes, result, is_early, unanswered }
    }

    /// Body bytes of the window, and those of them that were decrypted.
    pub(super) fn window_bytes(&self) -> (u64, u64) {
        (self.window_body, self.window_body - self.window_dropped)
    }

    /// The operation, which has not ended, and its body bytes of the window.
    pub(super) fn under_way(self) -> (Begun, (u64, u64)) {
        let bytes = self.window_bytes();
        (self.begun, bytes)
    }

    /// When its operation began.
    pub(super) fn began(&self) -> u64 {
        self.begun.times.start
    }

    /// What it waits for, and how that fails where it does not come; `None` for its response.
    pub(super) fn awaited(&self) -> Option<(ErrorKind, &'static str)> {
        match (self.no_stream_since, self.held_up_since) {
            (Some(_), _) => Some((ErrorKind::NoStream, "the wait for a stream")),
            (_, Some(_)) => Some((ErrorKind::FlowControl, "the wait for a window")),
            _ => None,
        }
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        let length = bytes.len() as u64;
        let size = self.expectation.size();
        let is_ok = self.is_right();
        let promised = self.promised();
        if self.wrong.is_none() && is_ok {
            if promised.is_some_and(|promised| self.body + length > promised) {
                self.wrong = Some(self.other_length(ErrorKind::LongBody, self.body + length));
            } else if size.is_some_and(|size| self.body + length > size) {
                self.wrong = Some(Failure::new(
                    ErrorKind::LongBody,
                    format!("a body of more than {} bytes", size.unwrap_or(0)),
                ));
            } else if self.is_compared
                && let Some(start) = self.expectation.starts()
                && !objects::matches(start + self.body, bytes)
            {
                let seen = format!("a body that differs from the object after byte {}", self.body);
                let mut failure = Failure::new(ErrorKind::Content, seen);
                failure.is_in_whole = true;
                self.wrong = Some(failure);
            }
        }
        self.body += length;
        if self.wrong.is_none() && !is_ok && self.body > LONGEST_REFUSAL {
            self.wrong = Some(self.other_status());
        }
    }

    /// Whether its status is one that is right.
    pub(super) fn is_right(&self) -> bool {
        self.status.is_some_and(|status| self.answers.admit(status))
    }

    /// When it is to end that has made no progress for so long, or takes so long in all.
    pub(super) fn due(&self, (timeout, whole): (u64, u64)) -> u64 {
        self.progress.saturating_add(timeout).min(self.began().saturating_add(whole))
    }

    fn other_status(&self) -> Failure {
        let status = self.status.unwrap_or(0);
        Failure::new(ErrorKind::Status, status.to_string())
    }

    /// Takes a head or trailers, unless they are too long; `length` is that of all names and values.
    pub(super) fn take_head<'f>(
        &mut self,
        known: ResponseHead,
        length: usize,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
    ) {
        self.head += length;
        let (mut count, mut failure) = (0, None);
        for (name, value) in fields {
            count += 1;
            failure = failure.or_else(|| grpc_failure(name, value));
        }
        let too_long = match count - usize::from(known.status.is_some()) {
            _ if self.head > LONGEST_HEAD => HEAD_TOO_LONG,
            count if count > MOST_FIELDS => TOO_MANY_FIELDS,
            _ => {
                // Trailers promise nothing, and what an interim head promises is not kept.
                if known.status.is_some() {
                    (self.status, self.promised) = (known.status, known.content_length);
                }
                self.grpc = self.grpc.take().or(failure);
                return;
            }
        };
        self.wrong.get_or_insert_with(|| Failure::long_head(too_long));
    }

    /// The length of the body by its head.
    pub(super) fn promised(&self) -> Option<u64> {
        let is_empty = self.status.is_some_and(|status| self.answers.is_empty(status));
        if is_empty { Some(0) } else { self.promised }
    }

    fn other_length(&self, kind: ErrorKind, body: u64) -> Failure {
        let promised = self.promised().unwrap_or(0);
        Failure::new(kind, format!("{body} bytes of a body of {promised}"))
    }

    /// Whether a part of its response was dropped.
    pub(crate) fn has_walked(&self) -> bool {
        self.dropped > 0
    }

    /// A failure, which may be one of the walk where a part of the response was dropped.
    fn lost(&self, failure: Failure) -> Failure {
        match failure.kind {
            ErrorKind::Content | ErrorKind::LongBody | ErrorKind::ShortBody if self.dropped > 0 => {
                let seen = format!("after {} dropped bytes: {}", self.dropped, failure.seen);
                Failure::new(ErrorKind::UnverifiableRecord, seen)
            }
            _ => failure,
        }
    }

    /// What became of it, its stream having ended as it should, or not.
    pub(super) fn judge(&mut self, end: Result<(), Failure>) -> Result<Completed, Failure> {
        self.check(end).map_err(|failure| self.lost(failure))
    }

    fn check(&mut self, end: Result<(), Failure>) -> Result<Completed, Failure> {
        if let Some(failure) = self.wrong.take() {
            return Err(failure);
        }
        end?;
        if !self.is_right() {
            return Err(self.other_status());
        }
        if let Some(failure) = self.grpc.take() {
            return Err(failure);
        }
        if self.promised().is_some_and(|promised| self.body < promised) {
            return Err(self.other_length(ErrorKind::ShortBody, self.body));
        }
        if let Some(size) = self.expectation.size().filter(|size| *size != self.body) {
            let seen = format!("a body of {} bytes in place of {size}", self.body);
            return Err(Failure::new(ErrorKind::ShortBody, seen));
        }
        Ok(Completed {
            body: self.body,
            opened: self.body - self.dropped,
            compared: self.is_compared && self.expectation.size().is_some(),
            peeked: false,
            closes: false,
            status: self.status.unwrap_or_default(),
        })
    }

    /// It fails with its connection, unless it was wrong before.
    pub(super) fn fails(mut self, place: usize, at: u64, failure: &Failure) -> Ended {
        let unanswered = match self.opened {
            _ if !is_close(failure) || self.has_begun => None,
            None => Some(Unanswered::NotTaken),
            Some(_) => Some(Unanswered::Closed),
        };
        let failure = self.wrong.take().unwrap_or_else(|| failure.clone());
        self.ended(place, at, Err(failure), unanswered)
    }
}
