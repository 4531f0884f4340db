//! What ranks did: a line's part for each, what all of them give the verdict, and where their windows
//! are not one.
//!
//! No two clocks are compared. A rank began between toll's start signal and the arrival of its report,
//! both by toll's clock: that is `begun_within_ns`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use cpus::CpuList;
use load::Source;
use observe::CpuShare;
use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::evidence::{Evidence, NetworkEvidence, QuotaEvidence};
use crate::mismatch::Mismatch;

/// How late a rank may have begun: this share of the window, or this time where that is more.
const LATE_SHARE: f64 = 0.01;
const LATE: Nanos = Nanos(5_000_000);

/// How far the length of a rank's window may be from what was asked for, as a share of it.
const WINDOW_OFF: f64 = 0.001;

/// How far it may be where another program loads, which ends by its own clock: wrk looks at that every
/// 100 ms, and a program that does not report its window takes some time to start and to end.
const OTHERS_OFF: Nanos = Nanos(150_000_000);

/// How long a rank may send nothing while it loads. It sends four times per second, so one that was silent
/// for longer had stood still.
const SILENT: Nanos = Nanos(1_000_000_000);

/// What the ranks of a load report.
#[derive(Debug)]
pub struct RankReport {
    /// What each did that gave a result.
    pub figures: Vec<RankFigures>,
    /// Those that gave none, by their numbers, each with why.
    pub lost: Vec<(usize, String)>,
    /// The MPI that they ran on, with its version.
    pub mpi: Option<String>,
}

/// What one rank did in a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankFigures {
    /// Counted from 1, in the order of the study.
    pub rank: usize,
    /// The machine that it ran on.
    pub host: String,
    /// Its CPUs, a load thread on each.
    pub cpus: CpuList,
    /// Where its connections came from, where that was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The server's address that it loaded.
    pub to: IpAddr,
    /// How many connections it had open at once.
    pub connections: usize,
    /// Operations that completed within its window.
    pub completed: u64,
    /// Operations that failed, by error kind.
    pub errors: BTreeMap<String, u64>,
    /// Proven bytes of bodies.
    pub body: u64,
    /// How long its window was by its own clock.
    pub window_ns: u64,
    /// It began at most this long after toll's start signal.
    pub begun_within_ns: u64,
    /// The longest time without a message from it while it loaded.
    #[serde(default)]
    pub silence_ns: u64,
    #[serde(flatten)]
    pub client: ClientFigures,
}

/// What a client used of its machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientFigures {
    /// CPU time of its load threads within the window.
    pub cpu_ns: Option<u64>,
    /// Its busiest load thread: running, or ready to run and waiting for its CPU.
    pub busy: Option<f64>,
    /// The part of `busy` that was waiting.
    pub waiting: Option<f64>,
    /// The CPU quota that it was under, where it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<QuotaEvidence>,
    /// What the hypervisor took of its CPU from which it took most.
    #[serde(flatten, with = "crate::evidence::steal", skip_serializing_if = "Option::is_none")]
    pub steal: Option<CpuShare>,
    /// The client's ends of connections, looked at once within the window, by their congestion control.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub congestion: BTreeMap<String, u64>,
    /// Its interface; absent where the server was on the same machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkEvidence>,
}

impl RankFigures {
    /// Such as `rank 2 on lg1`.
    pub fn name(&self) -> String {
        name(self.rank, &self.host)
    }

    /// Where its window is not the one that was asked for, or not all of it was loaded.
    fn mismatches(&self, asked: Nanos, is_toll: bool) -> impl Iterator<Item = Mismatch> {
        let latest = LATE.0.max((asked.0 as f64 * LATE_SHARE) as u64);
        let is_late = self.begun_within_ns > latest;
        let share = (asked.0 as f64 * WINDOW_OFF) as u64;
        let most_off = if is_toll { share } else { share.max(OTHERS_OFF.0) };
        let differs = |what: &str, asked: String, obtained: String| {
            Mismatch::new(what, asked, format!("{obtained} on {}", self.name()))
        };
        let begun = is_late.then(|| {
            let within = |nanos| format!("within {}", Nanos(nanos));
            differs("begin", within(latest), within(self.begun_within_ns))
        });
        let window = (self.window_ns.abs_diff(asked.0) > most_off)
            .then(|| differs("window", asked.to_string(), Nanos(self.window_ns).to_string()));
        let silence = (self.silence_ns > SILENT.0).then(|| {
            differs("silence", format!("at most {SILENT}"), Nanos(self.silence_ns).to_string())
        });
        [begun, window, silence].into_iter().flatten()
    }
}

/// How a rank is named, by its number from 1.
pub fn name(rank: usize, host: &str) -> String {
    format!("rank {rank} on {host}")
}

impl RankReport {
    pub(crate) fn lost_numbers(&self) -> Vec<usize> {
        self.lost.iter().map(|(rank, _)| *rank).collect()
    }

    /// Why ranks gave no result, where any gave none.
    pub(crate) fn lost_in_words(&self) -> Option<String> {
        let mut why: Vec<&str> = self.lost.iter().map(|(_, why)| why.as_str()).collect();
        // Where all are gone, for one reason.
        why.dedup();
        (!why.is_empty()).then(|| why.join("; "))
    }

    /// How many load threads all of them have.
    pub(crate) fn threads(&self) -> usize {
        self.figures.iter().map(|rank| rank.cpus.len()).sum()
    }

    /// CPU time of all load threads; `None` where a rank did not report it.
    pub(crate) fn cpu_ns(&self) -> Option<u64> {
        let cpu = self.figures.iter().map(|rank| rank.client.cpu_ns).sum();
        self.lost.is_empty().then_some(cpu)?
    }

    /// Where the ranks' windows are not as long as this, or not all of them was loaded. Where a rank was
    /// lost, that says enough.
    pub(crate) fn mismatches(&self, asked: Nanos, is_toll: bool) -> Vec<Mismatch> {
        let whole = self.figures.iter().filter(|_| self.lost.is_empty());
        whole.flat_map(|rank| rank.mismatches(asked, is_toll)).collect()
    }

    /// The connections of all of them by their congestion control.
    pub(crate) fn congestion(&self) -> BTreeMap<String, u64> {
        let mut all = BTreeMap::new();
        for (name, count) in self.figures.iter().flat_map(|rank| &rank.client.congestion) {
            *all.entry(name.clone()).or_default() += count;
        }
        all
    }

    /// Where ranks whose connections were seen had other congestion controls than others.
    pub(crate) fn congestion_mismatch(&self) -> Option<Mismatch> {
        let seen = self.figures.iter().filter(|rank| !rank.client.congestion.is_empty());
        let of_rank = |rank: &RankFigures| {
            let controls: Vec<&str> = rank.client.congestion.keys().map(String::as_str).collect();
            (controls.join(" and "), rank.name())
        };
        let seen: Vec<(String, String)> = seen.map(of_rank).collect();
        let is_same = seen.windows(2).all(|two| two[0].0 == two[1].0);
        let words = seen.iter().map(|(controls, name)| format!("{controls} on {name}"));
        (!is_same).then(|| {
            let obtained = words.collect::<Vec<_>>().join(", ");
            Mismatch::new("client_congestion", "the same on all ranks", obtained)
        })
    }

    /// The evidence of a trial whose client they are: the one of them that a CPU quota held back most, else the
    /// busiest, is the client that is judged, and of all interfaces the fullest is the network.
    pub(crate) fn evidence(&self, of_server: Evidence) -> Evidence {
        let ranks = &self.figures;
        let busy = |rank: &RankFigures| rank.client.busy.unwrap_or_default();
        let held_back = |rank: &RankFigures| {
            let quota = rank.client.quota.filter(QuotaEvidence::is_limit);
            quota.map_or(0.0, |quota| quota.throttled)
        };
        let judged = ranks.iter().max_by(|a, b| {
            held_back(a).total_cmp(&held_back(b)).then_with(|| busy(a).total_cmp(&busy(b)))
        });
        let quotas = ranks.iter().filter_map(|rank| rank.client.quota);
        let steal = ranks.iter().filter_map(|rank| rank.client.steal).chain(of_server.steal);
        let of_rank = |rank: &RankFigures| {
            let network = rank.client.network.clone()?;
            let interface = format!("{}: {}", rank.name(), network.interface);
            Some(NetworkEvidence { interface, ..network })
        };
        let networks = ranks.iter().filter_map(of_rank).chain(of_server.network.clone());
        Evidence {
            client_quota: quotas.max_by(|a, b| a.throttled.total_cmp(&b.throttled)),
            client_busy: judged.and_then(|rank| rank.client.busy),
            client_waiting: judged.and_then(|rank| rank.client.waiting),
            client_rank: judged.map(RankFigures::name),
            steal: CpuShare::most(steal),
            network: NetworkEvidence::nearest(networks),
            ..of_server
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TrialRecord;
    use crate::limit::Limit;
    use crate::nouns::Nouns;
    use crate::testing::{example, share};
    use crate::verdict::Verdict;

    const WINDOW: Nanos = Nanos(600_000_000);

    fn rank(number: usize) -> RankFigures {
        RankFigures {
            rank: number,
            host: format!("lg{number}"),
            cpus: CpuList::from(0),
            source: None,
            to: IpAddr::from([10, 1, 1, 1]),
            connections: 32,
            completed: 20,
            errors: BTreeMap::new(),
            body: 20 << 20,
            window_ns: WINDOW.0,
            begun_within_ns: 400_000,
            silence_ns: 250_000_000,
            client: ClientFigures {
                cpu_ns: Some(200_000_000),
                busy: Some(0.4),
                waiting: Some(0.0),
                ..ClientFigures::default()
            },
        }
    }

    /// Two ranks that did what was asked, but for this change.
    fn report(change: impl FnOnce(&mut [RankFigures])) -> RankReport {
        let mut figures = vec![rank(1), rank(2)];
        change(&mut figures);
        RankReport { figures, lost: Vec::new(), mpi: None }
    }

    /// How they differ from what was asked of toll's own client.
    fn mismatches(change: impl FnOnce(&mut [RankFigures])) -> Vec<String> {
        let mismatches = report(change).mismatches(WINDOW, true);
        mismatches.iter().map(ToString::to_string).collect()
    }

    /// What limited a trial of a server that this says of.
    fn verdict(of_server: Evidence, change: impl FnOnce(&mut [RankFigures])) -> Verdict {
        Verdict::of(report(change).evidence(Evidence { completed: 40, ..of_server }))
    }

    /// Of a server that is half busy.
    fn half_busy() -> Evidence {
        Evidence { server_busy: Some(0.5), ..Evidence::default() }
    }

    #[test]
    fn the_clients_cpu_time_is_that_of_all_ranks() {
        assert_eq!(mismatches(|_| {}), [] as [String; 0]);
        assert_eq!(report(|_| {}).cpu_ns(), Some(400_000_000));
        assert_eq!(report(|ranks| ranks[1].client.cpu_ns = None).cpu_ns(), None);
    }

    #[test]
    fn the_client_may_have_used_the_cpus_of_all_ranks_and_no_more() {
        // 600 ms and a tick of each CPU; this machine has one.
        let used = |ns: u64| {
            let mut line = TrialRecord { ranks: report(|_| {}).figures, ..example() };
            line.cpu_ns.client = Some(ns);
            line
        };
        assert_eq!(used(1_220_000_000).excess_cpu_time(1), None);
        assert!(used(1_220_000_001).excess_cpu_time(1).unwrap().contains("2 CPUs"));
    }

    #[test]
    fn a_rank_that_may_have_begun_late_is_named() {
        let late = mismatches(|ranks| ranks[1].begun_within_ns = 6_100_000);
        assert!(late[0].starts_with("begin: ") && late[0].ends_with(" rank 2 on lg2"), "{late:?}");
        assert!(mismatches(|ranks| ranks[1].begun_within_ns = 6_000_000).is_empty());
        // Of a short window 1% is less than can be known.
        let short = |begun_within_ns| {
            let window = Nanos(100_000_000);
            let rank = RankFigures { begun_within_ns, window_ns: window.0, ..rank(1) };
            rank.mismatches(window, true).count()
        };
        assert_eq!((short(5_000_000), short(5_000_001)), (0, 1));
    }

    #[test]
    fn a_window_of_another_length_is_named() {
        for (window_ns, is_right) in
            [(600_600_000, true), (600_600_001, false), (599_400_000, true), (599_399_999, false)]
        {
            let found = mismatches(|ranks| ranks[0].window_ns = window_ns);
            assert_eq!(found.is_empty(), is_right, "{window_ns}: {found:?}");
            assert!(
                found
                    .iter()
                    .all(|why| { why.starts_with("window: ") && why.ends_with(" rank 1 on lg1") })
            );
        }
    }

    #[test]
    fn another_program_may_end_its_window_a_little_later() {
        let of_wrk = |window_ns| {
            let rank = RankFigures { window_ns, ..rank(1) };
            rank.mismatches(WINDOW, false).count()
        };
        assert_eq!((of_wrk(750_000_000), of_wrk(450_000_000)), (0, 0));
        assert_eq!((of_wrk(750_000_001), of_wrk(449_999_999)), (1, 1));
    }

    #[test]
    fn a_rank_that_stood_still_is_named() {
        let found = mismatches(|ranks| ranks[1].silence_ns = 1_000_000_001);
        assert!(found[0].starts_with("silence: ") && found[0].contains("rank 2"), "{found:?}");
        assert!(mismatches(|ranks| ranks[1].silence_ns = 1_000_000_000).is_empty());
    }

    #[test]
    fn the_busiest_rank_is_the_client_that_is_judged() {
        let verdict = verdict(half_busy(), |ranks| ranks[1].client.busy = Some(0.93));
        assert_eq!(verdict.limit, Limit::ClientCpu);
        let reason = verdict.reason(Nouns::USUAL);
        assert!(reason.contains("rank 2 on lg2") && reason.contains("93.0%"), "{reason}");
        assert!(verdict.remedy().contains("[[rank]] cpus"));
    }

    #[test]
    fn a_rank_that_a_quota_holds_back_is_judged_before_a_busy_one() {
        let verdict = verdict(half_busy(), |ranks| {
            ranks[0].client.busy = Some(0.93);
            let quota = QuotaEvidence { cpus: 0.3, throttled: 0.4, is_shared: false };
            ranks[1].client.quota = Some(quota);
        });
        assert_eq!(verdict.limit, Limit::CpuQuota);
        let reason = verdict.reason(Nouns::USUAL);
        assert!(reason.contains("rank 2 on lg2") && reason.contains("40.0%"), "{reason}");
    }

    #[test]
    fn what_a_hypervisor_takes_of_any_rank_is_noise() {
        let of_server = Evidence { steal: share(0.05), ..half_busy() };
        let verdict = verdict(of_server, |ranks| ranks[0].client.steal = share(0.2));
        assert_eq!((verdict.limit, verdict.evidence.steal), (Limit::Noise, share(0.2)));
    }

    #[test]
    fn the_fullest_interface_of_all_is_the_network_that_is_judged() {
        let carried = |used| NetworkEvidence {
            interface: "eth1".to_owned(),
            bits_per_s: 1_000_000_000,
            used: Some(used),
            ..NetworkEvidence::default()
        };
        let of_server = Evidence { network: Some(carried(0.7)), ..half_busy() };
        let verdict = verdict(of_server, |ranks| {
            ranks[0].client.network = Some(carried(0.2));
            ranks[1].client.network = Some(carried(0.95));
        });
        assert_eq!(verdict.limit, Limit::Network);
        let reason = verdict.reason(Nouns::USUAL);
        assert!(reason.contains("rank 2") && reason.contains("eth1"), "{reason}");
    }

    #[test]
    fn ranks_under_different_congestion_controls_are_a_mismatch() {
        let with = |controls: [&[(&str, u64)]; 2]| {
            report(|ranks| {
                for (rank, controls) in ranks.iter_mut().zip(controls) {
                    let of_rank = controls.iter().map(|(name, count)| ((*name).to_owned(), *count));
                    rank.client.congestion = of_rank.collect();
                }
            })
        };
        let same = with([&[("cubic", 32)], &[("cubic", 31)]]);
        assert_eq!(same.congestion(), [("cubic".to_owned(), 63)].into());
        assert_eq!(same.congestion_mismatch(), None);
        // Connections that were not seen prove nothing.
        assert_eq!(with([&[("cubic", 32)], &[]]).congestion_mismatch(), None);
        let mismatch = with([&[("cubic", 32)], &[("bbr", 2), ("cubic", 30)]]).congestion_mismatch();
        let obtained = mismatch.unwrap().obtained;
        assert_eq!(obtained, "cubic on rank 1 on lg1, bbr and cubic on rank 2 on lg2");
    }

    #[test]
    fn of_a_load_that_lost_a_rank_the_reason_is_told_once() {
        let lost = |figures, lost: &[(usize, &str)]| RankReport {
            figures,
            lost: lost.iter().map(|(rank, why)| (*rank, (*why).to_owned())).collect(),
            mpi: None,
        };
        let late = RankFigures { begun_within_ns: 9_000_000, ..rank(1) };
        let one = lost(vec![late], &[(2, "rank 2 on lg2: no result")]);
        assert_eq!((one.lost_numbers(), one.cpu_ns()), (vec![2], None));
        assert!(one.mismatches(WINDOW, true).is_empty());
        assert_eq!(one.lost_in_words().unwrap(), "rank 2 on lg2: no result");
        let all = lost(Vec::new(), &[(1, "mpirun ended"), (2, "mpirun ended")]);
        assert_eq!(all.lost_in_words().unwrap(), "mpirun ended");
        assert_eq!(report(|_| {}).lost_in_words(), None);
    }
}
