use serde::de::DeserializeOwned;
use targets::{CryptoFacts, ServerCounts, ServerFacts};
use trial::Machine;
use units::Nanos;

use crate::request::ServerQuery;
use crate::{LocalServer, RemoteServer};

/// A server that toll started, on whichever machine. Dropping one of this machine stops it; one of another
/// machine runs until it is restarted or its agent ends.
///
/// Each error is one line.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a run has few of them")]
pub enum RunningServer {
    Local(LocalServer),
    Remote(RemoteServer),
}

impl RunningServer {
    /// What it is, and where.
    pub fn facts(&self) -> &ServerFacts {
        match self {
            Self::Local(server) => &server.facts,
            Self::Remote(server) => &server.facts,
        }
    }

    /// Its first process, where that is one of this machine.
    pub fn process(&self) -> Option<u32> {
        match self {
            Self::Local(server) => Some(server.pid()),
            Self::Remote(_) => None,
        }
    }

    /// Whether its machine can no longer be asked; a new start may change that.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Remote(server) if server.is_lost())
    }

    /// # Errors
    /// It is no longer the server that was started.
    pub fn check_alive(&self) -> Result<(), String> {
        self.ask(ServerQuery::IsAlive)
    }

    /// How it ended; see [`targets::Running::death`]. The loss of its agent is its own.
    pub fn death(&self) -> Option<String> {
        self.ask::<()>(ServerQuery::HasDied).err()
    }

    /// What [`targets::Program`] says of it, like the next.
    pub fn counts(&self) -> Result<ServerCounts, String> {
        self.ask(ServerQuery::Counts)
    }

    pub fn crypto(&self) -> Result<Option<CryptoFacts>, String> {
        self.ask(ServerQuery::Crypto)
    }

    /// Lets it run on all CPUs that toll may use there, until [`pin`](Self::pin).
    pub fn spread(&self) -> Result<(), String> {
        self.ask(ServerQuery::Spread)
    }

    pub fn pin(&self) -> Result<(), String> {
        self.ask(ServerQuery::Pin)
    }

    /// What its processes have used of CPUs; `None` where they are gone.
    pub fn cpu_time(&self) -> Option<Nanos> {
        self.ask(ServerQuery::CpuTime).ok()
    }

    /// The machine as a trial of it sees it.
    ///
    /// # Errors
    /// The server is gone.
    pub fn machine(&self) -> Result<Box<dyn Machine>, String> {
        match self {
            Self::Local(server) => server.machine(),
            Self::Remote(server) => server.machine(),
        }
    }

    fn ask<T: DeserializeOwned>(&self, query: ServerQuery) -> Result<T, String> {
        match self {
            Self::Local(server) => serde_json::from_value(server.answer(query)?)
                .map_err(|error| format!("{query:?} of {}: {error}", server.facts.name)),
            Self::Remote(server) => server.ask(query),
        }
    }
}
