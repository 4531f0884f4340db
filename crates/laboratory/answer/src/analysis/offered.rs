//! Loads with a rate of their own: how far from a published pace their trials ran.

use study::{Published, PublishedUnit};
use trial::TrialRecord;
use units::{BitsPerSecond, percent};

use super::row::Row;

/// How far from a published pace the trials of these cells ran, in a sentence.
pub(super) fn beside_published(published: &[Published], rows: &[&Row]) -> Option<String> {
    let published = published.iter().find(|of| of.unit == PublishedUnit::Pace)?;
    let pace = |line: &TrialRecord| Some(line.receipt.obtained.pace_bps? as f64);
    let paces: Vec<f64> = rows.iter().flat_map(|row| row.valid()).filter_map(pace).collect();
    let pace = stats::median(&paces).ok()?;
    let is_here = rows.iter().filter_map(|of| of.cell()).all(|cell| cell.target.url.is_none());
    let way = if is_here { " over loopback" } else { "" };
    Some(format!(
        "This ran{way} at {}, {} of the {} that {} had.",
        BitsPerSecond(pace),
        percent(pace / (published.low * 1e9)),
        BitsPerSecond(published.low * 1e9),
        published.who
    ))
}
