//! Names of servers, and where else than at their name's address one may be.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::address::{AddressError, choose};
use crate::zone;

/// A DNS name in ASCII, as a ClientHello carries it (RFC 6066, section 3): in lower case, international
/// labels in punycode. It is no address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, DeserializeFromStr, SerializeDisplay)]
pub struct HostName(String);

/// The longest name and label (RFC 1035, section 2.3.4), without the dot of the root.
const LONGEST: usize = 253;
const LONGEST_LABEL: usize = 63;

impl HostName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for HostName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            let shown = text.escape_debug();
            Err(format!("`{shown}` {why}; write a name such as www.example.com"))
        };
        // It also writes labels that are not ASCII in punycode.
        let name = match url::Host::parse(text) {
            Ok(url::Host::Domain(name)) => name,
            Ok(_) => return wrong("is an address, not a name"),
            Err(_) => return wrong("is not the name of a host"),
        };
        let is_label = |label: &str| {
            (1..=LONGEST_LABEL).contains(&label.len())
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        };
        match name.len() <= LONGEST && name.split('.').all(is_label) {
            true => Ok(Self(name)),
            false => wrong("is not the name of a host"),
        }
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names for a server under test, `h0.toll.test` and so on: a domain that is nobody's (RFC 6761, section
/// 6.2).
pub fn names(count: NonZeroU32) -> impl Iterator<Item = HostName> {
    (0..count.get()).map(|number| HostName(format!("h{number}.toll.test")))
}

/// A host and a port to connect to. Written `10.0.0.1:8443`, `[::1]:8443`, `[fe80::1%eth0]:8443` or `node7:443`.
#[derive(Debug, Clone, PartialEq, Eq, DeserializeFromStr, SerializeDisplay)]
pub struct HostPort {
    host: String,
    zone: Option<String>,
    port: u16,
}

impl HostPort {
    /// The name or address, without brackets and zone.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// All addresses that the host resolves to, at least one.
    ///
    /// # Errors
    /// The resolver's error, or an address other than loopback, unless the user operates that host.
    pub fn addresses(&self, i_operate_this_host: bool) -> Result<Vec<SocketAddr>, AddressError> {
        let addresses = zone::resolve(&self.host, self.zone.as_deref(), self.port)?;
        choose(&addresses, i_operate_this_host).map(|_| addresses)
    }
}

impl FromStr for HostPort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            let shown = text.escape_debug();
            Err(format!(
                "`{shown}` {why}; write one such as 10.0.0.1:8443, [::1]:8443 or node7:443"
            ))
        };
        let (address, zone) = match zone::split(text) {
            Ok(split) => split,
            Err(why) => return wrong(why),
        };
        let Some((host, port)) = address.rsplit_once(':') else { return wrong("has no port") };
        if host.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6()) {
            return wrong("is an address of IPv6 without brackets");
        }
        let host = match url::Host::parse(host) {
            Ok(url::Host::Domain(name)) => name,
            Ok(url::Host::Ipv4(address)) => address.to_string(),
            Ok(url::Host::Ipv6(address)) => address.to_string(),
            Err(_) => return wrong("has no host"),
        };
        match port.parse() {
            Ok(0) | Err(_) => wrong("has no port from 1 to 65535"),
            Ok(port) => Ok(Self { host, zone, port }),
        }
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.parse() {
            Ok(IpAddr::V6(_)) => {
                let zone = self.zone.iter().map(|zone| format!("%{zone}")).collect::<String>();
                write!(f, "[{}{zone}]:{}", self.host, self.port)
            }
            _ => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_written_as_a_client_hello_has_them() {
        for (text, name) in [
            ("www.Example.com", "www.example.com"),
            ("localhost", "localhost"),
            ("b\u{fc}cher.example", "xn--bcher-kva.example"),
            ("a_b-1.x", "a_b-1.x"),
        ] {
            assert_eq!(text.parse::<HostName>().unwrap().as_str(), name);
        }
        for name in names(NonZeroU32::new(3).unwrap()) {
            assert_eq!(name.as_str().parse(), Ok(name));
        }
        let long = format!("{}.example", "a".repeat(64));
        let longer = vec!["a".repeat(60); 5].join(".");
        let wrong = [
            "",
            ".",
            "a..b",
            "a.",
            "127.0.0.1",
            "[::1]",
            "::1",
            "a b",
            "a/b",
            "a:443",
            "*.a.com",
            "a\nb",
            &long,
            &longer,
        ];
        support::assert_golden!(
            wrong.map(|text| (
                text.escape_debug().to_string(),
                text.parse::<HostName>().unwrap_err()
            ))
        );
    }

    #[test]
    fn a_host_with_its_port_is_written_as_it_is_parsed() {
        for text in ["10.0.0.1:8443", "[::1]:8443", "[fe80::1%lo]:8443", "node7:443", "a.example:1"]
        {
            assert_eq!(text.parse::<HostPort>().unwrap().to_string(), text);
        }
        let wrong =
            ["", "node7", ":443", "node7:", "node7:0", "node7:65536", "::1:443", "::1", "a b:1"];
        support::assert_golden!(wrong.map(|text| (text, text.parse::<HostPort>().unwrap_err())));
    }

    #[test]
    fn only_loopback_is_connected_to_unless_its_user_operates_the_host() {
        let at = |text: &str, mine| {
            let addresses = text.parse::<HostPort>().unwrap().addresses(mine);
            addresses.map(|all| all[0].to_string()).map_err(|error| error.to_string())
        };
        assert_eq!(at("127.0.0.1:8443", false).as_deref(), Ok("127.0.0.1:8443"));
        assert!(at("192.0.2.1:8443", false).unwrap_err().contains("192.0.2.1"));
        assert_eq!(at("[fe80::1%lo]:8443", true).as_deref(), Ok("[fe80::1%1]:8443"));
        assert_eq!(at("192.0.2.1:8443", true).as_deref(), Ok("192.0.2.1:8443"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[ -~\u{e9}]{0,40}") {
            if let Ok(name) = text.parse::<HostName>() {
                prop_assert_eq!(name.to_string().parse(), Ok(name));
            }
            if let Ok(place) = text.parse::<HostPort>() {
                prop_assert_eq!(place.to_string().parse(), Ok(place));
            }
        }
    }
}
