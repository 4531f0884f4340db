//! Trees of machines, from files in which each line is `path:line of that file`, as `grep` prints it.

use std::io::Write;
use std::path::Path;

use tempfile::TempDir;

use super::super::Root;

/// A tree in a folder of its own.
pub(crate) struct Tree {
    folder: TempDir,
}

impl Tree {
    pub(crate) fn of(text: &str) -> Self {
        let tree = Self { folder: tempfile::tempdir().unwrap() };
        for line in text.lines() {
            let (file, line) = line.split_once(':').unwrap();
            let path = tree.folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let mut file =
                std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
            writeln!(file, "{line}").unwrap();
        }
        tree
    }

    pub(crate) fn root(&self) -> Root {
        Root::at(self.folder.path())
    }

    /// Gives a file another content.
    pub(crate) fn set(&self, file: &str, text: &str) {
        let path = self.root().path(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{text}\n")).unwrap();
    }

    pub(crate) fn remove(&self, file: impl AsRef<Path>) {
        let path = self.folder.path().join(file);
        match path.is_dir() {
            true => std::fs::remove_dir_all(path).unwrap(),
            false => std::fs::remove_file(path).unwrap(),
        }
    }
}
