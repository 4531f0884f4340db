use std::ffi::OsString;
use std::path::PathBuf;

use cpus::CpuList;
use tls::{CertificateKey, Group, KeyExchange, Suite, Version};

use crate::{CommandLine, Environment, LibraryPath, TargetError, library, program};

/// What a server under test is told; the same for every kind of server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The server's CPUs; it runs one worker on each, pinned.
    pub cpus: CpuList,
    /// The versions of TLS that it speaks, not empty.
    pub versions: Vec<Version>,
    /// The suites that it takes, in its order of preference; empty for its own default. Suites of
    /// each version that it speaks must be among them, and no others.
    pub suites: Vec<&'static Suite>,
    /// The groups that it takes, in its order of preference; empty for its own default.
    pub groups: Vec<Group>,
    /// How many connections clients will hold at once, over all its workers.
    pub connections: usize,
    /// The kind of key in its certificate.
    pub certificate_key: CertificateKey,
    /// Session tickets (RFC 5077), and in TLS 1.3 every NewSessionTicket (RFC 8446, section 4.6.1):
    /// without them there is no resumption in TLS 1.3.
    pub tickets: bool,
    /// A cache of sessions, for resumption by session identifier in TLS 1.2.
    pub session_cache: bool,
    /// Encrypt-then-MAC (RFC 7366) for the CBC suites of TLS 1.2, where the client offers it.
    pub encrypt_then_mac: bool,
    /// Where its TLS library comes from. A server that turns out to run on another one is refused.
    pub library_path: LibraryPath,
    /// Variables that it gets beside those of toll.
    pub environment: Environment,
    /// How it is started, where that is the user's to say (`command`).
    pub command: Option<CommandLine>,
    /// The CPUs of the server behind it, where there is one. Where none are given, those that toll
    /// may use and the server does not; where there are no such, the server's.
    pub backend_cpus: Option<CpuList>,
    /// The folders in which its program is looked for, in this order.
    pub program_folders: Vec<PathBuf>,
    /// The toll whose `serve` is the embedded server; the running program where none is given.
    pub toll: Option<PathBuf>,
}

impl Settings {
    /// The settings of a server that is told nothing: both versions, its own suites and groups, an
    /// RSA-2048 key, tickets, a session cache, encrypt-then-MAC. Its program is looked for in the
    /// folders of `PATH`, `/usr/sbin` and `/usr/local/sbin`.
    #[must_use]
    pub fn new(cpus: CpuList) -> Self {
        Self {
            cpus,
            versions: vec![Version::Tls12, Version::Tls13],
            suites: Vec::new(),
            groups: Vec::new(),
            connections: 64,
            certificate_key: CertificateKey::Rsa(2048),
            tickets: true,
            session_cache: true,
            encrypt_then_mac: true,
            library_path: LibraryPath::System,
            environment: Environment::default(),
            command: None,
            backend_cpus: None,
            program_folders: program::usual_folders(),
            toll: None,
        }
    }

    /// What is added to the environment of the server's processes.
    pub(crate) fn variables(&self) -> Vec<(OsString, OsString)> {
        let given = self.environment.iter().map(|(name, value)| (name.into(), value.into()));
        self.library_path.variable().into_iter().chain(given).collect()
    }

    /// Refuses what no server could carry out.
    pub(crate) fn check(&self) -> Result<(), TargetError> {
        self.cpus.check_allowed().map_err(TargetError::Settings)?;
        if let Some(folder) = self.library_path.folder() {
            library::check_folder(folder)?;
        }
        if self.versions.is_empty() {
            return Err(TargetError::Settings("no TLS version; write 1.2, 1.3 or both".to_owned()));
        }
        if self.suites.is_empty() {
            return Ok(());
        }
        if let Some(suite) = self.suites.iter().find(|s| !self.versions.contains(&s.version())) {
            return Err(TargetError::Settings(format!(
                "{suite} is a suite of {}, which the server is not to speak; \
                 add the version or leave the suite out",
                suite.version()
            )));
        }
        for version in &self.versions {
            if !self.suites.iter().any(|suite| suite.version() == *version && self.signs(suite)) {
                return Err(TargetError::Settings(format!(
                    "none of the suites can be negotiated in {version} with a {} certificate; \
                     add such a suite or leave the version out",
                    self.certificate_key
                )));
            }
        }
        Ok(())
    }

    /// Whether the certificate's key is one that the suite's key exchange works with.
    fn signs(&self, suite: &Suite) -> bool {
        let rsa = matches!(self.certificate_key, CertificateKey::Rsa(_));
        match suite.key_exchange {
            KeyExchange::Tls13 => true,
            KeyExchange::EcdheRsa | KeyExchange::Rsa => rsa,
            KeyExchange::EcdheEcdsa => !rsa,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings::new(CpuList::allowed().unwrap())
    }

    fn suites(names: &[&str]) -> Vec<&'static Suite> {
        names.iter().map(|name| Suite::parse(name).unwrap()).collect()
    }

    #[test]
    fn what_fits_together_is_taken() {
        assert!(settings().check().is_ok());
        let both = suites(&["TLS_AES_128_GCM_SHA256", "AES128-SHA"]);
        assert!(Settings { suites: both, ..settings() }.check().is_ok());
    }

    #[test]
    fn what_cannot_be_negotiated_is_refused() {
        let refusal = |settings: Settings| settings.check().unwrap_err().to_string();
        let only = |version, names: &[&str]| Settings {
            versions: vec![version],
            suites: suites(names),
            ..settings()
        };
        assert_eq!(
            refusal(only(Version::Tls13, &["AES128-SHA"])),
            "TLS_RSA_WITH_AES_128_CBC_SHA is a suite of TLS 1.2, which the server is not to speak; \
             add the version or leave the suite out"
        );
        let message =
            refusal(Settings { suites: suites(&["TLS_AES_128_GCM_SHA256"]), ..settings() });
        assert!(
            message.starts_with("none of the suites can be negotiated in TLS 1.2"),
            "{message}"
        );
        let message = refusal(Settings {
            certificate_key: CertificateKey::EcdsaP256,
            ..only(Version::Tls12, &["AES128-SHA"])
        });
        assert!(message.contains("with a ecdsa:p256 certificate"), "{message}");
        let message = refusal(Settings { versions: Vec::new(), ..settings() });
        assert!(message.starts_with("no TLS version"), "{message}");
        let message = refusal(Settings { cpus: CpuList::from(1023), ..settings() });
        assert!(message.starts_with("CPU 1023 is not available"), "{message}");
    }
}
