//! A `[[claim]]`: a figure of the study's reference, and the rows that show whether it holds.

use study::{Claim, ClaimedFigure, Metric};

use super::answer::Known;
use super::document::{ClaimKeys, Sentence};
use super::error::Flaw;
use super::fields::Field;
use super::primitives::{self, named};
use super::rows::{self, BEST, CASE};
use super::shown::figure;
use study::headline::RowOf;

pub(super) fn read(fields: Field<'_>, known: &Known<'_>) -> Result<Claim, Flaw> {
    let ClaimKeys { why, metric, .. } = fields.read()?;
    let field = fields.field("published")?;
    let published = figure(field, known.reference)?;
    let row = |key| fields.get(key).map(|field| row(field.fields()?, known)).transpose();
    let (of, over) = (row("of")?, row("over")?);
    let than = match (row("than")?, row("than-over")?) {
        (Some(than), Some(than_over)) if over.is_some() => Some((than, than_over)),
        (None, None) => None,
        _ => {
            let what = "needs `over`, `than` and `than-over`, or neither of the last two";
            return Err(field.flaw(what));
        }
    };
    let why = why.map(|Sentence(why)| why);
    let measured = match (metric, of) {
        (Some(metric), Some(of)) => {
            if !published.unit.decides(metric, over.is_some()) {
                let over = if over.is_some() { ", one over another" } else { "" };
                return Err(field.wrong(&format!(
                    "has another unit or kind ({}) than metric = {}{over}; a ratio needs `over`, and nothing \
                     else has it",
                    published.says,
                    metric.name()
                )));
            }
            Some(ClaimedFigure { metric, of, over, than })
        }
        (None, None) if over.is_none() && why.is_some() => None,
        (None, None) => {
            let what = "is measured by nothing; write metric and of, or why it cannot be measured";
            return Err(field.flaw(what));
        }
        _ => {
            return Err(field.flaw("needs both `metric` and `of`, or neither; write the other too"));
        }
    };
    if let Some(ClaimedFigure { metric, of, over, than }) = &measured {
        let is_table = |of: &RowOf| known.tables.iter().any(|table| table.name == of.case);
        let is_of_table = is_table(of);
        // One core's rate of a cell may be set beside that of an algorithm.
        let is_alone = *metric == Metric::RatePerServerCpu && than.is_none();
        let others = over.iter().filter(|_| !is_alone);
        let others = others.chain(than.iter().flat_map(|(one, other)| [one, other]));
        if let Some(other) = others.into_iter().find(|other| is_table(other) != is_of_table) {
            let what =
                format!("sets {} beside {}, which have no figure in common", of.case, other.case);
            return Err(field.flaw(&what));
        }
        if is_of_table != Metric::OF_ALGORITHMS.contains(metric) {
            let what = format!("= {} is no figure of {}; choose another", metric.name(), of.case);
            return Err(fields.field("metric")?.flaw(&what));
        }
    }
    Ok(Claim { published, measured, why })
}

/// A cell, or a row of a table.
fn row(fields: Field<'_>, known: &Known<'_>) -> Result<RowOf, Flaw> {
    if let Some(field) = fields.get(BEST) {
        return Err(
            field.flaw("would choose the row by its figure; name the row that was published")
        );
    }
    match fields.get(primitives::NAME) {
        Some(field) => {
            let table = named(field, known.tables)?;
            rows::table_row(fields, table, "", table.sizes.last())
        }
        None => rows::cell_of(fields, fields.field(CASE)?, known.cases, ""),
    }
}
