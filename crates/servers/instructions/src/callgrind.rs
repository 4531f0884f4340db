//! A process that runs in callgrind, and how it is told to write what it has counted.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use targets::output_within;

use crate::{CountError, Dump};

/// How long a process has to carry out a command: it is woken for that, and writes a megabyte at most.
const COMMAND_LIMIT: Duration = Duration::from_secs(30);
/// How long a question to a program may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// After how many milliseconds a process that waits in the kernel is woken; by default 100.
const WAKE: &str = "--max-invoke-ms=1";

/// `3.19.0`, of the valgrind that is installed.
///
/// # Errors
/// It is not, or does not say.
pub fn version() -> Result<String, CountError> {
    let output = output_within(Command::new("valgrind").arg("--version"), ANSWER_LIMIT);
    let output = output.map_err(|_| CountError::NoValgrind)?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().strip_prefix("valgrind-").map(str::to_owned).ok_or(CountError::NoValgrind)
}

/// A process in callgrind.
#[derive(Debug)]
pub(crate) struct Process {
    pid: u32,
    /// Its file, to which callgrind adds the number of a dump.
    out: PathBuf,
    /// The option that says where it listens to commands, if it was given.
    prefix: Option<String>,
}

impl Process {
    /// By the command line that started it, which callgrind keeps.
    pub(crate) fn find(pid: u32) -> Result<Self, CountError> {
        let in_callgrind = || CountError::NotInCallgrind { pid };
        let read = |name: &str| {
            let path = PathBuf::from(format!("/proc/{pid}/{name}"));
            fs::read_link(&path).map_err(|source| CountError::File { path, source })
        };
        let tool = read("exe")?;
        let tool = tool.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !tool.starts_with("callgrind-") {
            return Err(in_callgrind());
        }
        let path = PathBuf::from(format!("/proc/{pid}/cmdline"));
        let words = fs::read(&path).map_err(|source| CountError::File { path, source })?;
        let Options { out, prefix } = Options::of(&words);
        let out = out.unwrap_or_else(|| "callgrind.out.%p".to_owned());
        let out = read("cwd")?.join(out.replace("%p", &pid.to_string()));
        Ok(Self { pid, out, prefix })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Forgets what was counted.
    pub(crate) fn zero(&self) -> Result<(), CountError> {
        self.command("zero")
    }

    /// What was counted since it was told to forget, or since the last dump. Its file goes.
    pub(crate) fn dump(&self) -> Result<Dump, CountError> {
        let before = self.dumps()?;
        self.command("dump")?;
        let after = self.dumps()?;
        let mut new = after.difference(&before);
        let (Some(number), None) = (new.next(), new.next()) else {
            return Err(CountError::NoDump { out: self.out.clone() });
        };
        let mut path = self.out.clone().into_os_string();
        path.push(format!(".{number}"));
        let path = PathBuf::from(path);
        let file = |source| CountError::File { path: path.clone(), source };
        let text = fs::read_to_string(&path).map_err(file)?;
        fs::remove_file(&path).map_err(file)?;
        Dump::parse(&text).map_err(|what| CountError::Malformed { path, what })
    }

    /// The numbers of the dumps that there are.
    fn dumps(&self) -> Result<BTreeSet<u32>, CountError> {
        let folder = self.out.parent().unwrap_or(Path::new("/"));
        let file = |source| CountError::File { path: folder.to_owned(), source };
        let start = self.out.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let entries = fs::read_dir(folder).map_err(file)?;
        let names = entries.flatten().map(|entry| entry.file_name());
        let number =
            |name: OsString| name.to_str()?.strip_prefix(start)?.strip_prefix('.')?.parse().ok();
        Ok(names.filter_map(number).collect())
    }

    fn command(&self, command: &'static str) -> Result<(), CountError> {
        let failed = |why| CountError::Command { command, pid: self.pid, why };
        let mut vgdb = Command::new("vgdb");
        vgdb.args(&self.prefix).arg(WAKE).arg(format!("--pid={}", self.pid)).arg(command);
        let output =
            output_within(&mut vgdb, COMMAND_LIMIT).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => CountError::NoValgrind,
                _ => failed(error.to_string()),
            })?;
        if output.status.success() {
            return Ok(());
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        let line = complaint.lines().map(str::trim).rfind(|line| !line.is_empty());
        Err(failed(line.unwrap_or("it gives no reason").to_owned()))
    }
}

/// What callgrind was given of what matters here.
#[derive(Debug, Default, PartialEq)]
struct Options {
    out: Option<String>,
    prefix: Option<String>,
}

impl Options {
    /// Of the words of its command line, each with a zero after it: its own come before the program's.
    fn of(words: &[u8]) -> Self {
        let words = words.split(|byte| *byte == 0).skip(1);
        let words = words.map(|word| OsString::from_vec(word.to_owned()).into_string());
        let mut options = Self::default();
        for word in words.map_while(Result::ok).take_while(|word| word.starts_with('-')) {
            if let Some(out) = word.strip_prefix("--callgrind-out-file=") {
                options.out = Some(out.to_owned());
            } else if word.starts_with("--vgdb-prefix=") {
                options.prefix = Some(word);
            }
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programs_own_options_are_not_callgrinds() {
        let words = b"/usr/bin/valgrind.bin\0--tool=callgrind\0--callgrind-out-file=/t/c.%p\0\
                      --vgdb-prefix=/t/v\0serve\0--callgrind-out-file=/other\0";
        let options = Options {
            out: Some("/t/c.%p".to_owned()),
            prefix: Some("--vgdb-prefix=/t/v".to_owned()),
        };
        assert_eq!(Options::of(words), options);
        assert_eq!(Options::of(b"valgrind\0--tool=callgrind\0serve\0"), Options::default());
    }

    #[test]
    fn a_process_of_its_own_is_refused() {
        let error = Process::find(std::process::id()).unwrap_err();
        assert!(error.to_string().contains("valgrind --tool=callgrind"), "{error}");
    }
}
