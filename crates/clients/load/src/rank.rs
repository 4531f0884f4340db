//! A load that several processes make together: where each runs, and its share of the plan.

use std::net::IpAddr;

use cpus::CpuList;
use keys::WrongValue;
use serde::{Deserialize, Serialize};

use crate::{Arrival, Pace, Plan, Rate, Source};

/// One of the processes that make a load together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rank {
    /// The machine that it runs on, as the shell knows it. [default: an error]
    pub host: String,
    /// CPUs of its load threads, a thread pinned to each. [default: an error]
    pub cpus: CpuList,
    /// Where its connections come from, an address or an interface of the host. [default: the kernel chooses]
    #[serde(default)]
    pub source: Option<Source>,
    /// The address of the server that it loads. [default: the first]
    #[serde(default)]
    pub to: Option<IpAddr>,
}

impl Rank {
    /// Which of a server's addresses, of which there is at least one, it loads.
    ///
    /// # Errors
    /// Its `to` is none of them, or it is on another machine than a server that listens on loopback; what
    /// to write.
    pub fn loads(&self, server: &[IpAddr]) -> Result<IpAddr, String> {
        let known = || server.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let address = self.to.or(server.first().copied());
        let Some(address) = address.filter(|address| server.contains(address)) else {
            let to = self.to.map_or_else(|| "(left open)".to_owned(), |to| to.to_string());
            return Err(format!(
                "rank.to = {to} is not among the addresses at which the server listens: {}; write one \
                 of them",
                known()
            ));
        };
        if address.to_canonical().is_loopback() && !self.is_here() {
            return Err(format!(
                "rank.host = {}, but the server listens at {address}, which only its own machine \
                 reaches; give target.host, or the address in target.url that {} reaches, or write \
                 rank.host = \"localhost\"",
                self.host, self.host
            ));
        }
        Ok(address)
    }

    /// Whether it runs beside toll.
    fn is_here(&self) -> bool {
        let is_loopback = |host: &str| host.parse().is_ok_and(|host: IpAddr| host.is_loopback());
        self.host == "localhost" || is_loopback(&self.host)
    }
}

impl Plan {
    /// The share of each of these ranks: connections and rates are totals, which are shared by CPUs.
    ///
    /// # Errors
    /// There is too little to share; what, and what to do.
    pub fn shared(&self, ranks: &[Rank]) -> Result<Vec<Self>, WrongValue> {
        let cpus: usize = ranks.iter().map(|rank| rank.cpus.len()).sum();
        let mut before = 0;
        let share = |rank: &Rank| {
            let part = CpuPart { before, own: rank.cpus.len(), all: cpus };
            before += part.own;
            self.share(rank, part)
        };
        ranks.iter().map(share).collect()
    }

    fn share(&self, rank: &Rank, part: CpuPart) -> Result<Self, WrongValue> {
        let connections = part.of(self.connections as u64) as usize;
        if connections == 0 {
            let why = format!(
                "connections = {} leaves none for the rank on {}; give one for each CPU of the \
                 ranks, {}, or use fewer ranks",
                self.connections, rank.host, part.all
            );
            return Err(WrongValue { key: "connections", why });
        }
        let arrival = match self.arrival {
            Arrival::Open { rate, distribution } => {
                let rate = Rate::from_thousandths(part.of(rate.thousandths()));
                let rate = rate.ok_or_else(|| {
                    let (arrival, host) = (self.arrival, &rank.host);
                    let why = format!(
                        "arrival {arrival} leaves nothing for the rank on {host}; give a higher rate"
                    );
                    WrongValue { key: "arrival", why }
                })?;
                Arrival::Open { rate, distribution }
            }
            // The rate of a connection is the same on each rank.
            Arrival::Paced { pace: Pace::Rate(all) } => {
                let own = u128::from(all) * connections as u128 / self.connections as u128;
                Arrival::Paced { pace: Pace::Rate(own.max(1) as u64) }
            }
            arrival => arrival,
        };
        Ok(Self {
            cpus: rank.cpus.first(connections),
            source: rank.source.iter().cloned().collect(),
            connections,
            arrival,
            ranks: None,
            ..self.clone()
        })
    }
}

/// The CPUs of a rank among those of all.
#[derive(Clone, Copy)]
struct CpuPart {
    before: usize,
    own: usize,
    all: usize,
}

impl CpuPart {
    /// Its share of a total; those of all ranks add up to it.
    fn of(self, total: u64) -> u64 {
        let until = |cpus: usize| u128::from(total) * cpus as u128 / self.all as u128;
        (until(self.before + self.own) - until(self.before)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ranks(cpus: &[usize]) -> Vec<Rank> {
        let rank = |count: &usize| {
            let cpus = format!("0-{}", count - 1).parse().unwrap();
            Rank { host: format!("lg{count}"), cpus, source: None, to: None }
        };
        cpus.iter().map(rank).collect()
    }

    fn plan(connections: usize, arrival: &str) -> Plan {
        Plan { connections, arrival: arrival.parse().unwrap(), ..Plan::default() }
    }

    #[test]
    fn connections_and_rates_are_shared_by_cpus() {
        let of = |plan: &Plan| {
            let shares = plan.shared(&ranks(&[1, 3, 4])).unwrap();
            let words = |share: &Plan| format!("{} {}", share.connections, share.arrival);
            shares.iter().map(words).collect::<Vec<_>>()
        };
        assert_eq!(of(&plan(80, "closed")), ["10 closed", "30 closed", "40 closed"]);
        assert_eq!(
            of(&plan(80, "poisson 2000/s")),
            ["10 poisson 250/s", "30 poisson 750/s", "40 poisson 1000/s"]
        );
        // A connection keeps its pace, and asks as often as it would elsewhere.
        assert_eq!(of(&plan(80, "paced 4s"))[1], "30 paced 4s");
        assert_eq!(of(&plan(80, "paced 2Gb/s"))[2], "40 paced 1Gb/s");
    }

    #[test]
    fn a_rank_has_the_source_and_the_cpus_of_its_place() {
        let source = Some("eth1".parse().unwrap());
        let rank = Rank { source: source.clone(), ..ranks(&[4]).remove(0) };
        let share = plan(2, "closed").shared(&[rank]).unwrap().remove(0);
        assert_eq!((share.source, share.cpus.to_string()), (Vec::from_iter(source), "0-1".into()));
    }

    #[test]
    fn a_rank_loads_an_address_of_the_server_that_it_reaches() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let rank = |host: &str, to: Option<&str>| Rank {
            host: host.to_owned(),
            to: to.map(ip),
            ..ranks(&[1]).remove(0)
        };
        let server = [ip("10.1.1.1"), ip("10.1.2.1")];
        assert_eq!(rank("lg1", None).loads(&server), Ok(server[0]));
        assert_eq!(rank("lg1", Some("10.1.2.1")).loads(&server), Ok(server[1]));
        assert!(rank("lg1", Some("10.1.3.1")).loads(&server).is_err());
        let here = [ip("127.0.0.1")];
        for host in ["localhost", "127.0.0.1"] {
            assert_eq!(rank(host, None).loads(&here), Ok(here[0]));
        }
        assert!(rank("lg1", None).loads(&here).is_err());
    }

    #[test]
    fn too_little_for_all_is_refused() {
        support::assert_golden!([
            ("2 connections", plan(2, "closed").shared(&ranks(&[1, 2, 2])).unwrap_err().why),
            (
                "uniform 0.002/s",
                plan(9, "uniform 0.002/s").shared(&ranks(&[1, 2])).unwrap_err().why
            ),
        ]);
    }

    proptest! {
        #[test]
        fn shares_add_up(cpus in proptest::collection::vec(1usize..64, 1..9), more in 0usize..5_000) {
            let ranks = ranks(&cpus);
            let total = cpus.iter().sum::<usize>() + more;
            let shares = plan(total, "closed").shared(&ranks).unwrap();
            prop_assert_eq!(shares.iter().map(|share| share.connections).sum::<usize>(), total);
            for (share, own) in shares.iter().zip(&cpus) {
                prop_assert!(share.connections >= *own, "{} of {own} CPUs", share.connections);
            }
        }
    }
}
