//! When the load threads of a cell wake up, where its file leaves that open.

use study::{AnswerRule, Cell};

/// A pause makes latencies longer, so there is none where one of them is what is asked for: the metric
/// of an answer about the cell's case, or the limit of its search.
pub(super) fn settle(cells: &mut [Cell], answers: &[AnswerRule]) {
    for cell in cells {
        let is_answer =
            answers.iter().any(|answer| answer.case == cell.case && answer.metric.is_latency());
        let is_limit = cell.find.is_some_and(|find| !find.ceiling.watched.is_share());
        if is_answer || is_limit {
            cell.wake_for_each();
        }
    }
}
