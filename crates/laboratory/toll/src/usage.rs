//! Errors in the command line, in one line.

use std::error::Error;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::{Exit, Failure};

/// Flags that users know from curl, wrk, h2load or ab, with what toll has for them.
const OF_OTHER_CLIENTS: [(&[&str], &str); 7] = [
    (&["-A", "--user-agent"], "toll load has --header 'User-Agent: NAME'"),
    (
        &["-x", "--proxy", "--socks5"],
        "a load goes to the server itself; to measure a proxy, load its own address",
    ),
    (&["-k"], "toll load has --insecure"),
    (&["-t", "--threads"], "toll load has a thread on each of --cpus LIST"),
    (&["-R", "--rate", "--rps"], "toll load has --arrival 'uniform RATE/s'"),
    (&["-m", "--max-concurrent-streams"], "toll load has --streams N, with --http 2"),
    (&["-D"], "toll load has --duration TIME"),
];

/// Prints what clap has to say: help and version in full, an error in one line.
pub(crate) fn report(error: &clap::Error) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // A reader that has gone away needs no help.
            let _ = error.print();
            if error.use_stderr() { Exit::Refused } else { Exit::Done }
        }
        _ => Failure::request(in_one_line(error)).report(),
    }
}

/// What is wrong, where, and what to do.
fn in_one_line(error: &clap::Error) -> String {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (argument, value) = (context(ContextKind::InvalidArg), context(ContextKind::InvalidValue));
    if let (ErrorKind::UnknownArgument, Some(argument)) = (error.kind(), argument)
        && let Some((_, meant)) =
            OF_OTHER_CLIENTS.iter().find(|(names, _)| names.contains(&argument))
    {
        return format!("{argument} is no flag of toll; {meant}; see --help");
    }
    match (error.kind(), argument, value, error.source()) {
        (ErrorKind::ValueValidation, Some(argument), Some(value), Some(source)) => {
            let argument = argument.split(' ').next().unwrap_or_default().trim_matches(['<', '>']);
            let source = source.to_string();
            // Our own parsers quote what was written, and say how to write it; others do neither.
            let shown = value.escape_debug().to_string();
            if [value, &shown].iter().any(|value| source.contains(&format!("`{value}`"))) {
                format!("{argument}: {source}")
            } else {
                format!("{argument}: `{shown}`: {source}; see --help")
            }
        }
        _ => shortened(&error.to_string()),
    }
}

/// Clap's own words up to its usage, joined.
fn shortened(text: &str) -> String {
    let said: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .filter(|line| !line.is_empty())
        .collect();
    let said = said.join(" ").replace(" tip: ", "; ");
    format!("{}; see --help", said.strip_prefix("error: ").unwrap_or(&said))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn message(arguments: &[&str]) -> String {
        let all = ["toll"].iter().chain(arguments);
        in_one_line(&crate::Arguments::try_parse_from(all).err().unwrap())
    }

    #[test]
    fn clap_says_in_one_line_what_is_wrong_with_which_flag() {
        let wrong = [
            &["load"][..],
            &["lod"],
            &["load", "localhost"],
            &["load", "https://localhost/", "--duration", "1m"],
            &["load", "https://localhost/", "--conections", "3"],
            &["load", "https://localhost/", "--connections"],
            &["load", "https://localhost/", "--connections", "many"],
            &["load", "https://localhost/", "-A", "curl"],
            &["load", "https://localhost/", "--proxy", "http://localhost:3128"],
            &["load", "https://localhost/", "-k"],
            &["load", "https://localhost/", "-t", "4"],
            &["load", "https://localhost/", "--rate", "100"],
            &["load", "https://localhost/", "-m", "32"],
            &["load", "https://localhost/", "-D", "10"],
        ];
        support::assert_golden!(wrong.map(|arguments| {
            let message = message(arguments);
            assert!(!message.contains('\n') && !message.contains("Usage"), "{message}");
            (arguments.join(" "), message)
        }));
    }
}
