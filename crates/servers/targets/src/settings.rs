use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use cpus::CpuList;
use serde::{Deserialize, Serialize};
use serde_with::{DisplayFromStr, serde_as};
use tls::{CertificateKey, Group, KeyExchange, Suite, Version};

use crate::environment::LIBRARY_PATH;
use crate::system::Entrance;
use crate::{Binary, Target, TargetError, library, program};

/// The settings of a server under test: its description, and what a run adds to it. What its machine decides
/// is not sent to another one.
#[serde_as]
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Settings {
    /// What its description says.
    pub target: Target,
    /// The versions of TLS that it speaks, not empty.
    pub versions: Vec<Version>,
    /// The suites that it takes, in its order of preference; empty for its own default. Suites of
    /// each version that it speaks must be among them, and no others.
    #[serde_as(as = "Vec<DisplayFromStr>")]
    pub suites: Vec<&'static Suite>,
    /// The groups that it takes, in its order of preference; empty for its own default.
    pub groups: Vec<Group>,
    /// How many connections clients will hold at once, over all its workers.
    pub connections: usize,
    /// Whether it runs in callgrind, which counts its instructions.
    #[serde(default)]
    pub in_callgrind: bool,
    /// The CPUs of its backend, where it has one. By default those that toll may use and the server
    /// does not; if there are none, the server's.
    #[serde(skip)]
    pub backend_cpus: Option<CpuList>,
    /// The folders in which its program is looked for, in this order.
    #[serde(skip, default = "program::usual_folders")]
    pub program_folders: Vec<PathBuf>,
    /// The toll whose `serve` is the embedded server; the running program where none is given.
    #[serde(skip)]
    pub toll: Option<PathBuf>,
    /// The time from its start until it answers; what its kind needs at most where none is given.
    #[serde(skip)]
    pub start_limit: Option<Duration>,
}

impl Settings {
    /// Where the file of a server is.
    pub(crate) fn find(&self, binary: Binary) -> Result<PathBuf, TargetError> {
        match binary {
            Binary::Toll => {
                let own = || {
                    std::env::current_exe().map_err(TargetError::file(Path::new("/proc/self/exe")))
                };
                let toll = self.toll.clone().map_or_else(own, Ok)?;
                self.target.system.root()?.map_or(Ok(()), |root| root.check_starts(&toll))?;
                Ok(toll)
            }
            Binary::Path(path) => Ok(path.into()),
            Binary::Installed { name, .. } if let Some(root) = self.target.system.root()? => {
                root.find(name)
            }
            Binary::Installed { name, package } => match self.target.program.file() {
                Some(path) if program::is_program(path) => Ok(path.clone()),
                Some(path) => Err(TargetError::Settings(format!(
                    "target.program: {} is no program that can be run; give the file of a build of {name}",
                    path.display()
                ))),
                None => program::find(name, package, &self.program_folders),
            },
        }
    }

    /// How a program of the server is started.
    pub(crate) fn entrance(&self, program: &Path) -> Result<Entrance, TargetError> {
        match self.target.system.root()? {
            Some(root) => root.enter(program, self.in_callgrind),
            None => Ok(Entrance::here(program)),
        }
    }

    /// A file of the release that the server comes from, as the server is to name it.
    pub(crate) fn named(&self, path: &str) -> Result<String, TargetError> {
        match self.target.system.root()? {
            Some(root) => root.named(path, self.in_callgrind),
            None => Ok(path.to_owned()),
        }
    }

    /// The folder in which the server looks users up.
    pub(crate) fn etc(&self) -> PathBuf {
        let root = self.target.system.root().ok().flatten();
        let seen = root
            .filter(|root| root.named("/etc", self.in_callgrind).is_ok_and(|etc| etc == "/etc"));
        seen.map_or_else(|| "/etc".into(), |root| root.folder().join("etc"))
    }

    /// Runs a program of the server for an answer, with these variables beside its own.
    pub(crate) fn ask(
        &self,
        program: &Path,
        arguments: &[OsString],
        environment: Vec<(OsString, OsString)>,
    ) -> Result<Output, TargetError> {
        let mut entrance = self.entrance(program)?;
        entrance.arguments.extend_from_slice(arguments);
        entrance.environment.extend(self.variables().into_iter().chain(environment));
        entrance.ask()
    }

    /// The settings of a server by default: both versions, its own suites and groups, an
    /// RSA-2048 key, tickets, a session cache, encrypt-then-MAC. Its program is looked for in the
    /// folders of `PATH`, `/usr/sbin` and `/usr/local/sbin`.
    pub fn new(cpus: CpuList) -> Self {
        Self::of(Target {
            cpus,
            tickets: true,
            session_cache: true,
            encrypt_then_mac: true,
            ..Target::default()
        })
    }

    /// Those of a server of this description, which chooses what that leaves open.
    pub fn of(target: Target) -> Self {
        Self {
            target,
            versions: vec![Version::Tls12, Version::Tls13],
            suites: Vec::new(),
            groups: Vec::new(),
            connections: 64,
            in_callgrind: false,
            backend_cpus: None,
            program_folders: program::usual_folders(),
            toll: None,
            start_limit: None,
        }
    }

    /// What is added to the environment of the server's processes.
    pub(crate) fn variables(&self) -> Vec<(OsString, OsString)> {
        let given = self.target.environment.iter().map(|(name, value)| (name.into(), value.into()));
        let folder = self.target.library_folder();
        let library = folder.map(|folder| (LIBRARY_PATH.into(), folder.into()));
        library.into_iter().chain(given).collect()
    }

    /// Refuses what no server could carry out.
    pub(crate) fn check(&self) -> Result<(), TargetError> {
        self.target.cpus.check_allowed().map_err(TargetError::Settings)?;
        if let Some(control) = &self.target.congestion {
            let wrong = |why| TargetError::Settings(format!("target.congestion: {why}"));
            control.check().map_err(wrong)?;
        }
        if let Some(folder) = self.target.library_folder() {
            library::check_folder(&folder, self.target.library)?;
        }
        if self.versions.is_empty() {
            return Err(TargetError::Settings("no TLS version; write 1.2, 1.3 or both".to_owned()));
        }
        if self.suites.is_empty() {
            return Ok(());
        }
        if let Some(suite) = self.suites.iter().find(|s| !self.versions.contains(&s.version())) {
            return Err(TargetError::Settings(format!(
                "{suite} is a suite of {}, which the server does not offer; \
                 add the version or leave the suite out",
                suite.version()
            )));
        }
        for version in &self.versions {
            if !self.suites.iter().any(|suite| suite.version() == *version && self.signs(suite)) {
                return Err(TargetError::Settings(format!(
                    "none of the suites can be negotiated in {version} with a {} certificate; \
                     add such a suite or leave the version out",
                    self.target.certificate_key
                )));
            }
        }
        Ok(())
    }

    /// Whether the certificate's key is one that the suite's key exchange works with.
    fn signs(&self, suite: &Suite) -> bool {
        let rsa = matches!(self.target.certificate_key, CertificateKey::Rsa(_));
        let is_of_tls13 = matches!(self.target.certificate_key, CertificateKey::MlDsa(_));
        match suite.key_exchange {
            KeyExchange::Tls13 => true,
            KeyExchange::EcdheRsa | KeyExchange::Rsa => rsa,
            KeyExchange::EcdheEcdsa => !rsa && !is_of_tls13,
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
        let only = |version, names: &[&str]| Settings {
            versions: vec![version],
            suites: suites(names),
            ..settings()
        };
        let of_target =
            |target: Target| Settings { target, ..only(Version::Tls12, &["AES128-SHA"]) };
        let target = || settings().target;
        let ecdsa = Target { certificate_key: CertificateKey::EcdsaP256, ..target() };
        let refused = [
            ("TLS 1.3, AES128-SHA", only(Version::Tls13, &["AES128-SHA"])),
            (
                "TLS_AES_128_GCM_SHA256 alone",
                Settings { suites: suites(&["TLS_AES_128_GCM_SHA256"]), ..settings() },
            ),
            ("AES128-SHA, ecdsa:p256", of_target(ecdsa)),
            ("no version", Settings { versions: Vec::new(), ..settings() }),
            ("CPU 1023", of_target(Target { cpus: CpuList::from(1023), ..target() })),
        ];
        let refused = refused.map(|(what, settings)| {
            let said = settings.check().unwrap_err().to_string();
            // What this process may use follows "may use".
            (what, said.split_once("; it may use").map_or(said.clone(), |(why, _)| why.to_owned()))
        });
        support::assert_golden!(refused);
    }
}
