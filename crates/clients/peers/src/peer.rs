use std::time::Duration;

use clap::ValueEnum;
use load::{Job, Operation};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, strum::Display, strum::IntoStaticStr)]
#[value(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Peer {
    /// wrk: many threads, requests.
    Wrk,
    /// ApacheBench: one thread, requests.
    Ab,
    /// h2load of nghttp2: many threads, requests on kept connections.
    H2load,
    /// `openssl s_time -new`: one handshake after another.
    STime,
    /// shb, on io_uring: many threads, requests.
    Shb,
}

impl Peer {
    /// The program that makes a load, where toll does not.
    pub fn of(client: load::Client) -> Option<Self> {
        Self::value_variants().iter().find(|peer| load::Client::from(**peer) == client).copied()
    }

    /// The most CPUs that it can make use of.
    pub fn most_cpus(self) -> usize {
        if self.is_threaded() { usize::MAX } else { 1 }
    }

    fn is_threaded(self) -> bool {
        matches!(self, Self::Wrk | Self::H2load | Self::Shb)
    }

    /// The program, how it is installed, and the option that prints its version, where it has one.
    pub(crate) fn program(self) -> (&'static str, &'static str, Option<&'static str>) {
        match self {
            Self::Wrk => ("wrk", "apt-get install wrk", Some("--version")),
            Self::Ab => ("ab", "apt-get install apache2-utils", Some("-V")),
            Self::H2load => ("h2load", "apt-get install nghttp2-client", Some("--version")),
            Self::STime => ("openssl", "apt-get install openssl", Some("version")),
            // With Rust from 1.91 on.
            Self::Shb => ("shb", "cargo install shb", None),
        }
    }

    /// How many threads it has while it makes its load.
    pub(crate) fn threads(self, job: &Job) -> usize {
        // The first thread starts the others and waits.
        if self.is_threaded() { job.plan.cpus.len() + 1 } else { 1 }
    }

    /// How much longer than asked it may run in good health, to print its report and, where it
    /// counts whole seconds, until the next one begins.
    pub(crate) fn slack(self) -> Duration {
        Duration::from_secs(if self == Self::STime { 2 } else { 1 })
    }

    /// Whether it prints its report on SIGINT; others end without one.
    pub(crate) fn reports_when_interrupted(self) -> bool {
        matches!(self, Self::Wrk | Self::Ab)
    }

    /// Whether it prints what a connection negotiated.
    pub(crate) fn reports_negotiated(self) -> bool {
        matches!(self, Self::Ab | Self::H2load)
    }

    /// A caution for readers of its figures.
    pub(crate) fn caution(self, job: &Job) -> &'static str {
        match (self, job.plan.operation) {
            (Self::Wrk, Operation::OneRequestPerConnection) => {
                "wrk resumes sessions wherever the server lets it, so forbid tickets and the \
                 session cache at the server; compare with a load without --client"
            }
            (Self::Wrk, _) => {
                "wrk counts 3xx as success, and the heads of responses among the bytes unless the \
                 object is a generated one; compare with a load without --client"
            }
            (Self::Ab, _) => "ab sends HTTP/1.0 requests; compare with a load without --client",
            (Self::Shb, _) => {
                "shb takes any certificate, and lingers for several answers at once (wakeups = \"coalesced\"); compare \
                 with a load without --client"
            }
            (Self::H2load | Self::STime, _) => "compare with a load without --client",
        }
    }
}

impl From<Peer> for load::Client {
    fn from(peer: Peer) -> Self {
        match peer {
            Peer::Wrk => Self::Wrk,
            Peer::Ab => Self::Ab,
            Peer::H2load => Self::H2load,
            Peer::STime => Self::STime,
            Peer::Shb => Self::Shb,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_called_as_the_clients_of_a_plan() {
        for peer in Peer::value_variants() {
            assert_eq!(Peer::of((*peer).into()), Some(*peer));
            assert_eq!(load::Client::from(*peer).to_string(), peer.to_string());
            assert_eq!(Peer::from_str(&peer.to_string(), false), Ok(*peer));
        }
        assert_eq!(Peer::of(load::Client::Toll), None);
    }
}
