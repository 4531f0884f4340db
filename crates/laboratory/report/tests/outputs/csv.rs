//! `cells.csv` through a reader of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use study::Metric;

use crate::fabricated;

/// The records of a text in the form of RFC 4180, section 2.
fn records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let (mut quoted, mut chars) = (false, text.chars().peekable());
    while let Some(c) = chars.next() {
        match (quoted, c) {
            (true, '"') if chars.peek() == Some(&'"') => field.extend(chars.next()),
            (_, '"') => quoted = !quoted,
            (false, ',') => record.push(std::mem::take(&mut field)),
            (false, '\r') => {
                assert_eq!(chars.next(), Some('\n'), "a line ends with CR and LF");
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            _ => field.push(c),
        }
    }
    assert!(!quoted && record.is_empty() && field.is_empty(), "the last line has an end");
    records
}

fn rows(csv: &str) -> Vec<BTreeMap<String, String>> {
    let mut records = records(csv).into_iter();
    let header = records.next().unwrap();
    let row = |record: Vec<String>| {
        assert_eq!(record.len(), header.len());
        header.iter().cloned().zip(record).collect()
    };
    records.map(row).collect()
}

#[test]
fn every_cell_is_a_row_with_its_figures() {
    let run = fabricated::whole();
    let rows = rows(&report::cells_csv(&run.analysis));
    assert_eq!(rows.len(), run.analysis.cells.len());
    for (row, cell) in rows.iter().zip(&run.analysis.cells) {
        assert_eq!(row["study"], "quick");
        assert_eq!(row["cell"], cell.name);
        assert_eq!(row["label"], cell.label);
        assert_eq!(row["target_server"], cell.params["target.server"].to_string());
        assert_eq!(row["trials_valid"], cell.trials.valid.to_string());
        let rate = cell.figure(Metric::Rate).unwrap().estimate;
        assert_eq!(row["rate_per_s_median"].parse(), Ok(rate.median));
        assert_eq!(row["rate_per_s_low"].parse(), Ok(rate.interval.low));
        assert_eq!(row["rate_per_s_high"].parse(), Ok(rate.interval.high));
        assert_eq!(row["rate_per_s_coverage"].parse(), Ok(rate.interval.coverage));
        assert_eq!(row["goodput_bps_median"].is_empty(), cell.figure(Metric::Goodput).is_none());
    }
    let plain = rows.iter().find(|row| row["label"] == "embedded, plain HTTP").unwrap();
    assert_eq!(plain["limits"], "client-cpu:7");
    assert_eq!(plain["mark"], "client-bound");
    // A key that only the other case sweeps.
    assert_eq!(plain["target_certificate_key"], "");
}

#[test]
fn texts_come_back_as_they_were() {
    let mut run = fabricated::whole();
    let texts =
        ["a, b", "\"quoted\"", "two\nlines\r\nand, \"more\"", "", "=1+1", fabricated::HOSTILE];
    for (cell, text) in run.analysis.cells.iter_mut().zip(texts) {
        Arc::make_mut(cell).measured.label = text.to_owned();
    }
    let rows = rows(&report::cells_csv(&run.analysis));
    for (row, text) in rows.iter().zip(texts) {
        assert_eq!(row["label"], text);
    }
}

#[test]
fn what_was_not_measured_is_empty_and_never_zero() {
    let nothing = fabricated::of_nothing();
    for row in rows(&report::cells_csv(&nothing.analysis)) {
        assert_eq!((row["trials_planned"].as_str(), row["trials_done"].as_str()), ("7", "0"));
        assert_eq!((row["rate_per_s_median"].as_str(), row["limits"].as_str()), ("", ""));
        assert_eq!(row["mark"], "not-measured");
    }
    let mut none = nothing.analysis;
    none.cells.clear();
    assert_eq!(records(&report::cells_csv(&none)).len(), 1);
}
