//! Answers with their charts, and tables which can be sorted by each of their columns.

use answer::findings::{Answer, Column, Findings, Table};
use answer::gate::GateOutcome;
use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

use crate::chart::Chart;

/// The answers of one experiment.
#[derive(Serialize)]
pub(super) struct Part<'a> {
    title: &'a str,
    answers: Vec<AnswerView<'a>>,
    gates: &'a [GateOutcome],
    /// Those that are drawn after all answers.
    charts: Vec<Numbered>,
    has_bars: bool,
    has_baseline: bool,
}

#[derive(Serialize)]
struct AnswerView<'a> {
    #[serde(flatten)]
    answer: &'a Answer,
    /// The number of its first chart, where that is drawn after all answers.
    figure: Option<usize>,
    /// Those that are drawn right after it: an answer to a question of its own is read by itself.
    charts: Vec<Numbered>,
}

#[derive(Serialize)]
struct Numbered {
    number: usize,
    chart: Chart,
}

/// The answers of all experiments, with charts that are numbered through.
pub(super) fn parts(findings: &[Findings]) -> Vec<Part<'_>> {
    let mut number = 0;
    let mut drawn = |charts: &[answer::findings::Chart]| -> Vec<Numbered> {
        let numbered = charts.iter().zip(number + 1..);
        let numbered = numbered.map(|(of, number)| Numbered { number, chart: Chart::of(of) });
        number += charts.len();
        numbered.collect()
    };
    findings.iter().map(|found| part(found, &mut drawn)).collect()
}

fn part<'a>(
    found: &'a Findings,
    drawn: &mut impl FnMut(&[answer::findings::Chart]) -> Vec<Numbered>,
) -> Part<'a> {
    let mut after_all = Vec::new();
    let mut answers = Vec::new();
    for answer in &found.answers {
        let mut charts = drawn(&answer.charts);
        let mut figure = None;
        if answer.question.is_none() {
            figure = charts.first().map(|of| of.number);
            after_all.append(&mut charts);
        }
        answers.push(AnswerView { answer, figure, charts });
    }
    let has_baseline = !after_all.is_empty();
    after_all.extend(drawn(&found.charts));
    let has_bars = after_all.iter().any(|of| matches!(of.chart, Chart::Bars(_)));
    Part {
        title: found.title,
        answers,
        gates: &found.gates,
        charts: after_all,
        has_bars,
        has_baseline,
    }
}

/// Longer ones are folded.
const MOST_OPEN: usize = 16;

/// The sections of tables of all experiments.
pub(super) fn tables(findings: &[Findings]) -> Vec<Value> {
    let section = |section: &answer::findings::Section| {
        let tables: Vec<Value> = section.tables.iter().map(table).collect();
        context! { title => section.title, about => section.about, tables }
    };
    findings.iter().flat_map(|found| &found.tables).map(section).collect()
}

fn table(table: &Table) -> Value {
    let columns: Vec<&Column> = table.columns.iter().filter(|column| !column.is_empty()).collect();
    context! {
        title => table.title,
        count => table.count,
        about => table.about,
        is_open => table.rows() <= MOST_OPEN && table.chart.is_none(),
        chart => table.chart.as_ref().map(Chart::curve),
        columns,
        rows => table.rows(),
        notes => table.notes,
        has_marks => !table.marks.is_empty(),
    }
}
