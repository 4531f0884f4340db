//! The trials of a plan by round, and what a server's parts cost in each.

use std::collections::BTreeMap;

use answer::analysis::quieter;
use capacity::{Costs, Request};
use journal::TrialLine;
use stats::Estimate;
use study::Metric;
use trial::{Limit, TrialRecord};

use super::cells::{Case, Changed};
use super::check::{Check, OtherBusy};
use super::parts::{beside, each};
use crate::Failure;

/// Cases and their trials in one round.
type Round<'a> = BTreeMap<&'a str, &'a TrialRecord>;

/// Rounds with the trials that count.
pub(super) struct Rounds<'a>(BTreeMap<u32, Round<'a>>);

impl<'a> Rounds<'a> {
    /// The valid trials, each once where it was measured again.
    pub(super) fn of(lines: &'a [TrialLine]) -> Self {
        let mut rounds: BTreeMap<u32, Round<'_>> = BTreeMap::new();
        for TrialLine { place, line } in counted(lines) {
            rounds.entry(place.round).or_default().insert(&place.case, line);
        }
        Self(rounds)
    }

    /// The costs of a server in each round that has all of its parts.
    pub(super) fn costs(&self, server: &Changed) -> Vec<(u32, Costs)> {
        let of = |(round, trials): (&u32, &Round<'_>)| Some((*round, costs(server, trials)?));
        self.0.iter().filter_map(of).collect()
    }

    /// What an operation of a case takes of the server's CPU time in ns, in each round that has it.
    pub(super) fn operations(&self, case: &str) -> Vec<(u32, f64)> {
        let of =
            |(round, trials): (&u32, &Round<'_>)| Some((*round, each(trials.get(case)?)?.cost));
        self.0.iter().filter_map(of).collect()
    }

    /// What the parts of a server say of its traffic, over what that took.
    ///
    /// # Errors
    /// It has no valid trial.
    pub(super) fn check(&self, traffic: &str, server: &Changed) -> Result<Check, Failure> {
        let mut ratios = Vec::new();
        let mut shares = Vec::new();
        let mut refused = None;
        for round in self.0.values() {
            let Some(costs) = costs(server, round) else { continue };
            let Some(line) = round.get(traffic) else { continue };
            let (Some(ratio), Some(busy)) =
                (beside(line, &costs, &server.shape.traffic), Metric::ServerCpus.value(line))
            else {
                continue;
            };
            // An open loop asks for less than the server could do; what else keeps it from that is no check. Where
            // nothing that can be seen does, a few large objects were on their way at the window's ends.
            use Limit::{Noise, OfferedLoad, ServerCpu, Unknown};
            if let Some(limit) = line.limit()
                && !matches!(limit, OfferedLoad | ServerCpu | Noise | Unknown)
            {
                refused.get_or_insert(format!("{limit} limited a trial of it"));
            }
            ratios.push(ratio);
            shares.push(busy);
        }
        let none = |_| {
            Failure::measurement(
                "the traffic itself has no valid trial: a plan without its check is none",
            )
        };
        Ok(Check {
            busy: stats::median(&shares).map_err(none)?,
            predicted_over_measured: Estimate::of(&ratios).map_err(none)?,
            refused,
        })
    }

    /// The cases that kept a core more or less busy than they were to.
    pub(super) fn other_busy<'c>(
        &self,
        cases: impl IntoIterator<Item = &'c Case>,
    ) -> Vec<OtherBusy> {
        let of_case = |case: &Case| {
            let lines = self.0.values().filter_map(|round| round.get(&*case.name));
            let busy = stats::median(
                &lines.filter_map(|line| Metric::ServerCpus.value(line)).collect::<Vec<_>>(),
            )
            .ok()?;
            let found = OtherBusy { cell: case.name.clone(), asked: case.busy, busy };
            ((busy - case.busy).abs() > NEAR).then_some(found)
        };
        cases.into_iter().filter_map(of_case).collect()
    }
}

/// The valid trials, each once where it was measured again.
pub(super) fn counted(lines: &[TrialLine]) -> Vec<&TrialLine> {
    let mut valid = lines.iter().filter(|of| of.line.valid).collect();
    quieter(&mut valid);
    valid
}

/// The costs of a server in a round; `None` where a part has no valid trial.
fn costs(server: &Changed, round: &Round<'_>) -> Option<Costs> {
    server.places.costs(|case| of(round, case).ok_or(())).ok()
}

/// How far a cell's share of a core may be from what was asked, in shares of a core.
const NEAR: f64 = 0.05;

/// What [`each`] says of a case in a round.
fn of(round: &Round<'_>, case: &str) -> Option<Request> {
    each(round.get(case)?)
}
