//! What a study is once its file is read: cells to measure, and the answers that they are to give.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use cpus::CpuList;
use load::{Arrival, Close, KeyExchangeMode, Mix, OneIn, Operation, Percent, Receive, Url};
use peers::{Offer, Peer};
use serde::{Deserialize, Serialize};
use targets::{CommandLine, Environment, LibraryPath};
use tls::{CertificateKey, Group, Suite, Version};
use units::Nanos;

use crate::cpu_order::CpuOrder;
use crate::find::Find;
use crate::primitive::{Primitives, Table};
use crate::reference::Published;

/// A question, the cells that answer it, and how often each is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// Its name, as in `toll run NAME`.
    pub name: String,
    /// What it asks, one sentence.
    pub question: String,
    /// What the order of the trials follows from, and what is random within them.
    pub seed: u64,
    /// How often each cell is measured, at least once.
    pub trials: u32,
    /// In the order of the file: case by case, the last swept key changing fastest.
    pub cells: Vec<Cell>,
    /// In the order of the file.
    pub answers: Vec<AnswerRule>,
    /// What is measured without a server.
    pub primitives: Primitives,
    /// The name of the published measurement that it repeats.
    pub reference: Option<String>,
    /// What was cut from the study as its author wrote it, a clause each: by a scale, by `--only`, or
    /// because this machine has fewer CPUs.
    pub cut: Vec<String>,
}

/// One combination of a case's sweep: a server, and what it is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The case's name.
    pub case: String,
    /// Unique in the study: the case's name and a number, `bulk-0003`.
    pub name: String,
    /// The swept keys with the values that they have here, as they are written in a study file.
    pub params: BTreeMap<String, String>,
    /// The server.
    pub target: TargetSpec,
    /// What it is asked to do. Where a search finds the load, the smallest that is tried.
    pub load: LoadSpec,
    /// What is searched for, where the load is not given.
    pub find: Option<Find>,
    /// Where the server was given a number of cores: all CPUs that it could have had, in the order in
    /// which they are taken.
    pub pool: Option<CpuOrder>,
}

/// A server under test. Cells with the same one share one running server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetSpec {
    /// Which program.
    pub server: Server,
    /// What to do where it is not installed.
    pub if_missing: IfMissing,
    /// One worker is pinned to each.
    pub cpus: CpuList,
    /// The kind of key of its certificate.
    pub certificate_key: CertificateKey,
    /// Whether it gives session tickets.
    pub tickets: bool,
    /// Whether it keeps sessions of TLS 1.2.
    pub session_cache: bool,
    /// Whether it agrees to encrypt-then-MAC (RFC 7366).
    pub encrypt_then_mac: bool,
    /// What it is not to choose itself.
    pub only: Only,
    /// Where its TLS library comes from.
    pub library_path: LibraryPath,
    /// Variables of its environment.
    pub environment: Environment,
}

/// The one version, suite and group of TLS that a server offers; what is `None` it chooses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Only {
    /// The version.
    pub version: Option<Version>,
    /// The suite.
    pub suite: Option<&'static Suite>,
    /// The group.
    pub group: Option<Group>,
}

/// A server that a study can measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Server {
    /// The one that toll brings along.
    Embedded,
    /// nginx.
    Nginx,
    /// HAProxy, in front of an embedded server.
    Haproxy,
    /// One of the user's own, which toll starts.
    Command(CommandLine),
    /// One that runs already.
    Address(Address),
}

/// A server that toll does not start, configure or stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// What to ask for.
    pub url: Url,
    /// Its process, where it is one of this machine.
    pub pid: Option<u32>,
    /// Whether it may be loaded though it is not at a loopback address.
    pub i_operate_this_host: bool,
}

/// What to do where a server is not installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfMissing {
    /// Leave its cells out, and say so.
    Skip,
    /// Measure nothing.
    Fail,
}

/// What the clients of a cell do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadSpec {
    /// What makes the load.
    pub client: LoadClient,
    /// One load thread is pinned to each.
    pub cpus: CpuList,
    /// What one operation is.
    pub operation: Operation,
    /// When operations are meant to start.
    pub arrival: Arrival,
    /// The generated objects that are asked for; not used by handshakes.
    pub object: Mix,
    /// How many connections are open at once.
    pub connections: usize,
    /// What is spoken on them.
    pub protocol: Protocol,
    /// How bodies are received.
    pub receive: Receive,
    /// The share that is verified.
    pub verify: OneIn,
    /// How long the load grows before the warm-up, and shrinks behind the window.
    pub ramp: Nanos,
    /// Loaded and not counted.
    pub warmup: Nanos,
    /// The measured window.
    pub duration: Nanos,
    /// An operation without progress for so long has failed.
    pub timeout: Nanos,
    /// How connections are ended.
    pub close: Close,
    /// A PEM file of certificates to trust, in the place of the one that the server was given.
    pub ca: Option<PathBuf>,
    /// Whether any certificate will do.
    pub insecure: bool,
}

/// What makes a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadClient {
    /// toll's own engine.
    Toll,
    /// Another program, whose counts are its own word.
    Other(Peer),
}

/// What is spoken on a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP without TLS.
    Plain,
    /// HTTPS; what is `None` is left open, as in [`load::TlsPlan`].
    Tls {
        /// The only version to offer.
        version: Option<Version>,
        /// The only suite to offer.
        suite: Option<&'static Suite>,
        /// The only group to offer.
        group: Option<Group>,
        /// Whether to offer encrypt-then-MAC.
        encrypt_then_mac: Option<bool>,
        /// The client's part in the key exchange.
        key_exchange: Option<KeyExchangeMode>,
        /// The share of connections that resume a session.
        resumption: Percent,
    },
}

/// How an answer is found: one figure of the cells of a case, over the values of one swept key.
/// Where the case sweeps other keys too, there is an answer for each combination of those.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerRule {
    /// The case.
    pub case: String,
    /// Which figure.
    pub metric: Metric,
    /// The swept key whose values are compared.
    pub compare: String,
    /// The value that the others are compared with.
    pub baseline: String,
    /// Another swept key, whose values make one answer and one curve instead of an answer each.
    pub along: Option<String>,
    /// The figure of the study's reference that stands beside it.
    pub published: Option<Published>,
    /// Numbers of cores to which what was measured is projected.
    pub project: Vec<u32>,
}

/// A figure of a trial that an answer is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Completed operations a second.
    Rate,
    /// Proven body bits a second.
    Goodput,
    /// Completed operations per CPU-second of the server: what one core does in a second.
    RatePerServerCpu,
    /// Proven body bits per CPU-second of the server.
    GoodputPerServerCpu,
    /// The share of the baseline's goodput per server CPU-second that is lost; the baseline is plain
    /// HTTP.
    TlsTax,
}

impl Study {
    /// The names of its cells.
    pub fn cell_names(&self) -> impl Iterator<Item = &str> {
        self.cells.iter().map(|cell| cell.name.as_str())
    }

    /// Measures each cell and each table of primitives so often; what changes is told in
    /// [`cut`](Self::cut).
    pub fn measure_so_often(&mut self, times: u32) {
        if self.trials != times && !self.cells.is_empty() {
            self.cut.push(format!("trials = {times} instead of {}", self.trials));
        }
        self.trials = times;
        for table in self.primitives.tables.iter_mut().filter(|table| table.rounds != times) {
            let Table { name, rounds, .. } = table;
            self.cut.push(format!("rounds = {times} instead of {rounds} (primitives {name})"));
            table.rounds = times;
        }
    }
}

impl Server {
    /// The name in study files.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Nginx => "nginx",
            Self::Haproxy => "haproxy",
            Self::Command(_) => "command",
            Self::Address(_) => "address",
        }
    }

    /// Whether toll tells it what to negotiate; others have settings of their own.
    #[must_use]
    pub fn is_configured(&self) -> bool {
        matches!(self, Self::Embedded | Self::Nginx | Self::Haproxy)
    }

    /// What it leaves to clients of which the study asks for a version, a suite or a group.
    #[must_use]
    pub fn offer(&self) -> Offer {
        if self.is_configured() { Offer::AsPlanned } else { Offer::Anything }
    }
}

impl TargetSpec {
    /// The CPUs that the server is pinned to, where toll does that.
    #[must_use]
    pub fn pinned_to(&self) -> Option<&CpuList> {
        match self.server {
            Server::Address(_) => None,
            _ => Some(&self.cpus),
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Only {
    /// Nothing else than what a load asks for, where toll can tell the server so.
    #[must_use]
    pub fn of(server: &Server, protocol: &Protocol) -> Self {
        match *protocol {
            Protocol::Tls { version, suite, group, .. } if server.is_configured() => {
                Self { version, suite, group }
            }
            Protocol::Plain | Protocol::Tls { .. } => Self::default(),
        }
    }
}

impl LoadClient {
    /// The name in study files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Toll => "toll",
            Self::Other(peer) => peer.name(),
        }
    }
}

impl fmt::Display for LoadClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Metric {
    /// The name in study files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Goodput => "goodput",
            Self::RatePerServerCpu => "rate-per-server-cpu",
            Self::GoodputPerServerCpu => "goodput-per-server-cpu",
            Self::TlsTax => "tls-tax",
        }
    }
}

impl LoadSpec {
    /// The objects, where a load asks for more than one.
    #[must_use]
    pub fn mixed_objects(&self) -> Option<Mix> {
        let is_mixed = self.operation != Operation::Handshakes && self.object.only().is_none();
        is_mixed.then(|| self.object.clone())
    }
}

impl Protocol {
    /// Whether it is TLS.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        matches!(self, Self::Tls { .. })
    }
}
