//! What is served: generated objects, and the files of a folder.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use units::Bytes;

use crate::error::ServerError;
use crate::response::Status;

/// The largest generated object.
const LARGEST: Bytes = Bytes(1 << 40);

/// Where objects are looked up.
pub(crate) struct Contents {
    root: Option<OwnedFd>,
}

impl Contents {
    pub(crate) fn new(root: Option<&Path>) -> Result<Self, ServerError> {
        let open = |path: &Path| -> Result<OwnedFd, Errno> {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let root = rustix::fs::open(path, flags, Mode::empty())?;
            // A kernel before 5.6 lacks openat2; that is better said now than with each request.
            rustix::fs::openat2(&root, ".", flags, Mode::empty(), ResolveFlags::BENEATH)?;
            Ok(root)
        };
        let root = root.map(|path| {
            open(path)
                .map_err(|error| ServerError::Root { path: path.to_owned(), source: error.into() })
        });
        Ok(Self { root: root.transpose()? })
    }

    /// The object at a decoded path: the file where there is one, otherwise the generated object.
    ///
    /// # Errors
    /// The status to answer with.
    pub(crate) fn find(&self, path: &[u8]) -> Result<Content, Status> {
        match self.file(path) {
            Err(Status::NotFound) => generated(path).ok_or(Status::NotFound),
            outcome => outcome,
        }
    }

    fn file(&self, path: &[u8]) -> Result<Content, Status> {
        let root = self.root.as_ref().ok_or(Status::NotFound)?;
        let relative = path.strip_prefix(b"/").ok_or(Status::NotFound)?;
        if relative.is_empty() || relative.split(|&byte| byte == b'/').any(|part| part == b"..") {
            return Err(Status::NotFound);
        }
        // The kernel keeps the whole walk beneath the folder, also through symbolic links and
        // while others rename things. A pipe must not make the open wait.
        let file = rustix::fs::openat2(
            root,
            relative,
            OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY,
            Mode::empty(),
            ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS,
        )
        .map_err(|error| match error {
            Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN => Status::Unavailable,
            _ => Status::NotFound,
        })?;
        let metadata = rustix::fs::fstat(&file).map_err(|_| Status::Unavailable)?;
        if FileType::from_raw_mode(metadata.st_mode) != FileType::RegularFile {
            return Err(Status::NotFound);
        }
        let size = u64::try_from(metadata.st_size).map_err(|_| Status::NotFound)?;
        Ok(Content::File(File::from(file), size))
    }
}

fn generated(path: &[u8]) -> Option<Content> {
    let size = objects::size_of(std::str::from_utf8(path).ok()?)?;
    (size <= LARGEST).then_some(Content::Generated(size.0))
}

/// The content of one response.
pub(crate) enum Content {
    /// A short text in memory.
    Text(&'static str),
    /// A generated object of this size.
    Generated(u64),
    /// An open file, and its size when it was opened.
    File(File, u64),
}

impl Content {
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Generated(size) | Self::File(_, size) => *size,
        }
    }

    /// What is in memory from `offset` on; `None` of a file.
    pub(crate) fn in_memory(&self, offset: u64) -> Option<&'static [u8]> {
        match self {
            Self::Text(text) => Some(text.as_bytes().get(offset as usize..).unwrap_or_default()),
            Self::Generated(_) => Some(objects::slice(offset)),
            Self::File(..) => None,
        }
    }

    /// Up to `count` bytes from `offset` on, at least one within the content: where they are in
    /// memory, otherwise read into `space`.
    ///
    /// Files are read, not mapped: reading a mapped file that another program truncates ends the
    /// whole process, and a copy into memory that stays in the cache costs less than page faults.
    ///
    /// # Errors
    /// Those of reading, and `UnexpectedEof` where the file has become shorter.
    pub(crate) fn piece<'a>(
        &self,
        offset: u64,
        count: usize,
        space: &'a mut [u8],
    ) -> io::Result<&'a [u8]> {
        if let Self::File(file, _) = self {
            let count = count.min(space.len());
            let read = file.read_at(&mut space[..count], offset)?;
            return match read {
                0 if count > 0 => Err(io::ErrorKind::UnexpectedEof.into()),
                _ => Ok(&space[..read]),
            };
        }
        let in_memory = self.in_memory(offset).unwrap_or_default();
        Ok(&in_memory[..count.min(in_memory.len())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn generated_objects_have_a_limit() {
        let contents = Contents::new(None).unwrap();
        let size = |path: &str| contents.find(path.as_bytes()).map(|content| content.size());
        assert_eq!(size("/bytes/1MiB"), Ok(1 << 20));
        assert_eq!(size("/bytes/0B"), Ok(0));
        assert_eq!(size("/bytes/1TiB"), Ok(1 << 40));
        for path in ["/bytes/1025GiB", "/bytes/16", "/", "/etc/passwd", "/bytes/../bytes/1B"] {
            assert_eq!(size(path), Err(Status::NotFound), "{path}");
        }
    }

    #[test]
    fn a_file_stands_before_the_generated_object_of_its_path() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("bytes")).unwrap();
        std::fs::write(folder.path().join("bytes/1MiB"), "file").unwrap();
        let contents = Contents::new(Some(folder.path())).unwrap();
        assert!(matches!(contents.find(b"/bytes/1MiB"), Ok(Content::File(_, 4))));
        assert!(matches!(contents.find(b"/bytes/2MiB"), Ok(Content::Generated(_))));
    }

    #[test]
    fn nothing_outside_the_folder_and_no_special_file_is_served() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        std::fs::create_dir_all(root.join("inner")).unwrap();
        std::fs::write(folder.path().join("secret"), "secret").unwrap();
        std::fs::write(root.join("inner/file"), "public").unwrap();
        symlink("../secret", root.join("relative")).unwrap();
        symlink(folder.path().join("secret"), root.join("absolute")).unwrap();
        symlink("inner/file", root.join("beneath")).unwrap();
        symlink("/proc/self/exe", root.join("magic")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, root.join("pipe"), FileType::Fifo, Mode::RUSR, 0)
            .unwrap();

        let contents = Contents::new(Some(&root)).unwrap();
        for path in ["/inner/file", "/inner//file", "/./inner/file", "/beneath"] {
            assert!(
                contents.find(path.as_bytes()).is_ok_and(|content| content.size() == 6),
                "{path}"
            );
        }
        for path in [
            "/../secret",
            "/inner/../inner/file",
            "/inner/../../secret",
            "/relative",
            "/absolute",
            "/magic",
            "/pipe",
            "/inner",
            "/inner/",
            "/",
            "//../secret",
            "//inner/file",
            "/inner/file\0",
            "/none",
            "",
        ] {
            let outcome = contents.find(path.as_bytes()).map(|content| content.size());
            assert_eq!(outcome, Err(Status::NotFound), "{path:?}");
        }
    }

    #[test]
    fn a_file_that_was_cut_short_is_an_error_not_a_crash() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![7; 100]).unwrap();
        let content = Content::File(file.reopen().unwrap(), 100);
        let mut space = [0; 64];
        assert_eq!(content.piece(0, 100, &mut space).unwrap(), [7; 64]);
        file.as_file().set_len(10).unwrap();
        assert_eq!(content.piece(0, 100, &mut space).unwrap(), [7; 10]);
        let error = content.piece(64, 36, &mut space).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
