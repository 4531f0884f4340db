//! What answers, claims, summaries and comparisons of runs judge: parameters with samples by round. The trials of a
//! cell are one row, and so are the rounds of a timed algorithm.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};
use study::primitive::SIZE;
use study::{Metric, Params};
use trial::{LEAST_BODY_BYTES, Limit};

use crate::circumstance::Circumstances;
use crate::figure::Figure;
use crate::mark::Mark;

/// What the trials of a cell, or the rounds of an algorithm, were.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredRow {
    /// Its case or table.
    pub case: String,
    /// Its name in the study.
    pub name: String,
    /// What tells it from the others of its case, in words.
    pub label: String,
    pub params: Params,
    /// The library and its version, where it is an algorithm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// The frequency at which an algorithm ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_hz: Option<f64>,
    pub trials: TrialCounts,
    /// Why it has no figure, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacking: Option<String>,
    /// What limited the valid trials, and how many of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<Limit, usize>,
    /// Of a load with a rate of its own: whether the trials that something else limited served all of it. What is
    /// not known to be served was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
    /// In which circumstances the valid trials ran.
    #[serde(flatten)]
    pub circumstances: Circumstances,
    /// The congestion control that the server was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_congestion: Option<String>,
    /// What was negotiated in the valid trials, by its name in the receipt: versions, suite, group, certificate key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub negotiated: BTreeMap<String, BTreeSet<String>>,
    /// What was asked of the first valid trial, by its name in the receipt; a summary has it not.
    #[serde(skip)]
    pub asked: BTreeMap<String, String>,
    /// The round and the figure of each valid trial that has one. Of the tax it is the goodput that the tax is taken
    /// from.
    pub samples: BTreeMap<Metric, Vec<(u32, f64)>>,
}

/// How many trials there are, or rounds of an algorithm, by what became of them.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    derive_more::Add,
    derive_more::Sum
)]
pub struct TrialCounts {
    /// How many a whole run has, without those of skipped targets.
    pub planned: usize,
    /// In the journal.
    pub done: usize,
    /// Of those, valid ones.
    pub valid: usize,
}

/// What keeps a run from being whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortfall {
    /// 0 where nothing at all was measured, because nothing could be.
    planned: usize,
    /// Planned, and not in the journal.
    missing: usize,
    /// There, and not valid.
    invalid: usize,
}

impl Shortfall {
    /// Of a run in which nothing was measured.
    pub const ALL: Self = Self { planned: 0, missing: 0, invalid: 0 };

    /// Of all rows of a run; `None` where each has as many valid trials or rounds as planned.
    pub(crate) fn of(rows: impl Iterator<Item = TrialCounts>) -> Option<Self> {
        let mut all = Self { planned: 0, missing: 0, invalid: 0 };
        for TrialCounts { planned, done, valid } in rows {
            all.planned += planned;
            all.missing += planned.saturating_sub(done.max(valid));
            all.invalid += planned.min(done).saturating_sub(valid);
        }
        (all.missing > 0 || all.invalid > 0).then_some(all)
    }

    /// Whether all that was planned is there, valid or not.
    pub fn is_whole(&self) -> bool {
        self.planned > 0 && self.missing == 0
    }

    /// Whether all that is there is valid.
    pub fn is_valid(&self) -> bool {
        self.invalid == 0
    }
}

impl Display for Shortfall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { planned, missing, invalid } = self;
        match (missing, invalid) {
            _ if *planned == 0 => f.write_str("nothing was measured"),
            (missing, 0) => write!(f, "{missing} of {planned} measurements are missing"),
            (0, invalid) => write!(f, "{invalid} of {planned} measurements are not valid"),
            _ => write!(
                f,
                "{missing} of {planned} measurements are missing and {invalid} are not valid"
            ),
        }
    }
}

/// What is the server's maximum: with all of its CPUs used, or with the limit that a search keeps.
pub(crate) const IS_A_MAXIMUM: [Limit; 2] = [Limit::ServerCpu, Limit::LatencyLimit];

/// Whether some of the trials are enough to count for a median. A tenth of them moves it by a twentieth of
/// the trials at most, which is well within its interval.
pub(crate) fn is_more_than_a_tenth(some: usize, all: usize) -> bool {
    some * 10 > all
}

impl MeasuredRow {
    /// A metric of the valid trials that have it.
    pub fn figure(&self, metric: Metric) -> Option<Figure> {
        let (rounds, samples) = self.samples(metric).iter().copied().unzip();
        Figure::by_round(rounds, samples)
    }

    pub(crate) fn samples(&self, metric: Metric) -> &[(u32, f64)] {
        self.samples.get(&metric).map_or(&[], Vec::as_slice)
    }

    /// The metric of what an algorithm costs; `None` of a cell.
    pub(crate) fn cycles(&self) -> Option<Metric> {
        let is_of_bytes = self.params.contains_key(SIZE);
        let cycles = if is_of_bytes { Metric::CyclesPerByte } else { Metric::CyclesPerOperation };
        self.library.as_ref().map(|_| cycles)
    }

    /// Whether bits are what its operations are counted by: the mean body is no shorter than a TLS record. Shorter
    /// ones cost what their operations do.
    pub(crate) fn is_of_bytes(&self) -> bool {
        let median = |metric| Some(self.figure(metric)?.median());
        // A summary may have but one of these.
        let rates = [
            (Metric::Goodput, Metric::Rate),
            (Metric::GoodputPerServerCpu, Metric::RatePerServerCpu),
        ];
        let both = rates.into_iter().find_map(|(bits, of)| Some((median(bits)?, median(of)?)));
        both.is_some_and(|(bits, operations)| bits >= 8.0 * LEAST_BODY_BYTES as f64 * operations)
    }

    /// Whether a gate is about it, or, `as_earlier` of two runs, about the later one's. What the earlier run had no
    /// server or library for, and no load that meets the limit, the later one cannot be worse at. Of one run alone
    /// only what a library does not do is not judged.
    pub(crate) fn is_judged(&self, as_earlier: bool) -> bool {
        self.trials.planned > 0 || !as_earlier && self.library.is_none()
    }

    /// Whether something else than the server's maximum was the limit in trials that count.
    pub(crate) fn is_limited_by_others(&self) -> bool {
        let others = self.limits.iter().filter(|(limit, _)| !IS_A_MAXIMUM.contains(limit));
        is_more_than_a_tenth(others.map(|(_, count)| count).sum(), self.trials.valid)
    }
}
