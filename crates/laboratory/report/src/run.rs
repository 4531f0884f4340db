//! What a report is made of.

use std::collections::BTreeMap;

use answer::findings::Findings;
use journal::{TargetRecord, TrialLine};
use observe::Machine;
use study::Cut;

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
