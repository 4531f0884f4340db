//! A run in some kilobytes: its rows with their samples, the machine and the versions, without the journal.
//! Another run can be compared with it, and claims can be judged by it.
//!
//! The file is JSON, an object of a row on each line, and begins with a checksum of what follows: figures that
//! were edited by hand are nobody's measurement.

use std::collections::{BTreeMap, BTreeSet};

use journal::TargetRecord;
use observe::Machine;
use openssl::sha::sha256;
use serde::{Deserialize, Serialize};
use study::metric::Kind;
use study::{Cut, Metric, Study};
use units::significant;

use crate::analysis::{Analysis, Row};
use crate::compare::ComparedRun;
use crate::measured::MeasuredRow;

/// The form of the file; it grows when a field goes or means something else.
const SCHEMA: u32 = 1;

/// A run without its journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    schema: u32,
    /// The build of toll that measured it.
    pub toll: String,
    pub study: String,
    pub question: String,
    /// When its first part began, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: Option<u64>,
    /// What was cut from the study.
    pub cut: Vec<Cut>,
    /// The sentences of its answers.
    pub headlines: Vec<String>,
    /// The machine; `None` where `machine.json` is lacking.
    pub machine: Option<Machine>,
    /// The other machines that servers ran on, by their names.
    pub hosts: BTreeMap<String, Machine>,
    /// The servers, with their versions and those that were left out.
    pub targets: Vec<TargetRecord>,
    /// All cells and all rows of tables, in the study's order.
    pub rows: Vec<MeasuredRow>,
}

/// Why a text is no summary that this toll reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    #[error(
        "schema {0} of a summary is not known here, only schema {SCHEMA}; write it again with this toll \
             (toll report --summary DIR)"
    )]
    Schema(u64),
    #[error(
        "damaged summary: {0}; restore the file, or write it again with toll report --summary DIR"
    )]
    Damaged(String),
    #[error(
        "the summary was changed after toll wrote it; restore the file, or write it again with toll report \
         --summary DIR"
    )]
    Changed,
}

const CHECKSUM: &str = "{\"sha256\":\"";

impl Summary {
    /// Of a run that began at this time, by this build of toll.
    pub fn of(run: &ComparedRun, started_unix_ms: Option<u64>, toll: &str) -> Self {
        let ComparedRun { study, analysis, machine, hosts, targets } = run;
        let study = study.as_ref();
        let cut = study.map_or_else(Vec::new, |study| study.cut.clone());
        let headlines = analysis.answers.iter().filter_map(|answer| answer.headline.as_ref());
        Self {
            schema: SCHEMA,
            toll: toll.to_owned(),
            study: analysis.study.clone(),
            question: analysis.question.clone(),
            started_unix_ms,
            cut,
            headlines: headlines.map(|of| of.sentence.clone()).collect(),
            machine: machine.clone(),
            hosts: hosts.clone(),
            targets: targets.clone(),
            rows: analysis.cells.iter().map(|cell| kept(study, &cell.measured)).collect(),
        }
    }

    /// What its file is called: after the study and the processor.
    pub fn file_name(&self) -> String {
        let model = self.machine.as_ref().and_then(|machine| machine.processor.model.known());
        let model = model.map_or_else(|| "unknown".to_owned(), |model| model.to_lowercase());
        let words = model.split(|c: char| !c.is_ascii_alphanumeric()).filter(|of| !of.is_empty());
        std::iter::once(self.study.as_str()).chain(words).collect::<Vec<_>>().join("-")
    }

    /// Whether both are of one run, which may have gone on in between.
    pub fn is_of_run_of(&self, other: &Self) -> bool {
        let is_known = self.started_unix_ms.is_some();
        is_known && self.study == other.study && self.started_unix_ms == other.started_unix_ms
    }

    /// The text of its file.
    ///
    /// # Errors
    /// A field that JSON cannot have, which is a fault of toll.
    pub fn text(&self) -> serde_json::Result<String> {
        let mut lines = Vec::new();
        if let serde_json::Value::Object(fields) = serde_json::to_value(self)? {
            for (name, value) in fields {
                lines.push(match value {
                    serde_json::Value::Array(items) if !items.is_empty() => {
                        let items: Vec<String> = items.iter().map(ToString::to_string).collect();
                        format!("\"{name}\":[\n{}]", items.join(",\n"))
                    }
                    value => format!("\"{name}\":{value}"),
                });
            }
        }
        let rest = format!("{}}}\n", lines.join(",\n"));
        Ok(format!("{CHECKSUM}{}\",\n{rest}", digest(&rest)))
    }

    /// Whether a text begins as one, or has its rows.
    pub fn is_begun(text: &str) -> bool {
        text.starts_with(CHECKSUM) || text.contains("\"rows\":[")
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// It is no summary, one in another form, cut short, or changed by hand.
    pub fn read(text: &str) -> Result<Self, SummaryError> {
        #[derive(Deserialize)]
        struct Form {
            schema: u64,
        }
        let damaged = |error: serde_json::Error| SummaryError::Damaged(error.to_string());
        let Form { schema } = serde_json::from_str(text).map_err(damaged)?;
        if schema != u64::from(SCHEMA) {
            return Err(SummaryError::Schema(schema));
        }
        let sum = text.strip_prefix(CHECKSUM).and_then(|text| text.split_once("\",\n"));
        let Some((sum, rest)) = sum else {
            return Err(SummaryError::Damaged("it does not begin with its sha256".to_owned()));
        };
        if sum != digest(rest) {
            return Err(SummaryError::Changed);
        }
        serde_json::from_str(&format!("{{{rest}")).map_err(damaged)
    }

    /// What can be compared with another run; without trials, answers and charts.
    pub fn analysis(&self) -> Analysis {
        Analysis {
            study: self.study.clone(),
            question: self.question.clone(),
            cells: self.rows.iter().cloned().map(|row| Row::from(row).into()).collect(),
            cut: self.cut.iter().map(|of| of.what.clone()).collect(),
            ..Analysis::default()
        }
    }
}

impl From<Summary> for ComparedRun {
    fn from(summary: Summary) -> Self {
        let analysis = summary.analysis();
        let Summary { machine, hosts, targets, .. } = summary;
        Self { study: None, analysis, machine, hosts, targets }
    }
}

/// What is kept of a row: to six digits the samples of what the study is about, and what rows are compared by
/// otherwise.
fn kept(study: Option<&Study>, row: &MeasuredRow) -> MeasuredRow {
    let metrics = study.map(|study| metrics(study, row));
    let is_kept = |metric: &Metric| metrics.as_ref().is_none_or(|of| of.contains(metric));
    let samples =
        row.samples.iter().filter(|(metric, _)| is_kept(metric)).map(|(metric, samples)| {
            (
                *metric,
                samples.iter().map(|(round, sample)| (*round, significant(*sample, 6))).collect(),
            )
        });
    MeasuredRow { samples: samples.collect(), asked: BTreeMap::new(), ..row.clone() }
}

/// Those that the study's answers and claims about its case are of, and what rows are compared by otherwise.
fn metrics(study: &Study, row: &MeasuredRow) -> BTreeSet<Metric> {
    let answers = study.answers.iter().filter(|rule| rule.case == row.case);
    let claims = study.claims.iter().filter_map(|claim| claim.measured.as_ref());
    let is_own = |claim: &&study::ClaimedFigure| {
        claim.of.case == row.case || claim.over.as_ref().is_some_and(|over| over.case == row.case)
    };
    let cell = study.cells.iter().find(|cell| row.library.is_none() && cell.name == row.name);
    let usual = cell.map(|cell| [Metric::usual(cell), Metric::RatePerServerCpu]);
    let beside_a_cell =
        claims.clone().filter(is_own).any(|of| of.metric == Metric::RatePerServerCpu);
    let beside_a_cell = (beside_a_cell && row.library.is_some()).then_some(Metric::Rate);
    answers
        .map(|rule| rule.metric)
        .filter(|metric| metric.row().kind != Kind::Tax)
        .chain(claims.filter(is_own).map(|claim| claim.metric))
        .chain(usual.into_iter().flatten())
        .chain(row.cycles())
        .chain(beside_a_cell)
        .collect()
}

fn digest(text: &str) -> String {
    sha256(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
