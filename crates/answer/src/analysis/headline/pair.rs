//! Two cells beside each other.

use stats::Decision;
use study::metric::Kind;

use super::words::{
    agree, as_many, counted, median, noun, per_core, said, undecided, undecided_between, who,
};
use super::{Glance, Of};
use crate::analysis::compared::{Compared, Entry};
use crate::analysis::comparison::{Subject, subject, with_article};
use crate::analysis::sentence::verb;
use crate::wording::{capitalized, factor};

/// `An ECDSA P-256 certificate gives 2.7x the handshakes of RSA-2048: 2,490/s against 938/s per core`.
pub(super) fn pair<'a>(
    compared: &Compared<'_>,
    entry: &Entry<'a>,
    baseline: &Entry<'a>,
) -> Option<Glance<'a>> {
    let ratio = entry.ratio.as_ref()?;
    let (more, less, ratio) = match ratio.inverse() {
        Some(inverse) if ratio.median() < 1.0 => (baseline, entry, inverse),
        _ => (entry, baseline, ratio.clone()),
    };
    let of = Of::Ratio(more.value, less.value);
    let times = factor(ratio.median());
    let figures = |and: &str| {
        let (more, less) = (said(compared, more, more), said(compared, less, more));
        format!("{more} {and} {less}{}", per_core(compared))
    };
    if !ratio.decision.is_sure() {
        let has_too_few = ratio.decision == Decision::TooFew;
        let (one, other) = (compared.name(entry), compared.name(baseline));
        let (value, unit) = undecided(has_too_few);
        let between = undecided_between(has_too_few);
        let sentence = format!("{between} {one} and {other}: {}", figures("and"));
        return Some(Glance { value, unit, sentence, of });
    }
    let what = match (subject(compared), compared.kind()) {
        (_, Kind::Cost | Kind::State) => format!(
            "The {} is {times} as high {} as {}",
            compared.metric(),
            compared.with(more),
            compared.with(less)
        ),
        (Subject::It, _) => {
            let (more, less) = (with_article(compared, more), compared.name(less));
            // Names such as nginx stay as they are.
            let is_word = ["an ", "the ", "plain "].iter().any(|word| more.starts_with(word));
            let more = if is_word { capitalized(&more) } else { more };
            match compared.is_of_bodies() {
                true => format!("{more} sends {times} what {less} does"),
                false => format!("{more} gives {times} the {} of {less}", noun(compared)),
            }
        }
        (Subject::With, _) => format!(
            "{} {} {times} {} {} as {}",
            who(compared),
            verb(compared),
            as_many(compared),
            compared.with(more),
            compared.with(less)
        ),
    };
    Some(Glance {
        value: times,
        unit: format!("the {}{}", counted(compared), per_core(compared)),
        sentence: match agree(median(more), median(less), ratio.median()) {
            true => format!("{what}: {}", figures("against")),
            false => what,
        },
        of,
    })
}
