//! How many cores send what a device is said to encrypt.

use study::{Published, PublishedUnit};
use units::{decimal, places};

use super::compared::{Compared, Entry};
use crate::figure::Figure;
use crate::wording::{listed, quantity};

const GIGA: f64 = 1e9;

/// The published figure of a device in a rule, which is of what one core sends.
pub(super) fn published<'a>(compared: &Compared<'a>) -> Option<&'a Published> {
    compared.rule.published.iter().find(|of| of.unit == PublishedUnit::GbpsOfDevice)
}

/// How many such cores each cell takes.
pub(super) fn cores<'b, 'a>(
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

/// `12`, `5.1`.
pub(super) fn brief(cores: &Figure) -> String {
    let cores = cores.median();
    decimal(cores, places(cores, 2).max(0))
}
