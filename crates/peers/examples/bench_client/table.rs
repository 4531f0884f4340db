//! The samples as a table: medians with their ranges.

use std::fmt::Write;

use study::Line;
use units::{BitsPerSecond, PerSecond, percent, thousands};

use crate::Sample;
use crate::rows::{Maker, Per, Row};

/// A table for each row that was measured, ending in a newline.
pub(crate) fn of(rows: &[Row], samples: &[Sample]) -> String {
    let mut text = String::new();
    for (place, row) in rows.iter().enumerate() {
        let of_row: Vec<&Sample> = samples.iter().filter(|sample| sample.row == place).collect();
        if of_row.is_empty() {
            continue;
        }
        let cost = match row.per {
            Per::Gigabyte => "client CPU-s a GB",
            Per::Operation => "client µs each",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}\n  {:<8}{cost:>30}{:>40}{:>14}{:>14}{:>14}",
            row.title, "", "server rate", "server busy", "client busy", "against toll"
        );
        for maker in row.makers {
            let _ = writeln!(text, "  {:<8}{}", maker.to_string(), cells(row, *maker, &of_row));
        }
        text.push('\n');
    }
    text
}

fn cells(row: &Row, maker: Maker, samples: &[&Sample]) -> String {
    let mine: Vec<&Sample> = samples.iter().copied().filter(|s| s.maker == maker).collect();
    let valid: Vec<&Line> = mine.iter().map(|s| &s.line).filter(|line| line.valid).collect();
    if valid.is_empty() {
        return mine.first().map_or_else(|| "not measured".into(), |s| why_not(&s.line));
    }
    let costs: Vec<f64> = valid.iter().filter_map(|line| cost(row, line)).collect();
    let rates: Vec<f64> = valid
        .iter()
        .map(|line| match row.per {
            Per::Gigabyte => line.goodput_bps as f64,
            Per::Operation => line.rate_per_s,
        })
        .collect();
    let busy = |of: fn(&Line) -> Option<f64>| {
        let shares: Vec<f64> = valid.iter().filter_map(|line| of(line)).collect();
        stats::median(&shares).map_or_else(|_| "?".into(), percent)
    };
    let mut text = format!(
        "{:>30}{:>40}{:>14}{:>14}{:>14}",
        spread(&costs, significant),
        spread(&rates, |rate| match row.per {
            Per::Gigabyte => BitsPerSecond(rate).to_string(),
            Per::Operation => PerSecond(rate).to_string(),
        }),
        busy(|line| line.verdict.evidence.server_busy),
        busy(|line| line.verdict.evidence.client_busy),
        against_toll(row, &mine, samples),
    );
    if valid.len() < mine.len() {
        let lost =
            mine.iter().find(|s| !s.line.valid).map_or_else(String::new, |s| why_not(&s.line));
        // Writing to a string cannot fail.
        let _ = write!(text, "  ({} of {} {lost})", mine.len() - valid.len(), mine.len());
    }
    text
}

/// Client CPU-seconds a GB, or microseconds an operation.
fn cost(row: &Row, line: &Line) -> Option<f64> {
    let client = line.cpu_ns.client?;
    match row.per {
        Per::Gigabyte => line.per_gigabyte(client),
        Per::Operation => line.per_operation(client).map(|ns| ns / 1e3),
    }
}

/// The median of the cost over toll's in the same round.
fn against_toll(row: &Row, mine: &[&Sample], samples: &[&Sample]) -> String {
    let valid_cost = |sample: &Sample| cost(row, &sample.line).filter(|_| sample.line.valid);
    let of_toll = |round: u32| {
        let toll = samples.iter().find(|s| s.maker == Maker::Toll && s.round == round)?;
        valid_cost(toll)
    };
    let ratios: Vec<f64> =
        mine.iter().filter_map(|s| Some(valid_cost(s)? / of_toll(s.round)?)).collect();
    stats::median(&ratios).map_or_else(|_| "?".into(), |ratio| format!("{}x", significant(ratio)))
}

/// `1.2 [1.1, 1.4]`: the median, the least and the most.
fn spread(samples: &[f64], in_words: impl Fn(f64) -> String) -> String {
    let least = samples.iter().copied().fold(f64::INFINITY, f64::min);
    let most = samples.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match stats::median(samples) {
        Ok(median) => format!("{} [{}, {}]", in_words(median), in_words(least), in_words(most)),
        Err(_) => "?".into(),
    }
}

/// Three digits that mean something.
fn significant(value: f64) -> String {
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
