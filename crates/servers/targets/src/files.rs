//! Many different files of one size below the root of all servers, in memory or on a disk.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;

use objects::{Files, Storage};
use rustix::fs::Advice;
use units::Bytes;

use crate::objects_on_disk::{OwnFolder, Room, create, open_to_all, remove_leftovers};
use crate::{Objects, TargetError};

/// What `statfs` says of files that are in memory whatever they are called (statfs(2)).
const TMPFS_MAGIC: i64 = 0x0102_1994;

impl Objects {
    /// The same with these files too. Those on a disk are in `disk`, where a link below the root
    /// leads; all of what is written there is on the disk when this returns.
    ///
    /// # Errors
    /// Too little space, with what is needed; a disk that is memory; the system's word on a file.
    pub fn with_files(mut self, sets: &[Files], disk: &Path) -> Result<Self, TargetError> {
        let (in_memory, on_disk) = (of(sets, Storage::Memory), of(sets, Storage::Disk));
        // Where the objects are, which is in memory if that has room for them.
        self.check_room(Room::of_memory(self.root()), &in_memory)?;
        for files in &in_memory {
            write(self.root(), files, false)?;
        }
        if on_disk.is_empty() {
            return Ok(self);
        }
        fs::create_dir_all(disk).map_err(TargetError::file(disk))?;
        remove_leftovers(disk);
        if is_memory(disk) {
            return Err(TargetError::Settings(format!(
                "target.storage = disk, but {} is in memory (tmpfs); keep the results on a disk",
                disk.display()
            )));
        }
        self.check_room(Room::of(disk), &on_disk)?;
        let folder = OwnFolder::make(disk)?;
        let place = fs::canonicalize(folder.path()).map_err(TargetError::file(disk))?;
        for files in &on_disk {
            write(&place, files, true)?;
        }
        open_to_all(&place)?;
        let link = self.root().join(Storage::Disk.to_string());
        symlink(place.join(Storage::Disk.to_string()), &link).map_err(TargetError::file(&link))?;
        self.disk = Some(folder);
        Ok(self)
    }

    /// Drops what the kernel keeps of these files in memory, where they lie on a disk.
    ///
    /// # Errors
    /// The system's word on a file.
    pub fn drop_cached(&self, files: &Files) -> Result<(), TargetError> {
        let Some(disk) = self.disk.as_ref().filter(|_| files.storage == Storage::Disk) else {
            return Ok(());
        };
        let folder = disk.path().join(files.folder());
        for number in 0..files.count.get() {
            let path = folder.join(number.to_string());
            File::open(&path)
                .and_then(|file| Ok(rustix::fs::fadvise(&file, 0, None, Advice::DontNeed)?))
                .map_err(TargetError::file(&path))?;
        }
        Ok(())
    }

    fn check_room(&self, room: Room, sets: &[Files]) -> Result<(), TargetError> {
        let needed = sets.iter().fold(0u64, |sum, files| sum.saturating_add(files.total().0));
        match needed == 0 || room.holds(Bytes(needed)) {
            true => Ok(()),
            false => Err(TargetError::Space { needed: Bytes(needed), free: room.to_string() }),
        }
    }
}

fn is_memory(folder: &Path) -> bool {
    rustix::fs::statfs(folder).is_ok_and(|fs| fs.f_type == TMPFS_MAGIC)
}

/// Those that lie there, of each size as many as any set has.
fn of(sets: &[Files], storage: Storage) -> Vec<Files> {
    let mut all: Vec<Files> = Vec::new();
    for files in sets.iter().filter(|files| files.storage == storage) {
        match all.iter_mut().find(|other| other.size == files.size) {
            Some(other) => other.count = other.count.max(files.count),
            None => all.push(*files),
        }
    }
    all
}

/// Writes files below `root`; to be dropped from memory, they must be on the disk (`synced`).
fn write(root: &Path, files: &Files, synced: bool) -> Result<(), TargetError> {
    let folder = root.join(files.folder());
    fs::create_dir_all(&folder).map_err(TargetError::file(&folder))?;
    for number in 0..files.count.get() {
        let path = folder.join(number.to_string());
        create(&path, |file| {
            objects::write_from(Files::start(number), file, files.size)?;
            if synced { file.sync_data() } else { Ok(()) }
        })?;
    }
    open_to_all(&root.join(files.storage.to_string()))?;
    open_to_all(&folder)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use tempfile::TempDir;

    use super::*;

    fn files(storage: Storage, size: u64, count: u32) -> Files {
        Files { storage, size: Bytes(size), count: NonZeroU32::new(count).unwrap() }
    }

    fn made(sets: &[Files], disk: &Path) -> Result<Objects, TargetError> {
        Objects::make(&[Bytes(10)], disk).unwrap().with_files(sets, disk)
    }

    /// On the disk that the build is on, if it is on one.
    fn disk() -> Option<TempDir> {
        let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        (!is_memory(&folder)).then(|| tempfile::tempdir_in(folder).unwrap())
    }

    #[test]
    fn files_lie_below_the_root_differ_and_go_with_the_handle() {
        let Some(disk) = disk() else { return };
        let sets = [
            files(Storage::Memory, 3000, 2),
            files(Storage::Disk, 3000, 3),
            files(Storage::Disk, 3000, 2),
        ];
        let made = made(&sets, disk.path()).unwrap();
        for (path, number) in [("memory/3000B/1", 1), ("disk/3000B/0", 0), ("disk/3000B/2", 2)] {
            let content = fs::read(made.root().join(path)).unwrap();
            assert_eq!(content.len(), 3000, "{path}");
            assert!(objects::matches(Files::start(number), &content), "{path}");
        }
        assert!(!made.root().join("memory/3000B/2").exists());
        let on_disk = fs::canonicalize(made.root().join("disk")).unwrap();
        assert!(on_disk.starts_with(fs::canonicalize(disk.path()).unwrap()));
        made.drop_cached(&sets[1]).unwrap();
        let missing = made.drop_cached(&files(Storage::Disk, 3000, 4)).unwrap_err().to_string();
        assert!(missing.contains("disk/3000B/3"), "{missing}");
        drop(made);
        assert!(!on_disk.exists());
    }

    #[test]
    fn without_room_nothing_is_written_and_it_says_how_much_is_needed() {
        let Some(disk) = disk() else { return };
        for storage in [Storage::Memory, Storage::Disk] {
            let error = made(&[files(storage, 1 << 50, 1000)], disk.path()).unwrap_err();
            let TargetError::Space { needed, .. } = error else { panic!("{error}") };
            assert_eq!(needed, Bytes(1000 << 50));
        }
        assert_eq!(fs::read_dir(disk.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_disk_that_is_memory_is_refused() {
        let Ok(memory) = tempfile::tempdir_in("/dev/shm") else { return };
        let error = made(&[files(Storage::Disk, 10, 1)], memory.path()).unwrap_err();
        assert!(matches!(error, TargetError::Settings(_)), "{error}");
    }
}
