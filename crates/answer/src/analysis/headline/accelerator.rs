//! Offload at a glance: what an accelerator gives, and what offload or the key costs.

use offload::{Rates, Way};
use study::{Cell, Metric};
use targets::Target;
use trial::Limit;
use units::Quantity;

use super::words::{NO_DIFFERENCE, is_shown};
use crate::analysis::accelerator::{Cost, Of, find, nominal, way};
use crate::analysis::compared::Compared;
use crate::analysis::sentence::published;
use crate::analysis::trials::CellTrials;
use crate::figure::Figure;
use crate::findings::Headline;
use crate::wording::{brief, factor, list};

/// Of answers that compare a server in software, or an asynchronous one, with one whose device answers at
/// once; `trials` are those of all cells.
pub(in crate::analysis) fn accelerator(
    all: &[Compared<'_>],
    trials: &[CellTrials<'_>],
) -> Option<Headline> {
    match all.first()?.rule.metric {
        Metric::Rate => all.iter().find_map(|compared| gains(compared, trials)),
        Metric::ServerCpuPerOperation => cost(all),
        _ => None,
    }
}

/// `With a model of a QuickAssist 8955 (40,000 RSA-2048 operations/s, a setting) one core makes 3.8x the
/// handshakes of software; synchronous offload 2.1x at 100us and 0.40x at 1ms; a free accelerator 4.1x;
/// offload costs 8% of a handshake.` Cells with other ways of waiting may be of any case.
fn gains(compared: &Compared<'_>, trials: &[CellTrials<'_>]) -> Option<Headline> {
    let (software, inline) = (find(compared, None)?, find(compared, Some(Way::Inline))?);
    let of = |wanted| {
        let is_it = move |other: &&CellTrials<'_>| {
            way(other.cell) == Some(wanted) && is_alike(other.cell, software.cell)
        };
        trials.iter().filter(is_it)
    };
    let ratio = |of: &CellTrials<'_>| of.ratio(software, Metric::Rate);
    let asynchronous = of(Way::Asynchronous).next()?;
    let value = factor(ratio(asynchronous).filter(is_shown)?.estimate.median);
    let who = match software.cell.target.cpus.len() {
        1 => "one core",
        _ => "the server",
    };
    let model = model(asynchronous.cell)?;
    let mut clauses = vec![format!("With {model} {who} makes {value} the handshakes of software")];
    let at = |of: &CellTrials<'_>| {
        let latency = of.cell.target.accelerator_latency.exact();
        Some(format!("{} at {latency}", in_short(&ratio(of)?)))
    };
    let synchronous: Vec<String> = of(Way::Synchronous).filter_map(at).collect();
    if !synchronous.is_empty() {
        clauses.push(format!("synchronous offload {}", list(&synchronous)));
    }
    clauses.extend(ratio(inline).map(|free| format!("a free accelerator {}", in_short(&free))));
    if let Some(cost) = Cost::of_offload(asynchronous, inline) {
        clauses.push(match is_positive(&cost) {
            true => format!("offload costs {} of a handshake", share(&cost)),
            false => "offload costs no significant part of a handshake".to_owned(),
        });
    }
    Some(Headline {
        value,
        unit: "the handshakes, with asynchronous offload to a model".to_owned(),
        sentence: format!("{}{}.", clauses.join("; "), published(compared.rule, &compared.common)),
        advice: None,
    })
}

/// Whether two cells differ in nothing but the accelerator, and in how it is waited for.
fn is_alike(one: &Cell, other: &Cell) -> bool {
    let without = |target: &Target| {
        let other = Target::default();
        Target {
            accelerator: other.accelerator,
            offload: other.offload,
            accelerator_rate: other.accelerator_rate,
            accelerator_latency: other.accelerator_latency,
            accelerator_queue: other.accelerator_queue,
            accelerator_count: other.accelerator_count,
            ..target.clone()
        }
    };
    one.load == other.load && without(&one.target) == without(&other.target)
}

/// `a model of a QuickAssist 8955 (40,000 RSA-2048 operations/s, a setting)`
fn model(cell: &Cell) -> Option<String> {
    let (device, key) = (cell.target.accelerator()?, cell.target.certificate_key);
    let is_as_the_card =
        device.rates.of(key) == Rates::default().of(key) && device.engines.get() == 1;
    let what = if is_as_the_card { "a QuickAssist 8955" } else { "an accelerator" };
    Some(format!("a model of {what} ({}, a setting)", nominal(cell)?))
}

fn in_short(ratio: &Figure) -> String {
    match is_shown(ratio) {
        true => factor(ratio.estimate.median),
        false => NO_DIFFERENCE.to_owned(),
    }
}

/// `Offload to a model costs 12.1 µs of the server's CPU per handshake, 8% of the inline one (64
/// connections).` Where the server's CPU was the limit: a server that waits also wakes up.
fn cost(all: &[Compared<'_>]) -> Option<Headline> {
    let costs = all.iter().flat_map(|of| Cost::all(of).into_iter().map(move |cost| (of, cost)));
    let costs: Vec<_> = costs.filter(|(_, cost)| is_positive(cost)).collect();
    let is_busy =
        |cost: &Cost<'_>| cost.trials.limits().into_keys().all(|of| of == Limit::ServerCpu);
    let (compared, cost) = costs.iter().find(|(_, cost)| is_busy(cost)).or(costs.first())?;
    let what = match cost.of {
        Of::Offload => "Offload to a model",
        Of::Key => "The private key",
    };
    let common = compared.common.iter().map(|(key, value)| compared.label(key, value));
    let common = common.collect::<Vec<_>>().join(", ");
    let common = if common.is_empty() { common } else { format!(" ({common})") };
    let ns = brief(Quantity::Nanos, cost.ns.estimate.median);
    let per = compared.one().trim_start_matches("a ");
    Some(Headline {
        sentence: format!(
            "{what} costs {ns} of the server's CPU per {per}, {} of {}{common}.",
            share(cost),
            cost.of.whole()
        ),
        value: ns,
        unit: format!("of the server's CPU per {per}"),
        advice: None,
    })
}

fn is_positive(cost: &Cost<'_>) -> bool {
    cost.share.is_sure() && cost.share.is_above(0.0)
}

fn share(cost: &Cost<'_>) -> String {
    brief(Quantity::Share, cost.share.estimate.median)
}
