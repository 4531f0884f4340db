//! The proof that a server runs on its system's files alone: what the kernel has mapped into its processes, by device
//! and inode (proc_pid_maps(5)). What the run gave it, such as objects and shared memory, is no program and may be
//! mapped, unless it is mapped to be executed.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::SystemRoot;
use crate::library;

/// What is mapped of no file: shared memory and devices.
const NO_FILES: [&str; 5] = ["/dev/", "/memfd:", "/SYSV", "/[aio]", "/anon_hugepage"];

/// Whose mapped files are looked at.
#[derive(Debug)]
pub(crate) struct Mapped {
    pub(crate) root: SystemRoot,
    /// toll, where it is the server, and callgrind, where that runs it.
    pub(crate) programs: Vec<PathBuf>,
    /// The folders of the run.
    pub(crate) folders: Vec<PathBuf>,
}

impl Mapped {
    /// The files that the processes of a tree have mapped and that are not the system's.
    ///
    /// # Errors
    /// The first process is gone, or its memory may not be looked at, or has no file.
    pub(crate) fn foreign(&self, pid: u32) -> io::Result<BTreeSet<String>> {
        let mut foreign = BTreeSet::new();
        let found = self.add(pid, &mut foreign)?;
        if found == 0 {
            return Err(io::Error::other("it has mapped no file"));
        }
        Ok(foreign)
    }

    /// Adds those of a process and its descendants; how many files it has mapped itself.
    fn add(&self, pid: u32, foreign: &mut BTreeSet<String>) -> io::Result<usize> {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
        let files: Vec<MappedFile<'_>> = maps.lines().filter_map(MappedFile::of).collect();
        let own = files.iter().filter(|file| !self.is_allowed(pid, file));
        foreign.extend(own.map(|file| file.path.to_owned()));
        for child in library::children(pid) {
            match self.add(child, foreign) {
                Ok(_) => {}
                // It has ended meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(files.len())
    }

    fn is_allowed(&self, pid: u32, file: &MappedFile<'_>) -> bool {
        let path = Path::new(file.path);
        let is_of_run = || self.folders.iter().any(|folder| path.starts_with(folder));
        if !file.is_executable
            && (NO_FILES.iter().any(|start| file.path.starts_with(start)) || is_of_run())
        {
            return true;
        }
        // By the loader it has the path that it has on this machine.
        let inside = path.strip_prefix(self.root.folder()).unwrap_or(path);
        let inside = inside.strip_prefix("/").unwrap_or(inside);
        file.is(pid, &self.root.folder().join(inside))
            || self.programs.iter().any(|program| {
                file.is(pid, program) || program.is_dir() && path.starts_with(program)
            })
    }
}

/// A line of `/proc/PID/maps` that is of a file.
struct MappedFile<'a> {
    range: &'a str,
    is_executable: bool,
    device: (u32, u32),
    inode: u64,
    path: &'a str,
}

impl<'a> MappedFile<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let (line, path) = line.split_at(line.find('/')?);
        let mut words = line.split_whitespace();
        let (range, rights) = (words.next()?, words.next()?);
        let (major, minor) = words.nth(1)?.split_once(':')?;
        let hexadecimal = |text| u32::from_str_radix(text, 16).ok();
        Some(Self {
            range,
            is_executable: rights.contains('x'),
            device: (hexadecimal(major)?, hexadecimal(minor)?),
            inode: words.next()?.parse().ok()?,
            path,
        })
    }

    /// Whether it is this file. A filesystem in layers may show another device here than stat(2), which then is asked
    /// of the mapping itself.
    fn is(&self, pid: u32, path: &Path) -> bool {
        let Ok(file) = fs::metadata(path) else { return false };
        let device = (rustix::fs::major(file.dev()), rustix::fs::minor(file.dev()));
        let of_mapping = || fs::metadata(format!("/proc/{pid}/map_files/{}", self.range)).ok();
        let identity = |file: &Metadata| (file.dev(), file.ino());
        (device, file.ino()) == (self.device, self.inode)
            || of_mapping().is_some_and(|mapping| identity(&mapping) == identity(&file))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::tests::made;
    use super::*;

    #[test]
    fn lines_of_files_are_read() {
        let line = "7f10-7f20 r-xp 00001000 08:0a 18   /opt/my ssl/lib.so (deleted)";
        let file = MappedFile::of(line).unwrap();
        assert_eq!((file.range, file.is_executable), ("7f10-7f20", true));
        assert_eq!((file.device, file.inode), ((8, 10), 18));
        assert_eq!(file.path, "/opt/my ssl/lib.so (deleted)");
        assert!(MappedFile::of("7ffc-7ffd rw-p 00000000 00:00 0    [stack]").is_none());
    }

    /// A program that waits, its child, and what both have mapped.
    #[test]
    fn a_file_of_this_machine_is_foreign_in_a_child_too() {
        let folder = tempfile::tempdir().unwrap();
        made(folder.path(), b"", true);
        let root = SystemRoot::in_folders("debian-99", &[folder.path().to_owned()]).unwrap();
        let mut shell = Command::new("/bin/sh")
            .args(["-c", "sleep 60 & wait"])
            .stdin(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let pid = shell.id();
        while library::children(pid).is_empty() {
            std::thread::yield_now();
        }
        let child = library::children(pid)[0];
        let foreign = |programs: &[PathBuf]| {
            Mapped { root: root.clone(), programs: programs.into(), folders: Vec::new() }
                .foreign(pid)
                .unwrap()
        };
        // Until the child has become its program, and that has mapped what it needs.
        let mut all = BTreeSet::new();
        while all.is_empty() || all != foreign(&[]) {
            all = foreign(&[]);
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        assert!(all.iter().any(|path| path.ends_with("/sleep")), "{all:?}");
        assert!(all.iter().any(|path| path.contains("/libc")), "{all:?}");
        // A path alone proves nothing: the system has a file of that name, which is another one.
        let libc = all.iter().find(|path| path.contains("/libc")).unwrap();
        let own = root.folder().join(libc.strip_prefix('/').unwrap());
        fs::create_dir_all(own.parent().unwrap()).unwrap();
        fs::write(&own, "x").unwrap();
        assert_eq!(foreign(&[]), all);
        // Where it is that file, it is the system's.
        fs::remove_file(&own).unwrap();
        fs::hard_link(libc, &own).or_else(|_| std::os::unix::fs::symlink(libc, &own)).unwrap();
        let left = foreign(&[]);
        assert!(!left.contains(libc) && left.len() + 1 == all.len(), "{left:?}");
        assert!(foreign(&[PathBuf::from("/usr"), "/lib".into(), "/bin".into()]).is_empty());
        for process in [child, pid] {
            let number = rustix::process::Pid::from_raw(process.cast_signed()).unwrap();
            rustix::process::kill_process(number, rustix::process::Signal::KILL).unwrap();
        }
        shell.wait().unwrap();
    }
}
