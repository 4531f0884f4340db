//! What the cipher alone costs of what a server uses to send bodies.
//!
//! A table of primitives has the cost of sealing one record, in core cycles per byte. At the frequency that
//! the core had during the trials, c cycles per byte at f Hz are c / f seconds of CPU time per byte. That
//! counts bodies alone: heads and the bytes that TLS adds are sealed too, so a little is missing.

use serde::Serialize;
use stats::{Decision, Direction, Estimate, ratio_of_medians};
use study::Metric;
use trial::CoreHz;

use super::point::Point;
use super::row_figure::RowFigure;
use crate::costs::{AlgorithmRow, Cost};
use crate::figure::Figure;
use crate::wording::listed;

/// What the cipher of one cell costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CipherCost {
    /// The value of the compared key in words.
    pub label: String,
    pub cell: String,
    /// The library that was timed, and its version.
    pub library: String,
    /// Core cycles per byte of a record.
    pub cycles_per_byte: Figure,
    /// The core's frequency during the trials, or where that is not known, while the cipher was timed.
    pub core_hz: f64,
    /// CPU time per 10^9 bytes, at that frequency.
    pub s_per_gb: Figure,
    /// Of the server's CPU time for the same bytes.
    pub share: Estimate,
}

impl CipherCost {
    /// `None` where the rule names no table, or that has no figure of it.
    pub(super) fn of(point: &Point, entry: &RowFigure, rows: &[AlgorithmRow]) -> Option<Self> {
        let (row, cost) = timed(point, entry, rows)?;
        let whole = entry.row.figure(Metric::ServerCpuPerGigabyte)?;
        let frequencies = entry.row.valid().filter_map(|line| {
            let CoreHz { before, after } = line.core_hz;
            Some((before? + after?) as f64 / 2.0)
        });
        let core_hz = stats::median(&frequencies.collect::<Vec<_>>()).unwrap_or(cost.core_hz);
        let s_per_gb = cost.cycles.map(|cycles| cycles * 1e9 / core_hz)?;
        Some(Self {
            label: entry.label.clone(),
            cell: entry.row.name.clone(),
            library: row.library_title.clone(),
            share: ratio_of_medians(&s_per_gb.samples, &whole.samples).ok()?,
            cycles_per_byte: cost.cycles.clone(),
            core_hz,
            s_per_gb,
        })
    }

    pub(super) fn exceeds(&self) -> bool {
        is_more_than_the_whole(&self.share)
    }
}

/// Whether a part is more than what it is a part of: beyond its interval, and where that is of too few samples, by
/// its median.
pub(super) fn is_more_than_the_whole(share: &Estimate) -> bool {
    match Decision::of_interval(share, 1.0) {
        Decision::TooFew => share.median > 1.0,
        decision => decision == Decision::Sure(Direction::Above),
    }
}

/// The row of a cell's cipher, in the library that its server runs on.
pub(super) fn timed<'a>(
    point: &Point,
    entry: &RowFigure,
    rows: &'a [AlgorithmRow],
) -> Option<(&'a AlgorithmRow, &'a Cost)> {
    let (table, cell) = (point.rule.nominal.as_ref()?, entry.row.cell()?);
    let (cipher, library) = (cell.record_cipher()?, cell.cipher_library()?);
    let is_it = |row: &&AlgorithmRow| {
        row.table == *table
            && row.key.algorithm == cipher
            && row.key.library == library
            && row.key.size_bytes == Some(cell.record_size().0)
    };
    let row = rows.iter().find(is_it)?;
    Some((row, row.cost.as_ref()?))
}

/// Those that took longer than the server with all it does.
pub(super) fn exceeding(costs: &[CipherCost]) -> Option<String> {
    let exceeding = costs.iter().filter(|cost| cost.exceeds());
    let items = listed(exceeding.map(|cost| cost.label.clone()))?;
    Some(format!(
        "Alone, the cipher of {items} took longer than the server with all it does: the library, or what \
         else used the core, differed."
    ))
}
