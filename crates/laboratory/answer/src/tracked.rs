//! The figures of a run that are followed from run to run.

use study::{Metric, Params, Study, StudyRow};

use crate::analysis::Analysis;
use crate::compare::{Comparison, PairedRow};
use crate::figure::Figure;
use crate::mark::Mark;
use crate::measured::MeasuredRow;

/// A figure of a row, which the next run has too.
#[derive(Debug, Clone, PartialEq)]
pub struct TrackedFigure {
    pub case: String,
    /// What tells the row from the others of its case.
    pub params: Params,
    /// The same in words, which name versions too.
    pub label: String,
    pub metric: Metric,
    pub figure: Figure,
    /// What keeps the figure from being the server's maximum.
    pub mark: Option<Mark>,
}

/// The metrics that a run of this study is followed in; known before anything is measured.
pub fn metrics(study: &Study) -> impl Iterator<Item = Metric> {
    study.rows().into_iter().flat_map(|row| of_row(study, &row))
}

/// Those in which the answers read a row that it can have; of an algorithm without answers what it costs.
fn of_row(study: &Study, row: &StudyRow<'_>) -> Vec<Metric> {
    let mut metrics = study.metrics_of(row.case);
    metrics.retain(|metric| row.metrics.contains(metric));
    if metrics.is_empty() {
        metrics.extend(row.metrics.first());
    }
    metrics
}

impl TrackedFigure {
    /// Those of a run. What was not measured has none.
    pub fn of_run(study: &Study, analysis: &Analysis) -> Vec<Self> {
        let of = |planned: &StudyRow<'_>| {
            let row = &analysis.cells.iter().find(|cell| cell.name == planned.name)?.measured;
            let of_metric = |metric: Metric| {
                let MeasuredRow { case, params, label, .. } = row.clone();
                let figure = row.whole_figure(metric)?;
                Some(Self { case, params, label, metric, figure, mark: row.mark_of(metric) })
            };
            Some(of_row(study, planned).into_iter().filter_map(of_metric).collect::<Vec<_>>())
        };
        study.rows().iter().filter_map(of).flatten().collect()
    }

    /// Those of the later of two runs, in the metrics in which they are compared.
    pub fn of_later(comparison: &Comparison) -> Vec<Self> {
        let of_metric = |metric: Metric, pair: &PairedRow| {
            let is_whole = pair.mark_b != Some(Mark::NotOfferedLoad);
            let figure = pair.b.clone().filter(|_| is_whole)?;
            let PairedRow { case, params, label, mark_b: mark, .. } = pair.clone();
            Some(Self { case, params, label, metric, figure, mark })
        };
        let metrics = comparison.metrics.iter();
        metrics
            .flat_map(|of| of.cells.iter().filter_map(move |pair| of_metric(of.metric, pair)))
            .collect()
    }
}
