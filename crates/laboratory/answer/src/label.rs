//! Human words for the keys and values of a study: `load.suite` = `TLS_AES_128_GCM_SHA256` is
//! "AES-128-GCM".
//!
//! The words depend on key and value alone, so that they are the same in every report, and no two
//! suites share theirs. What is usual today goes without saying: TLS 1.3, and in TLS 1.2 an ECDHE
//! key exchange that RSA signs.

use cpus::CpuList;
use keys::full;
use load::{Mix, Operation};
use study::Param;
use targets::{Server, TlsLibrary};
use tls::{Group, KeyExchange, Mac, Stack, Suite};
use units::counted;

/// What a value of a key is called: `AES-128-GCM`, `RSA-2048`, `16 connections`. A key without
/// words of its own comes with its value: `verify 1/64`.
pub fn label(key: &str, value: &Param) -> String {
    let name = full::name(key);
    match value {
        Param::Plain => "plain HTTP".to_owned(),
        Param::Suite(of) => suite(of),
        Param::CertificateKey(key) if name == "client-certificate-key" => {
            format!("a client's {}", key.words())
        }
        Param::CertificateKey(key) => key.words(),
        Param::Group(Group::X25519) => "X25519".to_owned(),
        Param::Group(group) => group.openssl_name().to_owned(),
        Param::Object(mix) => objects(mix),
        Param::Count(count) if name == "threads-per-core" => {
            format!("{} per core", counted(*count, "thread"))
        }
        Param::Count(count) => counted(*count, noun(name)),
        Param::Cpus(list) => {
            let side = if key == full::CLIENT_CPUS { "client" } else { "server" };
            format!("{side} on {}", cpus(list))
        }
        Param::Library(TlsLibrary::Built) => "the OpenSSL of make openssl".to_owned(),
        Param::Library(TlsLibrary::Own(stack)) => match stack {
            Stack::OpenSsl => "OpenSSL",
            Stack::RustlsRing => "rustls on ring",
            Stack::RustlsAwsLc => "rustls on AWS-LC",
            Stack::AwsLc => "AWS-LC",
            Stack::BoringSsl => "BoringSSL",
            Stack::S2n => "s2n-tls",
            Stack::WolfSsl => "wolfSSL",
            Stack::GnuTls => "GnuTLS",
        }
        .to_owned(),
        Param::Send(send) => send.words().to_owned(),
        Param::Size(bytes) => format!("records of {}", bytes.in_words()),
        Param::Operation(operation) => operation.to_string().replace('-', " "),
        Param::Algorithm(algorithm) => algorithm.name().to_owned(),
        Param::Flag(flag) => match (name, flag) {
            ("encrypt-then-mac", true) => "encrypt-then-MAC".to_owned(),
            ("encrypt-then-mac", false) => "MAC-then-encrypt".to_owned(),
            ("tickets", true) => "session tickets".to_owned(),
            ("tickets", false) => "no session tickets".to_owned(),
            ("backend-verify", true) => "a verified backend".to_owned(),
            ("backend-verify", false) => "a backend that is not verified".to_owned(),
            (_, true) => name.replace('-', " "),
            (_, false) => format!("no {}", name.replace('-', " ")),
        },
        Param::Text(text) => words(name, text),
    }
}

/// What a server is called.
pub fn server_words(server: &Server) -> String {
    words_of_server(server.name())
}

/// What the server of this program is called.
pub(crate) fn words_of_server(program: &str) -> String {
    words("server", program)
}

/// The same in a cell of this operation: the connections of a session are users.
pub fn label_in(operation: Operation, key: &str, value: &Param) -> String {
    match (key, value) {
        (full::CONNECTIONS, Param::Count(users)) if operation == Operation::Session => {
            counted(*users, "user")
        }
        _ => label(key, value),
    }
}

/// What a value is called, after a figure: `with AES-128-GCM`, `over plain HTTP`.
pub(crate) fn with(value: &Param, label: &str) -> String {
    let word = if *value == Param::Plain { "over" } else { "with" };
    format!("{word} {label}")
}

/// What a number of this key counts, one of it.
fn noun(name: &str) -> &str {
    match name {
        "accelerator-count" => "modelled engine",
        plural => plural.trim_end_matches('s'),
    }
}

/// `Debian 13` of `debian-13`.
fn release(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    format!("{}{}", first.to_uppercase(), rest.replacen('-', " ", 1))
}

/// The words of values without a type of their own.
fn words(name: &str, value: &str) -> String {
    match (name, value) {
        ("tls", _) => format!("TLS {value}"),
        ("server", "haproxy") => "HAProxy".to_owned(),
        ("server", "apache") => "Apache httpd".to_owned(),
        ("server", "tomcat") => "Tomcat".to_owned(),
        ("server", "caddy") => "Caddy".to_owned(),
        ("client-certificate", "none") => "no client certificate".to_owned(),
        ("client-certificate", "require") => "a client certificate".to_owned(),
        ("http", _) => format!("HTTP/{value}"),
        ("backend", "plain") => "a backend over plain HTTP".to_owned(),
        ("backend", "tls") => "a backend over TLS".to_owned(),
        ("backend-connections", _) => format!("{value} connections to the backend"),
        ("host", _) => format!("the server on {value}"),
        ("listen", _) => format!("the server at {value}"),
        ("program", "installed") => "the installed program".to_owned(),
        ("program", _) => value.to_owned(),
        ("system", "here") => "this machine's own release".to_owned(),
        ("system", _) => release(value),
        ("library-path", "system") => "the system's TLS library".to_owned(),
        ("library-path", _) => format!("the TLS library in {value}"),
        ("requests-per-connection", "1") => "1 request per connection".to_owned(),
        ("requests-per-connection", _) => format!("{value} requests per connection"),
        ("resumption", "0%") => "no resumption".to_owned(),
        ("resumption", _) => format!("{value} resumed"),
        ("environment", "none") => "an environment without additions".to_owned(),
        ("crypto", "jdk") => "Java's own cryptography".to_owned(),
        ("crypto", "nss") => "NSS".to_owned(),
        ("aes", "on") => "AES instructions".to_owned(),
        ("aes", "off") => "no AES instructions".to_owned(),
        ("accelerator", "none") => "no accelerator".to_owned(),
        ("accelerator", "multi-buffer") => "Intel's multi-buffer library".to_owned(),
        ("accelerator", _) => "a modelled accelerator".to_owned(),
        ("offload", _) => format!("{value} offload to a model"),
        ("accelerator-rate", _) => format!("a modelled rate of {value}"),
        ("accelerator-latency", _) => format!("a modelled latency of {value}"),
        ("accelerator-queue", _) => format!("a modelled queue of {value}"),
        ("library-context", "shared") => "one library context".to_owned(),
        ("library-context", _) => "a library context per thread".to_owned(),
        ("records-per-write", "1") => "1 record in a send".to_owned(),
        ("records-per-write", _) => format!("{value} records in a send"),
        ("directives", "none") => "toll's own directives".to_owned(),
        ("storage", "disk") => "files on disk".to_owned(),
        ("storage", _) => "files in memory".to_owned(),
        ("client", "toll") => "toll's client".to_owned(),
        ("key-exchange", "retried") => "a HelloRetryRequest".to_owned(),
        ("key-exchange", _) => format!("{value} key exchange"),
        ("server" | "client" | "environment", _) => value.to_owned(),
        _ => format!("{} {value}", name.replace('-', " ")),
    }
}

/// `CPU 0`, `CPUs 0-3`.
pub(crate) fn cpus(list: &CpuList) -> String {
    format!("CPU{} {list}", if list.len() == 1 { "" } else { "s" })
}

/// `1 MiB objects`, or `objects of 1 KiB (90%) and 1 MiB (10%)`.
fn objects(mix: &Mix) -> String {
    let Some(sizes) = mix.sizes() else { return format!("object {mix}") };
    if let [only] = sizes[..] {
        return format!("{} objects", only.in_words());
    }
    let shares = mix.portions().iter().map(|portion| portion.share() * 100.0);
    let words: Vec<String> = sizes
        .into_iter()
        .zip(shares)
        .map(|(bytes, share)| format!("{} ({share}%)", bytes.in_words()))
        .collect();
    format!("objects of {}", words.join(" and "))
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
            tls::SUITES.iter().map(|suite| label("load.suite", &Param::Suite(suite))).collect();
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
            ("target.server", "embedded", "embedded"),
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
            ("target.library-context", "per-thread", "a library context per thread"),
            ("target.directives", "tcp_nodelay off", "directives tcp_nodelay off"),
            ("target.program", "installed", "the installed program"),
            ("target.program", "/opt/nginx/sbin/nginx", "/opt/nginx/sbin/nginx"),
            ("target.system", "here", "this machine's own release"),
            ("target.system", "debian-13", "Debian 13"),
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
            assert_eq!(label(key, &Param::of(key, value)), words);
        }
    }

    #[test]
    fn the_connections_of_a_session_are_users() {
        let words = |operation, count| label_in(operation, full::CONNECTIONS, &Param::Count(count));
        assert_eq!(words(Operation::Session, 1), "1 user");
        assert_eq!(words(Operation::Session, 2_000), "2,000 users");
        assert_eq!(words(Operation::Requests, 16), "16 connections");
    }

    #[test]
    fn in_a_sentence_they_have_their_small_words() {
        let with = |key, value| with(&value, &label(key, &value));
        assert_eq!(with(full::SUITE, Param::Plain), "over plain HTTP");
        assert_eq!(with(full::CONNECTIONS, Param::Count(16)), "with 16 connections");
        // A value of one's own that has the same words.
        let server = Param::Text("plain HTTP".to_owned());
        assert_eq!(with(full::SERVER, server), "with plain HTTP");
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
