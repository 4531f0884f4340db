//! `target.system`: another release of a distribution, from which a server comes with all its libraries. `make systems`
//! unpacks it into `target/systems/NAME`.

mod entrance;
mod mapped;
mod own_program;

pub(crate) use entrance::Entrance;
pub(crate) use mapped::Mapped;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::{TargetError, program};

const HERE: &str = "here";
/// Where systems lie, in `target`.
const FOLDER: &str = "systems";
/// The file that a whole one has: its name, the date of its archive, its packages, a line each.
const WHOLE: &str = "toll-system";
/// Where a distribution's programs are.
const PROGRAMS: [&str; 2] = ["usr/sbin", "usr/bin"];

/// Which system a server comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, DeserializeFromStr, SerializeDisplay)]
pub enum System {
    /// This machine's own.
    #[default]
    Here,
    /// One of `make systems`, by its name.
    Made(String),
}

impl System {
    /// Its name, where it is one of `make systems`.
    pub fn made(&self) -> Option<&str> {
        match self {
            Self::Here => None,
            Self::Made(name) => Some(name),
        }
    }

    /// # Errors
    /// It is not made, or is not whole.
    pub fn root(&self) -> Result<Option<SystemRoot>, TargetError> {
        match self {
            Self::Here => Ok(None),
            Self::Made(name) => SystemRoot::in_folders(name, &folders()).map(Some),
        }
    }
}

impl FromStr for System {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' || c == '-';
        let is_name = text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.contains('-')
            && text.chars().all(fits);
        match text {
            HERE => Ok(Self::Here),
            _ if is_name => Ok(Self::Made(text.to_owned())),
            _ => Err(format!(
                "`{text}` is no system; write {HERE}, or one of make systems such as debian-13"
            )),
        }
    }
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here => f.write_str(HERE),
            Self::Made(name) => f.write_str(name),
        }
    }
}

fn folders() -> Vec<PathBuf> {
    shared_library::build_folders().into_iter().map(|folder| folder.join(FOLDER)).collect()
}

/// The names of the systems that are made.
pub fn systems() -> Vec<String> {
    let entries = |folder| fs::read_dir(folder).into_iter().flatten().flatten();
    let made = folders().into_iter().flat_map(entries).filter(|of| of.path().join(WHOLE).is_file());
    let mut names: Vec<String> =
        made.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names.dedup();
    names
}

/// The root of a system that is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemRoot {
    name: String,
    /// An absolute path without links.
    folder: PathBuf,
    /// As the distribution calls it, with the date of the archive that it was made from.
    release: String,
    /// The file that loads its programs (ld.so(8)).
    loader: PathBuf,
}

impl SystemRoot {
    fn in_folders(name: &str, folders: &[PathBuf]) -> Result<Self, TargetError> {
        let mut places = folders.iter().map(|folder| folder.join(name));
        let wrong = |why: String| TargetError::NoSystem { name: name.to_owned(), why };
        let found = places.clone().find(|place| place.is_dir());
        let Some(folder) = found else {
            let first = places.next().unwrap_or_default();
            return Err(wrong(format!("is not made (looked for {})", first.display())));
        };
        let folder = fs::canonicalize(&folder).map_err(TargetError::file(&folder))?;
        let mark = fs::read_to_string(folder.join(WHOLE)).unwrap_or_default();
        let mut lines = mark.lines();
        let (Some(own), Some(date)) = (lines.next(), lines.next()) else {
            return Err(wrong(format!("is half made ({} lacks {WHOLE})", folder.display())));
        };
        if own != name {
            return Err(wrong(format!("is {own} ({})", folder.join(WHOLE).display())));
        }
        let about = fs::read_to_string(folder.join("usr/lib/os-release")).unwrap_or_default();
        let title = about.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
        let title = title.map_or(name, |title| title.trim_matches('"'));
        let release = format!("{title}, archive of {date}");
        let mut root = Self { name: name.to_owned(), folder, release, loader: PathBuf::new() };
        root.loader = root.find_loader()?;
        Ok(root)
    }

    /// As the distribution calls it, with the date of the archive that it was made from.
    pub fn release(&self) -> &str {
        &self.release
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of a program in it, which its loader can load with files of the system alone.
    ///
    /// # Errors
    /// It has none, or one that is damaged or lacks a library.
    pub(crate) fn find(&self, program: &str) -> Result<PathBuf, TargetError> {
        let mut places = PROGRAMS.iter().map(|folder| self.folder.join(folder).join(program));
        let found = places.find(|path| program::is_program(path));
        let path = found.ok_or_else(|| {
            self.unusable(&format!("has no {program}; if its release has that package,"))
        })?;
        self.check_loads(&path)?;
        Ok(path)
    }

    /// It has to be made again.
    fn unusable(&self, why: &str) -> TargetError {
        TargetError::NoSystem {
            name: self.name.clone(),
            why: format!("{why} remove {}", self.folder.display()),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A root of this name in a folder, with this machine's loader and libc and an nginx that is this content, whole or
    /// not.
    pub(crate) fn made(folder: &Path, nginx: &[u8], is_whole: bool) -> PathBuf {
        let root = folder.join("debian-99");
        let libraries = root.join(format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH));
        for inner in ["usr/sbin", "etc"].map(|inner| root.join(inner)).iter().chain([&libraries]) {
            fs::create_dir_all(inner).unwrap();
        }
        for start in ["/libc.so", "/ld-linux"] {
            let maps = fs::read_to_string("/proc/self/maps").unwrap();
            let mut paths = maps.lines().filter_map(|line| Some(&line[line.find('/')?..]));
            let own = Path::new(paths.find(|path| path.contains(start)).unwrap());
            fs::copy(own, libraries.join(own.file_name().unwrap())).unwrap();
        }
        let about = "NAME=\"Debian\"\nPRETTY_NAME=\"Debian 99 (nobody)\"\n";
        fs::write(root.join("usr/lib/os-release"), about).unwrap();
        let program = root.join("usr/sbin/nginx");
        fs::write(&program, nginx).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        if is_whole {
            fs::write(root.join(WHOLE), "debian-99\nMon, 1 Jan 2035\nnginx\n").unwrap();
        }
        root
    }

    fn own() -> Vec<u8> {
        fs::read("/bin/true").unwrap()
    }

    fn root(folder: &Path) -> Result<SystemRoot, TargetError> {
        SystemRoot::in_folders("debian-99", &[folder.to_owned()])
    }

    fn refusal(result: Result<impl fmt::Debug, TargetError>) -> String {
        let error = result.unwrap_err();
        assert!(error.is_missing() && matches!(error, TargetError::NoSystem { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("make systems SYSTEMS=debian-99"), "{text}");
        text
    }

    #[test]
    fn a_name_is_read_and_written_alike() {
        for name in ["here", "debian-12", "ubuntu-24.04"] {
            assert_eq!(name.parse::<System>().unwrap().to_string(), name);
        }
        for wrong in ["", "debian", "../x-y", "Debian-12", "debian-12/", "-x"] {
            assert!(wrong.parse::<System>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_whole_system_has_a_release_and_a_program() {
        let folder = tempfile::tempdir().unwrap();
        let made = fs::canonicalize(made(folder.path(), &own(), true)).unwrap();
        let root = root(folder.path()).unwrap();
        assert_eq!(root.release(), "Debian 99 (nobody), archive of Mon, 1 Jan 2035");
        assert_eq!(root.find("nginx").unwrap(), made.join("usr/sbin/nginx"));
    }

    #[test]
    fn one_that_is_not_made_or_half_made_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let looked = folder.path().join("debian-99").display().to_string();
        assert!(refusal(root(folder.path())).contains(&looked));
        made(folder.path(), &own(), false);
        assert!(refusal(root(folder.path())).contains(WHOLE));
    }

    #[test]
    fn one_that_has_lost_its_program_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let made = made(folder.path(), &own(), true);
        fs::remove_file(made.join("usr/sbin/nginx")).unwrap();
        assert!(refusal(root(folder.path()).unwrap().find("nginx")).contains("has no nginx"));
    }

    /// Folders of libraries are named after their architecture.
    #[test]
    fn one_of_another_architecture_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let made = made(folder.path(), &own(), true);
        let own = made.join(format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH));
        fs::rename(&own, made.join("usr/lib/another-linux-gnu")).unwrap();
        let why = refusal(root(folder.path()));
        assert!(why.contains("another architecture"), "{why}");
        fs::remove_dir_all(made.join("usr/lib/another-linux-gnu")).unwrap();
        assert!(refusal(root(folder.path())).contains("has no loader"));
    }

    #[test]
    fn a_program_that_is_damaged_or_lacks_a_library_is_not_started() {
        let folder = tempfile::tempdir().unwrap();
        let mut other = own();
        // One that no machine is of.
        other[18] ^= 0x55;
        for damaged in [&[][..], &own()[..2000], &other] {
            made(folder.path(), damaged, true);
            let why = refusal(root(folder.path()).unwrap().find("nginx"));
            assert!(why.contains("cannot load") && why.contains("; remove "), "{why}");
        }
        // This machine has that one, where the loader would look last.
        let made = made(folder.path(), &own(), true);
        let libraries = made.join(format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH));
        let is_libc = |path: &PathBuf| path.to_string_lossy().contains("/libc.so");
        let mut files = fs::read_dir(libraries).unwrap().map(|file| file.unwrap().path());
        fs::remove_file(files.find(is_libc).unwrap()).unwrap();
        let why = refusal(root(folder.path()).unwrap().find("nginx"));
        assert!(why.contains("lacks libc.so.6"), "{why}");
    }
}
