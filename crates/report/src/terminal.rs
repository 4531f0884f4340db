//! The report on a terminal: what was found first, then the figures, then what to know about them.

mod cell_table;
mod columns;
mod primitives;
mod wrap;

use std::fmt::Write;

use answer::analysis::{Agreement, Answer, CellSummary, CrossCheck, Invalid, Mark, Repeated};

use crate::figures::coverages;
use crate::page::incomplete;
use crate::text::{on_one_line, trials};
use crate::{Run, mark};
pub use columns::Column;
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
#[must_use]
pub fn terminal(run: &Run<'_>, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    page.question(run);
    for answer in &run.analysis.answers {
        page.answer(answer);
    }
    for projection in &run.analysis.projections {
        page.blank();
        page.paragraph("Projected: ", &projection.sentences.join(" "), Look::Usual);
    }
    if let Some(found) = &run.analysis.primitives {
        page.primitives(found);
    }
    page.cross_checks(&run.analysis.cross_checks);
    page.tables(&run.analysis.cells);
    page.intervals(run);
    page.left_out(run);
    page.warnings(&run.analysis.warnings);
    page.invalid("", &run.analysis.invalid);
    page.text
}

/// A table alone, and a blank line after it.
#[must_use]
pub fn table(columns: Vec<Column>, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    page.table(columns, |_| false);
    page.blank();
    page.text
}

/// Select Graphic Rendition.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Look {
    Usual,
    Bold,
    Dim,
    Warning,
}

pub(crate) struct Page {
    text: String,
    width: usize,
    style: Style,
}

impl Page {
    /// Of lines of at most `width` columns, at least 40.
    pub(crate) fn new(width: usize, style: Style) -> Self {
        Self { text: String::new(), width: width.max(LEAST_WIDTH), style }
    }

    pub(crate) fn text(self) -> String {
        self.text
    }

    fn question(&mut self, run: &Run<'_>) {
        let analysis = run.analysis;
        self.paragraph("", &analysis.question, Look::Dim);
        if !analysis.cut.is_empty() {
            let words = format!("Not the whole study: {}.", analysis.cut.join("; "));
            self.paragraph("", &words, Look::Warning);
        }
        if analysis.is_empty() {
            self.paragraph("", "No trial was run, so there is nothing to report.", Look::Warning);
        } else if let Some(words) = incomplete(analysis) {
            self.paragraph("", &words, Look::Warning);
        }
    }

    fn answer(&mut self, answer: &Answer) {
        self.blank();
        self.paragraph("", &answer.sentence, Look::Bold);
        if let Some(remedy) = &answer.remedy {
            self.paragraph("  What to do: ", remedy, Look::Usual);
        }
        for caveat in &answer.caveats {
            self.paragraph("  But: ", caveat, Look::Warning);
        }
    }

    fn cross_checks(&mut self, checks: &[CrossCheck]) {
        if !checks.is_empty() {
            self.heading("Checked with other clients");
        }
        for check in checks {
            let look = match check.agreement {
                Agreement::Agrees => Look::Usual,
                _ => Look::Warning,
            };
            self.paragraph("  - ", &check.sentence, look);
        }
    }

    fn tables(&mut self, cells: &[CellSummary]) {
        let mut cases: Vec<&str> = Vec::new();
        for cell in cells {
            if !cases.contains(&cell.case.as_str()) {
                cases.push(&cell.case);
            }
        }
        for case in cases {
            let cells: Vec<&CellSummary> = cells.iter().filter(|cell| cell.case == case).collect();
            self.blank();
            self.paragraph("", case, Look::Bold);
            self.table(cell_table::columns(&cells), |row| cells[row].mark.is_some());
        }
        self.marks(|mark| cells.iter().any(|cell| cell.mark == Some(mark)));
    }

    fn intervals(&mut self, run: &Run<'_>) {
        let coverages = coverages(run.analysis);
        if !coverages.is_empty() {
            self.blank();
            let words = format!(
                "One core: per CPU-second of the server. In brackets: the interval of the median; \
                 {}. Comparisons and the TLS tax are medians over pairs of trials of the same \
                 round, so they can differ from the quotients of these medians.",
                coverages.join("; ")
            );
            self.paragraph("", &words, Look::Dim);
        }
    }

    fn left_out(&mut self, run: &Run<'_>) {
        let skipped =
            run.targets.iter().filter_map(|target| Some((target, target.skipped.as_ref()?)));
        for (i, (target, why)) in skipped.enumerate() {
            if i == 0 {
                self.heading("Left out");
            }
            self.paragraph(&format!("  {}: ", on_one_line(&target.name)), why, Look::Usual);
        }
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

    /// The trials of `whom` that are invalid, and why.
    pub(crate) fn invalid(&mut self, whom: &str, invalid: &[Invalid]) {
        if !invalid.is_empty() {
            self.heading(&format!("Invalid trials{whom}, not used in any figure"));
        }
        for trial in invalid {
            let label = format!("  {}, number {}: ", on_one_line(&trial.cell), trial.order);
            self.paragraph(&label, &trial.why, Look::Usual);
        }
    }

    /// What the marks mean that are used.
    pub(crate) fn marks(&mut self, is_used: impl Fn(Mark) -> bool) {
        for (i, mark) in mark::ALL.into_iter().filter(|mark| is_used(*mark)).enumerate() {
            if i == 0 {
                self.blank();
            }
            let label = format!("{} {}: ", mark::symbol(mark), mark::name(mark));
            self.paragraph(&label, mark::meaning(mark), Look::Warning);
        }
    }

    pub(crate) fn heading(&mut self, words: &str) {
        self.blank();
        self.paragraph("", words, Look::Bold);
    }

    /// Wrapped words after a label, under which the further lines begin.
    pub(crate) fn paragraph(&mut self, label: &str, words: &str, look: Look) {
        for line in wrapped(label, &on_one_line(words), self.width.min(MOST_WORDS)) {
            self.line(&line, look);
        }
    }

    /// A table; the rows are coloured that have a warning.
    pub(crate) fn table(&mut self, columns: Vec<Column>, has_warning: impl Fn(usize) -> bool) {
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

    pub(crate) fn blank(&mut self) {
        self.text.push('\n');
    }

    pub(crate) fn line(&mut self, line: &str, look: Look) {
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
