//! How many cores a device is worth, at a glance.

use crate::analysis::compared::{Compared, Entry};
use crate::analysis::cores_of_device::{brief, cores, published};
use crate::figure::Figure;
use crate::findings::Headline;
use crate::wording::listed;

/// `12 cores of this machine send what Intel (2015) had as 50 Gb/s of AES-128 (nominal), with
/// AES-128-CBC-SHA; 5.1 with AES-128-GCM.` Where a rule has such a figure.
pub(in crate::analysis) fn cores_of_device(all: &[Compared<'_>]) -> Option<Headline> {
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
