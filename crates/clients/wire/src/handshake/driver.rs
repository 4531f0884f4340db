//! The common part of toll's own handshakes: takes records off the received bytes, joins messages
//! that were cut, and answers a failure with an alert.

use super::encoding::{header_of, message_length, put_records};
use super::established::Established;
use super::refusal::Refusal;
use super::under_way::Handshake;
use crate::Failure;
use crate::record::{HEADER, Header, MOST_PLAINTEXT, Opener, RecordError, Sealer, content_type};

/// The most that a server may send before its Finished.
const MOST: usize = 256 << 10;

/// The result of a step; `Some` when the handshake has finished.
pub(super) type StepResult = Result<Option<Established>, Refusal>;

/// The handshake messages in a record; `None` where it is of another type and harmless.
pub(super) type Content<'r> = Result<Option<&'r [u8]>, Refusal>;

type Received<'r> = Result<Option<(Header, &'r mut [u8])>, Refusal>;

/// What one version does with records and messages.
pub(super) trait Protocol: Send {
    /// Appends the ClientHello.
    fn begin(&mut self, to_send: &mut Vec<u8>) -> Result<(), Refusal>;

    /// Reads the header of the next record.
    fn header(&self, bytes: &[u8]) -> Option<Header> {
        header_of(bytes)
    }

    /// Takes a record; `is_inside` where the last message is not whole yet.
    fn content<'r>(&mut self, header: Header, body: &'r mut [u8], is_inside: bool) -> Content<'r>;

    /// Takes a message with its header of four bytes; `is_last` where its record holds no more.
    fn message(&mut self, message: &[u8], is_last: bool, to_send: &mut Vec<u8>) -> StepResult;

    /// Ends the handshake; gives what protects the alert where the client has keys.
    fn end(&mut self) -> Option<Sealer>;
}

/// A handshake under way.
pub(super) struct Driver<P> {
    protocol: P,
    is_begun: bool,
    /// A message of which a part was received.
    partial: Vec<u8>,
    /// How many bytes the server has sent.
    taken: usize,
}

impl<P: Protocol> Handshake for Driver<P> {
    fn advance(
        &mut self,
        received: &mut Vec<u8>,
        to_send: &mut Vec<u8>,
    ) -> Result<Option<Established>, Failure> {
        let mut used = 0;
        let result = self.take(received, &mut used, to_send);
        received.drain(..used);
        result.map_err(|refusal| {
            put_alert(refusal.alert, self.protocol.end(), to_send);
            refusal.failure
        })
    }
}

impl<P: Protocol> Driver<P> {
    pub(super) fn new(protocol: P) -> Self {
        Self { protocol, is_begun: false, partial: Vec::new(), taken: 0 }
    }

    /// Takes whole records; `used` becomes their length.
    fn take(&mut self, received: &mut [u8], used: &mut usize, to_send: &mut Vec<u8>) -> StepResult {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.protocol.begin(to_send)?;
        }
        while let Some((header, body)) = self.record(&mut received[*used..])? {
            *used += HEADER + header.length;
            let is_inside = !self.partial.is_empty();
            if let Some(content) = self.protocol.content(header, body, is_inside)?
                && let Some(established) = self.messages(content, to_send)?
            {
                return Ok(Some(established));
            }
        }
        Ok(None)
    }

    /// The header and the body of the record that begins here, if it is whole.
    fn record<'r>(&mut self, received: &'r mut [u8]) -> Received<'r> {
        let Some(header) = received.get(..HEADER) else { return Ok(None) };
        let header = self.protocol.header(header).ok_or_else(|| match self.taken {
            0 => Refusal::not_tls(received),
            _ => Refusal::malformed("record"),
        })?;
        let rest = &mut received[HEADER..];
        let Some(body) = rest.get_mut(..header.length) else { return Ok(None) };
        self.taken += HEADER + header.length;
        if self.taken > MOST {
            return Err(Refusal::unexpected("more than 256 KiB of handshake"));
        }
        Ok(Some((header, body)))
    }

    /// Takes the messages in the content of a record, and keeps what is not whole.
    fn messages(&mut self, content: &[u8], to_send: &mut Vec<u8>) -> StepResult {
        if content.is_empty() {
            return Err(Refusal::unexpected("an empty record of handshake messages"));
        }
        if content.len() > MOST_PLAINTEXT {
            return Err(Refusal::unopened(RecordError::TooLong));
        }
        let joined = (!self.partial.is_empty()).then(|| {
            self.partial.extend_from_slice(content);
            std::mem::take(&mut self.partial)
        });
        let messages = joined.as_deref().unwrap_or(content);
        let mut at = 0;
        while let Some(length) = message_length(&messages[at..]) {
            let message = &messages[at..at + length];
            at += length;
            let is_last = at == messages.len();
            if let Some(established) = self.protocol.message(message, is_last, to_send)? {
                return Ok(Some(established));
            }
        }
        match joined {
            Some(joined) if at == 0 => self.partial = joined,
            _ => self.partial.extend_from_slice(&messages[at..]),
        }
        Ok(None)
    }
}

/// The content of a protected record, and its type.
pub(super) fn opened<'r>(
    opener: &mut Opener,
    header: Header,
    body: &'r mut [u8],
) -> Result<(u8, &'r [u8]), Refusal> {
    let opened = opener.open(header, body).map_err(Refusal::unopened)?;
    Ok((opened.content_type, &body[opened.plaintext]))
}

fn put_alert(description: Option<u8>, sealer: Option<Sealer>, to_send: &mut Vec<u8>) {
    const FATAL: u8 = 2;
    let Some(description) = description else { return };
    let content = [FATAL, description];
    match sealer {
        Some(mut sealer) => {
            // The handshake has failed already, whether or not the alert can be sealed.
            let _ = sealer.seal(content_type::ALERT, &content, to_send);
        }
        None => put_records(to_send, content_type::ALERT, [3, 3], &content),
    }
}
