//! `cells.csv`: one row a cell, or an algorithm of a table (RFC 4180), for spreadsheets and scripts.
//!
//! Numbers are whole, in the unit that the column's name ends with; what was not measured is an
//! empty field, never 0.

use std::collections::BTreeSet;

use answer::analysis::{Analysis, Figure, Row, SearchEnd};
use serde::Serialize;
use study::{Metric, Param};

/// The rows of `analysis` as CSV with a header.
///
/// Every key that rows differ in has a column of its own, `load.suite` as `load_suite`. Each figure has four: the
/// median, both ends of its interval, and the probability, 0 to 1, that the interval covers the
/// median. `limits` counts trials, as in `client-cpu:1 server-cpu:6`. `search` is `found`, `infeasible`,
/// `invalid` or `unfinished` where the load was searched for.
pub fn cells_csv(analysis: &Analysis) -> String {
    let keys: BTreeSet<&str> =
        analysis.cells.iter().flat_map(|cell| cell.params.keys().map(String::as_str)).collect();
    let mut csv = String::new();
    push_record(&mut csv, &header(&keys));
    for cell in &analysis.cells {
        push_record(&mut csv, &record(analysis, cell, &keys));
    }
    csv
}

const COUNTS: [&str; 3] = ["trials_planned", "trials_done", "trials_valid"];
const ENDS: [&str; 4] = ["median", "low", "high", "coverage"];

fn header(keys: &BTreeSet<&str>) -> Vec<String> {
    let names = ["study", "case", "cell", "label"].into_iter().map(str::to_owned);
    let params = keys.iter().map(|key| key.replace(['.', '-'], "_"));
    let figures =
        Metric::of_rows().flat_map(|of| ENDS.map(|end| format!("{}_{end}", of.row().csv)));
    let verdicts =
        ["limits", "mark", "search", "search_load", "search_best"].into_iter().map(str::to_owned);
    names.chain(params).chain(COUNTS.map(str::to_owned)).chain(figures).chain(verdicts).collect()
}

fn record(analysis: &Analysis, cell: &Row, keys: &BTreeSet<&str>) -> Vec<String> {
    let names = [&analysis.study, &cell.case, &cell.name, &cell.label].map(Clone::clone);
    let params =
        keys.iter().map(|key| cell.params.get(*key).map(Param::to_string).unwrap_or_default());
    let counts = [cell.trials.planned, cell.trials.done, cell.trials.valid];
    let figures = Metric::of_rows().flat_map(|metric| ends(cell.figure(metric)));
    let limits: Vec<String> =
        cell.limits.iter().map(|(limit, trials)| format!("{limit}:{trials}")).collect();
    let [search, load, best] = search(cell);
    let verdicts = [limits.join(" "), cell.mark.map(kebab).unwrap_or_default(), search, load, best];
    names
        .into_iter()
        .chain(params)
        .chain(counts.map(|count| count.to_string()))
        .chain(figures)
        .chain(verdicts)
        .collect()
}

/// What came of the search for the cell's load, the load, and the best where there is none.
fn search(cell: &Row) -> [String; 3] {
    let Some(search) = &cell.search else { return Default::default() };
    let none = String::new;
    match &search.end {
        SearchEnd::Found { load } => ["found".to_owned(), load.clone(), none()],
        SearchEnd::Infeasible { best } => {
            ["infeasible".to_owned(), none(), best.clone().unwrap_or_default()]
        }
        SearchEnd::Invalid { .. } => ["invalid".to_owned(), none(), none()],
        SearchEnd::Unfinished => ["unfinished".to_owned(), none(), none()],
    }
}

fn ends(figure: Option<Figure>) -> [String; 4] {
    let Some(Figure { estimate, .. }) = figure else { return Default::default() };
    let interval = estimate.interval;
    [estimate.median, interval.low, interval.high, interval.coverage].map(|v| v.to_string())
}

/// The name that a value has in JSON.
fn kebab(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

fn push_record(csv: &mut String, fields: &[String]) {
    for (i, field) in fields.iter().enumerate() {
        if i > 0 {
            csv.push(',');
        }
        if field.contains([',', '"', '\r', '\n']) {
            csv.push('"');
            csv.push_str(&field.replace('"', "\"\""));
            csv.push('"');
        } else {
            csv.push_str(field);
        }
    }
    csv.push_str("\r\n");
}
