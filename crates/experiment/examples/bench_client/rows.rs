//! What is measured: rows of work, the servers that they need, and who can make them.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;

use cpus::CpuList;
use load::{Arrival, Job, Operation, Plan, Url};
use peers::Peer;
use targets::{Settings, Target};
use tls::{CertificateKey, OrPlain, Suite, Version};
use units::{Bytes, Nanos};

use crate::goals::Goal;

/// Connections of a load that keeps many.
const CONNECTIONS: usize = 64;

/// Who makes the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Maker {
    /// toll's engine.
    Toll,
    /// Another program.
    Peer(Peer),
}

impl fmt::Display for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Toll => f.write_str("toll"),
            Self::Peer(peer) => peer.fmt(f),
        }
    }
}

/// A server that can negotiate one suite only, so that clients which cannot choose get the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// TLS 1.3, AES-128-GCM, P-256.
    ModernP256,
    /// The same, RSA-2048.
    ModernRsa,
    /// TLS 1.2, AES128-SHA, encrypt-then-MAC off.
    Cbc,
    /// TLS 1.2, AES128-GCM-SHA256.
    StaticGcm,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ModernP256 | Self::ModernRsa => "AES-128-GCM",
            Self::Cbc | Self::StaticGcm => self.suite().openssl_name,
        })
    }
}

impl Kind {
    pub(crate) const ALL: [Self; 4] =
        [Self::ModernP256, Self::ModernRsa, Self::Cbc, Self::StaticGcm];

    fn suite(self) -> &'static Suite {
        let code_point = match self {
            Self::ModernP256 | Self::ModernRsa => 0x1301,
            Self::Cbc => 0x002f,
            Self::StaticGcm => 0x009c,
        };
        Suite::by_code_point(code_point).unwrap_or_else(|| unreachable!("toll knows these suites"))
    }

    /// No tickets and no session cache: every handshake is a full one, whatever the client likes.
    pub(crate) fn settings(self, cpus: CpuList) -> Settings {
        let certificate_key = match self {
            Self::ModernP256 => CertificateKey::EcdsaP256,
            Self::ModernRsa | Self::Cbc | Self::StaticGcm => CertificateKey::Rsa(2048),
        };
        Settings {
            versions: vec![self.suite().version()],
            suites: vec![self.suite()],
            ..Settings::of(Target { cpus, certificate_key, ..Target::default() })
        }
    }
}

/// What the client's CPU time is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Per {
    /// 10^9 bytes of bodies.
    Gigabyte,
    Operation,
}

/// One line of work.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) title: String,
    pub(crate) kind: Kind,
    pub(crate) object: Bytes,
    pub(crate) operation: Operation,
    pub(crate) arrival: Arrival,
    pub(crate) per: Per,
    pub(crate) makers: &'static [Maker],
    pub(crate) goals: &'static [Goal],
}

const REQUESTS: &[Maker] =
    &[Maker::Toll, Maker::Peer(Peer::Wrk), Maker::Peer(Peer::Ab), Maker::Peer(Peer::H2load)];
const ONE_REQUEST: &[Maker] = &[Maker::Toll, Maker::Peer(Peer::Wrk), Maker::Peer(Peer::Ab)];
const HANDSHAKES: &[Maker] = &[Maker::Toll, Maker::Peer(Peer::STime)];

const LARGE: &[Goal] = &[Goal::Cheaper(Peer::Wrk, 10.0)];
const MIDDLE: &[Goal] = &[Goal::Cheaper(Peer::Wrk, 4.0)];
const SMALL: &[Goal] = &[Goal::Cheaper(Peer::Wrk, 1.25), Goal::NoSlower(Peer::Wrk)];
const ALIKE: &[Goal] = &[Goal::Alike(Kind::StaticGcm)];
const ONCE: &[Goal] =
    &[Goal::Cheaper(Peer::Wrk, 10.0), Goal::Cheaper(Peer::Ab, 10.0), Goal::Busy(0.95)];
const NONE_ASKED: &[Goal] = &[Goal::Cheaper(Peer::STime, 4.0)];

/// Between two requests of a paced connection: together 200 a second, which the slower suite's server
/// can do on a slow core too.
const PACE: Nanos = Nanos(320_000_000);

/// Both suites at one rate. In a closed loop the slower one wakes the client less often, which then
/// finds colder caches each time: that is what the rate costs, and not the suite.
fn paced(kind: Kind, name: &str, goals: &'static [Goal]) -> Row {
    let object = Bytes(1 << 20);
    Row {
        title: format!("{object} at 200 a second, {name}"),
        kind,
        object,
        operation: Operation::Requests,
        arrival: Arrival::Paced { every: PACE },
        per: Per::Gigabyte,
        makers: &[Maker::Toll],
        goals,
    }
}

pub(crate) fn all() -> Vec<Row> {
    let kept = |kind: Kind, name: &str, object: Bytes| Row {
        title: format!("{object} on kept connections, {name}"),
        kind,
        object,
        operation: Operation::Requests,
        arrival: Arrival::CLOSED,
        per: if object.0 < 64 << 10 { Per::Operation } else { Per::Gigabyte },
        makers: REQUESTS,
        goals: match (kind, object.0) {
            (Kind::Cbc, _) => ALIKE,
            (Kind::StaticGcm, _) => &[],
            (_, 0x10_0000..) => LARGE,
            (_, 0x1_0000..) => MIDDLE,
            _ => SMALL,
        },
    };
    let each = |kind: Kind, name: &str, operation: Operation, makers: &'static [Maker]| Row {
        title: match operation {
            Operation::Handshakes => format!("full handshakes, TLS 1.3, {name}"),
            _ => format!("one GET of 1 byte a connection, TLS 1.3, {name}"),
        },
        kind,
        object: Bytes(1),
        operation,
        arrival: Arrival::CLOSED,
        per: Per::Operation,
        makers,
        goals: if operation == Operation::Handshakes { NONE_ASKED } else { ONCE },
    };
    let mut rows: Vec<Row> = [16 << 20, 1 << 20, 64 << 10, 1 << 10]
        .map(|size| kept(Kind::ModernP256, "TLS 1.3 AES-128-GCM", Bytes(size)))
        .into();
    rows.push(kept(Kind::Cbc, "TLS 1.2 AES128-SHA, encrypt-then-MAC off", Bytes(1 << 20)));
    rows.push(kept(Kind::StaticGcm, "TLS 1.2 AES128-GCM-SHA256", Bytes(1 << 20)));
    rows.push(paced(Kind::Cbc, "TLS 1.2 AES128-SHA, encrypt-then-MAC off", ALIKE));
    rows.push(paced(Kind::StaticGcm, "TLS 1.2 AES128-GCM-SHA256", &[]));
    for (operation, makers) in
        [(Operation::OneRequestPerConnection, ONE_REQUEST), (Operation::Handshakes, HANDSHAKES)]
    {
        rows.push(each(Kind::ModernP256, "P-256", operation, makers));
        rows.push(each(Kind::ModernRsa, "RSA-2048", operation, makers));
    }
    rows
}

impl Row {
    /// The load of one client. The server decides on version and suite; toll asks for them, so that
    /// it takes the client library of that suite, and so does h2load, which leaves static RSA out
    /// by itself.
    pub(crate) fn job(
        &self,
        maker: Maker,
        address: SocketAddr,
        certificate: &Path,
        cpus: &CpuList,
        duration: Nanos,
    ) -> Job {
        let suite = self.kind.suite();
        let is_told = match maker {
            Maker::Toll => true,
            Maker::Peer(Peer::H2load) => suite.version() == Version::Tls12,
            Maker::Peer(_) => false,
        };
        let connections = match maker {
            Maker::Peer(Peer::STime) => 1,
            _ => CONNECTIONS,
        };
        let plan = Plan {
            client: match maker {
                Maker::Toll => load::Client::Toll,
                Maker::Peer(peer) => peer.into(),
            },
            suite: is_told.then_some(OrPlain::Tls(suite)),
            operation: self.operation,
            arrival: self.arrival,
            connections,
            cpus: cpus.clone(),
            warmup: Some(Nanos(0)),
            duration,
            ca: Some(certificate.to_owned()),
            ..Plan::default()
        };
        Job::new(plan, Url::at(true, address, &objects::path(self.object)), address)
    }
}
