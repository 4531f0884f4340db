//! The generated objects as files in memory, so that every server sends the same ones and no disk
//! is measured.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use procfs::{Current, Meminfo};
use rustix::fs::FlockOperation;
use tempfile::TempDir;
use units::Bytes;

use crate::TargetError;

const TMPFS: &str = "/dev/shm";
const PREFIX: &str = "toll-";
/// Room that is left to others beside the objects.
const MARGIN: u64 = 64 << 20;

/// A folder that goes with this value.
#[derive(Debug)]
pub(crate) struct OwnFolder {
    folder: TempDir,
    /// An advisory lock, which ends with the process in any case and marks the folder as in use.
    _lock: File,
}

impl OwnFolder {
    pub(crate) fn make(place: &Path) -> Result<Self, TargetError> {
        let folder = tempfile::Builder::new()
            .prefix(&format!("{PREFIX}{}-", std::process::id()))
            .tempdir_in(place)
            .map_err(TargetError::file(place))?;
        let lock = lock(folder.path()).map_err(TargetError::file(folder.path()))?;
        Ok(Self { folder, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Files of generated objects, `bytes/1MiB` and so on, in a folder that this value owns: dropping
/// it removes them. Share it between the targets of a run in an [`std::sync::Arc`].
///
/// After `kill -9` the folder stays, and with it the memory; the next call of [`Objects::make`]
/// removes what such runs left.
#[derive(Debug)]
pub struct Objects {
    folder: OwnFolder,
    sizes: Vec<Bytes>,
    note: Option<String>,
    /// Files on a disk, beside those of the folder.
    pub(crate) disk: Option<OwnFolder>,
}

impl Objects {
    /// Makes the objects of these sizes, at least one, in `/dev/shm`; where that is missing or too
    /// full, in `fallback`, and [`Objects::note`] says so.
    ///
    /// # Errors
    /// Too little space in both, with the sizes; the system's word on a file.
    pub fn make(sizes: &[Bytes], fallback: &Path) -> Result<Self, TargetError> {
        Self::make_in(Path::new(TMPFS), sizes, fallback)
    }

    fn make_in(tmpfs: &Path, sizes: &[Bytes], fallback: &Path) -> Result<Self, TargetError> {
        let mut sizes = sizes.to_vec();
        sizes.sort_unstable();
        sizes.dedup();
        if sizes.is_empty() {
            return Err(TargetError::Settings(
                "a server needs an object to serve; give a size such as 1MiB".to_owned(),
            ));
        }
        let needed = sizes.iter().try_fold(0u64, |sum, size| sum.checked_add(size.0));
        let needed = Bytes(needed.unwrap_or(u64::MAX));

        remove_leftovers(tmpfs);
        let in_memory = Room::of_memory(tmpfs);
        if in_memory.holds(needed) {
            return Self::write(tmpfs, sizes, None);
        }
        fs::create_dir_all(fallback).map_err(TargetError::file(fallback))?;
        let on_disk = Room::of(fallback);
        if !on_disk.holds(needed) {
            let free = format!("{in_memory} and {on_disk}");
            return Err(TargetError::Space { needed, free });
        }
        let note = format!(
            "the objects need {needed}, but {in_memory}, so they lie in {}; \
             reads of a disk may be part of the figures",
            fallback.display()
        );
        Self::write(fallback, sizes, Some(note))
    }

    fn write(place: &Path, sizes: Vec<Bytes>, note: Option<String>) -> Result<Self, TargetError> {
        let folder = OwnFolder::make(place)?;
        let files = folder.path().join(objects::FOLDER);
        fs::create_dir(&files).map_err(TargetError::file(&files))?;
        for size in &sizes {
            let path = files.join(size.to_string());
            create(&path, |file| objects::write_to(file, *size))?;
        }
        open_to_all(folder.path())?;
        open_to_all(&files)?;
        Ok(Self { folder, sizes, note, disk: None })
    }

    /// The folder that servers take as their root; the objects are in `bytes/` in it.
    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    pub fn sizes(&self) -> &[Bytes] {
        &self.sizes
    }

    /// Why the objects are not in memory, where they are not.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The smallest object, for a look whether a server answers.
    pub(crate) fn smallest(&self) -> Bytes {
        self.sizes[0]
    }
}

/// What is free in a folder.
pub(crate) struct Room {
    place: PathBuf,
    free: Option<u64>,
}

impl Room {
    pub(crate) fn of(place: &Path) -> Self {
        let free =
            rustix::fs::statvfs(place).ok().map(|fs| fs.f_bavail.saturating_mul(fs.f_frsize));
        Self { place: place.to_owned(), free }
    }

    /// Of a tmpfs, which may be larger than the memory that is left for it.
    pub(crate) fn of_memory(place: &Path) -> Self {
        let Self { place, free } = Self::of(place);
        let memory = Meminfo::current().ok().and_then(|memory| memory.mem_available);
        Self { place, free: free.map(|free| free.min(memory.unwrap_or(u64::MAX))) }
    }

    pub(crate) fn holds(&self, needed: Bytes) -> bool {
        let wanted = needed.0.saturating_add(MARGIN);
        self.free.is_some_and(|free| free >= wanted)
    }
}

impl std::fmt::Display for Room {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.free {
            Some(free) => {
                write!(f, "{} has {} free", self.place.display(), Bytes(free >> 20 << 20))
            }
            None => write!(f, "{} is missing", self.place.display()),
        }
    }
}

/// A file that all may read, with what `write` writes.
pub(crate) fn create(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), TargetError> {
    let write = |mut file: File| {
        file.set_permissions(Permissions::from_mode(0o644))?;
        write(&mut file)
    };
    File::create(path).and_then(write).map_err(TargetError::file(path))
}

/// Whatever the umask is: a server may run as another user.
pub(crate) fn open_to_all(folder: &Path) -> Result<(), TargetError> {
    fs::set_permissions(folder, Permissions::from_mode(0o755)).map_err(TargetError::file(folder))
}

fn lock(folder: &Path) -> io::Result<File> {
    let lock = File::open(folder)?;
    rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    Ok(lock)
}

/// Removes the folders that killed runs of this user left: those that nobody holds locked and
/// whose process is gone. What cannot be removed is left to the space check.
pub(crate) fn remove_leftovers(place: &Path) {
    let Ok(entries) = fs::read_dir(place) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'));
        let Some(pid) = pid.and_then(|(pid, _)| pid.parse::<u32>().ok()) else { continue };
        let mine = entry.metadata().is_ok_and(|metadata| {
            metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw()
        });
        let running = Path::new("/proc").join(pid.to_string()).exists();
        if mine && !running && lock(&entry.path()).is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn objects_are_files_that_go_with_the_handle() {
        let (tmpfs, fallback) = (folder(), folder());
        let sizes = [Bytes(3 << 20), Bytes(100), Bytes(100)];
        let made = Objects::make_in(tmpfs.path(), &sizes, fallback.path()).unwrap();
        assert_eq!(made.sizes(), [Bytes(100), Bytes(3 << 20)]);
        assert_eq!(made.note(), None);
        let content = fs::read(made.root().join("bytes/3MiB")).unwrap();
        assert_eq!(content.len(), 3 << 20);
        assert!(objects::matches(0, &content));
        let mode = |path: &str| made.root().join(path).metadata().unwrap().mode() & 0o777;
        assert_eq!((mode(""), mode("bytes"), mode("bytes/100B")), (0o755, 0o755, 0o644));
        let root = made.root().to_owned();
        drop(made);
        assert!(!root.exists());
    }

    #[test]
    fn without_tmpfs_the_fallback_serves_and_a_note_says_so() {
        let fallback = folder();
        let missing = fallback.path().join("missing");
        let made = Objects::make_in(&missing, &[Bytes(10)], &fallback.path().join("new")).unwrap();
        assert!(made.root().starts_with(fallback.path()));
        assert!(made.note().unwrap().contains(missing.to_str().unwrap()));
    }

    #[test]
    fn too_little_space_is_refused_before_a_byte_is_written() {
        let fallback = folder();
        let sizes = [Bytes(1 << 60), Bytes(u64::MAX - 5)];
        let error = Objects::make(&sizes, fallback.path()).unwrap_err();
        let TargetError::Space { free, .. } = &error else { panic!("{error}") };
        assert!(free.contains("/dev/shm"), "{free}");
        assert_eq!(fs::read_dir(fallback.path()).unwrap().count(), 0);
    }

    #[test]
    fn no_object_is_refused() {
        let error = Objects::make(&[], folder().path()).unwrap_err();
        assert!(matches!(error, TargetError::Settings(_)), "{error}");
    }

    #[test]
    fn what_killed_runs_left_is_removed_and_nothing_else() {
        let tmpfs = folder();
        // Above the kernel's highest process number (4,194,304), so never running.
        let left = tmpfs.path().join("toll-4194305-abc");
        let locked = tmpfs.path().join("toll-4194306-abc");
        let alive = tmpfs.path().join(format!("toll-{}-abc", std::process::id()));
        let strange = tmpfs.path().join("toll-abc");
        for folder in [&left, &locked, &alive, &strange] {
            fs::create_dir_all(folder.join("bytes")).unwrap();
        }
        let _held = lock(&locked).unwrap();
        remove_leftovers(tmpfs.path());
        assert!(!left.exists());
        assert!(locked.exists() && alive.exists() && strange.exists());
    }
}
