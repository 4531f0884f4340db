//! What was asked of a trial, as its receipt has it.

use std::num::NonZeroU32;

use cpus::CpuList;
use load::{
    Arrival, Client, Close, Count, Job, KeyExchangeMode, OneIn, Operation, Pace, Receive, Wakeups,
};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use targets::{Aes, Crypto};
use tls::{CertificateKey, SendMode};

use crate::http2_use::Http2Settings;

/// What was asked for; what was left open is absent.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// `1.2`, `1.3`, or `none` for plain HTTP.
    pub tls: Option<String>,
    /// IANA name.
    pub suite: Option<String>,
    /// IANA name.
    pub group: Option<String>,
    /// The kind of key that the target was given.
    pub certificate_key: Option<String>,
    /// How often the client is to send its certificate, where it has one.
    pub client_certificates: Option<String>,
    /// Not asked for unless said; only where there is TLS.
    pub encrypt_then_mac: Option<bool>,
    /// How the server is to encrypt and send; known only of servers that toll configured.
    pub send: Option<SendMode>,
    /// How requests were to go to the server's backend, `plain` or `tls`, where it has one.
    pub backend: Option<String>,
    /// Whether connections to it were to be `kept`, or each request to have a `new` one.
    pub backend_connections: Option<String>,
    /// Whether the server was to verify the backend's certificate.
    pub backend_verify: Option<bool>,
    /// The accelerator of the server's private keys, where it was to have one.
    pub accelerator: Option<String>,
    /// The share of resumed handshakes, in percent.
    pub resumption_percent: Option<u8>,
    /// Whether the client offers 0-RTT (RFC 8446, section 4.2.10), which toll's never does.
    pub early_data: Option<bool>,
    /// Whether it offers Encrypted Client Hello (extension 0xfe0d), which toll's never does.
    pub ech: Option<bool>,
    /// How the client takes part in the key exchange.
    pub key_exchange: Option<KeyExchangeMode>,
    /// What one operation is.
    pub operation: Option<Operation>,
    /// After how many requests the client ends a connection, with shares where there are several.
    pub requests_per_connection: Option<String>,
    /// The session file whose pages users walk.
    pub session: Option<String>,
    /// How large pages were asked to be.
    pub page_bytes: Option<u64>,
    /// How many times each user walks the pages, where that is limited.
    pub walks: Option<NonZeroU32>,
    /// When operations are meant to start.
    pub arrival: Option<Arrival>,
    /// Body bits per second that all connections together were to ask for, where they ask at a rate.
    pub pace_bps: Option<u64>,
    /// From a request of a connection to its next, in nanoseconds, where connections ask at a pace.
    pub period_ns: Option<u64>,
    /// How long the load grew before the warm-up, in nanoseconds, where it did.
    pub ramp_ns: Option<u64>,
    /// How many operations to begin, where that is what ends the load; or what counts instructions.
    pub count: Option<Count>,
    /// The method of requests, where that is not GET.
    pub method: Option<String>,
    /// The statuses of right answers, where that is not 200.
    pub expect: Option<String>,
    /// The file that was sent with each request.
    pub body: Option<String>,
    /// Its size.
    pub body_bytes: Option<u64>,
    /// Fields sent with each request beside those of the client.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    /// The addresses or interfaces that connections came from, where they were chosen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// The congestion control of the server's sockets, by the kernel's name.
    pub server_congestion: Option<String>,
    /// The same of the client's.
    pub client_congestion: Option<String>,
    /// When the client's threads wake up; where they pause so that one wake-up serves several sockets, the longest
    /// pause is `latency_ns.coalescing_max`.
    pub wakeups: Option<Wakeups>,
    /// What to ask the server for.
    pub url: Option<String>,
    /// Where the server listens, where the URL names something else.
    pub address: Option<String>,
    /// The server name in the ClientHello, where it is not that of the URL.
    pub sni: Option<String>,
    /// The file with the names of which each connection draws one.
    pub names_file: Option<String>,
    /// How many names there are to draw from.
    pub names: Option<usize>,
    /// The objects and their shares, or the files, where there are several.
    pub objects: Option<String>,
    /// How many connections are open at once.
    pub connections: Option<usize>,
    /// The version of HTTP, where one was chosen.
    pub http: Option<String>,
    /// How many operations each connection carries at once, over HTTP/2 and 3.
    pub streams: Option<u64>,
    /// The longest UDP payload that the server was allowed to send and that the client sends, over HTTP/3.
    pub max_udp_payload: Option<u64>,
    /// What the client announced to the server, over HTTP/2.
    pub http2: Option<Http2Settings>,
    /// How many ranks make the load, where it is made elsewhere.
    pub ranks: Option<NonZeroU32>,
    /// Over plain HTTP, to drop bodies or to read them.
    pub receive: Option<Receive>,
    /// The share of responses and signatures to verify.
    pub verify: Option<OneIn>,
    /// How the client ends connections.
    pub close: Option<Close>,
    /// What the random part of the load follows from, where it has one.
    pub seed: Option<u64>,
    /// The CPUs of the load threads, where they ran here.
    pub client_cpus: Option<CpuList>,
    /// The machine that the server was to run on, where that is another one.
    pub host: Option<String>,
    /// The server's CPUs on its machine, where they are known.
    pub server_cpus: Option<CpuList>,
    /// The system that the server was to come from, where that is not this machine's.
    pub system: Option<String>,
    /// The TLS library that the server was to run on, where it has a choice or was given one.
    pub library: Option<String>,
    /// The folder that the server's TLS library was to come from.
    pub library_path: Option<String>,
    /// Variables that the server was given, `NAME=value`.
    pub environment: Option<String>,
    /// Directives of nginx beside toll's own, or in their place.
    pub directives: Option<String>,
    /// What the cryptography of a Java server was to run on.
    pub crypto: Option<Crypto>,
    /// Whether that was to use AES instructions.
    pub aes: Option<Aes>,
}

/// How often a client certificate is wanted.
pub(crate) const EACH_FULL_HANDSHAKE: &str = "in each full handshake";

impl Asked {
    pub(crate) fn of(job: &Job, certificate_key: Option<CertificateKey>) -> Self {
        let (plan, is_tls) = (&job.plan, job.url.is_tls());
        let is_own_tls = is_tls && plan.client == Client::Toll;
        let has_requests = job.plan.operation != Operation::Handshakes;
        Self {
            tls: match is_tls {
                true => plan.asked_version().map(|version| version.number().to_owned()),
                false => Some("none".to_owned()),
            },
            suite: plan.only_suite().map(|suite| suite.name.to_owned()),
            group: plan.group.map(|group| group.name().to_owned()),
            certificate_key: certificate_key.filter(|_| is_tls).map(|key| key.to_string()),
            client_certificates: (plan.client_certificate.is_some())
                .then(|| EACH_FULL_HANDSHAKE.to_owned()),
            encrypt_then_mac: is_tls.then(|| plan.encrypt_then_mac.unwrap_or(false)),
            resumption_percent: is_tls.then(|| plan.resumption.get()),
            early_data: is_own_tls.then_some(false),
            ech: is_own_tls.then_some(false),
            key_exchange: is_tls.then(|| plan.key_exchange()),
            operation: Some(job.plan.operation),
            requests_per_connection: plan.requests_per_connection.as_ref().map(ToString::to_string),
            session: plan.session.as_ref().map(|file| file.display().to_string()),
            page_bytes: plan.session.as_ref().map(|_| plan.page().0),
            walks: plan.walks,
            arrival: Some(job.plan.arrival),
            pace_bps: pace(&plan.arrival),
            period_ns: job.period().ok().flatten().map(|period| period.0),
            ramp_ns: (job.plan.ramp.0 > 0).then_some(job.plan.ramp.0),
            count: plan.count,
            method: plan.method.map(|method| method.to_string()),
            expect: plan.expect.as_ref().map(ToString::to_string),
            body: plan.body.as_ref().map(|file| file.display().to_string()),
            headers: plan.header.iter().map(ToString::to_string).collect(),
            sources: plan.source.iter().map(ToString::to_string).collect(),
            client_congestion: plan.congestion.as_ref().map(ToString::to_string),
            wakeups: Some(plan.wakeups()),
            url: Some(job.url.to_string()),
            address: (!job.url.is_at(job.address)).then(|| job.address.to_string()),
            sni: plan.sni.as_ref().map(ToString::to_string),
            names_file: plan.names.as_ref().map(|file| file.display().to_string()),
            objects: match &job.files {
                Some(files) => Some(files.to_string()),
                None => job.objects.as_ref().map(ToString::to_string),
            },
            connections: Some(job.plan.connections),
            http: plan.http.map(|http| http.to_string()),
            streams: (plan.has_streams() && has_requests).then(|| plan.streams() as u64),
            max_udp_payload: plan.max_udp_payload.map(|most| most.get().into()),
            http2: Http2Settings::of(plan).filter(|_| plan.client == Client::Toll),
            ranks: job.plan.ranks,
            receive: has_requests.then(|| job.plan.receive()),
            verify: Some(job.plan.verify()),
            close: Some(job.plan.close),
            seed: job.is_random().then_some(job.seed),
            client_cpus: job.plan.ranks.is_none().then(|| job.plan.cpus.clone()),
            ..Self::default()
        }
    }
}

/// The rate of a paced load, where it has one.
pub(crate) fn pace(arrival: &Arrival) -> Option<u64> {
    match arrival {
        Arrival::Paced { pace: Pace::Rate(rate) } => Some(*rate),
        _ => None,
    }
}
