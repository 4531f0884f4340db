//! How many cores send what a device is said to encrypt.

use study::{Published, PublishedUnit};
use units::{decimal, places};

use super::compared::{Compared, Entry};
use crate::figure::Figure;
use crate::findings::Headline;
use crate::wording::{listed, quantity};

const GIGA: f64 = 1e9;

/// The published figure of a device in a rule, which is of what one core sends.
fn published<'a>(compared: &Compared<'a>) -> Option<&'a Published> {
    compared.rule.published.iter().find(|of| of.unit == PublishedUnit::GbpsOfDevice)
}

/// How many such cores each cell takes.
fn cores<'b, 'a>(
    compared: &'b Compared<'a>,
    published: &Published,
) -> Vec<(&'b Entry<'a>, Figure)> {
    let of_device = published.low * GIGA;
    let cores = |(entry, sent): (&'b Entry<'a>, &Figure)| {
        Some((entry, sent.map(|per_core| of_device / per_core)?))
    };
    compared.measured().into_iter().filter_map(cores).collect()
}

/// `That is what 12.2 [12.0, 12.4] such cores send with AES-128-CBC-SHA.`
pub(super) fn in_words(compared: &Compared<'_>) -> Option<String> {
    let cores = cores(compared, published(compared)?);
    let item = |(entry, cores): &(&Entry<'_>, Figure)| {
        format!("{} such cores send {}", quantity(cores, 1.0), compared.with(entry))
    };
    listed(cores.iter().map(item)).map(|items| format!("That is what {items}."))
}

/// `12 cores of this machine send what Intel (2015) had as 50 Gb/s of AES-128 (nominal), with
/// AES-128-CBC-SHA; 5.1 with AES-128-GCM.` Where a rule has such a figure.
pub(super) fn headline(all: &[Compared<'_>]) -> Option<Headline> {
    let compared = all.first()?;
    let published = published(compared)?;
    let cores = cores(compared, published);
    let (first, count) = cores.first()?;
    let value = brief(count);
    let other = |(entry, cores): &(&Entry<'_>, Figure)| {
        format!("{} {}", brief(cores), compared.with(entry))
    };
    let others = listed(cores.iter().skip(1).map(other));
    let others = others.map_or_else(String::new, |others| format!("; {others}"));
    let with = compared.with(first);
    Some(Headline {
        sentence: format!(
            "{value} cores like this one send {with} what a device does nominally: {} had {}{others}.",
            published.who, published.says
        ),
        unit: format!("cores send what a device does nominally, {with}"),
        value,
        advice: None,
    })
}

/// `12`, `5.1`.
fn brief(cores: &Figure) -> String {
    let cores = cores.median();
    decimal(cores, places(cores, 2).max(0))
}
