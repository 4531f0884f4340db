//! The report on a terminal: what was found first, then the figures, then what to know about them.

mod columns;
mod wrap;

use std::collections::BTreeSet;
use std::fmt::Write;

use answer::analysis::Repeated;
use answer::claims::{ClaimResult, JudgedClaim, PaperClaims};
use answer::findings::{Column, Findings, Headline, Item, Listing, ShownAnswer, Table};
use answer::{Block, Mark, TrialDocument, trials};
use unicode_width::UnicodeWidthStr;

use crate::left_out::{cut, left_out};
use crate::page::{incomplete, nothing};
use crate::run::Run;
use crate::text::on_one_line;
pub use wrap::wrapped;

/// Whether a terminal shows colours. The words are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// No escape codes.
    Plain,
    /// Bold, dim and yellow (ECMA-48, section 8.3.117).
    Colour,
}

/// Less than this wraps words to death.
const LEAST_WIDTH: usize = 40;

/// Longer lines of words are hard to read; tables may be wider.
const MOST_WORDS: usize = 100;

/// The report in lines of at most `width` columns (at least 40 are taken), with a line end after
/// each. A table that does not fit leaves out its less important columns, and says so; where even
/// the rest is wider, its lines are longer.
pub fn terminal(run: &Run<'_>, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    let found = run.findings;
    page.question(run);
    page.headlines(found);
    if let Some(quality) = &found.quality {
        page.blank();
        let look = if quality.is_good { Look::Usual } else { Look::Warning };
        page.paragraph("", &quality.sentence, look);
    }
    page.paragraphs(&left_out(run.targets), Look::Usual);
    let has_more =
        |of: &&ShownAnswer| !(of.tables.is_empty() && of.notes.is_empty() && of.doubts.is_empty());
    for answer in found.answers.iter().filter(has_more) {
        page.answer(answer);
    }
    if let Some(table) = &found.servers {
        page.titled(table);
        page.compact(table);
        page.paragraph("", &table.about, Look::Dim);
    }
    for table in &found.overview {
        page.overview(table);
    }
    page.marks(&found.marks());
    page.paragraphs(&found.notes, Look::Dim);
    page.listing(&found.conclusions);
    page.warnings(&found.warnings);
    found.rejected.iter().for_each(|listing| page.listing(listing));
    page.claims(&found.claims);
    page.text
}

/// What a label of one trial takes.
const LABEL: usize = 14;

/// One trial in lines of at most `width` columns, as those of a report; where that is `usize::MAX`, for a program, each is
/// as long as it needs.
pub fn one_trial(document: &TrialDocument, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    if width == usize::MAX {
        page.words = width;
    }
    let look = if document.is_valid { Look::Bold } else { Look::Warning };
    page.paragraph("", &document.sentence, look);
    for block in &document.blocks {
        page.blank();
        match block {
            Block::Table(columns) => page.table(columns.clone(), |_| false),
            Block::Texts(items) => items.iter().for_each(|Item { label, text, is_warning }| {
                let look = if *is_warning { Look::Warning } else { Look::Usual };
                page.paragraph(&format!("{label:<LABEL$}"), text, look);
            }),
        }
    }
    page.text
}

/// Select Graphic Rendition.
#[derive(Debug, Clone, Copy)]
pub enum Look {
    Usual,
    Bold,
    Dim,
    Warning,
}

/// The lines so far.
#[derive(Debug)]
pub struct Page {
    text: String,
    /// Of tables.
    width: usize,
    /// Of words.
    words: usize,
    style: Style,
}

impl Page {
    /// Of lines of at most `width` columns, at least 40.
    pub fn new(width: usize, style: Style) -> Self {
        let width = width.max(LEAST_WIDTH);
        Self { text: String::new(), width, words: width.min(MOST_WORDS), style }
    }

    pub fn text(self) -> String {
        self.text
    }

    fn question(&mut self, run: &Run<'_>) {
        self.paragraph("", run.question, Look::Dim);
        if let Some(words) = cut(run.cut, "report.html") {
            self.paragraph("", &words, Look::Warning);
        }
        let lacking = nothing(run.findings).map(str::to_owned);
        if let Some(words) = lacking.or_else(|| incomplete(run.findings)) {
            self.paragraph("", &words, Look::Warning);
        }
    }

    /// The figure of each question in bold, with its sentence and what to do beside it.
    fn headlines(&mut self, findings: &Findings) {
        let headlines = || findings.answers.iter().filter_map(|answer| answer.headline.as_ref());
        let width = headlines().map(|of| of.value.width()).max().unwrap_or(0);
        for Headline { value, sentence, advice, .. } in headlines() {
            self.blank();
            let indent = " ".repeat(width + 2);
            let space = " ".repeat(width - value.width());
            let lines = wrapped(&indent, &on_one_line(sentence), self.words);
            for (place, line) in lines.iter().enumerate() {
                match (place, self.style) {
                    (0, Style::Plain) => self.text += &format!("{space}{value}"),
                    (0, Style::Colour) => self.text += &format!("{space}\x1b[1m{value}\x1b[0m"),
                    _ => {}
                }
                let begin = if place == 0 { width } else { 0 };
                self.line(line.get(begin..).unwrap_or_default(), Look::Usual);
            }
            if let Some(advice) = advice {
                self.paragraph(&indent, advice, Look::Usual);
            }
        }
    }

    /// A table with its small print beside the figures.
    fn compact(&mut self, table: &Table) {
        self.table(table.with_small_print(), |row| {
            table.marks.get(row).is_some_and(Option::is_some)
        });
    }

    fn titled(&mut self, table: &Table) {
        let words = [table.title.as_str(), table.count.as_str()];
        let words: Vec<&str> = words.into_iter().filter(|words| !words.is_empty()).collect();
        self.heading(&words.join(", "));
    }

    /// Its tables, and what to know about them; its headline stands above all.
    fn answer(&mut self, answer: &ShownAnswer) {
        self.heading(&answer.title);
        let notes = |page: &mut Self, notes: &[String]| {
            notes.iter().for_each(|note| page.paragraph("  - ", note, Look::Usual));
        };
        let (figures, others) = answer.tables.split_at(answer.tables.len().min(1));
        for table in figures {
            if !table.title.is_empty() {
                self.titled(table);
            }
            self.compact(table);
            notes(self, &table.notes);
        }
        notes(self, &answer.notes);
        for table in others {
            self.titled(table);
            self.compact(table);
            notes(self, &table.notes);
        }
        for doubt in &answer.doubts {
            self.paragraph("  But: ", doubt, Look::Warning);
        }
    }

    /// Texts under a heading; nothing where there are none.
    pub(crate) fn listing(&mut self, listing: &Listing) {
        if !listing.items.is_empty() {
            self.heading(listing.title);
        }
        for item in &listing.items {
            let look = if item.is_warning { Look::Warning } else { Look::Usual };
            let label = match item.label.as_str() {
                "" => "  - ".to_owned(),
                label => format!("  {}: ", on_one_line(label)),
            };
            self.paragraph(&label, &item.text, look);
        }
    }

    /// A claim for each row, its result first.
    fn claims(&mut self, papers: &[PaperClaims]) {
        let results = papers.iter().flat_map(|paper| &paper.claims).map(|of| of.result.words());
        let width = results.map(str::len).max().unwrap_or(0);
        for PaperClaims { study, source, claims } in papers {
            self.heading(&format!("Published, and here ({study}): {source}"));
            for JudgedClaim { what, published, here, result, why, .. } in claims {
                let look = match result {
                    ClaimResult::Holds => Look::Usual,
                    _ => Look::Warning,
                };
                let here = if here.is_empty() { "none" } else { here };
                let why = why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
                let words = format!("{what}: published {published}; here {here}{why}");
                self.paragraph(&format!("  {:<width$}  ", result.words()), &words, look);
            }
        }
    }

    fn overview(&mut self, table: &Table) {
        self.titled(table);
        let mut columns = table.columns.clone();
        if let Some(labels) = columns.first_mut() {
            shorten(labels);
        }
        self.table(columns, |row| table.marks.get(row).is_some_and(Option::is_some));
        for note in &table.notes {
            self.paragraph("", note, Look::Warning);
        }
    }

    /// Each on lines of its own, after a blank line.
    fn paragraphs(&mut self, texts: &[String], look: Look) {
        if !texts.is_empty() {
            self.blank();
        }
        texts.iter().for_each(|text| self.paragraph("", text, look));
    }

    fn warnings(&mut self, warnings: &[Repeated]) {
        if !warnings.is_empty() {
            self.heading("Warnings");
        }
        for Repeated { warning, trials: count } in warnings {
            let words = format!("{warning} ({})", trials(*count));
            self.paragraph("  - ", &words, Look::Usual);
        }
    }

    /// What the marks mean that are used.
    pub(crate) fn marks(&mut self, used: &[Mark]) {
        for (i, mark) in Mark::ALL.iter().filter(|mark| used.contains(mark)).enumerate() {
            if i == 0 {
                self.blank();
            }
            let label = format!("{} {}: ", mark.symbol(), mark.name());
            self.paragraph(&label, mark.meaning(), Look::Warning);
        }
    }

    pub(crate) fn heading(&mut self, words: &str) {
        self.blank();
        self.paragraph("", words, Look::Bold);
    }

    /// Wrapped words after a label, under which the further lines begin.
    pub fn paragraph(&mut self, label: &str, words: &str, look: Look) {
        for line in wrapped(label, &on_one_line(words), self.words) {
            self.line(&line, look);
        }
    }

    /// A table; the rows are coloured that have a warning.
    pub fn table(&mut self, columns: Vec<Column>, has_warning: impl Fn(usize) -> bool) {
        let table = columns::table(columns, self.width);
        for line in &table.header {
            self.line(line, Look::Dim);
        }
        for (row, line) in table.rows.iter().enumerate() {
            self.line(line, if has_warning(row) { Look::Warning } else { Look::Usual });
        }
        if !table.left_out.is_empty() {
            let words = format!("Not shown at this width: {}.", table.left_out.join(", "));
            self.paragraph("", &words, Look::Dim);
        }
    }

    pub fn blank(&mut self) {
        self.text.push('\n');
    }

    fn line(&mut self, line: &str, look: Look) {
        let code = match (self.style, look) {
            (Style::Plain, _) | (_, Look::Usual) => None,
            (Style::Colour, Look::Bold) => Some(1),
            (Style::Colour, Look::Dim) => Some(2),
            (Style::Colour, Look::Warning) => Some(33),
        };
        // Writing to a string does not fail.
        let _ = match code {
            Some(code) => writeln!(self.text, "\x1b[{code}m{line}\x1b[0m"),
            None => writeln!(self.text, "{line}"),
        };
    }
}

/// Shortens the labels of rows as far as they stay distinct.
fn shorten(labels: &mut Column) {
    // Columns that a label has room for, and those that it takes where it would be ambiguous
    // otherwise.
    const USUAL: usize = 32;
    const MOST: usize = 64;
    let whole: Vec<String> = labels.cells.iter().map(|cell| on_one_line(&cell.text)).collect();
    let shortened = |most| whole.iter().map(|label| short(label, most)).collect::<Vec<_>>();
    let distinct = |labels: &[String]| labels.iter().collect::<BTreeSet<_>>().len();
    let usual = shortened(USUAL);
    let shown = if distinct(&usual) == distinct(&whole) { usual } else { shortened(MOST) };
    for (cell, text) in labels.cells.iter_mut().zip(shown) {
        cell.text = text;
    }
}

/// A label of at most this many columns.
fn short(label: &str, most: usize) -> String {
    if label.width() <= most {
        return label.to_owned();
    }
    let mut short = String::new();
    for c in label.chars() {
        if format!("{short}{c}").width() >= most {
            break;
        }
        short.push(c);
    }
    short + "…"
}
