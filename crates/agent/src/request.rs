//! What toll and its agent say to each other: a request is a line of JSON, and so is its answer.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use cpus::CpuList;
use objects::Files;
use observe::{CpuSeries, InterruptTime, KernelTlsCounters};
use serde::{Deserialize, Serialize};
use serde_with::{DisplayFromStr, serde_as};
use targets::{Facts, Settings, Target};
use tls::{Group, Suite, Version};
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
pub(crate) enum Request {
    /// What the machine is: [`observe::Machine`].
    Machine { cpus: CpuList },
    /// What disturbs it now, a clause each.
    Noise,
    /// Makes the objects that servers serve; answers why they are not in memory, where they are not.
    Objects { sizes: Vec<Bytes>, files: Vec<Files> },
    /// Reserves the ports of a server, and answers this number there until the server starts; answers
    /// with their addresses.
    Reserve { listen: Vec<IpAddr>, nonce: String },
    /// Starts a server on the ports that were reserved last: [`Begun`].
    Start(Box<Wanted>),
    /// Ends a server and starts another process of it, on the ports that were reserved last.
    Restart(usize, Box<Wanted>),
    /// What servers have written, by the path below the folder of logs.
    Logs,
    /// Asks a server.
    Ask(usize, Question),
    /// Begins to watch the machine with this server for a trial.
    Watch(usize),
    /// Looks at what is watched.
    Look(Look),
}

/// What a server is started with, but for what its machine decides.
#[serde_as]
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Wanted {
    /// Its description.
    pub target: Target,
    /// As in [`Settings`], like the others.
    pub versions: Vec<Version>,
    #[serde_as(as = "Vec<DisplayFromStr>")]
    pub suites: Vec<&'static Suite>,
    pub groups: Vec<Group>,
    pub connections: usize,
}

impl Wanted {
    /// All that the server is started with here.
    #[must_use]
    pub fn settings(self) -> Settings {
        let Self { target, versions, suites, groups, connections } = self;
        Settings { versions, suites, groups, connections, ..Settings::of(target) }
    }
}

/// A server that was started.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Begun {
    /// Its number in requests.
    pub(crate) server: usize,
    pub(crate) facts: Facts,
    /// In PEM form.
    pub(crate) certificate: String,
}

/// What a server is asked; see [`crate::RunningServer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Question {
    IsAlive,
    Death,
    Orders,
    Sent,
    Accelerated,
    Crypto,
    Spread,
    Pin,
    CpuTime,
}

/// A look at the machine with a server; see [`trial::Machine`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Look {
    CoreHz(usize),
    FindServer,
    ServerChange,
    ServerThreads,
    /// The interfaces on the way to the clients at these addresses.
    FindLinks(Vec<IpAddr>),
    /// The listeners at this address.
    FindListeners(SocketAddr),
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

/// What the kernel counted of TLS.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum KernelTls {
    Counted(KernelTlsCounters),
    NoLayer,
    Unknown(String),
}

/// What each CPU did.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Series {
    pub(crate) series: Result<CpuSeries, String>,
    pub(crate) interrupt_time: Option<InterruptTime>,
}

/// The answer to a request, whose type follows from that.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    Done(serde_json::Value),
    Refused(Refusal),
}

impl Request {
    /// How long its answer may take.
    pub(crate) fn limit(&self) -> Duration {
        Duration::from_secs(match self {
            // A server has up to two minutes to answer, and its predecessor some seconds to end.
            Self::Start(_) | Self::Restart(..) => 150,
            // Gigabytes may have to be written.
            Self::Objects { .. } => 300,
            Self::Machine { .. } | Self::Noise => 60,
            Self::Ask(_, Question::Crypto) => 60,
            _ => 10,
        })
    }
}
