//! Human words for the keys and values of a study: `load.suite` = `TLS_AES_128_GCM_SHA256` is
//! "AES-128-GCM".
//!
//! The words depend on key and value alone, so that they are the same in every report, and no two
//! suites share theirs. What is usual today goes without saying: TLS 1.3, and in TLS 1.2 an ECDHE
//! key exchange that RSA signs.

use crate::wording::size;
use cpus::CpuList;
use keys::full;
use load::{Mix, Operation};
use tls::{CertificateKey, Group, KeyExchange, Mac, SendMode, Stack, Suite};
use units::counted;

/// What a value of a key is called: `AES-128-GCM`, `RSA-2048`, `16 connections`. A key without
/// words of its own comes with its value: `verify 1/64`.
#[must_use]
pub fn label(key: &str, value: &str) -> String {
    words(key, value).unwrap_or_else(|| match name(key).replace('-', " ") {
        key if value == "true" => key,
        key if value == "false" => format!("no {key}"),
        key => format!("{key} {value}"),
    })
}

/// The same in a cell of this operation: the connections of a session are users.
#[must_use]
pub fn label_in(operation: Operation, key: &str, value: &str) -> String {
    label(spoken(operation, key), value)
}

fn spoken(operation: Operation, key: &str) -> &str {
    match key {
        full::CONNECTIONS if operation == Operation::Session => "load.users",
        _ => key,
    }
}

/// What a value is called, after a figure: `with AES-128-GCM`, `over plain HTTP`.
pub(crate) fn with(label: &str) -> String {
    let word = if label == PLAIN { "over" } else { "with" };
    format!("{word} {label}")
}

const PLAIN: &str = "plain HTTP";

/// A key without its table: `suite` of `load.suite`.
fn name(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// The words of keys that have some; `None` for other keys, and for values that are not understood.
fn words(key: &str, value: &str) -> Option<String> {
    Some(match name(key) {
        "suite" | "tls" if value == "none" => PLAIN.to_owned(),
        "suite" => suite(Suite::parse(value).ok()?),
        "tls" => format!("TLS {value}"),
        "server" if value == "embedded" => "toll's own server".to_owned(),
        "server" if value == "haproxy" => "HAProxy".to_owned(),
        "server" if value == "apache" => "Apache httpd".to_owned(),
        "server" if value == "tomcat" => "Tomcat".to_owned(),
        "server" if value == "caddy" => "Caddy".to_owned(),
        "server" => value.to_owned(),
        "certificate-key" => value.parse::<CertificateKey>().ok()?.words(),
        "group" => match value.parse::<Group>().ok()? {
            Group::X25519 => "X25519".to_owned(),
            group => group.openssl_name().to_owned(),
        },
        "object" => objects(&value.parse().ok()?)?,
        "connections" => counted(value.parse().ok()?, "connection"),
        "users" => counted(value.parse().ok()?, "user"),
        "http" => format!("HTTP/{value}"),
        "streams" => counted(value.parse().ok()?, "stream"),
        "host" => format!("the server on {value}"),
        "listen" => format!("the server at {value}"),
        "cores" => counted(value.parse().ok()?, "core"),
        "threads-per-core" if value == "1" => "1 thread per core".to_owned(),
        "threads-per-core" => format!("{value} threads per core"),
        "operation" => value.replace('-', " "),
        "encrypt-then-mac" if value == "true" => "encrypt-then-MAC".to_owned(),
        "encrypt-then-mac" if value == "false" => "MAC-then-encrypt".to_owned(),
        "library-path" if value == "system" => "the system's TLS library".to_owned(),
        "library-path" => format!("the TLS library in {value}"),
        "library" if value == "openssl-built" => "the OpenSSL of make openssl".to_owned(),
        "library" => match value.parse::<Stack>().ok()? {
            Stack::OpenSsl => "OpenSSL".to_owned(),
            Stack::RustlsRing => "rustls on ring".to_owned(),
            Stack::RustlsAwsLc => "rustls on AWS-LC".to_owned(),
        },
        "requests-per-connection" if value == "1" => "1 request per connection".to_owned(),
        "requests-per-connection" => format!("{value} requests per connection"),
        "resumption" if value == "0%" => "no resumption".to_owned(),
        "resumption" => format!("{value} resumed"),
        "environment" if value == "none" => "an environment without additions".to_owned(),
        "environment" => value.to_owned(),
        "tickets" if value == "true" => "session tickets".to_owned(),
        "tickets" if value == "false" => "no session tickets".to_owned(),
        "crypto" if value == "jdk" => "Java's own cryptography".to_owned(),
        "crypto" if value == "nss" => "NSS".to_owned(),
        "aes" if value == "on" => "AES instructions".to_owned(),
        "aes" if value == "off" => "no AES instructions".to_owned(),
        "send" => value.parse::<SendMode>().ok()?.words().to_owned(),
        "sendfile" if value == "true" => "sendfile".to_owned(),
        "sendfile" if value == "false" => "no sendfile".to_owned(),
        "accelerator" if value == "none" => "no accelerator".to_owned(),
        "accelerator" if value == "multi-buffer" => "Intel's multi-buffer library".to_owned(),
        "accelerator" => "a modelled accelerator".to_owned(),
        "offload" => format!("{value} offload to a model"),
        "accelerator-rate" => format!("a modelled rate of {value}"),
        "accelerator-latency" => format!("a modelled latency of {value}"),
        "accelerator-queue" => format!("a modelled queue of {value}"),
        "accelerator-count" => counted(value.parse().ok()?, "modelled engine"),
        "record-size" => format!("records of {}", size(value.parse().ok()?)),
        "records-per-write" if value == "1" => "1 record in a send".to_owned(),
        "records-per-write" => format!("{value} records in a send"),
        "directives" if value == "none" => "toll's own directives".to_owned(),
        "directives" => format!("directives {value}"),
        "storage" => format!("files {}", if value == "disk" { "on disk" } else { "in memory" }),
        "files" => counted(value.parse().ok()?, "file"),
        "names" => counted(value.parse().ok()?, "name"),
        "client" if value == "toll" => "toll's client".to_owned(),
        "client" => value.to_owned(),
        "key-exchange" => format!("{value} key exchange"),
        "cpus" => {
            let side = if key.starts_with("load") { "client" } else { "server" };
            format!("{side} on {}", cpus(&value.parse().ok()?))
        }
        _ => return None,
    })
}

/// `CPU 0`, `CPUs 0-3`.
pub(crate) fn cpus(list: &CpuList) -> String {
    format!("CPU{} {list}", if list.len() == 1 { "" } else { "s" })
}

/// `1 MiB objects`, or `objects of 1 KiB (90%) and 1 MiB (10%)`.
fn objects(mix: &Mix) -> Option<String> {
    let sizes = mix.sizes()?;
    if let [only] = sizes[..] {
        return Some(format!("{} objects", size(only)));
    }
    let shares = mix.portions().iter().map(|portion| portion.share() * 100.0);
    let words: Vec<String> = sizes
        .into_iter()
        .zip(shares)
        .map(|(bytes, share)| format!("{} ({share}%)", size(bytes)))
        .collect();
    Some(format!("objects of {}", words.join(" and ")))
}

fn suite(suite: &Suite) -> String {
    let cipher = suite.cipher.words();
    let mac = match suite.mac {
        Mac::Aead => "",
        Mac::Sha1 => "-SHA",
        Mac::Sha256 => "-SHA256",
        Mac::Sha384 => "-SHA384",
    };
    // A suite with a MAC of its own is one of TLS 1.2 anyhow.
    let rest = match (suite.key_exchange, suite.mac) {
        (KeyExchange::Rsa, _) => " (static RSA)",
        (KeyExchange::EcdheRsa, Mac::Aead) => " (TLS 1.2)",
        (KeyExchange::EcdheEcdsa, Mac::Aead) => " (TLS 1.2, ECDSA)",
        (KeyExchange::EcdheEcdsa, _) => " (ECDSA)",
        (KeyExchange::Tls13 | KeyExchange::EcdheRsa, _) => "",
    };
    format!("{cipher}{mac}{rest}")
}

/// Labels of these parts, without the parts that are the same in all.
#[must_use]
pub fn without_what_is_common(parts: &[Vec<String>]) -> Vec<String> {
    let Some(first) = parts.first() else { return Vec::new() };
    let differs = |place: usize| parts.iter().any(|of| of.get(place) != first.get(place));
    let is_alike = parts.iter().all(|of| of.len() == first.len());
    if !is_alike || !(0..first.len()).any(differs) {
        return parts.iter().map(|of| of.join(", ")).collect();
    }
    let own = |of: &Vec<String>| {
        let kept = of.iter().enumerate().filter(|(place, _)| differs(*place));
        kept.map(|(_, part)| part.as_str()).collect::<Vec<_>>().join(", ")
    };
    parts.iter().map(own).collect()
}

/// `1 trial`, `7 trials`.
#[must_use]
pub fn trials(count: usize) -> String {
    counted(count as u64, "trial")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_suites_share_their_words() {
        let labels: BTreeSet<String> =
            tls::SUITES.iter().map(|suite| label("load.suite", suite.name)).collect();
        assert_eq!(labels.len(), tls::SUITES.len(), "{labels:?}");
    }

    #[test]
    fn values_are_told_in_words() {
        for (key, value, words) in [
            ("load.suite", "TLS_AES_128_GCM_SHA256", "AES-128-GCM"),
            ("load.suite", "TLS_CHACHA20_POLY1305_SHA256", "ChaCha20-Poly1305"),
            ("load.suite", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "AES-128-CBC-SHA"),
            ("load.suite", "AES128-SHA", "AES-128-CBC-SHA (static RSA)"),
            ("load.suite", "ECDHE-RSA-AES256-GCM-SHA384", "AES-256-GCM (TLS 1.2)"),
            ("load.suite", "none", "plain HTTP"),
            ("load.suite", "TLS_NEW", "suite TLS_NEW"),
            ("load.tls", "none", "plain HTTP"),
            ("load.tls", "1.3", "TLS 1.3"),
            ("target.server", "nginx", "nginx"),
            ("target.server", "embedded", "toll's own server"),
            ("target.server", "haproxy", "HAProxy"),
            ("target.server", "apache", "Apache httpd"),
            ("target.server", "tomcat", "Tomcat"),
            ("target.server", "caddy", "Caddy"),
            ("load.http", "2", "HTTP/2"),
            ("load.http", "1.1", "HTTP/1.1"),
            ("load.streams", "32", "32 streams"),
            ("load.streams", "1", "1 stream"),
            ("target.certificate-key", "rsa:2048", "RSA-2048"),
            ("target.certificate-key", "ecdsa:p256", "ECDSA P-256"),
            ("target.certificate-key", "ecdsa:p384", "ECDSA P-384"),
            ("target.certificate-key", "ed25519", "Ed25519"),
            ("load.group", "x25519", "X25519"),
            ("load.group", "secp256r1", "P-256"),
            ("load.connections", "16", "16 connections"),
            ("load.connections", "1", "1 connection"),
            ("target.cores", "1", "1 core"),
            ("target.cores", "8", "8 cores"),
            ("target.threads-per-core", "2", "2 threads per core"),
            ("load.connections", "5000", "5,000 connections"),
            ("load.object", "1MiB", "1 MiB objects"),
            ("target.object", "1024KiB", "1 MiB objects"),
            (
                "target.object",
                "1KiB 89.5%, 1MiB 10.5%",
                "objects of 1 KiB (89.5%) and 1 MiB (10.5%)",
            ),
            ("load.operation", "one-request-per-connection", "one request per connection"),
            ("load.encrypt-then-mac", "false", "MAC-then-encrypt"),
            ("load.key-exchange", "fresh", "fresh key exchange"),
            ("target.tickets", "false", "no session tickets"),
            ("target.crypto", "nss", "NSS"),
            ("target.aes", "off", "no AES instructions"),
            ("target.send", "ktls-sendfile", "kTLS sendfile"),
            ("target.sendfile", "true", "sendfile"),
            ("target.sendfile", "false", "no sendfile"),
            ("target.accelerator", "none", "no accelerator"),
            ("target.accelerator", "multi-buffer", "Intel's multi-buffer library"),
            ("target.offload", "inline", "inline offload to a model"),
            ("target.accelerator-latency", "1ms", "a modelled latency of 1ms"),
            ("target.accelerator-count", "2", "2 modelled engines"),
            ("target.record-size", "4KiB", "records of 4 KiB"),
            ("target.records-per-write", "4", "4 records in a send"),
            ("target.directives", "tcp_nodelay off", "directives tcp_nodelay off"),
            ("target.library-path", "system", "the system's TLS library"),
            ("target.library-path", "/opt/ssl", "the TLS library in /opt/ssl"),
            ("target.library", "openssl-built", "the OpenSSL of make openssl"),
            ("target.library", "rustls-aws-lc", "rustls on AWS-LC"),
            ("load.resumption", "25%", "25% resumed"),
            ("target.names", "2000", "2,000 names"),
            ("load.requests-per-connection", "1", "1 request per connection"),
            ("load.requests-per-connection", "8", "8 requests per connection"),
            ("target.environment", "none", "an environment without additions"),
            ("target.environment", "A=1", "A=1"),
            ("target.session-cache", "true", "session cache"),
            ("target.session-cache", "false", "no session cache"),
            ("target.cpus", "0-3", "server on CPUs 0-3"),
            ("target.host", "me@old", "the server on me@old"),
            ("target.listen", "10.1.1.1", "the server at 10.1.1.1"),
            ("load.cpus", "1", "client on CPU 1"),
            ("load.verify", "1/64", "verify 1/64"),
        ] {
            assert_eq!(label(key, value), words);
        }
    }

    #[test]
    fn the_connections_of_a_session_are_users() {
        let words = |operation, count| label(spoken(operation, "load.connections"), count);
        assert_eq!(words(Operation::Session, "1"), "1 user");
        assert_eq!(words(Operation::Session, "2000"), "2,000 users");
        assert_eq!(words(Operation::Requests, "16"), "16 connections");
        assert_eq!(spoken(Operation::Session, "load.suite"), "load.suite");
    }

    #[test]
    fn in_a_sentence_they_have_their_small_words() {
        assert_eq!(with(&label("load.suite", "none")), "over plain HTTP");
        assert_eq!(with(&label("load.connections", "16")), "with 16 connections");
        assert_eq!(label("target.server", "nginx"), "nginx");
    }

    fn own(labels: &[&[&str]]) -> Vec<String> {
        let labels: Vec<Vec<String>> =
            labels.iter().map(|of| of.iter().map(|part| (*part).to_owned()).collect()).collect();
        without_what_is_common(&labels)
    }

    #[test]
    fn what_all_rows_share_is_in_no_label() {
        assert_eq!(
            own(&[&["CBC", "1 core", "1 MiB"], &["GCM", "1 core", "4 MiB"]]),
            ["CBC, 1 MiB", "GCM, 4 MiB"]
        );
        // A value may have a comma.
        assert_eq!(
            own(&[&["nginx", "A=1, B=2"], &["nginx", "A=1, B=3"]]),
            ["A=1, B=2", "A=1, B=3"]
        );
        // Nothing would be left, or the parts do not mean the same.
        assert_eq!(own(&[&["nginx"]]), ["nginx"]);
        assert_eq!(own(&[&["nginx"], &["nginx"]]), ["nginx", "nginx"]);
        assert_eq!(own(&[&["nginx", "CBC"], &["nginx"]]), ["nginx, CBC", "nginx"]);
        assert!(own(&[]).is_empty());
    }

    #[test]
    fn one_trial_is_singular() {
        assert_eq!((trials(1), trials(0)), ("1 trial".into(), "0 trials".into()));
    }
}
