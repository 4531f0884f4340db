//! What the instructions of this processor allow, and how near the libraries come to it.

use primitives::Row;
use primitives::instructions::{Bound, beaten};
use report::{Column, table as printed};

use super::figures::{Context, significant};
use super::shown::{self, Figures, cost};
use crate::screen;

/// The bounds with their arithmetic; with rows instead the fastest library of each, and only the bounds
/// of these rows.
pub(super) fn table(bounds: &[Bound], measured: Option<(&[Row], &Context<'_>)>) -> String {
    let rows = measured.map_or(&[][..], |(rows, _)| rows);
    let costs = |bound: &Bound| -> Vec<Figures<'_>> {
        let figures = rows.iter().filter_map(|row| Some((row, row.outcome.measured()?)));
        figures.filter(|(row, of)| bound.of.is_of(&row.key, of.messages_per_op)).collect()
    };
    let bounds: Vec<&Bound> =
        bounds.iter().filter(|bound| measured.is_none() || !costs(bound).is_empty()).collect();
    if bounds.is_empty() {
        return String::new();
    }
    let fastest = |bound: &&Bound, context: &Context<'_>| {
        let costs = costs(bound);
        let comparable = costs.iter().filter(|(_, measured)| context.is_comparable(measured));
        let comparable = comparable.map(|(row, of)| (row.library_title.as_str(), cost(of)));
        beaten(bound.cycles_per_byte, comparable).unwrap_or_else(|| {
            shown::fastest(&costs, context).map_or_else(
                || "not known: disturbed".to_owned(),
                |(row, of)| format!("{} with {}", significant(cost(of)), row.library_title),
            )
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
    columns.push(match measured {
        None => Column::words("how", bounds.iter().map(|bound| bound.arithmetic.clone())),
        Some((_, context)) => {
            Column::words("the fastest here", bounds.iter().map(|bound| fastest(bound, context)))
        }
    });
    printed(columns, screen::width(), screen::style())
}
