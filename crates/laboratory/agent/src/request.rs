//! What toll and its agent say to each other: a request is a line of JSON, and so is its answer.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use cpus::CpuList;
use objects::Files;
use observe::Transport;
use serde::{Deserialize, Serialize};
use targets::{ClientPem, ServerFacts, Settings};
use units::Bytes;

use crate::Refusal;

/// The agent's first line.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Greeting {
    /// Its build, which must be that of the toll that called it.
    pub(crate) toll: String,
    /// The address of its machine that ssh was called at, where ssh tells.
    #[serde(default)]
    pub(crate) address: Option<IpAddr>,
    /// Where its servers log to, until it ends.
    #[serde(default)]
    pub(crate) logs: PathBuf,
}

/// A line to the agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AgentRequest {
    /// What the machine is: [`observe::Machine`].
    Machine { cpus: CpuList },
    /// What disturbs it now, a clause each.
    Noise,
    /// Makes the objects that servers serve; answers why they are not in memory, where they are not.
    Objects { sizes: Vec<Bytes>, files: Vec<Files> },
    /// Reserves the ports of a server, and answers this number there until the server starts; answers
    /// with their addresses. Over UDP too where the server is loaded by datagrams.
    Reserve { listen: Vec<IpAddr>, nonce: String, datagrams: bool },
    /// Starts a server on the ports that were reserved last: [`ServerStarted`].
    Start(Box<Settings>),
    /// Ends a server and starts another process of it, on the ports that were reserved last.
    Restart(usize, Box<Settings>),
    /// What servers have written, by the path below the folder of logs.
    Logs,
    /// Asks about a server.
    Server(usize, ServerQuery),
    /// Begins to watch the machine with this server for a trial.
    Watch(usize),
    /// Asks about the machine that is watched.
    Watched(MachineQuery),
}

/// A server that was started.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ServerStarted {
    /// Its number in requests.
    pub(crate) server: usize,
    pub(crate) facts: ServerFacts,
    /// In PEM form.
    pub(crate) certificate: String,
    /// With what its clients are to authenticate themselves.
    #[serde(default)]
    pub(crate) client: Option<ClientPem>,
}

/// What is asked about a server; see [`crate::RunningServer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ServerQuery {
    IsAlive,
    HasDied,
    Counts,
    Crypto,
    Spread,
    Pin,
    CpuTime,
}

/// What is asked about the machine of a server; see [`trial::Machine`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MachineQuery {
    CoreHz(usize),
    FindServer,
    ServerChange,
    ServerThreads,
    /// The interfaces on the way to the clients at these addresses.
    FindLinks(Vec<IpAddr>),
    /// The listeners at this address.
    FindListeners(SocketAddr),
    /// Who else gets a part of what is sent to the server at this address.
    Sharers(Transport, SocketAddr),
    ServerDescriptors,
    KernelTls,
    /// What connections to the server at this address have.
    Connections(SocketAddr),
    SiblingCpus(CpuList),
    Read,
    NotePrograms,
    OtherPrograms,
    StartSeries(Duration),
    TakeSeries,
}

/// The answer to a request, whose type follows from that.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    Done(serde_json::Value),
    Refused(Refusal),
}

impl AgentRequest {
    /// How long its answer may take.
    pub(crate) fn limit(&self) -> Duration {
        Duration::from_secs(match self {
            // A server has up to two minutes to answer, and its predecessor some seconds to end.
            Self::Start(_) | Self::Restart(..) => 150,
            // Gigabytes may have to be written.
            Self::Objects { .. } => 300,
            Self::Machine { .. } | Self::Noise => 60,
            Self::Server(_, ServerQuery::Crypto) => 60,
            _ => 10,
        })
    }
}
