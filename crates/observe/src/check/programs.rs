//! The programs that studies start or compare with, and their versions.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Item, Measured, ok};
use crate::Fact;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub item: &'static str,
    /// What it says of its version, one line; why it cannot say it.
    pub version: Fact<String>,
}

struct Known {
    item: &'static str,
    name: &'static str,
    /// Makes it print its version and end.
    argument: &'static str,
    package: &'static str,
    /// What is lost without it.
    loss: &'static str,
}

const KNOWN: [Known; 3] = [
    Known {
        item: "nginx",
        name: "nginx",
        argument: "-v",
        package: "nginx-core",
        loss: "studies leave out its cells",
    },
    Known {
        item: "haproxy",
        name: "haproxy",
        argument: "-v",
        package: "haproxy",
        loss: "studies leave out its cells",
    },
    Known {
        item: "openssl-program",
        name: "openssl",
        argument: "version",
        package: "openssl",
        loss: "`toll load --client s_time` needs it",
    },
];

/// How long a program may take to print its version.
const LIMIT: Duration = Duration::from_secs(5);

/// Looks for the programs in the folders of PATH and in those of the system's servers, and asks each
/// for its version.
pub(super) fn find() -> Vec<Program> {
    let program = |known: &Known| Program { item: known.item, version: known.version() };
    KNOWN.iter().map(program).collect()
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|known| known.item)
}

pub(super) fn items(measured: &Measured) -> Vec<Item> {
    let item =
        |program: &Program| Item::of(program.item, program.version.clone().or_why().and_then(ok));
    measured.programs.iter().map(item).collect()
}

impl Known {
    fn version(&self) -> Fact<String> {
        match self.path() {
            Some(path) => answer(Command::new(path).arg(self.argument))
                .map_err(|error| format!("{} {}: {error}", self.name, self.argument))
                .into(),
            None => Fact::unknown(format_args!(
                "{} is not installed: {}; apt-get install {}",
                self.name, self.loss, self.package
            )),
        }
    }

    fn path(&self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path);
        let system = ["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from);
        folders.chain(system).map(|folder| folder.join(self.name)).find(|path| path.is_file())
    }
}

/// The first line that a command prints, wherever it prints it.
fn answer(command: &mut Command) -> Result<String, String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let deadline = Instant::now() + LIMIT;
    loop {
        match child.try_wait() {
            Ok(Some(_)) => break,
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
            Ok(None) => {
                // It may have ended by itself just now.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("no answer within {} s", LIMIT.as_secs()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    // A line or two, which the pipes hold.
    let mut said = String::new();
    let mut read = |pipe: &mut dyn Read| pipe.take(4096).read_to_string(&mut said).map(|_| ());
    child.stdout.as_mut().map_or(Ok(()), |pipe| read(pipe)).map_err(|error| error.to_string())?;
    child.stderr.as_mut().map_or(Ok(()), |pipe| read(pipe)).map_err(|error| error.to_string())?;
    let line = said.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.map(|line| line.trim_start_matches("nginx version: ").to_owned());
    line.ok_or_else(|| "it prints nothing".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<String, String> {
        answer(Command::new("sh").args(["-c", script]))
    }

    #[test]
    fn the_first_line_counts_wherever_it_is_printed() {
        assert_eq!(shell("echo 'nginx version: nginx/1.22.1' >&2"), Ok("nginx/1.22.1".to_owned()));
        assert_eq!(shell("echo; echo OpenSSL 3.0; echo more"), Ok("OpenSSL 3.0".to_owned()));
        assert!(shell(":").is_err());
    }

    #[test]
    fn a_missing_program_is_reported_with_its_package() {
        let known = Known { name: "no-such-program", ..KNOWN[0] };
        let Fact::Unknown { not_available_here: why } = known.version() else { panic!("found") };
        assert!(why.contains("no-such-program") && why.contains("nginx-core"), "{why}");
    }
}
