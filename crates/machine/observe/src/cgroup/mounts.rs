use crate::{Fact, Root};

/// Of control groups; a machine may have both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// A hierarchy of control groups as `/proc/self/mountinfo` has it (proc_pid_mountinfo(5)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(super) version: Version,
    /// The group that is shown as the root.
    pub(super) root: String,
    /// Where it is shown.
    pub(crate) folder: String,
    /// Of version 1, with its controllers among them.
    options: String,
}

impl Mount {
    /// What is mounted for this process.
    pub(crate) fn text(root: &Root) -> Fact<String> {
        root.text("/proc/self/mountinfo")
    }

    /// All that are mounted.
    pub(crate) fn all(mountinfo: &str) -> impl Iterator<Item = Self> {
        mountinfo.lines().filter_map(|line| {
            let (place, system) = line.split_once(" - ")?;
            let mut place = place.split_ascii_whitespace().skip(3);
            let mut system = system.split_ascii_whitespace();
            let version = match system.next()? {
                "cgroup" => Version::One,
                "cgroup2" => Version::Two,
                _ => return None,
            };
            let (root, folder) = (place.next()?.to_owned(), place.next()?.to_owned());
            Some(Self { version, root, folder, options: system.nth(1)?.to_owned() })
        })
    }

    /// Whether this is the hierarchy of version 1 that has this controller.
    pub(crate) fn is_version_1_of(&self, controller: &str) -> bool {
        self.version == Version::One && self.options.split(',').any(|option| option == controller)
    }
}
