//! The studies of a plan: one that isolates each part, after a pilot that says how often a core can do it.

use std::fmt::Write;

use ::load::Percent;
use capacity::{Costs, Traffic};
use journal::TrialLine;
use tls::{CertificateKey, KeyExchange, Suite};

use super::{Arguments, PlannedTraffic, rounds};
use crate::Failure;

/// What is measured, by the name of its case.
pub(super) const FULL: &str = "full-handshakes";
pub(super) const RESUMED: &str = "resumed-handshakes";
pub(super) const REQUESTS: &str = "requests";
pub(super) const OTHER: &str = "requests-of-another-size";
pub(super) const OTHER_KEY: &str = "full-handshakes-ecdsa";
pub(super) const TRAFFIC: &str = "traffic";
pub(super) const QUARTER: &str = "traffic-quarter";

/// The other size, where the traffic's is not near it; what a byte costs follows from two.
const SMALL: u64 = 1 << 10;
const LARGE: u64 = 64 << 10;

pub(super) struct Cells {
    common: String,
    cases: Vec<Case>,
    /// Of [`OTHER`], in bytes.
    other: u64,
    traffic: Traffic,
    resumed: Percent,
}

/// Connections that are open at a time, which is enough for a core that has room left.
const CONNECTIONS: u32 = 16;

struct Case {
    name: &'static str,
    keys: String,
}

impl Cells {
    pub(super) fn new(arguments: &Arguments, wanted: &PlannedTraffic) -> Result<Self, Failure> {
        let Arguments { server, certificate_key: key, suite, group, .. } = arguments;
        let is_resumed = wanted.resumed.get() > 0;
        let common = format!(
            "schema = 1\nquestion = \"How many cores does this traffic need?\"\nseed = 7\n\
             [target]\nif-missing = \"fail\"\nserver = \"{}\"\ncertificate-key = \"{key}\"\n\
             tickets = {is_resumed}\nsession-cache = false\nencrypt-then-mac = false\n\
             [load]\nsuite = \"{suite}\"\nencrypt-then-mac = false\n{}",
            server.escape_default(),
            group.map(|group| format!("group = \"{group}\"\n")).unwrap_or_default(),
        );
        let mean = wanted.traffic.mean_bytes;
        let other = if mean < 4.0 * SMALL as f64 { LARGE } else { SMALL };
        let requests =
            |object: &str| format!("load.operation = \"requests\"\ntarget.object = \"{object}\"\n");
        let object = wanted.object.to_string();
        let case = |name, keys| Case { name, keys };
        let mut cases = vec![case(FULL, "load.operation = \"handshakes\"\n".to_owned())];
        if is_resumed {
            let keys = "load.operation = \"handshakes\"\nload.resumption = \"100%\"\n";
            cases.push(case(RESUMED, keys.to_owned()));
        }
        if let Some(suite) = of_ecdsa(suite).filter(|_| matches!(key, CertificateKey::Rsa(_))) {
            let keys = format!(
                "load.operation = \"handshakes\"\ntarget.certificate-key = \"ecdsa:p256\"\nload.suite = \"{suite}\"\n"
            );
            cases.push(case(OTHER_KEY, keys));
        }
        cases.push(case(REQUESTS, requests(&object)));
        cases.push(case(OTHER, requests(&format!("{other}B"))));
        let traffic = format!(
            "{}load.requests-per-connection = {}\n",
            requests(&object),
            wanted.requests_per_connection
        );
        cases.push(case(TRAFFIC, traffic.clone()));
        cases.push(case(QUARTER, traffic));
        let (traffic, resumed) = (wanted.traffic, wanted.resumed);
        Ok(Self { common, cases, other, traffic, resumed })
    }

    /// Each as often as a core can.
    pub(super) fn pilot(&self) -> String {
        let times = "connections = 64\nwarmup = \"300ms\"\nduration = \"300ms\"\n";
        let mut text = format!("trials = 1\n{}{times}", self.common);
        let is_part = |case: &&Case| case.name != TRAFFIC && case.name != QUARTER;
        for Case { name, keys } in self.cases.iter().filter(is_part) {
            let _ = write!(text, "[[case]]\nname = \"{name}\"\n{keys}");
        }
        text
    }

    /// What each part costs, by what an operation of its cell takes.
    pub(super) fn costs<E>(&self, each: impl Fn(&str) -> Result<f64, E>) -> Result<Costs, E> {
        let full = each(FULL)?;
        let resumed = if self.resumed.get() > 0 { each(RESUMED)? } else { full };
        let other = (self.other as f64, each(OTHER)?);
        Ok(Costs { full, resumed, request: each(REQUESTS)?, other })
    }

    /// How often in a second each keeps a core so busy, the last a quarter of one; by the pilot.
    pub(super) fn rates(&self, pilot: &[TrialLine], busy: f64) -> Result<Vec<f64>, Failure> {
        let each = |name: &str| {
            let line = pilot.iter().find(|line| line.place.case == name).map(|line| &line.line);
            let each = line.filter(|line| line.valid).and_then(rounds::each);
            each.ok_or_else(|| {
                let why = line.and_then(|line| line.target_error.clone());
                let why = why.unwrap_or_else(|| "its first trial is not valid".to_owned());
                Failure::measurement(format!("{name} cannot be measured: {why}"))
            })
        };
        let costs = self.costs(each)?;
        let of_traffic = self.traffic.load(&costs).all() * 1e9 / self.traffic.requests_per_s();
        let rate = |case: &Case| {
            Ok(match case.name {
                TRAFFIC => busy * 1e9 / of_traffic,
                QUARTER => 0.25 * 1e9 / of_traffic,
                name => busy * 1e9 / each(name)?,
            })
        };
        self.cases.iter().map(rate).collect()
    }

    /// Each in an open loop at its rate.
    pub(super) fn study(&self, trials: u32, rates: &[f64]) -> String {
        let times = format!("connections = {CONNECTIONS}\nwarmup = \"500ms\"\nduration = \"1s\"\n");
        let mut text = format!("trials = {trials}\n{}{times}", self.common);
        for (Case { name, keys }, rate) in self.cases.iter().zip(rates) {
            let arrival = format!("load.arrival = \"poisson {rate:.3}/s\"\n");
            let _ = write!(text, "[[case]]\nname = \"{name}\"\n{keys}{arrival}");
            // The first connection of each place has no session to resume: with few connections they are
            // most. These hardly count in what the traffic takes.
            let connections = rate / self.traffic.requests_per_connection;
            if matches!(*name, TRAFFIC | QUARTER) && connections > f64::from(8 * CONNECTIONS) {
                let _ = writeln!(text, "load.resumption = \"{}\"", self.resumed);
            }
        }
        text
    }
}

/// The same suite with an ECDSA certificate; that of TLS 1.3 is for all keys.
fn of_ecdsa(suite: &'static Suite) -> Option<&'static Suite> {
    match suite.key_exchange {
        KeyExchange::Tls13 => Some(suite),
        KeyExchange::EcdheRsa => suite.to_string().replace("_RSA_", "_ECDSA_").parse().ok(),
        KeyExchange::Rsa | KeyExchange::EcdheEcdsa => None,
    }
}
