//! HAProxy as the server under test: the end of TLS in front of a backend, as it is used in the field.
//!
//! HAProxy serves no files. Its backend is the server that toll brings along, over plain HTTP, on CPUs
//! of its own where there are any. What the backend uses is not HAProxy's, and is accounted for apart.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use cpus::CpuList;
use rustix::process::Signal;
use tls::CertificateKey;

use crate::haproxy_config::{Configuration, library_configuration};
use crate::place::Place;
use crate::port::ReservedPort;
use crate::process::{Launch, Process};
use crate::running::{START_LIMIT, Started, Starting};
use crate::secret::Secret;
use crate::{Embedded, Objects, Running, Settings, TargetError, program};

/// The file of its configuration.
pub(crate) const CONFIGURATION: &str = "haproxy.cfg";
/// The file of OpenSSL's configuration for it.
pub(crate) const LIBRARY_CONFIGURATION: &str = "openssl.cnf";
/// The file of certificate and key together.
const PEM: &str = "server.pem";
/// The variable that names OpenSSL's configuration.
pub(crate) const OPENSSL_CONF: &str = "OPENSSL_CONF";
/// The name of the backend's folders in the results.
const BACKEND: &str = "backend";

/// HAProxy, where to look for it, and what stands behind it.
#[derive(Debug, Clone)]
pub struct Haproxy {
    /// The folders in which the program `haproxy` is looked for, in this order.
    pub folders: Vec<PathBuf>,
    /// The server behind it.
    pub backend: Embedded,
    /// The backend's CPUs. Where none are given, those that toll may use and HAProxy does not; where
    /// there are no such, HAProxy's.
    pub backend_cpus: Option<CpuList>,
}

impl Default for Haproxy {
    /// In the folders of `PATH`, `/usr/sbin` and `/usr/local/sbin`.
    fn default() -> Self {
        Self { folders: program::usual_folders(), backend: Embedded::default(), backend_cpus: None }
    }
}

impl Haproxy {
    /// The program, if it is installed.
    pub(crate) fn program(&self) -> Result<PathBuf, TargetError> {
        program::find("haproxy", &self.folders, "install it, e.g. apt-get install haproxy")
    }

    pub(crate) fn start(
        &self,
        settings: &Settings,
        objects: &Arc<Objects>,
        folder: &Path,
    ) -> Result<Running, TargetError> {
        if settings.environment.has(OPENSSL_CONF) {
            return Err(TargetError::Settings(format!(
                "{OPENSSL_CONF} tells haproxy of tickets and encrypt-then-MAC and cannot be given \
                 in its environment; leave it out"
            )));
        }
        let program = self.program()?;
        let place = Place::claim(folder, "haproxy")?;
        let version = version(&program, settings)?;
        let backend = self.start_backend(settings, objects, folder)?;
        let (certificate, key) = place.identity(settings)?;
        let pem = pem(&place, &certificate, key.path())?;
        let (output, stdout) = place.log("output.log")?;
        let stderr = stdout.try_clone().map_err(TargetError::file(&output))?;
        let (https, http) = (ReservedPort::new()?, ReservedPort::new()?);
        let configuration = Configuration {
            settings,
            pem: pem.path(),
            https: https.address(),
            http: http.address(),
            backend: backend.http(),
        };
        let file = place.folder.join(CONFIGURATION);
        fs::write(&file, configuration.render()?).map_err(TargetError::file(&file))?;
        let library_file = place.folder.join(LIBRARY_CONFIGURATION);
        fs::write(&library_file, library_configuration(settings))
            .map_err(TargetError::file(&library_file))?;

        let environment = environment(settings, &library_file);
        check(&place, &program, &file, environment.clone())?;
        let launch = Launch {
            program,
            arguments: arguments(&file),
            environment,
            cpus: &settings.cpus,
            stdout,
            stderr,
            // It has no processes of its own.
            death_signal: Signal::KILL,
            secrets: vec![key, pem],
        };
        let process = Process::start(launch)
            .map_err(|(program, source)| TargetError::Spawn { program, source })?;
        let deadline = Instant::now() + START_LIMIT;
        // The ports stay reserved until HAProxy listens on them.
        let started = Started { version, https: https.address(), http: http.address() };
        let log_files = vec![output];
        let backend = Some(Box::new(backend));
        Starting { place, process, certificate, log_files, incidents: None, deadline, backend }
            .finish(settings, objects, started)
    }

    /// On the system's own library: it speaks no TLS with HAProxy.
    fn start_backend(
        &self,
        settings: &Settings,
        objects: &Arc<Objects>,
        folder: &Path,
    ) -> Result<Running, TargetError> {
        let cpus = match &self.backend_cpus {
            Some(cpus) => cpus.clone(),
            None => spare_cpus(&settings.cpus)?,
        };
        let of_backend =
            Settings { certificate_key: CertificateKey::EcdsaP256, ..Settings::new(cpus) };
        self.backend.start_as(BACKEND, &of_backend, objects, folder)
    }
}

fn spare_cpus(used: &CpuList) -> Result<CpuList, TargetError> {
    let allowed = CpuList::allowed().map_err(|error| TargetError::Settings(error.to_string()))?;
    Ok(allowed.without(used).unwrap_or_else(|| used.clone()))
}

/// -db: in the foreground, one process.
pub(crate) fn arguments(configuration: &Path) -> Vec<OsString> {
    vec!["-db".into(), "-f".into(), configuration.into()]
}

/// What HAProxy gets beside toll's own environment.
fn environment(settings: &Settings, library_file: &Path) -> Vec<(OsString, OsString)> {
    let mut variables = settings.variables();
    variables.push((OPENSSL_CONF.into(), library_file.into()));
    variables
}

/// HAProxy wants certificate and key in one file.
fn pem(place: &Place, certificate: &Path, key: &Path) -> Result<Secret, TargetError> {
    let path = place.folder.join(PEM);
    let read = |path: &Path| fs::read(path).map_err(TargetError::file(path));
    let content = [read(certificate)?, read(key)?].concat();
    Secret::write(path.clone(), &content).map_err(TargetError::file(&path))
}

/// HAProxy's own check of its configuration, whose complaints become the error.
fn check(
    place: &Place,
    program: &Path,
    configuration: &Path,
    environment: Vec<(OsString, OsString)>,
) -> Result<(), TargetError> {
    let mut arguments = arguments(configuration);
    arguments.push("-c".into());
    let output = program::ask(program, &arguments, environment)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<&str> = said.lines().filter_map(complaint).collect();
    Err(TargetError::Configuration {
        name: place.name.clone(),
        configuration: configuration.to_owned(),
        message: if complaints.is_empty() {
            format!("{}: {}", output.status, said.trim().replace('\n', " | "))
        } else {
            complaints.join(" | ")
        },
    })
}

/// What `[ALERT]    (7) : config : parsing [h.cfg:1] : ...` complains of, its last line but the
/// summaries that follow.
fn complaint(line: &str) -> Option<&str> {
    let (_, what) = line.strip_prefix("[ALERT]")?.split_once(" : ")?;
    let what = what.strip_prefix("config : ").unwrap_or(what);
    let is_summary = what.starts_with("Error(s) found") || what.starts_with("Fatal errors found");
    (!is_summary).then_some(what)
}

/// `HAProxy/2.6.12-1+deb12u4, OpenSSL 3.0.22`, from what `haproxy -vv` prints.
fn version(program: &Path, settings: &Settings) -> Result<String, TargetError> {
    let output = program::ask_with(program, &["-vv".into()], settings)?;
    let said = String::from_utf8_lossy(&output.stdout);
    parse_version(&said).ok_or_else(|| {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let complaint = complaint.lines().next().unwrap_or("it says nothing of them").trim();
        TargetError::Settings(format!(
            "{} -vv names no version and no OpenSSL ({complaint}); take a HAProxy that is built with \
             OpenSSL",
            program.display()
        ))
    })
}

fn parse_version(said: &str) -> Option<String> {
    let after = |start: &str| said.lines().find_map(|line| line.strip_prefix(start));
    // Before 2.4 it was "HA-Proxy version".
    let server = after("HAProxy version ").or_else(|| after("HA-Proxy version "))?;
    let library = after("Running on OpenSSL version : ")?;
    let mut words = library.split_whitespace();
    Some(format!(
        "HAProxy/{}, {} {}",
        server.split_whitespace().next()?,
        words.next()?,
        words.next()?
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        let said = "HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/\n\
                    Built with OpenSSL version : OpenSSL 3.0.2 15 Mar 2022\n\
                    Running on OpenSSL version : OpenSSL 3.0.22 25 Aug 2026\n";
        assert_eq!(parse_version(said).unwrap(), "HAProxy/2.6.12-1+deb12u4, OpenSSL 3.0.22");
        assert_eq!(parse_version("HAProxy version 2.6.12\n"), None);
    }

    #[test]
    fn complaints_are_those_of_alerts() {
        let alert = "[ALERT]    (7) : config : parsing [h.cfg:9] : unknown keyword 'x'";
        assert_eq!(complaint(alert), Some("parsing [h.cfg:9] : unknown keyword 'x'"));
        assert_eq!(complaint("[ALERT]    (7) : config : Fatal errors found in it."), None);
        assert_eq!(complaint("[NOTICE]   (7) : haproxy version is 2.6.12"), None);
    }

    #[test]
    fn its_backend_takes_the_cpus_that_it_leaves() {
        let allowed = CpuList::allowed().unwrap();
        assert_eq!(spare_cpus(&allowed).unwrap(), allowed);
        if allowed.len() > 1 {
            let first = allowed.first(1);
            assert_eq!(spare_cpus(&first).unwrap(), allowed.without(&first).unwrap());
        }
    }

    #[test]
    fn what_tells_it_of_tickets_is_not_given_twice() {
        let folder = tempfile::tempdir().unwrap();
        let objects = Objects::make(&[units::Bytes(10)], folder.path()).unwrap().into();
        let settings = Settings {
            environment: "OPENSSL_CONF=/x".parse().unwrap(),
            ..Settings::new(CpuList::allowed().unwrap())
        };
        let error = Haproxy::default().start(&settings, &objects, folder.path()).unwrap_err();
        assert!(error.to_string().starts_with("OPENSSL_CONF tells haproxy"), "{error}");
    }
}
