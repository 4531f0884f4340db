//! The pace of a paced load beside a published one.

use study::PublishedUnit;
use trial::Line;
use units::{BitsPerSecond, percent};

use super::compared::Compared;

/// How far from a published pace the trials ran, in a sentence.
pub(super) fn beside_published(compared: &Compared<'_>) -> Option<String> {
    let published = &compared.rule.published;
    let published = published.iter().find(|of| of.unit == PublishedUnit::Pace)?;
    let pace = |line: &Line| Some(line.receipt.obtained.pace_bps? as f64);
    let paces: Vec<f64> =
        compared.entries.iter().flat_map(|entry| entry.trials.valid()).filter_map(pace).collect();
    let pace = stats::median(&paces).ok()?;
    let is_here = compared.entries.iter().all(|entry| entry.trials.cell.target.url.is_none());
    let way = if is_here { " over loopback" } else { "" };
    Some(format!(
        "This ran{way} at {}, {} of the {} that {} had.",
        BitsPerSecond(pace),
        percent(pace / (published.low * 1e9)),
        BitsPerSecond(published.low * 1e9),
        published.who
    ))
}
