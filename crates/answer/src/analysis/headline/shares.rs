//! What encryption takes of a core's throughput.

use super::words::{agree, undecided};
use super::{Glance, Of};
use crate::analysis::compared::{Compared, Entry};
use crate::analysis::selection::Selection;
use crate::figure::Figure;
use crate::signed::Signed;
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
    let (value, unit, sentence) = match Signed::of_sure(tax) {
        Signed::Above(taken) => {
            let costs = format!("costs {} of a core's throughput", in_words(&taken));
            let sentence = match agree(encrypted, plain, 1.0 - taken.median()) {
                true => format!("Encrypting {costs}: {figures}"),
                false => format!("Encrypting {costs} {with}"),
            };
            (percent(&taken), "of a core's throughput".to_owned(), sentence)
        }
        Signed::Below(given) => (
            format!("{} more", percent(&given)),
            "than plain HTTP per core".to_owned(),
            format!("A core sends {} more {with} than in plain: {figures}", percent(&given)),
        ),
        Signed::Around(_) => {
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

/// `costs 61%`, `sends 13% more than plain HTTP`, or that there is no difference.
pub(super) fn in_short(tax: &Figure) -> String {
    match Signed::of_sure(tax) {
        Signed::Above(taken) => format!("costs {}", percent(&taken)),
        Signed::Below(given) => format!("sends {} more than plain HTTP", percent(&given)),
        Signed::Around(_) => undecided(tax.is_sure()).1,
    }
}

/// A share that is taken, in words where there are some that the interval bears.
fn in_words(taken: &Figure) -> String {
    let is_half = (0.5..0.65).contains(&taken.median()) && taken.is_above(0.5);
    if is_half { "more than half".to_owned() } else { percent(taken) }
}

fn percent(share: &Figure) -> String {
    brief(Quantity::Share, share.median())
}
