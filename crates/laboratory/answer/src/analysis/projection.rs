//! What more cores would do: measured numbers of cores first, then what lies beyond them.
//!
//! Linear, a core's figure times their number, is what cores would do that disturb each other in
//! nothing. It is an upper bound, and ends where a limit was seen that is not the server's CPU. From
//! four numbers of cores on a scaling law is fitted (see [`stats::Scaling`]), to each round of trials by
//! itself, so that its projections have the interval that medians of rounds have. Where the law does not
//! fit, or points lie beyond what was measured, it is said.

use keys::full;
use std::collections::BTreeMap;

use serde::Serialize;
use stats::{Decision, Direction, Scaling, ScalingError};
use study::metric::Kind;
use study::{Metric, Param, Show};
use trial::Limit;
use units::{Quantity, counted};

use super::left_out::LeftOut;
use super::point::Point;
use super::row::Row;
use crate::comparable::ratio;
use crate::figure::{Figure, decisions};
use crate::findings::{Column, Table, TableCell};
use crate::wording::{brief, grouped};

/// A gain of less than this share of what the added cores would do linearly is none.
const LEAST_GAIN: f64 = 0.10;

/// What the cells say of more cores, of one value of the compared key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Projection {
    /// Of what: `AES-128-GCM, 16 MiB objects`.
    pub label: String,
    /// What limits it, a sentence each.
    pub notes: Vec<String>,
    /// Rounds that no law fits, so that its figures are without them.
    #[serde(skip_serializing_if = "LeftOut::is_empty")]
    pub left_out: LeftOut,
    #[serde(skip)]
    pub metric: Metric,
    /// The place of its rule in the study.
    #[serde(skip)]
    pub rule: usize,
    /// From this number of cores on, the next larger one that was measured did not do more worth its
    /// cores.
    pub stops_helping: Option<u32>,
    /// In ascending order: those that were measured and those that were asked for.
    pub cores: Vec<AtCores>,
}

/// A number of cores.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AtCores {
    /// How many.
    pub cores: u32,
    pub measured: Option<Figure>,
    /// What was measured over what as many cores would do like the fewest: 1 where they disturb each
    /// other in nothing. Of more than the fewest, where the server was the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<Figure>,
    /// What was measured with the fewest cores cores, times as many; at most what a limit other
    /// than the server's CPU let through.
    pub linear: f64,
    /// By the scaling law, where one was fitted.
    pub law: Option<Figure>,
}

impl Projection {
    /// A row for each number of cores.
    pub(super) fn table(&self) -> Table {
        let unit = self.metric.row().quantity.unit_for(self.cores.iter().map(|at| at.linear));
        let numbers = |name: &str, cells: Vec<TableCell>| Column::numbers(name, unit.name, cells);
        let figure = |of: &Option<Figure>| {
            of.as_ref().map(|of| TableCell::figure(of, &unit)).unwrap_or_default()
        };
        let linear = |at: f64| (unit.number(at), at).into();
        let share = Quantity::Share.unit_for([]);
        let efficiency = |at: &AtCores| {
            at.efficiency.as_ref().map(|of| TableCell::figure(of, &share)).unwrap_or_default()
        };
        Table {
            title: "More cores".to_owned(),
            count: self.label.clone(),
            columns: vec![
                Column::numbers(
                    "cores",
                    "",
                    self.cores.iter().map(|at| (at.cores.to_string(), f64::from(at.cores))),
                ),
                numbers("measured", self.cores.iter().map(|at| figure(&at.measured)).collect()),
                numbers("linear", self.cores.iter().map(|at| linear(at.linear)).collect()),
                Column::numbers("efficiency", share.name, self.cores.iter().map(efficiency)),
                numbers("scaling law", self.cores.iter().map(|at| figure(&at.law)).collect()),
            ],
            notes: self.notes.clone(),
            ..Table::default()
        }
    }
}

/// One number of cores with its trials.
struct Step<'a> {
    cores: u32,
    row: &'a Row,
    figure: Figure,
}

/// Where the study asks for that, the projections of a rule whose comparisons differ in the number of cores among other keys: of the
/// values that send most, one for each value of the compared key.
pub(super) fn projections(compared: &[Point]) -> Vec<Projection> {
    // What a core gives, or an operation takes, is not more of more cores.
    let is_asked = |first: &&Point| {
        first.kind() == Kind::Throughput
            && (!first.rule.project.is_empty() || first.rule.shows(Show::Projection))
    };
    let Some(first) = compared.first().filter(is_asked) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in &first.figures {
        // By what the cells have in common but their cores: the key with the highest figure is
        // shown.
        let groups = grouped(compared.iter().filter_map(|point| {
            Some((point.common.without([full::CORES]), step(point, &entry.value)?))
        }));
        let height =
            |steps: &[Step<'_>]| steps.iter().map(|step| step.figure.median()).fold(0.0, f64::max);
        let highest = groups.into_iter().max_by(|a, b| height(&a.1).total_cmp(&height(&b.1)));
        let least = if first.rule.project.is_empty() { 2 } else { 1 };
        if let Some((common, mut steps)) = highest.filter(|(_, steps)| steps.len() >= least) {
            steps.sort_by_key(|step| step.cores);
            let labels = std::iter::once(first.label(&first.rule.compare, &entry.value))
                .chain(common.iter().map(|(key, value)| first.label(key, value)));
            let label = labels.collect::<Vec<_>>().join(", ");
            found.push(projection(label, first, &steps));
        }
    }
    found
}

fn step<'a>(point: &'a Point, value: &Param) -> Option<Step<'a>> {
    let entry = point.figure_of(value)?;
    let cpus = entry.row.cell()?.target.pinned_to()?.len();
    let swept = match point.common.get(full::CORES) {
        Some(Param::Count(cores)) => u32::try_from(*cores).ok(),
        _ => None,
    };
    Some(Step {
        cores: swept.or_else(|| u32::try_from(cpus).ok())?,
        row: &entry.row,
        figure: entry.figure.clone()?,
    })
}

fn projection(label: String, compared: &Point, steps: &[Step<'_>]) -> Projection {
    let least = &steps[0];
    let measured: Vec<u32> = steps.iter().map(|step| step.cores).collect();
    let most = measured.last().copied().unwrap_or(1);
    let per_core = least.figure.median() / f64::from(least.cores);
    let cap = cap(steps);
    let mut wanted: Vec<u32> = measured.iter().chain(&compared.rule.project).copied().collect();
    wanted.sort_unstable();
    wanted.dedup();
    let law = Laws::of(steps, compared.rule.metric);
    let at = |cores: &u32| AtCores {
        cores: *cores,
        measured: find(steps, *cores).map(|step| step.figure.clone()),
        efficiency: find(&steps[1..], *cores)
            .and_then(|step| efficiency(step, least, compared.rule.metric)),
        linear: cap.map_or(f64::INFINITY, |(cap, _)| cap).min(per_core * f64::from(*cores)),
        law: law.as_ref().ok().and_then(|law| law.at(*cores)),
    };
    let cores: Vec<AtCores> = wanted.iter().map(at).collect();
    let stops_helping = stops_helping(steps, compared.rule.metric);
    let of_cores = |cores: u32| counted(cores.into(), "core");
    let mut notes = Vec::new();
    if wanted.last() > Some(&most) {
        notes.push(format!(
            "Beyond {} it is a projection, not a measurement: linear, from {}, is an upper bound{}.",
            of_cores(most),
            of_cores(least.cores),
            if law.as_ref().is_ok_and(|law| !law.fitted.is_empty()) { "; the law assumes that the same limits remain" } else { "" }
        ));
    }
    if let Some(limit) = other_limit(least) {
        notes.push(format!(
            "A core can do more than that: {} with {}.",
            crate::limits::in_words(limit),
            of_cores(least.cores)
        ));
    }
    if let Some((cap, why)) = cap {
        let cap = brief(compared.rule.metric.row().quantity, cap);
        notes.push(format!("The rate did not exceed {cap}: {why}."));
    }
    let left_out = match law {
        Err(why) => {
            notes.push(format!("No scaling law is fitted: {why}."));
            LeftOut::default()
        }
        Ok(Laws { rounds, left_out, .. }) => {
            notes.extend(left_out.sentence("The scaling law", rounds));
            left_out
        }
    };
    if let Some(cores) = stops_helping {
        notes.push(format!("Beyond {} more do not help.", of_cores(cores)));
    }
    let (rule, metric) = (compared.place, compared.rule.metric);
    Projection { label, metric, rule, notes, left_out, stops_helping, cores }
}

fn find<'a, 'b>(steps: &'b [Step<'a>], cores: u32) -> Option<&'b Step<'a>> {
    steps.iter().find(|step| step.cores == cores)
}

fn efficiency(step: &Step<'_>, least: &Step<'_>, metric: Metric) -> Option<Figure> {
    if [step, least].iter().any(|step| step.row.is_limited_by_others()) {
        return None;
    }
    let ratio = ratio(step.row, least.row, metric).ok()?;
    ratio.map(|ratio| ratio * f64::from(least.cores) / f64::from(step.cores))
}

/// What limited every trial of a step, where it was not the server's CPU.
fn other_limit(step: &Step<'_>) -> Option<Limit> {
    let limits = &step.row.limits;
    let is_server = limits.contains_key(&Limit::ServerCpu);
    limits.keys().next().copied().filter(|_| !is_server)
}

/// The most that was let through with more cores than the fewest. A client that is too slow, or other
/// work on the CPUs, is a fault of the measurement and no cap.
fn cap(steps: &[Step<'_>]) -> Option<(f64, &'static str)> {
    let capped = steps.iter().skip(1).filter_map(|step| {
        let limit = other_limit(step)
            .filter(|limit| !matches!(limit, Limit::Noise | Limit::Errors))
            .filter(|_| !step.row.is_limited_by_client())?;
        Some((step.figure.median(), crate::limits::in_words(limit)))
    });
    capped.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// The scaling law, fitted round by round.
struct Laws {
    fitted: Vec<Scaling>,
    rounds: usize,
    left_out: LeftOut,
}

impl Laws {
    /// Where the medians follow a law; of the rounds those that follow one themselves.
    fn of(steps: &[Step<'_>], metric: Metric) -> Result<Self, ScalingError> {
        let point = |step: &Step<'_>, sample| (f64::from(step.cores), sample);
        let medians: Vec<_> = steps.iter().map(|step| point(step, step.figure.median())).collect();
        Scaling::fit(&medians)?;
        let mut rounds: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
        for step in steps {
            for &(round, sample) in step.row.samples(metric) {
                rounds.entry(round).or_default().push(point(step, sample));
            }
        }
        let mut left_out = LeftOut::default();
        let fitted = left_out.count(rounds.values().map(|points| Scaling::fit(points)));
        Ok(Self { fitted, rounds: rounds.len(), left_out })
    }

    fn at(&self, cores: u32) -> Option<Figure> {
        Figure::of(self.fitted.iter().map(|law| law.at(f64::from(cores))).collect())
    }
}

/// The number of cores after which the next larger one is shown not to add what its cores are worth.
fn stops_helping(steps: &[Step<'_>], metric: Metric) -> Option<u32> {
    let gains = steps.windows(2).filter_map(|pair| {
        let [fewer, more] = pair else { return None };
        let linear = f64::from(more.cores - fewer.cores) / f64::from(fewer.cores);
        let gain = ratio(more.row, fewer.row, metric).ok()?;
        Some((fewer.cores, gain, 1.0 + LEAST_GAIN * linear))
    });
    let gains: Vec<(u32, Figure, f64)> = gains.collect();
    let decisions = decisions(gains.iter().map(|(_, gain, least)| (gain, *least))).into_iter();
    let mut decided = gains.iter().zip(decisions);
    let stops = decided.find(|(_, gain)| *gain == Decision::Sure(Direction::Below));
    stops.map(|((cores, ..), _)| *cores)
}
