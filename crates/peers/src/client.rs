use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use load::Plan;
use tls::{Suite, Version};
use units::Nanos;

use crate::program;
use crate::{Peer, PeerError, PeerLoad, ab, h2load, refusal, s_time, wrk};

/// What a server offers its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// Anything: the client must request what the plan asks for.
    Anything,
    /// Only the version, the suite and the group that the plan asks for, so that a program without
    /// options for them negotiates nothing else.
    AsPlanned,
}

/// Refuses what a program cannot do with such a server. It does not look for the program.
///
/// # Errors
/// The first thing that it cannot do.
pub fn check(peer: Peer, plan: &Plan, offer: Offer) -> Result<(), PeerError> {
    let duration = refusal::check(peer, plan)?;
    arguments(peer, &needed(peer, plan, offer), duration, Path::new("script")).map(drop)
}

/// An installed program that can carry out a plan.
#[derive(Debug)]
pub struct Client {
    pub(crate) peer: Peer,
    pub(crate) plan: Plan,
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
    pub fn prepare(peer: Peer, plan: &Plan, offer: Offer) -> Result<Self, PeerError> {
        check(peer, plan, offer)?;
        let duration = refusal::check(peer, plan)?;
        let program = program::find(peer)?;
        let version = program::version(peer, &program, plan)?;
        let name = format!("{peer} {version}");
        Ok(Self { peer, plan: plan.clone(), offer, duration, program, name })
    }

    /// Starts the program; returns when its threads are running.
    ///
    /// # Errors
    /// The system's.
    pub fn start(&self) -> Result<PeerLoad, PeerError> {
        let failed = |source| PeerError::Start { program: self.name.clone(), source };
        let script = script().map_err(failed)?;
        // The program opens the script as it starts. No file is left, however toll ends.
        let path = format!("/proc/{}/fd/{}", std::process::id(), script.as_raw_fd());
        let plan = needed(self.peer, &self.plan, self.offer);
        let arguments = arguments(self.peer, &plan, self.duration, Path::new(&path))?;
        PeerLoad::start(self, arguments, script)
    }
}

/// The plan without the settings that such a server makes unnecessary.
fn needed(peer: Peer, plan: &Plan, offer: Offer) -> Plan {
    let mut plan = plan.clone();
    if offer == Offer::Anything {
        return plan;
    }
    let tls = &mut plan.tls;
    match peer {
        Peer::Wrk => (tls.version, tls.suite, tls.group) = (None, None, None),
        Peer::Ab => {
            tls.group = None;
            tls.version = tls.version.or(tls.suite.map(Suite::version));
            tls.suite = tls.suite.filter(|suite| suite.version() == Version::Tls12);
        }
        Peer::STime => tls.group = None,
        Peer::H2load => {}
    }
    plan
}

/// wrk's script in a file without a name.
fn script() -> std::io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(wrk::SCRIPT.as_bytes())?;
    Ok(file)
}

fn arguments(
    peer: Peer,
    plan: &Plan,
    duration: Nanos,
    script: &Path,
) -> Result<Vec<OsString>, PeerError> {
    match peer {
        Peer::Wrk => wrk::arguments(plan, duration, script),
        Peer::Ab => ab::arguments(plan, duration),
        Peer::H2load => h2load::arguments(plan, duration),
        Peer::STime => s_time::arguments(plan, duration),
    }
}
