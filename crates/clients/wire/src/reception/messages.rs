//! Handshake messages after the handshake: tickets and KeyUpdates.

use super::lost::{lost, unexpected_message};
use crate::Failure;
use crate::handshake::{PostHandshake, Side, kind, message_length};
use crate::record::{Opener, Sealer, content_type};

/// The longest partial handshake message that is kept; it exceeds any ticket.
const MOST_OF_A_MESSAGE: usize = 128 << 10;

/// How many KeyUpdates without data between them are accepted: as many as OpenSSL accepts.
const MOST_KEY_UPDATES: u32 = 32;

/// The messages of one connection.
#[derive(Default)]
pub(super) struct Messages {
    /// What is kept of a handshake of TLS 1.3 for the messages after it. Without it tickets are
    /// ignored, and a KeyUpdate is an error.
    to: Option<Box<dyn PostHandshake>>,
    /// The received part of a message.
    partial: Vec<u8>,
    /// Tickets so far.
    tickets: u64,
    /// KeyUpdates since the last data.
    key_updates: u32,
    /// Whether the peer has asked for a KeyUpdate.
    owes_key_update: bool,
}

impl Messages {
    pub(super) fn new(to: Option<Box<dyn PostHandshake>>) -> Self {
        Self { to, ..Self::default() }
    }

    /// Tickets that have come.
    #[inline]
    pub(super) fn tickets(&self) -> u64 {
        self.tickets
    }

    /// Data has come. No other record may come between the parts of a message (RFC 8446, section 5.1).
    #[inline]
    pub(super) fn data(&mut self, content: &[u8]) -> Result<(), Failure> {
        if self.is_within() {
            return Err(lost("data between the parts of a handshake message"));
        }
        if !content.is_empty() {
            self.key_updates = 0;
        }
        Ok(())
    }

    /// Whether only a part of a message has come.
    #[inline]
    pub(super) fn is_within(&self) -> bool {
        !self.partial.is_empty()
    }

    /// Takes the content of a record; a KeyUpdate changes `opener`. A HelloRequest of TLS 1.2 is ignored, as
    /// RFC 5246 allows. No other message may come: the client has not offered post_handshake_auth (RFC 8446,
    /// section 4.6).
    pub(super) fn take(&mut self, content: &[u8], opener: &mut Opener) -> Result<(), Failure> {
        let joined = if self.partial.is_empty() {
            None
        } else {
            self.partial.extend_from_slice(content);
            Some(std::mem::take(&mut self.partial))
        };
        let mut messages = joined.as_deref().unwrap_or(content);
        while let Some(length) = message_length(messages) {
            let (message, rest) = messages.split_at(length);
            messages = rest;
            match (message[0], &mut self.to) {
                (kind::KEY_UPDATE, _) => self.update_key(&message[4..], rest.is_empty(), opener)?,
                (kind::HELLO_REQUEST, _) if !opener.is_tls13() => {}
                (kind::NEW_SESSION_TICKET, to) => {
                    self.tickets += 1;
                    if let Some(to) = to {
                        to.take_ticket(&message[4..])?;
                    }
                }
                (kind, _) => return Err(unexpected_message(kind)),
            }
        }
        if messages.len() > MOST_OF_A_MESSAGE {
            return Err(lost("a handshake message of more than 128 KiB"));
        }
        self.partial = messages.to_vec();
        Ok(())
    }

    /// The peer's next records have another key (RFC 8446, section 4.6.3).
    fn update_key(
        &mut self,
        request: &[u8],
        is_last: bool,
        opener: &mut Opener,
    ) -> Result<(), Failure> {
        let is_requested = match request {
            [0] => false,
            [1] => true,
            _ => return Err(lost("a malformed KeyUpdate")),
        };
        if !is_last {
            return Err(lost("more data in a record after which the keys change"));
        }
        self.key_updates += 1;
        if self.key_updates > MOST_KEY_UPDATES {
            return Err(lost("more than 32 KeyUpdates in a row"));
        }
        let Some(next) = self.to.as_mut().and_then(|to| to.next_protection(Side::Server)) else {
            return Err(lost("a KeyUpdate, which toll follows only with --receive decrypt"));
        };
        *opener = Opener::new(next, 0);
        self.owes_key_update |= is_requested;
        Ok(())
    }

    /// Where the peer has requested a KeyUpdate, appends one and gives `sealer` its new key. That
    /// must happen before more data is sent (RFC 8446, section 4.6.3).
    #[inline]
    pub(super) fn answer_key_update(
        &mut self,
        sealer: &mut Sealer,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        if !std::mem::take(&mut self.owes_key_update) {
            return Some(());
        }
        let next = self.to.as_mut()?.next_protection(Side::Client)?;
        sealer.seal(content_type::HANDSHAKE, &[kind::KEY_UPDATE, 0, 0, 1, 0], out)?;
        *sealer = Sealer::new(next, 0);
        Some(())
    }
}
