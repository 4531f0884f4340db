//! A folder to run a study in.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::toll;

/// A folder with a study file, `small.toml`, and room for results.
pub struct Desk {
    folder: TempDir,
}

impl Desk {
    pub fn new(study: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("small.toml"), study).unwrap();
        Self { folder }
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

    pub fn journal(&self) -> PathBuf {
        self.results().join("journal.jsonl")
    }
}
