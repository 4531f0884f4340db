//! The receipt of a trial: what was negotiated and verified, against what was asked.
//!
//! A figure counts only when it is proven to be of what was asked: a server that speaks another
//! suite, resumes where full handshakes were asked, or negotiates encrypt-then-MAC unasked gives a
//! number, but of something else.

use std::collections::BTreeMap;

use load::{Job, KeyExchangeMode, Negotiated, Operation, Outcome, Receive};
use observe::{Fact, KernelTlsCounters};
use peers::PeerReport;
use serde::{Deserialize, Serialize};
use targets::{Environment, Library, LibraryPath};
use tls::CertificateKey;

use crate::application::Orders;
use crate::mismatch::{Mismatch, compare_kernel_tls, compare_names, mismatches};

/// What was asked, what was got, and where they differ.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// What was asked for; what was left open is absent.
    pub asked: Asked,
    /// What was got.
    pub obtained: Obtained,
    /// Where they differ. Any makes the trial invalid.
    pub mismatch: Vec<Mismatch>,
}

/// What was asked for; what was left open is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Asked {
    /// `1.2`, `1.3`, or `none` for plain HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<String>,
    /// IANA name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// IANA name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The kind of key that the target was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_key: Option<String>,
    /// Not asked for unless said; only where there is TLS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encrypt_then_mac: Option<bool>,
    /// Whether the kernel is to encrypt; known only of servers that toll configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_tls: Option<bool>,
    /// The share of resumed handshakes, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumption_percent: Option<u8>,
    /// How the client takes part in the key exchange: `fixed` or `fresh`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_exchange: Option<String>,
    /// What one operation is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// When operations are meant to start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrival: Option<String>,
    /// How long the load grew before the warm-up, in nanoseconds, where it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ramp_ns: Option<u64>,
    /// What to ask the server for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The objects and their shares, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects: Option<String>,
    /// How many connections are open at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<usize>,
    /// `walk` or `decrypt`; over plain HTTP, to drop bodies or to read them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive: Option<String>,
    /// The share of responses and signatures to verify.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<String>,
    /// How the client ends connections, `fin` or `rst`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub close: Option<String>,
    /// What the random part of the load follows from, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The CPUs of the load threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cpus: Option<String>,
    /// The folder that the server's TLS library was to come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library_path: Option<String>,
    /// Variables that the server was given, `NAME=value`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// What the cryptography of a Java server was to run on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crypto: Option<String>,
    /// Whether that was to use AES instructions: `on` or `off`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aes: Option<String>,
}

/// What was got. Counts by name are of handshakes, those of the warm-up included.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Obtained {
    /// The program that made the load, such as `wrk 4.1.0`; absent for toll's own engine. What it
    /// did is its own word: names are those that it printed of one connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// `1.2`, `1.3`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tls: BTreeMap<String, u64>,
    /// The TLS library that the kernel had mapped into the server's process, each file with its
    /// version; empty where the server is not one that toll started, or has none that is known.
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
    /// Whether any handshake negotiated it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encrypt_then_mac: Option<bool>,
    /// Connections that the kernel took over to encrypt or decrypt, from before the load to after
    /// it, in the server's network namespace; or why that is not known. Absent where the server is
    /// elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_tls: Option<Fact<KernelTlsCounters>>,
    /// Full handshakes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full: Option<u64>,
    /// Resumed handshakes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed: Option<u64>,
    /// Completed operations of the window over connections of the whole load; only where
    /// connections are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_connection: Option<f64>,
    /// Handshake signatures that were verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signatures_verified: Option<u64>,
    /// Responses whose first and last record were opened and authenticated, the rest dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bodies_walked: Option<u64>,
    /// Responses of which every record was authenticated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bodies_authenticated: Option<u64>,
    /// Responses whose every byte was compared with the generated object.
    #[serde(skip_serializing_if = "Option::is_none")]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled_algorithms: Option<String>,
    /// Orders in the server's database, where the server is a shop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orders: Option<Orders>,
}

/// What a server that toll started was to run on, and what it runs on.
#[derive(Debug, Clone)]
pub struct RunsOn {
    /// Where its TLS library was to come from.
    pub library_path: LibraryPath,
    /// Variables that it was given.
    pub environment: Environment,
    /// The TLS libraries that its processes have mapped.
    pub libraries: Vec<Library>,
}

impl Receipt {
    /// The receipt of a load; `certificate_key` where it is known what the target was given.
    #[must_use]
    pub fn of(job: &Job, certificate_key: Option<CertificateKey>, outcome: &Outcome) -> Self {
        let asked = Asked::of(job, certificate_key);
        let obtained = Obtained::of(job, outcome);
        let mismatch = mismatches(job, outcome, &asked, &obtained);
        Self { asked, obtained, mismatch }
    }

    /// The same with what the server was to run on and what it runs on.
    pub(crate) fn with_server(mut self, server: &RunsOn) -> Self {
        let RunsOn { library_path, environment, libraries } = server;
        self.asked.library_path = library_path.folder().map(|_| library_path.to_string());
        let is_changed = *environment != Environment::default();
        self.asked.environment = is_changed.then(|| environment.to_string());
        self.obtained.library = libraries.iter().map(ToString::to_string).collect();
        if let Some(folder) = library_path.folder()
            && !libraries.iter().any(|library| library.is_from(folder))
        {
            self.mismatch.push(Mismatch {
                what: "library_path".to_owned(),
                asked: library_path.to_string(),
                obtained: match self.obtained.library.as_slice() {
                    [] => "no library known to toll".to_owned(),
                    libraries => libraries.join(", "),
                },
            });
        }
        self
    }

    /// With what the kernel's own counters say of TLS, and whether it was to encrypt where that is
    /// known.
    #[must_use]
    pub fn with_kernel_tls(
        mut self,
        counted: Fact<KernelTlsCounters>,
        asked: Option<bool>,
    ) -> Self {
        let handshakes: u64 = self.obtained.tls.values().sum();
        self.mismatch.extend(compare_kernel_tls(asked, &counted, handshakes));
        self.asked.kernel_tls = asked;
        self.obtained.kernel_tls = Some(counted);
        self
    }

    /// The receipt of a load that another program made. Such a program decrypts everything, makes
    /// fresh keys and verifies nothing, whatever the plan says of those; what it printed of a
    /// connection is compared with what was asked.
    #[must_use]
    pub fn of_peer(job: &Job, peer: &PeerReport, outcome: &Outcome) -> Self {
        let asked = Asked {
            key_exchange: job.url.is_tls().then(|| KeyExchangeMode::Fresh.to_string()),
            encrypt_then_mac: None,
            verify: None,
            close: None,
            ..Asked::of(job, None)
        };
        let asked = Asked { receive: asked.receive.map(|_| Receive::Decrypt.to_string()), ..asked };
        let obtained = Obtained::of_peer(job, peer, outcome);
        let mut mismatch = Vec::new();
        compare_names(outcome, &asked, &obtained, &mut mismatch);
        Self { asked, obtained, mismatch }
    }
}

impl Asked {
    fn of(job: &Job, certificate_key: Option<CertificateKey>) -> Self {
        let (plan, is_tls) = (&job.plan, job.url.is_tls());
        let has_requests = job.plan.operation != Operation::Handshakes;
        Self {
            tls: match is_tls {
                true => plan.asked_version().map(|version| version.number().to_owned()),
                false => Some("none".to_owned()),
            },
            suite: plan.only_suite().map(|suite| suite.name.to_owned()),
            group: plan.group.map(|group| group.name().to_owned()),
            certificate_key: certificate_key.filter(|_| is_tls).map(|key| key.to_string()),
            encrypt_then_mac: is_tls.then(|| plan.encrypt_then_mac.unwrap_or(false)),
            kernel_tls: None,
            resumption_percent: is_tls.then(|| plan.resumption.get()),
            key_exchange: is_tls.then(|| plan.key_exchange().to_string()),
            operation: Some(job.plan.operation.to_string()),
            arrival: Some(job.plan.arrival.to_string()),
            ramp_ns: (job.plan.ramp.0 > 0).then_some(job.plan.ramp.0),
            url: Some(job.url.to_string()),
            objects: job.objects.as_ref().map(ToString::to_string),
            connections: Some(job.plan.connections),
            receive: has_requests.then(|| job.plan.receive().to_string()),
            verify: Some(job.plan.verify().to_string()),
            close: Some(job.plan.close.to_string()),
            seed: job.is_random().then_some(job.seed),
            client_cpus: Some(job.plan.cpus.to_string()),
            library_path: None,
            environment: None,
            crypto: None,
            aes: None,
        }
    }
}

impl Obtained {
    fn of(job: &Job, outcome: &Outcome) -> Self {
        let has_requests = job.plan.operation != Operation::Handshakes;
        let verified = outcome.verified;
        let objects = job.objects.iter().flat_map(|mix| mix.portions()).map(|p| p.path.clone());
        let counts = outcome.objects.iter().copied().chain(std::iter::repeat(0));
        let mut obtained = Self {
            bodies_compared: has_requests.then_some(verified.compared),
            objects: objects.zip(counts).collect(),
            ..Self::default()
        };
        if !job.url.is_tls() {
            return obtained;
        }
        let mut handshakes = 0;
        let mut resumed = 0;
        let mut encrypt_then_mac = false;
        for (negotiated, count) in &outcome.negotiated {
            obtained.count(negotiated, *count);
            handshakes += count;
            resumed += if negotiated.resumed { *count } else { 0 };
            encrypt_then_mac |= negotiated.encrypt_then_mac;
        }
        Self {
            encrypt_then_mac: (handshakes > 0).then_some(encrypt_then_mac),
            full: Some(handshakes - resumed),
            resumed: Some(resumed),
            requests_per_connection: (job.plan.operation == Operation::Requests && handshakes > 0)
                .then(|| outcome.completed as f64 / handshakes as f64),
            signatures_verified: Some(verified.signatures),
            bodies_walked: has_requests.then_some(verified.walked),
            bodies_authenticated: has_requests.then_some(verified.opened),
            ..obtained
        }
    }

    fn of_peer(job: &Job, peer: &PeerReport, outcome: &Outcome) -> Self {
        let has_requests = job.plan.operation != Operation::Handshakes;
        let mut obtained = Self {
            client: Some(peer.client.clone()),
            signatures_verified: job.url.is_tls().then_some(0),
            bodies_authenticated: (job.url.is_tls() && has_requests).then_some(0),
            bodies_compared: has_requests.then_some(0),
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::Verified;
    use tls::{OrPlain, Suite};

    use crate::testing::{job, outcome};

    #[test]
    fn a_suite_asks_for_its_version() {
        let mut job = job("https://localhost/");
        job.plan.suite = Some(OrPlain::Tls(Suite::parse("AES128-SHA").unwrap()));
        assert_eq!(Asked::of(&job, None).tls.as_deref(), Some("1.2"));
    }

    #[test]
    fn a_server_on_another_library_than_asked_is_a_mismatch() {
        let library =
            |path: &str| Library { path: path.into(), version: Some("OpenSSL 3.0.22".to_owned()) };
        let receipt = |path: &str, libraries: &[Library]| {
            let path = path.parse().unwrap();
            Receipt::default().with_server(&RunsOn {
                library_path: path,
                environment: "A=1".parse().unwrap(),
                libraries: libraries.to_vec(),
            })
        };
        let asked = receipt("/opt/ssl", &[library("/opt/ssl/libcrypto.so.3")]);
        assert!(asked.mismatch.is_empty(), "{:?}", asked.mismatch);
        assert_eq!(asked.obtained.library, ["/opt/ssl/libcrypto.so.3 (OpenSSL 3.0.22)"]);
        assert_eq!(asked.asked.environment.as_deref(), Some("A=1"));
        assert!(receipt("system", &[]).mismatch.is_empty());
        let other = receipt("/opt/ssl", &[library("/usr/lib/libcrypto.so.3")]);
        assert_eq!(
            other.mismatch[0].to_string(),
            "library_path: asked /opt/ssl, got /usr/lib/libcrypto.so.3 (OpenSSL 3.0.22)"
        );
        assert_eq!(receipt("/opt/ssl", &[]).mismatch.len(), 1);
    }

    #[test]
    fn a_peers_counts_are_compared_but_not_verified() {
        let mut job = job("https://localhost/bytes/1MiB");
        let mut outcome = outcome(10_000);
        outcome.negotiated = vec![(crate::testing::negotiated(), 1)];
        outcome.verified = Verified::default();
        let peer = PeerReport {
            client: "wrk 4.1.0".into(),
            failures: Vec::new(),
            caution: "compare".into(),
        };
        let receipt = Receipt::of_peer(&job, &peer, &outcome);
        assert!(receipt.mismatch.is_empty(), "{:?}", receipt.mismatch);
        assert_eq!(receipt.asked.receive.as_deref(), Some("decrypt"));
        let obtained = &receipt.obtained;
        assert_eq!(obtained.client.as_deref(), Some("wrk 4.1.0"));
        assert_eq!((obtained.full, obtained.signatures_verified), (None, Some(0)));
        job.plan.suite = Some(OrPlain::Tls(Suite::parse("TLS_AES_256_GCM_SHA384").unwrap()));
        let mismatch = Receipt::of_peer(&job, &peer, &outcome).mismatch;
        assert_eq!(mismatch.len(), 1);
        assert!(mismatch[0].to_string().starts_with("suite: asked TLS_AES_256_GCM"));
    }

    #[test]
    fn the_kernels_counters_prove_who_encrypted() {
        let outcome = outcome(10_000);
        let receipt = |taken: Option<u64>, asked| {
            let job = job("https://localhost/bytes/1MiB");
            let counted = taken.map(|taken| KernelTlsCounters {
                sent_by_software: taken,
                ..KernelTlsCounters::default()
            });
            let counted = counted.ok_or("no such layer").into();
            let receipt = Receipt::of(&job, None, &outcome).with_kernel_tls(counted, asked);
            let mismatch = receipt.mismatch.iter().map(ToString::to_string).collect::<Vec<_>>();
            (mismatch.join("; "), receipt)
        };
        let none = String::new();
        // Of 64 handshakes; others in the namespace may have had some.
        assert_eq!(receipt(Some(64), Some(true)).0, none);
        assert_eq!(receipt(Some(70), Some(true)).0, none);
        assert_eq!(receipt(Some(3), Some(false)).0, none);
        assert_eq!(receipt(None, Some(false)).0, none);
        assert_eq!(receipt(Some(64), None).0, none);
        assert_eq!(
            receipt(Some(63), Some(true)).0,
            "kernel_tls: asked the kernel's TLS, got the kernel's TLS in 63 of 64 handshakes"
        );
        assert_eq!(
            receipt(None, Some(true)).0,
            "kernel_tls: asked the kernel's TLS, got not available here: no such layer"
        );
        let (mismatch, of_64) = receipt(Some(64), Some(false));
        assert_eq!(
            mismatch,
            "kernel_tls: asked the server's own TLS, got the kernel's TLS in 64 handshakes"
        );
        let json = serde_json::to_value(&of_64).unwrap();
        assert_eq!(json["obtained"]["kernel_tls"]["sent_by_software"], 64);
        let json = serde_json::to_value(receipt(None, None).1).unwrap();
        assert_eq!(json["obtained"]["kernel_tls"]["not_available_here"], "no such layer");
    }

    #[test]
    fn plain_http_has_neither_handshakes_nor_records() {
        let mut outcome = outcome(10_000);
        outcome.negotiated.clear();
        outcome.verified = Verified { compared: 100, ..Verified::default() };
        let job = job("http://localhost/bytes/1MiB");
        let receipt = Receipt::of(&job, None, &outcome);
        assert!(receipt.mismatch.is_empty(), "{:?}", receipt.mismatch);
        assert_eq!(receipt.asked.tls.as_deref(), Some("none"));
        assert_eq!((receipt.obtained.full, receipt.obtained.bodies_compared), (None, Some(100)));
        outcome.verified.compared = 0;
        assert_eq!(Receipt::of(&job, None, &outcome).mismatch.len(), 1);
    }
}
