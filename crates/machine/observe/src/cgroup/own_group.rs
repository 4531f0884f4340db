use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::cpu_account::{CONTROLLER, CpuAccount};
use super::mounts::{Mount, Version};
use crate::Root;

/// A control group for a server alone, so that the kernel has an account of all that it uses. It lies below the group of
/// this process, whose limits hold there too. It is removed when this is dropped, and what a killed run has left when
/// the next one is made.
#[derive(Debug)]
pub struct OwnGroup(PathBuf);

/// With the number of the process that made it, and a count.
const NAME: &str = "toll-server-";

/// How long the kernel may take to let the last process go.
const LIMIT: Duration = Duration::from_millis(500);

impl OwnGroup {
    /// Makes one, without processes.
    ///
    /// # Errors
    /// This user may make none here, or a group would change how CPUs are shared out and not only account for them.
    pub fn make() -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let root = Root::machine();
        let around = CpuAccount::of(&root, std::process::id()).map_err(io::Error::other)?;
        if shares_out(&root, &around) {
            return Err(io::Error::other("groups share out CPUs here"));
        }
        let around = root.path(&around.folder);
        remove_left(&around);
        let name = format!("{NAME}{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let folder = around.join(name);
        std::fs::create_dir(&folder)?;
        Ok(Self(folder))
    }

    /// A process that writes `0` to this is in the group, and what it starts.
    ///
    /// # Errors
    /// The kernel's.
    pub fn entrance(&self) -> io::Result<File> {
        File::options().write(true).open(self.0.join("cgroup.procs"))
    }
}

impl Drop for OwnGroup {
    fn drop(&mut self) {
        let deadline = Instant::now() + LIMIT;
        while std::fs::remove_dir(&self.0).is_err() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Whether a group below this one gets a share of the CPUs of its own.
fn shares_out(root: &Root, around: &CpuAccount) -> bool {
    match around.version {
        Version::One => {
            let mounts = Mount::text(root).or_why().unwrap_or_default();
            let is_both =
                |mount: Mount| mount.is_version_1_of(CONTROLLER) && mount.is_version_1_of("cpu");
            Mount::all(&mounts).any(is_both)
        }
        Version::Two => {
            let file = format!("{}/cgroup.subtree_control", around.folder);
            let controllers = root.line(&file).or_why().unwrap_or_default();
            controllers.split_ascii_whitespace().any(|name| name == "cpu")
        }
    }
}

/// Removes the groups of processes that have ended; the kernel keeps those in which something runs.
fn remove_left(around: &Path) {
    let maker = |name: &str| name.strip_prefix(NAME)?.split_once('-')?.0.parse::<u32>().ok();
    for entry in std::fs::read_dir(around).into_iter().flatten().flatten() {
        let maker = entry.file_name().to_str().and_then(maker);
        if maker.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use support::{Killed, until};

    use super::*;

    #[test]
    fn what_runs_in_a_group_is_in_its_account_and_the_group_goes_with_it() {
        let group = match OwnGroup::make() {
            Ok(group) => group,
            Err(why) => return println!("skipped: this user may make no control group: {why}"),
        };
        let folder = group.0.clone();
        let mut entrance = group.entrance().unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", "while :; do :; done"]);
        // SAFETY: writing is one system call.
        unsafe { shell.pre_exec(move || io::Write::write_all(&mut entrance, b"0")) };
        let shell = Killed::start(&mut shell);
        let account = CpuAccount::of(&Root::machine(), shell.pid()).unwrap();
        assert!(account.holds_only(&|pid| pid == shell.pid()));
        // The kernel charges time later than it is used.
        until("its time is in the account", || account.used() > Some(units::Nanos(0)));
        // One that a killed run has left: nobody has so high a number.
        let left = folder.with_file_name(format!("{NAME}{}-0", 1 << 30));
        std::fs::create_dir(&left).unwrap();
        let next = OwnGroup::make().unwrap();
        assert!(!left.exists() && next.0.exists() && folder.exists());
        drop(shell);
        drop((group, next));
        assert!(!folder.exists());
    }
}
