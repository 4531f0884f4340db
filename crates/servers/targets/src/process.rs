//! One server's processes: started in a group of their own, gone for certain.
//!
//! Three things end a server. [`Process::stop`] asks it to (SIGTERM), waits, and kills what is left
//! of the group. The kernel sends the server its death signal when toll is gone. And a guard, a
//! shell that leads the group and waits for toll's end of a pipe to close, which the kernel does
//! even after `kill -9`, ends the rest of the group: processes that a server started by itself, as
//! nginx does its workers, have no death signal, nor has a process that has become nobody, and a server may
//! be too young to handle its own. The guard removes the private keys too.
//! While the guard is there, the group's number cannot pass to strangers.
//!
//! The group also keeps a terminal's Ctrl-C from the server: toll takes its last figures first.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use cpus::CpuList;
use observe::OwnGroup;
use rustix::process::{self, Pid, Signal};
use tempfile::TempDir;

use crate::mounts::Mounts;
use crate::secret::Secret;
use crate::spawner;

/// The time that a server has from its start until it answers, unless it needs longer.
pub(crate) const START_LIMIT: Duration = Duration::from_secs(30);

/// The time that the kernel has to take away a killed process.
const REAPING: Duration = Duration::from_secs(2);
/// Between two looks at a process.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// When its standard input ends, it removes the files and folders that it is given after a number, and ends
/// its process group: asks first, and kills what is left after as many tenths of a second. It waits no longer
/// than others of the group are there, zombies aside: in `/proc/PID/stat` the state, the parent and the group
/// come after the name, which may have spaces.
const GUARD: &str = r#"trap '' TERM INT HUP
read -r _
left=$1; shift
rm -rf -- "$@"
kill -TERM 0
others() {
    for stat in /proc/[0-9]*/stat; do
        [ "$stat" != "/proc/$$/stat" ] && read -r line < "$stat" || continue
        set -- ${line##*) }
        [ "$3" = "$$" ] && [ "$1" != Z ] && return
    done
    return 1
}
while [ "$left" -gt 0 ] && others; do
    sleep 0.1
    left=$((left - 1))
done
kill -KILL 0"#;

/// The time between SIGTERM and SIGKILL.
#[derive(Debug, Clone, Copy)]
struct StopTimeout {
    /// Where toll stops the server.
    of_toll: Duration,
    /// Where the guard does.
    of_guard: Duration,
}

/// `mpirun` takes three seconds to end its ranks.
const STOP_TIMEOUT: StopTimeout =
    StopTimeout { of_toll: Duration::from_secs(3), of_guard: Duration::from_secs(5) };

/// How a server ended that was asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// By itself, within 3 s.
    InTime,
    /// It did not, and was killed.
    Killed,
}

/// A program to start: a server, or another one that must not outlive toll.
#[derive(Debug)]
pub struct Launch<'a> {
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Variables beside those of this process.
    pub environment: Vec<(OsString, OsString)>,
    /// Variables of this process that it does not get.
    pub without: &'static [&'static str],
    /// The CPUs that it may run on.
    pub cpus: &'a CpuList,
    /// Where its input comes from.
    pub stdin: Stdio,
    /// Where its output goes.
    pub stdout: File,
    /// Where its complaints go.
    pub stderr: File,
    /// What the kernel sends to the server when toll is gone: SIGKILL, or SIGTERM where the server
    /// has processes of its own to end.
    pub death_signal: Signal,
    /// The folders of another system that lie over this machine's for it.
    pub mounts: Option<Mounts>,
    /// A control group that it alone is in.
    pub group: Option<OwnGroup>,
    /// Files that are removed when it has ended.
    pub secrets: Vec<Secret>,
    /// Where it keeps its temporary files, removed when it has ended.
    pub temporary: Option<TempDir>,
}

/// A running server or client with a guard that ends it when toll is gone; dropping it stops it.
#[derive(Debug)]
pub struct GuardedProcess {
    server: Child,
    guard: Child,
    stopped: Option<Stopped>,
    patience: Duration,
    _secrets: Vec<Secret>,
    _temporary: Option<TempDir>,
    _group: Option<OwnGroup>,
}

impl GuardedProcess {
    /// Starts it.
    ///
    /// # Errors
    /// The system's, with the program that it concerns.
    pub fn start(launch: Launch<'_>) -> Result<Self, (PathBuf, io::Error)> {
        Self::start_with(launch, STOP_TIMEOUT)
    }

    fn start_with(
        mut launch: Launch<'_>,
        patience: StopTimeout,
    ) -> Result<Self, (PathBuf, io::Error)> {
        let secrets = std::mem::take(&mut launch.secrets);
        let temporary = launch.temporary.take();
        let group = launch.group.take();
        if let Some(folder) = &temporary {
            launch.environment.push(("TMPDIR".into(), folder.path().into()));
        }
        let removed = secrets.iter().map(Secret::path).chain(temporary.as_ref().map(TempDir::path));
        let mut guard =
            start_guard(removed, patience.of_guard).map_err(|e| (PathBuf::from("/bin/sh"), e))?;
        let program = launch.program.clone();
        let patience = patience.of_toll;
        match start_server(launch, group.as_ref(), Pid::from_child(&guard)) {
            Ok(server) => Ok(Self {
                server,
                guard,
                stopped: None,
                patience,
                _secrets: secrets,
                _temporary: temporary,
                _group: group,
            }),
            Err(error) => {
                kill_group(&guard);
                wait_for(&mut guard, REAPING);
                Err((program, error))
            }
        }
    }

    /// Its number, which may be another process's once [`exited`](Self::exited) has reported its end.
    pub fn pid(&self) -> u32 {
        self.server.id()
    }

    /// The exit status, once the server has ended.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        // An error here would mean that somebody else has reaped the child; it is gone then too,
        // and the ports will tell.
        self.server.try_wait().ok().flatten()
    }

    /// The exit status, where it ends in this time.
    pub fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        wait_for(&mut self.server, limit)
    }

    /// Ends the server: SIGTERM, 3 s of patience, then SIGKILL for its whole group. Takes at most
    /// 7 s. Calling it again does nothing.
    pub fn stop(&mut self) -> Stopped {
        if let Some(stopped) = self.stopped {
            return stopped;
        }
        let ended = self.exited().is_some() || {
            // Not reaped yet, so the number is still this child's.
            let _ = process::kill_process(Pid::from_child(&self.server), Signal::TERM);
            wait_for(&mut self.server, self.patience).is_some()
        };
        kill_group(&self.guard);
        wait_for(&mut self.server, REAPING);
        wait_for(&mut self.guard, REAPING);
        let stopped = if ended { Stopped::InTime } else { Stopped::Killed };
        self.stopped = Some(stopped);
        stopped
    }
}

impl Drop for GuardedProcess {
    fn drop(&mut self) {
        self.stop();
    }
}

fn start_guard<'a>(
    removed: impl Iterator<Item = &'a Path>,
    patience: Duration,
) -> io::Result<Child> {
    Command::new("/bin/sh")
        .args(["-c", GUARD, "sh", &(patience.as_millis() / 100).to_string()])
        .args(removed)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

fn start_server(launch: Launch<'_>, alone: Option<&OwnGroup>, group: Pid) -> io::Result<Child> {
    let mut command = Command::new(launch.program);
    command
        .args(launch.arguments)
        // nginx takes this variable for a list of sockets that it inherited.
        .env_remove("NGINX")
        .envs(launch.environment)
        .stdin(launch.stdin)
        .stdout(launch.stdout)
        .stderr(launch.stderr)
        .process_group(group.as_raw_nonzero().get());
    for variable in launch.without {
        command.env_remove(variable);
    }
    let mounts = launch.mounts;
    let (parent, cpus, signal) = (process::getpid(), launch.cpus.clone(), launch.death_signal);
    let entrance = alone.and_then(|alone| alone.entrance().ok());
    let prepare = move || {
        // A group that is gone leaves it where it is: only its account is worse then.
        let _ = entrance.as_ref().map(|entrance| rustix::io::write(entrance, b"0"));
        // Before the signal, which a change of the user's rights takes back.
        mounts.as_ref().map_or(Ok(()), Mounts::enter)?;
        process::set_parent_process_death_signal(Some(signal))?;
        // Had toll died before the line above, the signal would never come.
        if process::getppid() != Some(parent) {
            return Err(io::Error::from(io::ErrorKind::BrokenPipe));
        }
        cpus::pin_current_thread(&cpus)
    };
    // SAFETY: between fork and exec, `prepare` makes system calls alone and neither allocates nor
    // takes a lock; what it owns was allocated before the fork.
    unsafe { command.pre_exec(prepare) };
    spawner::spawn(command)
}

/// Kills the group that `guard` leads. The guard is in it and not reaped, so the number is its own.
fn kill_group(guard: &Child) {
    // No such group can only mean that all of it is gone.
    let _ = process::kill_process_group(Pid::from_child(guard), Signal::KILL);
}

/// The exit status of the child, where it ends in this time.
pub fn wait_for(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let deadline = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < deadline => std::thread::sleep(POLL_INTERVAL),
            ended => return ended.ok().flatten(),
        }
    }
}

/// The exit status of the child, where it ends in this time; else it is killed.
pub fn wait_or_kill(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let ended = wait_for(child, limit);
    if ended.is_none() {
        // Nobody else has waited for it, so its number is still its own.
        let _ = child.kill();
        let _ = child.wait();
    }
    ended
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// For programs that answer SIGTERM at once, or never.
    const SHORT: StopTimeout =
        StopTimeout { of_toll: Duration::from_millis(800), of_guard: Duration::from_millis(500) };

    fn shell(script: &str) -> GuardedProcess {
        shell_with(script, Vec::new(), None)
    }

    fn shell_with(
        script: &str,
        secrets: Vec<Secret>,
        temporary: Option<TempDir>,
    ) -> GuardedProcess {
        start("/bin/sh", vec!["-c".into(), script.into()], secrets, temporary).unwrap()
    }

    fn start(
        program: &str,
        arguments: Vec<OsString>,
        secrets: Vec<Secret>,
        temporary: Option<TempDir>,
    ) -> Result<GuardedProcess, (PathBuf, io::Error)> {
        start_with(program, arguments, secrets, temporary, SHORT)
    }

    fn start_with(
        program: &str,
        arguments: Vec<OsString>,
        secrets: Vec<Secret>,
        temporary: Option<TempDir>,
        patience: StopTimeout,
    ) -> Result<GuardedProcess, (PathBuf, io::Error)> {
        let null = || File::options().write(true).open("/dev/null").unwrap();
        let launch = Launch {
            program: program.into(),
            arguments,
            environment: Vec::new(),
            without: &[],
            cpus: &CpuList::allowed().unwrap(),
            stdin: Stdio::null(),
            stdout: null(),
            stderr: null(),
            death_signal: Signal::KILL,
            mounts: None,
            group: None,
            secrets,
            temporary,
        };
        GuardedProcess::start_with(launch, patience)
    }

    /// Those of the group that are no zombies: field 3 of `/proc/PID/stat` is the state, 5 the group.
    fn group_members(group: u32) -> Vec<u32> {
        let mut members = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
            let Some((_, rest)) = stat.rsplit_once(')') else { continue };
            let fields: Vec<&str> = rest.split_whitespace().collect();
            if fields[0] != "Z" && fields[2] == group.to_string() {
                members.push(entry.file_name().to_str().unwrap().parse().unwrap());
            }
        }
        members
    }

    fn becomes_empty(group: u32) -> bool {
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            if group_members(group).is_empty() {
                return true;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        false
    }

    #[test]
    fn a_server_that_listens_to_sigterm_is_not_killed() {
        let mut process = shell("trap 'exit 0' TERM; while :; do sleep 0.01; done");
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(process.stop(), Stopped::InTime);
        assert_eq!(process.stop(), Stopped::InTime);
    }

    #[test]
    fn a_server_that_ignores_sigterm_is_killed_with_its_children() {
        let mut process = shell("trap '' TERM; sleep 1000 & sleep 1000 & wait; wait");
        let group = process.guard.id();
        let deadline = Instant::now() + Duration::from_secs(5);
        // The guard, the server and its two children.
        while group_members(group).len() < 4 {
            assert!(Instant::now() < deadline, "{:?}", group_members(group));
        }
        assert_eq!(process.stop(), Stopped::Killed);
        assert!(becomes_empty(group), "{:?}", group_members(group));
    }

    #[test]
    fn children_of_a_server_that_died_go_with_the_drop() {
        let process = shell("sleep 1000 & exit 7");
        let group = process.guard.id();
        drop(process);
        assert!(becomes_empty(group), "{:?}", group_members(group));
    }

    #[test]
    fn the_guard_ends_all_when_its_pipe_closes() {
        let mut process = shell("trap '' TERM; sleep 1000 & sleep 1000 & wait; wait");
        let group = process.guard.id();
        let deadline = Instant::now() + Duration::from_secs(5);
        while group_members(group).len() < 4 {
            assert!(Instant::now() < deadline, "{:?}", group_members(group));
        }
        // As the kernel does when toll is killed.
        drop(process.guard.stdin.take());
        assert!(becomes_empty(group), "{:?}", group_members(group));
    }

    #[test]
    fn the_guard_goes_with_the_last_of_its_group() {
        let patience = StopTimeout { of_guard: Duration::from_secs(3600), ..SHORT };
        // The child of a server that has ended, whose name has spaces and a parenthesis.
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("a) S 1");
        std::fs::copy("/bin/sleep", &program).unwrap();
        let script = format!("'{}' 1000 & exit 0", program.display());
        let mut process =
            start_with("/bin/sh", vec!["-c".into(), script.into()], Vec::new(), None, patience)
                .unwrap();
        let group = process.guard.id();
        let deadline = Instant::now() + Duration::from_secs(5);
        while process.exited().is_none() || group_members(group).len() < 2 {
            assert!(Instant::now() < deadline, "{:?}", group_members(group));
        }
        drop(process.guard.stdin.take());
        assert!(becomes_empty(group), "{:?}", group_members(group));
    }

    #[test]
    fn files_go_with_the_server_and_when_toll_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a key");
        let start = || {
            let secret = Secret::write(path.clone(), b"secret").unwrap();
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            let temporary = tempfile::tempdir().unwrap();
            let written = temporary.path().join("written");
            let script = "touch \"$TMPDIR/written\"; sleep 1000";
            let process = shell_with(script, vec![secret], Some(temporary));
            let deadline = Instant::now() + Duration::from_secs(5);
            while !written.exists() {
                assert!(Instant::now() < deadline, "nothing is written");
            }
            (process, written)
        };
        let (process, written) = start();
        assert!(path.exists());
        drop(process);
        assert!(!path.exists() && !written.parent().unwrap().exists());

        let (mut process, written) = start();
        drop(process.guard.stdin.take());
        assert!(becomes_empty(process.guard.id()));
        assert!(!path.exists() && !written.parent().unwrap().exists());
    }

    #[test]
    fn a_server_outlives_the_thread_that_asked_for_it() {
        let mut process = std::thread::spawn(|| shell("sleep 1000")).join().unwrap();
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(process.exited(), None);
    }

    #[test]
    fn the_exit_status_is_told() {
        let mut process = shell("exit 7");
        assert!(wait_for(&mut process.server, Duration::from_secs(5)).is_some());
        assert_eq!(process.exited().unwrap().code(), Some(7));
    }

    #[test]
    fn a_program_that_is_not_there_leaves_no_guard() {
        let (program, error) = start("/nowhere/server", Vec::new(), Vec::new(), None).unwrap_err();
        assert_eq!(program, PathBuf::from("/nowhere/server"));
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
