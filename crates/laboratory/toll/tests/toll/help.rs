//! What `toll --help` says of each command, as a golden file.

use support::{text, toll_output};

#[test]
fn help_of_all_commands() {
    let commands = [
        "",
        "run",
        "report",
        "compare",
        "check",
        "load",
        "serve",
        "watch",
        "bench",
        "completions",
        "man",
    ];
    support::assert_golden!(commands.map(|command| {
        let arguments: Vec<&str> =
            [command, "--help"].into_iter().filter(|word| !word.is_empty()).collect();
        let output = toll_output(&arguments);
        assert_eq!(output.status.code(), Some(0), "{command}");
        (format!("toll {}", arguments.join(" ")), text(&output.stdout))
    }));
}
