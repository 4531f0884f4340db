use serde::{Deserialize, Serialize};

use crate::Fact;
use crate::root::Root;

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
    pub(super) fn read(root: &Root) -> Self {
        Self {
            tcp_congestion_control: root.line("/proc/sys/net/ipv4/tcp_congestion_control"),
            tcp_rmem_bytes: root.numbers("/proc/sys/net/ipv4/tcp_rmem"),
            tcp_wmem_bytes: root.numbers("/proc/sys/net/ipv4/tcp_wmem"),
            rmem_max_bytes: root.number("/proc/sys/net/core/rmem_max"),
            wmem_max_bytes: root.number("/proc/sys/net/core/wmem_max"),
            local_port_range: root.numbers("/proc/sys/net/ipv4/ip_local_port_range"),
            somaxconn: root.number("/proc/sys/net/core/somaxconn"),
            tcp_max_syn_backlog: root.number("/proc/sys/net/ipv4/tcp_max_syn_backlog"),
        }
    }
}
