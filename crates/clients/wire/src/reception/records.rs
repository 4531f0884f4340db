//! Opening the records of a connection one by one: for protocols whose messages interleave.

use std::ops::Range;

use super::given::Given;
use super::lost::{alert, lost, unopened};
use super::messages::Messages;
use crate::Failure;
use crate::handshake::PostHandshake;
use crate::record::{HEADER, Header, Opener, Sealer, content_type};

/// The records that a peer sends after the handshake.
pub struct Records {
    opener: Opener,
    messages: Messages,
}

/// What a record held.
#[derive(Debug, PartialEq, Eq)]
pub enum Content {
    /// Application data, where it now is among the given bytes; it may be empty.
    Data(Range<usize>),
    /// A message for the TLS layer.
    Message,
    /// The peer announced its close (close_notify), or ended a connection that it keeps no longer.
    Closed,
}

impl Records {
    /// Opens records from the one that `opener` expects; `to` takes the messages after a handshake.
    pub fn new(opener: Opener, to: Option<Box<dyn PostHandshake>>) -> Self {
        Self { opener, messages: Messages::new(to) }
    }

    /// Opens the record at the beginning of these bytes in place. Returns its length, and what it held;
    /// `None` where it has not come whole. `has_answered`: whether the peer has answered all that it was asked.
    ///
    /// # Errors
    /// A record that is none, or is not authentic in its place; an alert other than close_notify and
    /// user_canceled before the peer has answered.
    pub fn open(
        &mut self,
        bytes: &mut [u8],
        has_answered: bool,
    ) -> Result<Option<(usize, Content)>, Failure> {
        let Some(header) = bytes.first_chunk::<HEADER>() else { return Ok(None) };
        let header =
            Header::parse(*header).ok_or_else(|| lost("bytes that are not a record header"))?;
        let length = HEADER + header.length;
        let Some(body) = bytes.get_mut(HEADER..length) else { return Ok(None) };
        let opened = self.opener.open(header, body).map_err(unopened)?;
        let plaintext = &body[opened.plaintext.clone()];
        let content = match opened.content_type {
            content_type::APPLICATION_DATA => {
                self.messages.data(plaintext)?;
                Content::Data(HEADER + opened.plaintext.start..HEADER + opened.plaintext.end)
            }
            content_type::HANDSHAKE => {
                self.messages.take(plaintext, &mut self.opener)?;
                Content::Message
            }
            content_type::ALERT => match alert(plaintext, has_answered)? {
                Given::Closed => Content::Closed,
                _ => Content::Message,
            },
            other => return Err(lost(&format!("a record of type {other}"))),
        };
        Ok(Some((length, content)))
    }

    /// Counts records that are dropped unopened: the next one that opens proves how many they were.
    pub fn pass(&mut self, count: u64) {
        (0..count).for_each(|_| self.opener.pass());
    }

    /// Tickets that have come.
    pub fn tickets(&self) -> u64 {
        self.messages.tickets()
    }

    /// See [`Reception::answer_key_update`](super::Reception::answer_key_update).
    pub fn answer_key_update(&mut self, sealer: &mut Sealer, out: &mut Vec<u8>) -> Option<()> {
        self.messages.answer_key_update(sealer, out)
    }
}
