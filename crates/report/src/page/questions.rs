//! What was found: a tile for each question, the questions with their charts, and tables which can be
//! sorted by each of their columns.

use answer::Caveat;
use answer::claims::{JudgedClaim, PaperClaims};
use answer::findings::{Column, Findings, Headline, Quality, ShownAnswer, Table};
use answer::gate::GateOutcome;
use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

use crate::chart::DrawnChart;

/// What a run found.
#[derive(Serialize)]
pub(super) struct FoundOnPage<'a> {
    quality: Option<&'a Quality>,
    questions: Vec<QuestionGroup<'a>>,
    gates: &'a [GateOutcome],
    /// Servers beside each other.
    servers: Option<Value>,
    /// A table for each published measurement.
    claims: Vec<Value>,
    /// Those that belong to no question.
    charts: Vec<Numbered>,
}

/// An answer with its number.
#[derive(Serialize)]
struct QuestionGroup<'a> {
    number: usize,
    headline: Option<&'a Headline>,
    /// What its figures are.
    title: &'a str,
    heading: &'a str,
    charts: Vec<Numbered>,
    tables: Vec<Value>,
    notes: &'a [String],
    doubts: &'a [Caveat],
}

#[derive(Serialize)]
struct Numbered {
    number: usize,
    chart: DrawnChart,
}

/// The last numbers that were given.
#[derive(Default)]
struct Numbers {
    question: usize,
    figure: usize,
}

impl Numbers {
    fn figures(&mut self, charts: &[answer::findings::Chart]) -> Vec<Numbered> {
        let mut figure = |of| {
            self.figure += 1;
            Numbered { number: self.figure, chart: DrawnChart::of(of) }
        };
        charts.iter().map(&mut figure).collect()
    }

    fn question<'a>(&mut self, answer: &'a ShownAnswer) -> QuestionGroup<'a> {
        self.question += 1;
        let sentence = answer.headline.as_ref().map(|headline| headline.sentence.as_str());
        QuestionGroup {
            number: self.question,
            headline: answer.headline.as_ref(),
            title: &answer.title,
            heading: sentence.unwrap_or(&answer.title),
            charts: self.figures(&answer.charts),
            tables: answer.tables.iter().map(table).collect(),
            notes: &answer.notes,
            doubts: &answer.doubts,
        }
    }
}

impl<'a> FoundOnPage<'a> {
    /// With questions and charts that are numbered through.
    pub(super) fn of(found: &'a Findings) -> Self {
        let mut numbers = Numbers::default();
        Self {
            quality: found.quality.as_ref(),
            questions: found.answers.iter().map(|answer| numbers.question(answer)).collect(),
            gates: &found.gates,
            servers: found.servers.as_ref().map(table),
            claims: found.claims.iter().map(|paper| table(&claims(paper))).collect(),
            charts: numbers.figures(&found.charts),
        }
    }
}

/// A row for each claim.
fn claims(PaperClaims { study, source, claims }: &PaperClaims) -> Table {
    let words = |name: &str, of: &dyn Fn(&JudgedClaim) -> String| {
        Column::words(name, claims.iter().map(of))
    };
    Table {
        title: format!("Published, and here ({study})"),
        about: source.clone(),
        columns: vec![
            words("claim", &|of| of.what.clone()),
            words("published", &|of| of.published.clone()),
            words("here", &|of| of.here.clone()),
            words("result", &|of| of.result.words().to_owned()),
            words("why", &|of| of.why.clone().unwrap_or_default()),
        ],
        ..Table::default()
    }
}

/// The sections of tables.
pub(super) fn tables(findings: &Findings) -> Vec<Value> {
    let section = |section: &answer::findings::Section| {
        let tables: Vec<Value> = section.tables.iter().map(table).collect();
        context! { title => section.title, about => section.about, tables }
    };
    findings.tables.iter().map(section).collect()
}

fn table(table: &Table) -> Value {
    let columns: Vec<&Column> = table.columns.iter().filter(|column| !column.is_empty()).collect();
    context! {
        title => table.title,
        count => table.count,
        about => table.about,
        chart => table.chart.as_ref().map(DrawnChart::curve),
        columns,
        rows => table.rows(),
        notes => table.notes,
        has_marks => !table.marks.is_empty(),
    }
}
