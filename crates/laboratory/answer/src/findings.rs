//! What a run found, as plain data: all that a report shows, whatever was measured.

mod chart;
mod table;

use serde::Serialize;

use crate::analysis::warnings::Repeated;
use crate::caveat::Caveat;
use crate::claims::PaperClaims;
use crate::gate::outcome::GateOutcome;
use crate::mark::Mark;

pub use chart::{Axis, Band, Bar, BarRow, Bars, Chart, ChartLine, Curve, Dot, LineLimit, Series};
pub use table::{Column, SmallPrint, SortKey, Table, TableCell};

/// What a study found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Findings {
    /// In the order of the study.
    pub answers: Vec<ShownAnswer>,
    /// How well the figures hold; `None` where there are none.
    pub quality: Option<Quality>,
    /// Servers beside each other, where there are several: a column for each.
    pub servers: Option<Table>,
    /// What became of the gates of the answers.
    pub gates: Vec<GateOutcome>,
    /// What published measurements claim, and whether it holds here.
    pub claims: Vec<PaperClaims>,
    /// Those that belong to no answer.
    pub charts: Vec<Chart>,
    /// What else was concluded, such as whether other programs agree.
    pub conclusions: Listing,
    /// Few columns, for a terminal.
    pub overview: Vec<Table>,
    /// Every figure.
    pub tables: Vec<Section>,
    /// How to read the figures of the overview.
    pub notes: Vec<String>,
    /// How it was measured: headings with a paragraph each.
    pub method: Vec<(&'static str, String)>,
    /// What is in no figure, and why.
    pub rejected: Vec<Listing>,
    /// Each kind of warning once.
    pub warnings: Vec<Repeated>,
    /// The cells of the journal whose trials are the evidence, with their titles.
    pub evidence: Vec<(String, String)>,
    /// What was measured, in words: `98 trials of 14 cells`.
    pub measured: Vec<String>,
    /// What is lacking, in words, where the run ended early: `17 of 98 trials were run`.
    pub lacking: Vec<String>,
    /// Why there are no figures, where nothing could be used of what was measured.
    pub no_figures: Option<String>,
    /// Whether nothing was measured.
    pub is_empty: bool,
    /// Whether all that was planned was measured, and can be used.
    pub is_whole: bool,
    /// When its first part began, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: Option<u64>,
}

/// What one of a study's answers is made of.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ShownAnswer {
    /// What its figures are: `Rate of one core, by certificate key`.
    pub title: String,
    pub headline: Option<Headline>,
    /// Its figures, and what follows from them.
    pub tables: Vec<Table>,
    pub charts: Vec<Chart>,
    /// What is to be read before them, a sentence or some each.
    pub sentences: Vec<String>,
    /// Charts that open by a click, with their labels.
    pub folded: Vec<(String, Chart)>,
    /// How to read them, a sentence each.
    pub notes: Vec<String>,
    /// Why they are weaker than they look, a sentence each.
    pub doubts: Vec<Caveat>,
}

/// An answer at a glance. Intervals are in charts and tables; what they do not show is not stated here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Headline {
    /// One figure with its unit: `2.7x`, `56%`, `28.1 Gb/s`.
    pub value: String,
    /// What the figure counts, in a few words: `the handshakes per core`.
    pub unit: String,
    /// One short sentence.
    pub sentence: String,
    /// What to do, in a sentence, where the figures say so.
    pub advice: Option<String>,
}

/// How well the figures hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Quality {
    pub is_good: bool,
    /// In one line: `Good: intervals within 4%.`
    pub sentence: String,
}

/// Short texts under a heading.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Listing {
    pub title: &'static str,
    /// What the texts are. Where there are none, what that means; if it is empty, nothing is shown.
    pub about: &'static str,
    pub items: Vec<Item>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Item {
    /// What the text is about, where that is not in it.
    pub label: String,
    pub text: String,
    pub is_warning: bool,
}

/// Tables under a heading.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Section {
    pub title: &'static str,
    pub about: &'static str,
    pub tables: Vec<Table>,
}

impl Item {
    pub(crate) fn fact(label: &str, text: impl Into<String>) -> Self {
        Self { label: label.to_owned(), text: text.into(), is_warning: false }
    }

    pub(crate) fn warning(label: &str, text: impl Into<String>) -> Self {
        Self { is_warning: true, ..Self::fact(label, text) }
    }
}

impl Listing {
    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.about.is_empty()
    }
}

impl Findings {
    /// The marks that are used in charts and tables.
    pub fn marks(&self) -> Vec<Mark> {
        let of_charts = self.all_charts().filter_map(|chart| match chart {
            Chart::Bars(bars) => Some(bars.rows.iter().flat_map(|row| &row.bars)),
            Chart::Curve(_) => None,
        });
        let of_charts = of_charts.flatten().filter_map(|bar| bar.mark);
        let of_answers = self.answers.iter().flat_map(|answer| &answer.tables);
        let sections = self.tables.iter().flat_map(|section| &section.tables);
        let tables = of_answers.chain(sections).chain(&self.overview);
        let used: Vec<Mark> =
            of_charts.chain(tables.flat_map(|table| &table.marks).flatten().copied()).collect();
        Mark::ALL.iter().copied().filter(|mark| used.contains(mark)).collect()
    }

    /// The charts of all answers, and the others.
    pub fn all_charts(&self) -> impl Iterator<Item = &Chart> {
        let folded = self.answers.iter().flat_map(|answer| &answer.folded).map(|(_, chart)| chart);
        self.answers.iter().flat_map(|answer| &answer.charts).chain(&self.charts).chain(folded)
    }
}
