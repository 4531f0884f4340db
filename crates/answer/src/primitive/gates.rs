//! The gates of answers about primitives.

use study::primitive::Rule;
use units::Bytes;

use super::{Answer, Row};
use crate::gate::expression::Gate;
use crate::gate::outcome::GateOutcome;

/// One for each gate of each answer, about the sizes that its sentences are about. What a library does
/// not support is not judged.
pub(super) fn all(rules: &[Rule], answers: &[Answer], rows: &[Row]) -> Vec<GateOutcome> {
    let mut outcomes = Vec::new();
    for (rule, answer) in rules.iter().zip(answers) {
        for gate in &rule.gates {
            let gate = Gate::of_answer(gate, &format!("{}: times as fast", rule.primitives));
            let is_meant = |row: &&Row| {
                row.table == rule.primitives
                    && rule.is_compared(&row.key)
                    && (row.no_figure.is_none() || row.is_refused())
            };
            let cells = rows.iter().filter(is_meant).map(|row| {
                let ratio = answer
                    .ratios
                    .iter()
                    .find(|ratio| (&ratio.table, &ratio.row) == (&row.table, &row.key));
                let ratio = ratio.map(|ratio| ratio.times_as_fast.figure.estimate);
                gate.gated(&row.table, &label(row), ratio, None)
            });
            outcomes.push(gate.outcome(cells.collect()));
        }
    }
    outcomes
}

/// `AES-128-GCM with openssl, 8KiB`.
fn label(row: &Row) -> String {
    let size = row.key.size_bytes.map(|size| format!(", {}", Bytes(size))).unwrap_or_default();
    format!("{} with {}{size}", row.key.algorithm, row.key.library)
}
