//! One answer.

use load::Operation;
use serde::Serialize;
use study::{Metric, Params, Published, Show};

use super::alike::{other_path, share_of_sendfile, with_reading};
use super::bar::AnswerFigure;
use super::bill::Bill;
use super::caveats::caveats;
use super::compared::Compared;
use super::curve::AnswerCurve;
use super::derived::Derived;
use super::loopback::Loopback;
use super::offered::beside_published;
use super::prediction::{self, Prediction};
use super::row::Row;
use super::{accelerator, cores_of_device, hit_rate};
use crate::caveat::Caveat;
use crate::costs::AlgorithmRow;
use crate::findings::Headline;

/// One answer: the figures of compared cells, and what to know about them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// What was asked, where the study says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The answer at a glance; the first answer of a rule has it for all of them.
    pub headline: Option<Headline>,
    /// The place of its rule in the study.
    #[serde(skip)]
    pub rule: usize,
    /// What is to know about the figures, a sentence each.
    pub notes: Vec<String>,
    /// What follows from the figures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<Derived>,
    /// What proves that handshakes were measured, in one sentence; only of connections over TLS. The first
    /// answer of a rule has it for all of them.
    pub purity: Option<String>,
    /// Why the answer is weaker than it looks: marks of its cells, trials that are lacking.
    pub caveats: Vec<Caveat>,
    pub case: String,
    /// Which figure.
    pub metric: Metric,
    /// The key whose values are compared.
    pub compare: String,
    /// What one operation of the compared cells is.
    #[serde(skip)]
    pub operation: Operation,
    /// What the compared rows have in common, by key: `target.server` = `nginx`.
    pub common: Params,
    /// The same in words.
    #[serde(skip)]
    pub common_in_words: Vec<String>,
    /// A bar for each value of `compare`, in the study's order; those without valid trials too. A tax
    /// has none for its baseline, which is not taxed.
    pub bars: Vec<AnswerFigure>,
    pub published: Vec<Published>,
    /// What the cost of the cipher predicts of the bars, where the servers report it.
    pub predictions: Vec<Prediction>,
    /// What its handshakes are made of, or what the ciphers of its records cost alone, where the study asks
    /// for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bill: Option<Bill>,
    /// Of the share that TLS takes, what loopback contributes, where that was sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loopback: Option<Loopback>,
    /// The bars along another swept key, where the study asks for that.
    pub curve: Option<AnswerCurve>,
}

impl Answer {
    /// Its case with what the compared cells have in common, under the title of a chart.
    pub(super) fn subtitle(&self) -> String {
        let words = std::iter::once(self.case.clone()).chain(self.common_in_words.iter().cloned());
        words.collect::<Vec<_>>().join(", ")
    }

    pub(super) fn of(compared: &Compared<'_>, costs: &[AlgorithmRow], rows: &[Row]) -> Self {
        let rule = compared.rule;
        let bill = Bill::of(compared, costs);
        let lacking = bill.iter().flat_map(|bill| bill.lacking.clone());
        let predictions = Prediction::all(compared, None);
        let (read, doubts) = match rule.shows(Show::ReadingClient) {
            true => with_reading(compared, rows),
            false => Default::default(),
        };
        let by_sendfile = match rule.shows(Show::Sendfile) {
            true => share_of_sendfile(compared, rows),
            false => Vec::new(),
        };
        let own: Vec<_> = compared.entries.iter().map(|entry| entry.row).collect();
        Self {
            question: rule.question.clone(),
            headline: None,
            rule: 0,
            notes: beside_published(&rule.published, &own).into_iter().collect(),
            derived: [
                hit_rate::derived(compared),
                accelerator::derived(compared),
                cores_of_device::derived(compared),
                by_sendfile,
                read,
            ]
            .concat(),
            purity: None,
            caveats: doubts
                .into_iter()
                .chain(prediction::doubt(&predictions))
                .chain(other_path(compared))
                .map(Caveat::from)
                .chain(caveats(compared))
                .chain(lacking.map(Caveat::from))
                .collect(),
            case: rule.case.clone(),
            metric: rule.metric,
            compare: rule.compare.clone(),
            operation: compared.operation(),
            common: compared.common.clone(),
            common_in_words: compared.common_in_words(),
            bars: compared.shown().map(|entry| entry.bar.clone()).collect(),
            published: rule.published.clone(),
            bill,
            loopback: Loopback::of(compared),
            predictions,
            curve: None,
        }
    }
}
