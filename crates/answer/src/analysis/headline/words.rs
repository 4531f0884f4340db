//! Words of headlines, by what is compared.

use load::Operation;
use study::metric::Kind;

use crate::analysis::compared::{Compared, Entry};
use crate::analysis::sentence::{operations, verb};
use crate::figure::{Decided, Figure};
use crate::mark::Mark;
use crate::wording::{brief_beside, factor};
use stats::Decision;

pub(super) const NO_DIFFERENCE: &str = "no significant difference";

pub(super) const TOO_FEW: &str = "too few trials";

/// Value and unit of a headline that shows no difference, for which a number would look like one.
pub(in crate::analysis) fn undecided(has_too_few: bool) -> (String, String) {
    let (value, unit) = if has_too_few { ("?", TOO_FEW) } else { ("≈", NO_DIFFERENCE) };
    (value.to_owned(), unit.to_owned())
}

/// How its sentence begins, before the names of what is compared.
pub(super) fn undecided_between(has_too_few: bool) -> &'static str {
    if has_too_few { "Too few trials to compare" } else { "No significant difference between" }
}

/// A ratio that is shown, or why it is not.
pub(super) fn in_short(ratio: &Decided) -> String {
    match ratio.decision {
        Decision::Sure(_) => factor(ratio.median()),
        Decision::NoDifference => NO_DIFFERENCE.to_owned(),
        Decision::TooFew => TOO_FEW.to_owned(),
    }
}

pub(super) fn median(entry: &Entry<'_>) -> f64 {
    entry.figure.as_ref().map_or(0.0, Figure::median)
}

/// `11.0 Gb/s`, `2,490/s`, in the unit of the first cell of the sentence.
pub(super) fn said(compared: &Compared<'_>, entry: &Entry<'_>, first: &Entry<'_>) -> String {
    brief_beside(compared.rule.metric.row().quantity, median(entry), median(first))
}

/// Whether two figures, divided, give about the ratio that is stated. A ratio is the median of those
/// of single rounds, so that on a noisy machine they can differ; a reader who divides must not find
/// another ratio than the one that he reads.
pub(super) fn agree(more: f64, less: f64, ratio: f64) -> bool {
    (more / less / ratio - 1.0).abs() <= 0.03
}

pub(super) fn per_core(compared: &Compared<'_>) -> &'static str {
    if compared.is_per_cpu() { " per core" } else { "" }
}

pub(super) fn who(compared: &Compared<'_>) -> String {
    match compared.kind() {
        Kind::PerCpu | Kind::Tax => "A core".to_owned(),
        Kind::Throughput => "The server".to_owned(),
        Kind::Cost | Kind::State => format!("The {}", compared.metric()),
    }
}

/// What is counted: `handshakes`, without what is the same in all.
pub(super) fn noun(compared: &Compared<'_>) -> String {
    match operations(compared) {
        all if compared.operation() == Operation::Handshakes && all.ends_with("handshakes") => {
            "handshakes".to_owned()
        }
        other => other,
    }
}

/// What a ratio is of: `handshakes`, `goodput`, `server CPU per page`.
pub(super) fn counted(compared: &Compared<'_>) -> String {
    match (compared.kind(), compared.is_of_bodies()) {
        (Kind::Cost | Kind::State, _) => compared.metric().into_owned(),
        (_, true) => "goodput".to_owned(),
        (_, false) => noun(compared),
    }
}

pub(super) fn as_many(compared: &Compared<'_>) -> String {
    match compared.is_of_bodies() {
        true => "as much".to_owned(),
        false => format!("as many {}", noun(compared)),
    }
}

pub(super) fn most(compared: &Compared<'_>) -> String {
    match compared.is_of_bodies() {
        true => "sends the most".to_owned(),
        false => format!("{} the most {}", verb(compared), noun(compared)),
    }
}

/// `per core `, or what a cost is.
pub(super) fn joined_unit(compared: &Compared<'_>) -> String {
    match compared.kind() {
        Kind::PerCpu => "per core ".to_owned(),
        Kind::Cost | Kind::State => format!("{} ", compared.metric()),
        Kind::Throughput | Kind::Tax => String::new(),
    }
}

/// That a rate is not the server's maximum, in a sentence after a space.
pub(in crate::analysis) const LIMITED: &str =
    " Something other than the server was the limit in some trials.";

/// The same, where it is so.
pub(super) fn limited<'b, 'a: 'b>(all: impl IntoIterator<Item = &'b Compared<'a>>) -> &'static str {
    let is_limited = |compared: &Compared<'_>| {
        let marks = compared.entries.iter().filter_map(|entry| entry.trials.mark());
        compared.kind() == Kind::Throughput && { marks }.any(Mark::is_not_a_maximum)
    };
    if all.into_iter().any(is_limited) { LIMITED } else { "" }
}
