//! The best of several cells, or what differs most among them.

use super::pair::pair;
use super::words::{
    NO_DIFFERENCE, TOO_FEW, as_many, joined_unit, median, most, per_core, said, undecided,
    undecided_between, who,
};
use super::{Glance, Of};
use crate::analysis::compared::{Compared, Entry};
use crate::figure::Decided;
use crate::wording::{factor, list};

/// `A core sends the most with AES-128-GCM: 11.0 Gb/s, 2.6x as much as with AES-128-CBC-SHA`; `None`
/// where no cell is shown to be worse than another.
pub(super) fn best<'a>(compared: &Compared<'_>, rivals: &[&Entry<'a>]) -> Option<Glance<'a>> {
    let is_higher_better = compared.rule.metric.is_higher_better();
    let mut leaders = compared.best(rivals);
    if leaders.len() == rivals.len() {
        return None;
    }
    let last = rivals.iter().copied().filter(|entry| {
        let is_leader = leaders.iter().any(|leader| leader.value == entry.value);
        !is_leader
    });
    let by_figure = |a: &&Entry<'_>, b: &&Entry<'_>| median(a).total_cmp(&median(b));
    let last = if is_higher_better { last.min_by(by_figure) } else { last.max_by(by_figure) }?;
    // One that is no better than the last, but varies too much to be shown to be worse than the best, does
    // not stand for them.
    leaders.sort_by_key(|entry| match is_higher_better {
        true => median(entry) <= median(last),
        false => median(entry) >= median(last),
    });
    let first = *leaders.first()?;
    let others = leaders.iter().skip(1).map(|entry| compared.name(entry));
    let names = list(std::iter::once(compared.with(first)).chain(others));
    let and_alike = match leaders.len() {
        1 => String::new(),
        _ if compared.has_too_few() => format!(", with {TOO_FEW} to compare them"),
        _ => format!(", with {NO_DIFFERENCE} between them"),
    };
    let value = said(compared, first, first);
    let sentence = match is_higher_better {
        true => {
            let gain = compared.gain(first, last);
            let times = gain.map_or_else(String::new, |gain| {
                let times = factor(gain.median());
                format!(", {times} {} as {}", as_many(compared), compared.with(last))
            });
            let (who, most) = (who(compared), most(compared));
            format!("{who} {most} {names}{and_alike}: {value}{times}")
        }
        false => format!(
            "The {} is lowest {names}{and_alike}: {value} against {} {}",
            compared.metric(),
            said(compared, last, first),
            compared.with(last)
        ),
    };
    let unit = format!("{}{}", joined_unit(compared), compared.with(first));
    Some(Glance { value, unit, sentence, of: Of::Best })
}

/// What is shown to differ most from the baseline, each comparison by itself.
pub(super) fn furthest<'a>(
    compared: &Compared<'_>,
    rivals: &[&Entry<'a>],
    baseline: &Entry<'a>,
) -> Option<Glance<'a>> {
    let is_sure =
        |entry: &&&Entry<'_>| entry.ratio.as_ref().is_some_and(|of| of.decision.is_sure());
    let shown = rivals.iter().filter(is_sure);
    let distance = |entry: &Entry<'_>| entry.ratio.as_ref().map_or(0.0, Decided::distance);
    match shown.max_by(|a, b| distance(a).total_cmp(&distance(b))) {
        Some(entry) => {
            let glance = pair(compared, entry, baseline)?;
            let largest = format!("the largest of {} differences", rivals.len() - 1);
            Some(Glance { sentence: format!("{}, {largest}", glance.sentence), ..glance })
        }
        None => {
            let names = list(rivals.iter().map(|entry| compared.name(entry)));
            let figures = list(rivals.iter().map(|entry| said(compared, entry, rivals[0])));
            let has_too_few = compared.has_too_few();
            let between = undecided_between(has_too_few);
            let sentence = format!("{between} {names}: {figures}{}", per_core(compared));
            let (value, unit) = undecided(has_too_few);
            Some(Glance { value, unit, sentence, of: Of::Best })
        }
    }
}
