//! A rank of another toll does not load: what the two say to each other may differ.

use std::process::{Command, Output};

const ANOTHER_BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "+0123456789ab");

fn rank(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_toll-rank")).args(arguments).output().unwrap()
}

#[test]
fn a_rank_of_another_build_refuses_and_names_both() {
    for (arguments, other) in [
        (&[][..], "no toll"),
        // The same version, of another commit.
        (&["--of", ANOTHER_BUILD], ANOTHER_BUILD),
    ] {
        let output = rank(arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(other) && stderr.contains(env!("TOLL_BUILD")), "{stderr}");
    }
    let greeting = rank(&["--of", env!("TOLL_BUILD"), "--greet"]);
    assert!(greeting.status.success());
    assert!(greeting.stdout.starts_with(b"toll-rank "));
    let version = rank(&["--version"]);
    assert_eq!(version.stdout, concat!("toll-rank ", env!("TOLL_BUILD"), "\n").as_bytes());
}
