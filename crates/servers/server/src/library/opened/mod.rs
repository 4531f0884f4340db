//! TLS libraries that are no part of toll: they are opened when they are asked for, never linked, so that toll
//! neither needs them nor is compiled with them, and two of them never meet.
//!
//! Each has a file here with the calls of its C interface. Sessions are behind one pointer, so that the server's code
//! is compiled once for all of them: a call through it takes nanoseconds, a record microseconds.

mod boringssl;
mod functions;
mod gnutls;
mod s2n;
mod shared_object;
mod wire_cell;
mod wolfssl;

use std::ffi::c_void;
use std::io;

use tls::{AskClient, Group, Identity, Stack, Suite, Version};

use super::{Handshake, Library, Session, client_authorities};
use crate::wire::Wire;
use crate::{ServerError, Settings};
use functions::functions;
use shared_object::SharedObject;
use wire_cell::WireCell;

/// What a library calls to accept a connection.
trait Context: Sync {
    /// A session that sends to and receives from the wire of this cell, which lives longer.
    fn accept(&self, cell: *mut c_void) -> io::Result<Box<dyn Calls>>;
}

/// The calls of a session that differ by library.
trait Calls {
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

    fn new(
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
    fn check(self, settings: &Settings) -> Result<Self, ServerError> {
        let suites = settings.suites.iter().map(|suite| suite.name);
        let asked = suites.chain(settings.groups.iter().map(|group| group.name()));
        match asked.into_iter().find(|name| self.lacks.contains(name)) {
            Some(name) => Err(lacks(settings.library, name)),
            None => Ok(self),
        }
    }
}

/// Opens the library of the settings, and gives it these.
///
/// # Errors
/// It is not there, cannot be opened, is too old, or does not have what the settings ask for.
pub(super) fn build(
    settings: &Settings,
    versions: &[Version],
    identity: &Identity,
) -> Result<OpenedLibrary, ServerError> {
    let library = settings.library;
    if settings.ask_client == AskClient::Ask {
        return Err(lacks(library, "--client-certificate ask in toll"));
    }
    if settings.names.is_some() {
        return Err(lacks(library, "--names in toll"));
    }
    let object = SharedObject::open(library)?;
    let build = match library {
        Stack::GnuTls => gnutls::build,
        Stack::WolfSsl => wolfssl::build,
        Stack::S2n => s2n::build,
        _ => boringssl::build,
    };
    let opened = build(&object, settings, versions, identity)?.check(settings)?;
    object.keep();
    Ok(opened)
}

fn lacks(library: Stack, lacks: impl Into<String>) -> ServerError {
    ServerError::Lacks { library, lacks: lacks.into() }
}

/// The certificates of authorities in PEM form, where clients need one that these have issued.
fn client_authorities_pem(settings: &Settings) -> Result<Option<Vec<u8>>, ServerError> {
    let all: Result<Vec<_>, _> =
        client_authorities(settings)?.iter().map(|authority| authority.to_pem()).collect();
    let what = "the authorities of clients";
    let all = all.map_err(|source| ServerError::OpenSsl { what, source })?.concat();
    Ok(Some(all).filter(|pem| !pem.is_empty()))
}

/// The suites to offer: those that are asked for, or all that toll knows and the library has.
fn offered_suites(settings: &Settings, has: impl Fn(&Suite) -> bool) -> Vec<&'static Suite> {
    match settings.suites.is_empty() {
        true => tls::SUITES.iter().filter(|suite| has(suite)).collect(),
        false => settings.suites.clone(),
    }
}

/// As [`offered_suites`].
fn offered_groups(settings: &Settings, has: impl Fn(Group) -> bool) -> Vec<Group> {
    match settings.groups.is_empty() {
        true => Group::ALL.into_iter().filter(|group| has(*group)).collect(),
        false => settings.groups.clone(),
    }
}

/// Those with tickets alone resume nothing where those are off.
fn check_resumption(settings: &Settings) -> Result<(), ServerError> {
    match settings.session_cache && !settings.tickets {
        true => Err(lacks(settings.library, "--session-cache without --tickets in toll")),
        false => Ok(()),
    }
}

impl Library for OpenedLibrary {
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
