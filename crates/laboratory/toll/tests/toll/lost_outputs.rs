//! Nobody reads what toll prints, or there is no room for it: the exit code says how it ended all the same.

use std::fs::File;
use std::io::pipe;
use std::process::{Command, Stdio};

use support::toll_path;

/// A pipe that nobody reads.
fn unread() -> Stdio {
    let (_, writer) = pipe().unwrap();
    writer.into()
}

fn full() -> Stdio {
    File::options().write(true).open("/dev/full").unwrap().into()
}

/// The exit code of a command whose outputs are lost in every way: stdout and stderr unread or full.
fn codes(arguments: &[&str]) -> Vec<Option<i32>> {
    let ways: [fn() -> Stdio; 2] = [unread, full];
    let outputs = ways.into_iter().flat_map(|out| ways.map(|error| (out, error)));
    let statuses = outputs.map(|(out, error)| {
        let mut command = Command::new(toll_path());
        command.args(arguments).stdin(Stdio::null()).stdout(out()).stderr(error()).status()
    });
    statuses.map(|status| status.unwrap().code()).collect()
}

#[test]
fn a_refusal_that_nobody_reads_is_one_still() {
    // Nothing listens at the port of "discard" on this address.
    for refused in [
        &["load", "https://127.0.0.9:9/"][..],
        &["load", "--no-such-flag"],
        &["run", "no-such-study"],
        &["report", "/nowhere"],
        &["compare", "/nowhere", "/nowhere"],
        &["plan", "--access-log", "/nowhere"],
        &["serve", "--certificate", "/nowhere", "--key", "/nowhere"],
        &[],
    ] {
        assert_eq!(codes(refused), [Some(2); 4], "{refused:?}");
    }
}

#[test]
fn what_cannot_be_written_is_a_failure_and_what_is_not_read_is_none() {
    for command in [&["check"][..], &["completions", "bash"], &["run", "quick", "--dry-run"]] {
        assert_eq!(codes(command), [Some(0), Some(0), Some(3), Some(3)], "{command:?}");
    }
}
