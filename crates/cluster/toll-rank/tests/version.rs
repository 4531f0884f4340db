//! A rank of another toll does not load: what the two say to each other may differ.

use std::process::{Command, Output};

fn rank(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_toll-rank")).args(arguments).output().unwrap()
}

#[test]
fn a_rank_of_another_version_refuses_and_names_both() {
    for (arguments, other) in [(&[][..], "no toll"), (&["--of", "0.0.0"], "toll 0.0.0")] {
        let output = rank(arguments);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(other) && stderr.contains(env!("CARGO_PKG_VERSION")), "{stderr}");
    }
    let greeting = rank(&["--of", env!("CARGO_PKG_VERSION"), "--greet"]);
    assert!(greeting.status.success());
    assert!(greeting.stdout.starts_with(b"toll-rank "));
}
