//! Tables, column by column.

use serde::Serialize;
use stats::Estimate;
use units::Unit;

use super::chart::Curve;
use crate::mark::Mark;
use crate::wording::{interval, ratio_alone, ratio_interval};

/// A table. A column in which all is empty is not shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Empty where the heading above says it.
    pub title: String,
    /// A few words after the title.
    pub count: String,
    pub about: String,
    pub chart: Option<Curve>,
    pub columns: Vec<Column>,
    /// For each row; none at all where no row has one.
    pub marks: Vec<Option<Mark>>,
    /// What to know about the figures.
    pub notes: Vec<String>,
}

/// A column with a cell for each row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Column {
    pub name: String,
    pub unit: String,
    pub is_number: bool,
    /// Whether its cells are drawn as long as their keys, and have no text.
    pub is_bars: bool,
    /// 0, or where there is no room it is left out before those with a lower number.
    pub yields_to: usize,
    pub cells: Vec<TableCell>,
}

/// What one field shows and is sorted by.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TableCell {
    pub text: String,
    pub small_print: Option<SmallPrint>,
    /// `None` comes last.
    pub key: Option<SortKey>,
    pub is_bad: bool,
    /// The cell of the journal whose trials are the evidence.
    pub evidence: Option<String>,
}

/// What stands beside a figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SmallPrint {
    /// In brackets.
    Interval(String),
    Remark(String),
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SortKey {
    Number(f64),
    Text(String),
}

impl Table {
    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// Its columns as text alone, each figure with its small print.
    pub fn with_small_print(&self) -> Vec<Column> {
        let mut columns = self.columns.clone();
        for cell in columns.iter_mut().flat_map(|column| &mut column.cells) {
            match cell.small_print.take() {
                None => {}
                Some(SmallPrint::Interval(interval)) => cell.text += &format!(" {interval}"),
                Some(SmallPrint::Remark(remark)) => cell.text += &format!(" ({remark})"),
            }
        }
        columns
    }
}

impl Column {
    /// Words, which begin under each other.
    pub fn words<C: Into<TableCell>>(name: &str, cells: impl IntoIterator<Item = C>) -> Self {
        let cells = cells.into_iter().map(Into::into).collect();
        let (name, unit) = (name.to_owned(), String::new());
        Self { name, unit, is_number: false, is_bars: false, yields_to: 0, cells }
    }

    /// Numbers in a unit, which end under each other.
    pub fn numbers<C: Into<TableCell>>(
        name: &str,
        unit: &str,
        cells: impl IntoIterator<Item = C>,
    ) -> Self {
        Self { unit: unit.to_owned(), is_number: true, ..Self::words(name, cells) }
    }

    /// Bars, each as long as its number.
    pub fn bars(lengths: impl IntoIterator<Item = f64>) -> Self {
        let cells = lengths.into_iter().map(|length| (String::new(), length));
        Self { is_bars: true, ..Self::words("", cells) }
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        !self.is_bars && self.cells.iter().all(|cell| cell.text.is_empty())
    }

    /// Leaves the column out where there is no room for it, before those with a lower number.
    #[must_use]
    pub fn yields_to(self, yields_to: usize) -> Self {
        Self { yields_to, ..self }
    }
}

impl TableCell {
    /// A figure with its interval in small print, sorted by its median.
    pub(crate) fn figure(figure: impl Into<Estimate>, unit: &Unit) -> Self {
        let estimate = figure.into();
        let median = estimate.median;
        Self::with_interval((unit.number(median), median), interval(estimate, unit))
    }

    /// A ratio with its interval in small print.
    pub(crate) fn ratio(ratio: impl Into<Estimate>) -> Self {
        let estimate = ratio.into();
        Self::with_interval((ratio_alone(estimate), estimate.median), ratio_interval(estimate))
    }

    fn with_interval(figure: (String, f64), interval: String) -> Self {
        let small_print = (!interval.is_empty()).then_some(SmallPrint::Interval(interval));
        Self { small_print, ..figure.into() }
    }

    /// A text about a cell of the journal, whose trials are the evidence.
    pub fn about(cell: &str, text: String) -> Self {
        Self { evidence: Some(cell.to_owned()), ..text.into() }
    }
}

impl From<String> for TableCell {
    fn from(text: String) -> Self {
        let key = (!text.is_empty()).then(|| SortKey::Text(text.clone()));
        Self { text, key, ..Self::default() }
    }
}

impl From<(String, f64)> for TableCell {
    fn from((text, value): (String, f64)) -> Self {
        Self { text, key: Some(SortKey::Number(value)), ..Self::default() }
    }
}
