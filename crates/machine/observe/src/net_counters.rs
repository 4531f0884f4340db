//! The kernel's network counters, from `/proc/net/netstat` and `/proc/net/snmp`.
//!
//! They belong to the network namespace, so they count what others do in it too.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::{ObserveError, read};

/// The counters by group and name, as `TcpExt` and `ListenOverflows`.
///
/// Most only grow; some are levels (`Tcp` `CurrEstab`) or settings (`Tcp` `MaxConn`, -1).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NetCounters {
    groups: BTreeMap<String, BTreeMap<String, i64>>,
}

impl NetCounters {
    pub fn read() -> Result<Self, ObserveError> {
        Self::of(Path::new("/proc/self/net"))
    }

    /// The counters of the network namespace of the process `pid`.
    pub fn of_process(pid: u32) -> Result<Self, ObserveError> {
        Self::of(&Path::new("/proc").join(pid.to_string()).join("net"))
    }

    fn of(folder: &Path) -> Result<Self, ObserveError> {
        let mut all = Self::parse(&read(folder.join("snmp"))?)?;
        all.groups.extend(Self::parse(&read(folder.join("netstat"))?)?.groups);
        Ok(all)
    }

    /// The counters in the text of either file: pairs of lines that begin with the group's name,
    /// the first with the counters' names, the second with their values.
    pub fn parse(text: &str) -> Result<Self, ObserveError> {
        let malformed = |line: &str| ObserveError::Malformed {
            file: "/proc/net/snmp or netstat",
            what: format!("`{line}`"),
        };
        let mut groups = BTreeMap::new();
        let mut lines = text.lines();
        while let Some(names) = lines.next() {
            let values = lines.next().ok_or_else(|| malformed(names))?;
            let (group, counters) = pair(names, values).ok_or_else(|| malformed(values))?;
            groups.insert(group.to_owned(), counters);
        }
        Ok(Self { groups })
    }

    /// One counter; `None` where this kernel has none of that name.
    pub fn get(&self, group: &str, name: &str) -> Option<i64> {
        self.groups.get(group)?.get(name).copied()
    }

    /// By how much each counter differs from `earlier`; those that only one side has are left
    /// out.
    pub fn since(&self, earlier: &Self) -> Self {
        let groups = self
            .groups
            .iter()
            .map(|(group, counters)| {
                let differences = counters
                    .iter()
                    .filter_map(|(name, now)| {
                        Some((name.clone(), now.wrapping_sub(earlier.get(group, name)?)))
                    })
                    .collect();
                (group.clone(), differences)
            })
            .collect();
        Self { groups }
    }
}

fn pair<'a>(names: &'a str, values: &str) -> Option<(&'a str, BTreeMap<String, i64>)> {
    let (group, names) = names.split_once(':')?;
    let (same_group, values) = values.split_once(':')?;
    let (names, values) = (names.split_ascii_whitespace(), values.split_ascii_whitespace());
    if group != same_group || names.clone().count() != values.clone().count() {
        return None;
    }
    let counters = names.map(str::to_owned).zip(values.map(number));
    Some((group, counters.map(|(name, value)| Some((name, value?))).collect::<Option<_>>()?))
}

/// The kernel prints counters as unsigned and some settings as signed; a counter beyond 2^63
/// wraps, which differences undo.
fn number(text: &str) -> Option<i64> {
    text.parse().ok().or_else(|| text.parse::<u64>().ok().map(u64::cast_signed))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use proptest::prelude::*;

    const BEFORE: &str = "\
TcpExt: ListenOverflows ListenDrops TCPTimeouts
TcpExt: 3 4 5
IpExt: InOctets
IpExt: 18446744073709551615
";
    const AFTER: &str = "\
TcpExt: ListenOverflows ListenDrops TCPTimeouts TCPNew
TcpExt: 10 4 6 1
IpExt: InOctets
IpExt: 9
Tcp: MaxConn
Tcp: -1
";

    #[test]
    fn differences_by_name() {
        let before = NetCounters::parse(BEFORE).unwrap();
        let after = NetCounters::parse(AFTER).unwrap();
        assert_eq!(after.get("Tcp", "MaxConn"), Some(-1));
        assert_eq!(after.get("TcpExt", "ListenDrops"), Some(4));
        assert_eq!(after.get("TcpExt", "NoSuch"), None);
        let change = after.since(&before);
        assert_eq!(change.get("TcpExt", "TCPNew"), None);
        assert_eq!(change.get("IpExt", "InOctets"), Some(10));
        assert_eq!(change.get("TcpExt", "ListenOverflows"), Some(7));
        assert_eq!(change.get("TcpExt", "ListenDrops"), Some(0));
        assert_eq!(change.get("TcpExt", "TCPTimeouts"), Some(1));
    }

    #[test]
    fn malformed_text_is_an_error() {
        for text in [
            "Tcp: A B\n",
            "Tcp: A B\nTcp: 1\n",
            "Tcp: A\nUdp: 1\n",
            "Tcp: A\nTcp: x\n",
            "Tcp A\nTcp 1\n",
        ] {
            assert!(NetCounters::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_connection_is_counted() {
        let before = NetCounters::read().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _connection = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let change = NetCounters::read().unwrap().since(&before);
        assert!(change.get("Tcp", "ActiveOpens").unwrap() >= 1);
        assert!(change.get("TcpExt", "ListenOverflows").is_some());
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "(Tcp:?( [A-Z0-9-]{1,3}){0,3}\n){0,4}") {
            let _ = NetCounters::parse(&text);
        }
    }
}
