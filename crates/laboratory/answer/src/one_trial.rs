//! One trial for a person: first a sentence that answers, then figures, then the receipt.

mod facts;
mod figures;
mod receipt;
mod sentence;

use observe::Fact;
use trial::{Limit, Measured, Mismatch, StoodStill, TrialRecord, Warning, WarningKind, WhyInvalid};
use units::{Nanos, thousands};

use crate::findings::{Column, Item};

/// What a person sees of one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialDocument {
    /// What answers.
    pub sentence: String,
    pub is_valid: bool,
    /// From top to bottom, none of them empty.
    pub blocks: Vec<Block>,
}

/// What stands together.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Short texts, each with its label.
    Texts(Vec<Item>),
    Table(Vec<Column>),
}

impl Block {
    fn is_empty(&self) -> bool {
        match self {
            Self::Texts(items) => items.is_empty(),
            Self::Table(columns) => columns.iter().all(|column| column.cells.is_empty()),
        }
    }
}

impl TrialDocument {
    /// What answers, and what is wrong; where `is_verbose`, all that was asked for and got too.
    pub fn of(measured: &Measured, is_verbose: bool) -> Self {
        let line = &measured.line;
        let has_figures = line.operations.completed > 0
            && line.verdict.is_some()
            && line.invalid().iter().all(|why| why.has_figures());
        let figures = if has_figures { figures_of(measured) } else { Vec::new() };
        let coalescing = facts::coalescing(line).filter(|_| has_figures);
        let (before, after) = (facts::before(line), after(line, coalescing, is_verbose));
        let mut between: Vec<Block> =
            figures.into_iter().chain([Block::Table(figures::pages(line))]).collect();
        between.retain(|block| !block.is_empty());
        let mut blocks = match between.is_empty() {
            true => vec![Block::Texts([before, after].concat())],
            false => [vec![Block::Texts(before)], between, vec![Block::Texts(after)]].concat(),
        };
        if is_verbose {
            blocks.push(Block::Texts(facts::whole(line)));
        }
        blocks.retain(|block| !block.is_empty());
        Self { sentence: format!("{}.", sentence::of(line)), is_valid: line.valid, blocks }
    }
}

fn figures_of(measured: &Measured) -> Vec<Block> {
    let line = &measured.line;
    let not_valid = "these figures are of what was measured, not of what was asked for";
    let not_valid = (!line.valid).then(|| Item::warning("NOT VALID", not_valid));
    let unknown = line.cpu_ns.server.is_none().then(|| why_unknown(line));
    let stood_still = line.latency_ns.stood_still.map(|StoodStill { operations, at_least_ns }| {
        let (count, least) = (thousands(operations), Nanos(at_least_ns));
        format!("without {count} that had taken more than {least} and had not ended")
    });
    vec![
        Block::Texts(not_valid.into_iter().collect()),
        Block::Table(figures::rates(line)),
        Block::Table(figures::cpu_time(line)),
        Block::Texts(unknown.map(|why| Item::fact("server CPU", why)).into_iter().collect()),
        Block::Table(figures::latencies(&line.latency_ns)),
        Block::Texts(stood_still.map(|of| Item::fact("latency", of)).into_iter().collect()),
        Block::Table(figures::histogram(&measured.outcome.latencies)),
    ]
}

/// What stands after the figures, whatever was measured.
fn after(line: &TrialRecord, coalescing: Option<String>, is_verbose: bool) -> Vec<Item> {
    // The first sentence has the gravest.
    let gravest = line.invalid().first().copied();
    let is_said = |of: &&Mismatch| gravest == Some(WhyInvalid::Mismatch(of));
    let mismatches = line.receipt.mismatch.iter().filter(|of| !is_said(of));
    let errors = [("SERVER", &line.target_error), ("LOAD", &line.load_error)].into_iter();
    // Where both sides have the same CPUs, nothing else that is seen of them is the cause.
    let shared = line.warnings.iter().find(|of| of.kind == WarningKind::SharedCpus);
    // What other programs or the load itself limited has another remedy.
    let is_of_cpus = |limit| matches!(limit, Limit::ClientCpu | Limit::ServerCpu | Limit::Unknown);
    let shared = shared.filter(|_| line.limit().is_some_and(is_of_cpus));
    let limit = line.limit().filter(|_| !line.ended_in_warm_up()).map(|limit| match shared {
        Some(Warning { seen, remedy, .. }) => format!("{limit}; {seen}: {remedy}"),
        None => format!("{limit}; {}", line.remedy()),
    });
    let facts = coalescing.map(|of| Item::fact("coalescing", of)).into_iter();
    facts
        .chain(facts::after(line))
        .chain(line.operations.errors_in_words().map(|words| Item::warning("errors", words)))
        .chain(mismatches.map(|of| Item::warning("MISMATCH", of.to_string())))
        .chain(errors.filter_map(|(label, of)| Some(Item::warning(label, of.clone()?))))
        .chain(limit.map(|words| Item::fact("limit", words)))
        .chain(warnings(line, shared, is_verbose))
        .collect()
}

/// The first warning that was not told yet, and the kinds of the others; all of them where all is wanted.
fn warnings(line: &TrialRecord, told: Option<&Warning>, is_verbose: bool) -> Vec<Item> {
    let is_new = |of: &&Warning| is_verbose || Some(*of) != told;
    let mut all = line.warnings.iter().filter(is_new);
    let shown = all.by_ref().take(if is_verbose { usize::MAX } else { 1 });
    let mut items: Vec<Item> = shown.map(|of| Item::warning("warning", of.to_string())).collect();
    let others: Vec<String> = all.map(|of| of.kind.to_string()).collect();
    if !others.is_empty() {
        items.push(Item::warning("", format!("and {} (-v has them)", others.join(", "))));
    }
    items
}

/// Why there is no CPU time of the server.
fn why_unknown(line: &TrialRecord) -> String {
    let of = |warning: &Warning| match warning.kind {
        WarningKind::ProcessesChanged => Some("its processes changed"),
        WarningKind::CoarseClock => Some("the load is too short for its clocks"),
        _ => None,
    };
    match (line.warnings.iter().find_map(of), &line.server_process) {
        (Some(cause), _) => format!("not known; {cause}"),
        (None, Some(Fact::Unknown { not_available_here: why })) => format!("not known: {why}"),
        (None, _) => "not known; use --server-pid to count it".to_owned(),
    }
}
