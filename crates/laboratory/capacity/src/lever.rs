//! What can be changed of a server or of its traffic so that it takes less CPU: a row for each change, as data. Who
//! measures a change, loaded or sampled, and what it saves here is not in it.

use keys::full;

/// What a change has in common with those that exclude it: a server has one key, one group, one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[derive(strum::Display, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Kind {
    CertificateKey,
    Resumption,
    RequestsPerConnection,
    Group,
    Suite,
    Tls,
    Http,
    RecordSize,
    SessionCache,
    Send,
    Library,
    System,
    Accelerator,
}

/// Who makes a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[derive(strum::Display, strum::EnumString, strum::VariantNames)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Actor {
    /// Who issues the certificate.
    Certificate,
    /// Who writes the server's configuration.
    Configuration,
    /// Who installs the server's packages.
    Packages,
    /// Who writes the clients: the server can only allow it.
    Clients,
}

/// A part of the traffic whose cost a change touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Part {
    FullHandshakes,
    ResumedHandshakes,
    /// With their bytes.
    Requests,
}

impl Actor {
    /// As they are written.
    pub const NAMES: &'static [&'static str] = <Self as strum::VariantNames>::VARIANTS;
}

impl Part {
    /// As they are written.
    pub const NAMES: &'static [&'static str] = <Self as strum::VariantNames>::VARIANTS;
}

/// What a key becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    Value(&'static str),
    /// The user's goal, which this stands for where none is given.
    Goal(&'static str),
    /// Each value that this machine has.
    EachHere,
}

/// A key of a study's target or load, and what it becomes.
pub type Setting = (&'static str, To);

/// A change.
#[derive(Debug, PartialEq)]
pub struct Lever {
    pub kind: Kind,
    /// With `{}` where the value of a goal, or of one that this machine has, is.
    pub change: &'static str,
    pub actor: Actor,
    pub settings: &'static [Setting],
    pub touches: &'static [Part],
    /// What these parts are known to take of what they take today, about: of full handshakes, of resumed ones, of
    /// requests and of bytes. It says what is tried first, and is no measurement.
    pub known: [f64; 4],
    /// By the name of the server, the lines of its configuration.
    pub lines: &'static [(&'static str, &'static str)],
    /// The clients that cannot have it, or what is lost.
    pub left_out: &'static str,
}

impl Lever {
    /// The lines of configuration that make it at this server.
    pub fn line(&self, server: &str) -> Option<&'static str> {
        self.lines.iter().find(|(name, _)| *name == server).map(|(_, line)| *line)
    }

    /// What a key becomes.
    pub fn setting(&self, key: &str) -> Option<To> {
        self.settings.iter().find(|(name, _)| *name == key).map(|(_, to)| *to)
    }
}

pub const ALL_PARTS: &[Part] = &[Part::FullHandshakes, Part::ResumedHandshakes, Part::Requests];
const HANDSHAKES: &[Part] = &[Part::FullHandshakes, Part::ResumedHandshakes];

/// What changes nothing but what is said of it.
const OPEN: Lever = Lever {
    kind: Kind::Suite,
    change: "",
    actor: Actor::Configuration,
    settings: &[],
    touches: &[],
    known: [1.0; 4],
    lines: &[],
    left_out: "",
};

/// All of them; those of one kind exclude each other.
pub static LEVERS: &[Lever] = &[
    Lever {
        kind: Kind::CertificateKey,
        change: "ECDSA P-256 certificate",
        actor: Actor::Certificate,
        settings: &[(full::CERTIFICATE_KEY, To::Value("ecdsa:p256"))],
        touches: &[Part::FullHandshakes],
        known: [0.5, 1.0, 1.0, 1.0],
        lines: CERTIFICATE,
        left_out: "clients from before 2012, unless the RSA certificate stays beside it",
    },
    Lever {
        kind: Kind::CertificateKey,
        change: "ECDSA P-384 certificate",
        actor: Actor::Certificate,
        settings: &[(full::CERTIFICATE_KEY, To::Value("ecdsa:p384"))],
        touches: &[Part::FullHandshakes],
        known: [1.5, 1.0, 1.0, 1.0],
        lines: CERTIFICATE,
        left_out: "clients from before 2012, unless the RSA certificate stays beside it",
    },
    Lever {
        kind: Kind::CertificateKey,
        change: "RSA-2048 certificate",
        actor: Actor::Certificate,
        settings: &[(full::CERTIFICATE_KEY, To::Value("rsa:2048"))],
        touches: &[Part::FullHandshakes],
        known: [0.9, 1.0, 1.0, 1.0],
        lines: CERTIFICATE,
        left_out: "nobody",
    },
    Lever {
        kind: Kind::CertificateKey,
        change: "RSA-3072 certificate",
        actor: Actor::Certificate,
        settings: &[(full::CERTIFICATE_KEY, To::Value("rsa:3072"))],
        touches: &[Part::FullHandshakes],
        known: [3.0, 1.0, 1.0, 1.0],
        lines: CERTIFICATE,
        left_out: "nobody",
    },
    Lever {
        kind: Kind::RequestsPerConnection,
        change: "keep-alive: {} requests on a connection",
        actor: Actor::Clients,
        settings: &[(full::REQUESTS_PER_CONNECTION, To::Goal("60"))],
        lines: &[
            ("nginx", "keepalive_timeout 75s; keepalive_requests 1000;"),
            ("haproxy", "option http-keep-alive; timeout http-keep-alive 75s"),
            ("apache", "KeepAlive On; KeepAliveTimeout 75; MaxKeepAliveRequests 1000"),
            ("caddy", "servers { timeouts { idle 5m } }"),
        ],
        left_out: "nobody; the server allows it, clients decide",
        ..OPEN
    },
    Lever {
        kind: Kind::Resumption,
        change: "{} of handshakes resumed",
        settings: &[(full::RESUMPTION, To::Goal("80%")), (full::TICKETS, To::Value("true"))],
        touches: HANDSHAKES,
        lines: &[
            (
                "nginx",
                "ssl_session_tickets on; ssl_session_timeout 1d; ssl_session_ticket_key FILE; (one FILE on all servers)",
            ),
            (
                "haproxy",
                "bind ... tls-ticket-keys FILE; tune.ssl.lifetime 86400 (one FILE on all servers)",
            ),
            (
                "apache",
                "SSLSessionTickets On; SSLSessionTicketKeyFile FILE; SSLSessionCacheTimeout 86400 (one FILE on all servers)",
            ),
            ("caddy", "session tickets are on; share their storage between servers"),
        ],
        left_out: "clients that keep no sessions",
        ..OPEN
    },
    Lever {
        kind: Kind::Group,
        change: "key exchange with X25519",
        settings: &[(full::GROUP, To::Value("x25519"))],
        touches: HANDSHAKES,
        known: [0.97, 0.9, 1.0, 1.0],
        lines: &[
            ("nginx", "ssl_ecdh_curve X25519:prime256v1;"),
            ("haproxy", "bind ... curves X25519:P-256"),
            ("apache", "SSLOpenSSLConfCmd Curves X25519:P-256"),
            ("caddy", "tls { curves x25519 secp256r1 }"),
        ],
        left_out: "nobody while P-256 stays beside it",
        ..OPEN
    },
    Lever {
        kind: Kind::Group,
        change: "key exchange with P-256",
        settings: &[(full::GROUP, To::Value("secp256r1"))],
        touches: HANDSHAKES,
        known: [1.02, 1.05, 1.0, 1.0],
        lines: &[
            ("nginx", "ssl_ecdh_curve prime256v1;"),
            ("haproxy", "bind ... curves P-256"),
            ("apache", "SSLOpenSSLConfCmd Curves P-256"),
            ("caddy", "tls { curves secp256r1 }"),
        ],
        left_out: "nobody; clients that guess X25519 take one round trip more",
        ..OPEN
    },
    Lever {
        kind: Kind::Group,
        change: "post-quantum key exchange (X25519MLKEM768)",
        settings: &[(full::GROUP, To::Value("X25519MLKEM768"))],
        touches: HANDSHAKES,
        known: [1.15, 1.4, 1.0, 1.0],
        lines: &[
            ("nginx", "ssl_ecdh_curve X25519MLKEM768:X25519:prime256v1;"),
            ("haproxy", "bind ... curves X25519MLKEM768:X25519:P-256"),
            ("apache", "SSLOpenSSLConfCmd Curves X25519MLKEM768:X25519:P-256"),
            ("caddy", "tls { curves x25519mlkem768 x25519 secp256r1 }"),
        ],
        left_out: "nobody while X25519 stays beside it",
        ..OPEN
    },
    Lever {
        change: "AES-128-GCM",
        settings: &[(full::SUITE, To::Value("TLS_AES_128_GCM_SHA256"))],
        touches: ALL_PARTS,
        known: [1.0, 1.0, 0.98, 0.9],
        lines: &[
            (
                "nginx",
                "ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256; ssl_ciphers AES128-GCM; ssl_prefer_server_ciphers on;",
            ),
            ("haproxy", "bind ... ciphersuites TLS_AES_128_GCM_SHA256 ciphers AES128-GCM"),
            ("apache", "SSLCipherSuite TLSv1.3 TLS_AES_128_GCM_SHA256; SSLCipherSuite AES128-GCM"),
        ],
        left_out: "clients without it, unless others stay after it",
        ..OPEN
    },
    Lever {
        change: "AES-256-GCM",
        settings: &[(full::SUITE, To::Value("TLS_AES_256_GCM_SHA384"))],
        touches: ALL_PARTS,
        known: [1.01, 1.01, 1.01, 1.1],
        lines: &[
            (
                "nginx",
                "ssl_conf_command Ciphersuites TLS_AES_256_GCM_SHA384; ssl_ciphers AES256-GCM; ssl_prefer_server_ciphers on;",
            ),
            ("haproxy", "bind ... ciphersuites TLS_AES_256_GCM_SHA384 ciphers AES256-GCM"),
            ("apache", "SSLCipherSuite TLSv1.3 TLS_AES_256_GCM_SHA384; SSLCipherSuite AES256-GCM"),
        ],
        left_out: "clients without it, unless others stay after it",
        ..OPEN
    },
    Lever {
        change: "ChaCha20-Poly1305",
        settings: &[(full::SUITE, To::Value("TLS_CHACHA20_POLY1305_SHA256"))],
        touches: ALL_PARTS,
        known: [1.0, 1.0, 1.05, 1.6],
        lines: &[
            (
                "nginx",
                "ssl_conf_command Ciphersuites TLS_CHACHA20_POLY1305_SHA256; ssl_ciphers CHACHA20; ssl_prefer_server_ciphers on;",
            ),
            ("haproxy", "bind ... ciphersuites TLS_CHACHA20_POLY1305_SHA256 ciphers CHACHA20"),
            (
                "apache",
                "SSLCipherSuite TLSv1.3 TLS_CHACHA20_POLY1305_SHA256; SSLCipherSuite CHACHA20",
            ),
        ],
        left_out: "clients without it, unless others stay after it",
        ..OPEN
    },
    Lever {
        kind: Kind::Tls,
        change: "TLS 1.3",
        settings: &[(full::VERSION, To::Value("1.3"))],
        touches: ALL_PARTS,
        known: [1.05, 1.5, 1.0, 1.0],
        lines: &[
            ("nginx", "ssl_protocols TLSv1.2 TLSv1.3;"),
            ("haproxy", "bind ... ssl-min-ver TLSv1.2"),
            ("apache", "SSLProtocol -all +TLSv1.2 +TLSv1.3"),
            ("caddy", "tls { protocols tls1.2 tls1.3 }"),
        ],
        left_out: "nobody while TLS 1.2 stays beside it",
        ..OPEN
    },
    Lever {
        kind: Kind::Tls,
        change: "TLS 1.2",
        settings: &[(full::VERSION, To::Value("1.2"))],
        touches: ALL_PARTS,
        known: [0.95, 0.7, 1.0, 1.0],
        lines: &[
            ("nginx", "ssl_protocols TLSv1.2;"),
            ("haproxy", "bind ... ssl-max-ver TLSv1.2"),
            ("apache", "SSLProtocol -all +TLSv1.2"),
            ("caddy", "tls { protocols tls1.2 tls1.2 }"),
        ],
        left_out: "clients that offer TLS 1.3 alone; handshakes take one round trip more",
        ..OPEN
    },
    Lever {
        kind: Kind::Http,
        change: "HTTP/1.1",
        settings: &[(full::HTTP, To::Value("1.1"))],
        touches: ALL_PARTS,
        known: [1.0, 1.0, 0.9, 0.98],
        lines: &[
            ("nginx", "http2 off;"),
            ("haproxy", "bind ... alpn http/1.1"),
            ("apache", "Protocols http/1.1"),
            ("caddy", "servers { protocols h1 }"),
        ],
        left_out: "nobody; browsers open several connections each",
        ..OPEN
    },
    Lever {
        kind: Kind::Http,
        change: "HTTP/2",
        settings: &[(full::HTTP, To::Value("2"))],
        touches: ALL_PARTS,
        known: [1.02, 1.02, 1.1, 1.02],
        lines: &[
            ("nginx", "http2 on; (before 1.25.1: listen 443 ssl http2;)"),
            ("haproxy", "bind ... alpn h2,http/1.1"),
            ("apache", "Protocols h2 http/1.1"),
            ("caddy", "servers { protocols h1 h2 }"),
        ],
        left_out: "nobody while HTTP/1.1 stays beside it",
        ..OPEN
    },
    Lever {
        kind: Kind::Http,
        change: "HTTP/3",
        settings: &[(full::HTTP, To::Value("3")), (full::QUIC, To::Value("true"))],
        touches: ALL_PARTS,
        known: [1.5, 1.5, 2.0, 2.5],
        lines: &[
            ("nginx", "listen 443 quic reuseport; add_header Alt-Svc 'h3=\":443\"';"),
            (
                "haproxy",
                "bind quic4@:443 ssl crt FILE alpn h3; http-after-response set-header alt-svc 'h3=\":443\"'",
            ),
            ("caddy", "servers { protocols h1 h2 h3 }"),
        ],
        left_out: "clients whose network has no UDP, unless HTTP/2 stays beside it",
        ..OPEN
    },
    Lever {
        kind: Kind::RecordSize,
        change: "records of 4 KiB",
        settings: &[(full::RECORD_SIZE, To::Value("4KiB"))],
        touches: &[Part::Requests],
        known: [1.0, 1.0, 1.0, 1.2],
        lines: &[("nginx", "ssl_buffer_size 4k;"), ("haproxy", "tune.ssl.maxrecord 4096")],
        left_out: "nobody; the first byte comes sooner over slow networks",
        ..OPEN
    },
    Lever {
        kind: Kind::SessionCache,
        change: "a session cache in place of tickets",
        settings: &[(full::SESSION_CACHE, To::Value("true")), (full::TICKETS, To::Value("false"))],
        touches: HANDSHAKES,
        known: [1.0, 0.95, 1.0, 1.0],
        lines: &[
            ("nginx", "ssl_session_cache shared:TLS:10m; ssl_session_tickets off;"),
            ("haproxy", "tune.ssl.cachesize 20000; bind ... no-tls-tickets"),
            ("apache", "SSLSessionCache shmcb:/run/apache2/ssl(512000); SSLSessionTickets Off"),
        ],
        left_out: "nobody; servers do not share it",
        ..OPEN
    },
    Lever {
        kind: Kind::Send,
        change: "kernel TLS with sendfile",
        settings: &[("target.send", To::Value("ktls-sendfile"))],
        touches: ALL_PARTS,
        known: [1.05, 1.05, 1.0, 0.75],
        lines: &[("nginx", "sendfile on; ssl_conf_command Options KTLS;")],
        left_out: "nobody; needs CONFIG_TLS in the kernel, and no response that is compressed or passed on",
        ..OPEN
    },
    Lever {
        kind: Kind::Library,
        change: "another TLS library: {}",
        actor: Actor::Packages,
        settings: &[(full::LIBRARY, To::EachHere)],
        touches: ALL_PARTS,
        known: [0.85, 0.85, 0.95, 0.6],
        left_out: "nobody",
        ..OPEN
    },
    Lever {
        kind: Kind::System,
        change: "the server and its libraries of {}",
        actor: Actor::Packages,
        settings: &[("target.system", To::EachHere)],
        touches: ALL_PARTS,
        known: [0.85, 0.85, 0.95, 0.6],
        left_out: "nobody",
        ..OPEN
    },
    Lever {
        kind: Kind::Accelerator,
        change: "the multi-buffer library for private keys",
        actor: Actor::Packages,
        settings: &[("target.accelerator", To::Value("multi-buffer"))],
        touches: &[Part::FullHandshakes],
        known: [0.7, 1.0, 1.0, 1.0],
        lines: &[(
            "haproxy",
            "ssl-mode-async (with a provider that batches private keys in openssl.cnf)",
        )],
        left_out: "nobody; needs AVX-512 IFMA in the processor",
    },
];

const CERTIFICATE: &[(&str, &str)] = &[
    (
        "nginx",
        "ssl_certificate FILE; ssl_certificate_key FILE; (a second pair keeps the old one for old clients)",
    ),
    ("haproxy", "bind ... ssl crt FILE (FILE.rsa and FILE.ecdsa are served to whom they fit)"),
    (
        "apache",
        "SSLCertificateFile FILE; SSLCertificateKeyFile FILE; (a second pair keeps the old one for old clients)",
    ),
    ("caddy", "key_type p256"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_change_says_what_it_sets_who_acts_and_who_is_left_out() {
        for lever in LEVERS {
            assert!(!lever.settings.is_empty() && !lever.left_out.is_empty(), "{lever:?}");
            let has_value = |of: &Setting| !matches!(of.1, To::Value(_));
            // What a person reads has the value that the table cannot know.
            assert_eq!(
                lever.change.contains("{}"),
                lever.settings.iter().any(has_value),
                "{lever:?}"
            );
            let keys: BTreeSet<&str> = lever.settings.iter().map(|(key, _)| *key).collect();
            assert_eq!(keys.len(), lever.settings.len(), "{lever:?}");
            assert!(keys.iter().all(|key| key.starts_with("target.") || key.starts_with("load.")));
            let is_listed = lever.actor == Actor::Packages
                || lever.line("nginx").or(lever.line("haproxy")).is_some();
            assert!(is_listed, "{lever:?}");
        }
        let changes: BTreeSet<&str> = LEVERS.iter().map(|lever| lever.change).collect();
        assert_eq!(changes.len(), LEVERS.len());
    }

    #[test]
    fn levers_are_found_by_the_names_of_their_keys() {
        use strum::VariantArray;
        for kind in Kind::VARIANTS {
            assert_eq!(kind.to_string().parse(), Ok(*kind));
            let of_kind = LEVERS.iter().filter(|lever| lever.kind == *kind);
            let first = of_kind.map(|lever| full::name(lever.settings[0].0)).next().unwrap();
            assert_eq!(first, kind.to_string());
        }
        let certificate = &LEVERS[0];
        assert_eq!(certificate.setting(full::CERTIFICATE_KEY), Some(To::Value("ecdsa:p256")));
        assert!(certificate.line("nginx").is_some() && certificate.line("iis").is_none());
    }
}
