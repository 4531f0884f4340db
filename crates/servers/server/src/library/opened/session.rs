//! A library that was opened, and its sessions.

use std::ffi::c_void;
use std::io;

use tls::{Group, Suite};

use super::offered::lacks;
use super::wire_cell::WireCell;
use crate::error::ServerError;
use crate::library::session::{Handshake, Session, TlsContext};
use crate::settings::Settings;
use crate::wire::Wire;

/// What a library calls to accept a connection.
pub(super) trait Context: Sync {
    /// A session that sends to and receives from the wire of this cell, which lives longer.
    fn accept(&self, cell: *mut c_void) -> io::Result<Box<dyn Calls>>;
}

/// The calls of a session that differ by library.
pub(super) trait Calls {
    /// It would block where it needs more of the client.
    fn handshake(&mut self) -> io::Result<()>;
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize>;
    fn is_http2(&self) -> bool;
    fn write(&mut self, plaintext: &[u8]) -> io::Result<usize>;
    fn close(&mut self);
}

/// A server's connection. The library's session goes before the wire that it uses.
pub(crate) struct OpenedSession {
    calls: Box<dyn Calls>,
    cell: WireCell,
    /// The most plaintext of a record.
    record_size: usize,
}

/// One of these libraries, with the settings of a server.
pub(crate) struct OpenedLibrary {
    context: Box<dyn Context + Send>,
    record_size: usize,
    /// Its name and version, by its own word.
    version: String,
    /// The suites and groups that it does not have, by its own word.
    lacks: Vec<&'static str>,
}

impl OpenedLibrary {
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    pub(crate) fn lacks(&self) -> &[&'static str] {
        &self.lacks
    }

    pub(super) fn new(
        context: impl Context + Send + 'static,
        settings: &Settings,
        version: String,
        has_suite: impl Fn(&Suite) -> bool,
        has_group: impl Fn(Group) -> bool,
    ) -> Self {
        let suites = tls::SUITES.iter().filter(|suite| !has_suite(suite)).map(|suite| suite.name);
        let groups =
            Group::ALL.into_iter().filter(|group| !has_group(*group)).map(|group| group.name());
        Self {
            context: Box::new(context),
            record_size: settings.record_size.get(),
            version,
            lacks: suites.chain(groups).collect(),
        }
    }

    /// Refuses what the settings name and the library does not have.
    pub(super) fn check(self, settings: &Settings) -> Result<Self, ServerError> {
        let suites = settings.suites.iter().map(|suite| suite.name);
        let asked = suites.chain(settings.groups.iter().map(|group| group.name()));
        match asked.into_iter().find(|name| self.lacks.contains(name)) {
            Some(name) => Err(lacks(settings.library, name)),
            None => Ok(self),
        }
    }
}

impl TlsContext for OpenedLibrary {
    type Session = OpenedSession;

    fn accept(&self, wire: Wire) -> io::Result<OpenedSession> {
        let cell = WireCell::new(wire);
        let calls = self.context.accept(cell.pointer())?;
        Ok(OpenedSession { calls, cell, record_size: self.record_size })
    }
}

impl Session for OpenedSession {
    fn wire(&self) -> &Wire {
        self.cell.wire()
    }

    fn wire_mut(&mut self) -> &mut Wire {
        self.cell.wire_mut()
    }

    fn handshake(&mut self) -> io::Result<Handshake> {
        match self.calls.handshake() {
            Ok(()) => Ok(Handshake::Complete),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Handshake::Unready),
            Err(error) => Err(error),
        }
    }

    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.calls.read(room)
    }

    fn is_http2(&self) -> bool {
        self.calls.is_http2()
    }

    fn write(&mut self, plaintext: &[u8]) -> io::Result<usize> {
        self.calls.write(&plaintext[..plaintext.len().min(self.record_size)])
    }

    fn close(&mut self) {
        self.calls.close();
    }

    fn abandon(&mut self) {}
}
