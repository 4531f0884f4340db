//! What a published measurement claims, and which row of a study shows whether that holds here.

use serde::{Deserialize, Serialize};

use crate::headline::RowOf;
use crate::metric::Kind;
use crate::{Metric, Published, PublishedUnit};

/// A `[[claim]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The figure of the study's reference.
    pub published: Published,
    /// What is measured of it; `None` where no study can measure it.
    pub measured: Option<ClaimedFigure>,
    /// What differs from the published setup, or why it cannot be measured, in a clause.
    pub why: Option<String>,
}

/// The figure that decides a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimedFigure {
    pub metric: Metric,
    pub of: RowOf,
    /// What it is divided by; of cycles the ratio is how many times as fast `of` is. Of a cell's rate of one core it may
    /// be an algorithm, whose rate is one core's.
    pub over: Option<RowOf>,
    /// Two rows whose ratio that of the others is divided by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub than: Option<(RowOf, RowOf)>,
}

/// Between which figures a claim holds, in the metric's unit; open where it names no end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClaimedRange {
    pub low: Option<f64>,
    pub high: Option<f64>,
}

impl Claim {
    /// Where only words were published, which of two is ahead: the ratio to the other lies on the better side
    /// of 1.
    pub fn range(&self, metric: Metric) -> ClaimedRange {
        let Published { unit, low, high, is_at_least, .. } = &self.published;
        match unit {
            PublishedUnit::Words if metric.is_higher_ratio_better() => {
                ClaimedRange { low: Some(1.0), high: None }
            }
            PublishedUnit::Words => ClaimedRange { low: None, high: Some(1.0) },
            _ => {
                let high = (!is_at_least).then(|| high * unit.factor());
                ClaimedRange { low: Some(low * unit.factor()), high }
            }
        }
    }
}

impl PublishedUnit {
    /// What a published figure is multiplied by for the unit of the metric that it counts.
    pub fn factor(self) -> f64 {
        match self {
            Self::Gbps | Self::GbpsPerCore | Self::GbpsOfDevice | Self::Pace => 1e9,
            Self::Ratio
            | Self::CyclesPerByte
            | Self::PerSecond
            | Self::Cpus
            | Self::Share
            | Self::Words => 1.0,
        }
    }

    /// Whether a figure of this metric, or where `is_ratio` a ratio of two, can show whether it holds.
    pub fn decides(self, metric: Metric, is_ratio: bool) -> bool {
        let is_own = match self {
            Self::Ratio | Self::Words => return is_ratio && metric.row().kind != Kind::Tax,
            Self::Gbps => metric == Metric::Goodput,
            Self::GbpsPerCore => metric == Metric::GoodputPerServerCpu,
            Self::CyclesPerByte => metric == Metric::CyclesPerByte,
            Self::PerSecond => metric == Metric::Rate,
            Self::Cpus => metric == Metric::ServerCpus,
            Self::Share => matches!(metric, Metric::ServerBusy | Metric::UsersByLaw),
            Self::GbpsOfDevice | Self::Pace => false,
        };
        is_own && !is_ratio
    }
}
