//! `report.html`: one file with everything in it; it loads nothing from elsewhere.
//!
//! Texts can come from a server that means harm, so no text becomes markup: the engine escapes
//! whatever a template prints, and no template marks anything as safe. A Content-Security-Policy
//! forbids the page every request, should a browser be led to one all the same.

mod cells;
mod machine;
mod primitives;
mod record;
mod searches;
mod trials;

use answer::analysis::{Analysis, Answer, CellSummary, Mark};
use minijinja::value::{Value, ValueKind};
use minijinja::{Environment, Error, Output, State, context, escape_formatter};
use serde::Serialize;

use crate::chart::{Chart, answer_chart, cpu_splits, curve_charts};
use crate::figures::coverages;
use crate::text::{sentence, trials as trials_in_words, visible};
use crate::{Run, mark, when};

/// The page could not be made.
#[derive(Debug, thiserror::Error)]
#[error("report.html cannot be made from its templates: {0}; this is a bug in toll")]
pub struct ReportError(#[from] Error);

const TEMPLATES: [(&str, &str); 13] = [
    ("report.html", include_str!("../templates/report.html")),
    ("report.css", include_str!("../templates/report.css")),
    ("print.css", include_str!("../templates/print.css")),
    ("report.js", include_str!("../templates/report.js")),
    ("answers.html", include_str!("../templates/answers.html")),
    ("primitives.html", include_str!("../templates/primitives.html")),
    ("cross_checks.html", include_str!("../templates/cross_checks.html")),
    ("chart.html", include_str!("../templates/chart.html")),
    ("cells.html", include_str!("../templates/cells.html")),
    ("searches.html", include_str!("../templates/searches.html")),
    ("trials.html", include_str!("../templates/trials.html")),
    ("machine.html", include_str!("../templates/machine.html")),
    ("method.html", include_str!("../templates/method.html")),
];

/// The report as one HTML file that needs nothing else.
///
/// # Errors
/// The templates do not fit the data, which is a fault of toll.
pub fn html(run: &Run<'_>) -> Result<String, ReportError> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_formatter(write_visibly);
    environment.add_filter("sentence", |text: &str| sentence(text));
    for (name, source) in TEMPLATES {
        environment.add_template(name, source)?;
    }
    let analysis = run.analysis;
    let answers = answers(analysis);
    let page = environment.get_template("report.html")?.render(context! {
        title => &analysis.question,
        study => &analysis.study,
        lead => lead(run),
        notice => notice(analysis),
        figures => answers.iter().map(|answer| answer.charts.len()).sum::<usize>(),
        answers,
        primitives => analysis.primitives.as_ref().map(primitives::view),
        cross_checks => &analysis.cross_checks,
        projections => &analysis.projections,
        splits => cpu_splits(&analysis.cells),
        marks => marks(analysis),
        cells => cells::table(&analysis.cells),
        searches => searches::all(&analysis.cells),
        cut => &analysis.cut,
        groups => trials::groups(run),
        machine => run.machine.map(machine::facts),
        targets => run.targets,
        warnings => &analysis.warnings,
        invalid => &analysis.invalid,
        coverages => coverages(analysis),
        version => env!("CARGO_PKG_VERSION"),
        when => begun(run).map(when::utc),
    })?;
    Ok(page)
}

/// When the first trial or the first part of the primitives began.
fn begun(run: &Run<'_>) -> Option<u64> {
    let trial = run.lines.first().map(|trial| trial.line.started_unix_ms);
    let part = run.analysis.primitives.as_ref().and_then(|found| found.started_unix_ms);
    trial.into_iter().chain(part).min()
}

/// Escapes, and shows characters that would act.
fn write_visibly(out: &mut Output, state: &State, value: &Value) -> Result<(), Error> {
    match value.as_str() {
        Some(text) if value.kind() == ValueKind::String && !value.is_safe() => {
            escape_formatter(out, state, &Value::from(visible(text).into_owned()))
        }
        _ => escape_formatter(out, state, value),
    }
}

/// An answer with its chart.
#[derive(Serialize)]
struct AnswerView<'a> {
    /// The number of its first chart.
    number: usize,
    sentence: &'a str,
    remedy: Option<&'a str>,
    caveats: &'a [String],
    charts: Vec<Chart>,
}

fn answers(analysis: &Analysis) -> Vec<AnswerView<'_>> {
    let mut number = 1;
    let mut views = Vec::new();
    for answer in &analysis.answers {
        let Answer { sentence, remedy, caveats, curve, .. } = answer;
        let charts = match curve {
            Some(curve) => curve_charts(answer, curve),
            None => vec![answer_chart(answer, &analysis.answers)],
        };
        let first = number;
        number += charts.len();
        let remedy = remedy.as_deref();
        views.push(AnswerView { number: first, sentence, remedy, caveats, charts });
    }
    views
}

/// What was measured, on what, in one line.
fn lead(run: &Run<'_>) -> String {
    let is_measured = |cell: &&CellSummary| cell.trials.done > 0;
    let cells = run.analysis.cells.iter().filter(is_measured).count();
    let machine = run.machine.map(|machine| format!(" on {}", machine::in_a_word(machine)));
    let mut parts = Vec::new();
    if !run.analysis.cells.is_empty() {
        let noun = if cells == 1 { "cell" } else { "cells" };
        parts.push(format!("{} of {cells} {noun}", trials_in_words(run.analysis.trials.done)));
    }
    if let Some(found) = &run.analysis.primitives {
        let rows = found.rows.iter().filter(|row| row.cost.is_some()).count();
        parts.push(format!("the costs of {rows} combinations of algorithm, library and size"));
    }
    format!(
        "{}{}",
        crate::text::sentence(&parts.join(", and ")).trim_end_matches('.'),
        machine.unwrap_or_default()
    )
}

/// Why the page is not the whole answer, where it is not.
fn notice(analysis: &Analysis) -> Option<String> {
    let counts = analysis.trials;
    if analysis.is_empty() {
        return Some("No trial was run, so there is nothing to report.".to_owned());
    }
    if counts.valid == 0 && counts.planned > 0 {
        return Some(
            "No trial is valid, so there are no figures. The reasons are listed below.".to_owned(),
        );
    }
    incomplete(analysis)
}

/// What a run lacks, where it does.
pub(crate) fn incomplete(analysis: &Analysis) -> Option<String> {
    let counts = analysis.trials;
    let planned = trials_in_words(counts.planned);
    let mut lacking = Vec::new();
    if counts.done < counts.planned {
        lacking.push(format!("{} of {planned} were run", counts.done));
    }
    if let Some(found) = analysis.primitives.as_ref().filter(|found| found.done < found.planned) {
        let (done, planned) = (found.done, units::thousands(found.planned as u64));
        lacking.push(format!("{done} of {planned} figures of primitives were measured"));
    }
    (!lacking.is_empty()).then(|| format!("This run is incomplete: {}.", lacking.join(", and ")))
}

/// A mark with its meaning.
#[derive(Serialize)]
struct MarkView {
    name: &'static str,
    meaning: &'static str,
    is_hatched: bool,
}

/// The marks that are used.
fn marks(analysis: &Analysis) -> Vec<MarkView> {
    let used = |mark: &Mark| {
        let mut marks = analysis
            .cells
            .iter()
            .map(|cell| cell.mark)
            .chain(analysis.answers.iter().flat_map(|answer| &answer.bars).map(|bar| bar.mark));
        marks.any(|used| used == Some(*mark))
    };
    let view = |mark| MarkView {
        name: mark::name(mark),
        meaning: mark::meaning(mark),
        is_hatched: mark::is_not_a_maximum(mark),
    };
    mark::ALL.into_iter().filter(used).map(view).collect()
}
