//! What an answer says first where the study's author wrote nothing: one of five plain sentences, by what is
//! compared. The sentences are templates in text files; here is what they are filled with.
//!
//! A difference is stated, and a cell called the best of several, only where that is
//! [decided](stats::Decision).

use serde::Serialize;
use stats::Decision;
use study::metric::{Kind, words_of};
use study::{Metric, Param};
use units::Quantity;

use super::along::Along;
use super::compared::{Compared, Entry};
use crate::figure::{Decided, Figure};
use crate::findings::Headline;
use crate::label::{label, without_what_is_common};
use crate::mark::Mark;
use crate::wording::{NO_DIFFERENCE, brief, brief_beside, capitalized, factor, filled, list};

/// What a sentence is filled with; a figure stands with its unit.
#[derive(Debug, Default, Serialize)]
struct SentenceFacts {
    /// `Rate of one core`.
    metric: String,
    /// Which of several combinations it is of, in brackets after a space.
    context: String,
    figure: String,
    /// `with AES-128-GCM`.
    with: String,
    /// `AES-128-GCM`.
    name: String,
    other_figure: String,
    other_with: String,
    other_name: String,
    is_sure: bool,
    is_less: bool,
    /// Whether a ratio is how many times as fast.
    is_speed: bool,
    times: String,
    share: String,
    /// Why nothing is stated.
    undecided: String,
    /// What is not known to differ from the best.
    alike: String,
    crossover: String,
}

/// A template with what a headline shows beside its sentence.
struct Kept {
    template: &'static str,
    value: String,
    unit: String,
    facts: SentenceFacts,
}

/// Of the first of several comparisons that has figures; what was not measured says why.
pub(super) fn headline(all: &[&Compared<'_>]) -> Option<Headline> {
    let first = all.first()?;
    let with_figures = all.iter().find_map(|compared| Some((*compared, glance(compared)?)));
    let Some((compared, kept)) = with_figures else {
        let lacking = first.shown().next().map(|entry| first.lacking(entry)).unwrap_or_default();
        return Some(Headline::not_measured(&lacking));
    };
    let sentence =
        filled(kept.template, &SentenceFacts { context: context(compared, all), ..kept.facts })?;
    Some(Headline {
        value: kept.value,
        unit: kept.unit,
        sentence: format!("{sentence}.{}", limited(all.iter().copied())),
        advice: None,
    })
}

/// The same of comparisons along a key. Where no pair can be compared, the figures are said.
pub(super) fn along(all: &[Along<'_>]) -> Option<Headline> {
    let first = all.first()?;
    let Some((along, kept)) = all.iter().find_map(|along| Some((along, range(along)?))) else {
        return headline(&first.compared().collect::<Vec<_>>());
    };
    let others = all.iter().filter(|of| !std::ptr::eq(*of, along)).map(Along::common_in_words);
    let context = which(along.common_in_words(), others);
    let sentence = filled(kept.template, &SentenceFacts { context, ..kept.facts })?;
    Some(Headline {
        value: kept.value,
        unit: kept.unit,
        sentence: format!("{sentence}.{}", limited(along.points().iter())),
        advice: None,
    })
}

fn glance(compared: &Compared<'_>) -> Option<Kept> {
    if compared.kind() == Kind::Tax {
        return tax(compared);
    }
    let rivals = rivals(compared);
    let baseline = rivals.iter().find(|entry| entry.is_baseline).copied();
    match (&rivals[..], baseline) {
        ([one, other], Some(baseline)) => {
            two(compared, if one.is_baseline { other } else { one }, baseline)
        }
        ([] | [_], _) => None,
        // Along a key each is compared with the baseline alone.
        _ if compared.rule.along.is_some() => None,
        _ => several(compared, &rivals),
    }
    .or_else(|| rivals.first().map(|first| one(compared, first)))
}

/// The cells with a figure that a reader may choose between: beside two suites, plain HTTP is none.
fn rivals<'b, 'a>(compared: &'b Compared<'a>) -> Vec<&'b Entry<'a>> {
    let measured: Vec<&Entry<'a>> =
        compared.measured().into_iter().map(|(entry, _)| entry).collect();
    let encrypted: Vec<&Entry<'a>> =
        measured.iter().copied().filter(|entry| *entry.value != Param::Plain).collect();
    if encrypted.len() > 1 { encrypted } else { measured }
}

fn one(compared: &Compared<'_>, entry: &Entry<'_>) -> Kept {
    let facts = facts(compared, entry, entry);
    Kept {
        template: include_str!("headline/one.txt"),
        value: facts.figure.clone(),
        unit: format!("{} {}", compared.metric(), facts.with),
        facts,
    }
}

/// The larger of two beside the smaller.
fn two(compared: &Compared<'_>, entry: &Entry<'_>, baseline: &Entry<'_>) -> Option<Kept> {
    let ratio = entry.ratio.as_ref()?;
    let (more, less, ratio) = match ratio.inverse() {
        Some(inverse) if ratio.median() < 1.0 => (baseline, entry, inverse),
        _ => (entry, baseline, ratio.clone()),
    };
    let template = include_str!("headline/two.txt");
    Some(decided(template, compared, &ratio, facts(compared, more, less)))
}

fn decided(
    template: &'static str,
    compared: &Compared<'_>,
    ratio: &Decided,
    facts: SentenceFacts,
) -> Kept {
    let times = factor(ratio.median());
    let is_sure = ratio.decision.is_sure();
    let (value, unit) = match is_sure {
        true => (times.clone(), format!("the {}", compared.metric())),
        false => undecided(compared, ratio.decision == Decision::TooFew),
    };
    let undecided = between(compared, ratio.decision == Decision::TooFew);
    Kept { template, value, unit, facts: SentenceFacts { is_sure, times, undecided, ..facts } }
}

/// The best of several beside the worst.
fn several(compared: &Compared<'_>, rivals: &[&Entry<'_>]) -> Option<Kept> {
    let is_higher_better = compared.rule.metric.is_higher_better();
    let leaders = compared.best(rivals);
    let first = *leaders.first()?;
    let is_leader = |entry: &Entry<'_>| leaders.iter().any(|leader| leader.value == entry.value);
    let others = rivals.iter().copied().filter(|entry| !is_leader(entry));
    let by_figure = |a: &&Entry<'_>, b: &&Entry<'_>| median(a).total_cmp(&median(b));
    let last = if is_higher_better { others.min_by(by_figure) } else { others.max_by(by_figure) };
    let alike = leaders.iter().skip(usize::from(last.is_some()));
    let alike = list(alike.map(|entry| compared.name(entry)));
    let has_too_few = compared.has_too_few();
    let facts = SentenceFacts {
        alike,
        undecided: from(compared, has_too_few),
        ..facts(compared, first, last.unwrap_or(first))
    };
    let template = include_str!("headline/several.txt");
    let Some(last) = last else {
        let (value, unit) = undecided(compared, has_too_few);
        let facts = SentenceFacts { undecided: between(compared, has_too_few), ..facts };
        return Some(Kept { template, value, unit, facts });
    };
    let times = compared.ratio(first.row, last.row);
    let times = times.map(|ratio| factor(ratio.median())).unwrap_or_default();
    Some(Kept {
        template,
        value: facts.figure.clone(),
        unit: format!("{} {}", compared.metric(), facts.with),
        facts: SentenceFacts { is_sure: true, times, ..facts },
    })
}

/// Of the suite that costs least, or the study's first of those that are not known to differ.
fn tax(compared: &Compared<'_>) -> Option<Kept> {
    let entries: Vec<&Entry<'_>> =
        compared.measured().into_iter().map(|(entry, _)| entry).collect();
    let entry = *compared.best(&entries).first()?;
    let tax = entry.ratio.as_ref()?.taken()?;
    let sent = |of: &Entry<'_>| Some(of.row.figure(Metric::GoodputPerServerCpu)?.median());
    let (plain, encrypted) = (sent(compared.baseline()?)?, sent(entry)?);
    let rate = |rate| brief_beside(Quantity::BitsPerSecond, rate, encrypted);
    let share = brief(Quantity::Share, tax.median().abs());
    let has_too_few = tax.decision == Decision::TooFew;
    let is_sure = tax.decision.is_sure();
    let (value, unit) = match is_sure {
        true => (share.clone(), format!("{} {}", compared.metric(), compared.with(entry))),
        false => undecided(compared, has_too_few),
    };
    Some(Kept {
        template: include_str!("headline/tax.txt"),
        value,
        unit,
        facts: SentenceFacts {
            is_sure,
            is_less: tax.median() > 0.0,
            share,
            undecided: between(compared, has_too_few),
            figure: rate(encrypted),
            other_figure: rate(plain),
            with: compared.with(entry),
            name: compared.name(entry),
            ..SentenceFacts::default()
        },
    })
}

/// The least and the largest ratio along a key, of the value that surely differs most, and where it does not.
fn range(along: &Along<'_>) -> Option<Kept> {
    let points: Vec<&Compared<'_>> = along.compared().collect();
    let first = *points.first()?;
    let with_ratios = |entry| {
        let of: &Entry<'_> = entry;
        let ratio = |point: &&Compared<'_>| {
            Some((along.label(point), point.entry(of.value)?.ratio.clone()?))
        };
        let ratios: Vec<(String, Decided)> = points.iter().filter_map(ratio).collect();
        (!ratios.is_empty()).then_some((entry, ratios))
    };
    let furthest = |ratios: &[(String, Decided)]| {
        let sure = ratios.iter().filter(|(_, ratio)| ratio.decision.is_sure());
        sure.map(|(_, ratio)| ratio.distance()).fold(0.0, f64::max)
    };
    let all: Vec<_> = first.others().filter_map(with_ratios).collect();
    // The first of those that differ as much.
    let (entry, ratios) =
        all.into_iter().rev().max_by(|a, b| furthest(&a.1).total_cmp(&furthest(&b.1)))?;
    let by_ratio =
        |a: &&(String, Decided), b: &&(String, Decided)| a.1.median().total_cmp(&b.1.median());
    let sure = || ratios.iter().filter(|(_, ratio)| ratio.decision.is_sure());
    let ends = sure().min_by(by_ratio).zip(sure().max_by(by_ratio));
    let at = |(place, ratio): &(String, Decided)| format!("{} ({place})", factor(ratio.median()));
    let crossovers = along.crossovers();
    let own = label(&first.rule.compare, entry.value);
    let crossover = crossovers.into_iter().find(|of| of.label == own);
    let unsure = || ratios.iter().filter(|(_, ratio)| !ratio.decision.is_sure());
    let has_too_few = unsure().any(|(_, ratio)| ratio.decision == Decision::TooFew);
    let facts = SentenceFacts {
        crossover: crossover.map(|of| of.sentence).unwrap_or_default(),
        alike: list(unsure().map(|(place, _)| place.as_str())),
        undecided: undecided(first, has_too_few).1,
        ..facts(first, entry, first.baseline()?)
    };
    let template = include_str!("headline/along.txt");
    let metric = match facts.is_speed {
        true => "as fast".to_owned(),
        false => format!("the {}", first.metric()),
    };
    Some(match ends {
        None => {
            let (value, unit) = undecided(first, has_too_few);
            let undecided = between(first, has_too_few);
            Kept { template, value, unit, facts: SentenceFacts { undecided, ..facts } }
        }
        Some((least, most)) => {
            let (value, times) = match std::ptr::eq(least, most) {
                true => (factor(least.1.median()), at(least)),
                false => (
                    format!("{} to {}", factor(least.1.median()), factor(most.1.median())),
                    format!("{} to {}", at(least), at(most)),
                ),
            };
            Kept {
                template,
                value,
                unit: metric,
                facts: SentenceFacts { is_sure: true, times, ..facts },
            }
        }
    })
}

fn median(entry: &Entry<'_>) -> f64 {
    entry.figure.as_ref().map_or(0.0, Figure::median)
}

/// Both in the unit of the first.
fn facts(compared: &Compared<'_>, entry: &Entry<'_>, other: &Entry<'_>) -> SentenceFacts {
    let figure = |of| brief_beside(compared.rule.metric.row().quantity, median(of), median(entry));
    SentenceFacts {
        metric: capitalized(&words_of(compared.operation(), compared.rule.metric.row().words)),
        figure: figure(entry),
        with: compared.with(entry),
        name: compared.name(entry),
        other_figure: figure(other),
        other_with: compared.with(other),
        other_name: compared.name(other),
        is_speed: compared.kind() == Kind::Cycles,
        ..SentenceFacts::default()
    }
}

/// Which of several comparisons one is, in brackets after a space.
fn context(one: &Compared<'_>, all: &[&Compared<'_>]) -> String {
    let others = all.iter().filter(|of| !std::ptr::eq(**of, one));
    which(one.common_in_words(), others.map(|of| of.common_in_words()))
}

/// The parts of a label that tell it from others, in brackets after a space.
fn which(own: Vec<String>, others: impl Iterator<Item = Vec<String>>) -> String {
    let labels: Vec<Vec<String>> = std::iter::once(own).chain(others).collect();
    match without_what_is_common(&labels).first() {
        Some(own) if !own.is_empty() => format!(" ({own})"),
        _ => String::new(),
    }
}

/// Value and unit of a headline that shows no difference, for which a number would look like one.
fn undecided(compared: &Compared<'_>, has_too_few: bool) -> (String, String) {
    match has_too_few {
        true => ("?".to_owned(), format!("too few {}", compared.samples())),
        false => ("≈".to_owned(), NO_DIFFERENCE.to_owned()),
    }
}

fn between(compared: &Compared<'_>, has_too_few: bool) -> String {
    let rest = if has_too_few { "to compare" } else { "between" };
    format!("{} {rest}", undecided(compared, has_too_few).1)
}

fn from(compared: &Compared<'_>, has_too_few: bool) -> String {
    let rest = if has_too_few { "to tell it from" } else { "from" };
    format!("{} {rest}", undecided(compared, has_too_few).1)
}

/// That a rate is not the server's maximum, in a sentence after a space.
pub(super) const LIMITED: &str = " Something other than the server was the limit in some trials.";

/// The same, where it is so.
fn limited<'a, 'b: 'a>(all: impl Iterator<Item = &'a Compared<'b>>) -> &'static str {
    let is_limited = |compared: &Compared<'_>| {
        let marks = compared.entries.iter().filter_map(|entry| entry.row.mark);
        compared.kind() == Kind::Throughput && { marks }.any(Mark::is_not_a_maximum)
    };
    if { all }.any(is_limited) { LIMITED } else { "" }
}
