//! Rounds until intervals are narrow, and disturbed trials that are measured again.

use super::*;
use crate::cells::description;
use study::Until;

/// Seven rounds of four cells, and more where there is time for this many.
fn study_for(rounds: u32) -> Study {
    let mut study = Study { trials: 7, ..study() };
    let time = crate::cells::length::time(&study.forecast_of(rounds));
    let at_most = Nanos(time.as_nanos() as u64);
    study.until = Some(Until { interval: "5%".parse().unwrap(), at_most });
    study
}

/// The rounds of the last trials of each cell, from 1, after a run of this study.
fn rounds(study: &Study, stage: &mut Stage) -> Vec<u32> {
    let mut desk = Desk::new();
    assert_eq!(desk.run_of(study, stage).unwrap(), Ended::Complete);
    let places = desk.places();
    let last = |cell: &Cell| {
        let of_cell = places.iter().filter(|(name, _, _)| *name == cell.name);
        of_cell.map(|(_, round, _)| round + 1).max().unwrap()
    };
    study.cells.iter().map(last).collect()
}

fn wobbly() -> Stage {
    Stage { wobbles: true, ..Stage::default() }
}

#[test]
fn narrow_intervals_need_no_more_than_the_fewest_rounds() {
    assert_eq!(rounds(&study_for(100), &mut Stage::default()), [7; 4]);
}

#[test]
fn wide_intervals_have_rounds_until_the_time_is_up() {
    assert_eq!(rounds(&study_for(12), &mut wobbly()), [12; 4]);
    assert_eq!(rounds(&study_for(7), &mut wobbly()), [7; 4]);
    assert_eq!(rounds(&study_for(1), &mut wobbly()), [7; 4]);
    let fixed = Study { until: None, ..study_for(12) };
    assert_eq!(rounds(&fixed, &mut wobbly()), [7; 4]);
}

#[test]
fn rounds_end_at_the_first_look_that_finds_narrow_intervals() {
    // The interval of seven trials is their range; that of eleven leaves one out at each end.
    let mut stage = Stage { settles_in: Some(1), ..wobbly() };
    assert_eq!(rounds(&study_for(100), &mut stage), [11; 4]);
    let mut stage = Stage { settles_in: Some(20), ..wobbly() };
    assert_eq!(rounds(&study_for(100), &mut stage), [19; 4]);
}

#[test]
fn a_run_that_is_continued_has_the_rounds_of_the_whole() {
    let study = study_for(12);
    let mut whole = Desk::new();
    whole.run_of(&study, &mut wobbly()).unwrap();
    for trial in [3, 27, 28, 29, 44, 47] {
        let mut desk = Desk::new();
        desk.run_of(&study, &mut Stage { interrupted_in: Some(trial), ..wobbly() }).unwrap();
        assert_eq!(desk.run_of(&study, &mut wobbly()).unwrap(), Ended::Complete);
        assert_eq!(desk.places(), whole.places());
    }
    let mut stage = wobbly();
    whole.run_of(&study, &mut stage).unwrap();
    assert_eq!(stage.trials, 0, "it was complete");
}

/// The cell, the round and whether it is a repetition, of each trial from a place on.
fn repetitions(desk: &Desk) -> Vec<(u32, u32)> {
    let trials = desk.results.entries().unwrap().trials.into_iter();
    let again = trials.map(|trial| trial.place).filter(|place| place.again);
    again.map(|place| (place.round, place.order)).collect()
}

#[test]
fn a_disturbed_trial_is_measured_again_once_after_its_round() {
    let mut desk = Desk::new();
    // Of the second round, and its repetition too.
    let mut stage = Stage { disturbed_in: vec![5, 8], ..Stage::default() };
    desk.run_of(&study_for(8), &mut stage).unwrap();
    assert_eq!(repetitions(&desk), [(1, 8)]);
    assert_eq!(desk.places().len(), 29);
    let (first, again) = (&desk.places()[5], &desk.places()[8]);
    assert_eq!((&first.0, first.1), (&again.0, again.1));
    assert_eq!(stage.seeds.len(), 29, "it has a seed of its own");
    let mut stage = Stage::default();
    desk.run_of(&study_for(8), &mut stage).unwrap();
    assert_eq!(stage.trials, 0);
}

#[test]
fn a_run_that_was_interrupted_in_a_repetition_makes_it() {
    let mut desk = Desk::new();
    let mut stage = Stage { disturbed_in: vec![5], interrupted_in: Some(8), ..Stage::default() };
    desk.run_of(&study_for(8), &mut stage).unwrap();
    desk.run_of(&study_for(8), &mut Stage::default()).unwrap();
    assert_eq!(repetitions(&desk), [(1, 8)]);
}

#[test]
fn repetitions_take_the_time_of_further_rounds_and_no_more() {
    let disturbed = |study: &Study| {
        let mut desk = Desk::new();
        let mut stage =
            Stage { disturbed_in: (0..100).collect(), wobbles: true, ..Stage::default() };
        desk.run_of(study, &mut stage).unwrap();
        (repetitions(&desk).len(), desk.places().iter().map(|place| place.1 + 1).max().unwrap())
    };
    let fixed = Study { until: None, ..study_for(8) };
    assert_eq!(disturbed(&fixed), (0, 7));
    assert_eq!(disturbed(&study_for(7)), (0, 7));
    // A round takes two restarts too.
    assert_eq!(disturbed(&study_for(8)), (4, 7));
}

#[test]
fn the_forecast_has_the_fewest_and_the_most_rounds() {
    let text = description::forecast_of(&study_for(12));
    for figure in ["28 trials", "12 rounds", "5%"] {
        assert!(text.contains(figure), "{text}");
    }
    assert!(!description::forecast_of(&study()).contains("rounds"));
}
