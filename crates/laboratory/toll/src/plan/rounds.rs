//! From trials to a plan: the costs of each round, and the traffic itself beside them.

use capacity::{Costs, Plan};
use journal::TrialLine;

use super::arguments::Arguments;
use super::by_round::{Rounds, counted};
use super::cells::Cells;
use super::energy::Energy;
use super::lever_outcome::Scale;
use super::outcome::PlanOutcome;
use super::parts::{AT_A_QUARTER, TRAFFIC};
use super::savings;
use super::scaling;
use super::traffic::PlannedTraffic;
use super::tried::Tried;
use crate::Failure;

/// `several` are the trials of the traffic on several cores, where this machine has them.
pub(super) fn outcome(
    arguments: &Arguments,
    wanted: &PlannedTraffic,
    cells: &Cells,
    tried: Option<&Tried>,
    lines: &[TrialLine],
    several: &[TrialLine],
) -> Result<PlanOutcome, Failure> {
    let rounds = Rounds::of(lines);
    let several = counted(several);
    let today = cells.unchanged("");
    let costs: Vec<Costs> = rounds.costs(&today).into_iter().map(|(_, costs)| costs).collect();
    let busy = arguments.busy();
    let traffic = &wanted.traffic;
    let none = |_| {
        Failure::measurement(
            "no round has a valid trial of each part; toll report shows what became of them",
        )
    };
    let mut plan = Plan::of(traffic, &costs, busy).map_err(none)?;
    let (scaling, mut not_measured) = match costs.get(costs.len() / 2) {
        Some(costs) => scaling::of(&several, costs, traffic),
        None => Default::default(),
    };
    let chosen = scaling::chosen(&scaling, plan.cores.median);
    let (scaled_as_on, factor) = match chosen {
        Some(of) => {
            plan = plan.scaled(&of.rounds).map_err(none)?;
            (Some(of.cores), of.over_one_core.median)
        }
        None => (None, 1.0),
    };
    let scale = Scale { busy, factor };
    let has_quarter = arguments.levers.is_none();
    let quarter = has_quarter
        .then(|| rounds.check(&format!("{TRAFFIC}{AT_A_QUARTER}"), &cells.unchanged(AT_A_QUARTER)));
    if several.is_empty() {
        not_measured.push(
            "how it scales over several cores: this machine has one beside the client's".to_owned(),
        );
    }
    if wanted.resumed.get() == 0 {
        not_measured.push("resumption: the traffic has none".to_owned());
    }
    let check = rounds.check(TRAFFIC, &today)?;
    Ok(PlanOutcome {
        server: arguments.server.clone(),
        system: arguments.system.made().map(str::to_owned),
        certificate_key: arguments.certificate_key,
        http: arguments.http,
        price_per_hour: arguments.price.map(|price| price * plan.cores.median),
        traffic: wanted.clone(),
        plan,
        scaling,
        scaled_as_on,
        scale,
        check,
        quarter: quarter.transpose()?,
        not_so_busy: rounds.other_busy(&cells.cases),
        levers: tried.map(|tried| savings::of(tried, &rounds, &today, scale, lines)),
        device: None,
        not_measured,
        latency: arguments.latency.as_ref().map(|limit| limit.judge(&counted(lines))),
        memory: None,
        links: Vec::new(),
        cpu_quota: None,
        energy: Energy::of(&counted(lines)),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use clap::Parser;

    use ::load::Http;
    use study::Metric;
    use trial::Limit;

    use super::super::bench::of_plan;
    use super::super::cells::{CORRECTIONS, Case, Rates, Window};
    use super::super::parts::{FULL, OTHER, REQUESTS, RESUMED};
    use super::super::words;
    use super::*;
    use keys::full;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        plan: Arguments,
    }

    const TRAFFIC_OF_IT: [&str; 13] = [
        "plan",
        "--new-connections",
        "1000/s",
        "--requests-per-connection",
        "8",
        "--resumed",
        "60%",
        "--object",
        "16KiB",
        "--busy",
        "50%",
        "--price",
        "1/h",
    ];

    /// Of that traffic, with more flags.
    pub(in super::super) fn arguments(flags: &[&str]) -> Arguments {
        Command::parse_from(TRAFFIC_OF_IT.iter().chain(flags)).plan
    }

    fn plan(lines: &[TrialLine]) -> Result<PlanOutcome, Failure> {
        planned("1000/s", lines, &[])
    }

    fn planned(
        rate: &str,
        lines: &[TrialLine],
        several: &[TrialLine],
    ) -> Result<PlanOutcome, Failure> {
        let Command { plan: arguments } = Command::parse_from(
            TRAFFIC_OF_IT.map(|word| if word == "1000/s" { rate } else { word }),
        );
        let wanted = PlannedTraffic::of(&arguments, None)?;
        let cells = Cells::new(&arguments, &wanted)?;
        outcome(&arguments, &wanted, &cells, None, lines, several)
    }

    /// A trial that took the server so many us and kept a core `busy`.
    pub(in super::super) fn line(
        case: &str,
        round: u32,
        completed: u64,
        us: u64,
        busy: f64,
    ) -> TrialLine {
        let mut line = journal::testing::example();
        (line.place.case, line.place.cell) = (case.to_owned(), case.to_owned());
        line.place.round = round;
        let obtained = &mut line.line.receipt.obtained;
        (obtained.full, obtained.resumed) = (Some(40), Some(60));
        line.line.operations.completed = completed;
        let is_large =
            [REQUESTS, TRAFFIC].iter().any(|of| case.trim_end_matches(AT_A_QUARTER).ends_with(of));
        let size = if is_large { 16 << 10 } else { 1 << 10 };
        line.line.bytes.body = completed * size;
        line.line.connections_opened = Some(100);
        line.line.cpu_ns.server = Some(us * 1_000);
        line.line.window_ns = (us as f64 * 1e3 / busy) as u64;
        line.line.verdict_mut().limit = Limit::OfferedLoad;
        line
    }

    /// Trials of `rounds` rounds, and what the traffic is found to take beside its parts.
    pub(in super::super) fn lines(rounds: u32, beside: f64) -> Vec<TrialLine> {
        // A connection takes 200, 50 or 100 us beside its request for 1 KiB, which takes 11.
        let each = [(FULL, 211), (RESUMED, 61), (REQUESTS, 20), (OTHER, 11)];
        // A connection of the traffic takes 110 us, a request 20.
        let traffic = ((100 * 110 + 800 * 20) as f64 * beside) as u64;
        let of_round = |round| {
            // A server that mostly waits spends half as much again on all of it.
            [("", 0.5, 2), (AT_A_QUARTER, 0.25, 3)].into_iter().flat_map(
                move |(suffix, busy, halves)| {
                    let cell = move |case: &str, completed, us: u64| {
                        line(&format!("{case}{suffix}"), round, completed, us * halves / 2, busy)
                    };
                    let parts = each.map(|(case, us)| cell(case, 1_000, us * 1_000));
                    parts.into_iter().chain([cell(TRAFFIC, 800, traffic)])
                },
            )
        };
        (0..rounds).flat_map(of_round).collect()
    }

    #[test]
    fn a_plan_stands_where_the_traffic_takes_what_its_parts_take() {
        let outcome = plan(&lines(7, 1.0)).unwrap();
        // 1,000 connections of 110 us and 8,000 requests of 20, at half a core each.
        assert!((outcome.plan.cores.median - 0.54).abs() < 1e-9);
        assert!(outcome.check.holds() && (outcome.check.busy - 0.5).abs() < 1e-9);
        // A quarter of it is explained by what its parts cost at a quarter.
        let quarter = outcome.quarter.as_ref().unwrap();
        assert!(quarter.holds() && (quarter.predicted_over_measured.median - 1.0).abs() < 1e-9);
        assert!((quarter.busy - 0.25).abs() < 1e-9 && outcome.not_so_busy.is_empty());
        let json = serde_json::to_string_pretty(&outcome).unwrap();
        let quota = serde_json::json!({ "quota_us": 150_000, "period_us": 100_000 });
        let limited = PlanOutcome { cpu_quota: serde_json::from_value(quota).unwrap(), ..outcome };
        let limited = words::of(&limited, true);
        let limited = limited.lines().skip_while(|line| !line.starts_with("Measured under"));
        let limited = limited.take_while(|line| !line.starts_with("Traffic")).collect::<Vec<_>>();
        support::assert_golden!([
            ("a plan", words::of(&plan(&lines(7, 1.0)).unwrap(), true)),
            ("under a quota", limited.join("\n")),
            ("to programs", json),
        ]);
    }

    /// Trials of the traffic on several full cores, each with what it takes over one.
    fn several(rounds: u32, by_cores: &[(u32, f64, Limit)]) -> Vec<TrialLine> {
        let of_round = |round| {
            by_cores.iter().map(move |(cores, over_one, limit)| {
                let mut line = line(TRAFFIC, round, 800, (27_000.0 * over_one) as u64, 1.0);
                line.place.params.set(full::CORES, &cores.to_string());
                line.line.verdict_mut().limit = *limit;
                line
            })
        };
        (0..rounds).flat_map(of_round).collect()
    }

    #[test]
    fn several_cores_that_take_more_for_the_same_work_make_a_plan_larger() {
        let full = Limit::ServerCpu;
        let measured = several(
            7,
            &[(1, 1.0, full), (2, 1.1, full), (4, 1.25, full), (8, 0.5, Limit::ClientCpu)],
        );
        // 0.54 cores, 2.7 and 10.8 where one core takes as much as several.
        for (rate, cores) in [("1000/s", 0.54), ("5000/s", 2.7 * 1.25), ("20000/s", 10.8 * 1.25)] {
            let found = planned(rate, &lines(7, 1.0), &measured).unwrap();
            assert!(
                (found.plan.cores.median - cores).abs() < 1e-6,
                "{rate}: {:?}",
                found.plan.cores
            );
            assert_eq!(found.scaling.iter().map(|of| of.cores).collect::<Vec<_>>(), [2, 4]);
            assert!(found.not_measured.iter().any(|of| of.contains("8 cores")));
        }
        let found = planned("5000/s", &lines(7, 1.0), &measured).unwrap();
        support::assert_golden!([("several cores", words::of(&found, true))]);
        // 1.9 cores are 2.09 with what two of them take, so that they are planned as on four, which is said.
        let found = planned("3520/s", &lines(7, 1.0), &measured).unwrap();
        let cores = 0.54 * 3.52 * 1.25;
        assert!((found.plan.cores.median - cores).abs() < 1e-6, "{:?}", found.plan.cores);
        assert_eq!(found.scaled_as_on, Some(4));
        assert!(words::of(&found, true).contains("On 4 cores the same work"));
        // Without one core of the same run there is nothing to compare with.
        let found = planned("5000/s", &lines(7, 1.0), &several(7, &[(2, 1.1, full)])).unwrap();
        assert!(found.scaling.is_empty() && (found.plan.cores.median - 2.7).abs() < 1e-6);
    }

    #[test]
    fn a_plan_falls_where_the_traffic_takes_more_or_is_limited_otherwise() {
        assert!(plan(&lines(7, 1.05)).unwrap().check.holds());
        let dearer = plan(&lines(7, 1.3)).unwrap();
        assert!(!dearer.check.holds() && dearer.check.refused.is_none());
        let mut by_client = lines(7, 1.0);
        by_client.iter_mut().for_each(|of| of.line.verdict_mut().limit = Limit::ClientCpu);
        let client = plan(&by_client).unwrap();
        assert!(!client.check.holds() && client.check.refused.is_some());
        support::assert_golden!([
            ("dearer", words::of(&dearer, true)),
            ("the client's limit", words::of(&client, true)),
        ]);
        assert!(plan(&lines(0, 1.0)).is_err());
    }

    #[test]
    fn of_a_trial_that_was_measured_again_the_quieter_counts() {
        let cores = |steal: f64| {
            let mut lines = lines(1, 1.0);
            let first = lines.iter_mut().find(|of| of.place.case == FULL).unwrap();
            first.line.verdict_mut().evidence.steal = trial::testing::share(0.1);
            let mut second = first.clone();
            second.place.again = true;
            second.line.verdict_mut().evidence.steal = trial::testing::share(steal);
            second.line.cpu_ns.server = second.line.cpu_ns.server.map(|ns| ns * 2);
            lines.push(second);
            plan(&lines).unwrap().plan.cores.median
        };
        assert!((cores(0.5) - 0.54).abs() < 1e-9 && cores(0.0) > 0.6);
    }

    #[test]
    fn two_rounds_check_no_plan_however_near_their_medians_are() {
        assert_eq!(
            [2, 6].map(|rounds| plan(&lines(rounds, 1.0)).unwrap().check.holds()),
            [false, true]
        );
        support::assert_golden!([("two rounds", words::of(&plan(&lines(2, 1.0)).unwrap(), true))]);
    }

    #[test]
    fn a_cell_that_keeps_a_core_otherwise_busy_is_named() {
        let mut busier = lines(7, 1.0);
        for of in busier.iter_mut().filter(|of| of.place.case == FULL) {
            of.line.window_ns = of.line.window_ns * 2 / 3;
        }
        let found = plan(&busier).unwrap().not_so_busy;
        let cells: Vec<&str> = found.iter().map(|of| &*of.cell).collect();
        assert_eq!(cells, [FULL]);
        assert!((found[0].busy - 0.75).abs() < 1e-6 && found[0].asked == 0.5, "{found:?}");
    }

    /// A server whose operations cost `full` ns on a full core and `idle` on one that has nothing to do.
    fn pilot(cells: &Cells, rates: &Rates, full: f64, idle: f64) -> Vec<TrialLine> {
        let trial = |case: &Case| {
            let rate = rates[&case.name];
            // In equilibrium: busy = rate x cost, and cost = idle - (idle - full) x busy.
            let busy = rate * idle * 1e-9 / (1.0 + rate * (idle - full) * 1e-9);
            let cost = idle - (idle - full) * busy;
            line(&case.name, 0, 1_000, cost as u64, busy)
        };
        cells.cases.iter().map(trial).collect()
    }

    fn all_at(cells: &Cells, rate: f64) -> Rates {
        cells.cases.iter().map(|case| (case.name.clone(), rate)).collect()
    }

    #[test]
    fn corrected_rates_keep_a_core_as_busy_as_is_asked() {
        let Command { plan: arguments } = Command::parse_from(TRAFFIC_OF_IT);
        let mut cells =
            Cells::new(&arguments, &PlannedTraffic::of(&arguments, None).unwrap()).unwrap();
        for (full, idle) in [(100_000.0, 100_000.0), (100_000.0, 180_000.0), (9_000.0, 20_000.0)] {
            // A closed loop keeps the core full, and has neither the traffic nor a quarter.
            let closed = cells.cases.iter().filter(|case| case.busy == 0.5);
            let closed: Vec<TrialLine> = closed
                .filter(|case| case.name != TRAFFIC)
                .map(|case| line(&case.name, 0, 1_000, full as u64, 1.0))
                .collect();
            let mut rates = cells.rates(&closed).unwrap();
            for _ in CORRECTIONS {
                rates = cells.rates(&pilot(&cells, &rates, full, idle)).unwrap();
            }
            for (case, of) in cells.cases.iter().zip(pilot(&cells, &rates, full, idle)) {
                let busy = Metric::ServerCpus.value(&of.line).unwrap();
                assert!((busy - case.busy).abs() < 0.02, "{}: {busy}, {idle}", case.name);
            }
        }
        assert!(cells.rates(&[]).is_err());
    }

    #[test]
    fn connections_that_no_trial_sees_end_are_kept_in_the_check() {
        let Command { plan: arguments } = Command::parse_from(TRAFFIC_OF_IT);
        let cells = Cells::new(&arguments, &PlannedTraffic::of(&arguments, None).unwrap()).unwrap();
        // Of 16 connections with 8 requests each: at 1,000 requests/s they live 128 ms, at 100/s 1.28 s.
        for (rate, ends, is_resumed) in
            [(2_000.0, true, true), (1_000.0, true, false), (100.0, false, false)]
        {
            let rates = all_at(&cells, rate);
            let study = cells.open_loop(&Window::Measured, 1, &rates);
            let traffic =
                study.split("[[case]]").find(|case| case.contains("\"traffic\"")).unwrap();
            assert_eq!(traffic.contains("requests-per-connection = 8"), ends, "{traffic}");
            assert_eq!(traffic.contains("load.resumption"), is_resumed, "{traffic}");
            assert_eq!(cells.has_ends(&rates), ends);
        }
    }

    #[test]
    fn the_server_of_each_trial_is_of_the_release_that_is_asked_for() {
        let Command { plan: arguments } =
            Command::parse_from(TRAFFIC_OF_IT.into_iter().chain(["--system", "debian-99"]));
        let cells = Cells::new(&arguments, &PlannedTraffic::of(&arguments, None).unwrap()).unwrap();
        let measured = cells.open_loop(&Window::Measured, 7, &all_at(&cells, 2_000.0));
        for cell in [measured, cells.closed_loop()].iter().flat_map(|of| of_plan(of).unwrap().cells)
        {
            assert_eq!(cell.target.system.made(), Some("debian-99"), "{}", cell.case);
        }
    }

    #[test]
    fn over_http3_each_trial_is_over_quic() {
        let version = ["--server", "embedded", "--http", "3", "--streams", "4"];
        let Command { plan: arguments } =
            Command::parse_from(TRAFFIC_OF_IT.into_iter().chain(version));
        let cells = Cells::new(&arguments, &PlannedTraffic::of(&arguments, None).unwrap()).unwrap();
        let rates = all_at(&cells, 2_000.0);
        let measured = of_plan(&cells.open_loop(&Window::Measured, 7, &rates)).unwrap().cells;
        assert_eq!(measured.len(), cells.cases.len());
        for cell in of_plan(&cells.closed_loop()).unwrap().cells.iter().chain(&measured) {
            assert!(cell.target.quic && cell.load.http == Some(Http::V3), "{}", cell.case);
            // A second stream's connection would begin with a full handshake.
            let ends = cell.load.requests_per_connection.as_ref().map(ToString::to_string);
            let streams = if ends.as_deref() == Some("1") { 1 } else { 4 };
            assert_eq!(cell.load.streams(), streams, "{}", cell.case);
        }
        let resumed = measured.iter().filter(|cell| cell.load.resumption.get() > 0);
        assert_eq!(resumed.count(), 4);
    }
}
