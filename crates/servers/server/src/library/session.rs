//! What the server asks of a TLS library.

use std::io;
use std::os::fd::RawFd;

use tls::SendMode;

use crate::wire::Wire;

/// A TLS library with the settings and the certificate of one server.
pub(crate) trait TlsContext: Sync {
    type Session: Session;

    /// A connection on this wire, before its handshake.
    fn accept(&self, wire: Wire) -> io::Result<Self::Session>;
}

/// The server's side of one TLS connection. What it writes gathers in its wire, which takes
/// everything: only reading has to wait.
pub(crate) trait Session {
    fn wire(&self) -> &Wire;

    fn wire_mut(&mut self) -> &mut Wire;

    /// Takes the handshake as far as it goes. A paused one must go on before it may be dropped.
    fn handshake(&mut self) -> io::Result<Handshake>;

    /// Reads decrypted bytes; 0 is the end, orderly or not. `WouldBlock` where nothing is there.
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize>;

    /// Whether the handshake, which is complete, agreed on HTTP/2.
    fn is_http2(&self) -> bool;

    /// Encrypts the beginning of `plaintext`, and says how much of it.
    fn write(&mut self, plaintext: &[u8]) -> io::Result<usize>;

    /// How what it is given is sent. Where the kernel encrypts, that is written to its wire as over
    /// plain HTTP, not to the session.
    fn send_mode(&self) -> SendMode {
        SendMode::User
    }

    /// Writes close_notify, where that gathers after what was written.
    fn close(&mut self);

    /// Writes close_notify, where that does not gather: all else is sent.
    fn close_when_sent(&mut self) {}

    /// The client is gone without a close_notify, which is no reason to forget its session.
    fn abandon(&mut self);
}

/// How far a handshake is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Handshake {
    Complete,
    /// Something must be read first.
    Unready,
    /// The accelerator must answer first.
    Paused(Pause),
}

/// What a paused handshake waits for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// The answer to this operation, which is polled for.
    Answer(offload::Ticket),
    /// One of its descriptors becomes readable; these are new. They stay open while it is paused.
    Event(Vec<RawFd>),
}
