//! The answers to one question at a glance: what the first of them says, in a short sentence without
//! intervals, and in brackets what the others say of the same.
//!
//! A difference is stated, and a cell called the best of several, only where that is
//! [decided](stats::Decision).

mod accelerator;
mod along;
mod pair;
mod several;
mod shares;
mod words;

use study::metric::Kind;

use self::pair::pair;
use self::several::{best, furthest};
use self::words::{NO_DIFFERENCE, TOO_FEW, in_short, joined_unit, limited, said, who};
use super::compared::{Compared, Entry};
use super::remedy::advice;
use super::sentence::verb;
use crate::findings::Headline;
use crate::label::without_what_is_common;
use crate::primitive::Row;

pub(super) use accelerator::{accelerator, waiting};
pub(super) use along::along;
pub(super) use words::LIMITED;

/// A headline before it is known what else there is.
struct Glance<'a> {
    value: String,
    unit: String,
    /// Without its full stop.
    sentence: String,
    of: Of<'a>,
}

/// What a glance is of, so that other answers can say the same.
enum Of<'a> {
    /// The tax of a value, and what the first cell costs, in ns per GB.
    Tax(&'a str, f64),
    /// How many times as much one value gives as another.
    Ratio(&'a str, &'a str),
    /// Which cell gives most, or least.
    Best,
}

/// Of the answers to one rule, of which each compares the same values with something else in common; `costs`
/// has what algorithms cost alone.
pub(super) fn headline(all: &[Compared<'_>], costs: &[Row]) -> Option<Headline> {
    let (place, first, glance) = all
        .iter()
        .enumerate()
        .find_map(|(place, compared)| Some((place, compared, glance(compared, costs)?)))?;
    let others: Vec<&Compared<'_>> =
        all.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, of)| of).collect();
    let elsewhere = elsewhere(&glance, first, &others, costs);
    Some(Headline {
        sentence: format!("{}{elsewhere}.{}", glance.sentence, limited(all.iter())),
        advice: all.iter().find_map(advice),
        value: glance.value,
        unit: glance.unit,
    })
}

fn glance<'a>(compared: &Compared<'a>, costs: &[Row]) -> Option<Glance<'a>> {
    if compared.kind() == Kind::Tax {
        return shares::tax(compared, costs);
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
    let (value, with) = (said(compared, entry, entry), compared.with(entry));
    Glance {
        sentence: format!("{} {} {value} {with}", who(compared), verb(compared)),
        unit: format!("{}{with}", joined_unit(compared)),
        value,
        of: Of::Best,
    }
}

/// In brackets after a space: which of several answers the sentence is of, and what the others say.
fn elsewhere(
    glance: &Glance<'_>,
    first: &Compared<'_>,
    others: &[&Compared<'_>],
    costs: &[Row],
) -> String {
    /// More are only counted.
    const FEW: usize = 2;
    if others.is_empty() {
        return String::new();
    }
    let all: Vec<Vec<String>> = std::iter::once(&first)
        .chain(others)
        .map(|of| {
            let labels = of.common.iter().map(|(key, value)| of.label(key, value));
            labels.collect()
        })
        .collect();
    let labels = without_what_is_common(&all);
    let (own, labels) = (&labels[0], &labels[1..]);
    if others.len() > FEW {
        return format!(" ({own}; {} other combinations are below)", others.len());
    }
    let each = others.iter().zip(labels);
    let each: Vec<String> =
        each.map(|(of, label)| format!("; {label}: {}", glance.of.said_of(of, costs))).collect();
    format!(" ({own}{})", each.concat())
}

impl Of<'_> {
    /// The same of another answer, in a few words.
    fn said_of(&self, compared: &Compared<'_>, costs: &[Row]) -> String {
        match self {
            Self::Tax(value, first) => {
                let tax = compared.entry(value).and_then(|of| shares::in_short(of, *first));
                tax.unwrap_or_else(|| "not measured".to_owned())
            }
            Self::Ratio(more, less) => {
                let both = compared.entry(more).zip(compared.entry(less));
                let ratio = both.and_then(|(more, less)| {
                    // One of them is what the other is compared with.
                    let inverse = || less.ratio.as_ref()?.inverse();
                    more.ratio.clone().or_else(inverse)
                });
                ratio.map_or_else(|| "not compared".to_owned(), |ratio| in_short(&ratio))
            }
            Self::Best => match self::glance(compared, costs) {
                Some(glance) if [NO_DIFFERENCE, TOO_FEW].contains(&glance.unit.as_str()) => {
                    glance.unit
                }
                Some(glance) => format!("{} {}", glance.value, glance.unit),
                None => "not measured".to_owned(),
            },
        }
    }
}
