//! The lines of a journal that are believed.

use std::collections::BTreeSet;

use crate::entry::{Entry, Place, Role, TrialLine};
use crate::left_out::LeftOutLines;
use crate::primitive::{BoundLine, RowLine};
use crate::sought::ImpossibleStep;

/// All lines of a journal, by what they are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entries {
    pub trials: Vec<TrialLine>,
    /// Steps of searches that could not be made.
    pub impossible: Vec<ImpossibleStep>,
    /// Rows of the tables of primitives.
    pub primitives: Vec<RowLine>,
    pub bounds: Vec<BoundLine>,
    /// Lines that are in none of these.
    pub left_out: LeftOutLines,
}

impl Entries {
    pub(crate) fn add(&mut self, entry: Entry) {
        match entry {
            Entry::Row(line) => self.primitives.push(line),
            Entry::Bound(line) => self.bounds.push(line),
            Entry::Impossible(line) => self.impossible.push(line),
            Entry::Trial(line) => self.trials.push(*line),
        }
    }

    /// Leaves out the lines of cells other than these, the trials that cannot have been measured on a
    /// machine with `cpus` CPUs, where their number is known, and those that are there twice.
    pub fn of_cells<'a>(
        mut self,
        cells: impl IntoIterator<Item = &'a str>,
        cpus: Option<usize>,
    ) -> Self {
        let cells: BTreeSet<&str> = cells.into_iter().collect();
        let mut orders = BTreeSet::new();
        let mut valid = BTreeSet::new();
        for entry in std::mem::take(&mut self.trials) {
            let TrialLine { place, line } = &entry;
            let which = format!("trial {} of {}", place.order, place.cell);
            if let Some(excess) = cpus.and_then(|cpus| line.excess_cpu_time(cpus)) {
                self.left_out.add_damaged(format!("{which} ({excess})"));
            } else if !cells.contains(place.cell.as_str()) {
                self.left_out.add("of a cell that the study does not have", which);
            } else if orders.contains(&place.order) || valid.contains(&trial(place)) {
                self.left_out.add("a second one of the same trial", which);
            } else {
                orders.insert(place.order);
                if line.valid {
                    valid.insert(trial(place));
                }
                self.trials.push(entry);
            }
        }
        for step in std::mem::take(&mut self.impossible) {
            if cells.contains(step.cell.as_str()) {
                self.impossible.push(step);
            } else {
                let which = format!("the load {} of {}", step.load, step.cell);
                self.left_out.add("of a cell that the study does not have", which);
            }
        }
        self
    }
}

/// What makes a trial that one: measured again only where it was not valid or disturbed, or at another
/// load.
fn trial(place: &Place) -> (String, Role, bool, u32, Option<String>) {
    let Place { cell, role, again, round, find, .. } = place;
    (cell.clone(), *role, *again, *round, find.as_ref().map(|find| find.load.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::example;
    use trial::CpuTimes;

    /// What is left of trials 0 to 4 after a change to each, with the sentences.
    fn left(change: impl Fn(u32, &mut TrialLine)) -> (Vec<u32>, Vec<String>) {
        let trials = (0..5).map(|order| {
            let mut line = example();
            (line.place.order, line.place.round) = (order, order);
            change(order, &mut line);
            line
        });
        let entries = Entries { trials: trials.collect(), ..Entries::default() };
        let entries = entries.of_cells(["bulk-0003"], Some(2));
        let orders = entries.trials.iter().map(|line| line.place.order);
        (orders.collect(), entries.left_out.sentences().collect())
    }

    #[test]
    fn a_disturbed_trial_and_its_repetition_both_stay() {
        let (orders, left_out) = left(|order, line| {
            line.place.round = order / 2;
            line.place.again = order % 2 == 1;
        });
        assert_eq!((orders, left_out.len()), (vec![0, 1, 2, 3, 4], 0));
        let (orders, _) = left(|order, line| (line.place.round, line.place.again) = (0, order > 0));
        assert_eq!(orders, [0, 1]);
    }

    #[test]
    fn what_can_have_been_measured_stays() {
        let all = (vec![0, 1, 2, 3, 4], vec![]);
        assert_eq!(left(|_, _| {}), all);
        // Two CPUs for 600 ms, and a tick of each.
        assert_eq!(left(|_, line| line.line.cpu_ns.server = Some(1_220_000_000)), all);
        // Not valid at first, and made again.
        assert_eq!(
            left(|order, line| {
                line.place.round = order / 2;
                line.line.valid = order % 2 == 1 || order == 4;
            }),
            all
        );
    }

    #[test]
    fn cpu_time_that_the_machine_does_not_have_is_damage() {
        for change in [
            |times: &mut CpuTimes| times.server = Some(1_220_000_001),
            |times: &mut CpuTimes| times.client = Some(1_000_000_000_000_000),
            |times: &mut CpuTimes| times.backend = Some(u64::MAX),
        ] {
            let (orders, sentences) = left(|order, line| {
                if order == 3 {
                    change(&mut line.line.cpu_ns);
                }
            });
            assert_eq!(orders, [0, 1, 2, 4]);
            let [sentence] = &sentences[..] else { panic!("{sentences:?}") };
            assert!(
                sentence
                    .starts_with("1 line is left out as damaged: trial 3 of bulk-0003 (more CPU"),
                "{sentence}"
            );
        }
    }

    #[test]
    fn a_cell_that_the_study_lacks_and_a_second_line_are_told_apart() {
        let (orders, sentences) = left(|order, line| match order {
            0 | 1 => line.place.cell = "bulk-0009".to_owned(),
            3 => line.place.order = 2,
            4 => line.place.round = 2,
            _ => {}
        });
        assert_eq!(orders, [2]);
        assert_eq!(
            sentences,
            [
                "2 lines are left out as a second one of the same trial, the first: trial 2 of \
                 bulk-0003",
                "2 lines are left out as of a cell that the study does not have, the first: trial 0 \
                 of bulk-0009",
            ]
        );
    }
}
