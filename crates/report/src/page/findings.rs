//! What was found: a tile for each question, the questions with their charts, and tables which can be
//! sorted by each of their columns.

use answer::findings::{Answer, Column, Findings, Headline, Quality, Remark, Table};
use answer::gate::GateOutcome;
use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

use crate::chart::Chart;

/// What one experiment found.
#[derive(Serialize)]
pub(super) struct Part<'a> {
    title: &'a str,
    quality: Option<&'a Quality>,
    questions: Vec<Question<'a>>,
    gates: &'a [GateOutcome],
    /// Servers beside each other.
    grids: Vec<Value>,
    /// Those that belong to no question.
    charts: Vec<Numbered>,
}

/// The answers to one question: those about several servers, for example.
#[derive(Default, Serialize)]
struct Question<'a> {
    number: usize,
    headline: Option<&'a Headline>,
    heading: &'a str,
    charts: Vec<Numbered>,
    sentences: Vec<&'a str>,
    remarks: Vec<&'a Remark>,
    caveats: Vec<&'a Remark>,
}

#[derive(Serialize)]
struct Numbered {
    number: usize,
    chart: Chart,
}

/// What all experiments found, with questions and charts that are numbered through.
pub(super) fn parts(findings: &[Findings]) -> Vec<Part<'_>> {
    let mut numbers = Numbers::default();
    findings.iter().map(|found| Part::of(found, &mut numbers)).collect()
}

/// The last numbers that were given.
#[derive(Default)]
struct Numbers {
    question: usize,
    figure: usize,
}

impl Numbers {
    fn question(&mut self) -> usize {
        self.question += 1;
        self.question
    }

    fn figures(&mut self, charts: &[answer::findings::Chart]) -> Vec<Numbered> {
        let mut figure = |of| {
            self.figure += 1;
            Numbered { number: self.figure, chart: Chart::of(of) }
        };
        charts.iter().map(&mut figure).collect()
    }
}

impl<'a> Part<'a> {
    fn of(found: &'a Findings, numbers: &mut Numbers) -> Self {
        let mut questions: Vec<Question> = Vec::new();
        for answer in &found.answers {
            // What has no headline of its own answers the same question as the one before.
            if questions.is_empty() || answer.headline.is_some() || answer.question.is_some() {
                questions.push(Question::of(numbers.question(), answer));
            }
            if let Some(question) = questions.last_mut() {
                question.add(answer, numbers.figures(&answer.charts));
            }
        }
        Self {
            title: found.title,
            quality: found.quality.as_ref(),
            questions,
            gates: &found.gates,
            grids: found.grids.iter().map(table).collect(),
            charts: numbers.figures(&found.charts),
        }
    }
}

impl<'a> Question<'a> {
    fn of(number: usize, answer: &'a Answer) -> Self {
        let headline = answer.headline.as_ref();
        let sentence = headline.map(|headline| headline.sentence.as_str());
        let first = answer.sentences.first().map(String::as_str);
        Self {
            number,
            headline,
            heading: answer.question.as_deref().or(sentence).or(first).unwrap_or_default(),
            ..Self::default()
        }
    }

    fn add(&mut self, answer: &'a Answer, charts: Vec<Numbered>) {
        self.charts.extend(charts);
        self.sentences.extend(answer.sentences.iter().map(String::as_str));
        for remark in &answer.remarks {
            let of_kind = if remark.is_caveat { &mut self.caveats } else { &mut self.remarks };
            // Several answers of a question can share a doubt.
            if !of_kind.contains(&remark) {
                of_kind.push(remark);
            }
        }
    }
}

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
        chart => table.chart.as_ref().map(Chart::curve),
        columns,
        rows => table.rows(),
        notes => table.notes,
        has_marks => !table.marks.is_empty(),
    }
}
