//! One side of a connection: an `SSL` object between two memory BIOs.

use std::cell::RefCell;
use std::ffi::{CStr, c_int};
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

use tls::{Group, Suite};

use super::api::SslApi;
use crate::libraries::libcrypto::api::{Api, Ptr};
use crate::libraries::libcrypto::object::Object;
use crate::routine::Failed;
use crate::stack::{Endpoint, Kind, Negotiated};

/// Where a client keeps the session for its next connection, which takes it.
pub(super) type Session = Rc<RefCell<Option<Object>>>;

pub(super) struct End {
    pub(super) ssl: Object,
    /// What the other side sent; it belongs to `ssl`.
    pub(super) incoming: Ptr,
    /// What is for the other side; it belongs to `ssl`.
    pub(super) outgoing: Ptr,
    pub(super) session: Session,
    pub(super) api: Arc<SslApi>,
    pub(super) crypto: Arc<Api>,
}

const WANT_READ: c_int = 2;
const CONTROL_PENDING: c_int = 10;
const CONTROL_NEGOTIATED_GROUP: c_int = 134;
/// Groups by what `SSL_get_negotiated_group` returns: an NID, or the code point where OpenSSL has no NID.
const GROUPS: [(i64, Group); 4] = [
    (1034, Group::X25519),
    (415, Group::Secp256r1),
    (715, Group::Secp384r1),
    (WITHOUT_NID | 4588, Group::X25519MlKem768),
];
/// `TLSEXT_nid_unknown`
const WITHOUT_NID: i64 = 0x100_0000;
/// Close notify sent and received.
const SHUT_DOWN: c_int = 3;

impl End {
    /// That function failed, and why by OpenSSL's word.
    fn failed(&self, function: &str) -> Failed {
        let (Ok(code), Ok(reason)) =
            (self.crypto.ERR_get_error(), self.crypto.ERR_reason_error_string())
        else {
            return Failed::of(function);
        };
        // SAFETY: the first takes nothing, the second any code, and returns a constant text or null.
        let reason = unsafe { reason(code()) };
        if reason.is_null() {
            return Failed::of(function);
        }
        // SAFETY: the text is the library's constant, which is not null here.
        let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy();
        Failed::because(format_args!("{function} failed: {reason}"))
    }
}

impl Drop for End {
    /// OpenSSL never resumes a session whose connection was not shut down.
    fn drop(&mut self) {
        if let Ok(set_shutdown) = self.api.SSL_set_shutdown() {
            // SAFETY: the object lives until this returns.
            unsafe { set_shutdown(self.ssl.ptr(), SHUT_DOWN) };
        }
    }
}

impl Endpoint for End {
    fn handshake(&mut self, from_peer: &[u8], to_peer: &mut Vec<u8>) -> Result<bool, Failed> {
        self.give_records(from_peer)?;
        // SAFETY: it empties this thread's queue of errors.
        unsafe { self.crypto.ERR_clear_error()?() };
        // SAFETY: the object is one of this library.
        let answer = unsafe { self.api.SSL_do_handshake()?(self.ssl.ptr()) };
        // SAFETY: the object is one of this library, and the answer is that of its last call.
        if answer != 1 && unsafe { self.api.SSL_get_error()?(self.ssl.ptr(), answer) } != WANT_READ
        {
            return Err(self.failed("SSL_do_handshake"));
        }
        self.take_records(to_peer)?;
        Ok(answer == 1)
    }

    fn negotiated(&self) -> Result<Negotiated, Failed> {
        let unknown = || Failed::because("this libssl does not report what it negotiated");
        let api = &self.api;
        let cipher = api.SSL_get_current_cipher()?;
        let code_point = api.SSL_CIPHER_get_protocol_id()?;
        let control = api.SSL_ctrl()?;
        let reused = api.SSL_session_reused()?;
        // SAFETY: the object is one of this library.
        let cipher = unsafe { cipher(self.ssl.ptr()) };
        if cipher.is_null() {
            return Err(unknown());
        }
        // SAFETY: the cipher is a constant of the library; the object is one of it.
        let (suite, group, reused) = unsafe {
            let group = control(self.ssl.ptr(), CONTROL_NEGOTIATED_GROUP, 0, ptr::null());
            (code_point(cipher), group, reused(self.ssl.ptr()))
        };
        Ok(Negotiated {
            suite: Suite::by_code_point(suite).ok_or_else(unknown)?,
            group: GROUPS.iter().find(|(id, _)| *id == group).ok_or_else(unknown)?.1,
            kind: if reused == 1 { Kind::Resumed } else { Kind::Full },
        })
    }

    fn keep_session(&mut self) -> Result<(), Failed> {
        let get = self.api.SSL_get1_session()?;
        let is_resumable = self.api.SSL_SESSION_is_resumable()?;
        let free = self.api.SSL_SESSION_free()?;
        // SAFETY: the object is one of this library; the session is counted.
        let session = unsafe { get(self.ssl.ptr()) };
        let session = Object::new(&self.api, session, free, "SSL_get1_session")?;
        // SAFETY: the session is one of this library.
        if unsafe { is_resumable(session.ptr()) } != 1 {
            return Err(Failed::because("its server gave no ticket"));
        }
        self.session.replace(Some(session));
        Ok(())
    }

    fn seal(&mut self, message: &[u8]) -> Result<(), Failed> {
        let length = length(message)?;
        // SAFETY: the message is readable for its length.
        match unsafe { self.api.SSL_write()?(self.ssl.ptr(), message.as_ptr().cast(), length) } {
            written if written == length => Ok(()),
            _ => Err(self.failed("SSL_write")),
        }
    }

    fn take_records(&mut self, to_peer: &mut Vec<u8>) -> Result<(), Failed> {
        // SAFETY: the BIO lives as long as the object; this asks for a number alone.
        let pending =
            unsafe { self.crypto.BIO_ctrl()?(self.outgoing, CONTROL_PENDING, 0, ptr::null_mut()) };
        let pending = usize::try_from(pending).map_err(|_| Failed::of("BIO_pending"))?;
        if pending == 0 {
            return Ok(());
        }
        let start = to_peer.len();
        to_peer.resize(start + pending, 0);
        let room = &mut to_peer[start..];
        let length = length(room)?;
        // SAFETY: there is as much room.
        match unsafe { self.crypto.BIO_read()?(self.outgoing, room.as_mut_ptr().cast(), length) } {
            read if read == length => Ok(()),
            _ => Err(Failed::of("BIO_read")),
        }
    }

    fn give_records(&mut self, from_peer: &[u8]) -> Result<(), Failed> {
        if from_peer.is_empty() {
            return Ok(());
        }
        let length = length(from_peer)?;
        // SAFETY: the bytes are readable for their length.
        match unsafe { self.crypto.BIO_write()?(self.incoming, from_peer.as_ptr().cast(), length) }
        {
            written if written == length => Ok(()),
            _ => Err(Failed::of("BIO_write")),
        }
    }

    fn open(&mut self, message: &mut [u8]) -> Result<usize, Failed> {
        let length = length(message)?;
        // SAFETY: there is as much room.
        let read =
            unsafe { self.api.SSL_read()?(self.ssl.ptr(), message.as_mut_ptr().cast(), length) };
        usize::try_from(read).ok().filter(|&read| read > 0).ok_or_else(|| self.failed("SSL_read"))
    }
}

fn length(bytes: &[u8]) -> Result<c_int, Failed> {
    c_int::try_from(bytes.len()).map_err(|_| Failed::because("more bytes than OpenSSL takes"))
}
