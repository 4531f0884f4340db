use serde::{Deserialize, Serialize};

use super::{line, number};
use crate::Fact;

/// Settings of the network that bound what a load can reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// The congestion control of new TCP connections.
    pub tcp_congestion_control: Fact<String>,
    /// A TCP connection's receive buffer: least, at first, most.
    pub tcp_rmem_bytes: Fact<[u64; 3]>,
    /// A TCP connection's send buffer: least, at first, most.
    pub tcp_wmem_bytes: Fact<[u64; 3]>,
    /// The largest receive buffer that a program may ask for.
    pub rmem_max_bytes: Fact<u64>,
    /// The largest send buffer that a program may ask for.
    pub wmem_max_bytes: Fact<u64>,
    /// The first and the last port of outgoing connections.
    pub local_port_range: Fact<[u64; 2]>,
    /// The longest accept queue that a listener may ask for, in connections.
    pub somaxconn: Fact<u64>,
    /// Connections half open before SYN cookies are sent.
    pub tcp_max_syn_backlog: Fact<u64>,
}

impl Network {
    pub(super) fn read() -> Self {
        Self {
            tcp_congestion_control: line("/proc/sys/net/ipv4/tcp_congestion_control"),
            tcp_rmem_bytes: numbers("/proc/sys/net/ipv4/tcp_rmem"),
            tcp_wmem_bytes: numbers("/proc/sys/net/ipv4/tcp_wmem"),
            rmem_max_bytes: number("/proc/sys/net/core/rmem_max"),
            wmem_max_bytes: number("/proc/sys/net/core/wmem_max"),
            local_port_range: numbers("/proc/sys/net/ipv4/ip_local_port_range"),
            somaxconn: number("/proc/sys/net/core/somaxconn"),
            tcp_max_syn_backlog: number("/proc/sys/net/ipv4/tcp_max_syn_backlog"),
        }
    }
}

fn numbers<const N: usize>(path: &str) -> Fact<[u64; N]> {
    let Fact::Known(text) = line(path) else {
        return Fact::unknown(format_args!("cannot read {path}"));
    };
    numbers_in(&text).ok_or_else(|| format!("{path} holds `{text}`, not {N} numbers")).into()
}

fn numbers_in<const N: usize>(text: &str) -> Option<[u64; N]> {
    let numbers: Option<Vec<u64>> =
        text.split_ascii_whitespace().map(|number| number.parse().ok()).collect();
    numbers?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_numbers_as_belong_there() {
        assert_eq!(numbers_in("4096\t131072\t33554432"), Some([4096, 131_072, 33_554_432]));
        assert_eq!(numbers_in::<2>("1 2 3"), None);
        assert_eq!(numbers_in::<2>("1 -2"), None);
        assert_eq!(numbers_in::<1>(""), None);
    }
}
