//! Servers whose machine is lost, and ranks that do not come back.

use super::*;

fn errors(desk: &Desk) -> Vec<bool> {
    let lines = desk.results.entries().unwrap().trials;
    lines.iter().map(|trial| trial.line.target_error.is_some()).collect()
}

#[test]
fn a_lost_machine_is_asked_again_by_the_next_trial() {
    let mut desk = Desk::new();
    let mut stage = Stage { loses: vec![1, 9], ..Stage::default() };
    assert_eq!(desk.run(&mut stage).unwrap(), Ended::Complete);
    let expected: Vec<bool> = (0..12).map(|trial| [1, 9].contains(&trial)).collect();
    assert_eq!(errors(&desk), expected);
    // Those that are not valid are measured when the run is continued.
    assert_eq!(desk.run(&mut Stage::default()).unwrap(), Ended::Complete);
    assert_eq!(errors(&desk).len(), 14);
}

#[test]
fn a_trial_that_cannot_begin_for_it_is_tried_once_more() {
    let mut desk = Desk::new();
    let mut stage = Stage { loses_before: vec![0, 9], ..Stage::default() };
    assert_eq!(desk.run(&mut stage).unwrap(), Ended::Complete);
    assert_eq!(errors(&desk), [false; 12]);
    let note = "Note: the agent on server ended; it is started again.";
    assert_eq!(desk.events.iter().filter(|event| *event == note).count(), 2);
}

/// How a run of one cell ends, with three trials.
fn ended(loses: &[usize], loses_before: &[usize]) -> Result<Ended, String> {
    let study = Study { cells: study().cells[..1].to_vec(), ..study() };
    let (loses, loses_before) = (loses.to_vec(), loses_before.to_vec());
    let mut stage = Stage { loses, loses_before, ..Stage::default() };
    Desk::new().run_of(&study, &mut stage).map_err(|error| error.to_string())
}

#[test]
fn a_cell_that_loses_it_twice_running_ends_the_run() {
    assert_eq!(ended(&[0, 2], &[]), Ok(Ended::Complete));
    let why = "the agent on server ended".to_owned();
    assert_eq!(ended(&[1, 2], &[]), Err(why.clone()));
    for (loses, loses_before) in [(&[][..], &[0, 1][..]), (&[0], &[1])] {
        assert_eq!(ended(loses, loses_before), Err(format!("bulk-0001: {why}")));
    }
    assert_eq!(ended(&[1], &[0]), Err(why));
}

#[test]
fn a_cell_without_its_ranks_twice_running_ends_the_run() {
    let ended = |rank_lost_in: &[usize], without_ranks_in: &[usize]| {
        let study = Study { cells: study().cells[..1].to_vec(), ..study() };
        let (rank_lost_in, without_ranks_in) = (rank_lost_in.to_vec(), without_ranks_in.to_vec());
        let mut stage = Stage { rank_lost_in, without_ranks_in, ..Stage::default() };
        let mut desk = Desk::new();
        let ended = desk.run_of(&study, &mut stage).map_err(|error| error.to_string());
        (ended, desk.places().len())
    };
    assert_eq!(ended(&[], &[0, 2]), (Ok(Ended::Complete), 3));
    let words = "bulk-0001 lost a rank in two consecutive trials: rank 2 on lg1 did not start";
    assert_eq!(ended(&[], &[0, 1]), (Err(words.to_owned()), 0));
    assert_eq!(ended(&[0], &[1]), (Err(words.to_owned()), 1));
}
