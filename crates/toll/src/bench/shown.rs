//! Which rows the tables show.

use primitives::bench::Measurement;
use primitives::row::{Measured, Reason};
use primitives::{Algorithm, Row};

use super::figures::Context;

/// What is compared where several sizes were measured: the size of a full TLS record.
const RECORD: u64 = 16 << 10;

/// The library that is always shown.
const OPENSSL: &str = "openssl";

/// A row with its figures.
pub(super) type Figures<'a> = (&'a Row, &'a Measured);

/// The rows of OpenSSL and of the fastest library of each algorithm, and those that failed; of an algorithm
/// with figures that cannot be compared, all, since none is known to be the fastest.
pub(super) fn main_rows(measurement: &Measurement, context: &Context<'_>) -> Measurement {
    let is_fastest = |row: &Row| {
        let rows = at_one_size(measurement, row.key.algorithm);
        let fastest = fastest(&rows, context).map(|(row, _)| &row.key.library);
        fastest.is_none_or(|library| *library == row.key.library)
    };
    let is_shown = |row: &&Row| {
        let is_refused = row.outcome.no_figure().is_some_and(|none| none.reason == Reason::Refused);
        is_refused || row.key.library == OPENSSL || is_fastest(row)
    };
    let rows = measurement.rows.iter().filter(is_shown).cloned().collect();
    Measurement { rows, ..*measurement }
}

/// The least cost of these; `None` where one of them cannot be compared with the others.
pub(super) fn fastest<'a>(rows: &[Figures<'a>], context: &Context<'_>) -> Option<Figures<'a>> {
    let are_comparable = rows.iter().all(|(_, measured)| context.is_comparable(measured));
    let rows = rows.iter().copied().filter(|_| are_comparable);
    rows.min_by(|a, b| cost(a.1).total_cmp(&cost(b.1)))
}

/// The figures of an algorithm at the size of a full record, or at the largest; of operations, all.
pub(super) fn at_one_size(measurement: &Measurement, algorithm: Algorithm) -> Vec<Figures<'_>> {
    let rows = measurement.rows.iter().filter(|row| row.key.algorithm == algorithm);
    let mut rows: Vec<Figures<'_>> =
        rows.filter_map(|row| Some((row, row.outcome.measured()?))).collect();
    let sizes = rows.iter().filter_map(|(row, _)| row.key.size_bytes);
    let size = sizes.clone().find(|&size| size == RECORD).or_else(|| sizes.max());
    rows.retain(|(row, _)| row.key.size_bytes == size);
    rows
}

/// Cycles of a byte or an operation.
pub(super) fn cost(measured: &Measured) -> f64 {
    measured.cycles().median
}
