//! The sentences of `toll bench`, and the notes below its tables.

use std::fmt::Write;

use primitives::bench::Measurement;
use primitives::published;
use primitives::row::{Measured, NoFigure, Reason};
use primitives::sampler::Quality;
use primitives::{Algorithm, Hardware, Row, Unit};
use units::{Bytes, PerSecond};

use super::figures::{Context, MARK, gigabytes, reference, significant};
use super::shown::{at_one_size, cost, fastest};

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

/// A sentence for each algorithm, or for the main ones of many.
pub(crate) fn sentences(measurement: &Measurement, context: &Context<'_>) -> String {
    let mut algorithms: Vec<Algorithm> = Vec::new();
    for row in measurement.rows.iter().filter(|row| row.outcome.measured().is_some()) {
        if !algorithms.contains(&row.key.algorithm) {
            algorithms.push(row.key.algorithm);
        }
    }
    if algorithms.len() > MOST {
        algorithms.retain(|algorithm| HEADLINES.contains(&algorithm.name()));
    }
    let mut text = String::new();
    for algorithm in algorithms {
        if let Some(sentence) = sentence(algorithm, measurement, context) {
            let _ = writeln!(text, "{sentence}");
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// What it costs with the first library, and with the best of the others.
fn sentence(
    algorithm: Algorithm,
    measurement: &Measurement,
    context: &Context<'_>,
) -> Option<String> {
    let rows = at_one_size(measurement, algorithm);
    let size = rows.first().and_then(|(row, _)| row.key.size_bytes);
    let (first, others) = rows.split_first()?;
    let at = size.map_or(String::new(), |size| format!(" at {}", Bytes(size)));
    let threads = match context.threads {
        1 => String::new(),
        threads => format!(" on {threads} CPUs together"),
    };
    let mut text = format!(
        "{algorithm} costs {} here with {}{at} ({}{threads})",
        in_unit(algorithm, first.1, true),
        first.0.library_title,
        rate(algorithm, first.1),
    );
    if !others.is_empty() && fastest(&rows, context).is_none() {
        let sum = |of: fn(&Measured) -> u64| rows.iter().map(|(_, one)| of(one)).sum::<u64>();
        let (quiet, taken) = (sum(Measured::quiet), sum(Measured::taken));
        text += &format!(
            ". Only {quiet} of {taken} samples of the {} libraries were quiet, too few to compare \
             them: run it again when nothing else uses the core",
            rows.len()
        );
    } else if let Some(best) = fastest(others, context) {
        let ratio = cost(first.1) / cost(best.1);
        let at_once = match best.1.messages_per_op {
            1 => String::new(),
            messages => format!(" with {messages} messages at once"),
        };
        let other = &best.0.library_title;
        let takes = in_unit(algorithm, best.1, false);
        text += &match ratio {
            ratio if ratio >= 1.005 => {
                format!("; {other} does it in {takes}{at_once}: {ratio:.2}x as fast")
            }
            ratio if ratio > 0.995 => format!("; {other} costs the same"),
            ratio => format!("; the next, {other}, takes {takes}{at_once}: {:.2}x", 1.0 / ratio),
        };
    }
    text.push('.');
    Some(text)
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
        Unit::Byte => format!("{} GB/s", gigabytes(measured)),
        Unit::Operation => PerSecond(measured.ops_per_s).to_string(),
    }
}

/// What a reader should know about the figures.
pub(crate) fn notes(measurement: &Measurement, context: &Context<'_>) -> String {
    let mut text = format!("Core cycles are {}.\n", measurement.source.in_words());
    let measured = || measurement.rows.iter().filter_map(|row| row.outcome.measured());
    let count = |quality| measured().filter(|one| one.quality == quality).count();
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
        |row: &Row| row.key.algorithm.takes_a_connection() && row.outcome.measured().is_some();
    if measurement.rows.iter().any(has_connections) {
        text += "Records and handshakes are timed for one side, in memory and without sockets. The \
                 other side checks the result and is not timed.\n";
    }
    let has_reference =
        |row: &Row| row.outcome.measured().is_some_and(|one| reference(row, one).is_some());
    if measurement.rows.iter().any(has_reference) {
        text += "Xeon v4 and Xeon Scalable: Intel's published figures at 8KiB (2017); toll did not \
                 measure them.\n";
    }
    if context.shows_all {
        text += &beside_isa_l(measurement, context);
    } else {
        text += "Shown are OpenSSL and the fastest library of each algorithm; the others: --all. Where \
                 figures are disturbed, no library is known to be the fastest, and all are shown.\n";
    }
    text += &without_figures(measurement, context);
    text
}

/// toll's kernels beside readings of ISA-L crypto, which is another machine's figure.
fn beside_isa_l(measurement: &Measurement, context: &Context<'_>) -> String {
    let mut text = String::new();
    for row in &measurement.rows {
        let (Algorithm::Hash(hash), Some(size), Some(measured)) =
            (row.key.algorithm, row.key.size_bytes, row.outcome.measured())
        else {
            continue;
        };
        if !context.is_comparable(measured) {
            continue;
        }
        if let Some(reading) = published::isa_l_reading(hash, measured.messages_per_op, size) {
            let _ = writeln!(
                text,
                "{} with {} lanes at {}: {} here; ISA-L crypto read {reading:.3} on a Xeon of the \
                 Sapphire Rapids generation (another machine, data in the cache).",
                row.key.algorithm,
                measured.messages_per_op,
                Bytes(size),
                significant(cost(measured)),
            );
        }
    }
    text
}

/// The rows without a figure, by library and reason.
fn without_figures(measurement: &Measurement, context: &Context<'_>) -> String {
    let mut reasons: Vec<(&Row, &NoFigure, Vec<&str>)> = Vec::new();
    for row in &measurement.rows {
        let Some(none) = row.outcome.no_figure() else { continue };
        let name = row.key.algorithm.name();
        let is_same = |of: &Row, reason| of.key.library == row.key.library && reason == none;
        match reasons.iter_mut().find(|(of, reason, _)| is_same(of, *reason)) {
            Some((_, _, names)) if names.contains(&name) => {}
            Some((_, _, names)) => names.push(name),
            None => reasons.push((row, none, vec![name])),
        }
    }
    let place = |row: &Row| context.libraries.iter().position(|of| of.id() == row.key.library);
    // A library that does some of what was asked need not excuse itself for each of the rest.
    reasons.sort_by_key(|(row, none, _)| (none.reason == Reason::Unavailable, place(row)));
    let mut text = String::new();
    for (row, none, names) in reasons {
        let shown = &names[..names.len().min(3)];
        let more = match names.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let _ = writeln!(text, "{}, {}{more}: {}.", row.library_title, shown.join(", "), none.why);
    }
    text
}
