//! What algorithms cost, as a report shows it.

mod overview;
mod rows;

use units::Bytes;

use super::{Answer, Costs, Curve, LowerBound, Point, Row, Series};
use crate::figure::Decided;
use crate::findings::{
    self, Axis, Cell, Chart, Column, Dot, Findings, Headline, Item, Line, Listing, Section, Table,
};
use crate::wording::{factor, without_intervals};
use stats::Decision;

impl Costs {
    /// What a report shows of it.
    #[must_use]
    pub fn findings(&self) -> Findings {
        let mut names: Vec<&str> = self.rows.iter().map(|row| row.table.as_str()).collect();
        names.dedup();
        let each = |table: fn(&str, &[&Row]) -> Table| -> Vec<Table> {
            let rows = |name: &str| -> Vec<&Row> {
                self.rows.iter().filter(|row| row.table == name).collect()
            };
            names.iter().map(|name| table(name, &rows(name))).collect()
        };
        let measured = self.rows.iter().filter(|row| row.cost.is_some()).count();
        let cycles = self.cycles_source.map(|s| format!("Core cycles are {}.", s.in_words()));
        let method = format!(
            "A cost is the median over the rounds of each round's median of quiet samples; small \
             print gives the quartiles. Ratios are computed per round, with their intervals in brackets. Every result was checked against a second library before and \
             after it was timed. {}",
            cycles.as_deref().unwrap_or_default()
        );
        let bounds = (!self.bounds.is_empty()).then(|| bounds(&self.bounds));
        Findings {
            title: "What algorithms cost",
            answers: self.answers.iter().map(answer).collect(),
            overview: each(overview::table),
            tables: vec![Section {
                title: "Costs",
                about: "Every algorithm, library and size. Click a header to sort.",
                tables: each(rows::table).into_iter().chain(bounds).collect(),
            }],
            notes: cycles.into_iter().collect(),
            method: vec![("What a cost is", method)],
            rejected: Listing {
                title: "Discarded lines of the journal, not used in any figure",
                about: "",
                items: self.discarded.iter().map(Item::from).collect(),
            },
            measured: format!(
                "the costs of {measured} combinations of algorithm, library and size"
            ),
            lacking: (self.done < self.planned).then(|| {
                let planned = units::thousands(self.planned as u64);
                format!("{} of {planned} figures of primitives were measured", self.done)
            }),
            gates: self.gates.clone(),
            is_empty: self.done == 0,
            is_whole: self.is_whole(),
            data: serde_json::to_value(self).ok().map(|all| ("primitives", all)),
            started_unix_ms: self.started_unix_ms,
            ..Findings::default()
        }
    }
}

impl From<&super::Discarded> for Item {
    fn from(line: &super::Discarded) -> Self {
        Self { label: line.of.clone(), text: line.why.clone(), is_warning: true }
    }
}

fn answer(answer: &Answer) -> findings::Answer {
    let published = (!answer.published.is_empty())
        .then(|| format!("Published: {}.", answer.published.join("; ")));
    let projected = answer.projected.iter();
    let projected = projected.map(|text| format!("Projected, not measured: {text}"));
    let sentences = answer.sentences.iter().cloned();
    findings::Answer {
        title: answer.question.clone().unwrap_or_else(|| "What algorithms cost".to_owned()),
        headline: headline(answer),
        tables: Vec::new(),
        charts: answer.curves.iter().map(curve).map(Chart::Curve).collect(),
        notes: sentences.chain(published).chain(projected).collect(),
        doubts: answer.caveats.clone(),
    }
}

/// The first sentence without its intervals, and the greatest difference that the rounds show.
fn headline(answer: &Answer) -> Option<Headline> {
    let ratios = || answer.ratios.iter().map(|ratio| &ratio.times_as_fast);
    let sure = ratios().filter(|ratio| ratio.decision.is_sure());
    let furthest = sure.max_by(|a, b| a.distance().total_cmp(&b.distance()));
    let is_too_few = |ratio: &Decided| ratio.decision == Decision::TooFew;
    let (value, unit) = match furthest {
        Some(furthest) => (factor(furthest.median()), "as fast, the largest difference"),
        None if ratios().any(is_too_few) => ("?".to_owned(), "too few rounds"),
        None => ("≈".to_owned(), "no significant difference"),
    };
    answer.ratios.first()?;
    Some(Headline {
        value,
        unit: unit.to_owned(),
        sentence: without_intervals(answer.sentences.first()?),
        advice: None,
    })
}

fn curve(curve: &Curve) -> findings::Curve {
    let bound = curve.bound.as_ref();
    findings::Curve {
        title: curve.title.clone(),
        subtitle: "upright lines are quartiles".to_owned(),
        x_axis: "size of a message (logarithmic)".to_owned(),
        y_axis: "core cycles per byte (logarithmic); lower is better".to_owned(),
        axis: Axis::Factors,
        lines: curve.series.iter().map(line).collect(),
        bound: bound
            .map(|(of, cost)| (format!("{} of {of}: {cost:.3} cycles/byte", of.word()), *cost)),
        ..findings::Curve::default()
    }
}

fn line(series: &Series) -> Line {
    let dot = |point: &Point| {
        let Point { size_bytes, median, low, high, is_disturbed, .. } = point;
        let disturbed = if *is_disturbed { ", disturbed: too high" } else { "" };
        let size = Bytes(*size_bytes).to_string();
        Dot {
            x: *size_bytes as f64,
            y: *median,
            y_label: format!("{median:.3}"),
            range: Some((*low, *high)),
            title: format!(
                "{}, {size}: {median:.3} cycles/byte, quartiles {low:.3} to {high:.3}{disturbed}",
                series.label
            ),
            x_label: size,
            is_doubtful: *is_disturbed,
            published: point
                .published
                .iter()
                .map(|(of, cost)| (format!("published: {of}, {cost} cycles/byte"), *cost))
                .collect(),
            ..Dot::default()
        }
    };
    Line {
        label: series.label.clone(),
        is_baseline: series.is_baseline,
        is_joined: true,
        dots: series.points.iter().map(dot).collect(),
    }
}

fn bounds(bounds: &[LowerBound]) -> Table {
    let cost = |bound: &LowerBound| {
        let estimate = &bound.cycles_per_byte.estimate;
        let (low, high) = (estimate.interval.low, estimate.interval.high);
        let median = (format!("{:.3}", estimate.median), estimate.median);
        Cell { more: format!("[{low:.3}, {high:.3}]"), ..median.into() }
    };
    let text =
        |name: &str, of: fn(&LowerBound) -> String| Column::words(name, bounds.iter().map(of));
    Table {
        title: "What the instructions allow".to_owned(),
        count: format!("{} bounds and estimates", bounds.len()),
        columns: vec![
            text("of", |bound| bound.of.to_string()),
            text("bound or estimate", |bound| {
                bound.beaten.clone().unwrap_or_else(|| bound.of.word().to_owned())
            }),
            Column::numbers("cycles/byte", "range of the rounds", bounds.iter().map(cost)),
            text("how", |bound| bound.arithmetic.clone()),
        ],
        ..Table::default()
    }
}
