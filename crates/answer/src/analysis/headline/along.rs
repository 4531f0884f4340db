//! An answer along a key at a glance: from where on one thing is ahead, or between which ratios the
//! difference lies.

use study::metric::Kind;

use super::words::{as_many, counted, is_shown, limited, median, per_core, said, undecided, who};
use crate::analysis::compared::{Compared, Entry};
use crate::analysis::crossover::Crossover;
use crate::analysis::remedy::advice;
use crate::analysis::sentence::verb;
use crate::figure::Figure;
use crate::findings::Headline;
use crate::wording::factor;

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
    let range = ranges.max_by(|a, b| a.distance().total_cmp(&b.distance()))?;
    let (with, as_with) = (first.with(range.entry), first.with(baseline));
    if !range.is_shown {
        let (value, unit) = undecided(range.is_sure);
        let baseline = first.name(baseline);
        let sentence = match range.is_sure {
            true => format!("No significant difference {with} from {baseline}."),
            false => format!("Too few trials {with} to compare it with {baseline}."),
        };
        return Some(Headline { value, unit, sentence, advice: None });
    }
    let Range { least, most, .. } = &range;
    let (value, told) = match factor(least.1) == factor(most.1) {
        true => (factor(most.1), factor(most.1)),
        false => (
            format!("{} to {}", factor(least.1), factor(most.1)),
            format!("{} ({}) to {} ({})", factor(least.1), least.0, factor(most.1), most.0),
        ),
    };
    let sentence = match first.kind() {
        Kind::Cost | Kind::State => {
            format!("The {} is {told} as high {with} as {as_with}.", first.metric())
        }
        _ => {
            let (who, verb) = (who(first), verb(first));
            format!("{who} {verb} {told} {} {with} as {as_with}.", as_many(first))
        }
    };
    let unit = format!("the {}{}", counted(first), per_core(first));
    Some(Headline { value, unit, sentence, advice: None })
}

/// The ratios of a value to the baseline along a key.
struct Range<'b, 'a> {
    entry: &'b Entry<'a>,
    /// Where it is least, in words, and the ratio there.
    least: (String, f64),
    most: (String, f64),
    /// Whether the difference is shown anywhere.
    is_shown: bool,
    /// Whether there are enough trials anywhere to show one.
    is_sure: bool,
}

impl<'b, 'a> Range<'b, 'a> {
    fn of(entry: &'b Entry<'a>, points: &[(String, &Compared<'_>)]) -> Option<Self> {
        let ratio = |(label, compared): &(String, &Compared<'_>)| {
            Some((label.clone(), compared.entry(entry.value)?.ratio.clone()?))
        };
        let ratios: Vec<(String, Figure)> = points.iter().filter_map(ratio).collect();
        let medians = || ratios.iter().map(|(label, of)| (label.clone(), of.median()));
        let by_median = |a: &(String, f64), b: &(String, f64)| a.1.total_cmp(&b.1);
        Some(Self {
            entry,
            least: medians().min_by(by_median)?,
            most: medians().max_by(by_median)?,
            is_shown: ratios.iter().any(|(_, ratio)| is_shown(ratio)),
            is_sure: ratios.iter().any(|(_, ratio)| ratio.is_sure()),
        })
    }

    /// How far from 1 it comes.
    fn distance(&self) -> f64 {
        let of = |ratio: f64| ratio.max(f64::MIN_POSITIVE).ln().abs();
        of(self.least.1).max(of(self.most.1))
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
    let (value, with) = (said(compared, entry), compared.with(entry));
    let bound = if is_cost(compared) { "at least" } else { "up to" };
    Some(Headline {
        sentence: format!("{} {} {bound} {value} {with} ({label}).", who(compared), verb(compared)),
        unit: format!("{bound}, {with}"),
        value,
        advice: None,
    })
}
