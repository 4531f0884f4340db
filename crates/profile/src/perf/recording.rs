//! A recording that is under way.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cpus::CpuList;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};

use super::{Event, FREQUENCY, PerfError};

/// How long `perf` may take to begin, and to write what it has.
const PATIENCE: Duration = Duration::from_secs(20);

/// `perf record` on some CPUs; it ends with this value.
#[derive(Debug)]
pub struct Recording {
    perf: Child,
    data: PathBuf,
}

impl Recording {
    /// Begins to sample everything that runs on these CPUs, into `data`; returns when sampling has
    /// begun.
    ///
    /// # Errors
    /// What is lacking, and what to do.
    pub fn start(event: Event, cpus: &CpuList, data: &Path) -> Result<Self, PerfError> {
        check()?;
        let file = |path: &Path, why: std::io::Error| PerfError::File {
            path: path.to_owned(),
            why: why.to_string(),
        };
        let (control, answers) = (data.with_extension("control"), data.with_extension("answers"));
        for fifo in [&control, &answers] {
            mknodat(CWD, fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
                .map_err(|why| file(fifo, why.into()))?;
        }
        // Opened for both, so that neither side waits for the other to open it.
        let open = |path: &Path| {
            OpenOptions::new().read(true).write(true).open(path).map_err(|why| file(path, why))
        };
        let (mut to, mut from) = (open(&control)?, open(&answers)?);
        let perf = Command::new("perf")
            .args(["record", "--quiet", "--call-graph", "fp", "--clockid", "monotonic"])
            .args(["--event", &event.to_string(), "--freq", &FREQUENCY.to_string()])
            .args(["--cpu", &cpus.to_string(), "--delay", "-1"])
            .arg(format!("--control=fifo:{},{}", control.display(), answers.display()))
            .arg("--output")
            .arg(data)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|why| match why.kind() {
                std::io::ErrorKind::NotFound => PerfError::Missing,
                _ => PerfError::Failed { what: "record", why: why.to_string() },
            })?;
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
        let until = std::time::Instant::now() + PATIENCE;
        let status = loop {
            match self.perf.try_wait().map_err(|why| failed(why.to_string()))? {
                Some(status) => break status,
                None if std::time::Instant::now() > until => {
                    return Err(PerfError::Late { what: "end", seconds: PATIENCE.as_secs() });
                }
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
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
            if self.perf.try_wait().map_err(|why| failed(why.to_string()))?.is_some() {
                return Err(failed(self.complaint()));
            }
        }
        Err(PerfError::Late { what: "begin", seconds: PATIENCE.as_secs() })
    }

    fn interrupt(&self) {
        if let Some(pid) = Pid::from_raw(self.perf.id().cast_signed()) {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::INT);
        }
    }

    /// The first line that it has written to its standard error.
    fn complaint(&mut self) -> String {
        let mut text = String::new();
        if let Some(mut stderr) = self.perf.stderr.take() {
            // Where that cannot be read either, the exit status has to do.
            let _ = stderr.read_to_string(&mut text);
        }
        let first = text.lines().map(str::trim).find(|line| !line.is_empty());
        first.unwrap_or("it gives no reason").to_owned()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // Waited for already where it was stopped.
        let _ = self.perf.kill();
        let _ = self.perf.wait();
    }
}

fn failed(why: String) -> PerfError {
    PerfError::Failed { what: "record", why }
}

/// What the kernel refuses to those who are not root.
fn check() -> Result<(), PerfError> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let setting = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?;
        text.trim().parse::<i32>().ok()
    };
    match (setting("perf_event_paranoid"), setting("kptr_restrict")) {
        (Some(paranoid), _) if paranoid > 0 => Err(PerfError::Paranoid(paranoid)),
        (_, Some(hidden)) if hidden > 0 => Err(PerfError::HiddenSymbols),
        _ => Ok(()),
    }
}
