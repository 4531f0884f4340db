//! The answers of a run.

use std::sync::Arc;

use observe::Machine;

use crate::costs::AlgorithmRow;
use journal::TargetRecord;

use crate::wording::unique;

use super::answer::Answer;
use super::library::{newer, releases};
use super::point::Point;
use super::purity::purity;
use super::row::Row;
use super::written;

/// The answers of all rules, by what each compares. The first of a rule has its author's headline; where there is none,
/// the figures stand alone.
pub(super) fn answers(
    points: Vec<Vec<Point>>,
    rows: &[Arc<Row>],
    costs: &[AlgorithmRow],
    targets: &[TargetRecord],
    machine: Option<&Machine>,
) -> Vec<Answer> {
    let mut answers: Vec<Answer> = Vec::new();
    for points in points {
        let headline = written::headline(&points, rows);
        let purity = purity(points.iter().flat_map(|of| &of.figures));
        let libraries: Vec<String> = points
            .iter()
            .filter_map(|of| newer(of, targets, machine.filter(|_| is_here(of))?))
            .chain(points.iter().filter_map(|of| releases(of, targets, machine)))
            .collect();
        let mut of_rule = Answer::all(points, costs, rows);
        if let Some(first) = of_rule.first_mut() {
            // What was said of one answer is not said again of the next.
            let is_new = |note: &String| !answers.iter().any(|of| of.notes.contains(note));
            first.notes.extend(unique(libraries).into_iter().filter(is_new));
            first.purity = purity;
            first.headline = headline;
        }
        answers.extend(of_rule);
    }
    answers
}

/// Whether all servers ran on the machine that toll ran on, which is the one that is known here.
fn is_here(point: &Point) -> bool {
    point.shared(|cell| cell.target.host.is_none()) == Some(true)
}
