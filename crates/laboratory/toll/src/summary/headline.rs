//! The sentence that answers.

use load::Operation;
use trial::{LEAST_BODY_BYTES, TrialRecord};
use units::{BitsPerSecond, PerSecond};

use super::counted;

/// What was measured and what limited it, or why it is no measurement; without its full stop.
pub(super) fn of(line: &TrialRecord) -> String {
    if line.ended_in_warm_up() {
        return "Interrupted before the window began: nothing was measured".to_owned();
    }
    if let Some(why) = line.why_invalid() {
        return format!("Not a valid measurement: {why}");
    }
    if let Some(counted) = &line.counted {
        return counted::headline(line, counted);
    }
    let interrupted = if line.interrupted { "Interrupted: " } else { "" };
    format!("{interrupted}{}, limited by {}", figure(line), line.reason())
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

#[cfg(test)]
mod tests {
    use super::of;
    use crate::summary::testing::line;

    fn ends_connections(v: &mut serde_json::Value) {
        v["receipt"]["asked"]["requests_per_connection"] = "8".into();
        v["connections_per_s"] = 125.0.into();
    }

    fn arrivals(intended: u64) -> serde_json::Value {
        serde_json::json!({"intended": intended, "carried": 40, "waiting": 1176})
    }

    #[test]
    fn the_first_sentence_answers() {
        let of = |change: fn(&mut serde_json::Value)| of(&line(change).line);
        support::assert_golden!([
            ("requests", of(|_| {})),
            (
                "handshakes",
                of(|v| {
                    v["receipt"]["asked"]["operation"] = "handshakes".into();
                    v["bytes"]["body"] = 0.into();
                }),
            ),
            ("requests, some on each connection", of(ends_connections)),
            (
                "the same over plain HTTP",
                of(|v| {
                    ends_connections(v);
                    v["receipt"]["asked"]["tls"] = "none".into();
                }),
            ),
            ("session", of(|v| v["receipt"]["asked"]["operation"] = "session".into())),
            ("a rate that is not kept", of(|v| v["operations"]["arrivals"] = arrivals(1800)),),
            ("a rate that is kept", of(|v| v["operations"]["arrivals"] = arrivals(601))),
            ("interrupted", of(|v| v["interrupted"] = true.into())),
        ]);
    }
}
