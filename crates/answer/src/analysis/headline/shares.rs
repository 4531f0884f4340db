//! What encryption takes of a core's throughput.

use super::words::{agree, undecided};
use super::{Glance, Of};
use crate::analysis::compared::{Compared, Entry};
use crate::analysis::selection::Selection;
use crate::figure::Figure;
use crate::wording::brief;
use units::Quantity;

/// `Encrypting costs more than half of a core's throughput: 28.1 Gb/s plain, 11.0 Gb/s with
/// AES-128-GCM`: of the suite that costs least, or the study's first of those that differ by chance.
pub(super) fn tax<'a>(compared: &Compared<'a>) -> Option<Glance<'a>> {
    let entries: Vec<&Entry<'a>> =
        compared.measured().into_iter().map(|(entry, _)| entry).collect();
    let selection = Selection::of(compared.rule.metric, &entries);
    let entry = *selection.greatest(&entries).first()?;
    let tax = entry.figure.as_ref()?;
    let sent = |entry: &Entry<'_>| {
        let figure = entry.trials.figure(compared.rule.metric)?;
        Some(figure.median())
    };
    let (plain, encrypted) = (sent(compared.baseline()?)?, sent(entry)?);
    let with = compared.with(entry);
    let rate = |median| brief(Quantity::BitsPerSecond, median);
    let figures = format!("{} plain, {} {with}", rate(plain), rate(encrypted));
    let (value, unit, sentence) = match in_words(tax) {
        Some(words) => {
            let costs = format!("costs {words} of a core's throughput");
            let sentence = match agree(encrypted, plain, 1.0 - tax.median()) {
                true => format!("Encrypting {costs}: {figures}"),
                false => format!("Encrypting {costs} {with}"),
            };
            (percent(tax), "of a core's throughput".to_owned(), sentence)
        }
        None if is_won(tax) => (
            percent(tax),
            "more than plain HTTP per core".to_owned(),
            format!("Encrypting costs nothing of a core's throughput: {figures}"),
        ),
        None => {
            let (value, unit) = undecided(tax.is_sure());
            let sentence = match tax.is_sure() {
                true => "Encrypting makes no significant difference to a core's throughput",
                false => "Too few trials to say what encrypting costs",
            };
            (value, unit, format!("{sentence}: {figures}"))
        }
    };
    Some(Glance { value, unit, sentence, of: Of::Tax(entry.value) })
}

/// `61%`, or that it makes no difference.
pub(super) fn in_short(tax: &Figure) -> String {
    match is_taken(tax) || is_won(tax) {
        true => percent(tax),
        false => undecided(tax.is_sure()).1,
    }
}

/// A share that is taken, in words where there are some that the interval bears.
fn in_words(tax: &Figure) -> Option<String> {
    let median = tax.median();
    let is_half = (0.5..0.65).contains(&median) && tax.is_above(0.5);
    is_taken(tax).then(|| if is_half { "more than half".to_owned() } else { percent(tax) })
}

fn is_taken(tax: &Figure) -> bool {
    tax.is_sure() && tax.is_above(0.0)
}

fn is_won(tax: &Figure) -> bool {
    tax.is_sure() && tax.is_below(0.0)
}

fn percent(tax: &Figure) -> String {
    brief(Quantity::Share, tax.median().abs())
}
