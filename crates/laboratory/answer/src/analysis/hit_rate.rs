//! What resumption saves: how long full and resumed handshakes take, and the slope of the server's CPU time per handshake over the share of
//! connections that resumed, by least squares over the trials of a round.
//!
//! The share is the one that came about, not the one that was asked for. The slopes of all rounds have
//! the interval that medians have.

use std::collections::BTreeMap;

use study::{Cell, Metric, Show};
use trial::{LatencyNs, TrialRecord};
use units::Quantity;

use super::derived::Derived;
use super::point::Point;
use super::row_figure::RowFigure;
use crate::figure::{Decided, Figure};

/// What 10 percentage points of hit rate save, and how long both kinds of handshakes took, TCP included.
pub(super) fn derived(point: &Point) -> Vec<Derived> {
    if !point.rule.shows(Show::HitRate) {
        return Vec::new();
    }
    saved(point).into_iter().chain(latencies(point)).collect()
}

fn saved(point: &Point) -> Option<Derived> {
    let mut rounds: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for trial in point.figures.iter().flat_map(|entry| &entry.row.lines) {
        if let Some(pair) = share_and_cost(&trial.line) {
            rounds.entry(trial.place.round).or_default().push(pair);
        }
    }
    let slopes = rounds.values().filter_map(|points| slope(points));
    let saved = Figure::of(slopes.map(|slope| -slope / 10.0).collect())?;
    let (_, saved) = Decided::decide(vec![((), saved)], 0.0).pop()?;
    let name = "server CPU that 10 percentage points of hit rate save per connection";
    Some(Derived::difference(name, String::new(), Quantity::Nanos, saved))
}

/// In nanoseconds.
type Latency = fn(&LatencyNs) -> Option<u64>;

/// Of cells that were to have both.
fn latencies(point: &Point) -> Vec<Derived> {
    const LATENCIES: [(&str, Latency); 4] = [
        ("full handshake, p50", |ns| ns.connect_full_p50),
        ("full handshake, p99", |ns| ns.connect_full_p99),
        ("resumed handshake, p50", |ns| ns.connect_resumed_p50),
        ("resumed handshake, p99", |ns| ns.connect_resumed_p99),
    ];
    let of_cell = |entry: &RowFigure| {
        let of = |(name, latency): (&str, Latency)| {
            let lines = entry.row.valid();
            let latencies = lines.filter_map(|line| Some(latency(&line.latency_ns)? as f64));
            let figure = Figure::of(latencies.collect())?;
            Some(Derived::new(name, point.with(entry), Quantity::Nanos, figure))
        };
        LATENCIES.into_iter().map(of).collect::<Option<Vec<_>>>()
    };
    // Where all should resume, the few full ones only open the sessions.
    let is_mixed = |cell: &Cell| cell.load.resumption.get() < 100;
    let mixed = point.figures.iter().filter(|entry| entry.row.cell().is_some_and(is_mixed));
    mixed.filter_map(of_cell).flatten().collect()
}

/// The share that resumed, and what a connection cost; `None` where that is not known.
fn share_and_cost(line: &TrialRecord) -> Option<(f64, f64)> {
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
