//! The studies of a plan: one that isolates each part, after a pilot that says how often a core can do it.

use std::fmt::Write;
use std::num::NonZeroU32;

use ::load::{Http, Percent};
use capacity::{Costs, Request, Traffic};
use journal::TrialLine;
use keys::full;
use study::Metric;
use tls::{CertificateKey, KeyExchange, Suite};

use super::arguments::Arguments;
use super::parts::{
    self, AT_A_QUARTER, FULL, MEMORY, OTHER, OTHER_KEY, REQUESTS, RESUMED, TRAFFIC,
};
use super::scaling;
use super::traffic::PlannedTraffic;
use crate::Failure;

/// How busy a core is that mostly waits.
const QUARTER: f64 = 0.25;

/// The other size, where the traffic's is not near it; what a byte costs follows from two.
const SMALL: u64 = 1 << 10;
const LARGE: u64 = 64 << 10;

pub(super) struct Cells {
    common: String,
    pub(super) cases: Vec<Case>,
    /// Why the other key's case is not among them, where it cannot be measured: it only prices another choice.
    pub(super) no_other_key: Option<String>,
    traffic: Traffic,
    resumed: Percent,
    requests_per_connection: NonZeroU32,
}

/// Connections that are open at a time, which is enough for a core that has room left.
const CONNECTIONS: u32 = 16;

/// As many keep a core full, and several.
const FULL_CORE: u32 = 64;
const FULL_CORES: u32 = 128;

/// From this mean size of objects on, an eighth of the connections does, and their objects end within a trial.
const LARGE_OBJECTS: f64 = (1 << 20) as f64;

/// Connections live this long at most where they end within trials, in seconds. Of longer lives a trial sees no
/// end, or all at once, and what so few connections take is little.
const LONGEST_LIFE: f64 = 0.25;

/// The most that are opened to learn what one takes.
const MOST_OPEN: u64 = 1_500;

/// The trials of each pilot in an open loop, which correct the rates one after the other. The costs of an operation
/// change with the rate, so that once is not enough; and one trial may be disturbed.
pub(super) const CORRECTIONS: [u32; 2] = [2, 3];

pub(super) struct Case {
    pub(super) name: String,
    part: &'static str,
    keys: String,
    /// How busy it is to keep a core, 0 to 1.
    pub(super) busy: f64,
}

/// How long trials are.
pub(super) enum Window {
    Pilot,
    Measured,
}

impl Cells {
    pub(super) fn new(arguments: &Arguments, wanted: &PlannedTraffic) -> Result<Self, Failure> {
        let Arguments { server, certificate_key: key, suite, group, http, streams, .. } = arguments;
        let is_resumed = wanted.resumed.get() > 0;
        // QUIC is rustls' in the embedded server.
        let quic = match (http, server.as_str()) {
            (Http::V3, "embedded") => "quic = true\nlibrary = \"rustls-ring\"\n",
            (Http::V3, _) => "quic = true\n",
            (Http::V1 | Http::V2, _) => "",
        };
        let common = format!(
            "schema = 1\nquestion = \"How many cores does this traffic need?\"\nseed = 7\n\
             [target]\nif-missing = \"fail\"\nserver = \"{}\"\ncertificate-key = \"{key}\"\n\
             tickets = {is_resumed}\nsession-cache = false\nencrypt-then-mac = false\n{quic}\
             [load]\nsuite = \"{suite}\"\nencrypt-then-mac = false\n{}",
            server.escape_default(),
            group.map(|group| format!("group = \"{group}\"\n")).unwrap_or_default(),
        );
        let mean = wanted.traffic.mean_bytes;
        let other = if mean < 4.0 * SMALL as f64 { LARGE } else { SMALL };
        let requests_on = |streams: u32, object: &str| {
            let version = match http {
                Http::V1 => String::new(),
                Http::V2 | Http::V3 => {
                    format!("load.http = \"{http}\"\nload.streams = {streams}\n")
                }
            };
            format!("load.operation = \"requests\"\ntarget.object = \"{object}\"\n{version}")
        };
        let requests = |object: &str| requests_on(streams.map_or(1, NonZeroU32::get), object);
        let object = wanted.object.to_string();
        // Each connection with one request for the smaller object, which is taken off again. It needs one stream;
        // each further one would begin with a connection that has no session to resume.
        let small = if other < LARGE { format!("{other}B") } else { object.clone() };
        let connection = format!("{}load.requests-per-connection = 1\n", requests_on(1, &small));
        let mut parts = vec![(FULL, connection.clone())];
        if is_resumed {
            parts.push((RESUMED, format!("{connection}load.resumption = \"100%\"\n")));
        }
        if let Some(suite) = of_ecdsa(suite).filter(|_| matches!(key, CertificateKey::Rsa(_))) {
            let keys = format!(
                "{connection}target.certificate-key = \"ecdsa:p256\"\nload.suite = \"{suite}\"\n"
            );
            parts.push((OTHER_KEY, keys));
        }
        parts.push((REQUESTS, requests(&object)));
        parts.push((OTHER, requests(&format!("{other}B"))));
        parts.push((TRAFFIC, requests(&object)));
        let case = |(part, keys): &(&'static str, String), suffix: &str, busy| Case {
            name: format!("{part}{suffix}"),
            part,
            keys: keys.clone(),
            busy,
        };
        let is_at_a_quarter = |of: &&(&'static str, String)| of.0 != OTHER_KEY;
        let planned = parts.iter().map(|part| case(part, "", arguments.busy()));
        let quarter = parts.iter().filter(is_at_a_quarter);
        let cases = planned.chain(quarter.map(|part| case(part, AT_A_QUARTER, QUARTER))).collect();
        let PlannedTraffic { traffic, resumed, requests_per_connection, .. } = *wanted;
        let no_other_key = None;
        Ok(Self { common, cases, no_other_key, traffic, resumed, requests_per_connection })
    }

    /// Each part as often as a core can. A full core's batches make it cheaper than one that has room left, so
    /// this says only where to begin.
    pub(super) fn closed_loop(&self) -> String {
        let connections = self.of_full_cores(FULL_CORE);
        let mut text = format!(
            "trials = 1\n{}connections = {connections}\nwarmup = \"300ms\"\nduration = \"300ms\"\n",
            self.common
        );
        let is_part = |case: &&Case| case.name == case.part && case.part != TRAFFIC;
        for Case { name, keys, .. } in self.cases.iter().filter(is_part) {
            let _ = write!(text, "[[case]]\nname = \"{name}\"\n{keys}");
        }
        text
    }

    /// What each part costs, by what an operation of its cell takes; `suffix` is of the cells' names.
    pub(super) fn costs<E>(
        &self,
        suffix: &str,
        each: impl Fn(&str) -> Result<Request, E>,
    ) -> Result<Costs, E> {
        let part = |name: &str| each(&format!("{name}{suffix}"));
        let [request, other] = [part(REQUESTS)?, part(OTHER)?];
        let byte = request.byte(&other);
        let full = connection(&part(FULL)?, &request, &other);
        let resumed = match self.resumed.get() {
            0 => full,
            _ => connection(&part(RESUMED)?, &request, &other),
        };
        Ok(Costs { full, resumed, request, byte })
    }

    /// How often in a second each keeps a core as busy as it is to, by what an operation took in a pilot. A
    /// closed loop has neither the traffic nor a quarter of a core. The other key's case goes where it has no rate.
    pub(super) fn rates(&mut self, pilot: &[TrialLine]) -> Result<Vec<f64>, Failure> {
        let each = |name: &str| {
            // The median trial, by what an operation takes.
            let valid = of_case(pilot, name).filter(|line| line.line.valid);
            let mut found: Vec<Request> = valid.filter_map(|of| parts::each(&of.line)).collect();
            found.sort_by(|a, b| a.cost.total_cmp(&b.cost));
            found.get(found.len() / 2).copied().ok_or_else(|| {
                let why = why_invalid(pilot, name)
                    .unwrap_or_else(|| "nothing ended in its pilot".to_owned());
                format!("{name} cannot be measured: {why}")
            })
        };
        let has_other_key = self.cases.iter().any(|case| case.part == OTHER_KEY);
        if let Some(why) = each(OTHER_KEY).err().filter(|_| has_other_key) {
            self.cases.retain(|case| case.part != OTHER_KEY);
            self.no_other_key = Some(why);
        }
        let rate = |case: &Case| {
            let each = match case.part {
                _ if of_case(pilot, &case.name).next().is_some() => each(&case.name)?.cost,
                TRAFFIC => {
                    let costs = self.costs("", each)?;
                    self.traffic.load(&costs).all() * 1e9 / self.traffic.requests_per_s()
                }
                part => each(part)?.cost,
            };
            Ok(case.busy * 1e9 / each)
        };
        self.cases.iter().map(rate).collect::<Result<_, String>>().map_err(Failure::measurement)
    }

    /// Connections that wait after a request, of a server that has had no load before. More of them than are
    /// needed for a figure say no more.
    pub(super) fn memory(&self, open: u32) -> String {
        let connections = u64::from(open).clamp(Metric::LEAST_CONNECTIONS, MOST_OPEN);
        format!(
            "trials = 3\nrestart = \"trial\"\n{}connections = {connections}\noperation = \"requests\"\n\
             arrival = \"paced 2s\"\nwarmup = \"4s\"\nduration = \"1s\"\n\
             [[case]]\nname = \"{MEMORY}\"\ntarget.object = \"1KiB\"\n",
            self.common
        )
    }

    /// The traffic on one core and on as many as the machine has, all of them full, by how often one of them has it.
    pub(super) fn several_cores(&self, trials: u32, rates: &[f64]) -> String {
        let connections = self.of_full_cores(FULL_CORES);
        let mut text = format!(
            "trials = {trials}\n{}connections = {connections}\nwarmup = \"300ms\"\nduration = \"700ms\"\n",
            self.common
        );
        if let Some((Case { keys, busy, .. }, rate)) = self.traffic_of(rates) {
            let ends = self.ends(connections, rate / busy);
            let cores = (full::CORES, scaling::CORES);
            let _ = write!(
                text,
                "[[case]]\nname = \"{TRAFFIC}\"\n{keys}{ends}sweep.\"{}\" = {:?}\n",
                cores.0, cores.1
            );
        }
        text
    }

    /// The traffic where it keeps a core as busy as is planned, with its rate among those of all cases.
    fn traffic_of(&self, rates: &[f64]) -> Option<(&Case, f64)> {
        let mut cases = self.cases.iter().zip(rates.iter().copied());
        cases.find(|(case, _)| case.name == TRAFFIC)
    }

    /// Connections of a closed loop.
    fn of_full_cores(&self, most: u32) -> u32 {
        if self.traffic.mean_bytes > LARGE_OBJECTS { most / 8 } else { most }
    }

    /// The keys that end the traffic's connections and resume some of them, for so many connections that together
    /// have this rate of requests. None where they would live longer than trials can show: then they are kept.
    fn ends(&self, connections: u32, rate: f64) -> String {
        let life = f64::from(connections) * f64::from(self.requests_per_connection.get()) / rate;
        if life > LONGEST_LIFE {
            return String::new();
        }
        // The first connection of each place has no session to resume: with few connections they are most.
        let resumption = match life < LONGEST_LIFE / 2.0 {
            true => format!("load.resumption = \"{}\"\n", self.resumed),
            false => String::new(),
        };
        let requests = self.requests_per_connection;
        format!("load.requests-per-connection = {requests}\n{resumption}")
    }

    /// Whether the check has connections that end, at the rates of its cells.
    pub(super) fn has_ends(&self, rates: &[f64]) -> bool {
        self.traffic_of(rates).is_some_and(|(_, rate)| !self.ends(CONNECTIONS, rate).is_empty())
    }

    /// Each in an open loop at its rate.
    pub(super) fn open_loop(&self, window: &Window, trials: u32, rates: &[f64]) -> String {
        let times = match window {
            Window::Pilot => "warmup = \"300ms\"\nduration = \"500ms\"\n",
            Window::Measured => "warmup = \"500ms\"\nduration = \"1s\"\n",
        };
        let mut text =
            format!("trials = {trials}\n{}connections = {CONNECTIONS}\n{times}", self.common);
        for (Case { name, part, keys, .. }, rate) in self.cases.iter().zip(rates) {
            let arrival = format!("load.arrival = \"poisson {rate:.3}/s\"\n");
            let _ = write!(text, "[[case]]\nname = \"{name}\"\n{keys}{arrival}");
            if *part == TRAFFIC {
                text.push_str(&self.ends(CONNECTIONS, *rate));
            }
        }
        text
    }
}

/// What a connection costs beside its request, which is for the smaller object.
pub(super) fn connection(whole: &Request, request: &Request, other: &Request) -> f64 {
    let later = if request.bytes < other.bytes { request } else { other };
    whole.beside(later, request.byte(other))
}

fn of_case<'a>(lines: &'a [TrialLine], name: &'a str) -> impl Iterator<Item = &'a TrialLine> {
    lines.iter().filter(move |line| line.place.case == name)
}

/// Why a trial of the case is not valid.
pub(super) fn why_invalid(lines: &[TrialLine], name: &str) -> Option<String> {
    of_case(lines, name).find_map(|line| line.line.why_invalid())
}

/// The same suite with an ECDSA certificate; that of TLS 1.3 is for all keys.
fn of_ecdsa(suite: &'static Suite) -> Option<&'static Suite> {
    match suite.key_exchange {
        KeyExchange::Tls13 => Some(suite),
        KeyExchange::EcdheRsa => suite.to_string().replace("_RSA_", "_ECDSA_").parse().ok(),
        KeyExchange::Rsa | KeyExchange::EcdheEcdsa => None,
    }
}
