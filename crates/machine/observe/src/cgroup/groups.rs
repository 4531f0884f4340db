use std::io::ErrorKind;

use super::mounts::{Mount, Version};
use crate::{Fact, Root};

/// The groups of a process under one controller: its own first, then each around it up to the root that is seen.
#[derive(Debug, Clone)]
pub(super) struct Groups {
    root: Root,
    pub(super) version: Version,
    /// Where the files of each group lie.
    pub(super) folders: Vec<String>,
}

impl Groups {
    /// Of a process by its number, or `self`. Its path is shown from the root of the reader, and so are the reader's
    /// mounts: those of the process may be others.
    pub(super) fn of(root: &Root, process: &str, controller: &str) -> Fact<Self> {
        Self::text(root, process).and_then(|groups| {
            Mount::text(root)
                .and_then(|mounts| Self::find(root, controller, &groups, &mounts).into())
        })
    }

    /// In which groups a process is, as the kernel says: the same for all that are in the same.
    pub(super) fn text(root: &Root, process: &str) -> Fact<String> {
        root.text(&format!("/proc/{process}/cgroup"))
    }

    /// The groups of a [text](Self::text), with that of the [mounts](Mount::text).
    ///
    /// # Errors
    /// Why they are not seen here.
    pub(super) fn find(
        root: &Root,
        controller: &str,
        groups: &str,
        mounts: &str,
    ) -> Result<Self, String> {
        let lines = || groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
        let of_one = lines().find(|(names, _)| names.split(',').any(|name| name == controller));
        // A controller that a hierarchy of version 1 has is not in that of version 2.
        let (version, path) = match (of_one, lines().find(|(names, _)| names.is_empty())) {
            (Some((_, path)), _) => (Version::One, path),
            (None, Some((_, path))) => (Version::Two, path),
            (None, None) => return Err(format!("there are no control groups of {controller}")),
        };
        let mounts: Vec<Mount> = Mount::all(mounts)
            .filter(|mount| match version {
                Version::One => mount.is_version_1_of(controller),
                Version::Two => mount.version == Version::Two,
            })
            .collect();
        if mounts.is_empty() {
            return Err(format!("the control groups of {controller} are not mounted"));
        }
        let folders = mounts.iter().find_map(|mount| folders(mount, path));
        let folders = folders
            .ok_or_else(|| format!("the control group {path} is outside of what is mounted"))?;
        Ok(Self { root: root.clone(), version, folders })
    }

    /// A file of one line of a group; `None` where the group has none, as the root of version 2.
    pub(super) fn line(&self, folder: &str, name: &str) -> Fact<Option<String>> {
        let file = format!("{folder}/{name}");
        match std::fs::read_to_string(self.root.path(&file)) {
            Ok(text) => Fact::Known(Some(text.trim().to_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => Fact::Known(None),
            Err(error) => Fact::unknown(format_args!("cannot read {file}: {error}")),
        }
    }

    /// What each group says that says anything; unknown where one cannot be read.
    pub(super) fn each<T>(&self, of: impl Fn(&str) -> Fact<Option<T>>) -> Fact<Vec<T>> {
        let all: Result<Vec<Option<T>>, String> =
            self.folders.iter().map(|folder| of(folder).or_why()).collect();
        Fact::from(all).map(|all| all.into_iter().flatten().collect())
    }
}

/// Where the files of the group `path` and of those around it lie; `None` where it is not below what is mounted.
fn folders(mount: &Mount, path: &str) -> Option<Vec<String>> {
    let below = path.strip_prefix(mount.root.trim_end_matches('/'))?;
    let names: Vec<&str> = below.split('/').filter(|name| !name.is_empty()).collect();
    let is_below = below.is_empty() || below.starts_with('/');
    if !is_below || names.contains(&"..") {
        return None;
    }
    let folder = |depth: usize| {
        let parts = std::iter::once(mount.folder.trim_end_matches('/'));
        parts.chain(names[..depth].iter().copied()).collect::<Vec<_>>().join("/")
    };
    Some((0..=names.len()).rev().map(folder).collect())
}
