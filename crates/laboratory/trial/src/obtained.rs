//! What a trial got, as its receipt has it.

use std::collections::BTreeMap;

use load::{
    Close, EndedConnections, Http, Job, Negotiated, Operation, Outcome, PauseReason, PauseShare,
    PeerClient, Percent,
};
use observe::{Fact, KernelTlsCounters};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use targets::Calls;
use tls::{SendMode, Version};

use crate::accelerator_use::AcceleratorUse;
use crate::asked::pace;
use crate::backend_use::BackendUse;
use crate::http2_use::Http2Use;
use crate::quic_use::{QuicUse, VERSION};
use crate::quota_use::QuotaUse;

/// What was got. Counts by name are of handshakes, those of the warm-up included.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Obtained {
    /// The program that made the load, such as `wrk 4.1.0`; absent for toll's own engine. What it
    /// did is its own word: names are those that it printed of one connection.
    pub client: Option<String>,
    /// The MPI that ranks ran on, in its own words; absent without ranks.
    pub mpi: Option<String>,
    /// `1.2`, `1.3`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tls: BTreeMap<String, u64>,
    /// The release that the server comes from, where that is not this machine's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<String>,
    /// The TLS library that the kernel had mapped into the server's process, each file with its
    /// version; for rustls in the embedded server, what that reports. Empty where the server is not
    /// one that toll started, or has none that is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub library: Vec<String>,
    /// IANA names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub suite: BTreeMap<String, u64>,
    /// IANA names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub group: BTreeMap<String, u64>,
    /// IANA names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub signature_scheme: BTreeMap<String, u64>,
    /// As in `--certificate-key`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub certificate_key: BTreeMap<String, u64>,
    /// Completed responses by path, where several objects are asked for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub objects: BTreeMap<String, u64>,
    /// Completed responses by status, where other statuses than 200 are right.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub statuses: BTreeMap<String, u64>,
    /// Names of the list that connections were established with, warm-up included.
    pub names: Option<usize>,
    /// Of them those that a certificate was shown for, by a handshake of the load or by one that collected
    /// the session that it resumes; only where handshakes are to resume.
    pub names_certified: Option<usize>,
    /// Different certificates that the server showed for them; absent over plain HTTP.
    pub certificates: Option<usize>,
    /// Request bodies that were sent whole and answered; only where requests have a body.
    pub bodies_sent: Option<u64>,
    /// Completed requests that were answered before all of their body was sent.
    pub answered_early: Option<u64>,
    /// Whether any handshake negotiated it.
    pub encrypt_then_mac: Option<bool>,
    /// Connections that the kernel took over to encrypt or decrypt, from before the load to after
    /// it, in the server's network namespace; or why that is not known. Absent where the server is
    /// elsewhere.
    pub kernel_tls: Option<Fact<KernelTlsCounters>>,
    /// Connections by how the server sent; known only of servers that toll configured.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub send: BTreeMap<SendMode, u64>,
    /// What says so.
    pub send_known_by: Option<String>,
    /// The server's calls and the bytes that they took, from before the load to after it, where it
    /// counts them.
    pub send_calls: Option<SendCalls>,
    /// The server's ends of connections, looked at once within the window, by their congestion control.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub server_congestion: BTreeMap<String, u64>,
    /// The same of the client's ends.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub client_congestion: BTreeMap<String, u64>,
    /// What held back what the server sent, where anything did.
    pub pacing: Option<Pacing>,
    /// The CPU quota that the server was under and what it did; absent where it has none, or none is known.
    pub server_quota: Option<QuotaUse>,
    /// The same of the client, where it is on this machine.
    pub client_quota: Option<QuotaUse>,
    /// What the server's backend served, where it has one.
    pub backend: Option<BackendUse>,
    /// What an accelerator of private keys did, where the server was to have one.
    pub accelerator: Option<AcceleratorUse>,
    /// Full handshakes.
    pub full: Option<u64>,
    /// Resumed handshakes.
    pub resumed: Option<u64>,
    /// Handshakes in which the server asked for a certificate of the client; absent where it asked in none.
    pub certificate_requests: Option<u64>,
    /// Handshakes in which the client sent its certificate and signed; absent where it has none.
    pub client_certificates: Option<u64>,
    /// Their kinds of the client's key, each with its count.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub client_key: BTreeMap<String, u64>,
    /// Their schemes of the client's signature.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub client_scheme: BTreeMap<String, u64>,
    /// Handshakes in which the server asked for a second ClientHello (HelloRetryRequest), as it does
    /// where the first has no share of a group that it takes; absent where none is of TLS 1.3.
    pub hello_retry_requests: Option<u64>,
    /// Tickets that the server gave; absent where the client asked for none, which is so in TLS 1.2
    /// without resumption.
    pub tickets: Option<u64>,
    /// Session identifiers that the server of TLS 1.2 gave without a ticket, in handshakes that were to be
    /// resumed. It can resume them only if it keeps the sessions.
    pub session_ids: Option<u64>,
    /// Handshakes for which the client had a session, and so offered it; only where it is to resume.
    pub sessions_offered: Option<u64>,
    /// Tickets that the server gave on connections before the load, where it collects them first.
    pub collected_tickets: Option<u64>,
    /// The same of `session_ids`.
    pub collected_session_ids: Option<u64>,
    /// How many connections those were; their handshakes are in no other count.
    pub collecting_connections: Option<u64>,
    /// Body bits per second that came, where all connections together were to ask at a rate.
    pub pace_bps: Option<u64>,
    /// The most connections that were open at the same time, warm-up included.
    pub connections: Option<usize>,
    /// How many of them were up, handshake complete, when the window began; only where they are kept.
    pub connections_at_begin: Option<usize>,
    /// How many were up when it ended.
    pub connections_at_end: Option<usize>,
    /// Connections by their version of HTTP and how they came to it; only over HTTP/2 and 3.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub http: BTreeMap<String, u64>,
    /// The most streams that were open at once on one connection.
    pub streams: Option<u64>,
    /// What the HTTP/2 connections did.
    pub http2: Option<Http2Use>,
    /// What the QUIC connections did.
    pub quic: Option<QuicUse>,
    /// Connections that the server did not close after their last response, although it was asked to or the
    /// client had ended them; only where that ends connections, and by FIN.
    pub kept_open: Option<u64>,
    /// Requests that were sent again within the window, because they had no answer; absent where none was.
    pub sent_again: Option<u64>,
    /// Those of them that the server had not begun with, as it said; the others were on kept connections that it closed.
    pub not_taken: Option<u64>,
    /// The most that the client paused after a wake-up, in parts of the time that its quickest operations took:
    /// `1/4`, `1/8`, `1/32`, or `none` where all pauses cost some of the rate. Absent where it did not pause.
    pub pauses: Option<PauseShare>,
    /// Why so: `tried` in the warm-up beside others; `untried`, `undecided` or `changed` are the usual ones.
    pub pauses_reason: Option<PauseReason>,
    /// Where a number was asked for: the mean of the connections that the client ended, those left out that
    /// began in the middle of their lives. Otherwise completed operations of the window over connections
    /// of the whole load; only where connections are kept.
    pub requests_per_connection: Option<f64>,
    /// Those connections by how many requests they carried.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub connections_by_requests: BTreeMap<String, u64>,
    /// Connections that the server closed before their last request; only where a number was asked for.
    pub closed_early: Option<u64>,
    /// Handshake signatures that were verified.
    pub signatures_verified: Option<u64>,
    /// Responses whose last record was opened and authenticated, and some of whose others were dropped.
    pub bodies_walked: Option<u64>,
    /// Those of `bodies_walked` whose head was read from a record that was not opened: their status and
    /// length are not authenticated.
    pub bodies_peeked: Option<u64>,
    /// Responses of which every record was authenticated.
    pub bodies_authenticated: Option<u64>,
    /// Responses whose every byte was compared with the generated object.
    pub bodies_compared: Option<u64>,
    /// The provider of each algorithm in the server's process, where the server is in Java.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub crypto: BTreeMap<String, String>,
    /// The switches that decide over AES instructions there, as the system reports them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub aes: BTreeMap<String, String>,
    /// What AES-128 costs there after the load, in nanoseconds per byte, by cipher.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ns_per_byte: BTreeMap<String, f64>,
    /// What TLS may not use there.
    pub disabled_algorithms: Option<String>,
    /// Orders in the server's database, where the server is a shop.
    pub orders: Option<Orders>,
    /// Completed pages of the whole load for each of which the shop stores an order, where the
    /// session file says which those are.
    pub order_pages: Option<u64>,
}

/// What a server did to send.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendCalls {
    /// Of bytes in memory; over TLS in user space, encrypted ones.
    pub write: Calls,
    /// Of bytes of files.
    pub sendfile: Calls,
}

/// Orders in a shop's database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orders {
    /// Before the load.
    pub before: u64,
    /// After it.
    pub after: u64,
}

/// What held back what the server sent.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pacing {
    /// How many of the server's connections, of those that were looked at, sent by timers: by their
    /// congestion control, or at a rate that their program had set.
    pub connections: u64,
    /// The lowest rate of these.
    pub least_bps: Option<f64>,
    /// `fq`, where that is the queue before loopback, which sends by timers for all.
    pub queue: Option<String>,
}

impl Obtained {
    pub(crate) fn of(job: &Job, outcome: &Outcome) -> Self {
        let has_requests = job.plan.operation != Operation::Handshakes;
        let has_last = job.plan.requests_per_connection.is_some()
            || job.plan.operation == Operation::OneRequestPerConnection;
        let is_end_awaited = has_last && job.plan.close == Close::Fin;
        let ended = job.plan.requests_per_connection.is_some().then_some(&outcome.ended);
        let verified = outcome.verified;
        let objects = job.objects.iter().flat_map(|mix| mix.portions()).map(|p| p.path.clone());
        let counts = outcome.objects.iter().copied().chain(std::iter::repeat(0));
        let those = |counts: &[u64]| counts.iter().filter(|count| **count > 0).count();
        let resumes = job.plan.resumption != Percent::default();
        let mut obtained = Self {
            // A page is compared with nothing.
            bodies_compared: (has_requests && job.plan.operation != Operation::Session)
                .then_some(verified.compared),
            objects: objects.zip(counts).collect(),
            statuses: job.plan.expect.as_ref().map(|_| statuses(outcome)).unwrap_or_default(),
            names: (outcome.names_asked > 0).then(|| those(&outcome.names)),
            names_certified: (outcome.names_asked > 0 && resumes)
                .then(|| those(&outcome.names_certified)),
            certificates: Some(outcome.certificates.len()).filter(|count| *count > 0),
            bodies_sent: job.plan.body.is_some().then(|| outcome.bodies_sent()),
            answered_early: Some(outcome.answered_early).filter(|count| *count > 0),
            pace_bps: pace(&job.plan.arrival).map(|_| {
                (outcome.bytes.body as f64 * 8.0 / outcome.window.seconds()).round() as u64
            }),
            connections: Some(outcome.most_open),
            connections_at_begin: outcome.up.map(|up| up.at_begin),
            connections_at_end: outcome.up.map(|up| up.at_end),
            http: protocols(job, outcome),
            streams: job.plan.has_streams().then_some(outcome.streams.most),
            http2: Http2Use::of(&outcome.streams, &outcome.http2),
            quic: QuicUse::of(&outcome.streams, &outcome.quic),
            kept_open: is_end_awaited.then_some(outcome.not_closed_by_server),
            sent_again: Some(outcome.sent_again).filter(|count| *count > 0),
            not_taken: Some(outcome.not_taken).filter(|count| *count > 0),
            pauses: outcome.pauses.map(|pauses| pauses.share),
            pauses_reason: outcome.pauses.map(|pauses| pauses.reason),
            requests_per_connection: match ended {
                Some(ended) => mean_requests(ended),
                // Those of a session ask for pages and what they lead to.
                None => (job.plan.operation == Operation::Requests && outcome.connections > 0)
                    .then(|| outcome.answers as f64 / outcome.connections as f64),
            },
            connections_by_requests: ended
                .into_iter()
                .flat_map(|ended| &ended.by_requests)
                .map(|(requests, count)| (requests.to_string(), *count))
                .collect(),
            closed_early: ended.map(|ended| ended.by_server),
            order_pages: order_pages(outcome),
            ..Self::default()
        };
        if !job.url.is_tls() {
            return obtained;
        }
        let mut handshakes = 0;
        let mut resumed = 0;
        let mut encrypt_then_mac = false;
        let mut client_certificates = 0;
        for (negotiated, count) in &outcome.negotiated {
            obtained.count(negotiated, *count);
            handshakes += count;
            resumed += if negotiated.resumed { *count } else { 0 };
            encrypt_then_mac |= negotiated.encrypt_then_mac;
            client_certificates += if negotiated.client.is_some() { *count } else { 0 };
        }
        let is_used = |version: Version| obtained.tls.contains_key(version.number());
        let (is_tls12, is_tls13) = (is_used(Version::Tls12), is_used(Version::Tls13));
        let collected = outcome.collected;
        Self {
            encrypt_then_mac: (handshakes > 0).then_some(encrypt_then_mac),
            full: Some(handshakes - resumed),
            resumed: Some(resumed),
            certificate_requests: Some(outcome.certificate_requests).filter(|count| *count > 0),
            client_certificates: (job.plan.client_certificate.is_some())
                .then_some(client_certificates),
            hello_retry_requests: is_tls13.then_some(outcome.hello_retry_requests),
            tickets: (is_tls13 || resumes).then_some(outcome.given.tickets),
            session_ids: (is_tls12 && resumes).then_some(outcome.given.ids),
            sessions_offered: resumes.then_some(outcome.sessions_offered),
            collected_tickets: collected.map(|collected| collected.given.tickets),
            collected_session_ids: collected
                .filter(|_| is_tls12)
                .map(|collected| collected.given.ids),
            collecting_connections: collected.map(|collected| collected.connections),
            signatures_verified: Some(verified.signatures),
            bodies_walked: has_requests.then_some(verified.walked),
            bodies_peeked: (verified.peeked > 0).then_some(verified.peeked),
            bodies_authenticated: has_requests.then_some(verified.opened),
            ..obtained
        }
    }

    pub(crate) fn of_peer(job: &Job, peer: &PeerClient, outcome: &Outcome) -> Self {
        let has_requests = job.plan.operation != Operation::Handshakes;
        let mut obtained = Self {
            client: Some(peer.name.clone()),
            signatures_verified: job.url.is_tls().then_some(0),
            bodies_authenticated: (job.url.is_tls() && has_requests).then_some(0),
            bodies_compared: has_requests.then_some(0),
            http: protocols(job, outcome),
            ..Self::default()
        };
        for (negotiated, count) in &outcome.negotiated {
            obtained.count(negotiated, *count);
        }
        obtained
    }

    fn count(&mut self, negotiated: &Negotiated, count: u64) {
        let mut add = |map: fn(&mut Self) -> &mut BTreeMap<String, u64>, name: Option<String>| {
            if let Some(name) = name {
                *map(self).entry(name).or_default() += count;
            }
        };
        add(|o| &mut o.tls, Some(negotiated.version.number().to_owned()));
        add(|o| &mut o.suite, Some(negotiated.suite.name.to_owned()));
        add(|o| &mut o.group, negotiated.group.map(|group| group.name().to_owned()));
        add(|o| &mut o.signature_scheme, negotiated.signature_scheme.map(tls::scheme_name));
        add(|o| &mut o.certificate_key, negotiated.certificate_key.map(|key| key.to_string()));
        let client = negotiated.client;
        add(|o| &mut o.client_key, client.and_then(|of| of.key).map(|key| key.to_string()));
        add(|o| &mut o.client_scheme, client.map(|of| tls::scheme_name(of.scheme)));
    }
}

/// Connections by how they came to their protocol; only where HTTP/2 or 3 was asked for.
fn protocols(job: &Job, outcome: &Outcome) -> BTreeMap<String, u64> {
    let streams = &outcome.streams;
    let by_knowledge = streams.connections.saturating_sub(streams.by_alpn);
    let all = match job.plan.http {
        None | Some(Http::V1) => Vec::new(),
        Some(Http::V2) => vec![
            ("2 by ALPN".to_owned(), streams.by_alpn),
            ("2 by prior knowledge".to_owned(), by_knowledge),
        ],
        Some(Http::V3) => vec![(format!("3 on QUIC {VERSION}"), streams.connections)],
    };
    all.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// Of connections that carried all that was planned; `None` where none did.
fn mean_requests(ended: &EndedConnections) -> Option<f64> {
    let connections: u64 = ended.by_requests.iter().map(|(_, count)| count).sum();
    let requests = ended.by_requests.iter().map(|(requests, count)| u64::from(*requests) * count);
    (connections > 0).then(|| requests.sum::<u64>() as f64 / connections as f64)
}

/// Completed responses by status.
fn statuses(outcome: &Outcome) -> BTreeMap<String, u64> {
    let others: u64 = outcome.statuses.iter().map(|(_, count)| count).sum();
    let usual = (200, outcome.completed.saturating_sub(others));
    let all = outcome.statuses.iter().copied().chain([usual]).filter(|(_, count)| *count > 0);
    all.map(|(status, count)| (status.to_string(), count)).collect()
}

fn order_pages(outcome: &Outcome) -> Option<u64> {
    let pages = outcome.pages.iter().filter(|page| page.is_order);
    pages.map(|page| page.completed_ever).reduce(|sum, count| sum + count)
}
