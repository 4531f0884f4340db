use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use cpus::CpuList;
use tls::{Cipher, Group, KeyExchange, Mac, Suite, Version};
use units::Nanos;

use crate::{Arrival, Distribution, Mix, OneIn, Percent, Url};

/// All that the engine needs to know to load one server.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What to ask for; its scheme decides between TLS and plain HTTP.
    pub url: Url,
    /// What to ask for instead of the URL's path, which is `/` then.
    pub objects: Option<Mix>,
    /// Where the server listens.
    pub address: SocketAddr,
    /// What to offer and to trust; unused where the scheme is `http`.
    pub tls: TlsPlan,
    /// What one operation is.
    pub operation: Operation,
    /// When the next one is meant to start.
    pub arrival: Arrival,
    /// How many connections are open at once, over all threads; at least 1. With an
    /// [`Arrival::Open`] it is the most that are used.
    pub connections: usize,
    /// One thread runs on each of these CPUs, pinned.
    pub cpus: CpuList,
    /// When to measure and when to end.
    pub stop: Stop,
    /// How bodies are received.
    pub receive: Receive,
    /// Which share of the responses is decrypted whole and compared, and which share of the
    /// handshake signatures is verified.
    pub verify: OneIn,
    /// An operation that makes no progress for this long has stalled.
    pub timeout: Nanos,
    /// How long the load takes to grow before its warm-up, and to shrink behind its window; 0 is at
    /// once. Connections come and go in turn; an open loop's rate grows and shrinks in a straight
    /// line instead. A load that ends after a number of operations, or is stopped, does not shrink.
    pub ramp: Nanos,
    /// How connections are ended.
    pub close: Close,
    /// What everything random follows from: equal plans load alike, so trials that are to be
    /// independent need different ones.
    pub seed: u64,
}

/// What one operation is, from its start to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A connection with a full handshake and no request. It counts when the server has answered
    /// the client's close without an alert or a reset. In TLS 1.3 a server that closes without
    /// having read the client's Finished cannot be told apart.
    Handshakes,
    /// A connection, its handshake, one request with `Connection: close`, the whole response.
    OneRequestPerConnection,
    /// A request and its whole response on a kept connection.
    Requests,
}

/// How bodies are received over TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receive {
    /// Drop records in the kernel; open the first and the last.
    Walk,
    /// Open every record.
    Decrypt,
}

/// How the client takes part in the key exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyExchangeMode {
    /// The client's share is the group's base point, so the shared secret is the server's own
    /// share: the server's work is unchanged, the client's is nil. With static RSA, which has no
    /// shares, the premaster secret is encrypted once for each key of a server and sent again.
    Fixed,
    /// A fresh key for each handshake.
    Fresh,
}

/// How the client ends its connections (RFC 9293, section 3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// By FIN. Where a connection carries one request, the server is asked to close, and waited for.
    Fin,
    /// By RST, which leaves no TIME-WAIT at either side. A request does not ask the server to close:
    /// once its response is complete, the connection is reset. After a handshake the server's close
    /// is awaited even so, for only that proves that it took the client's Finished.
    Rst,
}

/// When to measure and when to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// After a time: a warm-up that is not counted, then the measured window.
    After {
        /// Not counted.
        warmup: Nanos,
        /// The window.
        duration: Nanos,
    },
    /// After so many operations, completed or failed, all counted.
    Operations(u64),
}

/// What the client offers in its handshakes, and whom it trusts.
#[derive(Debug, Clone)]
pub struct TlsPlan {
    /// The only version to offer; both where `None`.
    pub version: Option<Version>,
    /// The only suite to offer; those of the client library where `None`.
    pub suite: Option<&'static Suite>,
    /// The only group to offer.
    pub group: Option<Group>,
    /// `Fixed` where the suite's client library can, unless said otherwise.
    pub key_exchange: Option<KeyExchangeMode>,
    /// Whether to offer encrypt-then-MAC (RFC 7366), which is only there for CBC suites; it is not
    /// offered where `None`.
    pub encrypt_then_mac: Option<bool>,
    /// How many of the handshakes resume an earlier session, as far as one is at hand; by tickets
    /// (RFC 8446, section 2.2; RFC 5077), in TLS 1.2 also by session identifier.
    pub resumption: Percent,
    /// Whose certificates are accepted.
    pub trust: Trust,
}

/// Whose certificates are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// Any certificate; signatures are still sampled.
    Anyone,
    /// The system's certificate authorities.
    System,
    /// The certificates in this PEM file.
    File(PathBuf),
}

/// Which client library makes a plan's handshakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stack {
    /// All of TLS 1.3, and the ECDHE AEAD suites of TLS 1.2.
    Rustls,
    /// CBC and static RSA.
    OpenSsl,
}

/// A plan that contradicts itself; one line that says what and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(pub(crate) String);

/// The longest load, a day.
pub(crate) const LONGEST: Nanos = Nanos(86_400_000_000_000);

/// More connections than any machine here has memory and descriptors for.
const MOST_CONNECTIONS: usize = 1_000_000;

impl Plan {
    /// # Errors
    /// Where parts of the plan contradict each other.
    pub fn check(&self) -> Result<(), PlanError> {
        let error = |message: String| Err(PlanError(message));
        if self.connections == 0 {
            return error("0 connections load nothing; give at least 1".into());
        }
        if self.connections > MOST_CONNECTIONS {
            return error(format!(
                "{} connections are too many; give at most {MOST_CONNECTIONS}",
                self.connections
            ));
        }
        if let Stop::After { duration: Nanos(0), .. } = self.stop {
            return error("a window of 0s measures nothing; give a duration such as 10s".into());
        }
        if let Stop::After { warmup, duration } = self.stop
            && (self.ramp.0.saturating_mul(2).saturating_add(warmup.0).saturating_add(duration.0)
                > LONGEST.0)
        {
            return error(format!("a load lasts {LONGEST} at most; give a shorter duration"));
        }
        if self.timeout == Nanos(0) {
            return error("a time limit of 0s fails everything; give one such as 10s".into());
        }
        self.arrival.check().map_err(PlanError)?;
        if let Some(objects) = &self.objects {
            if self.operation == Operation::Handshakes {
                return error(format!("handshakes ask for nothing; leave --object {objects} out"));
            }
            if self.url.path() != "/" {
                return error(format!(
                    "{} names an object, and --object {objects} too; leave the URL's path out, or \
                     --object",
                    self.url
                ));
            }
        }
        if !self.url.is_tls() {
            if self.operation == Operation::Handshakes {
                return error(format!("{} has no handshakes; give an https:// URL", self.url));
            }
            return self.tls.check_absent(&self.url);
        }
        self.tls.check()
    }
}

impl Plan {
    /// Whether anything of it follows from the seed.
    #[must_use]
    pub fn is_random(&self) -> bool {
        let is_mixed = self.objects.as_ref().is_some_and(|mix| mix.only().is_none());
        is_mixed
            || matches!(self.arrival, Arrival::Open { distribution: Distribution::Poisson, .. })
    }

    /// The paths that are asked for, in the order of the plan's objects.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let alone = self.objects.is_none().then(|| self.url.path());
        let mixed = self.objects.iter().flat_map(Mix::portions);
        alone.into_iter().chain(mixed.map(|portion| portion.path.as_str()))
    }
}

impl TlsPlan {
    /// Offers everything, with the system's certificate authorities.
    #[must_use]
    pub fn any() -> Self {
        Self {
            version: None,
            suite: None,
            group: None,
            key_exchange: None,
            encrypt_then_mac: None,
            resumption: Percent::default(),
            trust: Trust::System,
        }
    }

    pub(crate) fn stack(&self) -> Stack {
        match self.suite {
            Some(suite) if suite.mac != Mac::Aead || suite.key_exchange == KeyExchange::Rsa => {
                Stack::OpenSsl
            }
            _ => Stack::Rustls,
        }
    }

    /// The only version that can be negotiated: the one that is asked for, or that of the only suite
    /// or group; `None` where both can.
    #[must_use]
    pub fn only_version(&self) -> Option<Version> {
        let of_group = self.group.filter(|group| group.is_of_tls13_only()).map(|_| Version::Tls13);
        self.version.or(self.suite.map(Suite::version)).or(of_group)
    }

    /// How the client will take part in the key exchange.
    #[must_use]
    pub fn effective_key_exchange(&self) -> KeyExchangeMode {
        self.key_exchange.unwrap_or(match self.can_be_fixed() {
            true => KeyExchangeMode::Fixed,
            false => KeyExchangeMode::Fresh,
        })
    }

    /// Whether the key exchange can be fixed: not that of the ECDHE suites that go through OpenSSL.
    fn can_be_fixed(&self) -> bool {
        let is_static_rsa = self.suite.is_some_and(|suite| suite.key_exchange == KeyExchange::Rsa);
        self.stack() == Stack::Rustls || is_static_rsa
    }

    /// The flags that ask for something of TLS.
    pub(crate) fn asked(&self) -> impl Iterator<Item = &'static str> {
        let asked = [
            (self.version.is_some(), "--tls"),
            (self.suite.is_some(), "--suite"),
            (self.group.is_some(), "--group"),
            (self.key_exchange.is_some(), "--key-exchange"),
            (self.encrypt_then_mac.is_some(), "--encrypt-then-mac"),
            (self.resumption > Percent::default(), "--resumption"),
        ];
        asked.into_iter().filter_map(|(is_asked, flag)| is_asked.then_some(flag))
    }

    fn check_absent(&self, url: &Url) -> Result<(), PlanError> {
        match self.asked().next() {
            Some(flag) => Err(PlanError(format!(
                "{flag} asks for TLS, but {url} is plain HTTP; give an https:// URL or leave {flag} out"
            ))),
            None => Ok(()),
        }
    }

    fn check(&self) -> Result<(), PlanError> {
        let error = |message: String| Err(PlanError(message));
        let is_cbc =
            self.suite.is_some_and(|s| matches!(s.cipher, Cipher::Aes128Cbc | Cipher::Aes256Cbc));
        if let (Some(version), Some(suite)) = (self.version, self.suite)
            && suite.version() != version
        {
            return error(format!(
                "{suite} is a suite of {}, but {version} was asked for; change --tls or --suite",
                suite.version()
            ));
        }
        if let (Some(suite), Some(group)) = (self.suite, self.group)
            && suite.key_exchange == KeyExchange::Rsa
        {
            return error(format!(
                "{suite} has no key exchange by group; leave --group {group} out"
            ));
        }
        if let Some(group) = self.group
            && group.is_of_tls13_only()
            && self.only_version() == Some(Version::Tls12)
        {
            return error(format!(
                "{group} is a group of TLS 1.3, but TLS 1.2 was asked for; change --group, or --tls and --suite"
            ));
        }
        if self.key_exchange == Some(KeyExchangeMode::Fixed) && !self.can_be_fixed() {
            return error(format!(
                "{} goes through OpenSSL, whose key exchange is always fresh; leave --key-exchange fixed out",
                self.suite.map_or("this", |suite| suite.name)
            ));
        }
        if self.encrypt_then_mac == Some(true) && !is_cbc {
            return error(
                "encrypt-then-MAC exists only for CBC suites; name one with --suite, such as AES128-SHA"
                    .into(),
            );
        }
        Ok(())
    }
}

/// Names as users write them, for flags, study keys and the journal.
macro_rules! named {
    ($type:ty, $what:literal, { $($name:literal => $value:path),* $(,)? }) => {
        impl FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($name => Ok($value),)*
                    _ => Err(format!(
                        concat!("`{}` is no ", $what, "; write one of: {}"),
                        text,
                        [$($name),*].join(", ")
                    )),
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $($value => $name,)*
                })
            }
        }
    };
}

named!(Operation, "operation", {
    "handshakes" => Self::Handshakes,
    "one-request-per-connection" => Self::OneRequestPerConnection,
    "requests" => Self::Requests,
});
named!(Receive, "way to receive", {
    "walk" => Self::Walk,
    "decrypt" => Self::Decrypt,
});
named!(Close, "way to close", {
    "fin" => Self::Fin,
    "rst" => Self::Rst,
});
named!(KeyExchangeMode, "kind of key exchange", {
    "fixed" => Self::Fixed,
    "fresh" => Self::Fresh,
});

#[cfg(test)]
pub(crate) mod tests {
    use std::num::NonZeroU32;

    use super::*;

    pub(crate) fn plan(url: &str, tls: TlsPlan) -> Plan {
        Plan {
            url: url.parse().unwrap(),
            objects: None,
            address: "127.0.0.1:443".parse().unwrap(),
            tls,
            operation: Operation::Requests,
            arrival: Arrival::CLOSED,
            connections: 1,
            cpus: CpuList::from(0),
            stop: Stop::After { warmup: Nanos(0), duration: Nanos(1) },
            receive: Receive::Walk,
            verify: OneIn(NonZeroU32::MIN),
            timeout: Nanos(1),
            ramp: Nanos(0),
            close: Close::Fin,
            seed: 0,
        }
    }

    fn message(url: &str, tls: TlsPlan) -> String {
        plan(url, tls).check().unwrap_err().to_string()
    }

    #[test]
    fn contradictions_say_what_to_change() {
        let any = TlsPlan::any;
        let https = "https://localhost/";
        let cbc = Some(Suite::parse("AES128-SHA").unwrap());
        assert!(plan(https, any()).check().is_ok());
        assert!(
            message(https, TlsPlan { version: Some(Version::Tls13), suite: cbc, ..any() })
                .contains("is a suite of TLS 1.2, but TLS 1.3 was asked for")
        );
        assert!(
            message(https, TlsPlan { group: Some(Group::X25519), suite: cbc, ..any() })
                .contains("leave --group x25519 out")
        );
        let fixed = Some(KeyExchangeMode::Fixed);
        let ephemeral = Some(Suite::parse("ECDHE-RSA-AES128-SHA").unwrap());
        assert!(
            message(https, TlsPlan { key_exchange: fixed, suite: ephemeral, ..any() })
                .contains("always fresh")
        );
        assert!(plan(https, TlsPlan { key_exchange: fixed, suite: cbc, ..any() }).check().is_ok());
        assert!(
            message(https, TlsPlan { encrypt_then_mac: Some(true), ..any() })
                .contains("only for CBC")
        );
        let hybrid = Some(Group::X25519MlKem768);
        let tls12 = Some(Version::Tls12);
        assert!(
            message(https, TlsPlan { group: hybrid, version: tls12, ..any() })
                .contains("X25519MLKEM768 is a group of TLS 1.3, but TLS 1.2 was asked for")
        );
        let aead = Some(Suite::parse("ECDHE-RSA-AES128-GCM-SHA256").unwrap());
        assert!(plan(https, TlsPlan { group: hybrid, suite: aead, ..any() }).check().is_err());
        assert_eq!(TlsPlan { group: hybrid, ..any() }.only_version(), Some(Version::Tls13));
        assert!(
            message("http://localhost/", TlsPlan { suite: cbc, ..any() })
                .contains("--suite asks for TLS, but http://localhost/ is plain HTTP")
        );
        let resumption = "70%".parse().unwrap();
        assert!(plan(https, TlsPlan { resumption, suite: cbc, ..any() }).check().is_ok());
        assert!(
            message("http://localhost/", TlsPlan { resumption, ..any() })
                .contains("--resumption asks for TLS")
        );
        let mut handshakes = plan("http://localhost/", any());
        handshakes.operation = Operation::Handshakes;
        assert!(handshakes.check().unwrap_err().to_string().contains("has no handshakes"));
        handshakes = plan(https, any());
        handshakes.objects = "1KiB 90%, 1MiB 10%".parse().ok();
        assert!(handshakes.check().is_ok() && handshakes.is_random());
        assert_eq!(handshakes.paths().collect::<Vec<_>>(), ["/bytes/1KiB", "/bytes/1MiB"]);
        let both = Plan { url: "https://localhost/x".parse().unwrap(), ..handshakes.clone() };
        assert!(both.check().unwrap_err().to_string().contains("leave the URL's path out"));
        handshakes.operation = Operation::Handshakes;
        assert!(handshakes.check().unwrap_err().to_string().contains("handshakes ask for nothing"));
        let crowd = |connections| Plan { connections, ..plan(https, any()) };
        assert!(crowd(MOST_CONNECTIONS).check().is_ok());
        assert!(
            crowd(usize::MAX).check().unwrap_err().to_string().contains("give at most 1000000")
        );
        let mut hasty = plan(https, any());
        hasty.arrival = Arrival::Paced { every: Nanos(0) };
        assert!(
            hasty.check().unwrap_err().to_string().contains("a pace of 0s is shorter than 1ms")
        );
    }

    #[test]
    fn the_suite_chooses_the_client_library() {
        use KeyExchangeMode::{Fixed, Fresh};
        for (name, stack, key_exchange) in [
            ("TLS_AES_128_GCM_SHA256", Stack::Rustls, Fixed),
            ("ECDHE-RSA-AES128-GCM-SHA256", Stack::Rustls, Fixed),
            ("ECDHE-RSA-AES128-SHA", Stack::OpenSsl, Fresh),
            ("AES128-GCM-SHA256", Stack::OpenSsl, Fixed),
            ("AES128-SHA", Stack::OpenSsl, Fixed),
        ] {
            let plan = TlsPlan { suite: Some(Suite::parse(name).unwrap()), ..TlsPlan::any() };
            assert_eq!((plan.stack(), plan.effective_key_exchange()), (stack, key_exchange));
        }
        assert_eq!(TlsPlan::any().effective_key_exchange(), Fixed);
    }

    #[test]
    fn names_are_read_and_written_alike() {
        for name in ["handshakes", "one-request-per-connection", "requests"] {
            assert_eq!(name.parse::<Operation>().unwrap().to_string(), name);
        }
        assert!("walks".parse::<Receive>().unwrap_err().contains("walk, decrypt"));
    }
}
