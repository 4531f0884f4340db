//! Loads with a rate of their own: paced connections and open loops. How busy such a load keeps a server
//! is a figure of the whole load only where the server served all of it; a server that falls behind does
//! less work, and would look cheaper.

use std::collections::BTreeMap;

use study::{Cell, Metric, Published, PublishedUnit};
use trial::{Limit, OFFERED_SERVED, TrialRecord};
use units::{BitsPerSecond, percent};

use super::limits::{in_words, of_trials};
use super::row::Row;
use crate::figure::{Figure, paired};
use crate::mark::Mark;
use crate::wording::list;

impl Row<'_> {
    /// What keeps a figure of this metric from being the server's maximum.
    pub(super) fn mark_of(&self, metric: Metric) -> Option<Mark> {
        match not_kept_up(self, metric) {
            Some(_) => Some(Mark::NotOfferedLoad),
            None if self.cell.is_some_and(|cell| covers_whole_load(metric, cell)) => {
                self.mark().filter(|mark| *mark != Mark::NotServerBound)
            }
            None => self.mark(),
        }
    }

    /// A metric over that of another row, from the rounds in which both have it: of cycles how many times as
    /// fast this one is. `None` also where the client received the two in different ways, their servers had different congestion controls, or a
    /// server did not keep up with a load that both should have served.
    pub(super) fn ratio(&self, other: &Self, metric: Metric) -> Option<Figure> {
        let are_whole = not_kept_up(self, metric).or_else(|| not_kept_up(other, metric)).is_none();
        let is_alike = self.is_received_as(other) && self.has_congestion_of(other) && are_whole;
        let (over, under) = metric.ratio(self, other);
        paired(over.samples(metric), under.samples(metric)).filter(|_| is_alike)
    }
}

/// Whether the metric is comparable only where the cell's server served all that it was asked for.
pub(super) fn covers_whole_load(metric: Metric, cell: &Cell) -> bool {
    metric.covers_whole_load() && cell.load.arrival.is_scheduled()
}

/// Whether trials with these limits are of a server that served less than the metric is of.
pub(crate) fn fell_behind(metric: Metric, cell: &Cell, limits: &BTreeMap<Limit, usize>) -> bool {
    covers_whole_load(metric, cell) && limits.keys().any(|limit| *limit != Limit::OfferedLoad)
}

/// The same of a cell's trials, in words: `the server fell behind what it was asked for in 2 of 6
/// trials (the server's CPU was the limit)`.
pub(super) fn not_kept_up(trials: &Row<'_>, metric: Metric) -> Option<String> {
    let limits = trials.limits();
    if !fell_behind(metric, trials.cell?, &limits) {
        return None;
    }
    let others = limits.iter().filter(|(limit, _)| **limit != Limit::OfferedLoad);
    let reasons = list(others.map(|(limit, _)| in_words(*limit)));
    let others: Vec<&TrialRecord> =
        trials.valid().filter(|line| line.verdict.limit != Limit::OfferedLoad).collect();
    let is_served =
        |line: &&TrialRecord| line.verdict.evidence.offered_served >= Some(OFFERED_SERVED);
    // What is not known to be served was not.
    let what = match others.iter().all(is_served) {
        true => "all that was asked for was served, but was not the limit",
        false => "the server fell behind what it was asked for",
    };
    let of_trials = of_trials(others.len(), trials.counts().valid);
    Some(format!("{what} {of_trials} ({reasons})"))
}

/// How far from a published pace the trials of these cells ran, in a sentence.
pub(super) fn beside_published(published: &[Published], rows: &[&Row<'_>]) -> Option<String> {
    let published = published.iter().find(|of| of.unit == PublishedUnit::Pace)?;
    let pace = |line: &TrialRecord| Some(line.receipt.obtained.pace_bps? as f64);
    let paces: Vec<f64> = rows.iter().flat_map(|row| row.valid()).filter_map(pace).collect();
    let pace = stats::median(&paces).ok()?;
    let is_here = rows.iter().filter_map(|of| of.cell).all(|cell| cell.target.url.is_none());
    let way = if is_here { " over loopback" } else { "" };
    Some(format!(
        "This ran{way} at {}, {} of the {} that {} had.",
        BitsPerSecond(pace),
        percent(pace / (published.low * 1e9)),
        BitsPerSecond(published.low * 1e9),
        published.who
    ))
}
