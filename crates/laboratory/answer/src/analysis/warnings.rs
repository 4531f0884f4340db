//! Each kind of warning of a run once.

use journal::TrialLine;
use serde::Serialize;
use trial::Warning;

/// A kind of warning with the number of trials that gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repeated {
    /// The first of its kind.
    #[serde(flatten)]
    pub warning: Warning,
    /// How many trials gave one of this kind.
    pub trials: usize,
}

/// Each kind of warning once, most frequent first; of equally frequent ones the first seen.
pub(super) fn warnings(trials: &[&TrialLine]) -> Vec<Repeated> {
    let mut repeated: Vec<Repeated> = Vec::new();
    for TrialLine { line, .. } in trials {
        for (place, warning) in line.warnings.iter().enumerate() {
            if line.warnings[..place].iter().any(|before| before.kind == warning.kind) {
                continue;
            }
            match repeated.iter_mut().find(|other| other.warning.kind == warning.kind) {
                Some(other) => other.trials += 1,
                None => repeated.push(Repeated { warning: warning.clone(), trials: 1 }),
            }
        }
    }
    repeated.sort_by_key(|repeated| std::cmp::Reverse(repeated.trials));
    repeated
}
