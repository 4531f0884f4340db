//! An outgoing connection takes a port of its address, which limits how many can be open at once to
//! one server.

use units::thousands;

use super::{Fix, Item, Root};

const NAME: &str = "ports";
/// The kernel's own choice, 32768 to 60999, has 28,232.
const USUAL: u64 = 28_000;
const FEW: u64 = 4_000;

pub(super) fn item(root: &Root) -> Item {
    let file = "/proc/sys/net/ipv4/ip_local_port_range";
    let [first, last] = match root.numbers::<u64, 2>(file) {
        crate::Fact::Known(range) => range,
        crate::Fact::Unknown { not_available_here } => {
            return Item::not_available(NAME, not_available_here);
        }
    };
    let ports = (last + 1).saturating_sub(first);
    let seen = format!("{} from one address ({first} to {last})", thousands(ports));
    if ports >= USUAL {
        return Item::ok(NAME, seen);
    }
    let why = "a load with more connections from one address fails with `ports`; over loopback \
               toll uses many addresses, other clients use one";
    let fix = Fix::sysctl(&[("net.ipv4.ip_local_port_range", "10240 65535")]);
    match ports < FEW {
        true => Item::bad(NAME, seen, why, fix),
        false => Item::warning(NAME, seen, why, fix),
    }
}
