//! How an answer is found.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::gate::RatioGate;
use crate::headline::HeadlineTemplates;
use crate::metric::Metric;
use crate::reference::Published;
use crate::show::Show;
use crate::{Param, Params};

/// One figure of the rows of a case or a table, over the values of one of their keys.
/// Where the rows differ in other keys too, there is an answer for each combination of those.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerRule {
    /// What it asks, where the study says so.
    #[serde(default)]
    pub question: Option<String>,
    /// The case, or the table.
    pub case: String,
    /// Which figure.
    pub metric: Metric,
    /// The key whose values are compared.
    pub compare: String,
    /// The value that the others are compared with.
    pub baseline: String,
    /// Another key, whose values make one answer and one curve instead of an answer each.
    pub along: Option<String>,
    /// The rows of its case that it is about have all values of one of these; all are, where there are none.
    #[serde(default)]
    pub only: Vec<Params>,
    /// At which of these values rows are compared; at all where there are none.
    #[serde(default)]
    pub at: Vec<Bytes>,
    /// What it shows beside its figures.
    #[serde(default)]
    pub show: BTreeSet<Show>,
    /// The figures of the study's reference that are shown next to it.
    pub published: Vec<Published>,
    /// Numbers of cores to which what was measured is projected.
    pub project: Vec<u32>,
    /// What the ratios to the baseline must be.
    pub gates: Vec<RatioGate>,
    /// The table of algorithms that has what the parts of a handshake, or the ciphers of records, cost by
    /// themselves.
    #[serde(default)]
    pub nominal: Option<String>,
    /// What its author writes of it; absent, the figures stand alone.
    #[serde(default)]
    pub written: Option<HeadlineTemplates>,
}

impl AnswerRule {
    /// What an answer says at least.
    pub fn new(case: &str, metric: Metric, compare: &str, baseline: &str) -> Self {
        Self {
            question: None,
            case: case.to_owned(),
            metric,
            compare: compare.to_owned(),
            baseline: baseline.to_owned(),
            along: None,
            only: Vec::new(),
            at: Vec::new(),
            show: BTreeSet::new(),
            published: Vec::new(),
            project: Vec::new(),
            gates: Vec::new(),
            nominal: None,
            written: None,
        }
    }

    /// Whether it is asked to show this beside its figures.
    pub fn shows(&self, what: Show) -> bool {
        self.show.contains(&what)
    }

    /// Whether it is about a row of this case with these parameters.
    pub fn is_about(&self, case: &str, params: &Params) -> bool {
        let is_named = self.only.is_empty() || self.only.iter().any(|of| of.is_part_of(params));
        self.case == case && is_named
    }

    /// Whether it may be about rows with this value of the key that it compares.
    pub fn names(&self, value: &str) -> bool {
        let value = Param::of(&self.compare, value);
        let fits = |of: &Params| of.get(&self.compare).is_none_or(|own| *own == value);
        self.only.is_empty() || self.only.iter().any(fits)
    }

    /// The value that the others are compared with.
    pub fn baseline(&self) -> Param {
        Param::of(&self.compare, &self.baseline)
    }
}
