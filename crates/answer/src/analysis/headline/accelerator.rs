//! Offload at a glance: what an accelerator gives, and what offload or the key costs.

use std::cmp::Ordering::Equal;

use offload::{Rates, Way};
use stats::Decision;
use study::{Cell, Metric};
use targets::Target;
use units::Quantity;

use super::words::{in_short, undecided};
use crate::analysis::accelerator::{Cost, Of, cpu, find, nominal, way};
use crate::analysis::compared::Compared;
use crate::analysis::sentence::published;
use crate::analysis::trials::CellTrials;
use crate::figure::{Decided, Figure, Signed, paired};
use crate::findings::Headline;
use crate::label::label;
use crate::wording::{brief, factor, listed};

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
    let free = compared.ratio(inline, software)?;
    let asynchronous = of(Way::Asynchronous).next()?;
    let synchronous: Vec<&CellTrials<'_>> = of(Way::Synchronous).collect();
    // What only the headline compares, with the cells of other cases, is decided together.
    let waiting = std::iter::once(asynchronous).chain(synchronous.iter().copied());
    let ratios = waiting.map(|of| Some((Some(of), of.ratio(software, Metric::Rate)?)));
    let offload = paired(cpu(asynchronous), cpu(inline)).map(|ratio| (None, ratio));
    let ratios = Decided::decide(ratios.flatten().chain(offload).collect(), 1.0);
    let ratio = |wanted: Option<&CellTrials<'_>>| {
        let name = |of: &CellTrials<'_>| of.cell.name.clone();
        let is_it = |(of, _): &&(Option<&CellTrials<'_>>, _)| of.map(name) == wanted.map(name);
        ratios.iter().find(is_it).map(|(_, ratio)| ratio)
    };
    let gain = ratio(Some(asynchronous)).filter(|ratio| ratio.decision.is_sure())?;
    let value = factor(gain.median());
    let target = &software.cell.target;
    let who = match (target.server.name(), target.cpus.len()) {
        ("embedded", 1) => "one core".to_owned(),
        ("embedded", _) => "the server".to_owned(),
        (server, 1) => format!("{} on one core", label("target.server", server)),
        (server, _) => label("target.server", server),
    };
    let model = model(asynchronous.cell)?;
    let mut clauses = vec![format!("With {model} {who} makes {value} the handshakes of software")];
    let at = |of: &CellTrials<'_>| {
        let latency = of.cell.target.accelerator_latency.exact();
        Some(format!("{} at {latency}", in_short(ratio(Some(of))?)))
    };
    let synchronous = listed(synchronous.into_iter().filter_map(at));
    clauses.extend(synchronous.map(|ratios| format!("synchronous offload {ratios}")));
    clauses.push(format!("a free accelerator {}", in_short(&free)));
    if let Some(cost) = ratio(None).and_then(Decided::added) {
        clauses.push(match cost.signed() {
            Signed::Above(share) => format!("offload costs {} of a handshake", percent(&share)),
            Signed::Below(share) => format!("offload saves {} of a handshake", percent(&share)),
            Signed::NoDifference => "offload costs no significant part of a handshake".to_owned(),
            Signed::TooFew => "too few trials to tell what offload costs".to_owned(),
        });
    }
    // What was published is a sentence of its own.
    let published = published(compared.rule, &compared.common).replacen("; ", ". ", 1);
    Some(Headline {
        value,
        unit: "the handshakes, with asynchronous offload to a model".to_owned(),
        sentence: format!("{}{published}.", clauses.join("; ")),
        advice: None,
    })
}

/// `Handshakes against inline offload to a model, with a latency of 100us: asynchronous 0.45x (1 connection)
/// to 0.93x (512 connections), synchronous 0.44x (1 connection) to 0.51x (512 connections).` Of comparisons
/// with an inline server along a key, each with the words of its value.
pub(in crate::analysis) fn waiting(points: &[(String, &Compared<'_>)]) -> Option<Headline> {
    let (_, first) = points.first().filter(|(_, of)| of.rule.metric == Metric::Rate)?;
    let asynchronous = find(first, Some(Way::Asynchronous))?;
    find(first, Some(Way::Inline))?;
    let ratios = |wanted| {
        let of = move |(label, compared): &(String, &Compared<'_>)| {
            let entries = &compared.entries;
            let entry = entries.iter().find(|of| way(of.trials.cell) == Some(wanted))?;
            Some((label.clone(), entry.ratio.clone()?))
        };
        points.iter().filter_map(of).collect::<Vec<_>>()
    };
    let ends = |ratios: &[(String, Decided)]| {
        let at = |(label, ratio): &(String, Decided)| format!("{} ({label})", in_short(ratio));
        match ratios {
            [] => None,
            [only] => Some(at(only)),
            [first, .., last] => Some(format!("{} to {}", at(first), at(last))),
        }
    };
    let found = ratios(Way::Asynchronous);
    let (last, ratio) = found.last()?;
    let (value, unit) = match ratio.decision {
        Decision::Sure(_) => {
            (factor(ratio.median()), "the handshakes of inline offload".to_owned())
        }
        undecided_as => undecided(undecided_as == Decision::TooFew),
    };
    let synchronous = ends(&ratios(Way::Synchronous));
    let synchronous = synchronous.map_or_else(String::new, |ends| format!(", synchronous {ends}"));
    Some(Headline {
        value,
        unit: format!("{unit}, asynchronous, {last}"),
        sentence: format!(
            "Handshakes against inline offload to a model, with a latency of {}: asynchronous {}{synchronous}.",
            asynchronous.cell.target.accelerator_latency.exact(),
            ends(&found)?,
        ),
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

/// `Offload to a model costs 12.1 µs of the server's CPU per handshake, 8% of the inline one (64
/// connections).` Where the server was busiest: one that waits also wakes up.
fn cost(all: &[Compared<'_>]) -> Option<Headline> {
    let costs = all.iter().flat_map(|of| Cost::all(of).into_iter().map(move |cost| (of, cost)));
    let busy = |cost: &Cost<'_>| cost.trials.figure(Metric::ServerBusy).map(|of| of.median());
    let busiest = costs.max_by(|(_, a), (_, b)| busy(a).partial_cmp(&busy(b)).unwrap_or(Equal));
    let (compared, cost) = busiest?;
    let what = match cost.of {
        Of::Offload => {
            let latency = cost.trials.cell.target.accelerator_latency.exact();
            format!("Offload to a model with a latency of {latency}")
        }
        Of::Key => "The private key".to_owned(),
    };
    let server = cost.trials.cell.target.server.name();
    let server = (server != "embedded").then(|| label("target.server", server));
    let shared = compared.common.iter().map(|(key, value)| compared.label(key, value));
    let common = server.into_iter().chain(shared).collect::<Vec<_>>().join(", ");
    let common = if common.is_empty() { common } else { format!(" ({common})") };
    let per = format!("the server's CPU per {}", compared.one().trim_start_matches("a "));
    let stated = |verb: &str, ns: &Figure, share: &Figure| {
        let ns = brief(Quantity::Nanos, ns.median());
        let clause = format!("{verb} {ns} of {per}, {} of {}", percent(share), cost.of.whole());
        (ns, clause)
    };
    // Both are of the same rounds, and lie on the same side of zero.
    let (value, unit, costs) = match (cost.ns.signed(), cost.share.signed()) {
        (Signed::Above(ns), Signed::Above(share)) => {
            let (ns, clause) = stated("costs", &ns, &share);
            (ns, format!("of {per}"), clause)
        }
        (Signed::Below(ns), Signed::Below(share)) => {
            let (ns, clause) = stated("saves", &ns, &share);
            (format!("{ns} less"), format!("of {per}"), clause)
        }
        _ => {
            let has_too_few = cost.share.decision == Decision::TooFew;
            let (value, unit) = undecided(has_too_few);
            let part = if has_too_few { "an unknown" } else { "no significant" };
            (value, unit, format!("costs {part} part of {per}"))
        }
    };
    let sentence = format!("{what} {costs}{common}.");
    Some(Headline { value, unit, sentence, advice: None })
}

fn percent(share: &Figure) -> String {
    brief(Quantity::Share, share.median())
}
