//! The result folder of a run: `study.toml`, `cells.json`, `machine.json`, `hosts.json`, `targets.json`,
//! `journal.jsonl`, `latency/`, `logs/`, and `session-1.toml` where users walk the pages of a file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use rustix::fs::FlockOperation;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::entries::Entries;
use crate::journal::{Journal, JournalError};
use crate::whole_file::write_whole;

const STUDY: &str = "study.toml";
const CELLS: &str = "cells.json";
const MACHINE: &str = "machine.json";
const HOSTS: &str = "hosts.json";
const TARGETS: &str = "targets.json";
const LEFT_OUT: &str = "left-out.json";
const JOURNAL: &str = "journal.jsonl";
const PROFILE: &str = "profile";
const LATENCY: &str = "latency";
const LOGS: &str = "logs";

#[derive(Debug)]
pub struct Results {
    folder: PathBuf,
    /// Those above that were made for it, the innermost first.
    made: Vec<PathBuf>,
    /// Where the run is now that had its name.
    earlier: Option<PathBuf>,
}

/// The right to write a result folder, which one process has at a time. It ends with the process.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Why nothing was measured of an included study.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Unmeasured {
    /// What it needs is not installed here: it was left out.
    Absent(String),
    /// It could not begin, or failed before its first trial had ended.
    Failed { failed: String },
}

/// A server of a run, as `targets.json` in the result folder describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetRecord {
    /// Its name, as in `logs/`: the program's, with a number from the second of its kind on.
    pub name: String,
    /// The program: `embedded`, `nginx`; a client, such as `wrk`, where that was left out.
    pub server: String,
    /// How it differs from others of its program, in words: `rsa:2048 certificate`.
    pub settings: String,
    /// Server and TLS library, where it was started.
    pub version: Option<String>,
    /// Why it was left out, where it was.
    pub skipped: Option<String>,
    /// Why its CPU time was not sampled, where that was asked for and could not be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_sampled: Option<String>,
    pub cells: Vec<String>,
}

/// Why a result folder or a file in it could not be made or read.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    #[error("{path}: {source}; give a folder that can be written with --out")]
    Write { path: String, source: io::Error },
    #[error(
        "{path}: {source}; give the folder of a run, such as results/2026-11-21T20-51-34Z-quick"
    )]
    Read { path: String, source: io::Error },
    #[error("{path}: {why}; restore the file from a copy")]
    Damaged { path: String, why: String },
    /// Its study is not in the form that this toll reads.
    #[error("{path}: results of an earlier toll: cells.json is missing; measure again")]
    Earlier { path: String },
    #[error("{path} is being written by another toll; wait for its end")]
    Busy { path: String },
}

impl Results {
    /// Makes `parent/<time>-<study>/`; with a number after it where that is there already.
    pub fn create(parent: &Path, study: &str, now: SystemTime) -> Result<Self, ResultsError> {
        let made = missing(parent);
        std::fs::create_dir_all(parent).map_err(|source| ResultsError::write(parent, source))?;
        let make = |folder: &Path| std::fs::create_dir(folder);
        let folder = unused(&parent.join(format!("{}-{study}", utc(now))), make)?;
        Ok(Self { made, ..Self::of(folder) })
    }

    /// Makes the folder that a person names. A folder that is no run keeps runs, as [`create`](Self::create) makes
    /// them. Where there is nothing yet, the name is the run's own; so it is where an earlier run has it, which is kept
    /// beside it: `before` becomes `before-<time>`, after the time at which it began.
    ///
    /// # Errors
    /// The system's; the earlier run is being measured.
    pub fn at(place: &Path, study: &str, now: SystemTime) -> Result<Self, ResultsError> {
        if Self::keeps_runs(place) {
            return Self::create(place, study, now);
        }
        let earlier = match place.join(STUDY).metadata().and_then(|about| about.modified()) {
            Ok(began) => {
                let _lock = Self::of(place.to_owned()).lock()?;
                // As components, so that it does not end with a slash.
                let kept = suffixed(place.components().as_path(), &utc(began));
                let rename = |to: &Path| match to.exists() {
                    true => Err(io::ErrorKind::AlreadyExists.into()),
                    false => std::fs::rename(place, to),
                };
                Some(unused(&kept, rename)?)
            }
            Err(_) => None,
        };
        let made = place.parent().map(missing).unwrap_or_default();
        std::fs::create_dir_all(place).map_err(|source| ResultsError::write(place, source))?;
        Ok(Self { folder: place.to_owned(), made, earlier })
    }

    /// A folder that is there.
    fn of(folder: PathBuf) -> Self {
        Self { folder, made: Vec::new(), earlier: None }
    }

    /// Whether a folder is there and no run.
    pub fn keeps_runs(place: &Path) -> bool {
        place.is_dir() && !place.join(STUDY).exists()
    }

    /// Where the earlier run is now whose name this one has taken.
    pub fn earlier(&self) -> Option<&Path> {
        self.earlier.as_deref()
    }

    /// The folder within this one of a study that its study includes, made where it is not there yet.
    pub fn part(&self, study: &str) -> Result<Self, ResultsError> {
        let folder = self.folder.join(study);
        std::fs::create_dir_all(&folder).map_err(|source| ResultsError::write(&folder, source))?;
        Ok(Self::of(folder))
    }

    /// The folder of an earlier run.
    pub fn open(folder: &Path) -> Result<Self, ResultsError> {
        let study = folder.join(STUDY);
        study.metadata().map_err(|source| ResultsError::read(&study, source))?;
        match folder.join(CELLS).exists() {
            true => Ok(Self::of(folder.to_owned())),
            false => Err(ResultsError::Earlier { path: folder.display().to_string() }),
        }
    }

    /// Removes the folder of a run that did not begin, with these parts, and those above that were made for it,
    /// unless a server has written a log there, which may say why. An earlier run has its name again then.
    pub fn remove_unless_logged(&self, parts: &[&Self]) {
        let all = parts.iter().copied().chain([self]);
        if all.into_iter().any(|of| holds_text(&of.folder.join(LOGS))) {
            return;
        }
        // What cannot be removed stays; the run is refused anyway.
        let removed = std::fs::remove_dir_all(&self.folder);
        if let (Ok(()), Some(earlier)) = (removed, &self.earlier) {
            let _ = std::fs::rename(earlier, &self.folder);
        }
        for folder in &self.made {
            // Nor does one in which something else is by now.
            let _ = std::fs::remove_dir(folder);
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn lock(&self) -> Result<Lock, ResultsError> {
        let file =
            File::open(&self.folder).map_err(|source| ResultsError::read(&self.folder, source))?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Lock { _file: file }),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                Err(ResultsError::Busy { path: self.folder.display().to_string() })
            }
            Err(error) => Err(ResultsError::write(&self.folder, error.into())),
        }
    }

    /// Opens the journal, a new one or that of an earlier run, with the lines that it has. A torn
    /// last line is removed.
    ///
    /// # Errors
    /// The system's; a line of another schema.
    pub fn journal(&self) -> Result<(Journal, Entries), JournalError> {
        Journal::open(&self.folder.join(JOURNAL))
    }

    /// All lines of the journal; none where there is no journal yet.
    ///
    /// # Errors
    /// The system's; a line of another schema.
    pub fn entries(&self) -> Result<Entries, JournalError> {
        let path = self.folder.join(JOURNAL);
        if path.exists() { Journal::read(&path) } else { Ok(Entries::default()) }
    }

    /// Writes the text of the study file, and the study as it was read: its cells, with all that the
    /// file left open.
    pub fn write_study(&self, text: &str, study: &impl Serialize) -> Result<(), ResultsError> {
        self.write(STUDY, text.as_bytes())?;
        self.write_json(CELLS, study)
    }

    pub fn study<T: DeserializeOwned>(&self) -> Result<T, ResultsError> {
        let path = self.folder.join(CELLS);
        let missing = || ResultsError::read(&path, io::ErrorKind::NotFound.into());
        self.read_json(CELLS)?.ok_or_else(missing)
    }

    /// Where a file of the study's is kept, by its name there; it is written with what `text` gives
    /// where it is not there yet.
    pub fn keep<E: From<ResultsError>>(
        &self,
        name: &str,
        text: impl FnOnce() -> Result<String, E>,
    ) -> Result<PathBuf, E> {
        let path = self.folder.join(name);
        if !path.exists() {
            self.write(name, text()?.as_bytes())?;
        }
        Ok(path)
    }

    /// Writes what the machine is.
    pub fn write_machine(&self, machine: &observe::Machine) -> Result<(), ResultsError> {
        self.write_json(MACHINE, machine)
    }

    /// Reads it; `None` where the run ended before it was written.
    pub fn machine(&self) -> Result<Option<observe::Machine>, ResultsError> {
        self.read_json(MACHINE)
    }

    /// Writes what the other machines are that servers run on, by their names.
    pub fn write_hosts(
        &self,
        hosts: &BTreeMap<String, observe::Machine>,
    ) -> Result<(), ResultsError> {
        self.write_json(HOSTS, hosts)
    }

    /// Reads it; none where all servers run on this machine.
    pub fn hosts(&self) -> Result<BTreeMap<String, observe::Machine>, ResultsError> {
        Ok(self.read_json(HOSTS)?.unwrap_or_default())
    }

    /// The most CPUs that one of the machines has, where that is known.
    pub fn most_cpus(&self) -> Result<Option<usize>, ResultsError> {
        let (own, hosts) = (self.machine()?, self.hosts()?);
        let cpus: Option<Vec<usize>> =
            own.iter().chain(hosts.values()).map(observe::Machine::cpus).collect();
        Ok(cpus.and_then(|cpus| cpus.into_iter().max()))
    }

    /// Writes which servers there were.
    pub fn write_targets(&self, targets: &[TargetRecord]) -> Result<(), ResultsError> {
        self.write_json(TARGETS, &targets)
    }

    /// Reads them; none where the run ended before they were started.
    pub fn targets(&self) -> Result<Vec<TargetRecord>, ResultsError> {
        Ok(self.read_json(TARGETS)?.unwrap_or_default())
    }

    /// Writes why nothing was measured of an included study.
    pub fn write_unmeasured(&self, why: &Unmeasured) -> Result<(), ResultsError> {
        self.write_json(LEFT_OUT, why)
    }

    /// Reads it; `None` where it was measured, or its turn did not come.
    pub fn unmeasured(&self) -> Result<Option<Unmeasured>, ResultsError> {
        self.read_json(LEFT_OUT)
    }

    /// The file for the latencies of the trial at place `order`, by its path in the folder.
    pub fn latency_file(order: u32) -> String {
        format!("{LATENCY}/{order}.hlog")
    }

    /// Where the samples of a cell's server are kept, without an extension.
    pub fn profile(&self, cell: &str) -> PathBuf {
        self.folder.join(PROFILE).join(cell)
    }

    /// The folded stacks that were sampled of a cell; `None` where it was not sampled.
    pub fn stacks(&self, cell: &str) -> Result<Option<String>, ResultsError> {
        let path = self.profile(cell).with_extension("folded");
        match std::fs::read_to_string(&path) {
            Ok(folded) => Ok(Some(folded)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(ResultsError::read(&path, source)),
        }
    }

    /// Writes the latencies of the trial at place `order`.
    pub fn write_latencies(&self, order: u32, log: &[u8]) -> Result<(), ResultsError> {
        let folder = self.folder.join(LATENCY);
        std::fs::create_dir_all(&folder).map_err(|source| ResultsError::write(&folder, source))?;
        self.write(&Self::latency_file(order), log)
    }

    /// Writes a file that is made from the others, such as `report.html`.
    pub fn write_derived(&self, name: &str, text: &str) -> Result<PathBuf, ResultsError> {
        self.write(name, text.as_bytes())?;
        Ok(self.folder.join(name))
    }

    fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), ResultsError> {
        let path = self.folder.join(name);
        let text = serde_json::to_string_pretty(value)
            .map_err(|error| ResultsError::write(&path, io::Error::other(error)))?;
        self.write(name, (text + "\n").as_bytes())
    }

    fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, ResultsError> {
        let path = self.folder.join(name);
        if !path.exists() {
            return Ok(None);
        }
        let text =
            std::fs::read_to_string(&path).map_err(|source| ResultsError::read(&path, source))?;
        serde_json::from_str(&text).map(Some).map_err(|error| ResultsError::Damaged {
            path: path.display().to_string(),
            why: error.to_string(),
        })
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), ResultsError> {
        let path = self.folder.join(name);
        write_whole(&path, bytes).map_err(|source| ResultsError::write(&path, source))
    }
}

impl ResultsError {
    /// Latencies that cannot be put into their form.
    pub fn latencies(folder: &Path, source: io::Error) -> Self {
        Self::write(&folder.join(LATENCY), source)
    }

    fn write(path: &Path, source: io::Error) -> Self {
        Self::Write { path: path.display().to_string(), source }
    }

    fn read(path: &Path, source: io::Error) -> Self {
        Self::Read { path: path.display().to_string(), source }
    }
}

/// The first name that `make` finds unused: this one, or this one with a number.
fn unused(name: &Path, make: impl Fn(&Path) -> io::Result<()>) -> Result<PathBuf, ResultsError> {
    let mut path = name.to_owned();
    for number in 2.. {
        match make(&path) {
            Ok(()) => break,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                path = suffixed(name, &number.to_string());
            }
            Err(source) => return Err(ResultsError::write(&path, source)),
        }
    }
    Ok(path)
}

/// The folders of a path that are not there yet, the innermost first.
fn missing(path: &Path) -> Vec<PathBuf> {
    let missing = path.ancestors().take_while(|folder| !folder.exists());
    missing.filter(|path| !path.as_os_str().is_empty()).map(Path::to_owned).collect()
}

fn suffixed(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!("-{suffix}"));
    name.into()
}

/// Whether a file in this folder, at any depth, is not empty; what cannot be read may be one.
fn holds_text(folder: &Path) -> bool {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return error.kind() != io::ErrorKind::NotFound,
    };
    entries.into_iter().any(|entry| {
        entry.and_then(|entry| Ok((entry.metadata()?, entry.path()))).map_or(
            true,
            |(about, path)| {
                if about.is_dir() { holds_text(&path) } else { about.len() > 0 }
            },
        )
    })
}

/// `2026-11-21T20-51-34Z`: ISO 8601, but without colons, which some file systems and tools reject.
fn utc(time: SystemTime) -> String {
    Timestamp::try_from(time).unwrap_or(Timestamp::MAX).strftime("%Y-%m-%dT%H-%M-%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        // From `date -u -d @N`.
        for (seconds, text) in [
            (0, "1970-01-01T00-00-00Z"),
            (951_782_399, "2000-02-28T23-59-59Z"),
            (951_782_400, "2000-02-29T00-00-00Z"),
            (1_735_689_599, "2024-12-31T23-59-59Z"),
            (1_795_000_000, "2026-11-18T11-06-40Z"),
            (4_107_542_400, "2100-03-01T00-00-00Z"),
        ] {
            assert_eq!(utc(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn each_run_has_a_folder_of_its_own() {
        let parent = tempfile::tempdir().unwrap();
        let make =
            || Results::create(&parent.path().join("results"), "quick", SystemTime::UNIX_EPOCH);
        let (first, second) = (make().unwrap(), make().unwrap());
        assert!(first.folder().ends_with("results/1970-01-01T00-00-00Z-quick"));
        assert!(second.folder().ends_with("results/1970-01-01T00-00-00Z-quick-2"));
    }

    #[test]
    fn a_run_has_the_name_that_a_person_gives_and_an_earlier_one_is_kept() {
        let parent = tempfile::tempdir().unwrap();
        let make =
            |name: &str| Results::at(&parent.path().join(name), "quick", SystemTime::UNIX_EPOCH);
        let names = || {
            let entries = std::fs::read_dir(parent.path()).unwrap();
            let mut names: Vec<_> = entries.map(|of| of.unwrap().file_name()).collect();
            names.sort_unstable();
            names
        };
        let write = |results: &Results, text: &str| results.write_study(text, &()).unwrap();
        let first = make("a/before").unwrap();
        assert!(first.folder().ends_with("a/before") && first.earlier().is_none());

        // Nothing that a run has written is lost, also where two began in one second.
        let first = make("before").unwrap();
        write(&first, "first");
        let second = make("before/").unwrap();
        write(&second, "second");
        let third = make("before").unwrap();
        assert_eq!(names().len(), 4, "{:?}", names());
        let text =
            |of: &Results| std::fs::read_to_string(of.earlier().unwrap().join(STUDY)).unwrap();
        assert_eq!((text(&second), text(&third)), ("first".to_owned(), "second".to_owned()));

        // A run that was refused gives the name back.
        third.remove_unless_logged(&[]);
        assert_eq!(names().len(), 3, "{:?}", names());
        assert_eq!(
            std::fs::read_to_string(parent.path().join("before").join(STUDY)).unwrap(),
            "second"
        );

        // One that is being measured keeps it.
        let again = Results::open(&parent.path().join("before")).unwrap();
        let lock = again.lock().unwrap();
        assert!(matches!(make("before"), Err(ResultsError::Busy { .. })));
        drop(lock);

        // What is no run keeps runs.
        std::fs::create_dir(parent.path().join("runs")).unwrap();
        let of_runs = make("runs").unwrap();
        assert!(of_runs.folder().ends_with("runs/1970-01-01T00-00-00Z-quick"));
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let message = Results::create(Path::new("/dev/null/x"), "quick", SystemTime::UNIX_EPOCH)
            .unwrap_err()
            .to_string();
        assert!(message.starts_with("/dev/null/x: ") && message.contains("--out"), "{message}");
    }

    fn results() -> (tempfile::TempDir, Results) {
        let parent = tempfile::tempdir().unwrap();
        let results = Results::create(parent.path(), "quick", SystemTime::UNIX_EPOCH).unwrap();
        (parent, results)
    }

    #[test]
    fn what_is_not_there_yet_is_none_and_what_is_damaged_is_named() {
        let (_parent, results) = results();
        assert!(results.machine().unwrap().is_none());
        assert_eq!(
            (results.targets().unwrap(), results.entries().unwrap()),
            (vec![], Entries::default())
        );
        std::fs::write(results.folder().join("targets.json"), "[{").unwrap();
        let message = results.targets().unwrap_err().to_string();
        assert!(message.contains("targets.json: EOF while parsing"), "{message}");
    }

    #[test]
    fn targets_are_read_as_they_were_written() {
        let (_parent, results) = results();
        let targets = vec![TargetRecord {
            name: "nginx".into(),
            server: "nginx".into(),
            settings: "rsa:2048 certificate".into(),
            version: None,
            skipped: Some("not installed".into()),
            not_sampled: Some("no perf".into()),
            cells: vec!["bulk-0001".into()],
        }];
        results.write_targets(&targets).unwrap();
        assert_eq!(results.targets().unwrap(), targets);
    }

    #[test]
    fn a_folder_goes_unless_a_server_has_written_a_log() {
        for (text, stays) in [("", false), ("no port", true)] {
            let (parent, results) = results();
            let folder = results.folder().to_owned();
            std::fs::create_dir_all(folder.join("logs/nginx")).unwrap();
            std::fs::write(folder.join("logs/nginx/error.log"), text).unwrap();
            results.remove_unless_logged(&[]);
            assert_eq!(folder.exists(), stays, "{text}");
            drop(parent);
        }
    }

    #[test]
    fn the_folders_that_were_made_for_it_go_too() {
        let parent = tempfile::tempdir().unwrap();
        let out = parent.path().join("a/b");
        let create = || Results::create(&out, "study", SystemTime::now()).unwrap();
        for log in [false, true] {
            let results = create();
            let part = results.part("one").unwrap();
            std::fs::create_dir_all(part.folder().join("logs")).unwrap();
            std::fs::write(part.folder().join("logs/x"), if log { "why" } else { "" }).unwrap();
            results.remove_unless_logged(&[&part]);
            assert_eq!(parent.path().join("a").exists(), log);
        }
        // One that was there stays, and so does one with another run in it.
        let (first, second) = (create(), create());
        second.remove_unless_logged(&[]);
        assert!(first.folder().exists());
        first.remove_unless_logged(&[]);
        assert!(out.exists());
    }

    #[test]
    fn a_folder_without_a_study_is_no_run() {
        let (_parent, results) = results();
        let refusal = || Results::open(results.folder()).unwrap_err().to_string();
        assert!(refusal().contains("study.toml: No such file"), "{}", refusal());
        std::fs::write(results.folder().join(STUDY), "schema = 1").unwrap();
        let expected = "results of an earlier toll: cells.json is missing; measure again";
        assert!(refusal().ends_with(expected), "{}", refusal());
    }

    #[test]
    fn a_study_is_read_as_it_was_written() {
        let (_parent, results) = results();
        let study = vec!["bulk-0001".to_owned()];
        results.write_study("schema = 1", &study).unwrap();
        assert_eq!(Results::open(results.folder()).unwrap().study::<Vec<String>>().unwrap(), study);
        let text = std::fs::read_to_string(results.folder().join(STUDY)).unwrap();
        assert_eq!(text, "schema = 1");
    }

    #[test]
    fn one_process_writes_at_a_time() {
        let (_parent, results) = results();
        let lock = results.lock().unwrap();
        assert!(matches!(results.lock(), Err(ResultsError::Busy { .. })));
        drop(lock);
        assert!(results.lock().is_ok());
    }
}
