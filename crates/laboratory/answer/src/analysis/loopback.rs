//! What loopback contributes to the share that TLS takes.
//!
//! On loopback the server's CPU runs the client's half of TCP. With t the CPU time of a response and l
//! the share of it that is the client's, TLS takes 1 - t(plain) / t(TLS) of a core, and without the
//! client's half 1 - t(plain) (1 - l(plain)) / (t(TLS) (1 - l(TLS))). The shares are those of the
//! profiles, the times those of the measured trials.

use profile::Class;
use serde::Serialize;
use study::Show;
use units::Quantity;

use super::cycles::Cycles;
use super::point::Point;
use super::row_figure::RowFigure;
use crate::wording::{brief, list};

/// Of an answer about the share that TLS takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Loopback {
    pub sentence: String,
    pub cells: Vec<LoopbackOfCell>,
}

/// All from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoopbackOfCell {
    pub cell: String,
    /// Of the server's CPU time of plain HTTP, what was the client's.
    pub plain: f64,
    /// The same of TLS.
    pub tls: f64,
    /// What TLS takes by the measured trials.
    pub tax: f64,
    /// What it would take without the client's half.
    pub tax_without: f64,
}

impl Loopback {
    /// `None` where the answer is not to show it, or nothing reliable was sampled.
    pub(super) fn of(point: &Point) -> Option<Self> {
        if !point.rule.shows(Show::Loopback) {
            return None;
        }
        let plain = share(point.baseline()?)?;
        let of = |entry: &RowFigure| {
            let tax = entry.figure.as_ref()?.median();
            let tls = share(entry)?;
            let tax_without = 1.0 - (1.0 - tax) * (1.0 - plain) / (1.0 - tls);
            let cell = entry.row.name.clone();
            Some((point.with(entry), LoopbackOfCell { cell, plain, tls, tax, tax_without }))
        };
        let (labels, cells): (Vec<String>, Vec<LoopbackOfCell>) =
            point.shown().filter_map(of).unzip();
        let each = |of: fn(&LoopbackOfCell) -> f64| {
            let percents = cells.iter().map(|cell| brief(Quantity::Share, of(cell)));
            list(percents.zip(&labels).map(|(percent, with)| format!("{percent} {with}")))
        };
        let sentence = format!(
            "On loopback the server's CPU runs the client's half of TCP{}: {} of its time {}, and {}. Without \
             that, TLS would take {}.",
            point.context(),
            brief(Quantity::Share, plain),
            point.with(point.baseline()?),
            each(|cell| cell.tls),
            each(|cell| cell.tax_without)
        );
        (!cells.is_empty()).then_some(Self { sentence, cells })
    }
}

/// The client's share of a server's CPU time.
fn share(entry: &RowFigure) -> Option<f64> {
    let cycles = Cycles::of(&entry.row).filter(|cycles| cycles.doubts.is_empty())?;
    Some(cycles.shares.get(&Class::Loopback).copied().unwrap_or_default())
}
