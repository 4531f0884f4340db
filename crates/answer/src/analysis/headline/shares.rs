//! What encryption costs a core, and what it takes of the throughput.

use study::Metric;
use units::Quantity;

use super::words::{NO_DIFFERENCE, TOO_FEW, agree};
use super::{Glance, Of};
use crate::analysis::cipher::CipherCost;
use crate::analysis::compared::{Compared, Entry};
use crate::figure::{Figure, Signed};
use crate::primitive::Row;
use crate::wording::{brief, brief_beside, capitalized};

/// `With AES-128-GCM a core sends 18.0 Gb/s, at 445 ms of CPU per GB, of which the cipher alone takes 193 ms;
/// TLS costs 78% of the 83.2 Gb/s of plain HTTP`: of the suite that costs least, or the study's first of
/// those that differ by chance.
pub(super) fn tax<'a>(compared: &Compared<'a>, costs: &[Row]) -> Option<Glance<'a>> {
    let entries: Vec<&Entry<'a>> =
        compared.measured().into_iter().map(|(entry, _)| entry).collect();
    let entry = *compared.best(&entries).first()?;
    let tax = entry.ratio.as_ref()?.taken()?;
    let sent = |entry: &Entry<'_>| {
        let figure = entry.trials.figure(Metric::GoodputPerServerCpu)?;
        Some(figure.median())
    };
    let (plain, encrypted) = (sent(compared.baseline()?)?, sent(entry)?);
    let rate = |median| brief_beside(Quantity::BitsPerSecond, median, encrypted);
    let ns = cost_ns(entry)?;
    let cost = brief(Quantity::Nanos, ns);
    let cipher = CipherCost::of(compared, entry, costs).filter(|cipher| !cipher.exceeds());
    let cipher = cipher.map_or_else(String::new, |cipher| {
        let alone = brief_beside(Quantity::Nanos, cipher.s_per_gb.median() * 1e9, ns);
        format!(", of which the cipher alone takes {alone}")
    });
    let with = compared.with(entry);
    let sends = format!("{} a core sends {}", capitalized(&with), rate(encrypted));
    let of_plain = match agree(encrypted, plain, 1.0 - tax.median()) {
        true => format!("the {} of plain HTTP", rate(plain)),
        false => "what it sends in plain".to_owned(),
    };
    let share = match tax.signed() {
        Signed::Above(taken) => format!("TLS costs {} of {of_plain}", percent(&taken)),
        Signed::Below(given) => format!("that is {} more than {of_plain}", percent(&given)),
        Signed::NoDifference => format!("{NO_DIFFERENCE} from {of_plain}"),
        Signed::TooFew => format!("{TOO_FEW} to compare that with {of_plain}"),
    };
    Some(Glance {
        sentence: format!("{sends}, at {cost} of CPU per GB{cipher}; {share}"),
        value: cost,
        unit: format!("of CPU per GB {with}"),
        of: Of::Tax(entry.value, ns),
    })
}

/// `645 ms of CPU per GB, costs 85%`, `sends 13% more than plain HTTP`, or that there is no difference; in the
/// unit of `first`.
pub(super) fn in_short(entry: &Entry<'_>, first: f64) -> Option<String> {
    let share = match entry.ratio.as_ref()?.taken()?.signed() {
        Signed::Above(taken) => format!("costs {}", percent(&taken)),
        Signed::Below(given) => format!("sends {} more than plain HTTP", percent(&given)),
        Signed::NoDifference => NO_DIFFERENCE.to_owned(),
        Signed::TooFew => TOO_FEW.to_owned(),
    };
    let cost = brief_beside(Quantity::Nanos, cost_ns(entry)?, first);
    Some(format!("{cost} of CPU per GB, {share}"))
}

/// Per GB.
fn cost_ns(entry: &Entry<'_>) -> Option<f64> {
    Some(entry.trials.figure(Metric::ServerCpuPerGigabyte)?.median() * 1e9)
}

fn percent(share: &Figure) -> String {
    brief(Quantity::Share, share.median())
}
