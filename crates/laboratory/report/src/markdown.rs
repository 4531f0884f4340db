//! Answers, gates and tables in Markdown (GitHub's), for the summary of a CI job or a comment.
//!
//! Short: the sentence that answers first, then the gates, then a table; of two runs only the cells that changed, or
//! may have.

use std::fmt::Write;

use answer::Mark;
use answer::compare::{Comparison, PairedRow};
use answer::findings::{Column, Headline};
use answer::gate::GateOutcome;
use answer::wording::NO_DIFFERENCE;
use stats::Decision;

use crate::comparison;
use crate::left_out::{cut, left_out};
use crate::page::lacking;
use crate::run::Run;
use crate::text::{on_one_line, sentence};

/// What a run says.
pub fn markdown(run: &Run<'_>, gates: &[GateOutcome]) -> String {
    let mut text = String::new();
    let found = run.findings;
    for Headline { sentence, advice, .. } in
        found.answers.iter().filter_map(|of| of.headline.as_ref())
    {
        let advice = advice.as_ref().map(|advice| format!(" {}", escaped(advice)));
        paragraph(&mut text, &format!("{}{}", bold(sentence), advice.unwrap_or_default()));
    }
    let doubts = [lacking(found), cut(run.cut, "report.html")];
    let doubts = doubts.into_iter().flatten().chain(left_out(run.targets));
    let quality = found.quality.iter().map(|quality| quality.sentence.clone());
    doubts.chain(quality).for_each(|sentence| paragraph(&mut text, &escaped(&sentence)));
    list(&mut text, gates.iter().map(|gate| &gate.sentence));
    let mut has_figures = false;
    for answer in &found.answers {
        if let Some(figures) = answer.tables.first() {
            has_figures = true;
            heading(&mut text, &answer.title);
            table(&mut text, &figures.with_small_print());
        }
        list(&mut text, answer.doubts.iter().map(|doubt| &doubt.text));
    }
    for overview in found.overview.iter().filter(|_| !has_figures) {
        heading(&mut text, &overview.title);
        table(&mut text, &overview.columns);
    }
    marks(&mut text, &found.marks());
    text
}

/// What two runs say together.
pub fn comparison_markdown(comparison: &Comparison, gates: &[GateOutcome]) -> String {
    let mut text = String::new();
    comparison.other_machine().iter().for_each(|machine| paragraph(&mut text, &bold(machine)));
    comparison.sentences().iter().for_each(|sentence| paragraph(&mut text, &bold(sentence)));
    list(&mut text, gates.iter().map(|gate| &gate.sentence));
    let mut used = Vec::new();
    let mut alike = 0;
    for metric in &comparison.metrics {
        let is_alike = |pair: &&PairedRow| pair.verdict == Some(Decision::NoDifference);
        let (same, changed): (Vec<_>, Vec<_>) = metric.cells.iter().partition(is_alike);
        alike += same.len();
        if changed.is_empty() {
            continue;
        }
        heading(&mut text, metric.metric.row().words);
        table(&mut text, &comparison::columns(metric.metric, &changed));
        let refused = comparison::not_compared(&changed);
        list(&mut text, refused.iter().map(|why| format!("Not compared: {why}")));
        used.extend(changed.iter().flat_map(|pair| [pair.mark_a, pair.mark_b]).flatten());
    }
    if alike > 0 {
        let cells = units::counted(alike as u64, "cell");
        let words = format!("{NO_DIFFERENCE} in {cells}, in no table here");
        paragraph(&mut text, &escaped(&sentence(&words)));
    }
    let only = comparison.only.iter();
    list(
        &mut text,
        only.map(|of| format!("In {} only: {}, {}.", of.run.to_uppercase(), of.case, of.label)),
    );
    marks(&mut text, &used);
    text
}

fn paragraph(text: &mut String, words: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{words}\n");
}

fn heading(text: &mut String, words: &str) {
    paragraph(text, &format!("#### {}", escaped(words)));
}

fn list(text: &mut String, items: impl Iterator<Item = impl AsRef<str>>) {
    let before = text.len();
    items.for_each(|item| *text += &format!("- {}\n", escaped(item.as_ref())));
    if text.len() > before {
        text.push('\n');
    }
}

/// What the marks mean that are used.
fn marks(text: &mut String, used: &[Mark]) {
    let used = Mark::ALL.iter().filter(|mark| used.contains(mark));
    list(text, used.map(|mark| format!("{} {}: {}.", mark.symbol(), mark.name(), mark.meaning())));
}

/// A table without its empty columns.
fn table(text: &mut String, columns: &[Column]) {
    let columns: Vec<&Column> = columns.iter().filter(|column| !column.is_empty()).collect();
    let mut line = |of: &dyn Fn(&Column) -> String| {
        let cells: Vec<String> = columns.iter().map(|column| of(column)).collect();
        *text += &format!("| {} |\n", cells.join(" | "));
    };
    line(&|column| escaped(&format!("{} {}", column.name, column.unit)));
    line(&|column| if column.is_number { "--:" } else { "---" }.to_owned());
    let rows = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    for row in 0..rows {
        line(&|column| escaped(column.cells.get(row).map_or("", |cell| &cell.text)));
    }
    text.push('\n');
}

fn bold(words: &str) -> String {
    format!("**{}**", escaped(words))
}

/// On one line, in which no character acts: neither as Markdown, nor as HTML or mathematics.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for (place, c) in on_one_line(text).chars().enumerate() {
        let begins_block = place == 0 && matches!(c, '-' | '+' | '=' | '.');
        if begins_block
            || matches!(
                c,
                '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '#' | '$' | '!'
            )
        {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}
