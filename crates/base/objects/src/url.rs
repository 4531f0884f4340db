use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::{fmt, io};

use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::HostName;
use crate::address::{AddressError, choose};
use crate::zone;

/// What to request: `https://host[:port]/path`, or the same with `http`.
#[derive(Debug, Clone, PartialEq, Eq, DeserializeFromStr, SerializeDisplay)]
pub struct Url {
    tls: bool,
    host: String,
    /// Of an address that means nothing without.
    zone: Option<String>,
    port: u16,
    path: String,
}

impl Url {
    /// The URL of a path at an address, such as one that a target listens on.
    pub fn at(tls: bool, address: SocketAddr, path: &str) -> Self {
        let (host, port) = (address.ip().to_string(), address.port());
        Self { tls, host, zone: None, port, path: path.to_owned() }
    }

    /// The URL of another path at the same server.
    pub fn with_path(&self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self.clone() }
    }

    /// Whether the scheme is `https`.
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// The name or address of the server, without brackets and zone.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The path with its query, at least `/`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether it names this address itself, rather than a host or another one.
    pub fn is_at(&self, address: SocketAddr) -> bool {
        self.host.parse() == Ok(address.ip()) && self.port == address.port()
    }

    /// The value of the `Host` header (RFC 9110, section 7.2).
    pub fn authority(&self) -> String {
        self.with_port(match self.host.parse() {
            Ok(IpAddr::V6(_)) => format!("[{}]", self.host),
            _ => self.host.clone(),
        })
    }

    /// The same at another name.
    pub fn authority_of(&self, name: &HostName) -> String {
        self.with_port(name.to_string())
    }

    fn with_port(&self, host: String) -> String {
        match (self.tls, self.port) {
            (true, 443) | (false, 80) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }

    /// The first address that the host's name resolves to, if toll may load the server.
    ///
    /// # Errors
    /// The resolver's error, or an address other than loopback, unless the user operates that host.
    pub fn address(&self, i_operate_this_host: bool) -> Result<SocketAddr, AddressError> {
        choose(&self.resolve()?, i_operate_this_host)
    }

    /// All addresses that the host's name resolves to, at least one.
    ///
    /// # Errors
    /// Those of [`address`](Self::address).
    pub fn addresses(&self, i_operate_this_host: bool) -> Result<Vec<SocketAddr>, AddressError> {
        let addresses = self.resolve()?;
        choose(&addresses, i_operate_this_host).map(|_| addresses)
    }

    fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        zone::resolve(&self.host, self.zone.as_deref(), self.port)
    }
}

impl FromStr for Url {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| {
            format!("`{text}` {why}; write a URL such as https://127.0.0.1:8443/bytes/1MiB")
        };
        if let Some(bracketed) = with_brackets(text) {
            return Err(format!(
                "`{text}` has an IPv6 address without brackets; write it as {bracketed}"
            ));
        }
        let (text, zone) = &zone::split(text).map_err(wrong)?;
        let url = url::Url::parse(text).map_err(|error| match error {
            url::ParseError::IdnaError if !text.is_ascii() => wrong(
                "has a host name that is not an international one; give it in punycode (xn--...)",
            ),
            url::ParseError::RelativeUrlWithoutBase if !text.is_empty() => wrong("has no scheme"),
            url::ParseError::EmptyHost => wrong("has no host"),
            url::ParseError::InvalidPort => wrong("has an invalid port"),
            error => wrong(&format!("is not a URL ({error})")),
        })?;
        // What has no `//` has no scheme, but a host and a port.
        let tls = match url.scheme() {
            _ if !text.contains("://") => return Err(wrong("has no scheme")),
            "https" => true,
            "http" => false,
            _ => return Err(wrong("is neither http nor https")),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("has a user name, which toll does not send"));
        }
        let port = url.port_or_known_default().unwrap_or_default();
        if port == 0 {
            return Err(wrong("has port 0"));
        }
        let host = match url.host() {
            None => return Err(wrong("has no host")),
            Some(url::Host::Domain(name)) => name.to_owned(),
            Some(url::Host::Ipv4(address)) => address.to_string(),
            Some(url::Host::Ipv6(address)) => address.to_string(),
        };
        let path = match url.query() {
            None => url.path().to_owned(),
            Some(query) => format!("{}?{query}", url.path()),
        };
        Ok(Self { tls, host, zone: zone.clone(), port, path })
    }
}

/// The URL as it should be, where its host is an IPv6 address without brackets (RFC 3986, section 3.2.2).
fn with_brackets(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let is_address = |text: &str| text.parse::<Ipv6Addr>().is_ok();
    // Of `::1:8443` the port is the likelier reading: a server has one, and few addresses are so long.
    let with_port = authority.rsplit_once(':').filter(|(address, port)| {
        is_address(address) && port.len() > 2 && port.bytes().all(|byte| byte.is_ascii_digit())
    });
    match with_port {
        Some((address, port)) => Some(format!("{scheme}://[{address}]:{port}{path}")),
        None => is_address(authority).then(|| format!("{scheme}://[{authority}]{path}")),
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "https" } else { "http" };
        let authority = self.authority();
        match (&self.zone, authority.split_once(']')) {
            (Some(zone), Some((address, port))) => {
                write!(f, "{scheme}://{address}%25{zone}]{port}{}", self.path)
            }
            _ => write!(f, "{scheme}://{authority}{}", self.path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found() {
        let url: Url = "https://localhost:8443/bytes/1MiB?x=1".parse().unwrap();
        assert!(url.is_tls());
        let (local, other) = ("127.0.0.1:8443".parse().unwrap(), "127.0.0.1:443".parse().unwrap());
        assert!(!url.is_at(local));
        assert!(Url::at(true, local, "/").is_at(local) && !Url::at(true, local, "/").is_at(other));
        assert_eq!((url.host(), url.path()), ("localhost", "/bytes/1MiB?x=1"));
        assert_eq!(url.authority(), "localhost:8443");
        assert_eq!(url.to_string(), "https://localhost:8443/bytes/1MiB?x=1");
        let plain: Url = "http://[::1]".parse().unwrap();
        assert_eq!((plain.authority().as_str(), plain.path()), ("[::1]", "/"));
        assert_eq!(plain.address(false).unwrap(), "[::1]:80".parse().unwrap());
    }

    #[test]
    fn what_is_sent_is_a_path_in_ascii() {
        for (text, path) in [
            ("http://127.0.0.1:8080?x=1", "/?x=1"),
            ("https://localhost", "/"),
            ("https://localhost/b\u{fc}cher?q=\u{e9} a#part", "/b%C3%BCcher?q=%C3%A9%20a"),
            ("https://localhost/a%20b", "/a%20b"),
        ] {
            let url: Url = text.parse().unwrap();
            assert_eq!(url.path(), path, "{text}");
            // It is read as it is written.
            assert_eq!(url.to_string().parse::<Url>(), Ok(url));
        }
        let url: Url = "https://b\u{fc}cher.example:443/".parse().unwrap();
        assert_eq!(url.authority(), "xn--bcher-kva.example");
    }

    #[test]
    fn every_address_of_a_name_must_be_one_that_may_be_loaded() {
        let chosen = |addresses: &[&str], mine| {
            let addresses: Vec<_> = addresses.iter().map(|text| text.parse().unwrap()).collect();
            choose(&addresses, mine).map(|address| address.to_string()).map_err(|e| e.to_string())
        };
        let here = ["127.0.0.1:80", "[::1]:80", "[::ffff:127.0.0.2]:80"];
        assert_eq!(chosen(&here, false).as_deref(), Ok("127.0.0.1:80"));
        for both in [["127.0.0.1:80", "192.0.2.1:80"], ["192.0.2.1:80", "127.0.0.1:80"]] {
            assert_eq!(
                chosen(&both, false).unwrap_err(),
                "it is at 192.0.2.1, which is not this machine's loopback"
            );
            assert_eq!(chosen(&both, true).as_deref(), Ok(both[0]));
        }
        assert!(chosen(&[], true).unwrap_err().starts_with("the name has no address"));
    }

    #[test]
    fn a_zone_belongs_to_the_address_alone() {
        for text in ["https://[fe80::1%25lo]:8443/x", "https://[fe80::1%lo]:8443/x"] {
            let url: Url = text.parse().unwrap();
            assert_eq!((url.host(), url.authority().as_str()), ("fe80::1", "[fe80::1]:8443"));
            assert_eq!(url.to_string(), "https://[fe80::1%25lo]:8443/x");
            assert_eq!(url.to_string().parse(), Ok(url.clone()));
            let SocketAddr::V6(address) = url.address(true).unwrap() else { panic!() };
            // Loopback is the first interface of a namespace.
            assert_eq!((address.scope_id(), address.port()), (1, 8443));
            assert!(url.address(false).is_err());
        }
        let in_path: Url = "https://h//[a%25b]".parse().unwrap();
        assert_eq!(in_path.path(), "//[a%25b]");
        let nowhere: Url = "https://[fe80::1%25none0]/".parse().unwrap();
        let why = nowhere.address(true).unwrap_err().to_string();
        assert!(why.contains("no interface `none0`"), "{why}");
        for wrong in ["[fe80::1%]", "[fe80::1%25a/b]", "[fe80::1%a-name-too-long0]"] {
            assert!(format!("https://{wrong}/").parse::<Url>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_ipv6_address_without_brackets_is_shown_with_them() {
        for (text, hint) in [
            ("https://::1:8443/x?y", "https://[::1]:8443/x?y"),
            ("http://::1", "http://[::1]"),
            ("https://fe80::1:2/", "https://[fe80::1:2]/"),
            ("https://2001:db8:0:0:0:0:0:1:443#x", "https://[2001:db8:0:0:0:0:0:1]:443#x"),
        ] {
            let message = text.parse::<Url>().unwrap_err();
            assert!(message.ends_with(&format!("write it as {hint}")), "{message}");
            assert!(hint.parse::<Url>().is_ok());
        }
        assert!("https://127.0.0.1:8443/a:b::c".parse::<Url>().is_ok());
    }

    #[test]
    fn a_wrong_url_is_refused_with_the_form_to_write() {
        for (text, why) in [
            ("localhost:8443/x", "has no scheme"),
            ("/bytes", "has no scheme"),
            ("ftp://host/", "is neither http nor https"),
            ("https://user:pass@host/", "has a user name"),
            ("https://host:0/", "has port 0"),
            ("https://host:99999/", "has an invalid port"),
            ("https://", "has no host"),
            ("https://ho st/", "is not a URL (invalid"),
            ("https://b\u{fc}cher\u{ad}\u{2488}/", "punycode"),
            ("", "is not a URL"),
        ] {
            let message = text.parse::<Url>().unwrap_err();
            assert!(message.contains(why), "{text}: {message}");
        }
    }
}
