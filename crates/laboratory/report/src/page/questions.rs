//! What was found: a tile for each question, the questions with their charts, and tables which can be
//! sorted by each of their columns.

use answer::claims::{JudgedClaim, PaperClaims};
use answer::findings::{Chart, Column, Findings, ShownAnswer, Table};
use minijinja::context;
use minijinja::value::Value;

use crate::chart::{chart, curve};

/// With questions and charts that are numbered through.
pub(super) fn found(findings: &Findings) -> Value {
    let mut figure = 0;
    let mut charts = |charts: &[Chart]| {
        let numbered = |of| {
            figure += 1;
            context! { number => figure, chart => chart(of) }
        };
        charts.iter().map(numbered).collect::<Vec<Value>>()
    };
    let question = |(place, answer): (usize, &ShownAnswer)| {
        let ShownAnswer { title, headline, tables, sentences, notes, doubts, .. } = answer;
        context! {
            number => place + 1,
            title,
            headline,
            charts => charts(&answer.charts),
            folded => answer.folded.iter().map(|(label, of)| {
                context! { label, charts => charts(std::slice::from_ref(of)) }
            }).collect::<Vec<_>>(),
            tables => tables.iter().map(table).collect::<Vec<_>>(),
            sentences,
            notes,
            doubts,
        }
    };
    context! {
        quality => findings.quality,
        questions => findings.answers.iter().enumerate().map(question).collect::<Vec<_>>(),
        gates => findings.gates,
        servers => findings.servers.as_ref().map(table),
        claims => findings.claims.iter().map(|paper| table(&claims(paper))).collect::<Vec<_>>(),
        charts => charts(&findings.charts),
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
        chart => table.chart.as_ref().map(curve),
        columns,
        rows => table.rows(),
        notes => table.notes,
        has_marks => !table.marks.is_empty(),
    }
}
