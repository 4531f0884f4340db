//! OpenSSL for the handshake, and the kernel's TLS for what is sent after it.
//!
//! OpenSSL hands its keys to the kernel only where it writes to a socket itself, so these connections
//! have a BIO of their socket instead of a [`Wire`]. What is sent after the handshake is plaintext, and
//! goes through the wire as over plain HTTP; the kernel makes records of it. OpenSSL goes on reading.
//!
//! Where the kernel does not take the keys (it has no TLS layer, or not this suite), OpenSSL encrypts
//! into memory, which is moved to the wire: the connection is served all the same, and counted as one
//! of user space.
//!
//! OpenSSL 3.0 changes its own keys at a KeyUpdate, not the kernel's: a client that asks for new keys
//! (RFC 8446, section 4.6.3) gets no further response on that connection.

use std::io;

use openssl::error::ErrorStack;
use openssl::ssl::{Ssl, SslContext, SslOptions, SslRef};
use openssl_sys as ffi;
use tls::SendMode;

use super::jobs::{leave_jobs, paused};
use super::{Handshake, Library, Session};
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

impl Library for KernelTls {
    type Session = KernelSession;

    fn accept(&self, wire: Wire) -> io::Result<KernelSession> {
        let mut ssl = Ssl::new(&self.context)?;
        sys::read_and_write_socket(&mut ssl, wire.descriptor())?;
        Ok(KernelSession { ssl, wire, wanted: self.mode, state: State::Handshake })
    }
}

/// OpenSSL goes before the wire, whose socket its BIO has.
pub(crate) struct KernelSession {
    ssl: Ssl,
    wire: Wire,
    wanted: SendMode,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// OpenSSL writes to the socket.
    Handshake,
    /// The kernel encrypts what is written to the socket.
    Kernel,
    /// OpenSSL writes to memory.
    User,
}

impl KernelSession {
    /// Moves what OpenSSL has encrypted to the wire.
    fn gather(&mut self) {
        if self.state == State::User {
            let wire = &mut self.wire;
            sys::take_written(&mut self.ssl, |records| wire.gather(records));
        }
    }
}

impl Session for KernelSession {
    fn wire(&self) -> &Wire {
        &self.wire
    }

    fn wire_mut(&mut self) -> &mut Wire {
        &mut self.wire
    }

    fn shake_hands(&mut self) -> io::Result<Handshake> {
        let outcome = match sys::accept(&mut self.ssl) {
            Ok(Some(0)) => Err(io::ErrorKind::UnexpectedEof.into()),
            outcome => outcome,
        };
        if let Some(pause) = paused(&self.ssl) {
            return Ok(Handshake::Paused(pause));
        }
        // A handshake that fails after the keys went to the kernel is one that the kernel counts.
        if sys::is_kernels(&self.ssl) {
            self.state = State::Kernel;
        } else if matches!(outcome, Ok(Some(_))) {
            sys::write_memory(&mut self.ssl)?;
            self.state = State::User;
        }
        if outcome?.is_none() {
            return Ok(Handshake::Unready);
        }
        leave_jobs(&self.ssl);
        Ok(Handshake::Complete)
    }

    fn send_mode(&self) -> SendMode {
        if self.state == State::Kernel { self.wanted } else { SendMode::User }
    }

    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = sys::read(&mut self.ssl, room);
        self.gather();
        match count? {
            Some(count) => Ok(count),
            None => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn write(&mut self, plaintext: &[u8]) -> io::Result<usize> {
        let count = sys::write(&mut self.ssl, plaintext)?;
        self.gather();
        Ok(count.unwrap_or(0))
    }

    /// OpenSSL writes its alert past the wire, so that with the kernel's TLS this waits for
    /// [`close_when_sent`](Self::close_when_sent).
    fn close(&mut self) {
        if self.state == State::User {
            sys::shut_down(&mut self.ssl);
            self.gather();
        }
    }

    fn close_when_sent(&mut self) {
        if self.state == State::Kernel {
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

    /// The most that one call reads or writes.
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

    unsafe extern "C" {
        fn SSL_set0_wbio(ssl: *mut ffi::SSL, bio: *mut ffi::BIO);
    }

    /// Lets a session write to memory from now on.
    pub(super) fn write_memory(ssl: &mut SslRef) -> io::Result<()> {
        // SAFETY: the BIO is new and not null, and the session takes it over. The session's other
        // one has a reference of its own for reading.
        unsafe {
            let bio = ffi::BIO_new(ffi::BIO_s_mem());
            if bio.is_null() {
                return Err(ErrorStack::get().into());
            }
            SSL_set0_wbio(ssl.as_ptr(), bio);
        }
        Ok(())
    }

    /// Passes on what was written to memory, and empties that.
    pub(super) fn take_written(ssl: &mut SslRef, take: impl FnOnce(&[u8])) {
        const RESET: c_int = 1;
        let mut start: *mut libc::c_char = std::ptr::null_mut();
        // SAFETY: the session writes to a BIO of memory, whose bytes stay where they are until it is
        // emptied; it says how many there are.
        unsafe {
            let bio = ffi::SSL_get_wbio(ssl.as_ptr());
            let count = ffi::BIO_get_mem_data(bio, &mut start);
            if count > 0 {
                take(std::slice::from_raw_parts(start.cast(), count as usize));
                ffi::BIO_ctrl(bio, RESET, 0, std::ptr::null_mut());
            }
        }
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

    pub(super) fn write(ssl: &mut SslRef, bytes: &[u8]) -> io::Result<Option<usize>> {
        // SAFETY: the memory is as long as it is said to be.
        call(ssl, |ssl| unsafe { ffi::SSL_write(ssl, bytes.as_ptr().cast(), length(bytes.len())) })
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
