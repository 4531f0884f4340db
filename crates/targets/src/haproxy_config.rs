//! HAProxy's configuration: one process, a thread pinned to each core, no log of requests,
//! connections that are kept on both sides. It needs neither root nor a folder of the system.
//!
//! What HAProxy has no word for, tickets in TLS 1.3 and encrypt-then-MAC among it, OpenSSL is told
//! in a configuration of its own.

use std::net::SocketAddr;
use std::path::Path;

use tls::{CertificateKey, Suite, Version};

use crate::{Settings, TargetError};

/// Sessions that the cache holds, where there is one; HAProxy's own default.
const SESSIONS: u32 = 20_000;

/// All that the configuration depends on.
pub(crate) struct Configuration<'a> {
    pub(crate) settings: &'a Settings,
    /// The file of certificate and key.
    pub(crate) pem: &'a Path,
    pub(crate) https: SocketAddr,
    pub(crate) http: SocketAddr,
    /// Where its backend listens, in plain HTTP.
    pub(crate) backend: SocketAddr,
}

impl Configuration<'_> {
    /// # Errors
    /// A path that HAProxy cannot be told.
    pub(crate) fn render(&self) -> Result<String, TargetError> {
        let cpus = self.settings.cpus.as_slice();
        let list: Vec<String> = cpus.iter().map(ToString::to_string).collect();
        Ok(format!(
            "\
global
    nbthread {threads}
    cpu-map auto:1/1-{threads} {cpus}
    tune.ssl.cachesize {sessions}
    tune.ssl.lifetime 3600
    log stderr format raw daemon notice

defaults
    mode http
    timeout connect 10s
    timeout client 1h
    timeout server 1h
    timeout http-keep-alive 1h
    http-reuse always

frontend clients
    bind {http}
    bind {https} {tls}
    default_backend objects

backend objects
    server objects {backend}
",
            threads = cpus.len(),
            cpus = list.join(" "),
            sessions = if self.settings.session_cache { SESSIONS } else { 0 },
            http = self.http,
            https = self.https,
            tls = self.tls()?,
            backend = self.backend,
        ))
    }

    fn tls(&self) -> Result<String, TargetError> {
        let Settings { versions, suites, groups, tickets, .. } = self.settings;
        let mut words = vec![
            format!("ssl crt {}", quoted(self.pem)?),
            format!("ssl-min-ver {}", version(versions.iter().min())),
            format!("ssl-max-ver {}", version(versions.iter().max())),
        ];
        words.extend(names(suites, Version::Tls12).map(|names| format!("ciphers {names}")));
        words.extend(names(suites, Version::Tls13).map(|names| format!("ciphersuites {names}")));
        if !groups.is_empty() {
            let groups: Vec<&str> = groups.iter().map(|group| group.openssl_name()).collect();
            words.push(format!("curves {}", groups.join(":")));
        }
        if !tickets {
            words.push("no-tls-tickets".to_owned());
        }
        Ok(words.join(" "))
    }
}

/// OpenSSL's configuration, in the place of the system's own.
pub(crate) fn library_configuration(settings: &Settings) -> String {
    // Its security level, 0, 1 or 2 by distribution, forbids RSA keys below 2048 bits from level 2
    // on.
    let level = match settings.certificate_key {
        CertificateKey::Rsa(bits) if bits < 2048 => 0,
        _ => 1,
    };
    let mut text = format!(
        "\
openssl_conf = toll

[toll]
ssl_conf = ssl

[ssl]
system_default = servers

[servers]
CipherString = DEFAULT:@SECLEVEL={level}
"
    );
    if !settings.tickets {
        // Without this, OpenSSL would send tickets in TLS 1.3 that name a session in its cache.
        text.push_str("NumTickets = 0\n");
    }
    if !settings.encrypt_then_mac {
        text.push_str("Options = -EncryptThenMac\n");
    }
    text
}

fn version(version: Option<&Version>) -> String {
    version.map_or_else(String::new, |version| format!("TLSv{}", version.number()))
}

/// OpenSSL's names of the suites of one version, or `None` where there is none.
fn names(suites: &[&'static Suite], version: Version) -> Option<String> {
    let of_version = suites.iter().filter(|suite| suite.version() == version);
    let names: Vec<&str> = of_version.map(|suite| suite.openssl_name).collect();
    (!names.is_empty()).then(|| names.join(":"))
}

/// A path as a word of HAProxy's language; within single quotes nothing has a meaning of its own.
fn quoted(path: &Path) -> Result<String, TargetError> {
    match path.to_str() {
        Some(text) if !text.contains(['\'', '\n']) => Ok(format!("'{text}'")),
        _ => Err(TargetError::Settings(format!(
            "haproxy cannot be told the path {}; take a folder without quotes and with UTF-8 names",
            path.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tls::Group;

    fn settings() -> Settings {
        Settings::new("0,2".parse().unwrap())
    }

    fn render(settings: &Settings) -> String {
        let configuration = Configuration {
            settings,
            pem: Path::new("/r/targets/haproxy/server.pem"),
            https: "127.0.0.1:4443".parse().unwrap(),
            http: "127.0.0.1:8080".parse().unwrap(),
            backend: "127.0.0.1:9090".parse().unwrap(),
        };
        configuration.render().unwrap()
    }

    #[test]
    fn the_whole_of_it() {
        let settings = Settings {
            suites: ["TLS_AES_128_GCM_SHA256", "AES128-SHA", "AES128-GCM-SHA256"]
                .map(|name| Suite::parse(name).unwrap())
                .to_vec(),
            groups: vec![Group::X25519, Group::Secp256r1],
            certificate_key: CertificateKey::Rsa(1024),
            tickets: false,
            session_cache: false,
            encrypt_then_mac: false,
            ..settings()
        };
        let expected = "\
global
    nbthread 2
    cpu-map auto:1/1-2 0 2
    tune.ssl.cachesize 0
    tune.ssl.lifetime 3600
    log stderr format raw daemon notice

defaults
    mode http
    timeout connect 10s
    timeout client 1h
    timeout server 1h
    timeout http-keep-alive 1h
    http-reuse always

frontend clients
    bind 127.0.0.1:8080
    bind 127.0.0.1:4443 ssl crt '/r/targets/haproxy/server.pem' ssl-min-ver TLSv1.2 \
ssl-max-ver TLSv1.3 ciphers AES128-SHA:AES128-GCM-SHA256 ciphersuites TLS_AES_128_GCM_SHA256 \
curves X25519:P-256 no-tls-tickets
    default_backend objects

backend objects
    server objects 127.0.0.1:9090
";
        assert_eq!(render(&settings), expected);
        let library = library_configuration(&settings);
        assert!(library.ends_with(
            "CipherString = DEFAULT:@SECLEVEL=0\nNumTickets = 0\nOptions = -EncryptThenMac\n"
        ));
    }

    #[test]
    fn a_server_that_is_told_nothing_keeps_its_defaults() {
        let text = render(&settings()) + &library_configuration(&settings());
        assert!(text.contains("tune.ssl.cachesize 20000"));
        for absent in ["ciphers ", "ciphersuites", "curves", "no-tls", "NumTickets", "Options"] {
            assert!(!text.contains(absent), "{absent}");
        }
    }

    #[test]
    fn paths_are_quoted_or_refused() {
        assert_eq!(quoted(Path::new("/a b/$c\"#")).unwrap(), "'/a b/$c\"#'");
        let message = quoted(Path::new("/a'b")).unwrap_err().to_string();
        assert!(message.starts_with("haproxy cannot be told the path /a'b"), "{message}");
    }
}
