//! Measures a part by starting `toll bench` on the part's CPUs.
//!
//! A process of its own, because libraries look at the processor once, when they are loaded: features
//! can only be masked for a whole process. It also leaves the process that runs the study as it is.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child as Process, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use primitives::hardware;
use rustix::process::{
    Pid, Signal, getpid, getppid, kill_process, set_parent_process_death_signal,
};

use super::output;
use super::run::{Failed, Meter, Reading};
use study::primitive::Primitives;
use study::primitive::{Part, What};

/// Starts this program again.
#[derive(Debug)]
pub struct Child {
    program: PathBuf,
}

/// How often it is looked after.
const LOOK: Duration = Duration::from_millis(50);
/// How long a process that was asked to end may take before it is killed.
const TO_END: Duration = Duration::from_secs(10);
/// A part may take this many times its forecast, and [`AT_LEAST`] more: nearly all of its samples
/// may be disturbed, and operations such as RSA are longer than a sample.
const PATIENCE: u32 = 20;
/// See [`PATIENCE`].
const AT_LEAST: Duration = Duration::from_secs(120);

/// The exit code of a request that cannot be measured, such as a library that is not there.
const REFUSED: i32 = 2;

impl Child {
    /// Of the program that runs.
    ///
    /// # Errors
    /// It cannot be found any more.
    pub fn new() -> Result<Self, Failed> {
        let program = std::env::current_exe()
            .map_err(|error| Failed(format!("toll itself cannot be found: {error}")))?;
        Ok(Self { program })
    }

    fn start(&self, part: &Part<'_>, libraries: &[&str]) -> Result<Running, Failed> {
        let cpus = part.cpus();
        let mut command = Command::new(&self.program);
        command
            .args(part.arguments(libraries))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A terminal's Ctrl-C is for the study, which ends this.
            .process_group(0);
        // A mask of the user's own would make every level another one than it says.
        for variable in [hardware::VARIABLE, hardware::OPENSSL_VARIABLE] {
            command.env_remove(variable);
        }
        let parent = getpid();
        let prepare = move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // Had toll died before the line above, the signal would never come.
            if getppid() != Some(parent) {
                return Err(io::Error::from(io::ErrorKind::BrokenPipe));
            }
            cpus::pin_current_thread(&cpus)
        };
        // SAFETY: between fork and exec, `prepare` makes four system calls and neither allocates nor
        // takes a lock; what it owns was allocated before the fork.
        unsafe { command.pre_exec(prepare) };
        let mut process = command
            .spawn()
            .map_err(|error| Failed(format!("toll bench cannot be started: {error}")))?;
        let stdout = reader(process.stdout.take());
        let stderr = reader(process.stderr.take());
        Ok(Running { process: Guarded(process), stdout, stderr })
    }

    /// Measures these libraries of a part.
    fn once(
        &self,
        part: &Part<'_>,
        libraries: &[&str],
        interrupt: &AtomicBool,
        report: &mut dyn FnMut(Duration),
    ) -> Result<Once, Failed> {
        let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let started_unix_ms = u64::try_from(started.as_millis()).unwrap_or(u64::MAX);
        let limit = AT_LEAST + Duration::from_nanos(part.forecast().0) * PATIENCE;
        let running = self.start(part, libraries)?;
        let Some(ended) = running.wait(limit, interrupt, report)? else {
            return Ok(Once::Interrupted);
        };
        let why = last_line(&ended.stderr);
        match output::read(&ended.stdout, part, libraries, started_unix_ms) {
            Ok(Some(reading)) => Ok(Once::Measured(reading)),
            Ok(None) => Ok(Once::Interrupted),
            Err(_) if ended.code == Some(REFUSED) && !why.is_empty() => {
                Ok(Once::Refused { why, started_unix_ms })
            }
            Err(error) if why.is_empty() => Err(Failed(error)),
            Err(error) => Err(Failed(format!("{error}; it printed: {why}"))),
        }
    }
}

/// What became of a process.
enum Once {
    Measured(Reading),
    /// One of the libraries is not here.
    Refused {
        why: String,
        started_unix_ms: u64,
    },
    Interrupted,
}

impl Meter for Child {
    fn check(&self, primitives: &Primitives) -> Result<(), String> {
        for table in &primitives.tables {
            table
                .cpus
                .check_allowed()
                .map_err(|why| format!("primitives {}: {why}", table.name))?;
            let mut paths = table.libraries.iter().filter(|library| library.contains('/'));
            if let Some(path) = paths.find(|path| !Path::new(path.as_str()).is_file()) {
                return Err(format!(
                    "primitives {}: {path}: there is no such file; write the path of a libcrypto",
                    table.name
                ));
            }
        }
        Ok(())
    }

    fn measure(
        &mut self,
        part: &Part<'_>,
        interrupt: &AtomicBool,
        report: &mut dyn FnMut(Duration),
    ) -> Result<Option<Reading>, Failed> {
        let libraries: Vec<&str> = match part.what {
            What::Bounds(_) => Vec::new(),
            What::Table { table, .. } => table.libraries.iter().map(String::as_str).collect(),
        };
        let why = match self.once(part, &libraries, interrupt, report)? {
            Once::Measured(reading) => return Ok(Some(reading)),
            Once::Interrupted => return Ok(None),
            Once::Refused { why, .. } => why,
        };
        if libraries.is_empty() {
            return Err(Failed(why));
        }
        // Which of them is not here is found by asking for each by itself.
        let mut all = Reading::default();
        for library in libraries {
            match self.once(part, &[library], interrupt, report)? {
                Once::Measured(reading) => all.lines.extend(reading.lines),
                Once::Interrupted => return Ok(None),
                Once::Refused { why, started_unix_ms } => {
                    all.lines.extend(output::not_here(part, library, &why, started_unix_ms));
                }
            }
        }
        Ok(Some(all))
    }
}

/// A process that is killed when this is dropped.
struct Guarded(Process);

impl Drop for Guarded {
    fn drop(&mut self) {
        // Of a process that has ended and was waited for, neither does anything.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process under way, with what reads its output.
struct Running {
    process: Guarded,
    stdout: JoinHandle<Vec<u8>>,
    stderr: JoinHandle<Vec<u8>>,
}

/// A process that has ended.
struct Over {
    code: Option<i32>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Running {
    /// Waits for its end; `None` after an interrupt, at which it is ended.
    fn wait(
        mut self,
        limit: Duration,
        interrupt: &AtomicBool,
        report: &mut dyn FnMut(Duration),
    ) -> Result<Option<Over>, Failed> {
        let began = Instant::now();
        let mut asked: Option<Instant> = None;
        let code = loop {
            let ended = self.process.0.try_wait();
            match ended.map_err(|error| Failed(format!("cannot wait for toll bench: {error}")))? {
                Some(status) => break status.code(),
                None if began.elapsed() > limit => {
                    let limit = limit.as_secs();
                    return Err(Failed(format!("toll bench did not end within {limit} s")));
                }
                None if asked.is_some_and(|asked| asked.elapsed() > TO_END) => return Ok(None),
                None => {}
            }
            if asked.is_none() && interrupt.load(Relaxed) {
                asked = Some(Instant::now());
                self.ask_to_end();
            }
            report(began.elapsed());
            std::thread::sleep(LOOK);
        };
        let read = |reader: JoinHandle<Vec<u8>>| reader.join().unwrap_or_default();
        let (stdout, stderr) = (read(self.stdout), read(self.stderr));
        Ok(asked.is_none().then_some(Over { code, stdout, stderr }))
    }

    fn ask_to_end(&self) {
        let id = i32::try_from(self.process.0.id()).ok().and_then(Pid::from_raw);
        // It has not been waited for, so the number is its own; if it has ended, nothing happens.
        let _ = id.map(|id| kill_process(id, Signal::TERM));
    }
}

/// Reads a pipe to its end, so that the writer never waits.
fn reader(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read until an error is all that there is.
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

/// What a program said last, without its own name.
fn last_line(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let line = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    line.strip_prefix("toll: ").unwrap_or(line).to_owned()
}
