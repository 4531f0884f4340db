//! The addresses of a host that MPI's own messages may take.

use std::net::{IpAddr, Ipv4Addr};

use if_addrs::get_if_addrs;

/// An interface and an address of it.
type Address = (String, Ipv4Addr);

/// Refuses a host on which MPI would fail, or wait for ever: Open MPI takes one address for each interface,
/// and mixes up those of one that has more, whichever of them is in `hosts.control`.
///
/// # Errors
/// Which interface and addresses, and what to do.
pub(crate) fn check(control: Option<&str>) -> Result<(), String> {
    let all = get_if_addrs().map_err(|error| format!("its addresses cannot be read: {error}"))?;
    let of_version_4 = all.into_iter().filter_map(|interface| match interface.ip() {
        IpAddr::V4(ip) => Some((interface.name, ip)),
        IpAddr::V6(_) => None,
    });
    check_of(control, &of_version_4.collect::<Vec<Address>>())
}

fn check_of(control: Option<&str>, all: &[Address]) -> Result<(), String> {
    let takes = |(name, ip): &Address| control.is_none_or(|control| has(control, name, *ip));
    if let Some(control) = control.filter(|_| !all.iter().any(takes)) {
        return Err(format!(
            "no interface is in hosts.control = {control}; write the network by which all hosts reach each \
             other, such as 10.0.0.0/24"
        ));
    }
    for (interface, first) in all {
        let own = || all.iter().filter(|(name, _)| name == interface).map(|(_, ip)| *ip);
        let is_used = own().any(|ip| takes(&(interface.clone(), ip)));
        let second = own().find(|ip| ip != first);
        if let Some(second) = second.filter(|_| is_used && !own().any(|ip| ip.is_loopback())) {
            return Err(format!(
                "{interface} has the addresses {first} and {second}, which Open MPI mixes up; leave it one, \
                 or write the network of another interface in hosts.control"
            ));
        }
    }
    Ok(())
}

/// Whether an address is in one of these networks, such as `10.0.0.0/24,10.0.1.0/24`. What is no network
/// is the name of an interface.
fn has(control: &str, interface: &str, ip: Ipv4Addr) -> bool {
    control.split(',').map(str::trim).any(|network| {
        let parsed = network.split_once('/').and_then(|(base, length)| {
            let base = base.parse::<Ipv4Addr>().ok()?;
            let host_bits = 32_u32.checked_sub(length.parse().ok()?)?;
            Some((base, u32::MAX.checked_shl(host_bits).unwrap_or(0)))
        });
        parsed.map_or(network == interface, |(base, mask)| {
            base.to_bits() & mask == ip.to_bits() & mask
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_of_the_control_network_has_one_address() {
        let machine = [
            ("lo", "127.0.0.1"),
            ("lo", "10.84.0.13"),
            ("eth0", "10.84.0.11"),
            ("eth0", "10.86.0.11"),
            ("eth1", "10.85.0.11"),
        ];
        let all = machine.map(|(name, ip)| (name.to_owned(), ip.parse().unwrap()));
        for control in
            [None, Some("10.84.0.0/24"), Some("10.86.0.11/32"), Some("10.85.0.0/24,10.84.0.0/16")]
        {
            let why = check_of(control, &all).unwrap_err();
            for address in ["eth0", "10.84.0.11", "10.86.0.11"] {
                assert!(why.contains(address), "{why}");
            }
        }
        assert_eq!(check_of(Some("10.85.0.0/24"), &all), Ok(()));
        assert_eq!(check_of(Some("0.0.0.0/0"), &[all[0].clone(), all[2].clone()]), Ok(()));
        assert_eq!(check_of(Some("eth1"), &all), Ok(()));
        assert!(check_of(Some("eth0"), &all).unwrap_err().contains("10.86.0.11"));
    }

    #[test]
    fn a_control_network_that_the_machine_is_not_in_is_refused() {
        let all = [("eth0".to_owned(), "10.84.0.11".parse().unwrap())];
        for control in ["10.99.0.0/24", "eth7", "10.84.0.0", "hello"] {
            let why = check_of(Some(control), &all).unwrap_err();
            let words = format!("no interface is in hosts.control = {control}; write the network ");
            assert!(why.starts_with(&words), "{why}");
        }
        assert_eq!(check_of(Some("10.99.0.0/24, 10.84.0.0/16"), &all), Ok(()));
    }
}
