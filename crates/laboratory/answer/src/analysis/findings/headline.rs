//! The headline of figures to which no author wrote one: the figure itself, and what it stands beside.

use load::Operation;
use study::Metric;
use study::metric::{Better, words_of};
use units::thousands;

use crate::figure::Decided;
use crate::findings::Headline;
use crate::mark::Mark;
use crate::wording::{brief, ratio_in_short, sign};

/// A figure with its name.
pub(super) struct Shown<'a> {
    pub(super) label: String,
    pub(super) median: f64,
    pub(super) mark: Option<Mark>,
    /// To the baseline, where it has one.
    pub(super) ratio: Option<&'a Decided>,
}

/// Of two that are compared their ratio; of others the best one, with the range. `None` where there are none.
pub(super) fn of_figures(
    metric: Metric,
    operation: Operation,
    mut shown: Vec<Shown<'_>>,
) -> Option<Headline> {
    let quantity = metric.row().quantity;
    let figure = |of: &Shown<'_>| brief(quantity, of.median);
    let with_mark = |of: &Shown<'_>| match of.mark {
        Some(mark) => format!("{} ({})", figure(of), mark.name()),
        None => figure(of),
    };
    let words = words_of(operation, metric.row().words);
    if let [baseline, other] = &shown[..]
        && let Some(ratio) = other.ratio
    {
        return Some(Headline {
            value: format!("{}{}", sign(ratio.decision), ratio_in_short(ratio)),
            unit: format!("{words}, of {}", baseline.label),
            sentence: format!(
                "{}: {}; {}: {}",
                other.label,
                with_mark(other),
                baseline.label,
                with_mark(baseline)
            ),
            advice: None,
        });
    }
    shown.sort_by(|a, b| a.median.total_cmp(&b.median));
    let (first, last) = (shown.first()?, shown.last()?);
    let best = if metric.better() == Some(Better::Lower) { first } else { last };
    let sentence = match shown.len() {
        1 => format!("{}: {}", best.label, with_mark(best)),
        count => format!(
            "{}: {}, to {}: {}; {} cells",
            first.label,
            with_mark(first),
            last.label,
            with_mark(last),
            thousands(count as u64)
        ),
    };
    Some(Headline { value: figure(best), unit: words.into_owned(), sentence, advice: None })
}
