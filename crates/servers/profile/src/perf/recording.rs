//! A recording that is under way.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use cpus::CpuList;
use observe::PARANOID_ALLOWS_CPUS;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use targets::Captured;

use super::{Event, FREQUENCY, PerfError, start};

/// How long `perf` may take to begin, and to write what it has.
const PATIENCE: Duration = Duration::from_secs(20);
/// How much of its complaint is read, from its end.
const MOST_COMPLAINT: u64 = 64 << 10;

/// `perf record` on some CPUs; it ends with this value.
#[derive(Debug)]
pub struct Recording {
    perf: Captured,
    data: PathBuf,
}

impl Recording {
    /// Begins to sample everything that runs on these CPUs, into `data`; returns when sampling has
    /// begun.
    ///
    /// # Errors
    /// What is lacking, and what to do.
    pub fn start(event: Event, cpus: &CpuList, data: &Path) -> Result<Self, PerfError> {
        check(Path::new(SETTINGS), rustix::process::geteuid().is_root())?;
        let file = |path: &Path, why: std::io::Error| PerfError::File {
            path: path.to_owned(),
            why: why.to_string(),
        };
        let (control, answers) = (data.with_extension("control"), data.with_extension("answers"));
        for fifo in [&control, &answers] {
            match mknodat(CWD, fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0) {
                // A run that was killed has left it.
                Ok(()) | Err(Errno::EXIST) => {}
                Err(why) => return Err(file(fifo, why.into())),
            }
        }
        // Opened for both, so that neither side waits for the other to open it.
        let open = |path: &Path| {
            OpenOptions::new().read(true).write(true).open(path).map_err(|why| file(path, why))
        };
        let (mut to, mut from) = (open(&control)?, open(&answers)?);
        let (event, frequency, cpus) = (event.to_string(), FREQUENCY.to_string(), cpus.to_string());
        let how = ["record", "--quiet", "--call-graph", "fp", "--clockid", "monotonic"];
        let what = ["--event", &event, "--freq", &frequency, "--cpu", &cpus, "--delay", "-1"];
        let fifos = format!("--control=fifo:{},{}", control.display(), answers.display());
        let mut arguments: Vec<OsString> = how.into_iter().chain(what).map(Into::into).collect();
        arguments.extend([fifos.into(), "--output".into(), data.into()]);
        let perf = start("record", arguments)?;
        let mut recording = Self { perf, data: data.to_owned() };
        let began = to
            .write_all(b"enable\n")
            .map_err(|why| file(&control, why))
            .and_then(|()| recording.answer(&mut from));
        for fifo in [&control, &answers] {
            std::fs::remove_file(fifo).map_err(|why| file(fifo, why))?;
        }
        began.map(|()| recording)
    }

    /// Ends it; the samples are in the file then.
    ///
    /// # Errors
    /// `perf` failed or does not end.
    pub fn stop(mut self) -> Result<PathBuf, PerfError> {
        self.interrupt();
        let late = || PerfError::Late { what: "end", seconds: PATIENCE.as_secs() };
        let status = self.perf.process.wait(PATIENCE).ok_or_else(late)?;
        // It ends itself with the signal that ended it.
        let was_asked =
            std::os::unix::process::ExitStatusExt::signal(&status) == Some(Signal::INT.as_raw());
        match status.success() || was_asked {
            true => Ok(std::mem::take(&mut self.data)),
            false => Err(failed(self.complaint())),
        }
    }

    /// Waits until it has said that it samples.
    fn answer(&mut self, from: &mut File) -> Result<(), PerfError> {
        let until = std::time::Instant::now() + PATIENCE;
        let step = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        while std::time::Instant::now() < until {
            let mut fds = [PollFd::new(&*from, PollFlags::IN)];
            if poll(&mut fds, Some(&step)).is_ok_and(|ready| ready > 0) {
                let mut answer = [0; 4];
                return from.read(&mut answer).map(|_| ()).map_err(|why| failed(why.to_string()));
            }
            if self.perf.process.exited().is_some() {
                return Err(failed(self.complaint()));
            }
        }
        Err(PerfError::Late { what: "begin", seconds: PATIENCE.as_secs() })
    }

    fn interrupt(&self) {
        if let Some(pid) = Pid::from_raw(self.perf.process.pid().cast_signed()) {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::INT);
        }
    }

    /// The first line that it has written to its standard error, once it has ended.
    fn complaint(&self) -> String {
        // Where that cannot be read either, the exit status has to do.
        let text = targets::end_of(&self.perf.stderr, MOST_COMPLAINT).unwrap_or_default();
        let first = text.lines().map(str::trim).find(|line| !line.is_empty());
        first.unwrap_or("it gives no reason").to_owned()
    }
}

fn failed(why: String) -> PerfError {
    PerfError::Failed { what: "record", why }
}

/// Where the kernel's settings are.
const SETTINGS: &str = "/proc/sys/kernel";

/// What the kernel refuses, by the settings in a folder: to those who are not root, more.
fn check(settings: &Path, is_root: bool) -> Result<(), PerfError> {
    let setting = |name: &str| {
        let text = std::fs::read_to_string(settings.join(name)).ok()?;
        text.trim().parse::<i32>().ok()
    };
    let paranoid =
        setting("perf_event_paranoid").filter(|level| *level > PARANOID_ALLOWS_CPUS && !is_root);
    // 1 hides addresses from all but root, 2 from root too.
    let most = i32::from(is_root);
    let is_hidden = setting("kptr_restrict").is_some_and(|level| level > most);
    match paranoid {
        Some(level) => Err(PerfError::Paranoid(level)),
        None if is_hidden => Err(PerfError::HiddenSymbols),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is refused where the kernel has these settings.
    fn refused(paranoid: &str, hidden: &str, is_root: bool) -> String {
        let settings = tempfile::tempdir().unwrap();
        std::fs::write(settings.path().join("perf_event_paranoid"), paranoid).unwrap();
        std::fs::write(settings.path().join("kptr_restrict"), hidden).unwrap();
        check(settings.path(), is_root).err().map_or(String::new(), |why| why.to_string())
    }

    #[test]
    fn what_the_kernel_refuses_is_named_with_the_command_that_allows_it() {
        for paranoid in ["1\n", "2\n", "4\n"] {
            let words = refused(paranoid, "0\n", false);
            assert!(words.contains("sysctl kernel.perf_event_paranoid=0"), "{words}");
            assert!(words.contains(&format!("is {},", paranoid.trim())), "{words}");
            assert_eq!(refused(paranoid, "0\n", true), "");
        }
        for paranoid in ["-1\n", "0\n"] {
            assert_eq!(refused(paranoid, "0\n", false), "");
            let words = refused(paranoid, "1\n", false);
            assert!(words.contains("sysctl kernel.kptr_restrict=0"), "{words}");
        }
        assert_eq!(refused("4\n", "1\n", true), "");
        let words = refused("4\n", "2\n", true);
        assert!(words.contains("sysctl kernel.kptr_restrict=0"), "{words}");
        // A kernel without these settings refuses nothing.
        assert!(check(Path::new("/nowhere"), false).is_ok());
    }
}
