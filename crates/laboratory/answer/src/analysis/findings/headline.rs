//! The headline of figures for which no author wrote one: the figure itself, and what it stands beside.

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

impl Shown<'_> {
    /// With its mark.
    pub(super) fn name(&self) -> String {
        match self.mark {
            Some(mark) => format!("{}, {}", self.label, mark.name()),
            None => self.label.clone(),
        }
    }
}

/// Of two that are compared their ratio; of others the best one, with the range. `None` where there are none.
pub(super) fn of_figures(
    metric: Metric,
    operation: Operation,
    mut shown: Vec<Shown<'_>>,
) -> Option<Headline> {
    let quantity = metric.row().quantity;
    let figure = |of: &Shown<'_>| brief(quantity, of.median);
    let of = |of: &Shown<'_>| format!("{} ({})", figure(of), of.name());
    let words = match (metric, operation) {
        (Metric::Rate, Operation::Handshakes) => "handshakes".into(),
        (Metric::Rate, Operation::Session) => "pages".into(),
        (Metric::Rate, Operation::OneRequestPerConnection) => "connections with one request".into(),
        (Metric::Rate, Operation::Requests) => "requests".into(),
        _ => words_of(operation, metric.row().words),
    };
    if let [baseline, other] = &shown[..]
        && let Some(ratio) = other.ratio
    {
        return Some(Headline {
            value: format!("{}{}", sign(ratio.decision), ratio_in_short(ratio)),
            unit: format!("{words}, of {}", baseline.label),
            sentence: format!("{}, {}", of(other), of(baseline)),
            advice: None,
        });
    }
    shown.sort_by(|a, b| a.median.total_cmp(&b.median));
    let (first, last) = (shown.first()?, shown.last()?);
    let best = if metric.better() == Some(Better::Lower) { first } else { last };
    let sentence = match shown.len() {
        1 => of(best),
        count => {
            format!("From {} to {}; {} cells", of(first), of(last), thousands(count as u64))
        }
    };
    Some(Headline { value: figure(best), unit: words.into_owned(), sentence, advice: None })
}
