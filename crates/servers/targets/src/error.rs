use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use congestion::CongestionControl;
use tls::{CertificateKey, IdentityError, Stack};
use units::Bytes;

/// Why a server could not be started, or no longer runs. Each message is one line.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    #[error("{program} is not installed; apt-get install {package}")]
    Missing {
        program: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// The server's program is not built; a caller may leave the target out.
    #[error("{what} is not built (looked for {looked}); run {command}, or leave this target out")]
    NotBuilt {
        /// The program.
        what: &'static str,
        /// The files that it could be.
        looked: String,
        /// What builds it.
        command: &'static str,
    },
    /// The system that it is to come from is not there, or not whole; a caller may leave the target out.
    #[error("system {name} {why}; run make systems SYSTEMS={name}, or leave this target out")]
    NoSystem { name: String, why: String },
    /// toll does not run on its libraries; a caller may leave the target out.
    #[error("toll does not start in system {name}: {why}; take a newer release")]
    OldSystem { name: String, why: String },
    /// The library that is to use its private keys is not there, or not for this CPU; a caller may leave the
    /// target out.
    #[error("{0}; or leave this target out")]
    NoAccelerator(String),
    /// Its instructions cannot be counted here; a caller may leave the target out.
    #[error("{0}, or leave this target out")]
    NotCounted(String),
    /// The TLS library that it is to open is not there, is none that toll knows, does not have what is asked of it,
    /// or ends its process; a caller may leave the target out.
    #[error("{library}: {why}; or leave this target out")]
    NoLibrary { library: Stack, why: String },
    /// Its program was built without QUIC; a caller may leave the target out.
    #[error(
        "{program} was built without QUIC ({flags} does not name it); install one that has it and write its file in \
         target.program, or leave this target out"
    )]
    NoQuic {
        program: &'static str,
        /// The command that lists what it was built with.
        flags: &'static str,
    },
    /// The security level of its TLS library forbids the certificate's key; a caller may leave the
    /// target out.
    #[error(
        "{why}; {key} is below what its TLS library allows here, so use a larger key, or leave \
             this target out"
    )]
    WeakKey { key: CertificateKey, why: String },
    /// The request makes no sense, or cannot be carried out here.
    #[error("{0}")]
    Settings(String),
    #[error(
        "{server}'s configuration cannot hold the path {}; use a folder with UTF-8 names and \
         without {without}",
        path.display()
    )]
    Path {
        server: &'static str,
        path: PathBuf,
        /// The characters that it must not have, in words.
        without: &'static str,
    },
    #[error("the objects need {needed}, but {free}; ask for smaller objects or make room")]
    Space {
        needed: Bytes,
        /// What is free where, "/dev/shm has 3MiB free and ...".
        free: String,
    },
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("cannot make the server's key and certificate: {0}")]
    Identity(#[from] IdentityError),
    #[error("{name} does not use the TLS library in {}: {why}", folder.display())]
    Library {
        name: String,
        /// Where the library should come from.
        folder: PathBuf,
        why: String,
    },
    #[error("this machine cannot listen at {address}: {source}; `ip address` lists what it has")]
    Port { address: IpAddr, source: io::Error },
    #[error(
        "{name} cannot be given congestion control {control}: {source}; leave target.congestion out, \
         or set net.ipv4.tcp_congestion_control"
    )]
    Congestion { name: String, control: CongestionControl, source: io::Error },
    #[error("cannot start {program}: {source}")]
    Spawn { program: PathBuf, source: io::Error },
    #[error("{name} refuses its configuration {configuration}: {message}")]
    Configuration { name: String, configuration: PathBuf, message: String },
    /// A running server does not say what it is asked.
    #[error("{name} does not answer {question}: {why}")]
    Silent { name: String, question: String, why: String },
    /// The server verifies its backend, and that is another one.
    #[error("{name} gets nothing from its backend: {why}")]
    Backend { name: String, why: String },
    /// The server's process ended by itself, or one of its processes.
    #[error("{name} died ({how}); {log}")]
    Died {
        name: String,
        /// Exit status or signal, "exit status: 1".
        how: String,
        /// Its last words, and the file that has more.
        log: String,
    },
    #[error("{name} does not serve within {limit_s} s of its start: {why};{} {log}", listening(listens.as_deref()))]
    NotReady {
        name: String,
        /// The time that it had, in seconds.
        limit_s: u64,
        /// What its ports said last.
        why: String,
        /// Where its processes listen, as far as that is to be seen.
        listens: Option<Vec<SocketAddr>>,
        /// Its last words, and the file that has more.
        log: String,
    },
}

/// What OpenSSL and servers say of a key that the security level forbids. HAProxy gives no reason; what it
/// cannot load is a certificate of toll's own.
const FORBIDDEN: [&str; 3] =
    ["key too small", "key size too small", "unable to load SSL certificate into SSL Context"];

/// What toll's server says of a key that its TLS library does not have.
const NO_SIGNATURES: &str = " has no signatures with ";

/// Where a server listens, as a clause with its end.
fn listening(at: Option<&[SocketAddr]>) -> String {
    match at {
        None => String::new(),
        Some([]) => " it listens nowhere;".to_owned(),
        Some(at) => {
            let at: Vec<String> = at.iter().map(ToString::to_string).collect();
            format!(" it listens at {};", at.join(" and "))
        }
    }
}

impl TargetError {
    /// Whether a caller may leave the target out and measure the others.
    pub fn is_missing(&self) -> bool {
        matches!(
            self,
            Self::Missing { .. }
                | Self::NotBuilt { .. }
                | Self::NoSystem { .. }
                | Self::OldSystem { .. }
                | Self::NoAccelerator(_)
                | Self::NotCounted(_)
                | Self::NoQuic { .. }
                | Self::NoLibrary { .. }
                | Self::WeakKey { .. }
        )
    }

    /// The same, or that the key is too weak where OpenSSL or the server says so.
    pub(crate) fn of_key(self, key: CertificateKey) -> Self {
        let why = self.to_string();
        match FORBIDDEN.iter().any(|words| why.contains(words)) {
            true => Self::WeakKey { key, why },
            false => self,
        }
    }

    /// The same, or that its library cannot be used, where it ended at its start and runs on one that is no part of
    /// it.
    pub(crate) fn of_library(self, library: Stack) -> Self {
        match self {
            Self::Died { log, .. } if log.contains(NO_SIGNATURES) => {
                Self::NoLibrary { library, why: log }
            }
            Self::Died { how, log, .. } if library.file().is_some() => {
                Self::NoLibrary { library, why: format!("the server ended ({how}); {log}") }
            }
            other => other,
        }
    }

    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::File { path, source }
    }

    pub(crate) fn path(server: &'static str, path: &Path, without: &'static str) -> Self {
        Self::Path { server, path: path.to_owned(), without }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of each kind; other tests look at the kind alone.
    #[test]
    fn errors_in_words() {
        let name = || "nginx-2".to_owned();
        let path = || PathBuf::from("/a/b");
        let refused = || io::Error::from(io::ErrorKind::PermissionDenied);
        let why = || "why".to_owned();
        let log = || "error.log ends with: line 7".to_owned();
        let not_ready = |listens| TargetError::NotReady {
            name: name(),
            limit_s: 30,
            why: why(),
            listens,
            log: log(),
        };
        let errors = [
            TargetError::Missing { program: "nginx", package: "nginx-core" },
            TargetError::NotBuilt { what: "it", looked: "/a".into(), command: "make it" },
            TargetError::NoSystem { name: name(), why: why() },
            TargetError::OldSystem { name: name(), why: why() },
            TargetError::WeakKey { key: CertificateKey::Rsa(1024), why: why() },
            TargetError::NoLibrary { library: Stack::GnuTls, why: why() },
            TargetError::path("nginx", &path(), "quotes"),
            TargetError::Space { needed: Bytes(1 << 30), free: "/dev/shm has 1MiB free".into() },
            TargetError::File { path: path(), source: refused() },
            TargetError::Library { name: name(), folder: path(), why: why() },
            TargetError::Port { address: [10, 1, 1, 1].into(), source: refused() },
            TargetError::Spawn { program: path(), source: refused() },
            TargetError::Configuration { name: name(), configuration: path(), message: why() },
            TargetError::Silent { name: name(), question: "/".into(), why: why() },
            TargetError::Backend { name: name(), why: why() },
            TargetError::Died { name: name(), how: "signal: 9".into(), log: log() },
            not_ready(None),
            not_ready(Some(Vec::new())),
            not_ready(Some(["127.0.0.1:80", "[::1]:80"].map(|at| at.parse().unwrap()).into())),
        ];
        support::assert_golden!(errors.map(|error| {
            let text = format!("{error:?}");
            (text.split(' ').next().unwrap_or_default().to_owned(), error)
        }));
    }
}
