//! Zones of addresses: of which network a link-local address of IPv6 is (RFC 4007). They mean something only on this
//! machine, so that neither Host nor SNI has one (RFC 6874, section 4).

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

/// The longest name of an interface.
const LONGEST: usize = 15;

/// What follows the `%` before a zone in a URL, where it is escaped.
const ESCAPED: &str = "25";

/// The text without the zone of the address in its first brackets, and the zone: written `[fe80::1%25eth0]` in a URL
/// (RFC 6874), `[fe80::1%eth0]` elsewhere.
///
/// # Errors
/// Why it is no zone.
pub(crate) fn split(text: &str) -> Result<(String, Option<String>), &'static str> {
    let parts = text.split_once('[').and_then(|(before, rest)| {
        let (inside, after) = rest.split_once(']')?;
        let (address, zone) = inside.split_once('%')?;
        // Not in a path.
        let is_host =
            before.is_empty() || before.split_once("://").is_some_and(|(_, rest)| rest.is_empty());
        is_host.then_some((format!("{before}[{address}]{after}"), zone))
    });
    let Some((without, zone)) = parts else { return Ok((text.to_owned(), None)) };
    // As people write it and curl takes it.
    let zone = zone.strip_prefix(ESCAPED).filter(|zone| !zone.is_empty()).unwrap_or(zone);
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    match (1..=LONGEST).contains(&zone.len()) && zone.bytes().all(is_of_name) {
        true => Ok((without, Some(zone.to_owned()))),
        false => Err("has a zone that is not the name of an interface"),
    }
}

/// All addresses of a host, or the one in this zone.
pub(crate) fn resolve(host: &str, zone: Option<&str>, port: u16) -> io::Result<Vec<SocketAddr>> {
    let Some(zone) = zone else { return Ok((host, port).to_socket_addrs()?.collect()) };
    let all = (format!("{host}%{zone}"), port).to_socket_addrs();
    // The resolver does not know such a name, whatever is wrong.
    let why = |_| io::Error::other(format!("no interface `{zone}` here has addresses like {host}"));
    Ok(all.map_err(why)?.collect())
}
