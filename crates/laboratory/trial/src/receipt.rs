//! The receipt of a trial: what was negotiated and verified, against what was asked.
//!
//! A figure counts only when it is proven to be of what was asked: a server that speaks another
//! suite, resumes where full handshakes were asked, or negotiates encrypt-then-MAC unasked gives a
//! number, but of something else.

use load::{Job, KeyExchangeMode, Operation, Outcome, PeerClient, Receive};
use serde::{Deserialize, Serialize};
use targets::{Directives, Environment, MappedLibrary, System, Target, TlsLibrary};
use tls::{CertificateKey, Stack};

use crate::differences::{compare_peer, mismatches};
use crate::facts::{Asked, Obtained};
use crate::handshakes::compare_names;
use crate::mismatch::Mismatch;

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

/// What a server that toll started should run on, and what it runs on.
#[derive(Debug, Clone)]
pub struct RunsOn {
    /// Its description.
    pub target: Target,
    /// The release that it comes from, where that is not this machine's.
    pub system: Option<String>,
    /// Through which functions of OpenSSL it has the handshakes of QUIC, where it serves HTTP/3.
    pub quic_api: Option<String>,
    /// The TLS libraries that its processes have mapped.
    pub libraries: Vec<MappedLibrary>,
    /// Where it reports which TLS library it runs on: that, with its version.
    pub stack: Option<(Stack, String)>,
}

impl Receipt {
    /// The receipt of a load; `certificate_key` where it is known what the target was given.
    pub fn of(job: &Job, certificate_key: Option<CertificateKey>, outcome: &Outcome) -> Self {
        let asked = Asked::of(job, certificate_key);
        let obtained = Obtained::of(job, outcome);
        let asked = Asked {
            body_bytes: obtained.bodies_sent.map(|_| outcome.request_body),
            names: obtained.names.map(|_| outcome.names_asked),
            ..asked
        };
        let mismatch = mismatches(job, outcome, &asked, &obtained);
        Self { asked, obtained, mismatch }
    }

    /// Adds what the server should run on and what it runs on.
    pub(crate) fn add_server(&mut self, server: &RunsOn) {
        let RunsOn { target, system, quic_api, libraries, stack } = server;
        let Target { library, library_path, environment, directives, congestion, .. } = target;
        self.asked.server_congestion = congestion.as_ref().map(ToString::to_string);
        self.asked.system = (target.system != System::Here).then(|| target.system.to_string());
        self.obtained.system = system.iter().cloned().collect();
        self.obtained.quic_api = quic_api.clone();
        self.asked.library_path = library_path.folder().map(|_| library_path.to_string());
        let is_changed = *environment != Environment::default();
        self.asked.environment = is_changed.then(|| environment.to_string());
        let is_changed = *directives != Directives::default();
        self.asked.directives = is_changed.then(|| directives.to_string());
        let has_choice = stack.is_some() || *library != TlsLibrary::default();
        self.asked.library = has_choice.then(|| library.to_string());
        self.obtained.library = libraries.iter().map(ToString::to_string).collect();
        if let Some((reported, version)) = stack {
            if self.obtained.library.is_empty() {
                self.obtained.library = vec![version.clone()];
            }
            if library.stack() != *reported {
                let obtained = format!("{reported} ({version})");
                self.mismatch.push(Mismatch::new("library", library.to_string(), obtained));
            }
        }
        if let Some(file) = stack.as_ref().and_then(|(reported, _)| reported.file())
            && !libraries.iter().any(|library| library.is(file))
        {
            let obtained = format!("a process that has mapped no {file}");
            self.mismatch.push(Mismatch::new("library", library.to_string(), obtained));
        }
        if let Some(folder) = target.library_folder()
            && !libraries.iter().any(|library| library.is_from(&folder))
        {
            let (what, asked) = match library_path.folder() {
                Some(_) => ("library_path", library_path.to_string()),
                None => ("library", library.to_string()),
            };
            let obtained = match self.obtained.library.as_slice() {
                [] => "no library known to toll".to_owned(),
                libraries => libraries.join(", "),
            };
            self.mismatch.push(Mismatch::new(what, asked, obtained));
        }
    }

    /// Adds that the server has mapped files that are not those of the system that it was to come from.
    pub(crate) fn add_foreign_files(&mut self, target: &Target, foreign: &[String]) {
        if let [_, ..] = foreign {
            let asked = format!("files of {} alone", target.system);
            let obtained = format!("it has mapped {} of this machine", foreign.join(", "));
            self.mismatch.push(Mismatch::new("system", asked, obtained));
        }
    }

    /// The receipt of a load that another program made. Such a program decrypts everything, makes
    /// fresh keys and verifies nothing, whatever the plan says of those; what it printed of a
    /// connection is compared with what was asked.
    pub fn of_peer(job: &Job, peer: &PeerClient, outcome: &Outcome) -> Self {
        let asked = Asked {
            key_exchange: job.url.is_tls().then_some(KeyExchangeMode::Fresh),
            encrypt_then_mac: None,
            verify: None,
            close: None,
            ..Asked::of(job, None)
        };
        let asked = Asked { receive: asked.receive.map(|_| Receive::Decrypt), ..asked };
        let has_requests = job.plan.operation != Operation::Handshakes;
        let Obtained { http, tls, suite, group, signature_scheme, certificate_key, .. } =
            Obtained::of(job, outcome);
        let obtained = Obtained {
            client: Some(peer.name.clone()),
            signatures_verified: job.url.is_tls().then_some(0),
            bodies_authenticated: (job.url.is_tls() && has_requests).then_some(0),
            bodies_compared: has_requests.then_some(0),
            http,
            tls,
            suite,
            group,
            signature_scheme,
            certificate_key,
            ..Obtained::default()
        };
        let mut mismatch = Vec::new();
        compare_names(outcome, &asked, &obtained, &mut mismatch);
        compare_peer(job, peer, outcome, &mut mismatch);
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
        let library = |path: &str| MappedLibrary {
            path: path.into(),
            version: Some("OpenSSL 3.0.22".to_owned()),
        };
        let on = |target, libraries: &[MappedLibrary]| {
            let libraries = libraries.to_vec();
            let mut receipt = Receipt::default();
            let (system, quic_api) = (None, None);
            receipt.add_server(&RunsOn { target, system, quic_api, libraries, stack: None });
            receipt
        };
        let receipt = |path: &str, libraries: &[MappedLibrary]| {
            let target = Target {
                library_path: path.parse().unwrap(),
                environment: "A=1".parse().unwrap(),
                directives: "aio threads".parse().unwrap(),
                ..Target::default()
            };
            on(target, libraries)
        };
        let asked = receipt("/opt/ssl", &[library("/opt/ssl/libcrypto.so.3")]);
        assert!(asked.mismatch.is_empty(), "{:?}", asked.mismatch);
        assert_eq!(asked.obtained.library, ["/opt/ssl/libcrypto.so.3 (OpenSSL 3.0.22)"]);
        assert_eq!(asked.asked.environment.as_deref(), Some("A=1"));
        assert_eq!(asked.asked.directives.as_deref(), Some("aio threads"));
        assert!(receipt("system", &[]).mismatch.is_empty());
        let other = receipt("/opt/ssl", &[library("/usr/lib/libcrypto.so.3")]);
        assert_eq!(other.mismatch[0].what, "library_path");
        assert!(other.mismatch[0].obtained.starts_with("/usr/lib/libcrypto.so.3"));
        assert_eq!(receipt("/opt/ssl", &[]).mismatch.len(), 1);

        let built = Target { library: TlsLibrary::Built, ..Target::default() };
        let path = format!("{}/libcrypto.so.3", built.library_folder().unwrap().display());
        assert!(on(built.clone(), &[library(&path)]).mismatch.is_empty());
        let other = on(built, &[library("/usr/lib/libcrypto.so.3")]);
        assert_eq!(other.mismatch[0].what, "library");
    }

    #[test]
    fn a_server_that_reports_another_library_than_asked_is_a_mismatch() {
        let receipt = |reported| {
            let library = TlsLibrary::Own(Stack::RustlsRing);
            let mut receipt = Receipt::default();
            receipt.add_server(&RunsOn {
                target: Target { library, ..Target::default() },
                system: None,
                quic_api: None,
                libraries: Vec::new(),
                stack: Some((reported, "a library 1.0".to_owned())),
            });
            receipt
        };
        let asked = receipt(Stack::RustlsRing);
        assert!(asked.mismatch.is_empty(), "{:?}", asked.mismatch);
        assert_eq!(asked.asked.library.as_deref(), Some("rustls-ring"));
        assert_eq!(asked.obtained.library, ["a library 1.0"]);
        let mismatch = &receipt(Stack::RustlsAwsLc).mismatch[0];
        assert_eq!((mismatch.what.as_str(), mismatch.asked.as_str()), ("library", "rustls-ring"));
        assert!(mismatch.obtained.starts_with("rustls-aws-lc"), "{mismatch}");
    }

    #[test]
    fn a_server_of_a_system_maps_no_other_files() {
        let mismatch = |foreign: &[&str]| {
            let system = "debian-99".parse().unwrap();
            let target = Target { system, ..Target::default() };
            let mut receipt = Receipt::default();
            let system = Some("Debian 99, archive of today".to_owned());
            receipt.add_server(&RunsOn {
                target: target.clone(),
                system,
                quic_api: Some("an API".to_owned()),
                libraries: Vec::new(),
                stack: None,
            });
            assert_eq!(receipt.asked.system.as_deref(), Some("debian-99"));
            assert_eq!(receipt.obtained.system, ["Debian 99, archive of today"]);
            assert_eq!(receipt.obtained.quic_api.as_deref(), Some("an API"));
            let foreign: Vec<_> = foreign.iter().map(ToString::to_string).collect();
            receipt.add_foreign_files(&target, &foreign);
            receipt.mismatch
        };
        assert_eq!(mismatch(&[]), []);
        let [of_system] = &mismatch(&["/usr/lib/libz.so.1"])[..] else { panic!() };
        assert!(of_system.what == "system" && of_system.obtained.contains("/usr/lib/libz.so.1"));
    }

    #[test]
    fn a_library_that_is_opened_is_to_be_mapped() {
        let receipt = |libraries: &[MappedLibrary]| {
            let library = TlsLibrary::Own(Stack::GnuTls);
            let mut receipt = Receipt::default();
            receipt.add_server(&RunsOn {
                target: Target { library, ..Target::default() },
                system: None,
                quic_api: None,
                libraries: libraries.to_vec(),
                stack: Some((Stack::GnuTls, "GnuTLS 3.7.9".to_owned())),
            });
            receipt
        };
        let version = Some("GnuTLS 3.7.9".to_owned());
        let mapped = MappedLibrary { path: "/lib/libgnutls.so.30.34.3".into(), version };
        let proven = receipt(&[mapped]);
        assert!(proven.mismatch.is_empty(), "{:?}", proven.mismatch);
        assert_eq!(proven.obtained.library, ["/lib/libgnutls.so.30.34.3 (GnuTLS 3.7.9)"]);
        let mismatch = &receipt(&[]).mismatch[0];
        assert_eq!((mismatch.what.as_str(), mismatch.asked.as_str()), ("library", "gnutls"));
    }

    #[test]
    fn a_peers_counts_are_compared_but_not_verified() {
        let mut job = job("https://localhost/bytes/1MiB");
        let mut outcome = outcome(10_000);
        outcome.negotiated = vec![(crate::testing::negotiated(), 1)];
        outcome.verified = Verified::default();
        let peer = crate::testing::peer();
        let receipt = Receipt::of_peer(&job, &peer, &outcome);
        assert!(receipt.mismatch.is_empty(), "{:?}", receipt.mismatch);
        assert_eq!(receipt.asked.receive, Some(Receive::Decrypt));
        let obtained = &receipt.obtained;
        assert_eq!(obtained.client.as_deref(), Some("wrk 4.1.0"));
        assert_eq!((obtained.full, obtained.signatures_verified), (None, Some(0)));
        job.plan.suite = Some(OrPlain::Tls(Suite::parse("TLS_AES_256_GCM_SHA384").unwrap()));
        let mismatch = Receipt::of_peer(&job, &peer, &outcome).mismatch;
        assert_eq!(mismatch.len(), 1);
        assert_eq!(mismatch[0].what, "suite");
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
