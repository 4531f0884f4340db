//! What came of a search, in words.

use answer::analysis::SearchEnd;

/// The load that was found, or why there is none: `64`, `infeasible (best 3.2s)`.
pub(crate) fn found(end: &SearchEnd) -> String {
    match end {
        SearchEnd::Found { load } => load.clone(),
        SearchEnd::Infeasible { .. } => end.infeasible().unwrap_or_default(),
        SearchEnd::Unfinished => "not found yet".to_owned(),
    }
}
