//! Trials without their study, as `toll load --json` prints them.

use std::collections::BTreeSet;

use journal::{Entries, LOAD, Role, TrialLine};
use load::Plan;
use study::{Cell, Only, Study};
use targets::{Server, Target};

use super::Analysis;

impl Analysis {
    /// What these trials say. What is not known of their cells is that of no study: what was asked for is in their
    /// receipts.
    pub fn of_printed(trials: Vec<TrialLine>) -> Self {
        let trials: Vec<_> =
            trials.into_iter().filter(|of| of.place.role == Role::Measure).collect();
        let mut cells: Vec<Cell> = Vec::new();
        for trial in &trials {
            if !cells.iter().any(|cell| cell.name == trial.place.cell) {
                cells.push(cell(trial));
            }
        }
        let rounds: BTreeSet<u32> = trials.iter().map(|trial| trial.place.round).collect();
        let study =
            Study { name: LOAD.to_owned(), trials: rounds.len() as u32, cells, ..Study::default() };
        Self::of(&study, &Entries { trials, ..Entries::default() }, &[], None)
    }
}

/// As much of a trial's cell as its receipt has.
fn cell(trial: &TrialLine) -> Cell {
    let asked = &trial.line.receipt.asked;
    let usual = Plan::default();
    Cell {
        case: trial.place.case.clone(),
        name: trial.place.cell.clone(),
        params: trial.place.params.clone(),
        target: Target { server: Server::address(), ..Target::default() },
        only: Only::default(),
        load: Plan {
            operation: asked.operation.unwrap_or(usual.operation),
            arrival: asked.arrival.unwrap_or(usual.arrival),
            count: asked.count.or(usual.count),
            ..usual
        },
        find: None,
        pool: None,
    }
}
