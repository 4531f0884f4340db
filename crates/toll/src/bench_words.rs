//! The sentences of `toll bench`, and the notes below its tables.

use std::fmt::Write;

use primitives::bench::{Measured, Outcome, Row};
use primitives::published;
use primitives::sampler::Quality;
use primitives::{Algorithm, Hardware, Unit};
use units::{Bytes, PerSecond};

use crate::bench_table::{Context, MARK, is_unavailable, significant};

/// More sentences than these are a table.
const MOST: usize = 6;

/// What is said of many algorithms: those that web servers spend their time in.
const HEADLINES: [&str; 8] = [
    "AES-128-GCM",
    "ChaCha20-Poly1305",
    "SHA-256",
    "RSA-2048 sign",
    "ECDSA P-256 sign",
    "X25519 exchange",
    "TLS 1.3 AES-128-GCM record seal",
    "TLS 1.3 P-256 full handshake server",
];

/// What is meant where several sizes were measured: the size of a full TLS record.
const RECORD: usize = 16 << 10;

/// A sentence for each algorithm, or for the main ones of many.
pub(crate) fn sentences(outcome: &Outcome, context: &Context<'_>) -> String {
    let mut algorithms: Vec<Algorithm> = Vec::new();
    for row in outcome.rows.iter().filter(|row| row.outcome.is_ok()) {
        if !algorithms.contains(&row.place.algorithm) {
            algorithms.push(row.place.algorithm);
        }
    }
    if algorithms.len() > MOST {
        algorithms.retain(|algorithm| HEADLINES.contains(&algorithm.name()));
    }
    let mut text = String::new();
    for algorithm in algorithms {
        if let Some(sentence) = sentence(algorithm, outcome, context) {
            let _ = writeln!(text, "{sentence}");
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// What it costs with the first library, and with the best of the others.
fn sentence(algorithm: Algorithm, outcome: &Outcome, context: &Context<'_>) -> Option<String> {
    let rows: Vec<(&Row, &Measured)> = outcome
        .rows
        .iter()
        .filter(|row| row.place.algorithm == algorithm)
        .filter_map(|row| Some((row, row.outcome.as_ref().ok()?)))
        .collect();
    let sizes = rows.iter().filter_map(|(row, _)| row.place.size);
    let size = sizes.clone().find(|&size| size == RECORD).or_else(|| sizes.max());
    let mut rows = rows.into_iter().filter(|(row, _)| row.place.size == size);
    let first = rows.next()?;
    let best = rows.min_by(|a, b| cost(a.1).total_cmp(&cost(b.1)));
    let title = |row: &Row| context.libraries[row.place.library].title();
    let at = size.map_or(String::new(), |size| format!(" at {}", Bytes(size as u64)));
    let threads = match context.threads {
        1 => String::new(),
        threads => format!(" on {threads} CPUs together"),
    };
    let mut text = format!(
        "{algorithm} costs {} here with {}{at} ({}{threads})",
        in_unit(algorithm, first.1, true),
        title(first.0),
        rate(algorithm, first.1),
    );
    if let Some(best) = best {
        let ratio = cost(first.1) / cost(best.1);
        let at_once = match best.1.lanes {
            1 => String::new(),
            lanes => format!(" with {lanes} messages at once"),
        };
        let other = title(best.0);
        let takes = in_unit(algorithm, best.1, false);
        text += &match ratio {
            ratio if ratio >= 1.005 => {
                format!("; {other} does it in {takes}{at_once}: {ratio:.2}x as fast")
            }
            ratio if ratio > 0.995 => format!("; {other} costs the same"),
            ratio => format!("; the next, {other}, takes {takes}{at_once}: {:.2}x", 1.0 / ratio),
        };
        if best.1.figure.quality == Quality::Disturbed
            || first.1.figure.quality == Quality::Disturbed
        {
            text += ". Other work used the core meanwhile: rely on ratios, not on figures";
        }
    }
    text.push('.');
    Some(text)
}

/// Cycles of a byte or an operation.
fn cost(measured: &Measured) -> f64 {
    measured.figure.cycles.median / measured.message_bytes.max(1) as f64
}

fn in_unit(algorithm: Algorithm, measured: &Measured, with_unit: bool) -> String {
    let cost = cost(measured);
    let (figure, unit) = match algorithm.unit() {
        Unit::Byte => (significant(cost), "cycles/byte"),
        Unit::Operation => (significant(cost / 1e3), "kilocycles"),
    };
    if with_unit { format!("{figure} {unit}") } else { figure }
}

fn rate(algorithm: Algorithm, measured: &Measured) -> String {
    match algorithm.unit() {
        Unit::Byte => {
            format!("{:.2} GB/s", measured.runs_per_s * measured.message_bytes as f64 / 1e9)
        }
        Unit::Operation => PerSecond(measured.runs_per_s).to_string(),
    }
}

/// What a reader should know about the figures.
pub(crate) fn notes(outcome: &Outcome, context: &Context<'_>) -> String {
    let mut text = format!("Core cycles are {}.\n", outcome.source.in_words());
    let measured = || outcome.rows.iter().filter_map(|row| row.outcome.as_ref().ok());
    let count = |quality| measured().filter(|one| one.figure.quality == quality).count();
    let (disturbed, all) = (count(Quality::Disturbed), measured().count());
    if disturbed > 0 {
        let _ = writeln!(
            text,
            "{MARK}: too few quiet samples ({disturbed} of {all} figures): other work used the \
             core, for example a busy hyperthread. The figure uses all samples; the real cost is \
             lower."
        );
    }
    if cfg!(debug_assertions) {
        text +=
            "This toll was built without optimization: the Rust libraries are faster than shown.\n";
    }
    if count(Quality::Unknown) > 0 {
        text += "toll cannot detect on this processor whether other work used the core.\n";
    }
    let _ = writeln!(text, "Data was {} in the caches: --cache.", context.cache);
    if context.threads > 1 {
        let _ = writeln!(
            text,
            "{} CPUs worked at the same time: cycles are per CPU, rates are for all together.",
            context.threads
        );
    }
    if context.hardware != Hardware::All {
        let [(_, _), (variable, mask)] = &context.hardware.environment()[..] else { return text };
        let _ = writeln!(text, "Features were masked with {variable}={mask}.");
        for library in context.libraries {
            if let Some(features) = library.processor_features().filter(|text| !text.is_empty()) {
                let _ = writeln!(text, "  {} says that it uses {features}.", library.title());
            }
        }
    }
    let has_connections =
        |row: &Row| row.place.algorithm.takes_a_connection() && row.outcome.is_ok();
    if outcome.rows.iter().any(has_connections) {
        text += "Records and handshakes are timed for one side, in memory and without sockets. The \
                 other side checks the result and is not timed.\n";
    }
    if measured().any(|one| one.message_bytes > 0) {
        text += "Xeon v4 and Xeon Scalable: Intel's published figures at 8KiB (2017), where there \
                 are any; toll did not measure them.\n";
    }
    text += &beside_isa_l(outcome);
    text += &without_figures(outcome, context);
    text
}

/// toll's kernels beside readings of ISA-L crypto, which is another machine's figure.
fn beside_isa_l(outcome: &Outcome) -> String {
    let mut text = String::new();
    for row in &outcome.rows {
        let (Algorithm::Hash(hash), Some(size), Ok(measured)) =
            (row.place.algorithm, row.place.size, &row.outcome)
        else {
            continue;
        };
        if let Some(reading) = published::isa_l_reading(hash, measured.lanes, size) {
            let _ = writeln!(
                text,
                "{} with {} lanes at {}: {} here; ISA-L crypto read {reading:.3} on a Xeon of the \
                 Sapphire Rapids generation (not here, not now, warm).",
                row.place.algorithm,
                measured.lanes,
                Bytes(size as u64),
                significant(cost(measured)),
            );
        }
    }
    text
}

/// The rows without a figure, by library and reason.
fn without_figures(outcome: &Outcome, context: &Context<'_>) -> String {
    let mut reasons: Vec<(usize, &str, Vec<Algorithm>)> = Vec::new();
    for row in &outcome.rows {
        let Err(why) = &row.outcome else { continue };
        let (library, algorithm) = (row.place.library, row.place.algorithm);
        match reasons.iter_mut().find(|(of, reason, _)| (*of, *reason) == (library, why)) {
            Some((_, _, algorithms)) => {
                if !algorithms.contains(&algorithm) {
                    algorithms.push(algorithm);
                }
            }
            None => reasons.push((library, why, vec![algorithm])),
        }
    }
    // A library that does some of what was asked need not excuse itself for each of the rest.
    reasons.sort_by_key(|(library, why, _)| (is_unavailable(why), *library));
    let mut text = String::new();
    for (library, why, algorithms) in reasons {
        let title = context.libraries[library].title();
        let names: Vec<&str> =
            algorithms.iter().take(3).map(|algorithm| algorithm.name()).collect();
        let more = match algorithms.len().saturating_sub(names.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let _ = writeln!(text, "{title}, {}{more}: {why}.", names.join(", "));
    }
    text
}
