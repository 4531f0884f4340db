//! The interface that packets to an address leave by: its speed, its counters, and the queue before
//! it.
//!
//! A load is limited by the network where its interface carries what it can, or where packets
//! always wait before it: the queue is never empty then. Loopback has neither a speed nor a queue.

use std::io;
use std::net::IpAddr;
use std::os::fd::AsRawFd;

use serde::{Deserialize, Serialize};
use units::BitsPerSecond;

use crate::namespace;
use crate::netlink::{Netlink, Query, address_attribute, attribute, attribute_of, u32_at, u64_at};

/// An interface, and how to ask for its counters.
#[derive(Debug)]
pub struct Link {
    netlink: Netlink,
    index: u32,
    name: String,
    speed: Option<BitsPerSecond>,
}

/// What an interface has done since it came up, and what waits before it now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCounters {
    /// Received, with the headers of the link.
    pub received_bytes: u64,
    /// Sent, with the headers of the link.
    pub sent_bytes: u64,
    /// Packets that the interface's queue dropped.
    pub queue_drops: u64,
    /// How often the queue held packets back to keep to a rate.
    pub queue_overlimits: u64,
    /// Bytes that wait in the queue at this moment.
    pub queued_bytes: u64,
}

/// Whether an address is one of this machine's own, in this network namespace: no interface carries what is sent to it.
pub fn is_local(address: IpAddr) -> bool {
    let way = Netlink::open().and_then(|netlink| route(&netlink, address, None));
    way.map_or(address.to_canonical().is_loopback(), |way| way.is_local)
}

/// A way to an address.
struct Route {
    interface: u32,
    is_local: bool,
    source: Option<IpAddr>,
}

impl Link {
    /// The interface by which this process sends to `address`, from an address of its own where it is
    /// bound to one; `None` where that is this machine itself, whose packets no interface carries.
    pub fn to(address: IpAddr, from: Option<IpAddr>) -> io::Result<Option<Self>> {
        Self::open(address, from)
    }

    /// The interface of that name; `None` of loopback.
    pub fn named(name: &str) -> io::Result<Option<Self>> {
        let netlink = Netlink::open()?;
        let mut body = vec![0; LINK_FIXED];
        body.extend(attribute_of(LINK_NAME, &[name.as_bytes(), b"\0"].concat()));
        let facts = link_of(&netlink, &body)?;
        Ok((!facts.is_loopback).then(|| Self::of(netlink, facts)))
    }

    /// The interface by which the process `pid` sends to a client that reaches it from here at
    /// `address`; `None` where that is no other than [`Self::to`] of it, or none at all.
    ///
    /// # Errors
    /// The process is in a network namespace of its own, which only root may look into, or is gone.
    pub fn back_from(pid: u32, address: IpAddr) -> io::Result<Option<Self>> {
        if namespace::is_shared_with(pid)? {
            return Ok(None);
        }
        let Some(source) = route(&Netlink::open()?, address, None)?.source else { return Ok(None) };
        namespace::within(pid, move || Self::open(source, None))
    }

    fn open(address: IpAddr, from: Option<IpAddr>) -> io::Result<Option<Self>> {
        let netlink = Netlink::open()?;
        let Route { interface, is_local, .. } = route(&netlink, address, from)?;
        let facts = link(&netlink, interface)?;
        Ok((!is_local && !facts.is_loopback).then(|| Self::of(netlink, facts)))
    }

    fn of(netlink: Netlink, facts: LinkFacts) -> Self {
        let speed = facts.has_speed.then(|| speed(&facts.name)).flatten();
        Self { netlink, index: facts.index, name: facts.name, speed }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it carries in each direction, where it is known. Interfaces that exist in software
    /// alone name a speed that nothing holds them to; they have none.
    pub fn speed(&self) -> Option<BitsPerSecond> {
        self.speed
    }

    pub fn read(&self) -> io::Result<LinkCounters> {
        let facts = link(&self.netlink, self.index)?;
        let mut counters = facts.counters;
        for queue in self.netlink.ask(QUEUES, &[0; TC_FIXED])? {
            if u32_at(&queue, 4) == Some(self.index) && u32_at(&queue, 12) == Some(TC_ROOT) {
                counters.add_queue(&queue);
            }
        }
        Ok(counters)
    }
}

impl LinkCounters {
    fn add_queue(&mut self, message: &[u8]) {
        let stats = attribute(message, TC_FIXED, TC_STATS2);
        let Some(queue) = stats.and_then(|stats| attribute(stats, 0, TC_STATS_QUEUE)) else {
            return;
        };
        // struct gnet_stats_queue: qlen, backlog, drops, requeues, overlimits.
        let field = |number: usize| u64::from(u32_at(queue, 4 * number).unwrap_or_default());
        self.queued_bytes += field(1);
        self.queue_drops += field(2);
        self.queue_overlimits += field(4);
    }
}

const ROUTE_FIXED: usize = 12;
const LINK_FIXED: usize = 16;
const TC_FIXED: usize = 20;

const ROUTE: Query = Query { kind: 26, answer: 24, is_dump: false, fixed: ROUTE_FIXED };
const LINK: Query = Query { kind: 18, answer: 16, is_dump: false, fixed: LINK_FIXED };
const QUEUES: Query = Query { kind: 38, answer: 36, is_dump: true, fixed: TC_FIXED };

const ROUTE_DESTINATION: u16 = 1;
const ROUTE_FROM: u16 = 2;
const ROUTE_INTERFACE: u16 = 4;
const ROUTE_SOURCE: u16 = 7;
const ROUTE_TYPE_LOCAL: u8 = 2;
const LINK_NAME: u16 = 3;
const LINK_INFO: u16 = 18;
const LINK_INFO_KIND: u16 = 1;
const LINK_STATS64: u16 = 23;
const LINK_FLAG_LOOPBACK: u32 = 0x8;
const TC_ROOT: u32 = u32::MAX;
const TC_KIND: u16 = 1;
const TC_STATS2: u16 = 7;
const TC_STATS_QUEUE: u16 = 3;

fn not_told(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn route(netlink: &Netlink, address: IpAddr, from: Option<IpAddr>) -> io::Result<Route> {
    let address = address.to_canonical();
    let (family, bits) = match address {
        IpAddr::V4(_) => (libc::AF_INET, 32),
        IpAddr::V6(_) => (libc::AF_INET6, 128),
    };
    let mut body = vec![0; ROUTE_FIXED];
    (body[0], body[1]) = (family as u8, bits);
    body.extend(address_attribute(ROUTE_DESTINATION, address));
    if let Some(from) = from {
        body[2] = bits;
        body.extend(address_attribute(ROUTE_FROM, from));
    }
    let answers = netlink.ask(ROUTE, &body)?;
    let answer = answers.first().ok_or_else(|| not_told("the kernel has no route"))?;
    let find = |kind| attribute(answer, ROUTE_FIXED, kind);
    let interface = find(ROUTE_INTERFACE).and_then(|value| u32_at(value, 0));
    let source = find(ROUTE_SOURCE).and_then(|value| match value.len() {
        4 => <[u8; 4]>::try_from(value).ok().map(IpAddr::from),
        _ => <[u8; 16]>::try_from(value).ok().map(IpAddr::from),
    });
    Ok(Route {
        interface: interface.ok_or_else(|| not_told("a route without an interface"))?,
        is_local: answer.get(7) == Some(&ROUTE_TYPE_LOCAL),
        source,
    })
}

/// What is known of an interface.
struct LinkFacts {
    index: u32,
    name: String,
    is_loopback: bool,
    has_speed: bool,
    counters: LinkCounters,
}

/// Kinds of interfaces in software that pass on the speed of the hardware below them.
const ON_HARDWARE: [&str; 5] = ["bond", "team", "vlan", "macvlan", "ipvlan"];

fn link(netlink: &Netlink, index: u32) -> io::Result<LinkFacts> {
    let mut body = [0; LINK_FIXED];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    link_of(netlink, &body)
}

fn link_of(netlink: &Netlink, body: &[u8]) -> io::Result<LinkFacts> {
    let answers = netlink.ask(LINK, body)?;
    let answer = answers.first().ok_or_else(|| not_told("the interface is gone"))?;
    let find = |kind| attribute(answer, LINK_FIXED, kind);
    let name = find(LINK_NAME).map(text).ok_or_else(|| not_told("an interface without a name"))?;
    let kind = find(LINK_INFO).and_then(|info| attribute(info, 0, LINK_INFO_KIND)).map(text);
    let stats = find(LINK_STATS64).unwrap_or_default();
    // struct rtnl_link_stats64: packets received and sent, then bytes received and sent.
    let stat = |number: usize| u64_at(stats, 8 * number).unwrap_or_default();
    Ok(LinkFacts {
        index: u32_at(answer, 4).ok_or_else(|| not_told("an interface without a number"))?,
        name,
        is_loopback: u32_at(answer, 8).is_some_and(|flags| flags & LINK_FLAG_LOOPBACK != 0),
        has_speed: kind.is_none_or(|kind| ON_HARDWARE.contains(&kind.as_str())),
        counters: LinkCounters {
            received_bytes: stat(2),
            sent_bytes: stat(3),
            ..LinkCounters::default()
        },
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned()
}

/// The queue before loopback, where it has one, such as `fq`: packets then wait there, and `fq` sends them
/// by timers whatever their congestion control is.
///
/// # Errors
/// The kernel does not say.
pub fn loopback_queue() -> io::Result<Option<String>> {
    let netlink = Netlink::open()?;
    let mut body = vec![0; LINK_FIXED];
    body.extend(attribute_of(LINK_NAME, b"lo\0"));
    let index = link_of(&netlink, &body)?.index;
    let queues = netlink.ask(QUEUES, &[0; TC_FIXED])?;
    let mut of_lo = queues.iter().filter(|queue| u32_at(queue, 4) == Some(index));
    let kind = of_lo.find_map(|queue| attribute(queue, TC_FIXED, TC_KIND)).map(text);
    Ok(kind.filter(|kind| kind != "noqueue"))
}

/// The speed that an interface has negotiated (linux/ethtool.h, `ETHTOOL_GSET`: the only question
/// about it that every kernel answers without a handshake of its own).
fn speed(name: &str) -> Option<BitsPerSecond> {
    const SIOCETHTOOL: u32 = 0x8946;
    const ETHTOOL_GSET: u32 = 1;
    /// struct ethtool_cmd, and where it has the speed's two halves, in Mb/s.
    const SIZE: usize = 44;
    const SPEED: usize = 12;
    const SPEED_HIGH: usize = 28;
    let socket = std::net::UdpSocket::bind(("0.0.0.0", 0)).ok()?;
    let mut command = [0_u32; SIZE / 4];
    command[0] = ETHTOOL_GSET;
    // SAFETY: an ifreq is plain bytes, for which zeros are a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let is_short = name.len() < request.ifr_name.len();
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from.cast_signed() as libc::c_char;
    }
    request.ifr_ifru.ifru_data = command.as_mut_ptr().cast();
    // SAFETY: the request names an interface, ended by a zero, and points to an ethtool_cmd, which
    // the kernel fills.
    let rc = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
    let bytes: Vec<u8> = command.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let half = |at: usize| crate::netlink::u16_at(&bytes, at).map(u32::from);
    let megabits = half(SPEED)? | half(SPEED_HIGH)? << 16;
    // What is not known is -1, or 0 on older drivers, or -1 in the lower half alone.
    let is_known = !matches!(megabits, 0 | 0xffff | u32::MAX);
    (rc == 0 && is_short && is_known).then(|| BitsPerSecond(f64::from(megabits) * 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_reached_by_no_interface() {
        for address in ["127.0.0.1", "127.9.9.9"] {
            let address = address.parse().unwrap();
            assert!(Link::to(address, None).unwrap().is_none(), "{address}");
            assert!(Link::to(address, Some(address)).unwrap().is_none(), "{address}");
        }
        assert!(Link::named("lo").unwrap().is_none() && Link::named("nosuch0").is_err());
        let me = std::process::id();
        assert!(Link::back_from(me, "127.0.0.1".parse().unwrap()).unwrap().is_none());
    }

    #[test]
    fn loopback_has_counters_that_move() {
        let netlink = Netlink::open().unwrap();
        let route = route(&netlink, "127.0.0.1".parse().unwrap(), None).unwrap();
        assert!(route.is_local);
        let before = link(&netlink, route.interface).unwrap();
        assert!(before.is_loopback && before.name == "lo");
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(&[0; 1000], socket.local_addr().unwrap()).unwrap();
        let after = link(&netlink, route.interface).unwrap().counters;
        assert!(after.sent_bytes >= before.counters.sent_bytes + 1000, "{after:?}");
        assert!(after.received_bytes >= before.counters.received_bytes + 1000, "{after:?}");
        assert_eq!(speed("lo"), None);
    }

    #[test]
    fn loopback_has_a_queue_only_where_it_was_given_one() {
        let shown = std::process::Command::new("tc").args(["qdisc", "show", "dev", "lo"]).output();
        let Ok(shown) = shown else { return };
        let shown = String::from_utf8(shown.stdout).unwrap();
        let kind = shown.split_whitespace().nth(1).filter(|kind| *kind != "noqueue");
        assert_eq!(loopback_queue().unwrap().as_deref(), kind);
    }

    #[test]
    fn an_interface_or_a_process_that_is_not_there_is_an_error() {
        let netlink = Netlink::open().unwrap();
        assert!(link(&netlink, 0x7fff_fff0).is_err());
        assert!(Link::back_from(1 << 23, "127.0.0.1".parse().unwrap()).is_err());
    }

    #[test]
    fn a_queue_is_counted_by_its_fields() {
        let attribute = |kind: u16, value: &[u8]| {
            let length = 4 + value.len() as u16;
            [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), value].concat()
        };
        let fields: Vec<u8> =
            [3_u32, 4500, 7, 1, 99].iter().flat_map(|field| field.to_ne_bytes()).collect();
        let stats = attribute(TC_STATS2, &attribute(TC_STATS_QUEUE, &fields));
        let message = [&[0; TC_FIXED][..], &attribute(1, b"tbf\0"), &stats].concat();
        let mut counters = LinkCounters::default();
        counters.add_queue(&message);
        let expected = LinkCounters {
            queued_bytes: 4500,
            queue_drops: 7,
            queue_overlimits: 99,
            ..LinkCounters::default()
        };
        assert_eq!(counters, expected);
    }
}
