//! What a study found, for people and for programs: the terminal, `report.html`, `cells.csv`,
//! OpenMetrics; and what two runs say together.
//!
//! All are pure functions of a [`Run`]: nothing here measures, reads a file or looks at a
//! clock, so a report can be made again from its result folder and is the same again.
//!
//! Error texts, versions and names can come from a server that means harm. The page escapes every
//! one of them in one place (the template engine's), and neither the page nor the terminal gets a
//! control character of theirs.

mod cells_csv;
mod chart;
mod comparison;
mod left_out;
mod openmetrics;
mod page;
mod terminal;
mod text;
mod when;

use std::collections::BTreeMap;

use answer::findings::Findings;
use journal::{TargetRecord, TrialLine};
use observe::Machine;
use study::Cut;

pub use answer::findings::Column;
pub use cells_csv::cells_csv;
pub use comparison::comparison;
pub use openmetrics::openmetrics;
pub use page::{ReportError, html};
pub use terminal::{Look, Page, Style, terminal, wrapped};

/// All that a report is made of: what lies in a result folder.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// The study's name.
    pub study: &'a str,
    /// What it asked.
    pub question: &'a str,
    /// What was cut from it, a clause each.
    pub cut: &'a [Cut],
    /// What it found.
    pub findings: &'a Findings,
    /// Every trial, in the order in which they ran.
    pub lines: &'a [TrialLine],
    /// The stacks that were sampled, folded, by the name of their cell.
    pub stacks: &'a [(String, String)],
    /// The machine; `None` where `machine.json` is lacking.
    pub machine: Option<&'a Machine>,
    /// The other machines that servers ran on, by their names.
    pub hosts: &'a BTreeMap<String, Machine>,
    /// The servers, with those that were left out.
    pub targets: &'a [TargetRecord],
}

static NO_HOSTS: BTreeMap<String, Machine> = BTreeMap::new();

impl<'a> Run<'a> {
    /// Findings without a result folder.
    pub fn of(question: &'a str, findings: &'a Findings) -> Self {
        Self {
            study: "",
            question,
            cut: &[],
            findings,
            lines: &[],
            stacks: &[],
            machine: None,
            hosts: &NO_HOSTS,
            targets: &[],
        }
    }
}
