//! A plan at the server that it is carried out at.

use std::net::SocketAddr;
use std::sync::Arc;

use objects::{Files, HostName, Mix};
use serde::{Deserialize, Serialize};
use tls::OrPlain;
use units::Nanos;
use wire::handshake::{ClientCertificate, Offer, OfferError, Trust};

use crate::plan::LONGEST;
use crate::session::{Session, Site};
use crate::{
    Arrival, Close, Distribution, Http, KeyExchangeMode, Operation, Pace, Percent, Plan, Receive,
    Url, names, ports,
};

/// A plan, and what only a running load knows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// What the clients do.
    pub plan: Plan,
    /// What to ask for; its scheme decides between TLS and plain HTTP.
    pub url: Url,
    /// What to ask for instead of the URL's path, which is `/` then.
    pub objects: Option<Mix>,
    /// Different files to ask for instead, each thread in a random order of its own, each once
    /// before any again.
    pub files: Option<Files>,
    /// The names that its server has a certificate for each of, of which each connection draws one where
    /// the plan has no list of its own; empty for the URL's host alone.
    pub names: Vec<HostName>,
    /// Where the server listens.
    pub address: SocketAddr,
    /// Whose certificates are accepted.
    pub trust: Trust,
    /// What everything random follows from: equal jobs load alike, so trials that are to be
    /// independent need different ones.
    pub seed: u64,
    /// After how many operations, completed or failed, the load ends. All are counted then, and the
    /// plan's times do not matter.
    pub operations: Option<u64>,
    /// Whether it is one of several ranks.
    pub is_of_rank: bool,
}

/// When a load's window begins and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// After a time: a warm-up that is not counted, then the measured window.
    After { warmup: Nanos, duration: Nanos },
    /// After this many operations, completed or failed, all of which count, or after this time.
    Operations { count: u64, within: Nanos },
    /// When this many users have made all their walks; all operations count.
    Users(usize),
}

/// A load that cannot be carried out; one line that says what and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(pub(crate) String);

impl From<OfferError> for PlanError {
    fn from(error: OfferError) -> Self {
        Self(error.to_string())
    }
}

impl Job {
    /// A plan at the server of a URL, which listens at this address. Whose certificates are accepted is
    /// what the plan says, or the system's.
    pub fn new(plan: Plan, url: Url, address: SocketAddr) -> Self {
        let trust = plan.trust().unwrap_or(Trust::System);
        let (objects, files, names, operations) = (None, None, Vec::new(), None);
        let (seed, is_of_rank) = (0, false);
        Self { plan, url, objects, files, names, address, trust, seed, operations, is_of_rank }
    }

    /// # Errors
    /// Where parts of the job contradict each other, in the words of `toll load`.
    pub fn check(&self) -> Result<(), PlanError> {
        let Self { plan, url, .. } = self;
        let error = |message: String| Err(PlanError(message));
        plan.check().map_err(|wrong| PlanError(wrong.why))?;
        let server = self.address.ip().to_canonical();
        if let Some(source) = plan.source.iter().find(|source| !source.reaches(server)) {
            return error(format!(
                "--source {source} and the server's address {server} are of different versions of \
                 IP; give a source of the server's"
            ));
        }
        ports::check(plan, self.address.ip()).map_err(PlanError)?;
        if url.is_tls() && plan.is_plain() {
            return error(format!(
                "{url} is TLS, but plain HTTP was asked for; give an http:// URL"
            ));
        }
        // The URL's scheme says the same as `--tls none`.
        let is_explicit = plan.tls.is_some() || url.is_tls();
        let plain = Plan { tls: plan.tls.or(Some(OrPlain::Plain)), ..plan.clone() };
        let plan = if is_explicit { plan } else { &plain };
        if !url.is_tls() && !plan.is_plain() {
            return error(format!(
                "{url} is plain HTTP, but TLS was asked for; give an https:// URL"
            ));
        }
        if let Some(conflict) = plan.conflicts().first() {
            return error(conflict.sentence(|key| match key {
                "tls" if !is_explicit => url.to_string(),
                _ => keys::flag(plan, key),
            }));
        }
        if plan.operation == Operation::Session && url.path() != "/" {
            return error(format!(
                "{url} names a page, and --operation session too; leave the URL's path out"
            ));
        }
        self.period()?;
        let Some(objects) = &self.objects else { return Ok(()) };
        if plan.operation == Operation::Session {
            return error(format!("a session asks for its pages; leave --object {objects} out"));
        }
        if plan.operation == Operation::Handshakes {
            return error(format!("handshakes ask for nothing; leave --object {objects} out"));
        }
        if url.path() != "/" {
            return error(format!(
                "{url} names an object, and --object {objects} too; leave the URL's path out, or \
                 --object"
            ));
        }
        Ok(())
    }

    /// Whether anything of it follows from the seed.
    pub fn is_random(&self) -> bool {
        let is_mixed = self.objects.as_ref().is_some_and(|mix| mix.only().is_none());
        is_mixed
            || self.files.is_some()
            || self.plan.requests_per_connection.is_some()
            || self.plan.names.is_some()
            || !self.names.is_empty()
            || matches!(
                self.plan.arrival,
                Arrival::Open { distribution: Distribution::Poisson, .. }
            )
    }

    /// The paths that are asked for, in the order of the job's objects.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let alone = self.objects.is_none().then(|| self.url.path());
        let mixed = self.objects.iter().flat_map(Mix::portions);
        alone.into_iter().chain(mixed.map(|portion| portion.path.as_str()))
    }

    /// The names of which each connection draws one; none where all have the URL's host.
    ///
    /// # Errors
    /// A list that cannot be read.
    pub fn drawn_names(&self) -> Result<Vec<HostName>, PlanError> {
        match &self.plan.names {
            Some(file) => names::read(file).map_err(PlanError),
            None => Ok(self.names.clone()),
        }
    }

    /// What its clients offer to the server.
    ///
    /// # Errors
    /// A client certificate that cannot be read.
    pub(crate) fn offer(&self) -> Result<Offer, PlanError> {
        let plan = &self.plan;
        let client_certificate = match (&plan.client_certificate, &plan.client_key) {
            (Some(certificate), Some(key)) => {
                Some(Arc::new(ClientCertificate::read(certificate, key)?))
            }
            _ => None,
        };
        let offer = Offer::to(
            plan.sni.as_ref().map_or(self.url.host(), HostName::as_str),
            self.trust.clone(),
        );
        Ok(Offer {
            protocol: match plan.http {
                Some(Http::V2) => http2::ALPN,
                Some(Http::V3) => http3::ALPN,
                Some(Http::V1) | None => offer.protocol,
            },
            client_certificate,
            version: plan.only_version(),
            suite: plan.only_suite(),
            group: plan.group,
            encrypt_then_mac: plan.encrypt_then_mac == Some(true),
            fixed_key_exchange: plan.key_exchange() != KeyExchangeMode::Fresh,
            sends_no_share: plan.key_exchange() == KeyExchangeMode::Retried,
            resumed_percent: plan.resumption.get(),
            follows_key_updates: plan.receive() == Receive::Decrypt,
            ..offer
        })
    }

    /// The site whose pages users walk, in a load of sessions.
    ///
    /// # Errors
    /// A session file that cannot be read.
    pub(crate) fn site(&self) -> Result<Option<Site>, PlanError> {
        let Some(file) = &self.plan.session else { return Ok(None) };
        let session = Session::read(file).map_err(PlanError)?;
        Ok(Some(Site::new(session, &self.url, &self.plan.header, self.plan.page())))
    }

    /// From a connection's tick to its next, where the load is paced.
    ///
    /// # Errors
    /// A pace that cannot be kept, or a rate of objects whose size is not known.
    pub fn period(&self) -> Result<Option<Nanos>, PlanError> {
        let Arrival::Paced { pace } = self.plan.arrival else { return Ok(None) };
        let object = match pace {
            Pace::Every(_) => 0.0,
            Pace::Rate(_) => self.mean_object().ok_or_else(|| {
                PlanError(format!(
                    "arrival paced {pace} is a rate of objects whose size is not known; ask for one \
                     such as /bytes/1MiB, or write a time such as paced 4s"
                ))
            })?,
        };
        pace.period(self.plan.most_open(), object).map(Some).map_err(PlanError)
    }

    /// The mean size of what is asked for, in bytes.
    fn mean_object(&self) -> Option<f64> {
        if !self.plan.expects_objects() {
            return None;
        }
        match (&self.objects, &self.files) {
            (_, Some(files)) => Some(files.size.0 as f64),
            (Some(mix), None) => mix.mean_size(),
            (None, None) => objects::size_of(self.url.path()).map(|size| size.0 as f64),
        }
    }

    /// Whether the load's window begins with its first packet and ends with its last one, rather than
    /// at planned times.
    pub fn ends_by_itself(&self) -> bool {
        !matches!(self.stop(), Stop::After { .. })
    }

    /// Whether all its connections should be up for the whole window: those of a closed loop that keeps them, unless the
    /// load ends by itself, whose opening is part of it.
    pub fn needs_all_up(&self) -> bool {
        self.plan.operation == Operation::Requests
            && self.plan.keeps_connections()
            && matches!(self.plan.arrival, Arrival::Closed { .. })
            && !self.ends_by_itself()
    }

    /// The load that collects sessions before this one, by handshakes that are not counted; `None` where
    /// none are to be resumed, or a warm-up collects them. No warm-up is long enough for each of many names.
    pub(crate) fn collecting(&self) -> Option<Self> {
        let is_wanted = self.url.is_tls()
            && self.plan.resumption > Percent::default()
            && (self.ends_by_itself() || self.plan.names.is_some() || !self.names.is_empty())
            && self.operations.is_none();
        is_wanted.then(|| Self {
            plan: Plan {
                operation: Operation::Handshakes,
                requests_per_connection: None,
                // Tickets of one are not for the other (RFC 9001, section 4.5).
                http: self.plan.http.filter(|http| *http == Http::V3),
                streams: None,
                method: None,
                expect: None,
                body: None,
                arrival: Arrival::CLOSED,
                close: Close::Fin,
                count: None,
                walks: None,
                session: None,
                ..self.plan.clone()
            },
            objects: None,
            files: None,
            ..self.clone()
        })
    }

    /// Until when longer pauses may be tried, in ns since the load's start: to its window's begin. Ranks have threads in
    /// other processes, which would have to pause alike.
    pub(crate) fn tries_pauses_until(&self) -> u64 {
        match self.stop() {
            Stop::After { warmup, .. } if !self.is_of_rank => {
                self.plan.ramp.0.saturating_add(warmup.0)
            }
            _ => 0,
        }
    }

    pub(crate) fn stop(&self) -> Stop {
        let (plan, within) = (&self.plan, self.plan.duration);
        match (self.operations, plan.walks, plan.operations()) {
            (Some(count), ..) => Stop::Operations { count, within: LONGEST },
            (None, Some(_), _) => Stop::Users(plan.connections),
            (None, None, Some(count)) => Stop::Operations { count: count.get().into(), within },
            (None, None, None) => Stop::After { warmup: plan.warmup(), duration: within },
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use tls::{Group, Suite, Version};

    use super::*;
    use crate::KeyExchangeMode;
    use crate::plan::tests::suite;

    pub(crate) fn job(url: &str, plan: Plan) -> Job {
        Job::new(plan, url.parse().unwrap(), "127.0.0.1:443".parse().unwrap())
    }

    #[test]
    fn contradictions_say_what_to_change() {
        let any = Plan::default;
        let (https, http) = ("https://localhost/", "http://localhost/");
        let cbc = suite("AES128-SHA");
        let tls13 = Some(OrPlain::Tls(Version::Tls13));
        let tls12 = Some(OrPlain::Tls(Version::Tls12));
        let fixed = Some(KeyExchangeMode::Fixed);
        let ephemeral = suite("ECDHE-RSA-AES128-SHA");
        let hybrid = Some(Group::X25519MlKem768);
        let aead = suite("ECDHE-RSA-AES128-GCM-SHA256");
        let plain = Plan { suite: Some(OrPlain::<&Suite>::Plain), ..any() };
        let resumption = "70%".parse().unwrap();
        assert!(job(https, any()).check().is_ok());
        for suite in [cbc, ephemeral] {
            assert!(job(https, Plan { key_exchange: fixed, suite, ..any() }).check().is_ok());
        }
        assert!(job(http, plain.clone()).check().is_ok());
        assert!(job(https, Plan { resumption, suite: cbc, ..any() }).check().is_ok());
        let from = |source: &str| Plan { source: vec![source.parse().unwrap()], ..any() };
        assert!(job(https, from("127.0.0.2")).check().is_ok());
        let handshakes = Plan { operation: Operation::Handshakes, ..any() };
        let insecure = Plan { insecure: true, ca: Some("a.pem".into()), ..any() };
        let refused = [
            ("TLS 1.3, CBC", https, Plan { tls: tls13, suite: cbc, ..any() }),
            ("x25519, CBC", https, Plan { group: Some(Group::X25519), suite: cbc, ..any() }),
            ("encrypt-then-MAC", https, Plan { encrypt_then_mac: Some(true), ..any() }),
            ("hybrid, TLS 1.2", https, Plan { group: hybrid, tls: tls12, ..any() }),
            ("hybrid, AEAD of TLS 1.2", https, Plan { group: hybrid, suite: aead, ..any() }),
            ("CBC", http, Plan { suite: cbc, ..any() }),
            ("TLS 1.2, CBC", http, Plan { tls: tls12, suite: cbc, ..any() }),
            ("plain HTTP", https, plain),
            ("resumption", http, Plan { resumption, ..any() }),
            ("handshakes", http, handshakes),
            ("insecure, with a CA", https, insecure),
            ("source ::1", https, from("::1")),
            ("source 192.0.2.1", https, from("192.0.2.1")),
        ];
        support::assert_golden!(refused.map(|(what, url, plan)| {
            (format!("{url} {what}"), job(url, plan).check().unwrap_err())
        }));
    }

    #[test]
    fn objects_are_asked_for_at_a_server_and_not_at_a_path() {
        let mut mixed = job("https://localhost/", Plan::default());
        mixed.objects = "1KiB 90%, 1MiB 10%".parse().ok();
        assert!(mixed.check().is_ok() && mixed.is_random());
        assert_eq!(mixed.paths().collect::<Vec<_>>(), ["/bytes/1KiB", "/bytes/1MiB"]);
        let both = Job { url: "https://localhost/x".parse().unwrap(), ..mixed.clone() };
        assert!(both.check().is_err());
        mixed.plan.operation = Operation::Handshakes;
        assert!(mixed.check().is_err());
    }
}
