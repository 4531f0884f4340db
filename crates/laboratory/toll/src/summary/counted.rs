//! What was counted of the server's instructions, in words.

use load::Operation;
use observe::Fact;
use trial::{BLOCKS, CountedInstructions, TrialRecord};
use units::{percent, thousands};

/// `2,498,210 instructions of the server per full handshake`.
pub(super) fn headline(line: &TrialRecord, counted: &CountedInstructions) -> String {
    let each = whole(counted.per_operation);
    let per_kib = counted.per_kib.map(|per_kib| format!(", {} per KiB", whole(per_kib)));
    let noun = noun(line);
    format!("{each} instructions of the server per {noun}{}", per_kib.unwrap_or_default())
}

/// What one operation is.
fn noun(line: &TrialRecord) -> &'static str {
    let asked = &line.receipt.asked;
    match (asked.operation, asked.resumption_percent) {
        (Some(Operation::Handshakes), Some(1..)) => "resumed handshake",
        (Some(Operation::Handshakes), _) => "full handshake",
        (Some(Operation::OneRequestPerConnection), _) => "connection with one request",
        _ => "request",
    }
}

/// Each with its label.
pub(super) fn rows(line: &TrialRecord) -> Vec<(&'static str, String)> {
    let Some(counted) = &line.counted else { return Vec::new() };
    let blocks = format!(
        "{} operations in {BLOCKS} blocks that are {} apart; nothing of the kernel",
        thousands(counted.operations),
        percent(counted.spread)
    );
    let code = match &counted.cipher_code {
        Fact::Known(names) if names.is_empty() => {
            "no function of a cipher ran 1% of them".to_owned()
        }
        Fact::Known(names) => names.join(", "),
        Fact::Unknown { not_available_here } => format!("not known: {not_available_here}"),
    };
    vec![("counted", blocks), ("counted by", counted.source.clone()), ("cipher", code)]
}

fn whole(count: f64) -> String {
    thousands(count.round() as u64)
}
