//! The answers to one question at a glance: what the first of them says, in a short sentence without
//! intervals, and in brackets what the others say of the same.
//!
//! A difference is stated only where its interval is sure and does not contain 1, and a cell is called
//! the best of several only by the test of [`Selection`].

mod along;
mod shares;

use load::Operation;
use study::metric::Kind;

use super::compared::{Compared, Entry};
use super::comparison::{Subject, subject, with_article};
use super::remedy::advice;
use super::selection::Selection;
use super::sentence::{operations, verb};
use crate::figure::Figure;
use crate::findings::Headline;
use crate::label::without_what_is_common;
use crate::wording::{brief, capitalized, factor, list};

pub(super) use along::along;

const NO_DIFFERENCE: &str = "no significant difference";

/// A headline before it is known what else there is.
pub(super) struct Glance<'a> {
    value: String,
    unit: String,
    /// Without its full stop.
    sentence: String,
    of: Of<'a>,
}

/// What a glance is of, so that other answers can say the same.
enum Of<'a> {
    /// The tax of a value.
    Tax(&'a str),
    /// How many times as much one value gives as another.
    Ratio(&'a str, &'a str),
    /// Which cell gives most, or least.
    Best,
}

/// Of the answers to one rule, of which each compares the same values with something else in common.
pub(super) fn headline(all: &[Compared<'_>]) -> Option<Headline> {
    let (place, first, glance) = all
        .iter()
        .enumerate()
        .find_map(|(place, compared)| Some((place, compared, glance(compared)?)))?;
    let others: Vec<&Compared<'_>> =
        all.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, of)| of).collect();
    let elsewhere = elsewhere(&glance, first, &others);
    Some(Headline {
        sentence: format!("{}{elsewhere}.", glance.sentence),
        advice: all.iter().find_map(advice),
        value: glance.value,
        unit: glance.unit,
    })
}

fn glance<'a>(compared: &Compared<'a>) -> Option<Glance<'a>> {
    if compared.kind() == Kind::Tax {
        return shares::tax(compared);
    }
    let rivals = rivals(compared);
    let baseline = rivals.iter().find(|entry| entry.is_baseline).copied();
    match (&rivals[..], baseline) {
        ([], _) => None,
        ([only], _) => Some(alone(compared, only)),
        ([one, other], Some(baseline)) => {
            pair(compared, if one.is_baseline { other } else { one }, baseline)
        }
        _ => best(compared, &rivals).or_else(|| furthest(compared, &rivals, baseline?)),
    }
    .or_else(|| rivals.first().map(|first| alone(compared, first)))
}

/// The cells with a figure that a reader may choose between: beside two suites, plain HTTP is none.
fn rivals<'b, 'a>(compared: &'b Compared<'a>) -> Vec<&'b Entry<'a>> {
    let measured: Vec<&Entry<'a>> =
        compared.measured().into_iter().map(|(entry, _)| entry).collect();
    let encrypted: Vec<&Entry<'a>> =
        measured.iter().copied().filter(|entry| entry.value != "none").collect();
    if encrypted.len() > 1 { encrypted } else { measured }
}

/// `A core sends 11.0 Gb/s with AES-128-GCM`.
fn alone<'a>(compared: &Compared<'_>, entry: &Entry<'a>) -> Glance<'a> {
    let (value, with) = (said(compared, entry), compared.with(entry));
    Glance {
        sentence: format!("{} {} {value} {with}", who(compared), verb(compared)),
        unit: format!("{}{with}", joined_unit(compared)),
        value,
        of: Of::Best,
    }
}

/// `An ECDSA P-256 certificate gives 2.7x the handshakes of RSA-2048: 2,490/s against 938/s per core`.
fn pair<'a>(
    compared: &Compared<'_>,
    entry: &Entry<'a>,
    baseline: &Entry<'a>,
) -> Option<Glance<'a>> {
    let ratio = entry.ratio.as_ref()?;
    let inverse = ratio.map(|ratio| 1.0 / ratio);
    let (more, less, ratio) = match inverse {
        Some(inverse) if ratio.estimate.median < 1.0 => (baseline, entry, inverse),
        _ => (entry, baseline, ratio.clone()),
    };
    let of = Of::Ratio(more.value, less.value);
    let times = factor(ratio.estimate.median);
    let figures = |and: &str| {
        let (more, less) = (said(compared, more), said(compared, less));
        format!("{more} {and} {less}{}", per_core(compared))
    };
    if !is_shown(&ratio) {
        let (one, other) = (compared.name(entry), compared.name(baseline));
        let sentence =
            format!("No significant difference between {one} and {other}: {}", figures("and"));
        return Some(Glance { value: times, unit: NO_DIFFERENCE.to_owned(), sentence, of });
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
            let more = if more.starts_with("an ") || more.starts_with("the ") {
                capitalized(&more)
            } else {
                more
            };
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
        sentence: format!("{what}: {}", figures("against")),
        of,
    })
}

/// `A core sends the most with AES-128-GCM: 11.0 Gb/s, 2.6x as much as with AES-128-CBC-SHA`; `None`
/// where no cell is shown to be behind another.
fn best<'a>(compared: &Compared<'_>, rivals: &[&Entry<'a>]) -> Option<Glance<'a>> {
    let selection = Selection::of(compared.rule.metric, rivals);
    let is_higher_better = compared.rule.metric.is_higher_better();
    let leaders = match is_higher_better {
        true => selection.greatest(rivals),
        false => selection.least(rivals),
    };
    let first = *leaders.first()?;
    if leaders.len() == rivals.len() {
        return None;
    }
    let last = rivals.iter().copied().filter(|entry| {
        let is_leader = leaders.iter().any(|leader| leader.value == entry.value);
        !is_leader
    });
    let by_figure = |a: &&Entry<'_>, b: &&Entry<'_>| median(a).total_cmp(&median(b));
    let last = if is_higher_better { last.min_by(by_figure) } else { last.max_by(by_figure) }?;
    let others = leaders.iter().skip(1).map(|entry| compared.name(entry));
    let names: Vec<String> = std::iter::once(compared.with(first)).chain(others).collect();
    let and_alike = match leaders.len() {
        1 => String::new(),
        _ => format!(", with {NO_DIFFERENCE} between them"),
    };
    let value = said(compared, first);
    let sentence = match is_higher_better {
        true => {
            let gain = selection.gain(first, last);
            let times = gain.map_or_else(String::new, |gain| {
                let times = factor(gain.estimate.median);
                format!(", {times} {} as {}", as_many(compared), compared.with(last))
            });
            let (who, most) = (who(compared), most(compared));
            format!("{who} {most} {}{and_alike}: {value}{times}", list(&names))
        }
        false => format!(
            "The {} is lowest {}{and_alike}: {value} against {} {}",
            compared.metric(),
            list(&names),
            said(compared, last),
            compared.with(last)
        ),
    };
    let unit = format!("{}{}", joined_unit(compared), compared.with(first));
    Some(Glance { value, unit, sentence, of: Of::Best })
}

/// What is shown to differ most from the baseline, each comparison by itself.
fn furthest<'a>(
    compared: &Compared<'_>,
    rivals: &[&Entry<'a>],
    baseline: &Entry<'a>,
) -> Option<Glance<'a>> {
    let shown = rivals.iter().filter(|entry| entry.ratio.as_ref().is_some_and(is_shown));
    let distance = |entry: &Entry<'_>| {
        let ratio = entry.ratio.as_ref().map_or(1.0, |ratio| ratio.estimate.median);
        ratio.max(f64::MIN_POSITIVE).ln().abs()
    };
    match shown.max_by(|a, b| distance(a).total_cmp(&distance(b))) {
        Some(entry) => {
            let glance = pair(compared, entry, baseline)?;
            let largest = format!("the largest of {} differences", rivals.len() - 1);
            Some(Glance { sentence: format!("{}, {largest}", glance.sentence), ..glance })
        }
        None => {
            let names: Vec<String> = rivals.iter().map(|entry| compared.name(entry)).collect();
            let figures: Vec<String> = rivals.iter().map(|entry| said(compared, entry)).collect();
            let (names, figures) = (list(&names), list(&figures));
            let sentence = format!(
                "No significant difference between {names}: {figures}{}",
                per_core(compared)
            );
            let value = said(compared, baseline);
            Some(Glance { value, unit: NO_DIFFERENCE.to_owned(), sentence, of: Of::Best })
        }
    }
}

/// In brackets after a space: which of several answers the sentence is of, and what the others say.
fn elsewhere(glance: &Glance<'_>, first: &Compared<'_>, others: &[&Compared<'_>]) -> String {
    /// More are only counted.
    const FEW: usize = 2;
    if others.is_empty() {
        return String::new();
    }
    let all: Vec<String> = std::iter::once(&first)
        .chain(others)
        .map(|of| {
            let labels = of.common.iter().map(|(key, value)| of.label(key, value));
            labels.collect::<Vec<_>>().join(", ")
        })
        .collect();
    let labels = without_what_is_common(&all);
    let (own, labels) = (&labels[0], &labels[1..]);
    if others.len() > FEW {
        return format!(" ({own}; {} other combinations are below)", others.len());
    }
    let each = others.iter().zip(labels);
    let each: Vec<String> =
        each.map(|(of, label)| format!("; {label}: {}", glance.of.said_of(of))).collect();
    format!(" ({own}{})", each.concat())
}

impl Of<'_> {
    /// The same of another answer, in a few words.
    fn said_of(&self, compared: &Compared<'_>) -> String {
        let entry = |value: &str| compared.entries.iter().find(|entry| entry.value == value);
        match self {
            Self::Tax(value) => {
                let tax = entry(value).and_then(|entry| entry.figure.as_ref());
                tax.map_or_else(|| "not measured".to_owned(), shares::in_short)
            }
            Self::Ratio(more, less) => {
                let ratio = entry(more)
                    .zip(entry(less))
                    .and_then(|(more, less)| more.trials.ratio(less.trials, compared.rule.metric));
                match ratio {
                    Some(ratio) if is_shown(&ratio) => factor(ratio.estimate.median),
                    Some(_) => NO_DIFFERENCE.to_owned(),
                    None => "not compared".to_owned(),
                }
            }
            Self::Best => match self::glance(compared) {
                Some(glance) if glance.unit == NO_DIFFERENCE => glance.unit,
                Some(glance) => format!("{} {}", glance.value, glance.unit),
                None => "not measured".to_owned(),
            },
        }
    }
}

/// Whether a ratio is shown to differ from 1, by as many trials as an interval takes.
fn is_shown(ratio: &Figure) -> bool {
    ratio.is_sure() && (ratio.is_above(1.0) || ratio.is_below(1.0))
}

fn median(entry: &Entry<'_>) -> f64 {
    entry.figure.as_ref().map_or(0.0, |figure| figure.estimate.median)
}

/// `11.0 Gb/s`, `2,490/s`.
fn said(compared: &Compared<'_>, entry: &Entry<'_>) -> String {
    brief(compared.rule.metric.row().quantity, median(entry))
}

fn per_core(compared: &Compared<'_>) -> &'static str {
    if compared.is_per_cpu() { " per core" } else { "" }
}

fn who(compared: &Compared<'_>) -> String {
    match compared.kind() {
        Kind::PerCpu | Kind::Tax => "A core".to_owned(),
        Kind::Throughput => "The server".to_owned(),
        Kind::Cost | Kind::State => format!("The {}", compared.metric()),
    }
}

/// What is counted: `handshakes`, without what is the same in all.
fn noun(compared: &Compared<'_>) -> String {
    match operations(compared) {
        all if compared.operation() == Operation::Handshakes && all.ends_with("handshakes") => {
            "handshakes".to_owned()
        }
        other => other,
    }
}

/// What a ratio is of: `handshakes`, `goodput`, `server CPU per page`.
fn counted(compared: &Compared<'_>) -> String {
    match (compared.kind(), compared.is_of_bodies()) {
        (Kind::Cost | Kind::State, _) => compared.metric().into_owned(),
        (_, true) => "goodput".to_owned(),
        (_, false) => noun(compared),
    }
}

fn as_many(compared: &Compared<'_>) -> String {
    match compared.is_of_bodies() {
        true => "as much".to_owned(),
        false => format!("as many {}", noun(compared)),
    }
}

fn most(compared: &Compared<'_>) -> String {
    match compared.is_of_bodies() {
        true => "sends the most".to_owned(),
        false => format!("{} the most {}", verb(compared), noun(compared)),
    }
}

/// `per core `, or what a cost is.
fn joined_unit(compared: &Compared<'_>) -> String {
    match compared.kind() {
        Kind::PerCpu => "per core ".to_owned(),
        Kind::Cost | Kind::State => format!("{} ", compared.metric()),
        Kind::Throughput | Kind::Tax => String::new(),
    }
}
