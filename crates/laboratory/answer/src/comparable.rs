//! Which rows may be compared: the one rule of answers, claims, summaries, comparisons of runs and cross-checks.
//!
//! What differs between two rows has to be the servers' doing. So both were received in one way by clients that woke
//! up in one way, and paused for equal times where pauses are in the figure, where the clients are not what is compared;
//! their servers' connections had one congestion control, where they were not asked for different ones (one that paces
//! costs a sender on loopback more than the sending), the path carried datagrams of one length to and from one server
//! that was not asked for different ones, their instructions were counted by one program of one version, and a metric of
//! the whole load is compared only where the servers served all of it: one that falls behind does less work, and would
//! look cheaper.

use std::collections::BTreeSet;

use stats::SampleError;
use strum::VariantArray;
use study::Metric;
use trial::Limit;

use crate::circumstance::Circumstance;
use crate::figure::{Figure, paired};
use crate::limits::{in_words, of_trials};
use crate::mark::Mark;
use crate::measured::MeasuredRow;
use crate::wording::list;

/// Why there is no ratio of two rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    /// The first of them that has no sample.
    NotMeasured(Side),
    FellBehind(Side, FellBehind),
    /// The circumstances of each.
    Differ(Circumstance, [BTreeSet<String>; 2]),
    NoCommonRound,
    /// A trial of the second gave 0.
    Zero,
}

/// Which of two rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    One,
    Other,
}

/// That a row has no figure of the whole load: in so many of its valid trials something else was the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FellBehind {
    is_served: bool,
    trials: usize,
    valid: usize,
    limits: Vec<Limit>,
}

/// A metric over that of another row, from the rounds in which both have it: of cycles how many times as fast this one
/// is.
pub(crate) fn ratio(one: &MeasuredRow, other: &MeasuredRow, metric: Metric) -> Result<Figure, Why> {
    comparable(one, other, metric)?;
    let (over, under) = metric.ratio(one, other);
    paired(over.samples(metric), under.samples(metric)).map_err(|error| match error {
        SampleError::ZeroDivisor => Why::Zero,
        _ => Why::NoCommonRound,
    })
}

/// Whether what two rows have of a metric may be set in relation, by rounds or not.
pub(crate) fn comparable(
    one: &MeasuredRow,
    other: &MeasuredRow,
    metric: Metric,
) -> Result<(), Why> {
    for (side, row) in [(Side::One, one), (Side::Other, other)] {
        if let Some(behind) = row.fell_behind(metric) {
            return Err(Why::FellBehind(side, behind));
        }
        if row.samples(metric).is_empty() {
            return Err(Why::NotMeasured(side));
        }
    }
    let rows = [one, other];
    let is_compared = |key: &str| match rows.map(|row| row.params.get(key)) {
        [Some(ours), Some(theirs)] => ours != theirs,
        _ => false,
    };
    for circumstance in Circumstance::VARIANTS {
        let both = rows.map(|row| row.circumstances.get(circumstance));
        let [Some(ours), Some(theirs)] = both else { continue };
        let is_asked_for = match circumstance {
            Circumstance::Congestion => one.asked_congestion != other.asked_congestion,
            Circumstance::Pauses if !metric.has_pauses() => true,
            _ => circumstance.follows_from().iter().any(|key| is_compared(key)),
        };
        let is_one = ours.len() == 1 || *circumstance == Circumstance::Congestion;
        if !is_asked_for && (ours != theirs || !is_one) {
            return Err(Why::Differ(*circumstance, [ours, theirs].map(Clone::clone)));
        }
    }
    Ok(())
}

impl MeasuredRow {
    /// Whether the server of a load with a rate of its own served less than the metric is of.
    pub(crate) fn fell_behind(&self, metric: Metric) -> Option<FellBehind> {
        let is_served = self.served.filter(|_| self.covers_whole_load(metric))?;
        let others = || self.limits.iter().filter(|(limit, _)| **limit != Limit::OfferedLoad);
        let trials = others().map(|(_, count)| count).sum();
        let limits = others().map(|(limit, _)| *limit).collect();
        (trials > 0).then_some(FellBehind { is_served, trials, valid: self.trials.valid, limits })
    }

    /// Whether the metric is comparable only where the server served all that it was asked for.
    pub(crate) fn covers_whole_load(&self, metric: Metric) -> bool {
        metric.covers_whole_load() && self.served.is_some()
    }

    /// What keeps a figure of this metric from being the server's maximum.
    pub(crate) fn mark_of(&self, metric: Metric) -> Option<Mark> {
        match self.fell_behind(metric) {
            Some(_) => Some(Mark::NotOfferedLoad),
            None if self.covers_whole_load(metric) => {
                self.mark.filter(|mark| *mark != Mark::NotServerBound)
            }
            None => self.mark,
        }
    }

    /// A metric, where it is of all that it is said to be of.
    pub(crate) fn whole_figure(&self, metric: Metric) -> Option<Figure> {
        self.figure(metric).filter(|_| self.fell_behind(metric).is_none())
    }
}

impl FellBehind {
    /// `the server fell behind what it was asked for in 2 of 6 trials (the server's CPU was the limit)`.
    pub(crate) fn in_words(&self) -> String {
        let what = match self.is_served {
            true => "all that was asked for was served, but was not the limit",
            false => "the server fell behind what it was asked for",
        };
        let reasons = list(self.limits.iter().map(|limit| in_words(*limit)));
        format!("{what} {} ({reasons})", of_trials(self.trials, self.valid))
    }
}

impl Why {
    /// In a clause, of rows that are called like this: `with AES-128-GCM`.
    pub(crate) fn in_words(&self, rows: [&str; 2]) -> String {
        let [with, other] = rows;
        let called = |side: Side| rows[side as usize];
        match self {
            Self::NotMeasured(side) => format!("the figure is not known {}", called(*side)),
            Self::FellBehind(side, behind) => format!("{} {}", called(*side), behind.in_words()),
            Self::Differ(circumstance, sets) => {
                let [differ, so] = circumstance.words();
                let [ours, theirs] = sets.each_ref().map(list);
                format!("{differ} ({ours} {with}, {theirs} {other}){so}")
            }
            Self::NoCommonRound => format!("no round has a valid trial {with} and one {other}"),
            Self::Zero => format!("a trial {other} gave 0"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circumstance::Circumstances;
    use keys::full;

    /// A row with a figure in this metric, of which one parameter and one circumstance are known.
    fn row(
        metric: Metric,
        (key, value): (&str, &str),
        (circumstance, of): (Circumstance, &str),
    ) -> MeasuredRow {
        let circumstances = Circumstances::from([(circumstance, [of.to_owned()].into())]);
        let mut row = MeasuredRow { circumstances, ..Default::default() };
        row.params.set(key, value);
        row.samples.insert(metric, vec![(0, 1.0)]);
        row
    }

    #[test]
    fn datagrams_of_other_lengths_are_compared_where_they_are_what_differs() {
        let metric = Metric::ServerCpuPerOperation;
        let both = |key, values: [&str; 2], lengths: [&str; 2]| {
            let of = |side: usize| (Circumstance::Datagrams, lengths[side]);
            let [one, other] = [0, 1].map(|side| row(metric, (key, values[side]), of(side)));
            comparable(&one, &other, metric)
        };
        let lengths = ["1,452 bytes", "1,200 bytes"];
        let sets = lengths.map(|length| [length.to_owned()].into());
        assert_eq!(
            both(full::SUITE, ["a", "b"], lengths),
            Err(Why::Differ(Circumstance::Datagrams, sets))
        );
        assert_eq!(both(full::SUITE, ["a", "b"], ["1,200 bytes"; 2]), Ok(()));
        assert_eq!(both(full::SERVER, ["embedded", "caddy"], lengths), Ok(()));
        assert_eq!(both(full::MAX_UDP_PAYLOAD, ["1452", "1200"], lengths), Ok(()));
    }

    #[test]
    fn what_is_swept_may_differ() {
        let metric = Metric::ServerCpuPerOperation;
        let both = |key, values: [&str; 2]| {
            let of = |value, woken| row(metric, (key, value), (Circumstance::Wakeups, woken));
            let [one, other] = values;
            comparable(&of(one, "coalesced"), &of(other, "each"), metric)
        };
        let sets = ["coalesced", "each"].map(|woken| [woken.to_owned()].into());
        assert_eq!(
            both(full::SUITE, ["none", "none"]),
            Err(Why::Differ(Circumstance::Wakeups, sets))
        );
        assert_eq!(both(full::WAKEUPS, ["coalesced", "each"]), Ok(()));
        assert_eq!(both(full::CLIENT, ["toll", "wrk"]), Ok(()));
    }

    #[test]
    fn pauses_differ_where_they_are_in_the_figure() {
        let shares = ["1/4", "1/32"];
        let sets = shares.map(|share| [share.to_owned()].into());
        let both = |metric, key, values: [&str; 2]| {
            let of = |side: usize| (Circumstance::Pauses, shares[side]);
            let [one, other] = [0, 1].map(|side| row(metric, (key, values[side]), of(side)));
            comparable(&one, &other, metric)
        };
        let suites = ["none", "TLS_AES_128_GCM_SHA256"];
        for metric in [Metric::ClientCpuPerOperation, Metric::P99] {
            let apart = Err(Why::Differ(Circumstance::Pauses, sets.clone()));
            assert_eq!(both(metric, full::SUITE, suites), apart, "{metric:?}");
            assert_eq!(both(metric, full::CLIENT, ["toll", "shb"]), Ok(()));
        }
        for metric in [Metric::Rate, Metric::ServerCpuPerOperation] {
            assert_eq!(both(metric, full::SUITE, suites), Ok(()), "{metric:?}");
        }
    }
}
