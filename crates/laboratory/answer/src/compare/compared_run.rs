//! What is known of a run that is compared with another.

use std::collections::BTreeMap;

use journal::TargetRecord;
use observe::Machine;
use study::Study;

use crate::analysis::Analysis;

/// One of two runs.
#[derive(Debug, Clone, Default)]
pub struct ComparedRun {
    /// What was asked; a summary has no cells.
    pub study: Option<Study>,
    /// What was found.
    pub analysis: Analysis,
    /// The machine; `None` where `machine.json` is lacking.
    pub machine: Option<Machine>,
    /// The other machines that servers ran on, by their names.
    pub hosts: BTreeMap<String, Machine>,
    /// The servers.
    pub targets: Vec<TargetRecord>,
}
