//! Trials that sample the servers' CPU time: after all others, once for each cell.

use super::*;
use study::Profiling;

fn sampled() -> Study {
    Study { profile: Some(Profiling::default()), ..study() }
}

/// The cells that were sampled, in order.
fn profiles(desk: &Desk) -> Vec<String> {
    let trials = desk.results.entries().unwrap().trials.into_iter().map(|trial| trial.place);
    trials.filter(|place| place.role == Role::Profile).map(|place| place.cell).collect()
}

/// What was said of profiles that there are not.
fn reasons(desk: &Desk) -> Vec<&str> {
    desk.events.iter().map(String::as_str).filter(|said| said.starts_with("No profile")).collect()
}

#[test]
fn each_cell_is_sampled_once_after_all_trials() {
    let (mut desk, mut stage) = (Desk::new(), Stage::default());
    assert_eq!(desk.run_of(&sampled(), &mut stage).unwrap(), Ended::Complete);
    let last = &stage.log[stage.log.len() - 4..];
    let mut cells: Vec<&str> = last.iter().map(String::as_str).collect();
    cells.sort_unstable();
    let expected = [1, 2, 3, 4].map(|cell| format!("sample bulk-000{cell} for 2s"));
    assert_eq!(cells, expected);
    assert_eq!((desk.places().len(), profiles(&desk).len()), (16, 4));
    assert_eq!(stage.seeds.len(), 16);
    let mut again = Stage::default();
    assert_eq!(desk.run_of(&sampled(), &mut again).unwrap(), Ended::Complete);
    assert!(again.log.is_empty(), "{:?}", again.log);
}

#[test]
fn a_run_that_was_interrupted_samples_what_it_lacks() {
    let mut whole = Desk::new();
    whole.run_of(&sampled(), &mut Stage::default()).unwrap();
    for trial in 12..16 {
        let mut desk = Desk::new();
        let mut stage = Stage { interrupted_in: Some(trial), ..Stage::default() };
        assert_eq!(desk.run_of(&sampled(), &mut stage).unwrap(), Ended::Interrupted);
        assert_eq!(desk.places(), whole.places()[..trial]);
        let mut rest = Stage::default();
        assert_eq!(desk.run_of(&sampled(), &mut rest).unwrap(), Ended::Complete);
        assert_eq!((rest.trials, desk.places()), (16 - trial, whole.places()));
        let counted =
            if trial == 15 { "1 trial".to_owned() } else { format!("{} trials", 16 - trial) };
        let ahead = format!("In the journal: {trial} trials; to come: {counted} of CPU samples");
        assert!(desk.events.iter().any(|said| said.starts_with(&ahead)), "{:?}", desk.events);
        // A server of which all is known stays where it is.
        let starts = rest.log.iter().filter(|what| what.starts_with("start")).count();
        assert_eq!(starts, servers_from(&whole, trial));
    }
}

/// How many servers have cells that are sampled from this trial on.
fn servers_from(whole: &Desk, trial: usize) -> usize {
    let servers = [["bulk-0001", "bulk-0002"], ["bulk-0003", "bulk-0004"]];
    let left = &profiles(whole)[trial - 12..];
    servers.iter().filter(|cells| left.iter().any(|cell| cells.contains(&cell.as_str()))).count()
}

#[test]
fn a_run_without_profiles_is_sampled_later() {
    let mut desk = Desk::new();
    desk.run(&mut Stage::default()).unwrap();
    let mut stage = Stage::default();
    assert_eq!(desk.run_of(&sampled(), &mut stage).unwrap(), Ended::Complete);
    assert_eq!((stage.trials, profiles(&desk).len()), (4, 4));
}

#[test]
fn why_nothing_can_be_sampled_is_said_once() {
    const WHY: &str = "perf is not installed";
    let everywhere = ["bulk-0001", "bulk-0002", "bulk-0003", "bulk-0004"].map(|cell| (cell, WHY));
    let mut desk = Desk::new();
    let mut stage = Stage { not_sampled: everywhere.to_vec(), ..Stage::default() };
    assert_eq!(desk.run_of(&sampled(), &mut stage).unwrap(), Ended::Complete);
    let said = reasons(&desk);
    assert!(matches!(said[..], [why] if why.contains(WHY)), "{said:?}");
    assert_eq!(desk.places().len(), 12);
    // It is installed now.
    assert_eq!(desk.run_of(&sampled(), &mut Stage::default()).unwrap(), Ended::Complete);
    assert_eq!(profiles(&desk).len(), 4);
}

#[test]
fn what_keeps_one_server_from_being_sampled_keeps_no_other() {
    let mut desk = Desk::new();
    let not_sampled = vec![("bulk-0002", "its process is not known")];
    let mut stage = Stage { not_sampled, ..Stage::default() };
    assert_eq!(desk.run_of(&sampled(), &mut stage).unwrap(), Ended::Complete);
    assert_eq!(reasons(&desk).len(), 1);
    let cells = profiles(&desk);
    assert!(cells.len() == 3 && !cells.contains(&"bulk-0002".to_owned()), "{cells:?}");
}

#[test]
fn a_profile_that_is_not_valid_stays_and_is_taken_again_on_request() {
    let mut desk = Desk::new();
    let mut stage = Stage { invalid_in: Some(13), ..Stage::default() };
    assert_eq!(desk.run_of(&sampled(), &mut stage).unwrap(), Ended::Complete);
    assert_eq!(stage.trials, 16);
    let mut again = Stage::default();
    assert_eq!(desk.run_of(&sampled(), &mut again).unwrap(), Ended::Complete);
    let cells = profiles(&desk);
    assert_eq!((again.trials, cells.len(), &cells[1]), (1, 5, &cells[4]));
}
