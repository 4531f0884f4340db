//! What differs between the servers that toll starts.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::launch_context::LaunchContext;
use crate::process::START_LIMIT;
use crate::program::Binary;
use crate::ready::{self, Unready};
use crate::running::{Running, Started};
use crate::{AcceleratorCounts, CryptoFacts, SendCounters, Settings, TargetError, library};

/// The program of a server: what differs between servers. The rest is done once for all, in
/// [`start`](crate::start): folders, key and certificate, ports, process, waiting, logs.
pub trait Program: Sync {
    /// Which file is run.
    fn binary(&self) -> Binary;

    /// Refuses settings that it cannot carry out, and says what to do.
    ///
    /// # Errors
    /// [`TargetError::Settings`].
    fn check(&self, _settings: &Settings) -> Result<(), TargetError> {
        Ok(())
    }

    /// Server and TLS library, such as `nginx/1.22.1, OpenSSL 3.0.22`.
    ///
    /// # Errors
    /// The file at `binary` cannot be run, or is not this server with a TLS library.
    fn version(&self, binary: &Path, settings: &Settings) -> Result<String, TargetError>;

    /// The files of its configuration, by their names in the context's folder.
    ///
    /// # Errors
    /// It cannot express a path, or cannot carry out the settings.
    fn files(&self, _site: &LaunchContext<'_>) -> Result<Vec<(&'static str, String)>, TargetError> {
        Ok(Vec::new())
    }

    /// Prepares what is not in these files, and lets the server itself check its configuration.
    ///
    /// # Errors
    /// A file cannot be written, or the server refuses what is in its configuration.
    fn configure(&self, _site: &mut LaunchContext<'_>) -> Result<(), TargetError> {
        Ok(())
    }

    /// How the configured server is started. For the commands that a dry run shows this is asked
    /// without a configuration, and with ports of 0.
    fn launch(&self, context: &LaunchContext<'_>) -> Invocation;

    /// One look at whether it answers, which ends by `deadline`.
    ///
    /// # Errors
    /// Why it is not ready yet, or never will be.
    fn ready(&self, context: &LaunchContext<'_>, deadline: Instant) -> Result<Started, Unready> {
        let started = context.started();
        ready::attempt(started.http, started.https, context.smallest, deadline)?;
        Ok(started)
    }

    /// The time that it has from its start until it answers.
    fn start_limit(&self) -> Duration {
        START_LIMIT
    }

    /// For a server that writes an `error.log`: which of its lines tell of the loss of a process
    /// that the server itself replaces.
    fn incidents(&self) -> Option<fn(&str) -> bool> {
        None
    }

    /// What it has sent by its own count, where it counts that. Asked before and after each load.
    ///
    /// # Errors
    /// It does not say.
    fn sent(&self, _server: &Running) -> Result<Option<SendCounters>, TargetError> {
        Ok(None)
    }

    /// What its accelerator of private keys did, where it has one that counts. Asked before and after each
    /// load; the largest number of operations at once is that since it was asked last.
    ///
    /// # Errors
    /// It does not say.
    fn accelerated(&self, _server: &Running) -> Result<Option<AcceleratorCounts>, TargetError> {
        Ok(None)
    }

    /// All that it counts, and its backend. Asked before and after each load.
    ///
    /// # Errors
    /// It does not say.
    fn counts(&self, server: &Running) -> Result<ServerCounts, TargetError> {
        Ok(ServerCounts {
            orders: self.orders(server)?,
            sent: self.sent(server)?,
            backend: server.backend_served()?,
            accelerated: self.accelerated(server)?,
            foreign: server.foreign_files()?,
        })
    }

    /// Why this version of it writes to the kernel's TLS where it should use `sendfile`, if it does.
    fn lacks_sendfile(&self, _version: &str) -> Option<String> {
        None
    }

    /// How many orders it has taken, where it is a shop. Asked before and after each load.
    ///
    /// # Errors
    /// It does not answer.
    fn orders(&self, _server: &Running) -> Result<Option<u64>, TargetError> {
        Ok(None)
    }

    /// What its cryptography runs on and costs, where its description has a choice of that. Asked
    /// once, after the first load, when its code is compiled.
    ///
    /// # Errors
    /// It does not answer.
    fn crypto(
        &self,
        _server: &Running,
        _settings: &Settings,
    ) -> Result<Option<CryptoFacts>, TargetError> {
        Ok(None)
    }

    /// The files of the TLS library that it is expected to map, by the start of their names.
    fn libraries(&self) -> &'static [&'static str] {
        &library::OPENSSL
    }
}

/// What a server has counted since it started, where it counts that.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ServerCounts {
    /// Of a shop.
    pub orders: Option<u64>,
    pub sent: Option<SendCounters>,
    /// What its backend has served.
    pub backend: Option<SendCounters>,
    /// What its accelerator of private keys did.
    pub accelerated: Option<AcceleratorCounts>,
    /// The files that it has mapped now and that are not those of the system that it was to come from.
    #[serde(default)]
    pub foreign: Vec<String>,
}

/// How a server is started. All of it is pinned to the CPUs of its settings.
#[derive(Debug, Default)]
pub struct Invocation {
    /// The words after the program.
    pub arguments: Vec<OsString>,
    /// Variables beside those of the settings.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether it has processes of its own, which it ends on SIGTERM and leaves on SIGKILL.
    pub has_children: bool,
    /// Whether it listens without SO_REUSEPORT, so that its ports cannot stay reserved. They are
    /// free for a moment then; if another program takes one meanwhile, the server says so.
    pub needs_free_ports: bool,
    /// The file of its standard output, where that is not the log.
    pub stdout: Option<&'static str>,
}
