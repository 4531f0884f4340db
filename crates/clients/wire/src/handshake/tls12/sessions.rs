//! The newest session that a server gave, so that later handshakes can resume it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::tls::{CertificateKey, Suite};

use super::secrets::Master;

/// A session, which may be resumed any number of times.
pub(super) struct Session {
    /// By which the server resumes it (RFC 5246, section 7.3), or the client's own, whose return means
    /// that the server has accepted the ticket (RFC 5077, section 3.4).
    pub(super) id: Vec<u8>,
    /// Empty where the server keeps the session itself.
    pub(super) ticket: Vec<u8>,
    pub(super) suite: &'static Suite,
    pub(super) master: Master,
    pub(super) extended_master_secret: bool,
    /// The kind of the server's key.
    pub(super) key: Option<CertificateKey>,
}

/// One per thread, so the lock is never contended.
#[derive(Default)]
pub(super) struct KeptSession(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    session: Option<Arc<Session>>,
    /// Whether sessions are kept and none is used.
    is_collecting: bool,
}

impl KeptSession {
    pub(super) fn collect(&self, is_collecting: bool) {
        self.lock().is_collecting = is_collecting;
    }

    pub(super) fn is_collecting(&self) -> bool {
        self.lock().is_collecting
    }

    pub(super) fn to_offer(&self) -> Option<Arc<Session>> {
        let kept = self.lock();
        kept.session.clone().filter(|_| !kept.is_collecting)
    }

    pub(super) fn keep(&self, session: Option<Session>) {
        self.lock().session = session.map(Arc::new);
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
