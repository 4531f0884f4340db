//! The addresses of a host that MPI's own messages may take.

use std::net::Ipv4Addr;

use if_addrs::{IfAddr, Ifv4Addr, get_if_addrs};

/// Where a process of `mpirun` reads `hosts.control`.
const CONTROL: &str = "OMPI_MCA_btl_tcp_if_include";

/// An address of an interface.
struct Address {
    interface: String,
    ip: Ipv4Addr,
    mask: Ipv4Addr,
}

/// Refuses a host on which MPI would wait for ever: of an interface with two addresses in one network Open
/// MPI tells the others only one, and does not know the connections that come from the other.
///
/// # Errors
/// Which interface and addresses, and what to do.
pub(crate) fn check() -> Result<(), String> {
    let all = get_if_addrs().map_err(|error| format!("its addresses cannot be read: {error}"))?;
    let of_version_4 = all.into_iter().filter_map(|interface| match interface.addr {
        IfAddr::V4(Ifv4Addr { ip, netmask, .. }) => {
            Some(Address { interface: interface.name, ip, mask: netmask })
        }
        IfAddr::V6(_) => None,
    });
    check_of(std::env::var(CONTROL).ok().as_deref(), of_version_4)
}

fn check_of(control: Option<&str>, all: impl Iterator<Item = Address>) -> Result<(), String> {
    let mut seen: Vec<Address> = Vec::new();
    let is_used = |ip: Ipv4Addr| control.is_none_or(|control| has(control, ip));
    for address in all.filter(|address| !address.ip.is_loopback() && is_used(address.ip)) {
        let Address { interface, ip, mask } = &address;
        let is_near = |other: &&Address| {
            let near = |mask: Ipv4Addr| other.ip & mask == *ip & mask;
            other.interface == *interface && (near(*mask) || near(other.mask))
        };
        if let Some(other) = seen.iter().find(is_near) {
            return Err(format!(
                "{interface} has the addresses {} and {ip} in one network, with which Open MPI does not \
                 work; write a network in hosts.control that has one of them",
                other.ip
            ));
        }
        seen.push(address);
    }
    Ok(())
}

/// Whether an address is in one of these networks, such as `10.0.0.0/24,10.0.1.0/24`. What is no network
/// (`eth0`) has all.
fn has(control: &str, ip: Ipv4Addr) -> bool {
    control.split(',').any(|network| {
        let parsed = network.split_once('/').and_then(|(base, length)| {
            let base = base.parse::<Ipv4Addr>().ok()?;
            let host_bits = 32_u32.checked_sub(length.parse().ok()?)?;
            Some((base, u32::MAX.checked_shl(host_bits).unwrap_or(0)))
        });
        parsed.is_none_or(|(base, mask)| base.to_bits() & mask == ip.to_bits() & mask)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with a machine that has these addresses, each as `eth0 10.0.0.1 255.0.0.0`.
    fn wrong(control: Option<&str>, addresses: &[&str]) -> Option<String> {
        let all = addresses.iter().map(|address| {
            let mut words = address.split(' ');
            let mut next = || words.next().unwrap().to_owned();
            Address {
                interface: next(),
                ip: next().parse().unwrap(),
                mask: next().parse().unwrap(),
            }
        });
        check_of(control, all).err()
    }

    #[test]
    fn two_addresses_of_an_interface_in_the_control_network_are_refused() {
        let near = ["eth0 10.84.0.11 255.255.255.0", "eth0 10.84.0.21 255.255.255.255"];
        for control in [None, Some("10.84.0.0/24"), Some("eth0"), Some("10.0.0.0/28,10.84.0.0/16")]
        {
            let why = wrong(control, &near).unwrap();
            assert!(
                why.starts_with("eth0 has the addresses 10.84.0.11 and 10.84.0.21 in"),
                "{why}"
            );
        }
        for control in ["10.84.0.0/28", "10.84.0.21/32"] {
            assert_eq!(wrong(Some(control), &near), None);
        }
        let far = ["eth0 10.84.0.11 255.255.255.0", "eth0 10.85.0.21 255.255.255.0"];
        let others = ["eth0 10.84.0.11 255.255.255.0", "eth1 10.84.0.21 255.255.255.0"];
        let own = ["lo 127.0.0.1 255.0.0.0", "lo 127.0.0.2 255.0.0.0"];
        for fine in [far, others, own] {
            assert_eq!((wrong(None, &fine), wrong(Some("0.0.0.0/0"), &fine)), (None, None));
        }
    }
}
