//! The facts of a receipt, a row each: its name in the journal, its label and its form in words, how it is asked, and
//! how it is observed.
//!
//! Most follow from the load's plan and from what the load counted. What others know (the server, the kernel, the
//! ranks) has no `=` here, and is added by whoever sees it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use cpus::CpuList;
use load::{
    Arrival, Client, Close, Count, Job, KeyExchangeMode, OneIn, Operation, Outcome, PauseReason,
    PauseShare, Percent, Receive, Wakeups,
};
use observe::{Fact, KernelTlsCounters};
use serde::{Deserialize, Serialize};
use targets::{Aes, Crypto};
use tls::{CertificateKey, SendMode, Version};

use crate::form::Form;
use crate::http2_use::{Http2Settings, Http2Use};
use crate::negotiated::{by_name, count_handshakes};
use crate::obtained::{
    AcceleratorUse, BackendUse, Orders, Pacing, QuotaUse, SendCalls, mean_requests, order_pages,
    pace, protocols, statuses,
};
use crate::quic_use::QuicUse;

/// Names, each with how often it was seen.
type Counts = BTreeMap<String, u64>;

/// What is left out of the journal where nothing is known.
trait Absent {
    fn is_absent(&self) -> bool;
}

impl<T> Absent for Option<T> {
    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T> Absent for Vec<T> {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl<K, V> Absent for BTreeMap<K, V> {
    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

/// A row is a fact that is asked for, observed, or both. One without a form is written as it is.
macro_rules! facts {
    (
        asked($($ask_with:ident: $ask_of:ty),*) { $(let $asking:pat = $asking_of:expr;)* }
        obtained($($observe_with:ident: $observe_of:ty),*) { $(let $observing:pat = $observing_of:expr;)* }
        $($about:literal $name:ident: $label:literal $($form:ident)? {
            $(asked $asked:ty $(= $ask:expr)?;)?
            $(obtained $obtained:ty $(= $observe:expr)?;)?
        })*
    ) => {
        /// What was asked for; what was left open is absent.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Asked {
            $($(#[doc = $about] #[serde(skip_serializing_if = "Absent::is_absent")] pub $name: $asked,)?)*
        }

        impl Asked {
            pub(crate) fn of($($ask_with: $ask_of),*) -> Self {
                $(let $asking = $asking_of;)*
                Self { $($($($name: $ask,)?)?)* ..Self::default() }
            }
        }

        /// What was got. Counts by name are of handshakes, those of the warm-up included.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Obtained {
            $($(#[doc = $about] #[serde(skip_serializing_if = "Absent::is_absent")] pub $name: $obtained,)?)*
        }

        impl Obtained {
            pub(crate) fn of($($observe_with: $observe_of),*) -> Self {
                $(let $observing = $observing_of;)*
                Self { $($($($name: $observe,)?)?)* ..Self::default() }
            }
        }

        /// All facts with their labels, in the order in which they are listed.
        pub(crate) const FACTS: &[(&str, &str, Form)] =
            &[$((stringify!($name), $label, facts!(@ $($form)?)),)*];
    };
    (@) => { Form::Plain };
    (@ $form:ident) => { Form::$form };
}

/// How often a client certificate is wanted.
pub(crate) const EACH_FULL_HANDSHAKE: &str = "in each full handshake";

facts! {
    asked(job: &Job, certificate_key: Option<CertificateKey>) {
        let plan = &job.plan;
        let (is_tls, has_requests) = (job.url.is_tls(), plan.operation != Operation::Handshakes);
        let is_own_tls = is_tls && plan.client == Client::Toll;
    }
    obtained(job: &Job, outcome: &Outcome) {
        let plan = &job.plan;
        let (is_tls, has_requests) = (job.url.is_tls(), plan.operation != Operation::Handshakes);
        let resumes = plan.resumption != Percent::default();
        let uses = |version| is_tls && outcome.negotiated.iter().any(|(kind, _)| kind.version == version);
        let (is_tls12, is_tls13) = (uses(Version::Tls12), uses(Version::Tls13));
        let has_last = plan.requests_per_connection.is_some() || plan.operation == Operation::OneRequestPerConnection;
        let ended = plan.requests_per_connection.is_some().then_some(&outcome.ended);
        let (verified, collected) = (outcome.verified, outcome.collected.filter(|_| is_tls));
        let names = |counts: &[u64]| counts.iter().filter(|count| **count > 0).count();
    }

    "The program that made the load, such as `wrk 4.1.0`; absent for toll's own engine. What it did is its own word: \
     names are those that it printed of one connection."
    client: "client" { obtained Option<String>; }
    "What one operation is."
    operation: "operation" { asked Option<Operation> = Some(plan.operation); }
    "What to ask the server for."
    url: "URL" { asked Option<String> = Some(job.url.to_string()); }
    "Where the server listens, where the URL names something else."
    address: "address" { asked Option<String> = (!job.url.is_at(job.address)).then(|| job.address.to_string()); }
    "The server name in the ClientHello, where it is not that of the URL."
    sni: "server name (SNI)" { asked Option<String> = plan.sni.as_ref().map(ToString::to_string); }
    "The file with the names of which each connection draws one."
    names_file: "names of" { asked Option<String> = plan.names.as_ref().map(|file| file.display().to_string()); }
    "How many names there are to draw from, and with how many connections were established, warm-up included."
    names: "names" {
        asked Option<usize>;
        obtained Option<usize> = (outcome.names_asked > 0).then(|| names(&outcome.names));
    }
    "Names that a certificate was shown for, by a handshake of the load or by one that collected the session that it \
     resumes; only where handshakes are to resume."
    names_certified: "names that showed a certificate" {
        obtained Option<usize> = (outcome.names_asked > 0 && resumes).then(|| names(&outcome.names_certified));
    }
    "Different certificates that the server showed for them; absent over plain HTTP."
    certificates: "certificates" {
        obtained Option<usize> = Some(outcome.certificates.len()).filter(|count| *count > 0);
    }
    "The objects and their shares, or the files, where there are several; and completed responses by path."
    objects: "objects" Counts {
        asked Option<String> = match &job.files {
            Some(files) => Some(files.to_string()),
            None => job.objects.as_ref().map(ToString::to_string),
        };
        obtained Counts = job.objects.iter().flat_map(|mix| mix.portions()).map(|portion| portion.path.clone())
            .zip(outcome.objects.iter().copied().chain(std::iter::repeat(0))).collect();
    }
    "The method of requests, where that is not GET."
    method: "method" { asked Option<String> = plan.method.map(|method| method.to_string()); }
    "The statuses of right answers, where that is not 200."
    expect: "expected status" { asked Option<String> = plan.expect.as_ref().map(ToString::to_string); }
    "Completed responses by status, where other statuses than 200 are right."
    statuses: "statuses" Counts {
        obtained Counts = plan.expect.as_ref().map(|_| statuses(outcome)).unwrap_or_default();
    }
    "The file that was sent with each request."
    body: "body" { asked Option<String> = plan.body.as_ref().map(|file| file.display().to_string()); }
    "Its size."
    body_bytes: "size of the body" Size { asked Option<u64>; }
    "Request bodies that were sent whole and answered; only where requests have a body."
    bodies_sent: "bodies sent" { obtained Option<u64> = plan.body.is_some().then(|| outcome.bodies_sent()); }
    "Completed requests that were answered before all of their body was sent."
    answered_early: "answered before the body was sent" {
        obtained Option<u64> = Some(outcome.answered_early).filter(|count| *count > 0);
    }
    "Fields sent with each request beside those of the client."
    headers: "headers" { asked Vec<String> = plan.header.iter().map(ToString::to_string).collect(); }
    "The session file whose pages users walk."
    session: "session" { asked Option<String> = plan.session.as_ref().map(|file| file.display().to_string()); }
    "How large pages were asked to be."
    page_bytes: "page size" Size { asked Option<u64> = plan.session.as_ref().map(|_| plan.page().0); }
    "How many times each user walks the pages, where that is limited."
    walks: "walks per user" { asked Option<NonZeroU32> = plan.walks; }
    "How many operations to begin, where that is what ends the load; or what counts instructions."
    count: "count" { asked Option<Count> = plan.count; }
    "How many connections are to be open at once; and the most that were, warm-up included."
    connections: "connections" {
        asked Option<usize> = Some(plan.connections);
        obtained Option<usize> = Some(outcome.most_open);
    }
    "How many of them were up, handshake complete, when the window began; only where they are kept."
    connections_at_begin: "connections up when the window began" {
        obtained Option<usize> = outcome.up.map(|up| up.at_begin);
    }
    "How many were up when it ended."
    connections_at_end: "connections up when it ended" { obtained Option<usize> = outcome.up.map(|up| up.at_end); }
    "The version of HTTP, where one was chosen; and connections by their version and how they came to it, over HTTP/2 \
     and 3."
    http: "HTTP" Counts {
        asked Option<String> = plan.http.map(|http| http.to_string());
        obtained Counts = protocols(job, outcome);
    }
    "How many operations each connection carries at once, over HTTP/2 and 3; and the most streams that were open on \
     one."
    streams: "streams per connection" {
        asked Option<u64> = (plan.has_streams() && has_requests).then(|| plan.streams() as u64);
        obtained Option<u64> = plan.has_streams().then_some(outcome.streams.most);
    }
    "What the client announced to the server over HTTP/2, and what the connections did."
    http2: "HTTP/2" {
        asked Option<Http2Settings> = Http2Settings::of(plan).filter(|_| plan.client == Client::Toll);
        obtained Option<Http2Use> = Http2Use::of(&outcome.streams, &outcome.http2);
    }
    "What the QUIC connections did."
    quic: "QUIC" {
        obtained Option<QuicUse> =
            QuicUse::of(&outcome.streams, &outcome.quic, job.address.ip().to_canonical().is_loopback());
    }
    "The longest UDP payload that the server was allowed to send and that the client sends, over HTTP/3."
    max_udp_payload: "longest UDP payload" Size {
        asked Option<u64> = plan.max_udp_payload.map(|most| most.get().into());
    }
    "How many ranks make the load, where it is made elsewhere."
    ranks: "ranks" { asked Option<NonZeroU32> = plan.ranks; }
    "The MPI that ranks ran on, in its own words; absent without ranks."
    mpi: "MPI" { obtained Option<String>; }
    "The CPUs of the load threads, where they ran here."
    client_cpus: "client CPUs" { asked Option<CpuList> = plan.ranks.is_none().then(|| plan.cpus.clone()); }
    "The addresses or interfaces that connections came from, where they were chosen."
    sources: "sources" { asked Vec<String> = plan.source.iter().map(ToString::to_string).collect(); }
    "The machine that the server was to run on, where that is another one."
    host: "server's host" { asked Option<String>; }
    "The server's CPUs on its machine, where they are known."
    server_cpus: "server CPUs" { asked Option<CpuList>; }
    "When operations are meant to start."
    arrival: "arrival" { asked Option<Arrival> = Some(plan.arrival); }
    "Body bits per second that all connections together were to ask for, where they ask at a rate, and that came."
    pace_bps: "pace" BitsPerSecond {
        asked Option<u64> = pace(&plan.arrival);
        obtained Option<u64> = pace(&plan.arrival)
            .map(|_| (outcome.bytes.body as f64 * 8.0 / outcome.window.seconds()).round() as u64);
    }
    "From a request of a connection to its next, in nanoseconds, where connections ask at a pace."
    period_ns: "period" Time { asked Option<u64> = job.period().ok().flatten().map(|period| period.0); }
    "How long the load grew before the warm-up, in nanoseconds, where it did."
    ramp_ns: "ramp" Time { asked Option<u64> = (plan.ramp.0 > 0).then_some(plan.ramp.0); }
    "When the client's threads wake up; where they pause so that one wake-up serves several sockets, the longest \
     pause is `latency_ns.coalescing_max`."
    wakeups: "the client's wake-ups" { asked Option<Wakeups> = Some(plan.wakeups()); }
    "The most that the client paused after a wake-up, in parts of the time that its quickest operations took: \
     `1/4`, `1/8`, `1/32`, or `none` where all pauses cost some of the rate. Absent where it did not pause."
    pauses: "the client's longest pauses" {
        obtained Option<PauseShare> = outcome.pauses.map(|pauses| pauses.share);
    }
    "Why so: `tried` in the warm-up beside others; `untried`, `undecided` or `changed` are the usual ones."
    pauses_reason: "why so long" { obtained Option<PauseReason> = outcome.pauses.map(|pauses| pauses.reason); }
    "What the random part of the load follows from, where it has one."
    seed: "seed" { asked Option<u64> = job.is_random().then_some(job.seed); }
    "`1.2`, `1.3`, or `none` for plain HTTP."
    tls: "TLS" Counts {
        asked Option<String> = match is_tls {
            true => plan.asked_version().map(|version| version.number().to_owned()),
            false => Some("none".to_owned()),
        };
        obtained Counts = by_name(outcome, |of| Some(of.version.number().to_owned()));
    }
    "IANA names."
    suite: "suite" Counts {
        asked Option<String> = plan.only_suite().map(|suite| suite.name.to_owned());
        obtained Counts = by_name(outcome, |of| Some(of.suite.name.to_owned()));
    }
    "IANA names."
    group: "group" Counts {
        asked Option<String> = plan.group.map(|group| group.name().to_owned());
        obtained Counts = by_name(outcome, |of| Some(of.group?.name().to_owned()));
    }
    "IANA names."
    signature_scheme: "signature scheme" Counts {
        obtained Counts = by_name(outcome, |of| of.signature_scheme.map(tls::scheme_name));
    }
    "The kind of key that the target was given, as in `--certificate-key`, and those that it showed."
    certificate_key: "certificate key" Counts {
        asked Option<String> = certificate_key.filter(|_| is_tls).map(|key| key.to_string());
        obtained Counts = by_name(outcome, |of| of.certificate_key.map(|key| key.to_string()));
    }
    "Handshakes in which the server asked for a certificate of the client; absent where it asked in none."
    certificate_requests: "client certificates asked for" {
        obtained Option<u64> = Some(outcome.certificate_requests).filter(|count| is_tls && *count > 0);
    }
    "How often the client is to send its certificate, where it has one; and in how many handshakes it sent it and \
     signed."
    client_certificates: "client certificates sent" {
        asked Option<String> = plan.client_certificate.is_some().then(|| EACH_FULL_HANDSHAKE.to_owned());
        obtained Option<u64> = (is_tls && plan.client_certificate.is_some())
            .then(|| count_handshakes(outcome, |kind| kind.client.is_some()));
    }
    "Their kinds of the client's key, each with its count."
    client_key: "client certificate's key" Counts {
        obtained Counts = by_name(outcome, |of| of.client?.key.map(|key| key.to_string()));
    }
    "Their schemes of the client's signature."
    client_scheme: "client's signature scheme" Counts {
        obtained Counts = by_name(outcome, |of| Some(tls::scheme_name(of.client?.scheme)));
    }
    "Not asked for unless said, and only where there is TLS; whether any handshake negotiated it."
    encrypt_then_mac: "encrypt-then-MAC" {
        asked Option<bool> = is_tls.then(|| plan.encrypt_then_mac.unwrap_or(false));
        obtained Option<bool> = (is_tls && count_handshakes(outcome, |_| true) > 0)
            .then(|| count_handshakes(outcome, |kind| kind.encrypt_then_mac) > 0);
    }
    "How the client takes part in the key exchange."
    key_exchange: "key exchange" { asked Option<KeyExchangeMode> = is_tls.then(|| plan.key_exchange()); }
    "The share of resumed handshakes, in percent."
    resumption_percent: "resumption" Percent { asked Option<u8> = is_tls.then(|| plan.resumption.get()); }
    "Whether the client offers 0-RTT (RFC 8446, section 4.2.10), which toll's never does."
    early_data: "0-RTT offered" { asked Option<bool> = is_own_tls.then_some(false); }
    "Whether it offers Encrypted Client Hello (extension 0xfe0d), which toll's never does."
    ech: "ECH offered" { asked Option<bool> = is_own_tls.then_some(false); }
    "Full handshakes."
    full: "full handshakes" {
        obtained Option<u64> = is_tls.then(|| count_handshakes(outcome, |kind| !kind.resumed));
    }
    "Resumed handshakes."
    resumed: "resumed handshakes" {
        obtained Option<u64> = is_tls.then(|| count_handshakes(outcome, |kind| kind.resumed));
    }
    "Handshakes in which the server asked for a second ClientHello (HelloRetryRequest), as it does where the first \
     has no share of a group that it takes; absent where none is of TLS 1.3."
    hello_retry_requests: "handshakes with a HelloRetryRequest" {
        obtained Option<u64> = is_tls13.then_some(outcome.hello_retry_requests);
    }
    "Tickets that the server gave; absent where the client asked for none, which is so in TLS 1.2 without resumption."
    tickets: "tickets given" {
        obtained Option<u64> = (is_tls13 || is_tls && resumes).then_some(outcome.given.tickets);
    }
    "Session identifiers that the server of TLS 1.2 gave without a ticket, in handshakes that were to be resumed. It \
     can resume them only if it keeps the sessions."
    session_ids: "session ids given" { obtained Option<u64> = (is_tls12 && resumes).then_some(outcome.given.ids); }
    "Handshakes for which the client had a session, and so offered it; only where it is to resume."
    sessions_offered: "sessions offered" {
        obtained Option<u64> = (is_tls && resumes).then_some(outcome.sessions_offered);
    }
    "Tickets that the server gave on connections before the load, where it collects them first."
    collected_tickets: "tickets collected first" { obtained Option<u64> = collected.map(|of| of.given.tickets); }
    "The same of `session_ids`."
    collected_session_ids: "session ids collected first" {
        obtained Option<u64> = collected.filter(|_| is_tls12).map(|of| of.given.ids);
    }
    "How many connections those were; their handshakes are in no other count."
    collecting_connections: "connections that collected them" {
        obtained Option<u64> = collected.map(|of| of.connections);
    }
    "After how many requests the client ends a connection, with shares where there are several. Where a number was \
     asked for, the mean of the connections that it ended, those left out that began in the middle of their lives; \
     otherwise completed operations of the window over connections of the whole load, where they are kept."
    requests_per_connection: "requests per connection" {
        asked Option<String> = plan.requests_per_connection.as_ref().map(ToString::to_string);
        obtained Option<f64> = match ended {
            Some(ended) => mean_requests(ended),
            // Those of a session ask for pages and what they lead to.
            None => (plan.operation == Operation::Requests && outcome.connections > 0)
                .then(|| outcome.answers as f64 / outcome.connections as f64),
        };
    }
    "Those connections by how many requests they carried."
    connections_by_requests: "connections by their requests" Counts {
        obtained Counts = ended.into_iter().flat_map(|ended| &ended.by_requests)
            .map(|(requests, count)| (requests.to_string(), *count)).collect();
    }
    "Connections that the server closed before their last request; only where a number was asked for."
    closed_early: "closed early by the server" { obtained Option<u64> = ended.map(|ended| ended.by_server); }
    "How the client ends connections."
    close: "close" { asked Option<Close> = Some(plan.close); }
    "Connections that the server did not close after their last response, although it was asked to or the client had \
     ended them; only where that ends connections, and by FIN."
    kept_open: "kept open by the server" {
        obtained Option<u64> = (has_last && plan.close == Close::Fin).then_some(outcome.not_closed_by_server);
    }
    "Requests that were sent again within the window, because they had no answer; absent where none was."
    sent_again: "requests sent again" { obtained Option<u64> = Some(outcome.sent_again).filter(|count| *count > 0); }
    "Those of them that the server had not begun with, as it said; the others were on kept connections that it closed."
    not_taken: "of these, not taken by the server" {
        obtained Option<u64> = Some(outcome.not_taken).filter(|count| *count > 0);
    }
    "Over plain HTTP, to drop bodies or to read them."
    receive: "receive" { asked Option<Receive> = has_requests.then(|| plan.receive()); }
    "The share of responses and signatures to verify."
    verify: "verify" { asked Option<OneIn> = Some(plan.verify()); }
    "Handshake signatures that were verified."
    signatures_verified: "signatures verified" { obtained Option<u64> = is_tls.then_some(verified.signatures); }
    "Responses whose last record was opened and authenticated, and some of whose others were dropped."
    bodies_walked: "bodies walked" { obtained Option<u64> = (is_tls && has_requests).then_some(verified.walked); }
    "Those of `bodies_walked` whose head was read from a record that was not opened: their status and length are not \
     authenticated."
    bodies_peeked: "heads read unauthenticated" {
        obtained Option<u64> = Some(verified.peeked).filter(|count| is_tls && *count > 0);
    }
    "Responses of which every record was authenticated."
    bodies_authenticated: "bodies opened whole" {
        obtained Option<u64> = (is_tls && has_requests).then_some(verified.opened);
    }
    "Responses whose every byte was compared with the generated object; a page is compared with nothing."
    bodies_compared: "bodies compared" {
        obtained Option<u64> = (has_requests && plan.operation != Operation::Session).then_some(verified.compared);
    }
    "How the server is to encrypt and send, and connections by how it did; known only of servers that toll configured."
    send: "send" Counts { asked Option<SendMode>; obtained BTreeMap<SendMode, u64>; }
    "What says so."
    send_known_by: "send known by" { obtained Option<String>; }
    "The server's calls and the bytes that they took, from before the load to after it, where it counts them."
    send_calls: "send calls" { obtained Option<SendCalls>; }
    "Connections that the kernel took over to encrypt or decrypt, from before the load to after it, in the server's \
     network namespace; or why that is not known. Absent where the server is elsewhere."
    kernel_tls: "kernel TLS" { obtained Option<Fact<KernelTlsCounters>>; }
    "The congestion control of the server's sockets, by the kernel's name; and that of its ends of connections, looked \
     at once within the window."
    server_congestion: "server's congestion control" Counts { asked Option<String>; obtained Counts; }
    "The same of the client's."
    client_congestion: "client's congestion control" Counts {
        asked Option<String> = plan.congestion.as_ref().map(ToString::to_string);
        obtained Counts;
    }
    "What held back what the server sent, where anything did."
    pacing: "held back" { obtained Option<Pacing>; }
    "The CPU quota that the server was under and what it did; absent where it has none, or none is known."
    server_quota: "server's CPU quota" { obtained Option<QuotaUse>; }
    "The same of the client, where it is on this machine."
    client_quota: "client's CPU quota" { obtained Option<QuotaUse>; }
    "How requests were to go to the server's backend, `plain` or `tls`, where it has one; and what that served."
    backend: "backend" { asked Option<String>; obtained Option<BackendUse>; }
    "Whether connections to it were to be `kept`, or each request to have a `new` one."
    backend_connections: "connections to the backend" { asked Option<String>; }
    "Whether the server was to verify the backend's certificate."
    backend_verify: "backend's certificate verified" { asked Option<bool>; }
    "The accelerator of the server's private keys, where it was to have one, and what it did."
    accelerator: "accelerator" { asked Option<String>; obtained Option<AcceleratorUse>; }
    "The system that the server was to come from, and the release that it comes from, where that is not this \
     machine's."
    system: "server's system" { asked Option<String>; obtained Vec<String>; }
    "The TLS library that the server was to run on, where it has a choice or was given one; and those that the kernel \
     had mapped into its process, each file with its version, or for rustls in the embedded server what that reports. \
     Empty where the server is not one that toll started, or has none that is known."
    library: "TLS library" { asked Option<String>; obtained Vec<String>; }
    "Through which functions of OpenSSL the server has the handshakes of QUIC, by what its program imports; of one that \
     toll started and that serves HTTP/3."
    quic_api: "QUIC by" { obtained Option<String>; }
    "The folder that the server's TLS library was to come from."
    library_path: "library path" { asked Option<String>; }
    "Variables that the server was given, `NAME=value`."
    environment: "environment" { asked Option<String>; }
    "Directives of nginx beside toll's own, or in their place."
    directives: "directives" { asked Option<String>; }
    "What the cryptography of a Java server was to run on, and the provider of each algorithm in its process."
    crypto: "cryptography" { asked Option<Crypto>; obtained BTreeMap<String, String>; }
    "Whether that was to use AES instructions, and the switches that decide over it, as the system reports them."
    aes: "AES instructions" { asked Option<Aes>; obtained BTreeMap<String, String>; }
    "What AES-128 costs there after the load, in nanoseconds per byte, by cipher."
    ns_per_byte: "ns per byte" { obtained BTreeMap<String, f64>; }
    "What TLS may not use there."
    disabled_algorithms: "disabled algorithms" { obtained Option<String>; }
    "Orders in the server's database, where the server is a shop."
    orders: "orders" { obtained Option<Orders>; }
    "Completed pages of the whole load for each of which the shop stores an order, where the session file says which \
     those are."
    order_pages: "order pages" { obtained Option<u64> = order_pages(outcome); }
}
