//! The user of a server's workers where toll is root: `nobody` for every server, as in the field. A server opens
//! its ports, key and logs as root before.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use objects::Storage;

use crate::launch_context::LaunchContext;

/// The number of the user and of its group, whatever their names are.
pub(crate) const NOBODY: u32 = 65_534;

/// Whether a server's workers are to run as nobody. They stay root in callgrind, which takes no commands from another
/// user than the process is of, where nobody may not read the objects, such as
/// files on a disk in a folder of root's, with a provider of the user's own, whose device may be root's, and where
/// root is of a container without other users.
pub(crate) fn is_wanted(site: &LaunchContext<'_>) -> bool {
    let on_disk = site.root.join(Storage::Disk.to_string());
    !site.settings.in_callgrind
        && can_become()
        && site.settings.target.provider.is_none()
        && is_open_to_all(site.root)
        && (!on_disk.exists() || is_open_to_all(&on_disk))
}

/// Whether this process may start another as nobody and look into it, which is tried once: root of a container
/// often may not, and what a server maps and listens at is read from outside.
fn can_become() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    let try_it = || -> io::Result<bool> {
        let mut other = Command::new("/bin/cat")
            .uid(NOBODY)
            .gid(NOBODY)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        let can_look = fs::read(format!("/proc/{}/maps", other.id())).is_ok();
        // It ends with its input.
        drop(other.stdin.take());
        Ok(other.wait()?.success() && can_look)
    };
    rustix::process::geteuid().is_root() && *CAN.get_or_init(|| try_it().unwrap_or(false))
}

/// The names of nobody and of its group in this `/etc`, for servers that take no numbers.
pub(crate) fn names(etc: &Path) -> Option<(String, String)> {
    let name = |file| {
        let text = fs::read_to_string(etc.join(file)).ok()?;
        let mut lines = text.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let number = NOBODY.to_string();
        lines.find(|fields| fields.get(2) == Some(&number.as_str())).map(|of| of[0].to_owned())
    };
    Some((name("passwd")?, name("group")?))
}

/// Whether everybody may enter a folder and all above it.
fn is_open_to_all(folder: &Path) -> bool {
    let is_open = |folder: &Path| {
        fs::metadata(folder).is_ok_and(|folder| folder.permissions().mode() & 0o001 != 0)
    };
    fs::canonicalize(folder).is_ok_and(|folder| folder.ancestors().all(is_open))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_in_one_that_is_closed_is_not_open() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("inner");
        fs::create_dir(&inner).unwrap();
        for (mode, is_open) in [(0o700, false), (0o755, true)] {
            fs::set_permissions(outer.path(), fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(is_open_to_all(&inner), is_open, "{mode:o}");
        }
        assert!(!is_open_to_all(&inner.join("nothing")));
    }

    #[test]
    #[ignore = "it is started by the test below"]
    fn in_a_namespace() {
        assert!(rustix::process::geteuid().is_root() && !can_become());
    }

    #[test]
    fn a_root_that_has_no_other_user_stays_root() {
        let unshared = || {
            let mut command = Command::new("unshare");
            command.arg("--map-root-user");
            command
        };
        if !unshared().arg("true").status().is_ok_and(|status| status.success()) {
            eprintln!("skipped: no user namespace may be made here");
            return;
        }
        let mut test = unshared();
        test.arg(std::env::current_exe().unwrap());
        test.args(["--exact", "nobody::tests::in_a_namespace", "--ignored"]);
        assert!(test.status().unwrap().success());
    }
}
