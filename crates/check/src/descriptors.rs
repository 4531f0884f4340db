//! Each connection is an open file of the load, and one or two of the server.

use units::thousands;

use crate::{Fix, Found, Measured, Root, bad, ok, warning};

/// Fewer do not carry a load of some thousand connections.
const FEW: u64 = 4_096;
/// Enough for the studies that open tens of thousands of connections.
const ENOUGH: u64 = 65_536;
const WANTED: u64 = 1_048_576;

pub(crate) fn item(root: &Root, measured: &Measured) -> Found {
    let limits = measured.descriptors.clone().or_why()?;
    let seen = format!(
        "{} soft, {} hard; toll takes the hard limit",
        number(limits.soft),
        number(limits.hard)
    );
    if limits.hard >= ENOUGH {
        return ok(seen);
    }
    let why = "one server process cannot hold more connections than that; toll's load and its \
               nginx need more threads and workers instead, which costs CPU time";
    let most = root.number("/proc/sys/fs/nr_open");
    let wanted = most.known().map_or(WANTED, |most| WANTED.min(*most));
    // The limit of the shell that starts toll: toll cannot change it for that shell.
    let fix = Fix::Command(format!(
        "prlimit --pid $$ --nofile={wanted}:{wanted}  # for this shell, as root"
    ));
    match limits.hard < FEW {
        true => bad(seen, why, fix),
        false => warning(seen, why, fix),
    }
}

fn number(limit: u64) -> String {
    match limit {
        u64::MAX => "no limit".to_owned(),
        limit => thousands(limit),
    }
}
