//! Ports for the connections: each open one takes a port of its source address, and the system gives
//! out those of a range (ip(7), `ip_local_port_range`).

use std::net::IpAddr;

use crate::{Client, Operation, Plan};

/// What Linux gives out unless it is told otherwise: 32768 to 60999.
const USUAL: usize = 28_232;

/// The ports from 1024 on: the widest range that is advised.
const MOST: usize = 64_512;

/// Whether connections to this server come from many addresses by themselves, which only loopback
/// has: where they would use much of the ports of one, and where they close all the time, as a closed
/// connection may keep its port for a minute.
///
/// A quarter of the ports is much. `connect` looks for a free one among the even ones first, from a
/// random one on, so with half of those taken it finds one after a few steps, and with all of them
/// after thousands: it would take half of the client's CPU time.
pub(crate) fn has_many_sources(plan: &Plan, server: IpAddr) -> bool {
    let is_loopback = matches!(server, IpAddr::V4(address) if address.is_loopback());
    let is_many = || {
        plan.operation != Operation::Requests
            || plan.requests_per_connection.is_some()
            || plan.connections > of_an_address() / 4
    };
    let is_toll = plan.client == Client::Toll;
    is_loopback && is_toll && plan.source.is_empty() && is_many()
}

/// Ranks have sources of their own, and each checks its share.
///
/// # Errors
/// The load's source addresses have fewer ports than the load has connections; in the words of `toll
/// load`.
pub(crate) fn check(plan: &Plan, server: IpAddr) -> Result<(), String> {
    match plan.ranks.is_some() || has_many_sources(plan, server) {
        true => Ok(()),
        false => within(of_an_address(), plan.connections, plan.source.len().max(1)),
    }
}

fn within(each: usize, connections: usize, addresses: usize) -> Result<(), String> {
    if connections <= each * addresses {
        return Ok(());
    }
    let have = match addresses {
        1 => "one source address has".to_owned(),
        _ => format!("{addresses} source addresses have"),
    };
    let needed = connections.div_ceil(each.max(1));
    let widen = match connections <= MOST * addresses {
        true => ", or widen the range: sysctl -w net.ipv4.ip_local_port_range='1024 65535'",
        false => "",
    };
    Err(format!(
        "--connections {connections} needs as many ports, but {have} {} \
         (net.ipv4.ip_local_port_range); give {needed} source addresses (--source){widen}",
        each * addresses
    ))
}

/// How many connections one address can have to one server.
fn of_an_address() -> usize {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    range.ok().as_deref().and_then(count).unwrap_or(USUAL)
}

fn count(range: &str) -> Option<usize> {
    let mut ends = range.split_whitespace().map(str::parse::<usize>);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    Some((last + 1).saturating_sub(first))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn a_range_is_counted_with_both_ends() {
        assert_eq!(count("32768\t60999\n"), Some(USUAL));
        assert_eq!(count("1024 65535"), Some(MOST));
        for wrong in ["", "1024", "a b"] {
            assert_eq!(count(wrong), None);
        }
    }

    #[test]
    fn each_connection_needs_a_port_of_its_source() {
        assert_eq!(within(100, 100, 1), Ok(()));
        assert_eq!(within(100, 200, 2), Ok(()));
        support::assert_golden!([(30_000, 1), (200_000, 2)].map(|(connections, sources)| {
            let input = format!("{connections} connections, {sources} sources");
            (input, within(USUAL, connections, sources).unwrap_err())
        }));
    }

    #[test]
    fn only_loopback_has_many_addresses_by_itself() {
        let many = Plan { connections: 1_000_000, ..Plan::default() };
        let [loopback, other] = ["127.0.0.1", "192.0.2.1"].map(|text| text.parse().unwrap());
        assert!(has_many_sources(&many, loopback) && !has_many_sources(&many, other));
        assert_eq!(check(&many, loopback), Ok(()));
        assert!(check(&many, other).is_err());
        let of_ranks = Plan { ranks: NonZeroU32::new(3), ..many.clone() };
        assert_eq!(check(&of_ranks, other), Ok(()));
        let of_wrk = Plan { client: Client::Wrk, ..many.clone() };
        assert!(check(&of_wrk, loopback).is_err());
        // Written as an address of IPv6, loopback has one address.
        assert!(check(&many, "::ffff:127.0.0.1".parse().unwrap()).is_err());
        let asked = Plan { source: vec!["127.0.0.2".parse().unwrap()], ..many };
        assert!(!has_many_sources(&asked, loopback) && check(&asked, loopback).is_err());
        let few = Plan { connections: of_an_address() / 4, ..Plan::default() };
        assert!(!has_many_sources(&few, loopback));
        let more = Plan { connections: few.connections + 1, ..Plan::default() };
        assert!(has_many_sources(&more, loopback) && !has_many_sources(&more, other));
        let ending = Plan { requests_per_connection: "8".parse().ok(), ..few.clone() };
        let closing = Plan { operation: Operation::OneRequestPerConnection, ..few };
        assert!(has_many_sources(&ending, loopback) && has_many_sources(&closing, loopback));
    }
}
