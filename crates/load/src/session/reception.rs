//! Receiving the responses of a session: every record is opened, and every response is kept whole
//! until it has been judged. Like the walk (see `receive`) it does no input itself.

use std::ops::Range;

use super::response::{Answer, Response};
use crate::failure::{ErrorKind, Failure};
use crate::handshake::PostHandshake;
use crate::receive::{Messages, alert, lost, too_full};
use crate::record::{HEADER, Header, MOST_PLAINTEXT, Opener, Sealer, content_type};

/// What became of the bytes that were given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Given {
    /// More is wanted.
    More,
    /// The response is complete.
    Complete,
    /// The peer announced its close (close_notify).
    Closed,
}

/// Receives the responses of one connection, one after another.
pub(crate) struct Reception {
    layer: Layer,
    response: Response,
    /// Whether a response is expected.
    is_expected: bool,
    /// Whether the record under way began before the response was asked for.
    is_early: bool,
    is_closed: bool,
}

enum Layer {
    Plain,
    Tls { opener: Opener, messages: Messages },
}

impl Reception {
    /// Receives plain HTTP.
    pub(crate) fn plain() -> Self {
        Self::new(Layer::Plain)
    }

    /// Receives records from the one that `opener` expects; `to` is for the messages after a
    /// handshake.
    pub(crate) fn tls(opener: Opener, to: Option<Box<dyn PostHandshake>>) -> Self {
        Self::new(Layer::Tls { opener, messages: Messages::new(to) })
    }

    fn new(layer: Layer) -> Self {
        let response = Response::default();
        Self { layer, response, is_expected: false, is_early: false, is_closed: false }
    }

    /// Appends a request to `out`, over TLS as records, and expects its response. `has_early_bytes`
    /// where part of a record has come already, which then is not part of the response.
    pub(crate) fn ask(
        &mut self,
        request: &[u8],
        sealer: Option<&mut Sealer>,
        has_early_bytes: bool,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        self.response.clear();
        self.is_expected = true;
        self.is_early = has_early_bytes;
        let (Layer::Tls { messages, .. }, Some(sealer)) = (&mut self.layer, sealer) else {
            out.extend_from_slice(request);
            return Some(());
        };
        messages.answer_key_update(sealer, out)?;
        for content in request.chunks(MOST_PLAINTEXT) {
            sealer.seal(content_type::APPLICATION_DATA, content, out)?;
        }
        Some(())
    }

    /// Tickets that have come on this connection.
    pub(crate) fn tickets(&self) -> u64 {
        match &self.layer {
            Layer::Plain => 0,
            Layer::Tls { messages, .. } => messages.tickets(),
        }
    }

    /// Whether the response under way has begun to arrive.
    pub(crate) fn has_begun(&self) -> bool {
        self.response.has_begun()
    }

    /// The response that was last completed, or what has come of the one under way.
    pub(crate) fn answer(&self) -> &Answer {
        &self.response.answer
    }

    /// The body of the response that was completed with these bytes.
    pub(crate) fn body<'a>(&'a self, bytes: &'a [u8]) -> &'a [u8] {
        self.response.body(bytes)
    }

    /// The length of the body so far.
    pub(crate) fn body_length(&self) -> usize {
        self.response.body_length()
    }

    /// Takes bytes and returns how many were used: all whole records of them, up to the end of the
    /// response. The rest is to be given again. The body of a response that is complete may lie in
    /// those that were used.
    pub(crate) fn give(&mut self, bytes: &mut [u8]) -> Result<(usize, Given), Failure> {
        let mut used = 0;
        let given = loop {
            let (here, given) = self.take(bytes, used)?;
            used += here;
            if here == 0 || given != Given::More {
                break given;
            }
        };
        if given != Given::Complete {
            self.response.keep(bytes);
        }
        Ok((used, given))
    }

    /// Takes a record that begins at `start`, if all of it has come, or all plain content.
    fn take(&mut self, bytes: &mut [u8], start: usize) -> Result<(usize, Given), Failure> {
        if !matches!(self.layer, Layer::Plain) {
            return self.record(bytes, start).map_err(|failure| Failure {
                is_in_whole: failure.kind == ErrorKind::UnverifiableRecord,
                ..failure
            });
        }
        match start..bytes.len() {
            rest if rest.is_empty() => Ok((0, Given::More)),
            rest => Ok((rest.len(), self.content(bytes, rest)?)),
        }
    }

    fn record(&mut self, all: &mut [u8], start: usize) -> Result<(usize, Given), Failure> {
        let Layer::Tls { opener, messages } = &mut self.layer else { return Ok((0, Given::More)) };
        let bytes = &mut all[start..];
        let Some(header) = bytes.first_chunk::<HEADER>() else { return Ok((0, Given::More)) };
        let header =
            Header::parse(*header).ok_or_else(|| lost("bytes that are not a record header"))?;
        if opener.most_plaintext(header.length).is_none() {
            if header.content_type == content_type::ALERT && header.length == 2 {
                return Err(Failure::new(ErrorKind::Alert, "an alert without encryption"));
            }
            return Err(lost("a record too short for its own authentication"));
        }
        let end = HEADER + header.length;
        let Some(body) = bytes.get_mut(HEADER..end) else { return Ok((0, Given::More)) };
        let is_early = std::mem::take(&mut self.is_early);
        let opened = opener
            .open(header, body)
            .ok_or_else(|| lost("a record that is not authentic at its sequence number"))?;
        let content = &body[opened.plaintext.clone()];
        if content.len() > MOST_PLAINTEXT {
            return Err(too_full());
        }
        let given = match opened.content_type {
            content_type::APPLICATION_DATA if content.is_empty() => Given::More,
            content_type::APPLICATION_DATA if is_early => return Err(Failure::unasked()),
            content_type::APPLICATION_DATA => {
                messages.data();
                let before = start + HEADER;
                let Range { start, end } = opened.plaintext;
                self.content(all, before + start..before + end)?
            }
            content_type::HANDSHAKE => {
                messages.take(content, opener)?;
                Given::More
            }
            content_type::ALERT => {
                alert(content)?;
                self.is_closed = true;
                Given::Closed
            }
            other => return Err(lost(&format!("a record of type {other}"))),
        };
        Ok((end, given))
    }

    fn content(&mut self, bytes: &mut [u8], content: Range<usize>) -> Result<Given, Failure> {
        if !self.is_expected {
            return Err(Failure::unasked());
        }
        self.response.take(bytes, content)?;
        Ok(self.complete_if_done())
    }

    /// Takes the end of the stream; `Given::Complete` where the response ends with it.
    pub(crate) fn end(&mut self) -> Result<Given, Failure> {
        if !self.is_expected {
            return Ok(Given::Closed);
        }
        // Without close_notify anyone could have cut the stream (RFC 8446, section 6.1).
        self.response.end(self.is_closed || matches!(self.layer, Layer::Plain))?;
        Ok(self.complete_if_done())
    }

    fn complete_if_done(&mut self) -> Given {
        if !self.response.is_done() {
            return Given::More;
        }
        self.is_expected = false;
        Given::Complete
    }
}
