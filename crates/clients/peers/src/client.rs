use std::ffi::OsString;
use std::path::{Path, PathBuf};

use load::Job;
use tls::{OrPlain, Version};
use units::Nanos;

use crate::program;
use crate::{Peer, PeerError, PeerLoad, ab, h2load, refusal, s_time, wrk};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// Anything: the client must request what the plan asks for.
    Anything,
    /// Only the version, the suite and the group that the plan asks for, so that a program without
    /// options for them negotiates nothing else.
    AsPlanned,
}

/// Refuses what a program cannot do with such a server. It does not look for the program.
pub fn check(peer: Peer, job: &Job, offer: Offer) -> Result<(), PeerError> {
    let duration = refusal::check(peer, job)?;
    arguments(peer, &needed(peer, job, offer), duration, Path::new("script")).map(drop)
}

/// An installed program that can carry out a plan.
#[derive(Debug)]
pub struct Client {
    pub(crate) peer: Peer,
    pub(crate) job: Job,
    offer: Offer,
    pub(crate) duration: Nanos,
    pub(crate) program: PathBuf,
    /// Its name and version, such as `wrk 4.1.0`.
    pub(crate) name: String,
}

impl Client {
    /// Looks for the program and checks that it can carry out the plan.
    ///
    /// How bodies are received and what is verified is not checked: peers decrypt everything, and
    /// verify neither signatures nor certificates nor bodies. The receipt of the trial says so.
    ///
    /// # Errors
    /// It is not installed or cannot carry out the plan. Nothing was sent then.
    pub fn prepare(peer: Peer, job: &Job, offer: Offer) -> Result<Self, PeerError> {
        check(peer, job, offer)?;
        let duration = refusal::check(peer, job)?;
        let program = program::find(peer)?;
        let version = program::version(peer, &program, &job.plan.cpus)?;
        let name = format!("{peer} {version}");
        Ok(Self { peer, job: job.clone(), offer, duration, program, name })
    }

    /// Starts the program; returns when its threads are running.
    pub fn start(&self) -> Result<PeerLoad, PeerError> {
        let failed = |source| PeerError::Start { program: self.name.clone(), source };
        // The program opens the script as it starts.
        let (path, script) = targets::unnamed(wrk::SCRIPT).map_err(failed)?;
        let job = needed(self.peer, &self.job, self.offer);
        let arguments = arguments(self.peer, &job, self.duration, &path)?;
        PeerLoad::start(self, arguments, script)
    }
}

/// The plan without the settings that such a server makes unnecessary.
fn needed(peer: Peer, job: &Job, offer: Offer) -> Job {
    let mut job = job.clone();
    if offer == Offer::Anything {
        return job;
    }
    let plan = &mut job.plan;
    match peer {
        Peer::Wrk => (plan.tls, plan.suite, plan.group) = (None, None, None),
        Peer::Ab => {
            plan.group = None;
            plan.tls = plan.asked_version().map(OrPlain::Tls);
            let suite = plan.only_suite().filter(|suite| suite.version() == Version::Tls12);
            plan.suite = suite.map(OrPlain::Tls);
        }
        Peer::STime => plan.group = None,
        Peer::H2load => {}
    }
    job
}

fn arguments(
    peer: Peer,
    job: &Job,
    duration: Nanos,
    script: &Path,
) -> Result<Vec<OsString>, PeerError> {
    match peer {
        Peer::Wrk => wrk::arguments(job, duration, script),
        Peer::Ab => ab::arguments(job, duration),
        Peer::H2load => h2load::arguments(job, duration),
        Peer::STime => s_time::arguments(job, duration),
    }
}
