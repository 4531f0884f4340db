//! The state in which both sides have keys: the server's Finished is awaited. The client has sent its
//! own, or, where the server resumes a session, sends it after that.

use rustls::crypto::SecureRandom;

use super::common::Common;
use super::flight;
use super::secrets::Master;
use super::sessions::Session;
use crate::handshake::encoding::{CHANGE_CIPHER_SPEC, message, put_records};
use crate::handshake::established::{Established, GivenSession, Negotiated, Remarks, Side};
use crate::handshake::numbers::kind;
use crate::handshake::refusal::Refusal;
use crate::handshake::transcript::Transcript;
use crate::randomness::Buffered;
use crate::record::{Opener, Sealer, content_type};

/// The keys, not confirmed until the server's Finished.
pub(super) struct FinishedSent {
    /// All messages so far.
    pub(super) transcript: Transcript,
    pub(super) opener: Opener,
    pub(super) sealer: Sealer,
    pub(super) master: Master,
    pub(super) extended_master_secret: bool,
    pub(super) negotiated: Negotiated,
    pub(super) remarks: Remarks,
    /// Whether the server chose the application protocol that was offered.
    pub(super) is_protocol_agreed: bool,
    /// Of the ServerHello.
    pub(super) session_id: Vec<u8>,
    pub(super) ticket: Ticket,
    /// Whether the server's session is kept.
    pub(super) keeps_session: bool,
    /// Whether the server's records are protected from now on.
    pub(super) has_changed: bool,
}

/// A ticket of the server.
pub(super) enum Ticket {
    None,
    /// The ServerHello has announced one (RFC 5077, section 3.2).
    Promised,
    Received(Vec<u8>),
}

impl FinishedSent {
    /// Whether the server may change to protected records.
    pub(super) fn may_change(&self) -> bool {
        !self.has_changed && !matches!(self.ticket, Ticket::Promised)
    }

    /// Whether the client's records are protected.
    pub(super) fn is_protected(&self) -> bool {
        !self.negotiated.resumed
    }

    /// Takes a message, with its header of four bytes. Whether it was the server's Finished, which
    /// confirms the keys.
    pub(super) fn take(&mut self, message: &[u8], to_send: &mut Vec<u8>) -> Result<bool, Refusal> {
        let (kind, body) = (message[0], &message[4..]);
        match kind {
            kind::FINISHED if self.has_changed => {
                let expected = self.master.finished(Side::Server, &self.transcript.hash());
                if expected != body {
                    return Err(Refusal::unauthentic(
                        "a Finished that does not match the handshake",
                    ));
                }
                if self.negotiated.resumed {
                    self.transcript.add(message);
                    self.send_finished(to_send)?;
                }
                Ok(true)
            }
            kind::NEW_SESSION_TICKET if matches!(self.ticket, Ticket::Promised) => {
                let ticket =
                    flight::ticket(body).ok_or_else(|| Refusal::malformed("NewSessionTicket"))?;
                self.ticket = Ticket::Received(ticket.to_owned());
                self.transcript.add(message);
                Ok(false)
            }
            kind => Err(Refusal::unexpected(format!("a message of type {kind}"))),
        }
    }

    /// Sends the client's Finished.
    pub(super) fn send_finished(&mut self, to_send: &mut Vec<u8>) -> Result<(), Refusal> {
        put_records(to_send, content_type::CHANGE_CIPHER_SPEC, [3, 3], &CHANGE_CIPHER_SPEC);
        let verify_data = self.master.finished(Side::Client, &self.transcript.hash());
        let finished = message(kind::FINISHED, &verify_data);
        self.transcript.add(&finished);
        self.sealer
            .seal(content_type::HANDSHAKE, &finished, to_send)
            .ok_or_else(|| Refusal::internal("a Finished that could not be sealed"))
    }

    /// The result, once the server's Finished has confirmed the keys. Its session is kept where a later
    /// handshake is to resume it; one that was resumed stays where the server gave no other.
    pub(super) fn established(mut self, common: &Common) -> Established {
        let ticket = match &mut self.ticket {
            Ticket::Received(ticket) => std::mem::take(ticket),
            Ticket::None | Ticket::Promised => Vec::new(),
        };
        let is_resumed = self.negotiated.resumed;
        let given = flight::given(&self.session_id, &ticket, is_resumed);
        if self.keeps_session && (given.is_some() || !is_resumed) {
            let session = given.and_then(|given| self.session(given, ticket));
            common.session.keep(session);
        }
        Established {
            opener: self.opener,
            sealer: self.sealer,
            negotiated: self.negotiated,
            remarks: Remarks { given, ..self.remarks },
            is_protocol_agreed: self.is_protocol_agreed,
            post_handshake: None,
        }
    }

    /// The session; `None` if the system has no randomness.
    fn session(&self, given: GivenSession, ticket: Vec<u8>) -> Option<Session> {
        let id = match given {
            GivenSession::Id => self.session_id.clone(),
            GivenSession::Ticket => {
                let mut id = vec![0; 32];
                Buffered.fill(&mut id).ok()?;
                id
            }
        };
        Some(Session {
            id,
            ticket,
            suite: self.negotiated.suite,
            master: self.master.clone(),
            extended_master_secret: self.extended_master_secret,
            key: self.negotiated.certificate_key,
        })
    }
}
