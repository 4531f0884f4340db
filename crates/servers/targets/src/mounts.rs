//! A mount namespace in which the folders of a system lie over those of this machine, for one process and its children:
//! `/usr`, `/etc` and what leads into them. All else stays: the run's files, `/proc`, `/dev`, the network.

use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folders at the top that are a machine's and not a release's.
const OF_MACHINE: [&str; 13] = [
    "boot", "dev", "home", "media", "mnt", "opt", "proc", "root", "run", "srv", "sys", "tmp", "var",
];

/// What is mounted, prepared before the fork.
#[derive(Debug, Clone)]
pub struct Mounts {
    /// The system's folder, and the one that it lies over.
    folders: Vec<(CString, CString)>,
    /// The lines of `uid_map` and `gid_map` where this is not root: a user namespace, in which nobody is anybody else.
    user: Option<[Vec<u8>; 2]>,
}

impl Mounts {
    /// Those of the folders of a root, an absolute path, that are wanted by their names.
    pub(crate) fn of(root: &Path, is_wanted: impl Fn(&OsStr) -> bool) -> io::Result<Self> {
        let mut names: Vec<_> = fs::read_dir(root)?
            .flatten()
            .map(|entry| entry.file_name())
            .filter(|name| !OF_MACHINE.iter().any(|of| name == of) && is_wanted(name))
            .collect();
        // The system itself may lie in /usr, out of which the others are mounted.
        names.sort_by_key(|name| name == "usr");
        let mut folders = Vec::new();
        for name in names {
            let (own, over) = (root.join(&name), Path::new("/").join(&name));
            let leads_alike = own.is_symlink() && over.is_symlink();
            if leads_alike || !own.is_dir() || !over.is_dir() {
                continue;
            }
            let text = |path: PathBuf| CString::new(path.as_os_str().as_bytes());
            folders.push((text(own)?, text(over)?));
        }
        let [user, group] =
            [rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()];
        let alone = |id: u32| format!("{id} {id} 1").into_bytes();
        let user = (user != 0).then(|| [alone(user), alone(group)]);
        Ok(Self { folders, user })
    }

    /// The folder of this machine that a path lies in and that is covered.
    pub(crate) fn covers(&self, path: &Path) -> Option<PathBuf> {
        let over =
            |(_, over): &(CString, CString)| PathBuf::from(OsStr::from_bytes(over.as_bytes()));
        self.folders.iter().map(over).find(|folder| path.starts_with(folder))
    }

    /// Has a command make them before it runs its program.
    pub fn before(self, command: &mut Command) {
        // SAFETY: `enter` only makes system calls.
        unsafe { command.pre_exec(move || self.enter()) };
    }

    /// Makes them for this process. It makes system calls and neither allocates nor takes a lock, so that it may run
    /// between fork and exec.
    pub(crate) fn enter(&self) -> io::Result<()> {
        let user = if self.user.is_some() { libc::CLONE_NEWUSER } else { 0 };
        // SAFETY: it takes flags alone.
        check(unsafe { libc::unshare(libc::CLONE_NEWNS | user) })?;
        if let Some([users, groups]) = &self.user {
            write(c"/proc/self/setgroups", b"deny")?;
            write(c"/proc/self/uid_map", users)?;
            write(c"/proc/self/gid_map", groups)?;
        }
        mount(c"none", c"/", libc::MS_REC | libc::MS_PRIVATE)?;
        self.folders
            .iter()
            .try_for_each(|(own, over)| mount(own, over, libc::MS_BIND | libc::MS_REC))
    }
}

fn mount(from: &CStr, at: &CStr, flags: libc::c_ulong) -> io::Result<()> {
    // SAFETY: the texts end with a zero, and neither a type nor data is needed.
    check(unsafe {
        libc::mount(from.as_ptr(), at.as_ptr(), std::ptr::null(), flags, std::ptr::null())
    })
}

fn write(path: &CStr, text: &[u8]) -> io::Result<()> {
    let file = rustix::fs::open(path, rustix::fs::OFlags::WRONLY, rustix::fs::Mode::empty())?;
    rustix::io::write(&file, text)?;
    Ok(())
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
