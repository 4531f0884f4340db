//! The requests of one HTTP/3 connection: which stream each has, and how its response is read.

use bytes::Bytes;
use http3::{Breach, ErrorCode, Message, MessagePart, Side};
use quinn_proto::StreamId;

use crate::connection::exchange;
use crate::connection::streams::Streams;
use crate::quic::ResponseHeads;

/// An operation under way.
pub(super) type Exchange = exchange::Exchange<Request>;

/// What is kept of a request and its response.
pub(crate) struct Request {
    /// Its stream, once it has one.
    pub(super) id: Option<StreamId>,
    pub(super) response: Message,
    /// What is still to be sent of its head.
    pub(super) head: Bytes,
}

impl Default for Request {
    fn default() -> Self {
        Self { id: None, response: Message::new(Side::Server), head: Bytes::new() }
    }
}

/// The places of streams by their numbers. A client's are consecutive, so that they need no search: as many as there
/// are places have theirs here. Those that last longer than all others are searched for.
pub(super) struct ByStream(Vec<usize>);

impl ByStream {
    pub(super) fn new(places: usize) -> Self {
        Self(vec![0; places.next_power_of_two()])
    }

    fn at(&self, id: StreamId) -> usize {
        id.index() as usize & (self.0.len() - 1)
    }

    pub(super) fn insert(&mut self, id: StreamId, place: usize) {
        let at = self.at(id);
        self.0[at] = place;
    }

    /// The place of a stream, if its operation is under way.
    pub(super) fn find(&self, id: StreamId, streams: &Streams<Request>) -> Option<usize> {
        let has = |exchange: &Exchange| exchange.own.id == Some(id);
        let place = self.0[self.at(id)];
        match streams.get(place).is_some_and(has) {
            true => Some(place),
            false => streams.places(has).first().copied(),
        }
    }
}

/// A code of HTTP/3, by its name where it has one.
pub(super) fn name_of(code: u64) -> String {
    ErrorCode::of(code).map_or_else(|| format!("{code:#x}"), |code| code.name().to_owned())
}

impl Streams<Request> {
    /// Takes bytes of a response; false where it is wrong, so that no more is read.
    pub(super) fn receive(
        &mut self,
        place: usize,
        mut bytes: &[u8],
        heads: &mut ResponseHeads,
    ) -> Result<bool, Breach> {
        self.answers(place);
        let (mut fields_received, mut header_bytes, is_within) = (0, 0, self.is_within);
        let Some(exchange) = self.at(place) else { return Ok(false) };
        // One that breaks a rule is read no more.
        let mut response =
            std::mem::replace(&mut exchange.own.response, Message::new(Side::Server));
        while let Some(part) = response.next(&mut bytes)? {
            let is_head = matches!(part, MessagePart::Head(_));
            match part {
                MessagePart::Frame(_) => {}
                MessagePart::Head(section) | MessagePart::Trailers(section) => {
                    header_bytes += section.len() as u64;
                    let (head, fields) = heads.read(section)?;
                    fields_received += fields.length() as u64;
                    if is_head != head.status.is_some() {
                        let malformed = |what| Breach::new(ErrorCode::MessageError, what);
                        return Err(malformed("a head without :status, or trailers with one"));
                    }
                    exchange.take_head(head, fields.length(), fields.iter());
                    if head.status.is_some_and(|status| status < 200) {
                        response.await_head();
                    }
                }
                MessagePart::Body(body) => {
                    if is_within {
                        exchange.window_body += body.len() as u64;
                    }
                    exchange.take(body);
                }
            }
            if exchange.wrong.is_some() {
                break;
            }
        }
        exchange.own.response = response;
        let is_right = exchange.wrong.is_none();
        self.counts.fields_received += fields_received;
        self.counts.header_bytes_received += header_bytes;
        Ok(is_right)
    }
}
