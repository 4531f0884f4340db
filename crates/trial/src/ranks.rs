//! What ranks did: a line's part for each, what all of them give the verdict, and where their windows
//! are not one.
//!
//! No two clocks are compared. A rank began between toll's start signal and the arrival of its report,
//! both by toll's clock: that is `begun_within_ns`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use cpus::CpuList;
use load::Source;
use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::Line;
use crate::evidence::NetworkEvidence;
use crate::mismatch::Mismatch;
use crate::verdict::Verdict;

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
    /// What the hypervisor took of its CPU from which it took most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal: Option<f64>,
    /// Its interface; absent where the server was on the same machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkEvidence>,
}

impl ClientFigures {
    /// Of the client of a trial on this machine.
    #[must_use]
    pub fn of(line: &Line) -> Self {
        let evidence = &line.verdict.evidence;
        Self {
            cpu_ns: line.cpu_ns.client,
            busy: evidence.client_busy,
            waiting: evidence.client_waiting,
            steal: evidence.steal,
            network: evidence.network.clone(),
        }
    }
}

impl RankFigures {
    /// Such as `rank 2 on lg1`.
    #[must_use]
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
#[must_use]
pub fn name(rank: usize, host: &str) -> String {
    format!("rank {rank} on {host}")
}

impl Line {
    /// The line with what each rank did. Its client's figures are theirs: CPU time is their sum, and
    /// the verdict judges the busiest of them, and of all interfaces the fullest.
    ///
    /// `asked` is the length of the window that was asked for; `lost` has the ranks that gave no
    /// result, each with why.
    #[must_use]
    pub fn with_ranks(
        mut self,
        ranks: Vec<RankFigures>,
        asked: Nanos,
        lost: &[(usize, String)],
    ) -> Self {
        if !lost.is_empty() {
            self.valid = false;
            self.lost_ranks = lost.iter().map(|(rank, _)| *rank).collect();
            let mut why: Vec<&str> = lost.iter().map(|(_, why)| why.as_str()).collect();
            // Where all are gone, for one reason.
            why.dedup();
            self.load_error = Some(why.join("; "));
        } else if !self.interrupted {
            let is_toll = self.receipt.obtained.client.is_none();
            let mismatch = ranks.iter().flat_map(|rank| rank.mismatches(asked, is_toll));
            self.receipt.mismatch.extend(mismatch);
            self.valid &= self.receipt.mismatch.is_empty();
        }
        let cpu: Option<u64> = ranks.iter().map(|rank| rank.client.cpu_ns).sum();
        self.cpu_ns.client = cpu.filter(|_| lost.is_empty());
        let evidence = &mut self.verdict.evidence;
        let busy = |rank: &&RankFigures| rank.client.busy.unwrap_or_default();
        if let Some(rank) = ranks.iter().max_by(|a, b| busy(a).total_cmp(&busy(b))) {
            (evidence.client_busy, evidence.client_waiting) =
                (rank.client.busy, rank.client.waiting);
            evidence.client_rank = Some(rank.name());
        }
        let steal = ranks.iter().filter_map(|rank| rank.client.steal).chain(evidence.steal);
        evidence.steal = steal.max_by(f64::total_cmp);
        let of_rank = |rank: &RankFigures| {
            let network = rank.client.network.clone()?;
            let interface = format!("{}: {}", rank.name(), network.interface);
            Some(NetworkEvidence { interface, ..network })
        };
        evidence.network = NetworkEvidence::nearest(
            ranks.iter().filter_map(of_rank).chain(evidence.network.take()),
        );
        self.verdict = Verdict::of(self.verdict.evidence);
        self.ranks = ranks;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limit;
    use crate::testing::example;

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
                steal: None,
                network: None,
            },
        }
    }

    /// A trial in which nothing failed.
    fn line() -> Line {
        let mut line = example();
        line.verdict.evidence.failed = 0;
        line
    }

    fn with(change: impl FnOnce(&mut [RankFigures])) -> Line {
        let mut ranks = [rank(1), rank(2)];
        change(&mut ranks);
        line().with_ranks(ranks.into(), WINDOW, &[])
    }

    #[test]
    fn the_clients_cpu_time_is_that_of_all_ranks() {
        let line = with(|_| {});
        assert!(line.valid, "{:?}", line.receipt.mismatch);
        assert_eq!((line.cpu_ns.client, line.ranks.len()), (Some(400_000_000), 2));
        assert_eq!(with(|ranks| ranks[1].client.cpu_ns = None).cpu_ns.client, None);
    }

    #[test]
    fn the_client_may_have_used_the_cpus_of_all_ranks_and_no_more() {
        // 600 ms and a tick of each CPU; this machine has one.
        let used = |ns: u64| with(|ranks| ranks[0].client.cpu_ns = Some(ns - 200_000_000));
        assert_eq!(used(1_220_000_000).excess_cpu_time(1), None);
        let excess = used(1_220_000_001).excess_cpu_time(1).unwrap();
        assert_eq!(excess, "more CPU time of the client than 2 CPUs can give");
    }

    #[test]
    fn a_rank_that_may_have_begun_late_is_named() {
        let late = with(|ranks| ranks[1].begun_within_ns = 6_100_000);
        assert!(!late.valid);
        assert_eq!(
            late.why_invalid().unwrap(),
            "begin: asked within 6ms, got within 6.1ms on rank 2 on lg2"
        );
        assert!(with(|ranks| ranks[1].begun_within_ns = 6_000_000).valid);
        // Of a short window 1% is less than can be known.
        let short = |begun_within_ns| {
            let window = Nanos(100_000_000);
            let rank = RankFigures { begun_within_ns, window_ns: window.0, ..rank(1) };
            line().with_ranks(vec![rank], window, &[]).valid
        };
        assert!(short(5_000_000) && !short(5_000_001));
    }

    #[test]
    fn a_window_of_another_length_is_named() {
        for (window_ns, is_right) in
            [(600_600_000, true), (600_600_001, false), (599_400_000, true), (599_399_999, false)]
        {
            let line = with(|ranks| ranks[0].window_ns = window_ns);
            assert_eq!(line.valid, is_right, "{window_ns}");
            if !is_right {
                let why = line.why_invalid().unwrap();
                assert!(
                    why.starts_with("window: asked 600ms, got ") && why.ends_with("rank 1 on lg1"),
                    "{why}"
                );
            }
        }
        let mut interrupted = line();
        interrupted.interrupted = true;
        let short = RankFigures { window_ns: 1, ..rank(1) };
        assert!(interrupted.with_ranks(vec![short], WINDOW, &[]).receipt.mismatch.is_empty());
    }

    #[test]
    fn another_program_may_end_its_window_a_little_later() {
        let of_wrk = |window_ns| {
            let mut line = line();
            line.receipt.obtained.client = Some("wrk 4.1.0".to_owned());
            let rank = RankFigures { window_ns, ..rank(1) };
            line.with_ranks(vec![rank], WINDOW, &[]).valid
        };
        assert!(of_wrk(750_000_000) && of_wrk(450_000_000));
        assert!(!of_wrk(750_000_001) && !of_wrk(449_999_999));
    }

    #[test]
    fn a_rank_that_stood_still_is_named() {
        let line = with(|ranks| ranks[1].silence_ns = 1_000_000_001);
        let why = line.why_invalid().unwrap();
        let words = ("silence: asked at most 1s, got 1", "s on rank 2 on lg2");
        assert!(why.starts_with(words.0) && why.ends_with(words.1), "{why}");
        assert!(with(|ranks| ranks[1].silence_ns = 1_000_000_000).valid);
    }

    #[test]
    fn the_busiest_rank_is_the_client_that_is_judged() {
        let line = with(|ranks| ranks[1].client.busy = Some(0.93));
        assert_eq!(line.verdict.limit, Limit::ClientCpu);
        let reason = line.reason();
        assert!(
            reason.starts_with(
                "the client's CPU: the busiest load thread of rank 2 on lg2 was 93.0% busy"
            ),
            "{reason}"
        );
        assert!(line.verdict.remedy().contains("[[rank]] cpus"));
    }

    #[test]
    fn what_a_hypervisor_takes_of_any_rank_is_noise() {
        let mut line = line();
        line.verdict.evidence.server_busy = Some(0.5);
        line.verdict.evidence.steal = Some(0.05);
        let client = ClientFigures { steal: Some(0.2), ..rank(1).client };
        let line = line.with_ranks(vec![RankFigures { client, ..rank(1) }], WINDOW, &[]);
        assert_eq!((line.verdict.limit, line.verdict.evidence.steal), (Limit::Noise, Some(0.2)));
    }

    #[test]
    fn the_fullest_interface_of_all_is_the_network_that_is_judged() {
        let carried = |used| NetworkEvidence {
            interface: "eth1".to_owned(),
            bits_per_s: 1_000_000_000,
            used: Some(used),
            ..NetworkEvidence::default()
        };
        let mut line = line();
        line.verdict.evidence.server_busy = Some(0.5);
        line.verdict.evidence.network = Some(carried(0.7));
        let ranks = [0.2, 0.95].map(|used| {
            let number = 1 + usize::from(used > 0.5);
            let client = ClientFigures { network: Some(carried(used)), ..rank(1).client };
            RankFigures { client, ..rank(number) }
        });
        let line = line.with_ranks(ranks.into(), WINDOW, &[]);
        assert_eq!(line.verdict.limit, Limit::Network);
        assert!(line.reason().contains("rank 2 on lg2: eth1 carried"), "{}", line.reason());
    }

    #[test]
    fn a_lost_rank_makes_the_trial_invalid() {
        let lost = [(2, "rank 2 on lg2: no result".to_owned())];
        let line = line().with_ranks(vec![rank(1)], WINDOW, &lost);
        assert_eq!(
            (line.valid, line.lost_ranks.as_slice(), line.cpu_ns.client),
            (false, &[2][..], None)
        );
        assert_eq!(line.why_invalid().unwrap(), "rank 2 on lg2: no result");
        let all = [1, 2].map(|rank| (rank, "mpirun ended".to_owned()));
        let line = self::line().with_ranks(Vec::new(), WINDOW, &all);
        assert_eq!(line.why_invalid().unwrap(), "mpirun ended");
    }
}
