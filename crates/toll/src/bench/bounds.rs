//! What the instructions of this processor allow, and how near the libraries come to it.

use primitives::Row;
use primitives::instructions::{Bound, beaten};
use report::{Column, table as printed};

use super::figures::significant;
use crate::screen;

/// The bounds with their arithmetic; with rows instead the fastest library of each, and only the bounds
/// of these rows.
pub(super) fn table(bounds: &[Bound], rows: &[Row]) -> String {
    let costs = |bound: &Bound| -> Vec<(&str, f64)> {
        let costs = rows.iter().filter_map(|row| {
            let measured = row.outcome.measured()?;
            let is_of = bound.of.is_of(&row.key, measured.messages_per_op);
            is_of.then_some((row.library_title.as_str(), measured.cycles().median))
        });
        costs.collect()
    };
    let bounds: Vec<&Bound> =
        bounds.iter().filter(|bound| rows.is_empty() || !costs(bound).is_empty()).collect();
    if bounds.is_empty() {
        return String::new();
    }
    let fastest = |bound: &&Bound| {
        let costs = costs(bound);
        beaten(bound.cycles_per_byte, costs.iter().copied()).unwrap_or_else(|| {
            let fastest = costs.into_iter().min_by(|a, b| a.1.total_cmp(&b.1));
            fastest.map_or_else(String::new, |(library, cycles)| {
                format!("{} with {library}", significant(cycles))
            })
        })
    };
    let mut columns = vec![
        Column::words("at least", bounds.iter().map(|bound| bound.of.to_string())),
        Column::numbers(
            "cycles/byte",
            "",
            bounds.iter().map(|bound| format!("{:.3}", bound.cycles_per_byte)),
        ),
        Column::words("this is", bounds.iter().map(|bound| bound.of.word().to_owned())),
    ];
    columns.push(match rows.is_empty() {
        true => Column::words("how", bounds.iter().map(|bound| bound.arithmetic.clone())),
        false => Column::words("the fastest here", bounds.iter().map(fastest)),
    });
    printed(columns, screen::width(), screen::style())
}
