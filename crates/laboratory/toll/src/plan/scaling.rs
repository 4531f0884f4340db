//! What the traffic takes where a server has several cores, over what it takes on one. Cores share caches, memory and
//! locks, so that the same work may take more.

use std::collections::BTreeMap;

use capacity::{Costs, Traffic};
use journal::{Param, TrialLine};
use keys::full;
use serde::Serialize;
use stats::Estimate;
use trial::Limit;

use super::parts;

/// Those that are tried, as far as the machine has them.
pub(super) const CORES: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

#[derive(Debug, Clone, Serialize)]
pub(super) struct Scaling {
    pub(super) cores: u32,
    /// CPU time of the same work over that on one core.
    pub(super) over_one_core: Estimate,
    #[serde(skip)]
    pub(super) rounds: Vec<f64>,
}

/// By valid trials that keep all cores full, with the costs of one core for what they drew: connections, objects. Where
/// something else limited them it says so.
pub(super) fn of(
    lines: &[&TrialLine],
    costs: &Costs,
    traffic: &Traffic,
) -> (Vec<Scaling>, Vec<String>) {
    let mut by_round: BTreeMap<u32, BTreeMap<u32, f64>> = BTreeMap::new();
    let mut limited = BTreeMap::new();
    for TrialLine { place, line } in lines {
        let cores = place.params.get(full::CORES).and_then(Param::count);
        let cores = cores.and_then(|cores| u32::try_from(cores).ok()).unwrap_or(1);
        match line.limit() {
            Some(Limit::ServerCpu | Limit::Noise) => {
                let beside = parts::beside(line, costs, traffic);
                by_round.entry(place.round).or_default().extend(beside.map(|ratio| (cores, ratio)));
            }
            limit => {
                limited.extend(limit.map(|limit| (cores, limit)));
            }
        }
    }
    let mut found = Vec::new();
    for cores in CORES.into_iter().skip(1) {
        let rounds: Vec<f64> = by_round
            .values()
            .filter_map(|round| Some(round.get(&1)? / round.get(&cores)?))
            .collect();
        if let Ok(over_one_core) = Estimate::of(&rounds) {
            limited.remove(&cores);
            found.push(Scaling { cores, over_one_core, rounds });
        }
    }
    let lacks = limited
        .into_iter()
        .map(|(cores, limit)| format!("how it scales to {cores} cores: {limit} limited that"));
    (found, lacks.collect())
}

/// The measurement for a plan of this many cores, where several take no more than one: on the fewest cores that are
/// enough with what it says, or on the most there are. A plan of one core needs none.
pub(super) fn chosen(scalings: &[Scaling], cores: f64) -> Option<&Scaling> {
    let is_enough = |of: &&Scaling| f64::from(of.cores) >= cores * of.over_one_core.median;
    scalings.iter().find(is_enough).or(scalings.last()).filter(|_| cores > 1.0)
}
