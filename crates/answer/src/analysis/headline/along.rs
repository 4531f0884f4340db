//! An answer along a key at a glance: from where on one thing is ahead, or between which ratios the
//! difference lies.

use study::metric::Kind;

use super::words::{
    NO_DIFFERENCE, TOO_FEW, as_many, counted, limited, median, per_core, said, undecided, who,
};
use crate::analysis::compared::{Compared, Entry};
use crate::analysis::crossover::Crossover;
use crate::analysis::remedy::advice;
use crate::analysis::sentence::verb;
use crate::figure::Decided;
use crate::findings::Headline;
use crate::wording::{factor, list};
use stats::Decision;

/// Of comparisons along a key, each with the words of its value.
pub(in crate::analysis) fn along(
    points: &[(String, &Compared<'_>)],
    crossovers: &[Crossover],
) -> Option<Headline> {
    let advice = points.iter().find_map(|(_, compared)| advice(compared));
    let headline = match crossovers {
        [] => differences(points).or_else(|| alone(points)),
        _ => crossed(crossovers),
    }?;
    let limited = limited(points.iter().map(|(_, compared)| *compared));
    Some(Headline { advice, sentence: headline.sentence + limited, ..headline })
}

fn crossed(crossovers: &[Crossover]) -> Option<Headline> {
    let first = crossovers.iter().find(|of| of.from.is_some()).or(crossovers.first())?;
    let (value, unit) = match &first.from {
        Some(from) => (from.clone(), format!("from here on {} is ahead", first.label)),
        None if first.has_too_few => undecided(true),
        None => ("no crossover".to_owned(), format!("for {}", first.label)),
    };
    let sentence = format!("{}.", first.sentence);
    Some(Headline { value, unit, sentence, advice: None })
}

/// `The server sends 2.6x (1 MiB objects) to 2.9x (16 MiB objects) as much with AES-128-GCM as with
/// AES-128-CBC-SHA.` Of several values the one is taken whose ratio is furthest from 1.
fn differences(points: &[(String, &Compared<'_>)]) -> Option<Headline> {
    let (_, first) = points.first()?;
    let baseline = first.baseline()?;
    let ranges = first.others().filter_map(|entry| Range::of(entry, points));
    let range = ranges.max_by(|a, b| a.distance.total_cmp(&b.distance))?;
    let (with, as_with) = (first.with(range.entry), first.with(baseline));
    let Range { ends: Some((least, most)), .. } = &range else {
        let has_too_few = !range.too_few.is_empty();
        let (value, unit) = undecided(has_too_few);
        let baseline = first.name(baseline);
        let sentence = match has_too_few {
            false => format!("No significant difference {with} from {baseline}."),
            true => format!("Too few trials {with} to compare it with {baseline}."),
        };
        return Some(Headline { value, unit, sentence, advice: None });
    };
    let (value, told) = match factor(least.1) == factor(most.1) {
        true => (factor(most.1), factor(most.1)),
        false => (
            format!("{} to {}", factor(least.1), factor(most.1)),
            format!("{} ({}) to {} ({})", factor(least.1), least.0, factor(most.1), most.0),
        ),
    };
    let sentence = match first.kind() {
        Kind::Cost | Kind::State => {
            format!("The {} is {told} as high {with} as {as_with}", first.metric())
        }
        _ => {
            let (who, verb) = (who(first), verb(first));
            format!("{who} {verb} {told} {} {with} as {as_with}", as_many(first))
        }
    };
    let undecided = [(NO_DIFFERENCE, &range.same), (TOO_FEW, &range.too_few)];
    let undecided = undecided.into_iter().filter(|(_, labels)| !labels.is_empty());
    let undecided = undecided.map(|(what, labels)| format!("; {what} with {}", list(labels)));
    let sentence = format!("{sentence}{}.", undecided.collect::<String>());
    let unit = format!("the {}{}", counted(first), per_core(first));
    Some(Headline { value, unit, sentence, advice: None })
}

/// The ratios of a value to the baseline along a key.
struct Range<'b, 'a> {
    entry: &'b Entry<'a>,
    /// Of those that are shown the least and the most, each with its place in words.
    ends: Option<((String, f64), (String, f64))>,
    /// Where no difference is shown,
    same: Vec<String>,
    /// and where too few trials could show one.
    too_few: Vec<String>,
    /// How far from 1 it comes where it is shown.
    distance: f64,
}

impl<'b, 'a> Range<'b, 'a> {
    fn of(entry: &'b Entry<'a>, points: &[(String, &Compared<'_>)]) -> Option<Self> {
        let ratio = |(label, compared): &(String, &Compared<'_>)| {
            Some((label.clone(), compared.entry(entry.value)?.ratio.clone()?))
        };
        let ratios: Vec<(String, Decided)> = points.iter().filter_map(ratio).collect();
        let labels = |decision: Decision| {
            let such = ratios.iter().filter(|(_, ratio)| ratio.decision == decision);
            such.map(|(label, _)| label.clone()).collect()
        };
        let sure: Vec<_> = ratios.iter().filter(|(_, ratio)| ratio.decision.is_sure()).collect();
        let medians = || sure.iter().map(|(label, of)| (label.clone(), of.median()));
        let by_median = |a: &(String, f64), b: &(String, f64)| a.1.total_cmp(&b.1);
        (!ratios.is_empty()).then(|| Self {
            entry,
            ends: medians().min_by(by_median).zip(medians().max_by(by_median)),
            distance: sure.iter().map(|(_, ratio)| ratio.distance()).fold(0.0, f64::max),
            same: labels(Decision::NoDifference),
            too_few: labels(Decision::TooFew),
        })
    }
}

/// Where nothing can be compared: the greatest figure, of a cost the least.
fn alone(points: &[(String, &Compared<'_>)]) -> Option<Headline> {
    let all = points.iter().flat_map(|(label, compared)| {
        compared.measured().into_iter().map(move |(entry, _)| (label, *compared, entry))
    });
    let by_figure =
        |a: &(_, _, &Entry<'_>), b: &(_, _, &Entry<'_>)| median(a.2).total_cmp(&median(b.2));
    let is_cost = |compared: &Compared<'_>| matches!(compared.kind(), Kind::Cost);
    let (_, first) = points.first()?;
    let (label, compared, entry) =
        if is_cost(first) { all.min_by(by_figure) } else { all.max_by(by_figure) }?;
    let (value, with) = (said(compared, entry, entry), compared.with(entry));
    let bound = if is_cost(compared) { "at least" } else { "up to" };
    Some(Headline {
        sentence: format!("{} {} {bound} {value} {with} ({label}).", who(compared), verb(compared)),
        unit: format!("{bound}, {with}"),
        value,
        advice: None,
    })
}
