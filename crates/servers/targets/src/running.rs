use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cpus::CpuList;
use tls::Stack;

use crate::library;
use crate::listening;
use crate::log::{LogWatch, last_words};
use crate::process::{GuardedProcess, Stopped};
use crate::ready::Unready;
use crate::repin::repin;
use crate::system::Mapped;
use crate::target_dir::TargetDir;
use crate::{Objects, SendCounters, ServerFacts, Settings, TargetError};

/// The file of what the embedded server has sent, in the folder of its logs.
pub(crate) const COUNTERS: &str = "counters";
/// Between two looks at a server that starts.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A server that runs and answers.
///
/// Dropping it stops it, in a panic's unwinding too. When toll is killed, the kernel and a guard
/// process end the server: every process of it is gone about a second later. The server is in a
/// process group of its own, so a terminal's Ctrl-C reaches toll only.
#[derive(Debug)]
pub struct Running {
    // The first field is dropped first: the server ends before its objects go.
    server: Starting,
    facts: ServerFacts,
    objects: Arc<Objects>,
}

/// A server that answers: what it is, and where.
#[derive(Debug)]
pub struct Started {
    pub(crate) version: String,
    pub(crate) https: SocketAddr,
    pub(crate) http: SocketAddr,
    /// The TLS library that it says it runs on, and its version, where it has a choice.
    pub(crate) stack: Option<(Stack, String)>,
    /// The suites and groups that this library does not have, where that was asked.
    pub(crate) lacks: Vec<String>,
}

/// A server's process and files, whether or not it answers yet.
#[derive(Debug)]
pub(crate) struct Starting {
    pub(crate) process: GuardedProcess,
    pub(crate) dir: TargetDir,
    /// The files that it logs to, the most telling last.
    pub(crate) log_files: Vec<PathBuf>,
    /// Lines in a log that tell of the loss of a process that the server itself replaces.
    pub(crate) incidents: Option<LogWatch>,
    /// The time that it has until it must answer, and when that is over.
    pub(crate) limit: Duration,
    pub(crate) deadline: Instant,
    /// What proves that it is its system's, where it comes from another one.
    pub(crate) mapped: Option<Mapped>,
    /// Its backend, where there is one, which ends after it.
    pub(crate) backend: Option<Box<Running>>,
}

impl Starting {
    /// Waits until `ready` says that it answers. An error as soon as the server has ended, gives a
    /// wrong answer, runs on another TLS library than was asked, or the time is over.
    pub(crate) fn finish(
        mut self,
        settings: &Settings,
        objects: &Arc<Objects>,
        libraries: &[&str],
        binary: &Path,
        ready: impl FnMut(Instant) -> Result<Started, Unready>,
    ) -> Result<Running, TargetError> {
        let Started { version, https, http, stack, lacks } = self.poll(ready)?;
        // Another program might have answered.
        self.check_alive()?;
        let asked = settings.target.congestion.as_ref();
        let set = listening::set_congestion(self.process.pid(), asked, &[https, http]);
        // Where nothing was asked, the receipt shows what the connections have.
        if let (Some(control), Err(source)) = (asked, set) {
            let (name, control) = (self.dir.name.clone(), control.clone());
            return Err(TargetError::Congestion { name, control, source });
        }
        // Whose memory may not be looked at has not proven anything either.
        let mapped = |names: &[&str]| library::mapped_by_tree(self.process.pid(), names);
        let libraries = match &stack {
            None | Some((Stack::OpenSsl, _)) => mapped(libraries),
            Some((stack, version)) => {
                // One without a file is part of toll, which has OpenSSL mapped for other things.
                let mapped = stack.file().map(|file| mapped(&[file])).unwrap_or_default();
                let of_version =
                    |library| crate::MappedLibrary { version: Some(version.clone()), ..library };
                mapped.into_iter().map(of_version).collect()
            }
        };
        if let Some(folder) = settings.target.library_folder() {
            library::check_mapped(&self.dir.name, &folder, settings.target.library, &libraries)?;
        }
        if let Some(provider) = &settings.target.provider {
            library::check_provider(&self.dir.name, self.process.pid(), provider)?;
        }
        let is_openssl = libraries.iter().any(|library| library.is(library::OPENSSL[1]));
        let has_quic = settings.target.quic && is_openssl;
        let quic_api = has_quic.then(|| library::quic_api(self.process.pid(), binary));
        Ok(Running {
            facts: ServerFacts {
                name: self.dir.name.clone(),
                version,
                https,
                http,
                certificate: self.dir.trusted(settings),
                client: self.dir.client(),
                stack,
                lacks,
                libraries,
                system: self.mapped.as_ref().map(|of| of.root.release().to_owned()),
                quic_api: quic_api.flatten(),
                cpus: settings.target.cpus.clone(),
                backend_cpus: self.backend.as_ref().map(|backend| backend.facts.cpus.clone()),
            },
            server: self,
            objects: Arc::clone(objects),
        })
    }

    fn poll(
        &mut self,
        mut ready: impl FnMut(Instant) -> Result<Started, Unready>,
    ) -> Result<Started, TargetError> {
        loop {
            let why = match ready(self.deadline) {
                Ok(started) => return Ok(started),
                Err(Unready::Wrong(why)) => return Err(self.not_ready(why)),
                Err(Unready::NotYet(why)) => why,
            };
            self.check_alive()?;
            if Instant::now() >= self.deadline {
                return Err(self.not_ready(why));
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    fn check_alive(&mut self) -> Result<(), TargetError> {
        match self.process.exited() {
            Some(status) => Err(self.died(status.to_string())),
            None => Ok(()),
        }
    }

    fn died(&self, how: String) -> TargetError {
        TargetError::Died { name: self.dir.name.clone(), how, log: last_words(&self.log_files) }
    }

    fn not_ready(&self, why: String) -> TargetError {
        TargetError::NotReady {
            name: self.dir.name.clone(),
            limit_s: self.limit.as_secs(),
            why,
            listens: listening::addresses(self.process.pid()).ok(),
            log: last_words(&self.log_files),
        }
    }
}

impl Running {
    /// What it is, and where it listens.
    pub fn facts(&self) -> &ServerFacts {
        &self.facts
    }

    /// The process whose tree is the server.
    pub fn pid(&self) -> u32 {
        self.server.process.pid()
    }

    /// The server to which it passes requests on, whose CPU time is not its own.
    pub fn backend(&self) -> Option<&Running> {
        self.server.backend.as_deref()
    }

    /// What its backend has served since that started, where it has one. Kept connections to it stay open, so that
    /// this does not wait for their end: ask when the load is over.
    ///
    /// # Errors
    /// The counters cannot be read.
    pub fn backend_served(&self) -> Result<Option<SendCounters>, TargetError> {
        self.backend().map(Running::counted).transpose()
    }

    /// What it has counted so far, whether or not anything is under way, where it is toll's own.
    pub(crate) fn counted(&self) -> Result<SendCounters, TargetError> {
        let path = self.logs().join(COUNTERS);
        SendCounters::read(&path).map(|(_, counts)| counts).map_err(TargetError::file(&path))
    }

    /// The files that its processes have mapped and that are not those of the system that it was to come from.
    ///
    /// # Errors
    /// It is gone, or its memory may not be looked at.
    pub(crate) fn foreign_files(&self) -> Result<Vec<String>, TargetError> {
        let Some(mapped) = &self.server.mapped else { return Ok(Vec::new()) };
        let foreign = mapped.foreign(self.pid()).map_err(|why| TargetError::Silent {
            name: self.facts.name.clone(),
            question: "which files it has mapped".to_owned(),
            why: why.to_string(),
        })?;
        Ok(foreign.into_iter().collect())
    }

    /// Lets it run on other CPUs too, until [`Self::pin`].
    ///
    /// # Errors
    /// The system's, where it refuses that.
    pub fn spread(&self, cpus: &CpuList) -> io::Result<()> {
        repin(self.pid(), &self.facts.cpus, cpus)
    }

    /// Pins it to its CPUs again, after [`Self::spread`] to these.
    ///
    /// # Errors
    /// The system's, where it refuses that.
    pub fn pin(&self, spread: &CpuList) -> io::Result<()> {
        repin(self.pid(), spread, &self.facts.cpus)
    }

    pub fn logs(&self) -> &Path {
        &self.server.dir.logs
    }

    /// Whether the server still is the one that was started.
    ///
    /// # Errors
    /// [`TargetError::Died`] with the exit status and the last lines of its logs; also where one
    /// of its worker processes died, though the server may have replaced it since.
    pub fn check_alive(&mut self) -> Result<(), TargetError> {
        if let Some(backend) = &mut self.server.backend {
            backend.check_alive()?;
        }
        self.server.check_alive()?;
        match self.server.incidents.as_mut().and_then(LogWatch::incident) {
            None => Ok(()),
            Some(incident) => Err(self.server.died(incident)),
        }
    }

    /// Why the server is no more, for a caller who found it gone; `None` where it is there after
    /// all. A process whose first thread has ended already shows as gone, but its exit status comes
    /// with the end of the last: that is waited for, at most a second.
    pub fn death(&mut self) -> Option<TargetError> {
        let end = Instant::now() + Duration::from_secs(1);
        loop {
            match self.check_alive() {
                Err(why) => return Some(why),
                Ok(()) if Instant::now() >= end => return None,
                Ok(()) => thread::sleep(POLL_INTERVAL),
            }
        }
    }

    /// Stops the server, and keeps what another process of it needs.
    pub(crate) fn end(self) -> (TargetDir, Option<Box<Running>>, Arc<Objects>) {
        let Starting { process, dir, backend, .. } = self.server;
        drop(process);
        (dir, backend, self.objects)
    }

    /// Stops the server and returns when it is gone: it has 3 s to end by itself, then it is
    /// killed with all its processes.
    pub fn stop(mut self) -> Stopped {
        self.server.process.stop()
    }
}
