//! From trials to a plan: the costs of each round, and the traffic itself beside them.

use std::collections::BTreeMap;

use capacity::{Checked, Costs, Plan, Traffic};
use journal::TrialLine;
use stats::Estimate;
use tls::CertificateKey;
use trial::{Limit, TrialRecord};

use super::cells::{Cells, OTHER_KEY, QUARTER, RESUMED, TRAFFIC};
use super::{Arguments, Check, PlanOutcome, PlannedTraffic, Saving};
use crate::Failure;

/// Cells and their trials in one round.
type Round<'a> = BTreeMap<&'a str, &'a TrialRecord>;

pub(super) fn outcome(
    arguments: &Arguments,
    wanted: &PlannedTraffic,
    cells: &Cells,
    lines: &[TrialLine],
) -> Result<PlanOutcome, Failure> {
    let mut by_round: BTreeMap<u32, Round<'_>> = BTreeMap::new();
    // A disturbed trial and the one that repeats it have the same round; the later counts.
    for TrialLine { place, line } in lines.iter().filter(|of| of.line.valid) {
        by_round.entry(place.round).or_default().insert(&place.case, line);
    }
    let measured: Vec<(&Round<'_>, Costs)> = by_round
        .values()
        .filter_map(|round| Some((round, cells.costs(|case| of(round, case).ok_or(())).ok()?)))
        .collect();
    let rounds: Vec<Costs> = measured.iter().map(|(_, costs)| *costs).collect();
    let busy = arguments.busy();
    let traffic = &wanted.traffic;
    let plan = Plan::of(traffic, &rounds, busy).map_err(|_| {
        Failure::measurement(
            "no round has a valid trial of each part; toll report shows what became of them",
        )
    })?;
    let [check, quarter] = [TRAFFIC, QUARTER].map(|case| check(case, &measured, wanted));
    let (check, quarter) = (check?, quarter?);
    let mut savings = Vec::new();
    let cores = |costs: &Costs, of: &Traffic| of.load(costs).all() / busy;
    let mut save = |choice: &str, saved: &dyn Fn(&Round<'_>, &Costs) -> Option<f64>| {
        let saved: Vec<f64> =
            measured.iter().filter_map(|(round, costs)| saved(round, costs)).collect();
        savings.extend(
            Estimate::of(&saved).ok().map(|cores| Saving { choice: choice.to_owned(), cores }),
        );
    };
    save("an ECDSA P-256 certificate", &|round, costs| {
        let full = of(round, OTHER_KEY)?;
        Some(cores(costs, traffic) - cores(&Costs { full, ..*costs }, traffic))
    });
    save("ten more points of resumption", &|round, costs| {
        round.get(RESUMED).filter(|_| traffic.resumed <= 0.9)?;
        let more = Traffic { resumed: traffic.resumed + 0.1, ..*traffic };
        Some(cores(costs, traffic) - cores(costs, &more))
    });
    let mut not_measured =
        vec!["how it scales over several cores: one core was measured".to_owned()];
    if wanted.resumed.get() == 0 {
        not_measured.push("resumption: the traffic has none".to_owned());
    }
    if matches!(arguments.certificate_key, CertificateKey::Rsa(_))
        && by_round.values().all(|round| !round.contains_key(OTHER_KEY))
    {
        not_measured.push("an ECDSA certificate: the suite has static RSA".to_owned());
    }
    Ok(PlanOutcome {
        server: arguments.server.clone(),
        certificate_key: arguments.certificate_key,
        price_per_hour: arguments.price.map(|price| price * plan.cores.median),
        traffic: wanted.clone(),
        plan,
        check,
        quarter,
        savings,
        not_measured,
    })
}

/// What [`each`] says of a cell in a round.
fn of(round: &Round<'_>, case: &str) -> Option<f64> {
    each(round.get(case)?)
}

/// CPU time of the server per operation in ns.
pub(super) fn each(line: &TrialRecord) -> Option<f64> {
    let operations = line.operations.completed;
    (operations > 0).then_some(line.cpu_ns.server? as f64 / operations as f64)
}

fn check(
    case: &str,
    rounds: &[(&Round<'_>, Costs)],
    wanted: &PlannedTraffic,
) -> Result<Check, Failure> {
    let mut ratios = Vec::new();
    let mut busy = Vec::new();
    let mut refused = None;
    for (round, costs) in rounds {
        let Some(line) = round.get(case) else { continue };
        let Some(cpu) = line.cpu_ns.server.map(|cpu| cpu as f64) else { continue };
        // An open loop asks for less than the server could do; what else keeps it from that is no check.
        if !matches!(line.verdict.limit, Limit::OfferedLoad | Limit::ServerCpu | Limit::Noise) {
            refused.get_or_insert(format!("{} limited a trial of it", line.verdict.limit));
        }
        let connections = line.connections_opened.unwrap_or_default() as f64;
        let checked = Checked { connections, requests: line.operations.completed as f64, cpu };
        let obtained = &line.receipt.obtained;
        let [full, resumed] =
            [obtained.full, obtained.resumed].map(|count| count.unwrap_or_default() as f64);
        let traffic = Traffic { resumed: resumed / (full + resumed).max(1.0), ..wanted.traffic };
        ratios.push(checked.ratio(&traffic, costs));
        busy.push(cpu / line.window_ns as f64);
    }
    let none = |_| {
        Failure::measurement(
            "the traffic itself has no valid trial: a plan without its check is none",
        )
    };
    Ok(Check {
        busy: stats::median(&busy).map_err(none)?,
        predicted_over_measured: Estimate::of(&ratios).map_err(none)?,
        refused,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::cells::{FULL, OTHER, REQUESTS};
    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        plan: Arguments,
    }

    /// Trials of `rounds` rounds whose parts cost what `each` says in us, and what the traffic is found to
    /// take beside its parts.
    fn planned(rounds: u32, beside: f64, limit: Limit) -> Result<PlanOutcome, Failure> {
        let arguments = [
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
        let Command { plan: arguments } = Command::parse_from(arguments);
        let wanted = arguments.wanted()?;
        let cells = Cells::new(&arguments, &wanted)?;
        let each = [(FULL, 200), (RESUMED, 50), (OTHER_KEY, 100), (REQUESTS, 20), (OTHER, 11)];
        // A connection of the traffic takes 110 us, a request 20.
        let traffic = ((100 * 110 + 800 * 20) as f64 * beside) as u64;
        let line = |case: &str, round, completed, us: u64| {
            let mut line = journal::testing::example();
            (line.place.case, line.place.round) = (case.to_owned(), round);
            (line.line.receipt.obtained.full, line.line.receipt.obtained.resumed) =
                (Some(40), Some(60));
            line.line.operations.completed = completed;
            line.line.connections_opened = Some(100);
            line.line.cpu_ns.server = Some(us * 1_000);
            line.line.window_ns = us * 2_000;
            line.line.verdict.limit = limit;
            line
        };
        let lines: Vec<TrialLine> = (0..rounds)
            .flat_map(|round| {
                let parts = each.map(|(case, us)| line(case, round, 1_000, us * 1_000));
                let checks = [TRAFFIC, QUARTER].map(|case| line(case, round, 800, traffic));
                parts.into_iter().chain(checks)
            })
            .collect();
        outcome(&arguments, &wanted, &cells, &lines)
    }

    #[test]
    fn a_plan_stands_where_the_traffic_takes_what_its_parts_take() {
        let outcome = planned(7, 1.0, Limit::OfferedLoad).unwrap();
        // 1,000 connections of 110 us and 8,000 requests of 20, at half a core each.
        assert!((outcome.plan.cores.median - 0.54).abs() < 1e-9);
        assert!(outcome.check.holds() && (outcome.check.busy - 0.5).abs() < 1e-9);
        let saved: Vec<f64> = outcome.savings.iter().map(|saving| saving.cores.median).collect();
        // 400 full handshakes of 100 us instead of 200; 100 more that are resumed, of 50.
        assert!((saved[0] - 0.08).abs() < 1e-9 && (saved[1] - 0.03).abs() < 1e-9, "{saved:?}");
        let json = serde_json::to_string_pretty(&outcome).unwrap();
        support::assert_golden!([
            ("a plan", super::super::words::of(&outcome)),
            ("to programs", json)
        ]);
    }

    #[test]
    fn a_plan_falls_where_the_traffic_takes_more_or_is_limited_otherwise() {
        assert!(planned(7, 1.05, Limit::OfferedLoad).unwrap().check.holds());
        let dearer = planned(7, 1.3, Limit::OfferedLoad).unwrap();
        assert!(!dearer.check.holds() && dearer.check.refused.is_none());
        let client = planned(7, 1.0, Limit::ClientCpu).unwrap();
        assert!(!client.check.holds() && client.check.refused.is_some());
        support::assert_golden!([
            ("dearer", super::super::words::of(&dearer)),
            ("the client's limit", super::super::words::of(&client)),
        ]);
        assert!(planned(0, 1.0, Limit::OfferedLoad).is_err());
    }
}
