//! Which keys of a load do not go together.

use keys::Conflict;
use keys::Force::{self, Contradiction, Opposite, Useless};
use tls::{Cipher, Group, KeyExchange, Mac, OrPlain, Suite, Version};
use units::Nanos;

use super::{Client, Close, KeyExchangeMode, Operation, Plan, Receive, Wakeups};
use crate::{Arrival, Header, Pace, Percent, Source};

impl Plan {
    /// The keys that do not go together.
    pub fn conflicts(&self) -> Vec<Conflict> {
        let mut found = Conflicts::default();
        let has_both = self.insecure && self.ca.is_some();
        found.add("insecure", Contradiction, &[(has_both, "ca", "trusts any certificate")]);
        if self.client != Client::Toll {
            self.conflicts_of_client(&mut found);
        }
        if self.ranks.is_some() {
            self.conflicts_of_ranks(&mut found);
        }
        self.conflicts_of_operation(&mut found);
        self.conflicts_of_http(&mut found);
        if self.is_plain() {
            self.conflicts_of_plain_http(&mut found);
        } else {
            self.conflicts_of_tls(&mut found);
        }
        found.0
    }

    /// Other programs have one way of doing most things.
    fn conflicts_of_client(&self, found: &mut Conflicts) {
        let is_fixed = self.key_exchange.is_some_and(|mode| mode != KeyExchangeMode::Fresh);
        let resumes = self.resumption != Percent::default();
        let has_pauses = self.arrival != Arrival::CLOSED;
        let offers = "offers encrypt-then-MAC wherever it can, so that the server decides";
        let connects = "connects from the address that the kernel chooses";
        found.add(
            "client",
            Useless,
            &[
                (is_fixed, "key-exchange", "makes fresh keys"),
                (resumes, "resumption", "resumes no share of its sessions"),
                (self.encrypt_then_mac.is_some(), "encrypt-then-mac", offers),
                (has_pauses, "arrival", "asks again as soon as it has its answer"),
                (self.ramp != Nanos(0), "ramp", "opens all its connections at once"),
                (self.close != Close::Fin, "close", "closes in its own way"),
                (self.congestion.is_some(), "congestion", "has the system's congestion control"),
                (!self.can_choose_its_source(), "source", connects),
                (self.warmup() != Nanos(0), "warmup", "has no warm-up"),
                (self.receive() != Receive::Decrypt, "receive", "decrypts everything"),
                (self.verify.is_some(), "verify", "verifies nothing"),
                (self.client_certificate.is_some(), "client-certificate", "is given none by toll"),
                (self.wakeups.is_some(), "wakeups", "waits for its sockets in its own way"),
                (self.operation_timeout.is_some(), "operation-timeout", "waits as long as it does"),
            ],
        );
    }

    /// ab binds its connections to one address.
    fn can_choose_its_source(&self) -> bool {
        match (self.client, self.source.as_slice()) {
            (_, []) | (Client::Ab, [Source::Address(_)]) => true,
            (client, _) => client == Client::Toll,
        }
    }

    /// Ranks have places of their own, and one window.
    fn conflicts_of_ranks(&self, found: &mut Conflicts) {
        let counted = "share a time, not a number of operations";
        let sources = "each have a source of their own ([[rank]] source)";
        found.add(
            "ranks",
            Contradiction,
            &[
                (!self.source.is_empty(), "source", sources),
                (self.count.is_some(), "count", counted),
                (self.walks.is_some(), "walks", counted),
                (self.body.is_some(), "body", "have no files of this machine"),
            ],
        );
    }

    /// A session reads its pages and asks for the next one after it has; nothing else has pages. Each name has a
    /// client of its own. A load with a number of operations has no time that something else could follow.
    fn conflicts_of_operation(&self, found: &mut Conflicts) {
        let is_other = self.client != Client::Toll;
        let is_handshakes = self.operation == Operation::Handshakes;
        let is_session = self.operation == Operation::Session;
        let has_rate = matches!(self.arrival, Arrival::Paced { pace: Pace::Rate(_) });
        let asks = is_handshakes && has_rate;
        let pauses = self.wakeups.is_some_and(Wakeups::pauses) && self.arrival != Arrival::CLOSED;
        let late = "is of loops without think time: a pause would make the next operations late";
        found.add("wakeups", Contradiction, &[(pauses, "arrival", late)]);
        found.add("operation", Contradiction, &[(asks, "arrival", "asks for no bodies")]);
        let silent = "sends no requests";
        let own = "has the requests and answers of its session file";
        let has_header = is_handshakes && !self.header.is_empty();
        found.add("operation", Useless, &[(has_header, "header", silent)]);
        for (key, is_explicit) in [
            ("method", self.method.is_some()),
            ("expect", self.expect.is_some()),
            ("body", self.body.is_some()),
        ] {
            found.add("operation", Useless, &[(is_explicit && is_handshakes, key, silent)]);
            found.add("operation", Contradiction, &[(is_explicit && is_session, key, own)]);
            let sends = is_explicit && !is_handshakes && !is_session && is_other;
            found.add("client", Contradiction, &[(sends, key, "sends GET and no body")]);
        }
        let alone = "needs toll's own client, which others are not";
        if self.names.is_some() {
            let why = "is for requests and handshakes, but a session walks one site, whose links and \
                       cookies are of its host";
            found.add(
                "names",
                Contradiction,
                &[
                    (is_other, "client", alone),
                    (is_session, "operation", why),
                    (self.sni.is_some(), "sni", "is what the ClientHello has"),
                ],
            );
        }
        let has_sni = self.sni.is_some() && is_other;
        found.add("client", Contradiction, &[(has_sni, "sni", "sends the name of the URL")]);
        let ends = self.requests_per_connection.is_some();
        let (key, is_kept) = ("requests-per-connection", self.operation == Operation::Requests);
        let has_own_way = "has its own way to end connections";
        found.add("operation", Contradiction, &[(ends && !is_kept, key, has_own_way)]);
        let other_way = "ends connections in its own way";
        found.add("client", Contradiction, &[(ends && is_other, key, other_way)]);
        if self.count.is_some() {
            found.add(
                "count",
                Contradiction,
                &[
                    (is_other, "client", alone),
                    (is_session, "operation", "counts no pages (--walks does)"),
                    (
                        self.arrival.is_scheduled(),
                        "arrival",
                        "is for loops in which each answer asks anew",
                    ),
                    (self.ramp != Nanos(0), "ramp", "counts all operations"),
                    (self.warmup() != Nanos(0), "warmup", "counts all operations"),
                ],
            );
        }
        if self.counter().is_some() {
            // An operation is to cost the same each time.
            let ends = self.requests_per_connection.is_some();
            found.add(
                "count",
                Contradiction,
                &[
                    (ends, "requests-per-connection", "counts one kind of operation"),
                    (self.names.is_some(), "names", "counts with one certificate"),
                ],
            );
            let has_share = !matches!(self.resumption.get(), 0 | 100);
            let mixed = "counts full handshakes (0%) or resumed ones (100%)";
            found.add("count", Contradiction, &[(has_share, "resumption", mixed)]);
        }
        if !is_session {
            let why = "walks no pages";
            let keys = [
                (self.session.is_some(), "session", why),
                (self.page.is_some(), "page", why),
                (self.walks.is_some(), "walks", why),
            ];
            return found.add("operation", Useless, &keys);
        }
        let walks = self.receive == Some(Receive::Walk);
        found.add("operation", Opposite, &[(walks, "receive", "reads every page")]);
        let reads = "asks for a page when its user has read the last one (closed)";
        let has_cookies = self.header.iter().any(|header| header.is("cookie"));
        let own = [
            (is_other, "client", alone),
            (self.arrival.is_scheduled(), "arrival", reads),
            (has_cookies, "header", "has cookies of its own"),
        ];
        found.add("operation", Contradiction, &own);
        let warms_up = self.walks.is_some() && self.warmup() != Nanos(0);
        found.add("walks", Useless, &[(warms_up, "warmup", "counts all pages")]);
    }

    /// HTTP/2 mixes what its streams carry, and only its connections have streams.
    fn conflicts_of_http(&self, found: &mut Conflicts) {
        let sized = (self.max_udp_payload.is_some(), "max-udp-payload", "is not QUIC");
        if self.is_http3() {
            return self.conflicts_of_http3(found);
        }
        found.add("http", Useless, &[sized]);
        if !self.is_http2() {
            let one = "answers one request at a time";
            found.add("http", Useless, &[(self.streams.is_some(), "streams", one)]);
            let asks = self.header.iter().any(Header::asks_for_trailers);
            return found.add(
                "http",
                Contradiction,
                &[(asks, "header", "asks for no trailers (TE)")],
            );
        }
        let walks = self.receive == Some(Receive::Walk);
        let mixes = "are answered in records that they share, so that each is opened";
        let has_several = walks && self.streams() > 1;
        found.add("streams", Opposite, &[(has_several, "receive", mixes)]);
        let what = match self.operation {
            Operation::Requests => "",
            Operation::Handshakes => "needs requests",
            Operation::OneRequestPerConnection => "keeps its connections",
            Operation::Session => "has no sessions, which are of HTTP/1.1",
        };
        let is_unable = !matches!(self.client, Client::Toll | Client::H2load | Client::Shb);
        let is_forbidden =
            |suite: &Suite| suite.mac != Mac::Aead || suite.key_exchange == KeyExchange::Rsa;
        let has_forbidden = self.only_suite().is_some_and(is_forbidden);
        let rules = [
            (!what.is_empty(), "operation", what),
            (is_unable, "client", "is not spoken by wrk, ab and s_time"),
            (has_forbidden, "suite", "forbids CBC and static RSA (RFC 9113, section 9.2.2)"),
        ];
        found.add("http", Contradiction, &rules);
    }

    /// QUIC has TLS 1.3 in it, and not TCP under it.
    fn conflicts_of_http3(&self, found: &mut Conflicts) {
        let walks = self.receive == Some(Receive::Walk);
        let whole = "decrypts every packet, so that it is acknowledged";
        found.add("http", Opposite, &[(walks, "receive", whole)]);
        let own = "has congestion control of its own, above UDP";
        found.add("http", Useless, &[(self.congestion.is_some(), "congestion", own)]);
        let what = match self.operation {
            Operation::Requests | Operation::Handshakes => "",
            Operation::OneRequestPerConnection => "keeps its connections",
            Operation::Session => "has no sessions, which are of HTTP/1.1",
        };
        let is_unable = !matches!(self.client, Client::Toll | Client::H2load | Client::Shb);
        let is_retried = self.key_exchange == Some(KeyExchangeMode::Retried);
        let of_tls12 = "is encrypted by TLS 1.3 (RFC 9001)";
        let is_tls12 = self.asked_version() == Some(Version::Tls12);
        let key = if self.only_suite().is_some() { "suite" } else { "tls" };
        let rules = [
            (!what.is_empty(), "operation", what),
            (is_unable, "client", "is not spoken by wrk, ab and s_time"),
            (self.is_plain(), "tls", of_tls12),
            (is_tls12, key, of_tls12),
            (self.encrypt_then_mac == Some(true), "encrypt-then-mac", of_tls12),
            (is_retried, "key-exchange", "always sends a key share here"),
        ];
        found.add("http", Contradiction, &rules);
    }

    fn conflicts_of_plain_http(&self, found: &mut Conflicts) {
        let is_tls = self.tls.and_then(OrPlain::tls).is_some();
        let resumes = self.resumption != Percent::default();
        let plain = "is plain HTTP";
        let opposite = [(is_tls, "tls", plain), (self.only_suite().is_some(), "suite", plain)];
        let useless = [
            (self.sni.is_some(), "sni", plain),
            (self.group.is_some(), "group", plain),
            (self.encrypt_then_mac.is_some(), "encrypt-then-mac", plain),
            (self.key_exchange.is_some(), "key-exchange", plain),
            (resumes, "resumption", plain),
            (self.client_certificate.is_some(), "client-certificate", plain),
        ];
        let operation = [(self.operation == Operation::Handshakes, "operation", plain)];
        let causes = [
            ("tls", self.tls == Some(OrPlain::Plain)),
            ("suite", self.suite == Some(OrPlain::Plain)),
        ];
        for (cause, _) in causes.into_iter().filter(|(_, is_plain)| *is_plain) {
            found.add(cause, Opposite, &opposite);
            found.add(cause, Useless, &useless);
            found.add(cause, Contradiction, &operation);
        }
    }

    fn conflicts_of_tls(&self, found: &mut Conflicts) {
        let suite = self.only_suite();
        let asked = self.tls.and_then(OrPlain::tls);
        if let (Some(version), Some(suite)) = (asked, suite) {
            let (other, why) = (suite.version(), format!("is a suite of {}", suite.version()));
            found.add("suite", Contradiction, &[(version != other, "tls", why.as_str())]);
        }
        let is_static_rsa = suite.is_some_and(|suite| suite.key_exchange == KeyExchange::Rsa);
        if is_static_rsa && self.group.is_some() {
            found.add("suite", Useless, &[(true, "group", "has no key exchange by group")]);
        } else if self.group.is_some_and(Group::is_of_tls13_only) {
            let why = "is of TLS 1.2, which has no such group";
            let (of_suite, is_12) = (suite.map(Suite::version), Some(Version::Tls12));
            found.add("suite", Useless, &[(of_suite == is_12, "group", why)]);
            let is_asked = of_suite.is_none() && asked == is_12;
            found.add("tls", Contradiction, &[(is_asked, "group", why)]);
        }
        let is_cbc =
            suite.is_some_and(|s| matches!(s.cipher, Cipher::Aes128Cbc | Cipher::Aes256Cbc));
        let why = "has no encrypt-then-MAC (only CBC suites such as AES128-SHA have)";
        let offers = self.encrypt_then_mac == Some(true) && !is_cbc;
        found.add("suite", Useless, &[(offers, "encrypt-then-mac", why)]);
    }
}

#[derive(Default)]
struct Conflicts(Vec<Conflict>);

impl Conflicts {
    /// Adds those of these rules that apply: each with the key that does not fit, and why.
    fn add(&mut self, cause: &'static str, force: Force, rules: &[(bool, &'static str, &str)]) {
        let found = rules.iter().filter(|(applies, ..)| *applies);
        self.0.extend(found.map(|&(_, key, why)| Conflict { cause, why: why.into(), key, force }));
    }
}
