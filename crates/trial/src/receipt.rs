//! The receipt of a trial: what was negotiated and verified, against what was asked.
//!
//! A figure counts only when it is proven to be of what was asked: a server that speaks another
//! suite, resumes where full handshakes were asked, or negotiates encrypt-then-MAC unasked gives a
//! number, but of something else.

use load::{Job, KeyExchangeMode, Outcome, PeerClient, Receive};
use observe::{Fact, KernelTlsCounters};
use serde::{Deserialize, Serialize};
use targets::{Directives, Environment, Library, LibraryPath};
use tls::{CertificateKey, Stack};

use crate::asked::Asked;
use crate::mismatch::{Mismatch, compare_names, mismatches};
use crate::obtained::Obtained;

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

/// What a server that toll started was to run on, and what it runs on.
#[derive(Debug, Clone)]
pub struct RunsOn {
    /// Where its TLS library was to come from.
    pub library_path: LibraryPath,
    /// Variables that it was given.
    pub environment: Environment,
    /// Directives that it was given.
    pub directives: Directives,
    /// The TLS libraries that its processes have mapped.
    pub libraries: Vec<Library>,
    /// Where it has a choice of TLS libraries: the one it was to take, and what it says it took,
    /// with its version.
    pub stack: Option<(Stack, (Stack, String))>,
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
        let RunsOn { library_path, environment, directives, libraries, stack } = server;
        self.asked.library_path = library_path.folder().map(|_| library_path.to_string());
        let is_changed = *environment != Environment::default();
        self.asked.environment = is_changed.then(|| environment.to_string());
        let is_changed = *directives != Directives::default();
        self.asked.directives = is_changed.then(|| directives.to_string());
        self.obtained.library = libraries.iter().map(ToString::to_string).collect();
        if let Some((asked, (reported, version))) = stack {
            self.asked.library = Some(asked.to_string());
            if self.obtained.library.is_empty() {
                self.obtained.library = vec![version.clone()];
            }
            if asked != reported {
                self.mismatch.push(Mismatch {
                    what: "library".to_owned(),
                    asked: asked.to_string(),
                    obtained: format!("{reported} ({version})"),
                });
            }
        }
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

    /// With what the kernel's own counters say of TLS.
    #[must_use]
    pub fn with_kernel_tls(mut self, counted: Fact<KernelTlsCounters>) -> Self {
        self.obtained.kernel_tls = Some(counted);
        self
    }

    /// The receipt of a load that another program made. Such a program decrypts everything, makes
    /// fresh keys and verifies nothing, whatever the plan says of those; what it printed of a
    /// connection is compared with what was asked.
    #[must_use]
    pub fn of_peer(job: &Job, peer: &PeerClient, outcome: &Outcome) -> Self {
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
                directives: "aio threads".parse().unwrap(),
                libraries: libraries.to_vec(),
                stack: None,
            })
        };
        let asked = receipt("/opt/ssl", &[library("/opt/ssl/libcrypto.so.3")]);
        assert!(asked.mismatch.is_empty(), "{:?}", asked.mismatch);
        assert_eq!(asked.obtained.library, ["/opt/ssl/libcrypto.so.3 (OpenSSL 3.0.22)"]);
        assert_eq!(asked.asked.environment.as_deref(), Some("A=1"));
        assert_eq!(asked.asked.directives.as_deref(), Some("aio threads"));
        assert!(receipt("system", &[]).mismatch.is_empty());
        let other = receipt("/opt/ssl", &[library("/usr/lib/libcrypto.so.3")]);
        assert_eq!(
            other.mismatch[0].to_string(),
            "library_path: asked /opt/ssl, got /usr/lib/libcrypto.so.3 (OpenSSL 3.0.22)"
        );
        assert_eq!(receipt("/opt/ssl", &[]).mismatch.len(), 1);
    }

    #[test]
    fn a_server_that_reports_another_library_than_asked_is_a_mismatch() {
        let receipt = |reported| {
            Receipt::default().with_server(&RunsOn {
                library_path: LibraryPath::System,
                environment: Environment::default(),
                directives: Directives::default(),
                libraries: Vec::new(),
                stack: Some((Stack::RustlsRing, (reported, "a library 1.0".to_owned()))),
            })
        };
        let asked = receipt(Stack::RustlsRing);
        assert!(asked.mismatch.is_empty(), "{:?}", asked.mismatch);
        assert_eq!(asked.asked.library.as_deref(), Some("rustls-ring"));
        assert_eq!(asked.obtained.library, ["a library 1.0"]);
        assert_eq!(
            receipt(Stack::RustlsAwsLc).mismatch[0].to_string(),
            "library: asked rustls-ring, got rustls-aws-lc (a library 1.0)"
        );
    }

    #[test]
    fn a_peers_counts_are_compared_but_not_verified() {
        let mut job = job("https://localhost/bytes/1MiB");
        let mut outcome = outcome(10_000);
        outcome.negotiated = vec![(crate::testing::negotiated(), 1)];
        outcome.verified = Verified::default();
        let peer = PeerClient { name: "wrk 4.1.0".into(), caution: "compare".into() };
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
