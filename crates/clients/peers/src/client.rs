use std::path::Path;

use load::Job;
use tls::{OrPlain, Version};
use units::Nanos;

use crate::program::{Program, arguments};
use crate::{Peer, PeerError, PeerLoad, h2load, refusal, wrk};

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
    able(peer, job, offer).map(drop)
}

/// How long the program loads, where it can carry out the plan.
fn able(peer: Peer, job: &Job, offer: Offer) -> Result<Nanos, PeerError> {
    let duration = refusal::check(peer, job)?;
    arguments(peer, &needed(peer, job, offer), duration, Path::new("script"))?;
    Ok(duration)
}

/// An installed program that can carry out a plan.
#[derive(Debug)]
pub struct Client {
    program: Program,
    job: Job,
    offer: Offer,
    duration: Nanos,
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
        let duration = able(peer, job, offer)?;
        let program = Program::find(peer, &job.plan.cpus)?;
        if peer == Peer::H2load && job.plan.is_http3() && !h2load::has_http3(&program.path) {
            return Err(PeerError::Refused(format!(
                "{} at {} was built without HTTP/3; use one that was built with it, or --client shb",
                program.name,
                program.path.display()
            )));
        }
        Ok(Self { program, job: job.clone(), offer, duration })
    }

    /// Starts the program; returns when its threads are running.
    pub fn start(&self) -> Result<PeerLoad, PeerError> {
        let Self { program, job, offer, duration } = self;
        let failed = |source| PeerError::Start { program: program.name.clone(), source };
        // The program opens the script as it starts.
        let (path, script) = targets::unnamed(wrk::SCRIPT).map_err(failed)?;
        let needed = needed(program.peer, job, *offer);
        let arguments = arguments(program.peer, &needed, *duration, &path)?;
        PeerLoad::start(program, job, *duration, arguments, script)
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
        Peer::Wrk | Peer::Shb => (plan.tls, plan.suite, plan.group) = (None, None, None),
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
