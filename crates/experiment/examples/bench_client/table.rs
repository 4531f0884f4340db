//! The samples as a table: medians with their ranges.

use std::fmt::Write;

use trial::Line;
use units::{BitsPerSecond, PerSecond, percent, thousands};

use crate::Sample;
use crate::goals::paired;
use crate::rows::{Maker, Per, Row};

/// A table for each row that was measured, ending in a newline.
pub(crate) fn of(rows: &[Row], samples: &[Sample]) -> String {
    let mut text = String::new();
    for (place, row) in rows.iter().enumerate() {
        if samples.iter().all(|sample| sample.row != place) {
            continue;
        }
        let cost = match row.per {
            Per::Gigabyte => "CPU-s a GB: client",
            Per::Operation => "CPU µs each: client",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}\n  {:<8}{cost:>30}{:>20}{:>40}{:>14}{:>14}{:>14}",
            row.title, "", "server", "server rate", "server busy", "client busy", "against toll"
        );
        for maker in row.makers {
            let cells = cells(rows, place, *maker, samples);
            let _ = writeln!(text, "  {:<8}{cells}", maker.to_string());
        }
        text.push('\n');
    }
    text
}

fn cells(rows: &[Row], place: usize, maker: Maker, samples: &[Sample]) -> String {
    let row = &rows[place];
    let mine: Vec<&Sample> =
        samples.iter().filter(|s| (s.row, s.maker) == (place, maker)).collect();
    let valid: Vec<&Line> = mine.iter().map(|s| &s.line).filter(|line| line.valid).collect();
    if valid.is_empty() {
        return mine.first().map_or_else(|| "not measured".into(), |s| why_not(&s.line));
    }
    let costs: Vec<f64> = valid.iter().filter_map(|line| cost(row, line)).collect();
    let server: Vec<f64> =
        valid.iter().filter_map(|line| per(row, line, line.cpu_ns.server?)).collect();
    let rates: Vec<f64> = valid.iter().map(|line| rate(row, line)).collect();
    let toll = (place, Maker::Toll);
    let ratios = paired(rows, samples, (place, maker), toll, cost);
    let against =
        stats::median(&ratios).map_or_else(|_| "?".into(), |r| format!("{}x", significant(r)));
    let busy = |of: fn(&Line) -> Option<f64>| {
        let shares: Vec<f64> = valid.iter().filter_map(|line| of(line)).collect();
        stats::median(&shares).map_or_else(|_| "?".into(), percent)
    };
    let mut text = format!(
        "{:>30}{:>20}{:>40}{:>14}{:>14}{against:>14}",
        spread(&costs, significant),
        stats::median(&server).map_or_else(|_| "?".into(), significant),
        spread(&rates, |rate| match row.per {
            Per::Gigabyte => BitsPerSecond(rate).to_string(),
            Per::Operation => PerSecond(rate).to_string(),
        }),
        busy(|line| line.verdict.evidence.server_busy),
        busy(|line| line.verdict.evidence.client_busy),
    );
    if valid.len() < mine.len() {
        let lost =
            mine.iter().find(|s| !s.line.valid).map_or_else(String::new, |s| why_not(&s.line));
        // Writing to a string cannot fail.
        let _ = write!(text, "  ({} of {} {lost})", mine.len() - valid.len(), mine.len());
    }
    text
}

/// The client's CPU-seconds a GB, or microseconds an operation.
pub(crate) fn cost(row: &Row, line: &Line) -> Option<f64> {
    per(row, line, line.cpu_ns.client?)
}

fn per(row: &Row, line: &Line, cpu_ns: u64) -> Option<f64> {
    match row.per {
        Per::Gigabyte => line.per_gigabyte(cpu_ns),
        Per::Operation => line.per_operation(cpu_ns).map(|ns| ns / 1e3),
    }
}

/// Bits or operations a second.
pub(crate) fn rate(row: &Row, line: &Line) -> f64 {
    match row.per {
        Per::Gigabyte => line.goodput_bps as f64,
        Per::Operation => line.rate_per_s,
    }
}

/// `1.2 [1.1, 1.4]`: the median, the least and the most.
pub(crate) fn spread(samples: &[f64], in_words: impl Fn(f64) -> String) -> String {
    let least = samples.iter().copied().fold(f64::INFINITY, f64::min);
    let most = samples.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match stats::median(samples) {
        Ok(median) => format!("{} [{}, {}]", in_words(median), in_words(least), in_words(most)),
        Err(_) => "?".into(),
    }
}

/// Three digits that mean something.
pub(crate) fn significant(value: f64) -> String {
    match value {
        1000.0.. => thousands(value.round() as u64),
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn why_not(line: &Line) -> String {
    let mismatch = line.receipt.mismatch.first().map(ToString::to_string);
    let why = line.load_error.clone().or(mismatch).unwrap_or_else(|| line.verdict.reason());
    format!("not valid: {why}")
}
