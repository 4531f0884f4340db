//! What a study found, for people and for programs: the terminal, `report.html`, `cells.csv`.

use observe::Machine;
use study::analysis::Analysis;
use study::{Line, TargetRecord};

/// All that a report is made of: what lies in a result folder.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// What was found.
    pub analysis: &'a Analysis,
    /// Every trial, in the order in which they ran.
    pub lines: &'a [Line],
    /// The machine; `None` where `machine.json` is lacking.
    pub machine: Option<&'a Machine>,
    /// The servers, with those that were left out.
    pub targets: &'a [TargetRecord],
}
