//! OpenSSL for the handshake, and the kernel's TLS for what is sent after it.
//!
//! OpenSSL hands its keys to the kernel only where it writes to a socket itself, so these connections
//! have a BIO of their socket instead of a [`Wire`]. What is sent after the handshake is plaintext, and
//! goes through the wire as over plain HTTP; the kernel makes records of it. OpenSSL goes on reading.
//!
//! A connection whose keys the kernel does not take (its suite is not one of the kernel's, or the module was
//! removed meanwhile) ends after its handshake: it would not be what is measured.
//!
//! OpenSSL 3.0 changes its own keys at a KeyUpdate, not the kernel's: a client that asks for new keys
//! (RFC 8446, section 4.6.3) gets no further response on that connection.

use std::io;

use openssl::error::ErrorStack;
use openssl::ssl::{Ssl, SslContext, SslOptions, SslRef};
use openssl_sys as ffi;
use tls::SendMode;

use super::jobs::{leave_jobs, paused};
use super::session::{Handshake, Session, TlsContext};
use crate::wire::Wire;

/// `SSL_OP_ENABLE_KTLS` and `BIO_CTRL_GET_KTLS_SEND`, which openssl-sys does not name.
pub(super) const ENABLE_KTLS: SslOptions = SslOptions::from_bits_retain(1 << 3);
const GET_KTLS_SEND: libc::c_int = 73;

/// A context whose connections give their keys to the kernel.
pub(crate) struct KernelTls {
    context: SslContext,
    /// How they send.
    mode: SendMode,
}

impl KernelTls {
    pub(crate) fn new(context: SslContext, mode: SendMode) -> Self {
        Self { context, mode }
    }
}

impl TlsContext for KernelTls {
    type Session = KernelSession;

    fn accept(&self, wire: Wire) -> io::Result<KernelSession> {
        let mut ssl = Ssl::new(&self.context)?;
        sys::read_and_write_socket(&mut ssl, wire.descriptor())?;
        Ok(KernelSession { ssl, wire, mode: self.mode, is_kernels: false })
    }
}

/// OpenSSL goes before the wire, whose socket its BIO has.
pub(crate) struct KernelSession {
    ssl: Ssl,
    wire: Wire,
    mode: SendMode,
    /// Whether the kernel encrypts what is written to the socket; before, OpenSSL does.
    is_kernels: bool,
}

impl Session for KernelSession {
    fn wire(&self) -> &Wire {
        &self.wire
    }

    fn wire_mut(&mut self) -> &mut Wire {
        &mut self.wire
    }

    fn handshake(&mut self) -> io::Result<Handshake> {
        let outcome = match sys::accept(&mut self.ssl) {
            Ok(Some(0)) => Err(io::ErrorKind::UnexpectedEof.into()),
            outcome => outcome,
        };
        if let Some(pause) = paused(&self.ssl) {
            return Ok(Handshake::Paused(pause));
        }
        // A handshake that fails after the keys went to the kernel is one that the kernel counts.
        self.is_kernels = sys::is_kernels(&self.ssl);
        match outcome? {
            None => Ok(Handshake::Unready),
            Some(_) if !self.is_kernels => {
                Err(io::Error::other("the kernel does not take the keys of this connection"))
            }
            Some(_) => {
                leave_jobs(&self.ssl);
                Ok(Handshake::Complete)
            }
        }
    }

    fn send_mode(&self) -> SendMode {
        if self.is_kernels { self.mode } else { SendMode::User }
    }

    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        sys::read(&mut self.ssl, room)?.ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }

    fn is_http2(&self) -> bool {
        self.ssl.selected_alpn_protocol() == Some(http2::ALPN)
    }

    /// The kernel encrypts it.
    fn write(&mut self, plaintext: &[u8]) -> io::Result<usize> {
        self.wire.gather(plaintext);
        Ok(plaintext.len())
    }

    /// OpenSSL writes its alert past the wire, so this waits for
    /// [`close_when_sent`](Self::close_when_sent).
    fn close(&mut self) {}

    fn close_when_sent(&mut self) {
        if self.is_kernels {
            sys::shut_down(&mut self.ssl);
        }
    }

    fn abandon(&mut self) {
        sys::forget_shutdown(&mut self.ssl);
    }
}

/// Calls of OpenSSL that its bindings have for streams of Rust only.
mod sys {
    use super::*;

    use std::ffi::c_int;
    use std::os::fd::RawFd;

    use foreign_types::ForeignTypeRef;

    /// `SSL_ERROR_WANT_ASYNC`, which openssl-sys does not name.
    const WANT_ASYNC: c_int = 9;

    /// The most that one call reads.
    fn length(bytes: usize) -> c_int {
        c_int::try_from(bytes).unwrap_or(c_int::MAX)
    }

    /// Lets a session read and write this socket, which must outlive it.
    pub(super) fn read_and_write_socket(ssl: &mut SslRef, socket: RawFd) -> io::Result<()> {
        // SAFETY: the BIO is new and not null; the session takes it over, for both directions.
        unsafe {
            let bio = ffi::BIO_new_socket(socket, 0);
            if bio.is_null() {
                return Err(ErrorStack::get().into());
            }
            ffi::SSL_set_bio(ssl.as_ptr(), bio, bio);
        }
        Ok(())
    }

    /// Whether the kernel has taken the keys to send with.
    pub(super) fn is_kernels(ssl: &SslRef) -> bool {
        // SAFETY: the session has a BIO to write to; the command has neither number nor pointer.
        unsafe {
            let bio = ffi::SSL_get_wbio(ssl.as_ptr());
            ffi::BIO_ctrl(bio, GET_KTLS_SEND, 0, std::ptr::null_mut()) > 0
        }
    }

    pub(super) fn accept(ssl: &mut SslRef) -> io::Result<Option<usize>> {
        // SAFETY: the session is valid while borrowed.
        call(ssl, |ssl| unsafe { ffi::SSL_accept(ssl) })
    }

    pub(super) fn read(ssl: &mut SslRef, room: &mut [u8]) -> io::Result<Option<usize>> {
        // SAFETY: the memory is as long as it is said to be.
        call(ssl, |ssl| unsafe { ffi::SSL_read(ssl, room.as_mut_ptr().cast(), length(room.len())) })
    }

    /// The count of a call, 0 at the orderly end; `None` where the socket has to be waited for.
    fn call(
        ssl: &mut SslRef,
        call: impl FnOnce(*mut ffi::SSL) -> c_int,
    ) -> io::Result<Option<usize>> {
        // SAFETY: errors are of this thread; those that another call left would be taken for this
        // one's. The session is valid while borrowed.
        unsafe {
            ffi::ERR_clear_error();
            let outcome = call(ssl.as_ptr());
            if outcome > 0 {
                return Ok(Some(outcome as usize));
            }
            match ffi::SSL_get_error(ssl.as_ptr(), outcome) {
                ffi::SSL_ERROR_ZERO_RETURN => Ok(Some(0)),
                ffi::SSL_ERROR_WANT_READ | ffi::SSL_ERROR_WANT_WRITE | WANT_ASYNC => Ok(None),
                ffi::SSL_ERROR_SYSCALL => Err(io::Error::last_os_error()),
                _ => Err(ErrorStack::get().into()),
            }
        }
    }

    /// Writes close_notify; that of the client is not waited for.
    pub(super) fn shut_down(ssl: &mut SslRef) {
        // SAFETY: the session is valid while borrowed.
        unsafe {
            ffi::SSL_shutdown(ssl.as_ptr());
            ffi::ERR_clear_error();
        }
    }

    /// Takes the connection for one that both sides have ended.
    pub(super) fn forget_shutdown(ssl: &mut SslRef) {
        // SAFETY: the session is valid while borrowed.
        unsafe {
            ffi::SSL_set_shutdown(
                ssl.as_ptr(),
                ffi::SSL_SENT_SHUTDOWN | ffi::SSL_RECEIVED_SHUTDOWN,
            );
        }
    }
}
