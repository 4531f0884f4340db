//! What a connection may have under way is bound by its buffers, and how often a program wakes up for
//! it.

use units::Bytes;

use crate::{Fix, Found, Root, ok, warning};

/// The kernel's choice for the send buffer. toll's client is woken up once a MiB, for which the
/// kernel needs a receive buffer of twice that.
const LEAST: u64 = 4 << 20;
const WANTED: u64 = 16 << 20;
/// The kernel's choices for a new connection (tcp(7)): less makes the first round trips of each
/// connection carry less.
const RECEIVE_AT_FIRST: u64 = 131_072;
const SEND_AT_FIRST: u64 = 16_384;

pub(crate) fn item(root: &Root) -> Found {
    let numbers = |name: &str| root.numbers::<u64, 3>(&format!("/proc/sys/net/ipv4/{name}"));
    let (receive, send) = (numbers("tcp_rmem"), numbers("tcp_wmem"));
    let (Some(&receive), Some(&send)) = (receive.known(), send.known()) else {
        return Err("the kernel does not report tcp_rmem and tcp_wmem".to_owned());
    };
    let seen = format!(
        "receive {}, send {} (at least, at first, at most){}{}",
        in_words(receive),
        in_words(send),
        sizes(root, "; a program may ask for", "max", ""),
        sizes(root, "; other protocols have", "default", ", which TCP ignores")
    );
    let settings: Vec<(&str, String)> = [
        ("net.ipv4.tcp_rmem", receive, RECEIVE_AT_FIRST),
        ("net.ipv4.tcp_wmem", send, SEND_AT_FIRST),
    ]
    .into_iter()
    .filter(|(_, [_, first, most], usual)| most < &LEAST || first < usual)
    .map(|(name, [least, first, most], usual)| {
        let most = if most < LEAST { WANTED } else { most };
        (name, format!("{least} {} {most}", first.max(usual)))
    })
    .collect();
    if settings.is_empty() {
        return ok(seen);
    }
    let why = "large objects are sent in small pieces, with more wake-ups than necessary on both \
               sides";
    let settings: Vec<(&str, &str)> =
        settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    warning(seen, why, Fix::sysctl(&settings))
}

fn in_words([least, first, most]: [u64; 3]) -> String {
    format!("{} {} {}", Bytes(least), Bytes(first), Bytes(most))
}

/// What the settings of all sockets are, where they can be read: `rmem_max` and `wmem_max`, or
/// `rmem_default` and `wmem_default`. TCP takes its own instead of the latter (tcp(7)).
fn sizes(root: &Root, before: &str, kind: &str, after: &str) -> String {
    let size = |side: &str| {
        root.number(&format!("/proc/sys/net/core/{side}mem_{kind}")).known().map(|n| Bytes(*n))
    };
    match (size("r"), size("w")) {
        (Some(receive), Some(send)) => {
            format!("{before} {receive} and {send} ([rw]mem_{kind}){after}")
        }
        _ => String::new(),
    }
}
