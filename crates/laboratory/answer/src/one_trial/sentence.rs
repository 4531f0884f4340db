//! The sentence that answers.

use load::Operation;
use trial::{CountedInstructions, LEAST_BODY_BYTES, TrialRecord};
use units::{BitsPerSecond, PerSecond, thousands};

/// What was measured and what limited it, or why it is no measurement; without its full stop.
pub(super) fn of(line: &TrialRecord) -> String {
    if line.ended_in_warm_up() {
        return "Interrupted before the window began: nothing was measured".to_owned();
    }
    if let Some(why) = line.why_invalid() {
        return format!("Not a valid measurement: {why}");
    }
    if let Some(counted) = &line.counted {
        return instructions(line, counted);
    }
    let interrupted = if line.interrupted { "Interrupted: " } else { "" };
    format!("{interrupted}{}, limited by {}", figure(line), line.reason())
}

/// `2,498,210 instructions of the server per full handshake`.
fn instructions(line: &TrialRecord, counted: &CountedInstructions) -> String {
    let whole = |count: f64| thousands(count.round() as u64);
    let per_kib = counted.per_kib.map(|per_kib| format!(", {} per KiB", whole(per_kib)));
    let asked = &line.receipt.asked;
    let noun = match (asked.operation, asked.resumption_percent) {
        (Some(Operation::Handshakes), Some(1..)) => "resumed handshake",
        (Some(Operation::Handshakes), _) => "full handshake",
        (Some(Operation::OneRequestPerConnection), _) => "connection with one request",
        _ => "request",
    };
    let each = whole(counted.per_operation);
    format!("{each} instructions of the server per {noun}{}", per_kib.unwrap_or_default())
}

/// The rate and, where there are bodies, the goodput.
fn figure(line: &TrialRecord) -> String {
    let rate = PerSecond(line.rate_per_s.unwrap_or_default()).number();
    let rate = match line.receipt.asked.operation {
        Some(Operation::Handshakes) => match line.receipt.asked.resumption_percent {
            Some(1..) => format!("{rate} handshakes per second"),
            _ => format!("{rate} full handshakes per second"),
        },
        Some(Operation::Session) => format!("{rate} pages per second"),
        Some(Operation::OneRequestPerConnection) => {
            format!("{rate} connections per second with one request each")
        }
        _ => match line.connections_per_s.filter(|_| line.ends_connections()) {
            Some(opened) => format!(
                "{rate} requests and {} {} per second",
                PerSecond(opened).number(),
                opened_noun(line)
            ),
            None => format!("{rate} requests per second"),
        },
    };
    let rate = rate + &kept(line).unwrap_or_default();
    // What short bodies come to says nothing that the rate does not.
    match line.bytes.body < LEAST_BODY_BYTES * line.operations.completed.max(1) {
        true => rate,
        false => format!(
            "{rate}, {} of goodput",
            BitsPerSecond(line.goodput_bps.unwrap_or_default() as f64)
        ),
    }
}

/// A load with a rate of its own is served where it keeps at least this share of it.
const SERVED: f64 = 0.99;

/// How much came of the rate that was asked for, where that is less.
fn kept(line: &TrialRecord) -> Option<String> {
    let intended = line.operations.arrivals?.intended;
    let share = line.operations.completed as f64 / intended as f64;
    let seconds = line.window_ns as f64 / 1e9;
    (intended > 0 && share < SERVED).then(|| {
        let asked = PerSecond(intended as f64 / seconds).number();
        format!(" of {asked} that were asked for ({:.0}%)", share * 100.0)
    })
}

/// What is counted where connections are opened.
pub(super) fn opened_noun(line: &TrialRecord) -> &'static str {
    match line.receipt.asked.tls.as_deref() {
        Some("none") => "new connections",
        _ => "handshakes",
    }
}
