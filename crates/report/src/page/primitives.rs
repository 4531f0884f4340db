//! What algorithms cost: answers, drawings, and a table of each table of the study.

use answer::primitive::{Answer, Costs, Row};
use serde::Serialize;
use units::{Bytes, Hertz, PerSecond};

use super::cells::Column;
use crate::chart::{CostCurve, cost_curve};

/// All of it.
#[derive(Serialize)]
pub(super) struct View<'a> {
    answers: Vec<AnswerView<'a>>,
    tables: Vec<Table>,
    bounds: Vec<BoundView<'a>>,
    discarded: Vec<String>,
    cycles: Option<&'static str>,
}

#[derive(Serialize)]
struct AnswerView<'a> {
    #[serde(flatten)]
    answer: &'a Answer,
    drawn: Vec<CostCurve>,
}

/// The rows of a table of the study.
#[derive(Serialize)]
struct Table {
    name: String,
    is_open: bool,
    columns: Vec<Column>,
    rows: Vec<Vec<Field>>,
    is_disturbed: bool,
}

/// What one field shows and is sorted by.
#[derive(Serialize)]
struct Field {
    text: String,
    more: String,
    /// `None` comes last.
    key: Option<Key>,
    is_bad: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Key {
    Number(f64),
    Text(String),
}

#[derive(Serialize)]
struct BoundView<'a> {
    of: &'a str,
    cycles_per_byte: String,
    range: String,
    arithmetic: &'a str,
}

/// More rows than these are folded.
const MOST_OPEN: usize = 16;

pub(super) fn view(found: &Costs) -> View<'_> {
    let answer = |answer| AnswerView { answer, drawn: drawn(answer) };
    let mut names: Vec<&str> = Vec::new();
    for row in &found.rows {
        if !names.contains(&row.place.table.as_str()) {
            names.push(&row.place.table);
        }
    }
    View {
        answers: found.answers.iter().map(answer).collect(),
        tables: names.into_iter().map(|name| table(name, found)).collect(),
        bounds: found.bounds.iter().map(bound).collect(),
        discarded: found.discarded.iter().map(|d| format!("{}: {}", d.of, d.why)).collect(),
        cycles: found.cycles_source.map(|source| source.in_words()),
    }
}

fn drawn(answer: &Answer) -> Vec<CostCurve> {
    answer.curves.iter().map(cost_curve).collect()
}

fn bound(bound: &answer::primitive::LowerBound) -> BoundView<'_> {
    let estimate = &bound.cycles_per_byte.estimate;
    BoundView {
        of: &bound.of,
        cycles_per_byte: format!("{:.3}", estimate.median),
        range: format!("[{:.3}, {:.3}]", estimate.interval.low, estimate.interval.high),
        arithmetic: &bound.arithmetic,
    }
}

/// A column with what each row has there.
type Of = fn(&Row) -> Field;

const COLUMNS: [(&str, &str, bool, Of); 13] = [
    ("algorithm", "", false, |row| words(&row.place.algorithm)),
    ("library", "", false, |row| words(&row.library_title)),
    ("hardware", "", false, |row| words(&row.place.hardware.to_string())),
    ("data", "", false, |row| words(&row.place.cache.to_string())),
    ("message", "", true, size),
    ("cost", "cycles/byte; cycles", true, cost),
    ("rate", "", true, rate),
    ("core", "", true, |row| of_cost(row, |c| (Hertz(c.core_hz).to_string(), c.core_hz))),
    ("bound", "times", true, times),
    ("published", "cycles/byte", false, published),
    ("at once", "messages", true, |row| {
        of_cost(row, |c| (c.messages_per_op.to_string(), c.messages_per_op as f64))
    }),
    ("quiet samples", "of all", true, |row| {
        of_cost(row, |c| {
            (format!("{} of {}", c.taken - c.dropped, c.taken), (c.taken - c.dropped) as f64)
        })
    }),
    ("confirmed by", "", false, |row| {
        words(row.cost.as_ref().map_or("", |cost| &cost.confirmed_by))
    }),
];

fn table(name: &str, found: &Costs) -> Table {
    let rows: Vec<&Row> = found.rows.iter().filter(|row| row.place.table == name).collect();
    let fields: Vec<Vec<Field>> =
        rows.iter().map(|row| COLUMNS.iter().map(|(.., of)| of(row)).collect()).collect();
    // A column that no row has anything in is none.
    let has_any = |at: usize| fields.iter().any(|row| !row[at].text.is_empty());
    let kept: Vec<bool> = (0..COLUMNS.len()).map(has_any).collect();
    let columns = COLUMNS.iter().zip(&kept).filter(|(_, kept)| **kept);
    let of_kept = |row: Vec<Field>| {
        row.into_iter().zip(&kept).filter(|(_, kept)| **kept).map(|(field, _)| field).collect()
    };
    Table {
        name: name.to_owned(),
        is_open: rows.len() <= MOST_OPEN,
        columns: columns
            .map(|((name, unit, is_number, _), _)| Column { name, unit, is_number: *is_number })
            .collect(),
        is_disturbed: rows
            .iter()
            .any(|row| row.cost.as_ref().is_some_and(|cost| cost.disturbed_rounds > 0)),
        rows: fields.into_iter().map(of_kept).collect(),
    }
}

fn words(text: &str) -> Field {
    let key = (!text.is_empty()).then(|| Key::Text(text.to_owned()));
    Field { text: text.to_owned(), more: String::new(), key, is_bad: false }
}

fn number((text, key): (String, f64)) -> Field {
    Field { text, more: String::new(), key: Some(Key::Number(key)), is_bad: false }
}

fn of_cost(row: &Row, of: fn(&answer::primitive::Cost) -> (String, f64)) -> Field {
    row.cost.as_ref().map_or_else(|| words(""), |cost| number(of(cost)))
}

fn size(row: &Row) -> Field {
    let size = row.place.size_bytes;
    size.map_or_else(|| words(""), |size| number((Bytes(size).to_string(), size as f64)))
}

fn cost(row: &Row) -> Field {
    let Some(cost) = &row.cost else {
        let why = row.no_figure.as_deref().unwrap_or("not measured");
        return Field { is_bad: row.is_refused(), key: None, ..words(why) };
    };
    let median = cost.cycles.estimate.median;
    let mark = if cost.disturbed_rounds > 0 { " !" } else { "" };
    let (text, more) = match row.place.size_bytes {
        Some(_) => (format!("{median:.3}{mark}"), format!("{:.3} to {:.3}", cost.low, cost.high)),
        None => (format!("{median:.0}{mark}"), format!("{:.0} to {:.0}", cost.low, cost.high)),
    };
    Field { more, ..number((text, median)) }
}

fn rate(row: &Row) -> Field {
    of_cost(row, |cost| match cost.bytes_per_s {
        Some(bytes) => (format!("{:.2} GB/s", bytes / 1e9), bytes),
        None => (PerSecond(cost.ops_per_s).to_string(), cost.ops_per_s),
    })
}

fn times(row: &Row) -> Field {
    let times = row.times_the_bound;
    times.map_or_else(|| words(""), |times| number((format!("{times:.2}"), times)))
}

fn published(row: &Row) -> Field {
    let of = row.published.iter().map(|of| format!("{} ({})", of.cycles_per_byte, of.label));
    words(&of.collect::<Vec<_>>().join(", "))
}
