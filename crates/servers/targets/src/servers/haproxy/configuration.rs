//! HAProxy's configuration: one process, a thread pinned to each core, no log of requests,
//! connections that are kept on both sides. It needs neither root nor a folder of the system.
//!
//! Without `http-ignore-probes` it answers a connection without a request with an error, which is not a
//! handshake alone.
//!
//! HAProxy has no directive for tickets in TLS 1.3 and for encrypt-then-MAC, and until 2.8 none for
//! providers; OpenSSL gets these in a configuration of its own.
//!
//! A paused job has a descriptor as long as its connection is there, which HAProxy counts for engines only.
//! Without `maxconn` it allows itself all descriptors that it may have, two for each connection, so that up
//! to a third of them can be connections with a job and one to the backend.

use std::net::SocketAddr;
use std::path::Path;

use tls::{AskClient, Version};

use crate::backend::{BackendAddress, NAME};
use crate::launch_context::LaunchContext;
use crate::nobody::{self, NOBODY};
use crate::openssl_provider::Lines;
use crate::target_dir::NAMES;
use crate::{Backend, BackendConnections, Settings, TargetError, openssl};

/// The file of certificate and key together.
pub(super) const PEM: &str = "server.pem";

/// Sessions that the cache holds, where there is one; HAProxy's own default.
const SESSIONS: u32 = 20_000;

/// # Errors
/// A path that HAProxy's configuration cannot hold.
pub(super) fn render(context: &LaunchContext<'_>) -> Result<String, TargetError> {
    let cpus = context.settings.target.cpus.as_slice();
    let list: Vec<String> = cpus.iter().map(ToString::to_string).collect();
    let user = match nobody::is_wanted(context) {
        true => format!("    uid {NOBODY}\n    gid {NOBODY}\n"),
        false => String::new(),
    };
    Ok(format!(
        "\
global
    nbthread {threads}
    cpu-map auto:1/1-{threads} {cpus}
    tune.ssl.cachesize {sessions}
    tune.ssl.lifetime 3600
    tune.h2.max-concurrent-streams 1024
    log stderr format raw daemon notice
{quic}{user}{pauses}
defaults
    mode http
    timeout connect 10s
    timeout client 1h
    timeout server 1h
    timeout http-keep-alive 1h
    {reuse}
    option http-ignore-probes

frontend clients
    bind {http}
    bind {https} {tls}
{udp}    default_backend objects

backend objects
    server objects {backend}
",
        threads = cpus.len(),
        cpus = list.join(" "),
        // The second is for a TLS library whose own interface for QUIC is not HAProxy's.
        quic = match context.settings.target.quic {
            true => "    tune.quic.frontend.max-streams-bidi 1024\n    limited-quic\n",
            false => "",
        },
        user = user,
        pauses =
            if context.settings.target.pauses_handshakes() { "    ssl-mode-async\n" } else { "" },
        sessions = if context.settings.target.session_cache { SESSIONS } else { 0 },
        http = addresses(&context.http),
        https = addresses(&context.https),
        tls = tls(context, "h2,http/1.1")?,
        udp = udp(context)?,
        reuse = reuse(context.settings.target.backend_connections),
        backend = backend(context)?,
    ))
}

/// `http-server-close` ends a connection after its response also where the client's next request could use it.
fn reuse(connections: BackendConnections) -> &'static str {
    match connections {
        BackendConnections::Kept => "http-reuse always",
        BackendConnections::New => "http-reuse never\n    option http-server-close",
    }
}

/// Where the backend is, and how it is spoken to.
fn backend(context: &LaunchContext<'_>) -> Result<String, TargetError> {
    let Some(BackendAddress { address, certificate }) = &context.backend else {
        return Ok(String::new());
    };
    let target = &context.settings.target;
    if target.backend() != Some(Backend::Tls) {
        return Ok(address.to_string());
    }
    let verify = match target.backend_verify {
        true => format!("verify required ca-file {} verifyhost {NAME}", quoted(certificate)?),
        false => "verify none".to_owned(),
    };
    Ok(format!("{address} ssl sni str({NAME}) no-ssl-reuse {verify}"))
}

/// Where HTTP/3 is served, if it is.
fn udp(context: &LaunchContext<'_>) -> Result<String, TargetError> {
    if !context.settings.target.quic {
        return Ok(String::new());
    }
    let family = |address: &SocketAddr| if address.is_ipv4() { "quic4@" } else { "quic6@" };
    let at = |address: &SocketAddr| format!("{}{address}", family(address));
    let all: Vec<String> = context.https.iter().map(at).collect();
    Ok(format!("    bind {} {}\n", all.join(","), tls(context, "h3")?))
}

fn addresses(all: &[SocketAddr]) -> String {
    let all: Vec<String> = all.iter().map(ToString::to_string).collect();
    all.join(",")
}

fn tls(context: &LaunchContext<'_>, protocols: &str) -> Result<String, TargetError> {
    let Settings { target, versions, suites, .. } = context.settings;
    let mut words = vec![
        format!("ssl crt {}{}", quoted(&context.folder.join(PEM))?, names(context)?),
        format!("ssl-min-ver {}", version(versions.iter().min())),
        format!("ssl-max-ver {}", version(versions.iter().max())),
    ];
    let of_version = |version| openssl::suites(suites, version);
    words.extend(of_version(Version::Tls12).map(|names| format!("ciphers {names}")));
    words.extend(of_version(Version::Tls13).map(|names| format!("ciphersuites {names}")));
    words.extend(openssl::groups(context.settings).map(|names| format!("curves {names}")));
    if target.client_certificate != AskClient::None {
        let require = target.client_certificate == AskClient::Require;
        let verify = if require { "required" } else { "optional" };
        let authority = quoted(&context.client_authority())?;
        words.push(format!("ca-file {authority} verify {verify}"));
    }
    if !target.tickets {
        words.push("no-tls-tickets".to_owned());
    }
    words.push(format!("alpn {protocols}"));
    Ok(words.join(" "))
}

/// The certificates of its names, which it finds by what they are for.
fn names(context: &LaunchContext<'_>) -> Result<String, TargetError> {
    match context.settings.target.names {
        Some(_) => Ok(format!(" crt {}", quoted(&context.folder.join(NAMES))?)),
        None => Ok(String::new()),
    }
}

/// OpenSSL's configuration, instead of the system's.
///
/// # Errors
/// A provider that is not there, or whose path cannot be written.
pub(super) fn library_configuration(context: &LaunchContext<'_>) -> Result<String, TargetError> {
    let settings = context.settings;
    let Lines { main, sections } = Lines::of(context)?;
    let level = if openssl::has_weak_key(settings) { 0 } else { 1 };
    let mut text = format!(
        "\
openssl_conf = toll

[toll]
ssl_conf = ssl
{main}
[ssl]
system_default = servers

[servers]
CipherString = DEFAULT:@SECLEVEL={level}
"
    );
    if !settings.target.tickets {
        // Without this, OpenSSL would send tickets in TLS 1.3 that name a session in its cache.
        text.push_str("NumTickets = 0\n");
    }
    if !settings.target.encrypt_then_mac {
        text.push_str("Options = -EncryptThenMac\n");
    }
    text.push_str(&sections);
    Ok(text)
}

fn version(version: Option<&Version>) -> String {
    version.map_or_else(String::new, |version| format!("TLSv{}", version.number()))
}

/// A path as a word of HAProxy's language; within single quotes nothing has a meaning of its own.
fn quoted(path: &Path) -> Result<String, TargetError> {
    match path.to_str() {
        Some(text) if !text.contains(['\'', '\n']) => Ok(format!("'{text}'")),
        _ => Err(TargetError::path("haproxy", path, "quotes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch_context::tests::context;

    #[test]
    fn quic_has_the_port_of_tls_over_tcp() {
        let mut settings = Settings::new("0".parse().unwrap());
        settings.target.server = crate::by_name("haproxy").unwrap();
        let without = render(&context("/f", &settings)).unwrap();
        assert!(!without.contains("quic"), "{without}");
        settings.target.quic = true;
        let with = render(&context("/f", &settings)).unwrap();
        let line =
            |start: &str| with.lines().map(str::trim).find(|line| line.starts_with(start)).unwrap();
        let tcp = line("bind 127.0.0.1:1 ssl");
        assert_eq!(
            line("bind quic4@"),
            tcp.replace("127.0.0.1", "quic4@127.0.0.1").replace("h2,http/1.1", "h3")
        );
        line("limited-quic");
    }

    #[test]
    fn the_backend_is_spoken_to_as_it_was_asked() {
        let rendered = |backend, connections, is_verified| {
            let mut settings = Settings::new("0".parse().unwrap());
            settings.target.server = crate::by_name("haproxy").unwrap();
            settings.target.backend = backend;
            settings.target.backend_connections = connections;
            settings.target.backend_verify = is_verified;
            render(&context("/f", &settings)).unwrap()
        };
        let (kept, new) = (BackendConnections::Kept, BackendConnections::New);
        let plain = rendered(None, kept, true);
        assert!(plain.contains("    server objects 127.0.0.1:3\n"), "{plain}");
        assert!(plain.contains("http-reuse always") && !plain.contains("http-server-close"));
        let tls = rendered(Some(Backend::Tls), new, true);
        assert!(
            tls.contains("verify required ca-file '/b/server.crt' verifyhost localhost\n"),
            "{tls}"
        );
        assert!(tls.contains("http-reuse never\n    option http-server-close\n"), "{tls}");
        assert!(rendered(Some(Backend::Tls), kept, false).contains("verify none\n"));
    }

    #[test]
    fn paths_are_quoted_or_refused() {
        assert_eq!(quoted(Path::new("/a b/$c\"#")).unwrap(), "'/a b/$c\"#'");
        let error = quoted(Path::new("/a'b")).unwrap_err();
        assert!(matches!(error, TargetError::Path { .. }), "{error}");
    }
}
