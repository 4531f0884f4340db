//! A folder to run a study in.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

use serde::de::DeserializeOwned;
use tempfile::TempDir;

use crate::{LIMIT, toll};

/// A folder with a study file, `small.toml`, and room for results.
pub struct Desk {
    folder: TempDir,
}

impl Desk {
    pub fn new(study: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("small.toml"), study).unwrap();
        let desk = Self { folder };
        // A folder that is there keeps runs; one that is not becomes the run's.
        std::fs::create_dir(desk.out()).unwrap();
        desk
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn study(&self) -> PathBuf {
        self.path().join("small.toml")
    }

    /// Where the result folders are made.
    pub fn out(&self) -> PathBuf {
        self.path().join("results")
    }

    /// `toll run` of the study.
    pub fn run(&self, arguments: &[&str]) -> Command {
        let mut command = toll();
        command.arg("run").arg(self.study()).arg("--out").arg(self.out()).args(arguments);
        command
    }

    /// `toll run --continue` of the one result folder.
    pub fn go_on(&self) -> Output {
        toll().args(["run", "--continue"]).arg(self.results()).output().unwrap()
    }

    /// The output of a run, or of what continues it until its trials are all valid: where the machine is busy
    /// with others, a window may hold too little. Up to [`LIMIT`].
    pub fn undisturbed(&self, mut output: Output) -> Output {
        let deadline = Instant::now() + LIMIT;
        while output.status.code() == Some(3)
            && self.results_if_any().is_some()
            && Instant::now() < deadline
        {
            output = self.go_on();
        }
        output
    }

    /// The one result folder.
    #[track_caller]
    pub fn results(&self) -> PathBuf {
        self.results_if_any().expect("a result folder")
    }

    /// The one result folder, where there is one yet.
    pub fn results_if_any(&self) -> Option<PathBuf> {
        let folders = std::fs::read_dir(self.out()).ok()?.map(|entry| entry.unwrap().path());
        let folders: Vec<PathBuf> = folders.collect();
        assert!(folders.len() < 2, "{folders:?}");
        folders.into_iter().next()
    }

    /// A file of the result folder.
    #[track_caller]
    pub fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.results().join(name)).unwrap()
    }

    /// The lines of the journal, none where there is no result folder.
    pub fn lines<Line: DeserializeOwned>(&self) -> Vec<Line> {
        let journal = self.results_if_any().map(|folder| folder.join("journal.jsonl"));
        let lines = journal.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn journal(&self) -> PathBuf {
        self.results().join("journal.jsonl")
    }
}
