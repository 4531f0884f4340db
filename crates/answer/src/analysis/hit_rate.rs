//! What resumption saves: how long full and resumed handshakes take, and the slope of the server's CPU time per handshake over the share of
//! connections that resumed, by least squares over the trials of a round.
//!
//! The share is the one that came about, not the one that was asked for. The slopes of all rounds have
//! the interval that medians have.

use std::collections::BTreeMap;

use study::Metric;
use trial::{LatencyNs, Line};
use units::Quantity;

use super::compared::Compared;
use crate::figure::{Decided, Figure, Signed};
use crate::wording::{all_of, quantity};

/// The key whose values are hit rates.
const KEY: &str = "load.resumption";

/// `Ten points more of hit rate save 41 [39, 43] µs of the server's CPU per handshake.`
pub(super) fn saved(compared: &Compared<'_>) -> Option<String> {
    if compared.rule.compare != KEY {
        return None;
    }
    let mut rounds: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for trial in compared.entries.iter().flat_map(|entry| &entry.trials.lines) {
        if let Some(point) = point(&trial.line) {
            rounds.entry(trial.place.round).or_default().push(point);
        }
    }
    let slopes = rounds.values().filter_map(|points| slope(points));
    let saved = Figure::of(slopes.map(|slope| -slope / 10.0).collect())?;
    let in_unit = |saved: &Figure| {
        let unit = Quantity::Nanos.unit_for([saved.median()]);
        format!("{} {}", quantity(saved, unit.factor), unit.name)
    };
    let of = "of the server's CPU per connection";
    let told = match Decided::alone(saved.clone(), 0.0).signed() {
        Signed::Above(saved) => format!("save {} {of}", in_unit(&saved)),
        Signed::Below(more) => format!("cost {} {of}", in_unit(&more)),
        Signed::NoDifference => {
            format!("make no significant difference ({} {of})", in_unit(&saved))
        }
        Signed::TooFew => format!("are of too few rounds to compare ({} {of})", in_unit(&saved)),
    };
    Some(format!("Ten points more of hit rate {told}."))
}

/// `Full against resumed handshakes (TCP and TLS) took, p50 and p99: 9.1 [9.0, 9.2] and 15.0 [14.2, 16.1] against 7.0 [6.9, 7.1]
/// and 13.1 [12.2, 14.0] ms with 50% resumed.` Of cells that were to have both.
pub(super) fn latencies(compared: &Compared<'_>) -> Option<String> {
    if compared.rule.compare != KEY {
        return None;
    }
    let cells = compared
        .entries
        .iter()
        // Where all should resume, the few full ones only open the sessions.
        .filter(|entry| entry.trials.cell.load.resumption.get() < 100)
        .filter_map(|entry| {
            let of = |latency: fn(&LatencyNs) -> Option<u64>| {
                let lines = entry.trials.valid();
                Figure::of(
                    lines.filter_map(|line| Some(latency(&line.latency_ns)? as f64)).collect(),
                )
            };
            let full = [of(|ns| ns.connect_full_p50)?, of(|ns| ns.connect_full_p99)?];
            let resumed = [of(|ns| ns.connect_resumed_p50)?, of(|ns| ns.connect_resumed_p99)?];
            let unit = Quantity::Nanos.unit_for([full[1].median()]);
            let [full, resumed] = [full, resumed].map(|[p50, p99]| {
                format!("{} and {}", quantity(&p50, unit.factor), quantity(&p99, unit.factor))
            });
            Some(format!("{full} against {resumed} {} {}", unit.name, compared.with(entry)))
        });
    let cells = all_of(cells, "; ")?;
    Some(format!("Full against resumed handshakes (TCP and TLS) took, p50 and p99: {cells}."))
}

/// The share that resumed, and what a connection cost; `None` where that is not known.
fn point(line: &Line) -> Option<(f64, f64)> {
    let obtained = &line.receipt.obtained;
    let (full, resumed) = (obtained.full?, obtained.resumed?);
    let cost = Metric::ServerCpuPerOperation.value(line).filter(|_| line.valid)?;
    (full + resumed > 0).then(|| (resumed as f64 / (full + resumed) as f64, cost))
}

/// By least squares; `None` where all points have the same place.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    let (sum_x, sum_y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    let (mean_x, mean_y) = (sum_x / n, sum_y / n);
    let products = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>();
    let squares = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>();
    (squares > 0.0).then(|| products / squares)
}
