//! The sessions that a load thread keeps, so that later handshakes can resume them.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

use super::offer::Offer;

/// The most tickets that the clients of a thread keep; then the oldest is dropped. rustls would keep eight,
/// but many connections may get a ticket before the first of them starts again.
const MOST_TICKETS: usize = 4096;
/// How many each client of a thread may keep however many there are.
const LEAST_TICKETS: usize = 4;

/// Sessions with the one server and name that a client has. The lock is never contended: each thread has
/// clients of its own.
#[derive(Debug)]
pub(super) struct Sessions {
    most: usize,
    remembered: Mutex<Remembered>,
}

#[derive(Debug, Default)]
struct Remembered {
    /// Whether sessions are kept and none is used.
    is_collecting: bool,
    group: Option<NamedGroup>,
    /// Of TLS 1.2; may be resumed any number of times.
    session: Option<Tls12ClientSessionValue>,
    /// Of TLS 1.3, the newest last; each is used once (RFC 8446, appendix C.4).
    tickets: VecDeque<Tls13ClientSessionValue>,
    /// Whether the handshake that is being begun was given one.
    is_offered: bool,
}

impl Sessions {
    pub(super) fn of(offer: &Offer) -> Self {
        let (_, count) = offer.client;
        let most = (MOST_TICKETS / count).max(LEAST_TICKETS);
        Self { most, remembered: Mutex::default() }
    }

    /// Whether sessions are only kept from now on.
    pub(super) fn collect(&self, is_collecting: bool) {
        self.lock().is_collecting = is_collecting;
    }

    pub(super) fn is_collecting(&self) -> bool {
        self.lock().is_collecting
    }

    /// Whether a handshake that was begun since the last call was given a session to offer.
    pub(super) fn take_offered(&self) -> bool {
        std::mem::take(&mut self.lock().is_offered)
    }

    fn lock(&self) -> MutexGuard<'_, Remembered> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSessionStore for Sessions {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.lock().group = Some(group);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.lock().group
    }

    fn set_tls12_session(&self, _: ServerName<'static>, session: Tls12ClientSessionValue) {
        self.lock().session = Some(session);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        let mut remembered = self.lock();
        let session = remembered.session.clone().filter(|_| !remembered.is_collecting);
        remembered.is_offered |= session.is_some();
        session
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.lock().session = None;
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        let mut remembered = self.lock();
        if remembered.tickets.len() == self.most {
            remembered.tickets.pop_front();
        }
        remembered.tickets.push_back(ticket);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        let mut remembered = self.lock();
        let ticket = if remembered.is_collecting { None } else { remembered.tickets.pop_back() };
        remembered.is_offered |= ticket.is_some();
        ticket
    }
}
