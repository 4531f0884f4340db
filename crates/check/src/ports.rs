//! An outgoing connection takes a port of its address, which limits how many can be open at once to
//! one server.

use units::thousands;

use crate::{Fix, Found, Root, bad, ok, warning};

/// The kernel's own choice, 32768 to 60999, has 28,232.
const USUAL: u64 = 28_000;
const FEW: u64 = 4_000;

pub(crate) fn item(root: &Root) -> Found {
    let file = "/proc/sys/net/ipv4/ip_local_port_range";
    let [first, last] = root.numbers::<u64, 2>(file).or_why()?;
    let ports = (last + 1).saturating_sub(first);
    let seen = format!("{} from one address ({first} to {last})", thousands(ports));
    if ports >= USUAL {
        return ok(seen);
    }
    let why = "a load with more connections from one address fails with `ports`; over loopback \
               toll uses many addresses, other clients use one";
    let fix = Fix::sysctl(&[("net.ipv4.ip_local_port_range", "10240 65535")]);
    match ports < FEW {
        true => bad(seen, why, fix),
        false => warning(seen, why, fix),
    }
}
