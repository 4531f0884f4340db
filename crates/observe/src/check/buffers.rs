//! What a connection may have under way is bound by its buffers, and how often a program wakes up for
//! it.

use units::Bytes;

use super::{Fix, Item, Root};

const NAME: &str = "buffers";
/// The kernel's choice for the send buffer. toll's client is woken up once a MiB, for which the
/// kernel needs a receive buffer of twice that.
const LEAST: u64 = 4 << 20;
const WANTED: u64 = 16 << 20;

pub(super) fn item(root: &Root) -> Item {
    let numbers = |name: &str| root.numbers::<u64, 3>(&format!("/proc/sys/net/ipv4/{name}"));
    let (receive, send) = (numbers("tcp_rmem"), numbers("tcp_wmem"));
    let (Some(&receive), Some(&send)) = (receive.known(), send.known()) else {
        return Item::not_available(NAME, "the kernel does not report tcp_rmem and tcp_wmem");
    };
    let asked = root.number("/proc/sys/net/core/rmem_max");
    let asked = asked.known().map(|n| format!(", rmem_max {}", Bytes(*n))).unwrap_or_default();
    let seen = format!("receive up to {}, send up to {}{asked}", Bytes(receive[2]), Bytes(send[2]));
    let wider = |name, [least, first, most]: [u64; 3]| {
        (most < LEAST).then(|| (name, format!("{least} {first} {WANTED}")))
    };
    let settings: Vec<(&str, String)> =
        [wider("net.ipv4.tcp_rmem", receive), wider("net.ipv4.tcp_wmem", send)]
            .into_iter()
            .flatten()
            .collect();
    if settings.is_empty() {
        return Item::ok(NAME, seen);
    }
    let why = "large objects are sent in small pieces, with more wake-ups than necessary on both \
               sides";
    let settings: Vec<(&str, &str)> =
        settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Item::warning(NAME, seen, why, Fix::sysctl(&settings))
}
