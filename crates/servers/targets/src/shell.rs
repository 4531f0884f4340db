//! The command that runs programs of toll on other machines, and why it fails.

use std::fmt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::{Host, Silence};

/// What runs commands on hosts, in words: `ssh`, or a program of the user's own with its arguments. It
/// is called with the host and the command, as Open MPI calls it too.
#[derive(Debug, Clone, PartialEq, Eq, DeserializeFromStr, SerializeDisplay)]
pub struct Shell(Vec<String>);

/// Without it, ssh would ask for a password on the terminal.
const BATCH: [&str; 2] = ["-o", "BatchMode=yes"];

/// What it runs on the host.
const AGENT: [&str; 2] = ["toll", "agent"];

impl Shell {
    /// Its words, which a host and a command follow.
    pub fn before_host(&self) -> Vec<String> {
        let is_ssh = Path::new(&self.0[0]).file_name().is_some_and(|name| name == "ssh");
        let batch = BATCH.into_iter().filter(|_| is_ssh).map(str::to_owned);
        self.0.iter().cloned().chain(batch).collect()
    }

    /// The words of the command that starts the agent there, which ends after this silence.
    pub fn words(&self, host: &Host, silence: Silence) -> Vec<String> {
        let silence = silence.to_string();
        self.words_for(host.as_str(), AGENT.into_iter().chain(["--silence", &silence]))
    }

    /// The words that run a command there.
    pub fn words_for<'a>(
        &self,
        host: &'a str,
        command: impl IntoIterator<Item = &'a str>,
    ) -> Vec<String> {
        let rest = [host].into_iter().chain(command).map(str::to_owned);
        self.before_host().into_iter().chain(rest).collect()
    }

    /// Runs a command of these words with its output in pipes, in a group of its own: Ctrl-C is toll's to
    /// hear.
    ///
    /// # Errors
    /// The shell cannot be started.
    pub fn spawn(words: &[String], stdin: Stdio) -> Result<Child, String> {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let spawned = command.process_group(0).spawn();
        spawned.map_err(|error| format!("cannot run {}: {error}", words[0]))
    }
}

/// A command that ended before the program of toll that it was to run on a host spoke.
#[derive(Debug, Clone, Copy)]
pub struct RemoteStartError<'a> {
    pub host: &'a str,
    /// What was to speak: `agent`.
    pub speaker: &'a str,
    /// Its program, `toll`, and where on the host it is looked for.
    pub program: &'a str,
    pub place: &'a str,
    /// Such as `exit status: 255`.
    pub status: &'a str,
    /// Its last line of complaint.
    pub said: Option<&'a str>,
    /// All words of it.
    pub command: &'a str,
}

impl fmt::Display for RemoteStartError<'_> {
    /// Why, and what to do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const VERSION: &str = env!("CARGO_PKG_VERSION");
        let Self { host, speaker, program, place, status, said, command } = *self;
        let is_said = |words: &str| said.is_some_and(|said| said.contains(words));
        let why = one_line(said.unwrap_or(status));
        match status {
            "exit status: 127" => {
                write!(f, "{host} has no {program} ({why}); install toll {VERSION} there, {place}")
            }
            // A shell ends so where it may not, or cannot, run the program.
            "exit status: 126" => write!(
                f,
                "{host} cannot run its {program} ({why}); install toll {VERSION} there, for its processor \
                 and executable, {place}"
            ),
            _ if is_said("Host key verification failed") => write!(
                f,
                "ssh does not know the key of {host}; connect once by hand to check it: ssh {host}"
            ),
            _ if is_said("Permission denied") => write!(
                f,
                "{host} does not let toll in without a password; set up a key (ssh-copy-id {host}), \
                 and try `{command}`"
            ),
            _ => write!(f, "no {speaker} on {host}: {why}; try `{command}`"),
        }
    }
}

/// What a program has complained of, for an error of one line.
pub fn one_line(said: &str) -> String {
    const MOST: usize = 200;
    said.chars().filter(|c| !c.is_control()).take(MOST).collect()
}

impl Default for Shell {
    fn default() -> Self {
        Self(vec!["ssh".to_owned()])
    }
}

impl FromStr for Shell {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        match words.is_empty() {
            false => Ok(Self(words)),
            true => Err("the shell of hosts is empty; write ssh".to_owned()),
        }
    }
}

impl fmt::Display for Shell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssh_is_told_to_ask_for_no_password() {
        let words = |shell: &str| {
            let shell: Shell = shell.parse().unwrap();
            shell.words(&"me@server".parse().unwrap(), Silence::default()).join(" ")
        };
        assert_eq!(words("ssh"), "ssh -o BatchMode=yes me@server toll agent --silence 10s");
        let own = "/usr/bin/ssh -F config -o BatchMode=yes me@server toll agent --silence 10s";
        assert_eq!(words(" /usr/bin/ssh  -F config "), own);
        assert_eq!(words("./enter"), "./enter me@server toll agent --silence 10s");
        assert!(" ".parse::<Shell>().is_err());
    }

    #[test]
    fn each_way_of_a_shell_to_fail_says_what_to_do() {
        let version = env!("CARGO_PKG_VERSION");
        for (status, said, to_do) in [
            (
                "exit status: 127",
                Some("sh: toll: not found"),
                format!("install toll {version} there"),
            ),
            (
                "exit status: 126",
                Some("sh: toll: Permission denied"),
                "for its processor".to_owned(),
            ),
            ("exit status: 255", Some("Host key verification failed."), "by hand".to_owned()),
            (
                "exit status: 255",
                Some("Permission denied (publickey)."),
                "ssh-copy-id lg2".to_owned(),
            ),
            ("exit status: 255", Some("No route to host"), "try `ssh lg2`".to_owned()),
            ("exit status: 3", None, "exit status: 3; try `ssh lg2`".to_owned()),
        ] {
            let (speaker, program, place) = ("agent", "toll", "in PATH");
            let command = "ssh lg2";
            let failed =
                RemoteStartError { host: "lg2", speaker, program, place, status, said, command }
                    .to_string();
            assert!(failed.contains(&to_do) && failed.contains("lg2"), "{failed}");
        }
    }
}
