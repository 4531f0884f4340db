//! The sentence that answers.

use load::Operation;
use trial::Line;
use units::{BitsPerSecond, PerSecond};

/// What was measured and what limited it, or why it is no measurement; without its full stop.
pub(super) fn of(line: &Line) -> String {
    if line.ended_in_warm_up() {
        return "Interrupted before the window began: nothing was measured".to_owned();
    }
    if let Some(why) = line.why_invalid() {
        return format!("Not a valid measurement: {why}");
    }
    let interrupted = if line.interrupted { "Interrupted: " } else { "" };
    format!("{interrupted}{}, limited by {}", figure(line), line.reason())
}

/// The rate and, where there are bodies, the goodput.
fn figure(line: &Line) -> String {
    let rate = PerSecond(line.rate_per_s).to_string();
    let rate = rate.trim_end_matches("/s");
    let rate = match line.receipt.asked.operation {
        Some(Operation::Handshakes) => match line.receipt.asked.resumption_percent {
            Some(1..) => format!("{rate} handshakes per second"),
            _ => format!("{rate} full handshakes per second"),
        },
        Some(Operation::Session) => format!("{rate} pages per second"),
        Some(Operation::OneRequestPerConnection) => {
            format!("{rate} connections per second with one request each")
        }
        _ => format!("{rate} requests per second"),
    };
    match line.bytes.body {
        0 => rate,
        _ => format!("{rate}, {} of goodput", BitsPerSecond(line.goodput_bps as f64)),
    }
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::summary::testing::line;

    #[test]
    fn the_first_sentence_answers() {
        assert_eq!(
            of(&line(|_| {}).line),
            "1,000 requests per second, 8.39 Gb/s of goodput, limited by the server's CPU: the \
             server used 99.0% of its CPUs; the client's busiest thread was 10.0% busy"
        );
        let handshakes = line(|v| {
            v["receipt"]["asked"]["operation"] = "handshakes".into();
            v["bytes"]["body"] = 0.into();
        });
        let handshakes = of(&handshakes.line);
        let expected = "1,000 full handshakes per second, limited by";
        assert!(handshakes.starts_with(expected), "{handshakes}");
        let session = of(&line(|v| v["receipt"]["asked"]["operation"] = "session".into()).line);
        assert!(session.starts_with("1,000 pages per second, 8.39 Gb/s of goodput"), "{session}");
        let interrupted = of(&line(|v| v["interrupted"] = true.into()).line);
        assert!(interrupted.starts_with("Interrupted: 1,000 requests"), "{interrupted}");
    }
}
