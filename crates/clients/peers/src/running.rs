//! A running peer, as a trial sees it.

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::fs::File;
use std::time::{Duration, Instant};

use load::{ByteCounts, Job, Load, Outcome, PeerClient, Progress};
use rustix::process::{Pid, Signal, kill_process};
use targets::{Captured, GuardedProcess};
use units::Nanos;

use crate::program::{Program, read, spawn, written};
use crate::report::Report;
use crate::watch::Watch;
use crate::{Peer, PeerError};

/// How long a program may take until its threads are there.
const START_LIMIT: Duration = Duration::from_secs(2);
/// Between two counts of its threads.
const POLL: Duration = Duration::from_micros(500);
/// How long it may run beyond its time and its time limit, to print its report.
const GRACE: Duration = Duration::from_secs(5);

/// A program ends a little before toll expects it, whose clock starts when its threads are there; what it
/// has open then is not what it loaded with.
const NEAR_END: Duration = Duration::from_millis(20);

/// A program that makes a load. Dropping it ends the program, and so does the end of toll.
pub struct PeerLoad {
    program: Program,
    job: Job,
    process: RefCell<GuardedProcess>,
    watch: Watch,
    stdout: File,
    stderr: File,
    spawned: Instant,
    window: (Instant, Instant),
    threads: Vec<i32>,
    is_interrupted: Cell<bool>,
    /// How many sockets it had open when that was last looked at.
    sockets: Cell<u64>,
    /// Kept open until the program has read it.
    _script: File,
}

impl PeerLoad {
    pub(crate) fn start(
        program: &Program,
        job: &Job,
        duration: Nanos,
        arguments: Vec<OsString>,
        script: File,
    ) -> Result<Self, PeerError> {
        let duration = Duration::from(duration);
        let spawned = Instant::now();
        let Captured { process, stdout, stderr } = spawn(&program.path, arguments, &job.plan.cpus)?;
        let limit = duration + Duration::from(job.plan.timeout) + 2 * GRACE;
        let watch = Watch::start(process.pid(), limit)
            .map_err(|source| PeerError::Start { program: program.name.clone(), source })?;
        let threads = threads(process.pid(), program.peer.threads(job), &watch);
        let start = Instant::now();
        Ok(Self {
            program: program.clone(),
            job: job.clone(),
            process: RefCell::new(process),
            watch,
            stdout,
            stderr,
            spawned,
            window: (start, start + duration),
            threads,
            is_interrupted: Cell::new(false),
            sockets: Cell::new(0),
            _script: script,
        })
    }

    /// Its report, or why there is none that can be trusted.
    fn report(&self, end: Option<Instant>) -> Result<Report, String> {
        let Program { peer, name, .. } = &self.program;
        if end.is_none() {
            return Err(format!("{name} did not end in time and was killed"));
        }
        let text_of = |file| written(file).map_err(|error| format!("{name}'s output: {error}"));
        let output = text_of(&self.stdout)?;
        let status = self.process.borrow_mut().exited();
        if self.is_interrupted.get() {
            if !peer.reports_when_interrupted() {
                return Err(format!("{name} prints no report when it is interrupted"));
            }
        } else if !status.is_some_and(|status| status.success()) {
            let complaint = text_of(&self.stderr)?;
            let last = |text: &str| text.lines().rfind(|line| !line.trim().is_empty()).map(shorten);
            let why = last(&complaint).or_else(|| last(&output)).unwrap_or_default();
            let how = status.map_or_else(|| "in an unknown way".to_owned(), |s| s.to_string());
            return Err(format!("{name} ended with {how}: {why}"));
        }
        let report = read(*peer, &output, &self.job).map_err(|why| format!("{name} {why}"))?;
        let asks = self.job.plan.only_suite().is_some() || self.job.plan.asked_version().is_some();
        if asks && peer.reports_negotiated() && report.completed > 0 && report.negotiated.is_none()
        {
            return Err(format!("{name} does not report the requested TLS version and suite"));
        }
        Ok(report)
    }
}

impl Load for PeerLoad {
    fn window(&self) -> (Instant, Instant) {
        self.window
    }

    fn thread_ids(&self) -> Vec<i32> {
        self.threads.clone()
    }

    /// Always empty: peers report nothing before their end. Where it matters which connections they
    /// still have then, these are counted instead.
    fn progress(&self) -> Progress {
        if self.program.peer == Peer::H2load && Instant::now() + NEAR_END < self.window.1 {
            self.sockets.set(sockets(self.process.borrow().pid()));
        }
        Progress::default()
    }

    fn is_finished(&self) -> bool {
        self.watch.ended().is_some()
    }

    /// Interrupts the program, unless its time is over and it will end by itself.
    fn stop(&self) {
        if Instant::now() >= self.window.1 || self.is_interrupted.get() || self.is_finished() {
            return;
        }
        self.is_interrupted.set(true);
        let process = self.process.borrow();
        // The process has not been waited for, so the number is still this program's.
        if let Some(pid) = i32::try_from(process.pid()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::INT);
        }
    }

    fn join(self) -> Outcome {
        let limit = if self.is_interrupted.get() {
            GRACE
        } else {
            let rest = self.window.1.saturating_duration_since(Instant::now());
            rest + Duration::from(self.job.plan.timeout) + GRACE
        };
        let end = self.watch.ended_within(limit);
        let report = self.report(end);
        self.process.borrow_mut().stop();
        let elapsed = |since: Instant| {
            let time = end.unwrap_or_else(Instant::now).saturating_duration_since(since);
            Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
        };
        // Of a connection that is gone nothing is under way; on each other one an operation may be, over
        // HTTP/2 as many as there are streams.
        let under_way = self.sockets.get() * self.job.plan.streams() as u64;
        let unaccounted = |of: &Report| Some(of.not_ended?.saturating_sub(under_way));
        let Program { peer, name, .. } = &self.program;
        let peer = PeerClient {
            name: name.clone(),
            caution: peer.caution(&self.job).to_owned(),
            ran: elapsed(self.window.0),
            slack: Nanos(peer.slack().as_nanos() as u64),
            unaccounted: report.as_ref().ok().and_then(unaccounted),
        };
        let mut outcome = Outcome {
            window: elapsed(self.window.0),
            interrupted: self.is_interrupted.get(),
            peer: Some(peer),
            ..Outcome::default()
        };
        match report {
            Ok(report) => {
                outcome.window = report.duration.unwrap_or_else(|| elapsed(self.spawned));
                outcome.completed = report.completed;
                outcome.bytes = ByteCounts { body: report.body, unproven: 0, opened: report.body };
                let is_asked = self.job.plan.http == Some(report.http);
                outcome.streams.connections = u64::from(is_asked);
                outcome.streams.by_alpn = u64::from(is_asked && report.negotiated.is_some());
                outcome.negotiated = report.negotiated.map(|kind| (kind, 1)).into_iter().collect();
                for (kind, count, words) in report.failures {
                    outcome.failures.add_all(kind, count, &words);
                }
            }
            Err(why) => outcome.lost.push(why),
        }
        outcome
    }
}

/// The kernel's ids of the program's threads, once there are as many as expected. Another build of
/// the program may have another number; then the ids after the limit.
fn threads(pid: u32, expected: usize, watch: &Watch) -> Vec<i32> {
    let deadline = Instant::now() + START_LIMIT;
    loop {
        let mut found: Vec<i32> = std::fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect();
        if found.len() >= expected || watch.ended().is_some() || Instant::now() >= deadline {
            found.sort_unstable();
            return found;
        }
        std::thread::sleep(POLL);
    }
}

/// How many sockets a process has open.
fn sockets(pid: u32) -> u64 {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let targets = descriptors.filter_map(|of| std::fs::read_link(of.path()).ok());
    targets.filter(|target| target.as_os_str().as_encoded_bytes().starts_with(b"socket:")).count()
        as u64
}

/// Cuts a line that may have any length.
fn shorten(line: &str) -> String {
    line.trim().chars().take(200).collect()
}
