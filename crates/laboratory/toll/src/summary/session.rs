//! The pages of a session.

use report::Column;
use trial::TrialRecord;
use units::thousands;

use super::latency::in_ms;

/// A row for each page.
pub(super) fn columns(line: &TrialRecord) -> Vec<Column> {
    let time = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), in_ms);
    let errors = |page: &trial::PageFigures| {
        let kinds = page.errors.iter().map(|(kind, n)| format!("{} {kind}", thousands(*n)));
        let kinds: Vec<String> = kinds.collect();
        if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") }
    };
    let pages = || line.pages.iter();
    vec![
        Column::words("page", pages().map(|page| page.name.clone())),
        Column::numbers("completed", "", pages().map(|page| thousands(page.completed))),
        Column::numbers("p50", "ms", pages().map(|page| time(page.p50_ns))),
        Column::numbers("p99", "ms", pages().map(|page| time(page.p99_ns))),
        Column::words("errors", pages().map(errors)),
    ]
}

/// How the walks ended.
pub(super) fn walks(line: &TrialRecord) -> Option<String> {
    let load::WalkCounts { completed, failed } = line.walks?;
    Some(format!("{} walks completed, {} failed", thousands(completed), thousands(failed)))
}

#[cfg(test)]
mod tests {
    use crate::summary::testing::{line, shown, verbose};

    #[test]
    fn the_pages_of_a_session_are_a_table() {
        let session = line(|v| {
            v["walks"] = serde_json::json!({"completed": 1_000, "failed": 3});
            v["pages"] = serde_json::json!([
                {"name": "sign-in", "completed": 1_003, "errors": {"redirect": 1, "status": 2},
                 "p50_ns": 1_500_000, "p99_ns": 9_000_000},
                {"name": "buy", "completed": 0, "errors": {}},
            ]);
            v["receipt"]["asked"]["session"] = "petstore".into();
        });
        let text = verbose(session);
        support::insta::assert_snapshot!(text);
        assert!(!shown(line(|_| {}), 80).contains("walks"));
    }
}
