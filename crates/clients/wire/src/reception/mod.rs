//! Receiving responses without reading them: the walk.
//!
//! A reception says what it wants next, and the connection feeds it. It does no input itself, so
//! every byte sequence can be tested without a socket.
//!
//! Over TLS the first record of a response is opened for its status and Content-Length, until its server
//! has shown how its responses begin (below). Of the records that follow only the headers are read; their
//! bodies are dropped. A record that may be the last is opened with the sequence number that it must have, which proves how many records
//! came before it. Whatever is opened is compared with the generated object, where the path names
//! one. What a walk cannot see: the content of dropped records, two of them swapped, and TLS 1.3
//! padding within them. Where the count does not come out, the response fails as
//! [`ErrorKind::UnverifiableRecord`].
//!
//! Where a server sends records of one length, several are dropped at a time (see `stride`). The
//! last record's sequence number still proves their number. Where its responses begin in long
//! records (see `learned`), only the head of those is decrypted and the rest is dropped with the
//! others, so the head is read but not authenticated. A head that cannot be read this way is
//! opened, so that a reported failure is always authentic.
//!
//! What a response calls several times is `#[inline]`: a connection's loop then has it in one piece with
//! its own code, which takes 4% fewer instructions for 64 KiB.

mod answers;
mod chunks;
mod content;
mod dropping;
mod given;
mod http;
mod kept;
mod last_head;
mod learned;
mod lost;
mod messages;
mod records;
mod refused;
mod response;
mod step;
mod stride;
mod want;

pub use answers::Answers;
pub use given::{Completed, Given};
pub use http::{
    GRPC_STATUS, HEAD_TOO_LONG, HTTP2_FRAME, LONGEST_HEAD, MOST_FIELDS, TLS_RECORD,
    TOO_MANY_FIELDS, grpc_failure,
};
pub use kept::KeptResponse;
pub use learned::{LEARNED_FROM, Learned};
pub use records::{Content, Records};
pub use response::Expectation;
pub use want::{ONE_RECORD, READ_AHEAD, Want};

use crate::handshake::PostHandshake;
use crate::record::{HEADER, Header, MOST_PLAINTEXT, Opener, RecordError, Sealer, content_type};
use crate::{ErrorKind, Failure};
use lost::{alert, lost, unopened};
use messages::Messages;
use response::Response;
use step::{Ahead, Step};
use stride::{Dropped, Middle};

/// Receives the responses of one connection, one after another.
pub struct Reception {
    framing: Framing,
    learned: Learned,
    answers: Answers,
    /// The response under way; `None` while none is expected.
    response: Option<Response>,
    /// Whether one has come whole.
    has_answered: bool,
    /// What has come of it.
    walk: Walk,
    /// Whether a record with the expected content counts without a check of its MAC.
    skips_mac_if_expected: bool,
    proof: Proof,
    /// Whether the peer announced its close.
    is_closed: bool,
    /// Where this side has ended and asks for nothing more: a record that begins after this many bytes on
    /// the wire is no answer to anything.
    over_from: Option<u64>,
    /// Why the last response was not what was asked for, though it came whole.
    refusal: Option<Failure>,
    /// The last response, where it was to be kept.
    kept: Option<Box<KeptResponse>>,
    messages: Messages,
}

/// What has come since a response was expected, and how it is received.
#[derive(Default)]
struct Walk {
    /// Whether every record is opened.
    whole: bool,
    /// Bytes on the wire.
    wire: u64,
    /// Body bytes of dropped records.
    dropped: u64,
    /// The records that were dropped.
    middle: Middle,
    /// Whether records were dropped whose headers were not read.
    has_strided: bool,
    /// How much plaintext of the current record was decrypted before the rest is dropped.
    peeked: u64,
    /// Whether the head was read from a record that was not opened.
    has_peeked: bool,
    /// Whether the record under way began before the response was asked for.
    is_early: bool,
}

enum Framing {
    Plain,
    Tls { opener: Opener, step: Step },
}

/// Whether a proof of the bytes received so far was asked for, and whether it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proof {
    NotAsked,
    Asked,
    Given,
}

impl Reception {
    /// Receives plain HTTP; `learned` is what its thread has learned of its server's responses.
    pub fn plain(learned: Learned) -> Self {
        Self::new(Framing::Plain, learned)
    }

    /// The same for records, from the one that `opener` expects.
    pub fn tls(opener: Opener, learned: Learned) -> Self {
        Self::new(Framing::Tls { opener, step: Step::Header }, learned)
    }

    fn new(framing: Framing, learned: Learned) -> Self {
        Self {
            framing,
            learned,
            answers: Answers::USUAL,
            response: None,
            has_answered: false,
            walk: Walk::default(),
            skips_mac_if_expected: false,
            proof: Proof::NotAsked,
            is_closed: false,
            over_from: None,
            refusal: None,
            kept: None,
            messages: Messages::default(),
        }
    }

    /// A reception in which, with CBC, the MAC of a record within a generated object is computed only where
    /// its content differs: a comparison with the object is proof enough.
    pub fn skipping_mac_if_expected(self) -> Self {
        Self { skips_mac_if_expected: true, ..self }
    }

    /// The same after this side's end: content that the peer still sends is dropped, but for what was in
    /// hand before.
    pub fn over(self, in_hand: usize) -> Self {
        Self { over_from: Some(self.walk.wire + in_hand as u64), ..self }
    }

    /// From now on other answers than 200 with its body may be right, or they have none.
    #[inline]
    pub fn set_answers(&mut self, answers: Answers) {
        self.answers = answers;
    }

    /// Why the response that was [`Given::Refused`] is not what was asked for.
    pub fn refusal(&mut self) -> Failure {
        self.refusal.take().unwrap_or_else(Failure::unrequested)
    }

    /// The page that was completed last.
    pub fn take_kept(&mut self) -> KeptResponse {
        self.kept.take().map_or_else(KeptResponse::default, |kept| *kept)
    }

    /// The same, with `to` for the messages after a handshake.
    pub fn with_post_handshake(self, to: Option<Box<dyn PostHandshake>>) -> Self {
        Self { messages: Messages::new(to), ..self }
    }

    /// Expects a response from now on; `whole` opens (over plain HTTP: reads) all of its body, as is
    /// always done with a page.
    #[inline]
    pub fn expect(&mut self, expectation: Expectation, whole: bool) {
        self.response = Some(Response::new(expectation, self.answers));
        self.walk = Walk {
            whole: whole || expectation == Expectation::Page,
            is_early: matches!(&self.framing, Framing::Tls { step: Step::Open(_), .. }),
            ..Walk::default()
        };
    }

    /// The next record had begun before the response was requested, so it is not part of it.
    #[inline]
    pub fn has_early_bytes(&mut self) {
        self.walk.is_early = true;
    }

    /// See [`Messages::answer_key_update`].
    #[inline]
    pub fn answer_key_update(&mut self, sealer: &mut Sealer, out: &mut Vec<u8>) -> Option<()> {
        self.messages.answer_key_update(sealer, out)
    }

    /// Tickets that have come on this connection.
    #[inline]
    pub fn tickets(&self) -> u64 {
        self.messages.tickets()
    }

    /// Body bytes of the response under way that have arrived.
    #[inline]
    pub fn body(&self) -> u64 {
        self.response.as_ref().map_or(0, Response::body)
    }

    /// The part of [`Self::body`] that was opened or read.
    #[inline]
    pub fn opened(&self) -> u64 {
        self.body() - self.walk.dropped
    }

    /// Whether nothing of the response under way is dropped: it is to be opened whole, or it ends
    /// in its first record.
    fn is_opened_whole(&self) -> bool {
        self.walk.whole || (self.walk.dropped == 0 && self.body_left() == Some(0))
    }

    /// Whether the response under way has begun to arrive.
    #[inline]
    pub fn has_begun(&self) -> bool {
        self.response.as_ref().is_some_and(Response::has_begun)
    }

    /// Body bytes that are still to come, where a length was promised.
    #[inline]
    pub fn body_left(&self) -> Option<u64> {
        self.response.as_ref().and_then(Response::left)
    }

    /// How many bytes an honest server must still send, besides those in hand; 0 where no length
    /// was promised.
    #[inline]
    pub fn least_to_come(&self, in_hand: usize) -> u64 {
        let Some(body) = self.body_left() else { return 0 };
        let to_come = match &self.framing {
            Framing::Plain => body,
            Framing::Tls { opener, step, .. } => {
                let (lacking, held) = step.under_way(opener);
                let held = held.saturating_sub(self.walk.peeked);
                // A peer may promise more than a u64 can count.
                body.saturating_sub(held).saturating_add(lacking)
            }
        };
        to_come.saturating_sub(in_hand as u64)
    }

    /// Whether the server's responses are known to be long and to have records of one length.
    #[inline]
    pub fn is_steady(&self) -> bool {
        matches!(&self.framing, Framing::Tls { .. }) && self.learned.head().is_some()
    }

    /// The least number of bytes on the wire of a response like the earlier ones to this
    /// expectation.
    #[inline]
    pub fn total(&self, expectation: Expectation) -> Option<u64> {
        let Framing::Tls { .. } = &self.framing else { return None };
        self.learned.total(expectation.size()?)
    }

    /// The least number of bytes that the server sends before its response to a connection's only
    /// request, as far as earlier connections show.
    #[inline]
    pub fn before_response(&self) -> u64 {
        match &self.framing {
            Framing::Plain => 0,
            Framing::Tls { .. } => self.learned.before_response(),
        }
    }

    /// Opens the next record whatever it holds, which proves those before it.
    pub fn ask_proof(&mut self) {
        if self.proof != Proof::NotAsked {
            return;
        }
        self.proof = match &mut self.framing {
            Framing::Plain => Proof::Given,
            Framing::Tls { step, .. } => {
                if let Step::Pass(stride) = *step {
                    *step = stride.cut().map_or(Step::Header, Step::Pass);
                }
                Proof::Asked
            }
        };
    }

    /// Whether all bytes of the response under way are proven: a record was opened since a proof was
    /// asked for, or each is opened as it comes because the response is kept.
    #[inline]
    pub fn is_proven(&self) -> bool {
        self.proof == Proof::Given || self.response.as_ref().is_some_and(Response::is_kept)
    }

    /// Whether the response under way is 408, after which its server closes.
    pub fn is_timeout(&self) -> bool {
        self.response.as_ref().is_some_and(Response::is_timeout)
    }

    /// What is needed next.
    #[inline]
    pub fn want(&self) -> Want {
        match &self.framing {
            Framing::Plain => match self.body_left() {
                Some(left) if left > 0 && !self.walk.whole => Want::Skip(left),
                _ if self.walk.whole => Want::Read { min: 1, max: READ_AHEAD },
                _ => Want::Read { min: 1, max: self.plain_head().unwrap_or(ONE_RECORD) },
            },
            Framing::Tls { opener, step } => {
                let ahead = Ahead { is_whole: self.walk.whole, body: self.body_left() };
                step.want(opener, &self.learned, ahead)
            }
        }
    }

    /// How much holds the next head, if it is like those before it and the body after it is to be dropped:
    /// to read a body's beginning with the head takes as long as all else that is done for it.
    #[inline]
    fn plain_head(&self) -> Option<usize> {
        let awaited = self.response.as_ref().filter(|response| !response.has_begun())?;
        let is_long = awaited.size().is_some_and(|size| size > ONE_RECORD as u64);
        if is_long { self.learned.head() } else { None }
    }

    /// Takes bytes, at least as many as [`Want::Read`] asked for; returns how many were used. The
    /// rest is to be given again.
    #[inline]
    pub fn give(&mut self, bytes: &mut [u8]) -> Result<(usize, Given), Failure> {
        let (used, given) = self.take(bytes).map_err(|mut failure| {
            failure.is_in_whole = self.is_opened_whole()
                && matches!(failure.kind, ErrorKind::Content | ErrorKind::UnverifiableRecord);
            failure
        })?;
        self.walk.wire += used as u64;
        if let (Given::Complete(completed), Framing::Tls { .. }) = (given, &self.framing) {
            self.learned.learn_total(completed.body, self.walk.wire);
        }
        Ok((used, given))
    }

    #[inline]
    fn take(&mut self, bytes: &mut [u8]) -> Result<(usize, Given), Failure> {
        let Framing::Tls { opener, step } = &mut self.framing else {
            return Ok((bytes.len(), self.plaintext(bytes)?));
        };
        match *step {
            Step::Header => {
                let header = bytes
                    .first_chunk::<HEADER>()
                    .and_then(|bytes| Header::parse(*bytes))
                    .ok_or_else(|| lost("bytes that are not a record header"))?;
                let next = self.after_header(header)?;
                self.set_step(next);
                Ok((HEADER, Given::More))
            }
            Step::Peek { header, length } => {
                let plaintext = opener.peek(&bytes[..length]).unwrap_or_default();
                let next = self.after_head(header, length, &plaintext);
                // A head that cannot be read this way is opened, with the bytes in hand.
                self.set_step(next.unwrap_or(Step::Open(header)));
                Ok((if next.is_some() { length } else { 0 }, Given::More))
            }
            Step::Open(header) => {
                *step = Step::Header;
                let is_early = std::mem::take(&mut self.walk.is_early);
                let body = &mut bytes[..header.length];
                let skips_mac_if_expected = self.skips_mac_if_expected
                    && self.proof != Proof::Asked
                    && header.content_type == content_type::APPLICATION_DATA;
                let response = self.response.as_ref().filter(|_| skips_mac_if_expected);
                let opened = opener
                    .open_known(header, body, |content| {
                        response.is_some_and(|response| response.knows(content))
                    })
                    .map_err(unopened)?;
                if self.proof == Proof::Asked {
                    self.proof = Proof::Given;
                }
                let plaintext = &body[opened.plaintext];
                let given = match opened.content_type {
                    content_type::APPLICATION_DATA if is_early && !plaintext.is_empty() => {
                        http::unrequested(plaintext)?
                    }
                    content_type::APPLICATION_DATA => {
                        self.messages.data(plaintext)?;
                        self.plaintext(plaintext)?
                    }
                    content_type::HANDSHAKE => {
                        self.messages.take(plaintext, opener)?;
                        Given::More
                    }
                    content_type::ALERT => {
                        let has_answered = self.has_answered && self.response.is_none();
                        let given = alert(plaintext, has_answered)?;
                        self.is_closed = given == Given::Closed;
                        given
                    }
                    other => return Err(lost(&format!("a record of type {other}"))),
                };
                Ok((header.length, given))
            }
            Step::Tail { length } => {
                let tail = opener.tail();
                let plaintext = opener
                    .plaintext_by_tail(length, &bytes[..tail])
                    .ok_or_else(|| lost("a record with more padding than it can hold"))?;
                if plaintext > MOST_PLAINTEXT {
                    return Err(unopened(RecordError::TooLong));
                }
                *step = Step::Header;
                self.dropped_record(Dropped { length, plaintext: plaintext as u64 });
                Ok((tail, Given::More))
            }
            // Bytes in hand are dropped by `skipped`.
            Step::Drop { .. } | Step::Pass(_) => Ok((0, Given::More)),
        }
    }

    /// The response under way has failed. If records were dropped whose headers were not read, the
    /// learned lengths may be wrong, so they are forgotten. If its head was not authenticated, the
    /// next ones are.
    pub fn has_failed(&self) {
        if self.walk.has_strided {
            self.learned.forget_records();
        }
        if self.walk.has_peeked {
            self.learned.forget_heads();
        }
    }

    /// Takes the end of the stream. `Given::Complete` where the response ends with it.
    pub fn end(&mut self) -> Result<Given, Failure> {
        let Some(response) = &mut self.response else { return Ok(Given::Closed) };
        // Without close_notify anyone could have cut the stream (RFC 8446, section 6.1).
        let authentic = self.is_closed || matches!(self.framing, Framing::Plain);
        response.end(authentic)?;
        self.complete_if_done()
    }

    #[inline]
    fn set_step(&mut self, next: Step) {
        if let Framing::Tls { step, .. } = &mut self.framing {
            *step = next;
        }
    }
}
