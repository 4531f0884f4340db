//! What toll and its ranks say to each other, as JSON.

use std::net::{IpAddr, SocketAddr};

use load::{Outcome, Progress, Rank, Source};
use serde::{Deserialize, Serialize};
use trial::ClientFigures;

use crate::share::Share;

/// A line from toll to rank 0.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RankCommand {
    /// To one rank.
    To(usize, Order),
    /// To all but rank 0.
    All(Order),
    /// To rank 0 itself: to enter the barrier at which the others wait.
    Go,
}

/// From toll to a rank.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order {
    /// Asks whether it can load from this place.
    Place(Rank),
    /// Asks whether these addresses answer the number to connections from there.
    Prove { addresses: Vec<SocketAddr>, source: Option<Source>, nonce: String },
    /// What it loads in the next trial; nothing where it only takes part in the barrier.
    Prepare(Option<Box<Share>>),
    /// All are ready: poll often from now on, to begin soon after toll's start signal.
    Wake,
    /// toll is still there.
    Alive,
    /// To end its load, and the window if that is still open.
    Stop,
    /// To end.
    End,
}

/// From a rank to toll.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Report {
    /// Of rank 0, before all others: the MPI that it runs on.
    Mpi(String),
    /// It can load from its place; the addresses have proved to be the server's, and it looked
    /// from this address.
    CanLoad(Option<IpAddr>),
    /// Why it cannot do what was asked.
    Refused(String),
    /// It waits at the barrier.
    Ready,
    /// It waits there, and polls often.
    Awake,
    /// Its load has begun, at this time of its monotonic clock, which is meaningful only where toll has the
    /// same clock, as in tests.
    Started { clock_ns: u64 },
    /// It is there, and has done this much.
    Progress(Progress),
    /// Its load has ended.
    Done(Box<Done>),
}

/// What a rank did.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Done {
    pub(crate) outcome: Outcome,
    pub(crate) client: ClientFigures,
}
